"""How well each part of a passage matches each word of a question, by the token vectors stored at ingest.

Stored rows have no positions. They are in the order of the text and of the word pieces that carry meaning
(models/maxsim.py), so tokenizing the passage again, a millisecond each, tells where each row stands.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ragscience.core.errors import ModelProblem
from ragscience.core.records import Filters
from ragscience.library.store import term_counts
from ragscience.search.names import PaperNames
from ragscience.search.search_signals import SMALLEST

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragscience.core.records import StoredChunk
    from ragscience.library.store import Store
    from ragscience.models.model_protocols import TokenEmbedder


@dataclass(frozen=True, slots=True)
class PassageMatches:
    """The cosines of a passage's n word pieces with the question's q."""

    places: NDArray[np.int32]
    """Where each piece begins and ends, in characters of `chunk.text`, ascending; negative in the header: (n, 2)."""
    cosines: NDArray[np.float32]
    """Shape (n, q)."""

    def best(self, start: int | None, end: int) -> tuple[float, ...]:
        """For each piece of the question the highest cosine in `chunk.text[start:end]`, or -1 where that has no piece.

        `start` None: from the beginning of the passage's header.
        """
        first = 0 if start is None else int(self.places[:, 0].searchsorted(start))
        last = int(self.places[:, 1].searchsorted(end, side="right"))
        if first >= last:
            return tuple(-1.0 for _ in range(self.cosines.shape[1]))
        best: list[float] = self.cosines[first:last].max(axis=0).tolist()
        return tuple(best)


@dataclass(frozen=True, slots=True)
class TokenMatches:
    """The pieces of a question, and their matches in passages."""

    asked: tuple[tuple[int, int], ...]
    """Where each of the question's q word pieces begins and ends in the question."""
    passages: Mapping[int, PassageMatches]
    """By chunk id; without those whose token vectors are not stored, or are of another text."""
    names: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """By the id of each paper that the question names, how it names it;"""
    named: tuple[tuple[int, int], ...] = ()
    """where each of these names begins and ends in the question, apart from each other."""


def token_matches(
    question: str, chunks: Sequence[StoredChunk], *, library: Store, tokens_from: TokenEmbedder
) -> TokenMatches:
    """The matches of `question` in `chunks`. Raises ModelProblem."""
    from ragscience.models.maxsim import carries_meaning, cosines, question_tokens

    names: dict[int, tuple[str, ...]] = defaultdict(tuple)
    mentioned = PaperNames.of(library).in_text(question)
    for name in mentioned:
        names[name.paper_id] += (name.name,)
    named = tuple({(name.start, name.end): None for name in mentioned})
    (whole,) = tokens_from.embed_with_tokens([question])
    kept = carries_meaning(whole.pieces)
    if not kept.any():
        return TokenMatches((), {}, names, named)
    tokens = question_tokens(whole)
    stored = library.tokens.of([chunk.chunk_id for chunk in chunks])
    passages: dict[int, PassageMatches] = {}
    for chunk in chunks:
        codes = stored.get(chunk.chunk_id)
        if codes is None or not len(codes):
            continue
        places = tokens_from.kept_places(chunk.searched) - (len(chunk.searched) - len(chunk.text))
        if len(places) == len(codes):
            passages[chunk.chunk_id] = PassageMatches(places, cosines(codes, tokens))
    return TokenMatches(tuple(map(tuple, whole.offsets[kept].tolist())), passages, names, named)


class WordPresence:
    """Looks words up in a library; its lists of references do not count."""

    def __init__(self, library: Store, tokens_from: TokenEmbedder | None) -> None:
        """`tokens_from` makes token vectors as the library has stored them; None: meanings are not compared."""
        self._library = library
        self._tokens_from = tokens_from

    def passages_with(self, terms: Sequence[str], paper_ids: Sequence[int]) -> dict[str, int]:
        """How many passages of these papers have each term, as `tokenize` gives it."""
        return self._counted(terms, Filters(paper_ids=tuple(paper_ids)))[1]

    def rarity(self, terms: Sequence[str]) -> dict[str, float]:
        """For each term its idf over that of a term that no passage has, 0 to 1, as in `lexical_signals`."""
        passages, counts = self._counted(terms, Filters())
        passages = max(passages, SMALLEST)
        highest = np.log((passages + 1) / 0.5)
        return {term: float(np.log((passages + 1) / (count + 0.5)) / highest) for term, count in counts.items()}

    def _counted(self, terms: Sequence[str], filters: Filters) -> tuple[int, dict[str, int]]:
        found = term_counts(self._library, terms, (), self._library.select(filters))
        return found.passages, dict(zip(found.terms, found.frequencies.tolist(), strict=True))

    def likeness(self, question: str, chunk_ids: Sequence[int]) -> dict[str, tuple[float, ...]]:
        """For each word of the question, its likeness to the most similar token of each passage, -1 to 1.

        That is the cosine of their vectors, a word's the mean over its pieces. Words are as the model cuts
        them, in lower case. A passage without stored vectors has -1. Empty without a model, or if it fails.
        """
        if self._tokens_from is None:
            return {}
        from ragscience.models.maxsim import carries_meaning, cosines, question_tokens

        stored = self._library.tokens.of(chunk_ids)
        having = [row for row, chunk_id in enumerate(chunk_ids) if len(stored.get(chunk_id, ()))]
        if not having:
            return {}
        try:
            (whole,) = self._tokens_from.embed_with_tokens([question])
        except ModelProblem:
            return {}
        keep = carries_meaning(whole.pieces)
        if not keep.any():
            return {}
        tokens = [stored[chunk_ids[row]] for row in having]
        starts = np.concatenate([[0], np.cumsum([len(each) for each in tokens])[:-1]])
        alike = cosines(np.concatenate(tokens), question_tokens(whole))
        best = np.full((len(chunk_ids), alike.shape[1]), -1.0)
        best[having] = np.maximum.reduceat(alike, starts, axis=0)
        columns: dict[str, list[int]] = {}
        word = ""
        for column, piece in enumerate(piece for piece, kept in zip(whole.pieces, keep, strict=True) if kept):
            before = columns.pop(word) if piece.startswith("##") and word else []
            word = word + piece.removeprefix("##") if before else piece
            columns[word] = [*before, column]
        return {each: tuple(best[:, own].mean(axis=1).tolist()) for each, own in columns.items()}
