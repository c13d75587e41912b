"""Embeddings of the built-in model that are kept between runs, so that a library is made anew in seconds.

Reading, chunking and storing run as they are; the model is left out for texts that it has embedded before. Each process
tests the cache first: it embeds some of the texts again, and where a vector differs, the whole cache is thrown away.
"""

from __future__ import annotations

import atexit
import hashlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.corpora import cache_folder

__all__ = ["keep_embeddings"]

PROVED = 8
"""Texts that are embedded again."""
TOLERANCE = 1e-4
"""Between components of unit vectors; other batches round otherwise."""
SAVED_EVERY = 512
"""New texts after which the file is written: a run that is stopped has not embedded for nothing."""


def keep_embeddings(name: str) -> None:
    """From here on `embed_batch` answers from the cache of that name; call it before the modules that import it."""
    from ragscience.models import maxsim

    cache = _Cache(cache_folder("embeddings") / f"{name}.npz", maxsim.embed_batch)
    maxsim.embed_batch = cache.embed_batch
    atexit.register(cache.save)


class _Cache:
    """Unit vectors and token codes by the text's hash, in one file."""

    def __init__(self, path: Path, embed: Callable[..., Any]) -> None:
        self._path, self._embed = path, embed
        self._kept: dict[str, tuple[Any, Any]] = _loaded(path)
        self._known = len(self._kept)
        self._is_proved = False

    def embed_batch(self, embedder: Any, source: Any, texts: Sequence[str]) -> tuple[Any, list[Any]]:
        if source is not embedder:  # another model, or no token vectors
            return self._embed(embedder, source, texts)
        keys = [hashlib.sha256(text.encode()).hexdigest()[:32] for text in texts]
        if not self._is_proved:
            self._prove(embedder, dict(zip(keys, texts, strict=True)))
        missing = [place for place, key in enumerate(keys) if key not in self._kept]
        if missing:
            rows, tokens = self._embed(embedder, source, [texts[place] for place in missing])
            self._kept.update({keys[place]: pair for place, *pair in zip(missing, rows, tokens, strict=True)})
        if len(self._kept) - self._known >= SAVED_EVERY:
            self.save()
        found = [self._kept[key] for key in keys]
        return np.stack([row for row, _ in found]), [tokens for _, tokens in found]

    def _prove(self, embedder: Any, texts: dict[str, str]) -> None:
        known = sorted((key for key in texts if key in self._kept), key=lambda key: -len(texts[key]))
        if not known:
            return
        self._is_proved = True
        known = known[:: max(1, len(known) // PROVED)][:PROVED]  # of all lengths: the longest have several windows
        rows, tokens = self._embed(embedder, embedder, [texts[key] for key in known])
        for key, row, codes in zip(known, rows, tokens, strict=True):
            old_row, old_codes = self._kept[key]
            same_codes = codes.shape == old_codes.shape and float(np.mean(codes == old_codes)) > 0.99
            if row.shape != old_row.shape or np.abs(row - old_row).max() > TOLERANCE or not same_codes:
                print("the model gives other vectors: all texts are embedded again", file=sys.stderr)
                self._kept.clear()
                self._known = 0
                return

    def save(self) -> None:
        if len(self._kept) == self._known:
            return
        keys = list(self._kept)
        codes = [self._kept[key][1] for key in keys]
        new = self._path.with_suffix(".new.npz")
        np.savez(
            new,
            keys=np.array(keys),
            rows=np.stack([self._kept[key][0] for key in keys]),
            ends=np.cumsum([len(each) for each in codes]),
            codes=np.concatenate(codes),
        )
        new.replace(self._path)
        self._known = len(keys)


def _loaded(path: Path) -> dict[str, tuple[Any, Any]]:
    if not path.exists():
        return {}
    with np.load(path, allow_pickle=False) as file:
        codes = np.split(file["codes"], file["ends"][:-1])
        return {key: (row, each) for key, row, each in zip(file["keys"].tolist(), file["rows"], codes, strict=True)}
