"""The keyword index: BM25Okapi over segments of postings.

Scores are those of rank_bm25's BM25Okapi (Robertson and Walker's weighting with the floor on inverse document
frequencies that the package documents): for each word of the question, as often as it occurs there,
`idf * f * (k1 + 1) / (f + k1 * (1 - b + b * length / mean length))`, with `idf = ln(N - n + 0.5) - ln(n + 0.5)`, and
`epsilon * mean idf` in place of a negative one. Weights are computed at query time from counts, so that a new paper
changes no existing postings.
"""

from __future__ import annotations

import math
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ragscience.store.atomic_files import DamagedFile, read_checked_json, write_checked_json
from ragscience.store.postings import (
    Segment,
    SegmentFile,
    build,
    merge,
    open_segment,
    term_key,
    without,
    write_segment,
)
from ragscience.store.top_scores import best_first, marked, nothing, places
from ragscience.text.tokenizing import TOKENIZER_VERSION, tokenize

__all__ = ["KeywordIndex", "TermCounts"]

K1 = 1.5
B = 0.75
EPSILON = 0.25

_FORMAT = 2
_MANIFEST = "manifest.json"
_BATCH = 16_384
_GROWTH = 4
"""A segment is merged with its neighbour while the neighbour has fewer than this many times its postings."""


