"""BM25 scores over segments of postings: the best passages, the scores of given ones, and the counts behind them.

The best are found without reading what cannot change them: words are taken from the rarest on, and once the `k` best so
far have more than all words that are left could give, no passage that has only these is a candidate any more; of these
words only the postings of the candidates are looked up (the algorithm "MaxScore" of H. Turtle and J. Flood, "Query
evaluation: strategies and optimizations", Information Processing & Management 31, 1995). The result is exact.
"""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ragscience.library.postings import Segment, term_key
from ragscience.library.top_scores import best_first, marked, nothing, places

__all__ = ["KeywordScores", "TermCounts"]

K1 = 1.5
B = 0.75
EPSILON = 0.25

_FEW = 4096
"""Of so many allowed passages each is scored by itself."""
_LOOKED_UP = 8
"""The postings of a word are looked up for fewer candidates than one for so many of them, and read for more."""
_RELEASED, _AROUND = 40_000_000, 1 << 13
"""Postings, of 6 bytes each, after which the memory of what was read is released; and those that are read with one."""
_MANY = 100
"""Where more than one sum of so many was added to, all sums are looked at, one after the other."""
_TINY = float(np.finfo(np.float32).tiny)
_ROUNDING = 1e-5
"""Relative: sums of float32 differ by less from those of float64."""
_NONE = np.empty(0, np.intp)
Floats = TypeVar("Floats", np.float32, np.float64)


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


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of a question that the index has."""

    weight: float
    """Its score in a passage is this times f / (f + norm), which is less than 1."""
    spans: tuple[slice, ...]
    """Its postings in each segment."""
    postings: int


@dataclass(frozen=True, slots=True)
class _Marked:
    """The rows of some passages."""

    allowed: NDArray[np.int64]
    """Their ids."""
    rows: NDArray[np.bool_]
    """Shape (documents,)."""
    frequencies: dict[int, int]
    """How many of them have a term, by its key, as far as that was asked for."""


class KeywordScores:
    """Scores over the segments of one index. A row is the number of a passage, counted through all segments."""

    def __init__(self, segments: Sequence[Segment], mean_idf: float) -> None:
        self._segments = tuple(segments)
        self._mean_idf = mean_idf
        self._firsts = np.cumsum([0, *(segment.ids.size for segment in self._segments)])
        self._documents = int(self._firsts[-1])
        self._norms: tuple[NDArray[np.float64], NDArray[np.float32]] | None = None
        self._marked: _Marked | None = None
        self._read = 0
        self._scratch = _Scratch()

    @property
    def postings_read(self) -> int:
        """How many postings this thread's last search read; those that it looked up do not count."""
        return self._scratch.postings_read

    def best(
        self, tokens: Sequence[str], k: int, allowed: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """(chunk ids, int64; scores above 0, float64) of the `k` best among `allowed` (ascending), best first.

        Of equal scores the lower id comes first.
        """
        self._scratch.postings_read = 0
        words = self._words(tokens)
        if k <= 0 or not words:
            return nothing()
        if allowed is not None and allowed.size <= _FEW:
            rows = self._rows_of(allowed)[0]
        else:
            rows = self._candidates(words, k, None if allowed is None else self._marked_of(allowed).rows)
        scores = self._scores(words, rows)
        self._read += self._scratch.postings_read
        self._release()
        above = scores > 0
        return best_first(self._ids(rows[above]), scores[above], k)

    def of(self, tokens: Sequence[str], ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """The score of each chunk of `ids`, in any order, shape of `ids`; 0 where no word matches."""
        order = np.argsort(ids, kind="stable")
        rows, inside = self._rows_of(ids[order])
        scores = np.zeros(ids.size, np.float64)
        scores[order[inside]] = self._scores(self._words(tokens), rows)
        return scores

    def counts_of(self, tokens: Sequence[str], ids: NDArray[np.int64], allowed: NDArray[np.int64] | None) -> TermCounts:
        """The terms of `tokens`: their counts in each of `ids`, and in how many of `allowed` (ascending; None: all)."""
        terms = tuple(dict.fromkeys(tokens))
        order = np.argsort(ids, kind="stable")
        rows, inside = self._rows_of(ids[order])
        counts = np.zeros((len(terms), ids.size), np.int64)
        norms = np.full(ids.size, K1)
        if rows.size:
            norms[order[inside]] = self._all_norms()[0][rows]
        if not rows.size and allowed is None:  # as of hundreds of ways to spell a word
            frequencies = self._postings_of(np.array([*map(term_key, terms)], np.uint64))
        else:
            frequencies = np.zeros(len(terms), np.int64)
            for number, key in enumerate(map(term_key, terms)):
                spans = self._spans(key)
                counts[number, order[inside]] = self._counts(spans, rows)
                frequencies[number] = self._frequency(key, spans, allowed)
        passages = self._documents if allowed is None else int(allowed.size)
        return TermCounts(terms, passages, frequencies, counts, norms)

    def _release(self) -> None:
        """Let the system have the memory of the files after many more postings were read of them."""
        if self._read > _RELEASED:
            self._read = 0
            for segment in self._segments:
                segment.release()

    def _words(self, tokens: Sequence[str]) -> list[_Word]:
        """The words of a question that the index has, each once, in their order."""
        words = []
        for key, times in Counter(map(term_key, tokens)).items():
            spans = self._spans(key)
            postings = sum(span.stop - span.start for span in spans)
            if postings:
                words.append(_Word(times * self._idf(postings) * (K1 + 1), spans, postings))
        return words

    def _spans(self, key: int) -> tuple[slice, ...]:
        return tuple(segment.postings(key) for segment in self._segments)

    def _idf(self, documents: int) -> float:
        idf = math.log(self._documents - documents + 0.5) - math.log(documents + 0.5)
        return idf if idf >= 0 else EPSILON * self._mean_idf

    def _candidates(self, words: Sequence[_Word], k: int, among: NDArray[np.bool_] | None) -> NDArray[np.intp]:
        """Rows of `among` (None: all), ascending, with the `k` best among them whose scores are above 0."""
        less = sum(-word.weight for word in words if word.weight < 0)
        words = sorted((word for word in words if word.weight > 0), key=lambda word: word.postings)
        left = [sum(word.weight for word in words[number:]) for number in range(len(words) + 1)]
        slack = _ROUNDING * left[0] + less
        sums, read, best = self._scratch.sums(self._documents), 0, _Best(k)
        added: list[NDArray[np.intp]] = []
        try:
            while read < len(words) and left[read] >= best.least - slack:
                rows, present = self._add(words[read], sums, among)
                added.append(rows)
                best.raise_by(rows, present, sums)
                read += 1
            least = best.least
            lowest = max(least - slack - left[read], _TINY)
            if _MANY * sum(map(len, added)) > sums.size:
                rows = np.flatnonzero(sums >= lowest)
            else:
                rows = np.unique(np.concatenate([_NONE, *(rows[sums[rows] >= lowest] for rows in added)]))
            for number in range(read, len(words)):
                if rows.size * _LOOKED_UP > words[number].postings:
                    added.append(self._add(words[number], sums, among)[0])
                else:
                    sums[rows] += self._parts(words[number], rows)
                found = sums[rows]
                least = max(least, _kth_best(found, k, least))
                rows = rows[found + left[number + 1] >= least - slack]
        finally:
            if _MANY * sum(map(len, added)) > sums.size:
                sums.fill(0)
            else:
                for rows_of_word in added:
                    sums[rows_of_word] = 0
        return rows

    def _add(
        self, word: _Word, sums: NDArray[np.float32], among: NDArray[np.bool_] | None
    ) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """Add a word's part to the sums of all rows of `among` that have it: (these rows, ascending; their sums)."""
        rows = np.empty(word.postings, np.intp)
        counts = np.empty(word.postings, np.float32)
        start = 0
        for segment, span, first in zip(self._segments, word.spans, self._firsts.tolist(), strict=False):
            part = slice(start, start + span.stop - span.start)
            np.add(segment.rows[span], first, out=rows[part], dtype=np.intp)
            counts[part] = segment.counts[span]
            start = part.stop
        self._scratch.postings_read += rows.size
        if among is not None:
            inside = among[rows]
            rows, counts = rows[inside], counts[inside]
        present = _part(np.float32(word.weight), counts, self._all_norms()[1][rows])
        present += sums[rows]
        sums[rows] = present
        return rows, present

    def _scores(self, words: Sequence[_Word], rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """The scores of these rows (ascending), summed in the order of the words, as rank_bm25 does."""
        scores = np.zeros(rows.size, np.float64)
        for word in words if rows.size else ():
            scores += self._parts(word, rows)
        return scores

    def _parts(self, word: _Word, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        """A word's part of the scores of these rows (ascending)."""
        counts = self._counts(word.spans, rows).astype(np.float64)
        return _part(word.weight, counts, self._all_norms()[0][rows])

    def _counts(self, spans: Sequence[slice], rows: NDArray[np.intp]) -> NDArray[np.int64]:
        """How often a term is in each of these rows (ascending), looked up in its postings."""
        counts = np.zeros(rows.size, np.int64)
        cuts = np.searchsorted(rows, self._firsts).tolist()
        for number, (segment, span) in enumerate(zip(self._segments, spans, strict=True)):
            low, high = cuts[number], cuts[number + 1]
            if low < high and span.start < span.stop:
                having = segment.rows[span]
                self._read += min(having.size, (high - low) * _AROUND)
                wanted = (rows[low:high] - self._firsts[number]).astype(having.dtype)
                place = np.minimum(np.searchsorted(having, wanted), having.size - 1)
                counts[low:high] = np.where(having[place] == wanted, segment.counts[span][place], 0)
        return counts

    def _postings_of(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """How many postings each term has, shape of `keys`."""
        found = np.zeros(keys.size, np.int64)
        for segment in self._segments:
            place = np.searchsorted(segment.terms, keys)
            has = place < segment.terms.size
            has[has] = segment.terms[place[has]] == keys[has]
            found[has] += segment.starts[place[has] + 1] - segment.starts[place[has]]
        return found

    def _frequency(self, key: int, spans: Sequence[slice], allowed: NDArray[np.int64] | None) -> int:
        """How many of `allowed` have a term."""
        postings: int = sum(span.stop - span.start for span in spans)
        if allowed is None or not postings:
            return postings
        if allowed.size <= _FEW:
            return int(np.count_nonzero(self._counts(spans, self._rows_of(allowed)[0])))
        among = self._marked_of(allowed)
        if key not in among.frequencies:
            parts = zip(self._segments, spans, pairwise(map(int, self._firsts)), strict=True)
            having = (
                np.count_nonzero(among.rows[low:high][segment.rows[span]]) for segment, span, (low, high) in parts
            )
            among.frequencies[key] = int(sum(having))
        return among.frequencies[key]

    def _marked_of(self, allowed: NDArray[np.int64]) -> _Marked:
        """The rows of `allowed`; those of the last array are kept."""
        last = self._marked
        if last is None or last.allowed is not allowed:
            rows = np.concatenate([marked(segment.ids, allowed) for segment in self._segments])
            last = self._marked = _Marked(allowed, rows, {})
        return last

    def _rows_of(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """(the rows, ascending, of those of `ids` (ascending) that the index has; which these are, bool)."""
        rows, inside = [np.empty(0, np.intp)], np.zeros(ids.size, np.bool_)
        for segment, first in zip(self._segments, self._firsts.tolist(), strict=False):
            place, present = places(segment.ids, ids)
            rows.append(place + first)
            inside |= present
        return np.concatenate(rows), inside

    def _ids(self, rows: NDArray[np.intp]) -> NDArray[np.int64]:
        """The chunk ids of rows (ascending)."""
        cuts = np.searchsorted(rows, self._firsts).tolist()
        parts = zip(self._segments, self._firsts.tolist(), pairwise(cuts), strict=False)
        return np.concatenate([segment.ids[rows[low:high] - first] for segment, first, (low, high) in parts])

    def _all_norms(self) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
        """`k1 * (1 - b + b * length / mean length)` of each row, exact and as floats of half the size."""
        if self._norms is None:
            lengths = np.concatenate([segment.lengths for segment in self._segments])
            mean = int(lengths.sum(dtype=np.int64)) / self._documents
            norms = np.asarray(K1 * (1 - B + B * lengths / mean), np.float64)
            self._norms = norms, norms.astype(np.float32)
        return self._norms


def _part(weight: float | np.float32, counts: NDArray[Floats], norms: NDArray[Floats]) -> NDArray[Floats]:
    """The part of a word in the scores of passages that have it so often; writes over `norms`."""
    norms += counts
    np.divide(counts, norms, out=norms)
    norms *= weight
    return norms


def _kth_best(sums: NDArray[np.float32], k: int, least: float) -> float:
    """The `k`-th highest of the sums, of which those below `least` are not looked at; -inf where there are fewer."""
    sums = sums[sums >= least]
    return float(np.partition(sums, sums.size - k)[sums.size - k]) if sums.size >= k else -math.inf


def _highest(values: NDArray[np.float32], k: int) -> NDArray[np.intp]:
    """The places of the `k` highest, in any order; all where there are fewer."""
    return np.argpartition(values, values.size - k)[values.size - k :] if values.size > k else np.arange(values.size)


class _Best:
    """The `k` highest sums so far."""

    def __init__(self, k: int) -> None:
        self.least = -math.inf
        """The lowest of them; -inf while there are fewer."""
        self._k = k
        self._rows = _NONE

    def raise_by(self, rows: NDArray[np.intp], present: NDArray[np.float32], sums: NDArray[np.float32]) -> None:
        """Take in that these rows (ascending) have these sums now; `sums` has those of all rows."""
        above = np.flatnonzero(present >= self.least)
        new = rows[above[_highest(present[above], self._k)]]
        known = np.union1d(self._rows, new)
        self._rows = known[_highest(sums[known], self._k)]
        if self._rows.size == self._k:
            self.least = float(sums[self._rows].min())


class _Scratch(threading.local):
    """Thread-local state."""

    def __init__(self) -> None:
        self.postings_read = 0
        self._sums = np.empty(0, np.float32)

    def sums(self, documents: int) -> NDArray[np.float32]:
        """Zeros, shape (documents,), which their user leaves so: new ones cost more than a question."""
        if self._sums.size != documents:
            self._sums = np.zeros(documents, np.float32)
        return self._sums
