"""Passages read again: their order by a reranker or late interaction, and how well each part matches each word asked.

A passage without a score (NaN: an LLM with an unusable reply, damaged weights) keeps its first-stage rank, and those
with a score share the other ranks among them: scores of two scales are never compared.

Stored token vectors have no positions. They are in the order of the text and of the word pieces that carry meaning
(models/maxsim.py), so tokenizing a passage again, a millisecond each, tells where each stands.
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
from ragscience.search.first_pass import SMALLEST, weighted_sum
from ragscience.search.names import PaperNames

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ragscience.core.records import StoredChunk
    from ragscience.library.store import Store
    from ragscience.models.model_protocols import Reranker, TokenEmbedder


def rerank(question: str, passages: Mapping[int, str], reranker: Reranker, batch: int = 0) -> dict[int, float]:
    """The reranker's scores by id, without those that it did not give; it reads so many at a time, 0: all.

    Raises ModelProblem.
    """
    texts, size = list(passages.values()), batch or max(len(passages), 1)
    parts = [texts[start : start + size] for start in range(0, len(texts), size)]
    scores = [score for part in parts for score in reranker.score(question, part).tolist()]
    return {key: score for key, score in zip(passages, scores, strict=True) if not np.isnan(score)}


def ranked(ids: Sequence[int], scores: Mapping[int, float]) -> list[int]:
    """The ids, best first; those without a score keep their places."""
    best = iter(sorted((one for one in ids if one in scores), key=lambda one: -scores[one]))
    return [next(best) if one in scores else one for one in ids]


MAXSIM_WEIGHT, FUSED_WEIGHT = 0.5, 0.5
"""Chosen in docs/choices.md; each score is min-max scaled over the candidates before the sum."""
RERANK_WEIGHT = 0.5
"""Of a cross-encoder, as late interaction has it; the profile `guide` and a language model let theirs decide."""
MAX_LIVE_PASSAGES = 8
"""How many candidates without stored token vectors the model embeds at query time."""


def maxsim_scores(
    question: NDArray[np.float32], fused: Mapping[int, float], *, library: Store, tokens_from: TokenEmbedder
) -> dict[int, float]:
    """MaxSim, -1 to 1, of each candidate with stored token vectors, and of the first few of the others.

    Raises ModelProblem.
    """
    from ragscience.models.maxsim import maxsim

    ids = sorted(fused, key=lambda chunk_id: (-fused[chunk_id], chunk_id))
    kept = _token_vectors(ids, library, tokens_from)
    having = [chunk_id for chunk_id in ids if chunk_id in kept]
    return dict(zip(having, maxsim(question, [kept[chunk_id] for chunk_id in having]).tolist(), strict=True))


def late_scores(maxsims: Mapping[int, float], fused: Mapping[int, float]) -> dict[int, float]:
    """A score of 0-1 for each candidate of `fused`: a weighted sum of MaxSim and fused score.

    A candidate without token vectors gets the lowest MaxSim of all.
    """
    lowest = min(maxsims.values(), default=0.0)
    return weighted_sum([(MAXSIM_WEIGHT, dict.fromkeys(fused, lowest) | dict(maxsims)), (FUSED_WEIGHT, fused)])


def mixed_scores(read: Mapping[int, float], before: Mapping[int, float]) -> dict[int, float]:
    """A score of 0-1 for each passage that a cross-encoder `read`: a weighted sum of its score and the one `before`."""
    known = {chunk_id: before.get(chunk_id, 0.0) for chunk_id in read}
    return weighted_sum([(RERANK_WEIGHT, read), (1 - RERANK_WEIGHT, known)])


def _token_vectors(ids: list[int], library: Store, tokens_from: TokenEmbedder) -> dict[int, NDArray[np.uint8]]:
    """Codes, shape (tokens, 28), by id: the stored ones, and those of the first few others, made now."""
    from ragscience.models.maxsim import compress

    kept = library.tokens.of(ids)
    missing = [chunk_id for chunk_id in ids if chunk_id not in kept][:MAX_LIVE_PASSAGES]
    if missing:
        chunks = library.chunks(missing)
        passes = tokens_from.embed_with_tokens([chunk.searched for chunk in chunks])
        kept |= {chunk.chunk_id: compress(each) for chunk, each in zip(chunks, passes, strict=True)}
    return kept


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
    (whole,) = tokens_from.embed_with_tokens([question], light=True)
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
            (whole,) = self._tokens_from.embed_with_tokens([question], light=True)
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