@dataclass(frozen=True, slots=True)
class TermCounts:
    """Where the terms of a question occur: the counts behind keyword scores."""

    terms: tuple[str, ...]
    """Distinct terms, in the order of the question."""
    passages: int
    """Number of passages searched."""
    frequencies: NDArray[np.int64]
    """How many of these contain each term, shape (terms,)."""
    counts: NDArray[np.int64]
    """How often each term occurs in each requested passage, shape (terms, ids); 0 in a missing one."""
    norms: NDArray[np.float64]
    """`k1 * (1 - b + b * length / mean length)` of each requested passage, shape (ids,)."""


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
        self._documents = sum(segment.ids.size for segment in self.segments)
        self._length_norms: list[NDArray[np.float64]] | None = None
        self._marked: tuple[NDArray[np.int64], list[NDArray[np.bool_]]] | None = None
        self._scratch = _Scratch()

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
        for segment in self.segments:
            gone = ~np.isin(segment.ids, ids, assume_unique=True)
            if not gone.any():
                segments.append(segment)
            elif not gone.all():
                segments.append(without(segment, gone))
        present = np.concatenate([segment.ids for segment in segments]) if segments else np.empty(0, np.int64)
        new = np.setdiff1d(ids, present, assume_unique=True)
        if new.size and present.size and new[0] < present[-1]:
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
        """How many postings this thread's last search read."""
        return self._scratch.postings_touched

    def search(
        self, tokens: Sequence[str], k: int, allowed: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """(chunk ids, int64; scores above 0, float64) of the `k` best among `allowed` (ascending), best first.

        Of equal scores the lower id comes first.
        """
        scratch = self._accumulate(tokens)
        all_ids, all_scores = [], []
        for segment, added, among in zip(self.segments, scratch.added, self._among(allowed), strict=True):
            if not added.rows.size:
                continue
            rows = _candidates(added, k, among)
            ids, best = best_first(segment.ids[rows], added.scores[rows], k)
            all_ids.append(ids)
            all_scores.append(best)
        if not all_ids:
            return nothing()
        return best_first(np.concatenate(all_ids), np.concatenate(all_scores), k)

    def scores_of(self, tokens: Sequence[str], ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """The score of each chunk of `ids`, in any order, shape of `ids`; 0 where no word matches.

        Reads no postings for the question of the thread's last search.
        """
        scratch = self._accumulate(tokens)
        scores = np.zeros(ids.size, np.float64)
        for segment, added in zip(self.segments, scratch.added, strict=True):
            rows, inside = places(segment.ids, ids)
            scores[inside] = added.scores[rows]
        return scores

    def counts_of(self, tokens: Sequence[str], ids: NDArray[np.int64], allowed: NDArray[np.int64] | None) -> TermCounts:
        """The terms of `tokens`: their counts in each of `ids`, and in how many of `allowed` (ascending; None: all)."""
        terms = tuple(dict.fromkeys(tokens))
        frequencies = np.zeros(len(terms), np.int64)
        counts = np.zeros((len(terms), ids.size), np.int64)
        norms = np.full(ids.size, K1)
        all_norms = self._norms() if self.segments else ()
        for segment, segment_norms, among in zip(self.segments, all_norms, self._among(allowed), strict=True):
            wanted, inside = places(segment.ids, ids)
            columns = np.flatnonzero(inside)
            norms[columns] = segment_norms[wanted]
            for number, term in enumerate(terms):
                span = segment.postings(term_key(term))
                having = segment.rows[span]
                frequencies[number] += having.size if among is None else np.count_nonzero(among[having])
                low = np.searchsorted(having, wanted)
                has = np.searchsorted(having, wanted, side="right") > low
                counts[number, columns[has]] = segment.counts[span][low[has]]
        passages = self._documents if allowed is None else int(allowed.size)
        return TermCounts(terms, passages, frequencies, counts, norms)

    def _among(self, allowed: NDArray[np.int64] | None) -> Sequence[NDArray[np.bool_] | None]:
        """Which rows of each segment are in `allowed`; cached for the last array."""
        if allowed is None:
            return [None] * len(self.segments)
        last = self._marked
        if last is None or last[0] is not allowed:
            last = self._marked = allowed, [marked(segment.ids, allowed) for segment in self.segments]
        return last[1]

    def _accumulate(self, tokens: Sequence[str]) -> _Scratch:
        """The scores of all chunks with a word of the question; cached for the thread's last question."""
        scratch = self._scratch
        scratch.postings_touched = 0
        counts = Counter(map(term_key, tokens))
        query = tuple(counts.items())
        if query == scratch.query:
            return scratch
        scratch.query = None
        if not scratch.added:
            scratch.added = [_Added(segment.ids.size) for segment in self.segments]
        spans = [[segment.postings(key) for segment in self.segments] for key in counts]
        weights = [times * self._idf(found) for times, found in zip(counts.values(), spans, strict=True)]
        for number, added in enumerate(scratch.added):
            lists = [(found[number], weight) for found, weight in zip(spans, weights, strict=True)]
            added.clear()
            self._add(added, number, [(span, weight) for span, weight in lists if span.stop > span.start])
            scratch.postings_touched += added.rows.size
        scratch.query = query
        return scratch

    def _idf(self, found: Sequence[slice]) -> float:
        """The idf of a term whose postings in each segment are `found`; 0 for an unknown one."""
        documents = sum(span.stop - span.start for span in found)
        if not documents:
            return 0.0
        idf = math.log(self._documents - documents + 0.5) - math.log(documents + 0.5)
        return idf if idf >= 0 else EPSILON * self._mean_idf

    def _add(self, added: _Added, number: int, lists: Sequence[tuple[slice, float]]) -> None:
        """Add the weights of some postings to a segment's scores, in the order of the words, as rank_bm25 does."""
        if not lists:
            return
        segment, norms = self.segments[number], self._norms()[number]
        rows = np.concatenate([segment.rows[span] for span, _ in lists], dtype=np.intp, casting="unsafe")
        counts = np.concatenate([segment.counts[span] for span, _ in lists], dtype=np.float64, casting="unsafe")
        parts = norms.take(rows)
        parts += counts
        np.divide(counts, parts, out=parts)
        first = 0
        for span, weight in lists:
            last = first + span.stop - span.start
            parts[first:last] *= weight * (K1 + 1)
            first = last
        np.add.at(added.scores, rows, parts)
        added.rows = rows
        added.words = len(lists)

    def _norms(self) -> list[NDArray[np.float64]]:
        """`k1 * (1 - b + b * length / mean length)` of each row of each segment."""
        if self._length_norms is None:
            total = sum(int(segment.lengths.sum(dtype=np.int64)) for segment in self.segments)
            mean = total / self._documents
            self._length_norms = [
                np.asarray(K1 * (1 - B + B * segment.lengths / mean), np.float64) for segment in self.segments
            ]
        return self._length_norms


class _Added:
    """The scores of a segment for one question; the array is reused, since a new one costs more than a question."""

    __slots__ = ("rows", "scores", "words")

    def __init__(self, documents: int) -> None:
        self.scores = np.zeros(documents, np.float64)
        self.rows = np.empty(0, np.intp)
        """Rows of all postings added: a row once for each of its words."""
        self.words = 0

    def clear(self) -> None:
        self.scores[self.rows] = 0.0
        self.rows = self.rows[:0]
        self.words = 0


class _Scratch(threading.local):
    """Thread-local state: the scores of the thread's last question."""

    def __init__(self) -> None:
        self.query: tuple[tuple[int, int], ...] | None = None
        self.added: list[_Added] = []
        """One array per segment."""
        self.postings_touched = 0


def _candidates(added: _Added, k: int, among: NDArray[np.bool_] | None) -> NDArray[np.intp]:
    """The rows of `among` (None: all) that may be among the `k` best, above 0; distinct, ascending."""
    rows = added.rows if among is None else added.rows[among[added.rows]]
    scores = added.scores[rows]
    most = k * added.words  # a row occurs at most once for each word, so these hold the k best rows
    if 0 < most < scores.size:
        cut = np.partition(scores, scores.size - most)[scores.size - most]
        rows = rows[scores >= cut] if cut > 0 else rows[scores > 0]
    else:
        rows = rows[scores > 0]
    return np.unique(rows)


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
