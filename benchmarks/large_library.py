"""Large made-up libraries whose words and vectors are distributed as those of real papers; from a fixed seed.

Texts are drawn from a bigram model of real passages. What it draws of the words that these have once stands for the
words that they lack (Good 1953, "The population frequencies of species": of the next words as large a share is new),
and is replaced by a word of a tail of half a million, so that the vocabulary grows with the library. Each passage is
about a real one, from which its words come now and then, and repeats its own words as real texts do (Kuhn and De Mori
1990, "A cache-based natural language model"). Its vector lies between that one's and one of its neighbours' (as in
Chawla et al. 2002, "SMOTE"), with noise, so that made-up vectors have neighbours as near as real ones have.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

__all__ = ["PER_PAPER", "Batch", "LargeLibrary", "neighbour_cosines"]

PER_PAPER = 72
"""Passages of a paper, as of the papers of the benchmarks."""
_PAPERS_A_BATCH = 56
_MOST_WORDS, _TITLE_WORDS = 200, 8
_TO_THE_SUBJECT, _AGAIN = 0.1, 0.35
"""Chances that the next word is one of the passage that the text is about, and one that the text has already."""
_TAIL = 1 << 19
_TAIL_OFFSET = 1000
"""Frequencies in the tail fall as 1 / (rank + this)."""
_REFERENCES = 8
"""Passages at the end of each paper that are its list of references."""
_SECTIONS = ("Abstract", "1 Introduction", "2 Related work", "3 Method", "4 Experiments", "5 Results", "6 Discussion")
_NEIGHBOURS = 30
_LEAST_NOISE, _MOST_NOISE = 0.1, 0.8
"""Length of the noise: with these the neighbours of made-up vectors are as near as those of as many real ones
(`neighbour_cosines`)."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Some whole papers: PER_PAPER passages each, the last paper of a library perhaps fewer."""

    first: int
    """Number of the first passage, from 0; passage n is of paper n // PER_PAPER."""
    texts: list[str]
    titles: list[str]
    """One for each paper."""
    sections: list[str]
    """Of each passage."""
    kinds: list[str]
    """Of each passage: "text" or "reference"."""
    vectors: NDArray[np.float32]
    """Unit rows, shape (len(texts), dimension)."""


