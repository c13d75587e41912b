"""The keyword index: BM25Okapi over segments of postings.

Scores are those of rank_bm25's BM25Okapi (Robertson and Walker's weighting with the floor on inverse document
frequencies that the package documents): for each word of the question, as often as it occurs there,
`idf * f * (k1 + 1) / (f + k1 * (1 - b + b * length / mean length))`, with `idf = ln(N - n + 0.5) - ln(n + 0.5)`, and
`epsilon * mean idf` in place of a negative one. Weights are computed at query time from counts, so that a new paper
changes no existing postings.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ragscience.core.tokenizing import TOKENIZER_VERSION, tokenize
from ragscience.library.atomic_files import DamagedFile, read_checked_json, write_checked_json
from ragscience.library.keyword_scores import KeywordScores, TermCounts
from ragscience.library.postings import (
    Segment,
    SegmentFile,
    build,
    merge,
    open_segment,
    without,
    write_segment,
)
from ragscience.library.top_scores import marked

__all__ = ["KeywordIndex", "TermCounts"]

_FORMAT = 2
_MANIFEST = "manifest.json"
_BATCH = 16_384
_GROWTH = 4
"""A segment is merged with its neighbour while the neighbour has fewer than this many times its postings."""


class KeywordIndex:
    """The keyword index at one generation of the library; immutable, `updated` gives another."""

    def __init__(
        self, library_id: str, generation: int, segments: Sequence[Segment], mean_idf: float, *, is_saved: bool
    ) -> None:
        self.library_id = library_id
        self.generation = generation
        self.segments = tuple(segments)
        self.is_saved = is_saved
        """Whether this index is the one on disk."""
        self._mean_idf = mean_idf
        self._scores = KeywordScores(self.segments, mean_idf)

    @classmethod
    def empty(cls, library_id: str) -> KeywordIndex:
        """An empty index."""
        return cls(library_id, -1, (), 0.0, is_saved=False)

    @classmethod
    def load(cls, folder: Path, library_id: str, generation: int) -> KeywordIndex | None:
        """The saved index, memory-mapped; None if there is none, it belongs to another library, or it is damaged.

        None also for a generation later than the library's own: the database was restored from an older copy.
        """
        try:
            manifest = read_checked_json(folder / _MANIFEST)
            if (manifest["format"], manifest["tokenizer"], manifest["library"]) != (
                _FORMAT,
                TOKENIZER_VERSION,
                library_id,
            ):
                return None
            if manifest["generation"] > generation:
                return None
            files = [SegmentFile.from_json(value) for value in manifest["segments"]]
            segments = [open_segment(folder, file) for file in files]
            return cls(library_id, int(manifest["generation"]), segments, float(manifest["mean_idf"]), is_saved=True)
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def save(self, folder: Path) -> KeywordIndex:
        """The same index, written to disk; then deletes the files that the manifest no longer names. Raises OSError."""
        folder.mkdir(parents=True, exist_ok=True)
        segments = [
            segment if segment.file else write_segment(folder, f"{uuid.uuid4().hex}.segment", segment)
            for segment in self.segments
        ]
        files = [segment.file for segment in segments if segment.file]
        manifest = {
            "format": _FORMAT,
            "tokenizer": TOKENIZER_VERSION,
            "library": self.library_id,
            "generation": self.generation,
            "mean_idf": self._mean_idf,
            "segments": [file.to_json() for file in files],
        }
        write_checked_json(folder / _MANIFEST, manifest)
        named = {_MANIFEST, *(file.name for file in files)}
        for path in folder.iterdir():
            if path.name not in named and path.suffix in {".segment", ".tmp"}:
                path.unlink(missing_ok=True)
        return KeywordIndex(self.library_id, self.generation, segments, self._mean_idf, is_saved=True)

    def updated(
        self,
        generation: int,
        ids: NDArray[np.int64],
        texts: Callable[[Sequence[int]], Iterable[tuple[int, str]]],
    ) -> KeywordIndex:
        """The index of exactly the chunks `ids` (ascending): removed ones are dropped, new ones tokenised.

        `texts` gives (chunk id, text), ascending, of the requested ids.
        """
        segments: list[Segment] = []
        is_new = np.ones(ids.size, np.bool_)
        for segment in filter(lambda one: one.ids.size, self.segments):
            own = slice(*np.searchsorted(ids, [segment.ids[0], segment.ids[-1] + 1]))
            if np.array_equal(segment.ids, ids[own]):
                is_new[own] = False
                segments.append(segment)
                continue
            is_new[own] &= ~marked(ids[own], segment.ids)
            gone = ~marked(segment.ids, ids[own])
            if not gone.all():
                segments.append(without(segment, gone) if gone.any() else segment)
        new = ids[is_new]
        if new.size and segments and new[0] < segments[-1].ids[-1]:
            return KeywordIndex.empty(self.library_id).updated(generation, ids, texts)
        for first in range(0, new.size, _BATCH):
            batch = new[first : first + _BATCH].tolist()
            segments.append(build((chunk_id, tokenize(text)) for chunk_id, text in texts(batch)))
            segments = _settle(segments)
        same = [*map(id, segments)] == [*map(id, self.segments)]
        mean_idf = self._mean_idf if same else _mean_idf(segments)
        return KeywordIndex(self.library_id, generation, segments, mean_idf, is_saved=False)

    @property
    def is_whole(self) -> bool:
        """Whether all postings are what was written; reads all of them."""
        try:
            for segment in self.segments:
                segment.verify(slice(0, segment.rows.size))
        except DamagedFile:
            return False
        return True

    @property
    def postings_touched(self) -> int:
        """How many postings this thread's last search read; those that it looked up do not count."""
        return self._scores.postings_read

    def search(
        self, tokens: Sequence[str], k: int, allowed: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """(chunk ids, int64; scores above 0, float64) of the `k` best among `allowed` (ascending), best first.

        Of equal scores the lower id comes first.
        """
        return self._scores.best(tokens, k, allowed)

    def scores_of(self, tokens: Sequence[str], ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """The score of each chunk of `ids`, in any order, shape of `ids`; 0 where no word matches."""
        return self._scores.of(tokens, ids)

    def counts_of(self, tokens: Sequence[str], ids: NDArray[np.int64], allowed: NDArray[np.int64] | None) -> TermCounts:
        """The terms of `tokens`: their counts in each of `ids`, and in how many of `allowed` (ascending; None: all)."""
        return self._scores.counts_of(tokens, ids, allowed)


def _settle(segments: list[Segment]) -> list[Segment]:
    """Merge from the end while the previous segment is not clearly larger: sizes fall geometrically, so few remain."""
    first = len(segments) - 1
    size = segments[first].rows.size
    while first > 0 and segments[first - 1].rows.size < _GROWTH * size:
        first -= 1
        size += segments[first].rows.size
    return segments if first == len(segments) - 1 else [*segments[:first], merge(segments[first:])]


def _mean_idf(segments: Sequence[Segment]) -> float:
    """The mean inverse document frequency of all terms, negative ones included, as in rank_bm25."""
    documents = sum(segment.ids.size for segment in segments)
    keys = [segment.terms for segment in segments]
    if not sum(part.size for part in keys):
        return 0.0
    terms, place = np.unique(np.concatenate(keys), return_inverse=True)
    sizes = np.concatenate([np.diff(segment.starts) for segment in segments])
    found = np.bincount(place, weights=sizes, minlength=terms.size)
    return float(np.mean(np.log(documents - found + 0.5) - np.log(found + 0.5)))
