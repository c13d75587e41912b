"""Passages read again: their order by a reranker or late interaction, and how well each part matches each word asked.

A passage without a score (NaN: an LLM with an unusable reply, damaged weights) keeps its first-stage rank, and those
with a score share the other ranks among them: scores of two scales are never compared.

Stored token vectors have no positions. They are in the order of the text and of the word pieces that carry meaning
(models/maxsim.py), so tokenizing a passage again, a millisecond each, tells where each stands.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ragscience.core.records import Filters, StoredChunk
from ragscience.library.store import Store
from ragscience.models.model_protocols import QuestionVectors, Reranker, TokenEmbedder
from ragscience.search.first_pass import weighted_sum
from ragscience.search.names import PaperNames


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
    question: QuestionVectors, fused: Mapping[int, float], *, library: Store, tokens_from: TokenEmbedder
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
    from ragscience.models.maxsim import cosines

    names: dict[int, tuple[str, ...]] = defaultdict(tuple)
    mentioned = PaperNames.of(library).in_text(question)
    for name in mentioned:
        names[name.paper_id] += (name.name,)
    named = tuple({(name.start, name.end): None for name in mentioned})
    (read,) = tokens_from.questions([question])
    if not len(read.tokens):
        return TokenMatches((), {}, names, named)
    stored = library.tokens.of([chunk.chunk_id for chunk in chunks])
    passages: dict[int, PassageMatches] = {}
    for chunk in chunks:
        codes = stored.get(chunk.chunk_id)
        if codes is None or not len(codes):
            continue
        places = tokens_from.kept_places(chunk.searched) - (len(chunk.searched) - len(chunk.text))
        if len(places) == len(codes):
            passages[chunk.chunk_id] = PassageMatches(places, cosines(codes, read.tokens))
    return TokenMatches(tuple(map(tuple, read.offsets.tolist())), passages, names, named)


class WordPresence:
    """Looks words up in a library; its lists of references do not count."""

    def __init__(self, library: Store) -> None:
        self._library = library

    def passages_with(self, terms: Sequence[str], paper_ids: Sequence[int]) -> dict[str, int]:
        """How many passages of these papers have each term, as `tokenize` gives it."""
        allowed = self._library.select(Filters(paper_ids=tuple(paper_ids)))
        keywords = self._library.keywords
        with self._library.snapshot():
            known = keywords.frequencies(terms)
            if allowed is None or 2 * allowed.size > known.passages:  # only how rare a term is matters then
                return known.having
            return {term: keywords.having([term], allowed).size if n else 0 for term, n in known.having.items()}