@dataclass(frozen=True)
class LargeLibrary:
    """So many made-up passages; the same arguments give the same library."""

    passages: int
    source: Sequence[str] = field(repr=False)
    """Texts of real passages."""
    vectors: NDArray[np.float32] = field(repr=False)
    """Theirs, unit rows, shape (len(source), dimension)."""
    seed: int = 0

    @cached_property
    def _words(self) -> _Words:
        return _Words.of(self.source)

    def batches(self) -> Iterator[Batch]:
        """All papers, 56 at a time."""
        step = _PAPERS_A_BATCH * PER_PAPER
        for first in range(0, self.passages, step):
            yield self._batch(first, min(step, self.passages - first))

    def _batch(self, first: int, count: int) -> Batch:
        rng = np.random.default_rng([self.seed, first])
        papers = -(-count // PER_PAPER)
        # Half of a paper's passages are about one subject, the others about any.
        subjects = rng.integers(0, len(self.source), count)
        subjects = np.where(rng.random(count) < 0.5, np.repeat(subjects[:papers], PER_PAPER)[:count], subjects)
        places = np.arange(count) % PER_PAPER
        sections = [_SECTIONS[place * len(_SECTIONS) // PER_PAPER] for place in places.tolist()]
        kinds = ["reference" if place >= PER_PAPER - _REFERENCES else "text" for place in places.tolist()]
        titles = self._words.runs(subjects[:papers], rng)
        lengths = self._words.lengths[rng.integers(0, len(self.source), count)]
        texts = self._words.texts(subjects, lengths, rng)
        return Batch(first, texts, titles, sections, kinds, self._near(subjects, rng))

    @cached_property
    def _neighbours(self) -> NDArray[np.int64]:
        """Of each vector the nearest others, in no order, shape (vectors, 30 or fewer)."""
        wanted = min(_NEIGHBOURS, len(self.vectors) - 1)
        found = []
        for first in range(0, len(self.vectors), 512):
            cosines = self.vectors[first : first + 512] @ self.vectors.T
            cosines[np.arange(len(cosines)), np.arange(first, first + len(cosines))] = -np.inf
            found.append(np.argpartition(cosines, -wanted, axis=1)[:, -wanted:])
        return np.concatenate(found)

    def _near(self, subjects: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float32]:
        near = self._neighbours[subjects, rng.integers(0, self._neighbours.shape[1], subjects.size)]
        way = rng.random((subjects.size, 1), np.float32)
        rows = (1 - way) * self.vectors[subjects] + way * self.vectors[near]
        length = rng.uniform(_LEAST_NOISE, _MOST_NOISE, (subjects.size, 1)).astype(np.float32)
        rows += rng.standard_normal(rows.shape, np.float32) * (length / np.float32(np.sqrt(rows.shape[1])))
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


@dataclass(frozen=True)
class _Words:
    """The bigram model: the words of all passages one after the other, and where each word stands among them."""

    spelled: NDArray[np.object_]
    """Each word once, then the tail."""
    flow: NDArray[np.int64]
    """Numbers of the words, passage after passage."""
    starts: NDArray[np.int64]
    """Where each passage begins in `flow`."""
    lengths: NDArray[np.int64]
    places: NDArray[np.int64]
    """Places in `flow`, those of the same word together."""
    first_place: NDArray[np.int64]
    count: NDArray[np.int64]
    """Of each word: where its places begin, and how many it has."""

    @classmethod
    def of(cls, texts: Sequence[str]) -> _Words:
        numbers: dict[str, int] = {}
        split = [text.split() for text in texts]
        flow = np.array([numbers.setdefault(word, len(numbers)) for words in split for word in words], np.int64)
        lengths = np.array([len(words) for words in split], np.int64)
        count = np.bincount(flow, minlength=len(numbers))
        return cls(
            spelled=np.array([*numbers, *_tail()], dtype=object),
            flow=flow,
            starts=np.cumsum(lengths) - lengths,
            lengths=lengths,
            places=np.argsort(flow, kind="stable"),
            first_place=np.cumsum(count) - count,
            count=count,
        )

    def texts(self, subjects: NDArray[np.int64], lengths: NDArray[np.int64], rng: np.random.Generator) -> list[str]:
        """A text of that many words about each of these passages."""
        lengths = np.clip(lengths, 1, _MOST_WORDS)
        rows = np.empty((int(lengths.max()), subjects.size), np.int64)
        word = self._word_of(subjects, rng)
        for number, row in enumerate(rows):
            row[:] = word
            place = self.places[self.first_place[word] + (rng.random(word.size) * self.count[word]).astype(np.int64)]
            word = self.flow[(place + 1) % self.flow.size]
            chance = rng.random(word.size)
            here = np.flatnonzero(chance < _TO_THE_SUBJECT)
            word[here] = self._word_of(subjects[here], rng)
            again = np.flatnonzero(chance > 1 - _AGAIN)
            word[again] = rows[rng.integers(0, number + 1, again.size), again]
        new = self.count[rows] == 1
        ranks = _TAIL_OFFSET * ((_TAIL / _TAIL_OFFSET) ** rng.random(int(new.sum())) - 1)
        rows[new] = self.count.size + ranks.astype(np.int64)
        spelled = self.spelled[rows.T].tolist()
        return [" ".join(words[:length]) for words, length in zip(spelled, lengths.tolist(), strict=True)]

    def runs(self, subjects: NDArray[np.int64], rng: np.random.Generator) -> list[str]:
        """Some words that follow one another in each of these passages."""
        starts = self._place_in(subjects, rng)
        return [" ".join(self.spelled[self.flow[start : start + _TITLE_WORDS]].tolist()) for start in starts.tolist()]

    def _word_of(self, subjects: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        return self.flow[self._place_in(subjects, rng)]

    def _place_in(self, subjects: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        places = self.starts[subjects] + (rng.random(subjects.size) * self.lengths[subjects]).astype(np.int64)
        return np.minimum(places, self.flow.size - 1)


def _tail() -> Iterator[str]:
    """Words that no passage has; all letters, no two alike, with an ending that no stemmer cuts off."""
    syllables = ["".join(parts) for parts in product("bdfgklmnprstvz", "aeiou")]
    for _, parts in zip(range(_TAIL), product(syllables, repeat=4), strict=False):
        yield "".join(parts[::-1]) + "q"


def neighbour_cosines(rows: NDArray[np.float32], asked: int = 500) -> dict[int, NDArray[np.float64]]:
    """The 10th, 50th and 90th percentile of the cosine to the nearest, the 10th and the 100th nearest neighbour.

    `rows` are unit vectors, of which `asked` are looked at.
    """
    chosen = np.random.default_rng(0).choice(len(rows), min(asked, len(rows)), replace=False)
    cosines = rows[chosen] @ rows.T
    cosines[np.arange(len(chosen)), chosen] = -1
    ordered = -np.sort(-cosines, axis=1)
    return {rank: np.percentile(ordered[:, rank - 1], [10, 50, 90]) for rank in (1, 10, 100)}
