"""Libraries of any size from a fixed seed, written through the store: Zipf words, unit vectors in clusters."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.corpora import cache_folder, made_up_words
from ragscience.token_codes import CODE_BYTES

__all__ = ["DIMENSION", "cluster_vectors", "question", "synthetic_home", "texts"]

DIMENSION = 384
CLUSTERS = 1000
SPREAD = 0.9
"""Length of the noise that is added to a cluster's unit centre: the best neighbours are at cosines of about 0.6."""
VOCABULARY = 200_000
WORDS = 120
PER_PAPER = 1000


def synthetic_home(chunks: int, *, with_tokens: bool = False) -> Path:
    """A home whose library holds so many passages, made once; with token vectors of random content where asked.

    The file .done in it says how many seconds that took.
    """
    from ragscience.store import Home

    home = cache_folder(f"synthetic-{chunks}{f'-codes-{CODE_BYTES}' if with_tokens else ''}")
    done = home / ".done"
    if not done.exists():
        started = time.perf_counter()
        _fill(Home(home), chunks, with_tokens=with_tokens)
        done.write_text(f"{time.perf_counter() - started:.1f}", encoding="utf-8")
    return home


def _fill(home: object, chunks: int, *, with_tokens: bool) -> None:
    from ragscience.models.minilm import IDENTITY
    from ragscience.records import Chunk, Document, Page
    from ragscience.store import Library, NewPaper, text_hash

    with Library.open_for_writing(home) as library:  # type: ignore[arg-type]  # a Home, imported late
        library.set_identity(IDENTITY, "synthetic")
        for number in range(library.paper_count, -(-chunks // PER_PAPER)):
            count = min(PER_PAPER, chunks - number * PER_PAPER)
            passages = list(texts(number, count))
            starts = np.cumsum([0, *(len(text) + 1 for text in passages)]).tolist()
            cut = [
                Chunk(n, text, start, start + len(text), 1, 1)
                for n, (start, text) in enumerate(zip(starts, passages, strict=False))
            ]
            whole = "".join(f"{text}\n" for text in passages)
            library.add_paper(
                NewPaper(
                    path=f"/synthetic/{number:06d}.pdf",
                    md5=f"{number:032x}",
                    size_bytes=len(whole),
                    modified_ns=0,
                    document=Document(whole, (Page(1, 0, len(whole)),)),
                    chunks=cut,
                    vectors=cluster_vectors(number, count),
                    tokens={text_hash(text): rows for text, rows in zip(passages, _tokens(number, count), strict=True)}
                    if with_tokens
                    else None,
                )
            )
        library.refresh_indexes()


def texts(number: int, count: int) -> Iterator[str]:
    """The passages of one synthetic paper: WORDS words each, whose frequencies fall as 1/rank."""
    words = made_up_words(VOCABULARY)
    cumulative = np.cumsum(1.0 / np.arange(1, VOCABULARY + 1))
    draws = np.random.default_rng((1, number)).random(count * WORDS) * cumulative[-1]
    ranks = np.minimum(np.searchsorted(cumulative, draws), VOCABULARY - 1).tolist()
    for first in range(0, count * WORDS, WORDS):
        yield " ".join([words[rank] for rank in ranks[first : first + WORDS]])


def cluster_vectors(number: int, count: int) -> NDArray[np.float32]:
    """Unit rows, shape (count, DIMENSION), float32, each near one of CLUSTERS centres."""
    centres = np.random.default_rng(0).standard_normal((CLUSTERS, DIMENSION)).astype(np.float32)
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    generator = np.random.default_rng((2, number))
    noise = generator.standard_normal((count, DIMENSION)).astype(np.float32) * np.float32(SPREAD / DIMENSION**0.5)
    rows = centres[generator.integers(0, CLUSTERS, count)] + noise
    unit: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def _tokens(number: int, count: int) -> Iterator[NDArray[np.uint8]]:
    generator = np.random.default_rng((3, number))
    for _ in range(count):
        yield generator.integers(0, 256, (200, CODE_BYTES), dtype=np.uint8)


def question(number: int) -> str:
    """Eight words: two common, six rarer ones, from a fixed seed."""
    words = made_up_words(VOCABULARY)
    generator = np.random.default_rng((4, number))
    ranks = [*generator.integers(5, 100, 2), *generator.integers(100, 20_000, 6)]
    return " ".join(words[rank] for rank in ranks)
