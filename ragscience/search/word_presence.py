"""Where the words of a question occur: in a paper, in the library, and by their meaning in given passages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ragscience.core.errors import ModelProblem
from ragscience.core.records import Filters
from ragscience.search.search_signals import SMALLEST

if TYPE_CHECKING:
    from ragscience.library.store import Store
    from ragscience.models.model_protocols import TokenEmbedder

__all__ = ["WordPresence"]


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

    def is_common_word(self, word: str) -> bool:
        """Whether it is an ordinary English word, in lower case."""
        from ragscience.models.common_words import common_words

        return word.lower() in common_words()

    def _counted(self, terms: Sequence[str], filters: Filters) -> tuple[int, dict[str, int]]:
        found = self._library.term_counts(terms, (), self._library.select(filters))
        return found.passages, dict(zip(found.terms, found.frequencies.tolist(), strict=True))

    def likeness(self, question: str, chunk_ids: Sequence[int]) -> dict[str, tuple[float, ...]]:
        """For each word of the question, its likeness to the most similar token of each passage, -1 to 1.

        That is the cosine of their vectors, a word's the mean over its pieces. Words are as the model cuts
        them, in lower case. A passage without stored vectors has -1. Empty without a model, or if it fails.
        """
        if self._tokens_from is None:
            return {}
        from ragscience.models.maxsim import carries_meaning, question_tokens
        from ragscience.models.token_codes import cosines

        stored = self._library.token_vectors(chunk_ids)
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
        alike = cosines(np.concatenate(tokens), question_tokens(whole).tokens)
        best = np.full((len(chunk_ids), alike.shape[1]), -1.0)
        best[having] = np.maximum.reduceat(alike, starts, axis=0)
        columns: dict[str, list[int]] = {}
        word = ""
        for column, piece in enumerate(piece for piece, kept in zip(whole.pieces, keep, strict=True) if kept):
            before = columns.pop(word) if piece.startswith("##") and word else []
            word = word + piece.removeprefix("##") if before else piece
            columns[word] = [*before, column]
        return {each: tuple(best[:, own].mean(axis=1).tolist()) for each, own in columns.items()}
