"""The hybrid search: from a question to the passages that may answer it."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ragscience.core.answer_records import timed
from ragscience.core.errors import ModelProblem
from ragscience.core.records import Filters, Found, Hit, Profile, StoredChunk
from ragscience.library.store import Store
from ragscience.models.model_protocols import Embedder, QuestionVectors, Reranker, TokenEmbedder
from ragscience.search.first_pass import Question, Scope, ScoreSource, SearchLog, first_pass, min_max
from ragscience.search.named_papers import named_papers, own_candidates, preferred
from ragscience.search.question_words import readable
from ragscience.search.reranking import late_scores, maxsim_scores, mixed_scores, ranked, rerank

NO_DENSE = "The embedder failed, so the question was searched by its words alone"
NO_LATE = "Late interaction is left out, because its model failed"


@dataclass(frozen=True, slots=True)
class SearchModels:
    """The models of a search."""

    embedder: Embedder
    tokens_from: TokenEmbedder | None = None
    """For late interaction; None: off."""
    reranker: Reranker | None = None
    """Scores question and passage together."""
    sources: Mapping[str, ScoreSource] = field(default_factory=dict)
    """Further searches, by the name under which a profile weighs them."""
    on_rerank: Callable[[int], None] | None = None
    """Called with the number of passages before the reranker reads them."""


def search(question: str, *, library: Store, models: SearchModels, profile: Profile, filters: Filters) -> Found:
    """The `profile.top_k` best passages that `filters` allow, from one generation of the library.

    Dense and keyword search, and those of `models.sources` that the profile gives a weight, give candidates, filtered
    inside the search and ordered by the fused score; a profile with a `prefilter` passes on only that many. Late
    interaction reorders all candidates; the reranker then sets the order of the first `profile.rerank_depth`, or of as
    many as its time allows.
    The passages of a paper that the question names are candidates, too, and preferred (search/named_papers.py).
    Ties go to the passage that was ingested first; of passages with the same words only the first is kept.
    A question in another language is searched by the words of it that the library has, with a warning, where the
    library was embedded with the embedded model: `Found.question` has them. `Found.signals` has the best `maxsim` of
    all, -1 to 1, and `foreign`, 1, for such a question. Where the embedder fails, keyword search alone gives the
    candidates; where a reranker fails, the order stays; both with a warning. Raises NothingFound where a filter fits no
    paper.
    """
    with library.snapshot():
        log = SearchLog()
        with timed(log.timings, "retrieval_ms"):
            foreign = readable(question, library)
            question = foreign.searched
            log.warnings.extend(filter(None, [foreign.warning]))
            scope = Scope(library, library.select(filters))
            with timed(log.timings, "names_ms"):
                named = named_papers(question, scope)
            with timed(log.timings, "embed_ms"):
                (vector, asked), *others = _embedded([question, *(paper.text for paper in named)], models, log)
                named = [
                    replace(paper, vector=own, asked=own_asked)
                    for paper, (own, own_asked) in zip(named, others, strict=True)
                ]
            own = [chunk_id for paper in named for chunk_id in own_candidates(paper, library, profile)]
            first = first_pass(Question(question, vector), scope, profile, also=own, sources=models.sources, log=log)
        tokens_from = models.tokens_from if profile.rerank_depth else None
        maxsims_of = partial(_maxsims, library=library, tokens_from=tokens_from, log=log)
        with timed(log.timings, "late_ms") if asked is not None and profile.rerank_depth else nullcontext():
            maxsims = maxsims_of(asked, first.fused)
            late = late_scores(maxsims, first.fused) if maxsims else {}
        if named:
            late = preferred(late or min_max(first.fused), named, library, profile, maxsims_of)
        depth = max(profile.rerank_depth, profile.top_k) if models.reranker else profile.top_k
        fused = first.fused
        order = sorted(fused, key=lambda chunk_id: (-late.get(chunk_id, 0.0), -fused[chunk_id], chunk_id))
        chunks = _without_copies(library.chunks(order[: 2 * depth]), depth)
        order, read, mixed = list(chunks), dict[int, float](), dict[int, float]()
        if models.reranker and chunks and profile.rerank_depth:
            with timed(log.timings, "rerank_ms"):
                read = _read_again(question, chunks, models.reranker, profile, models.on_rerank, log)
            mixed = {} if profile.llm_reranks else mixed_scores(read, late or fused)
            order = ranked(order, mixed or read)
        seen = {"maxsim": round(max(maxsims.values()), 6)} if maxsims else {}
        seen |= {"foreign": 1.0} if foreign.warning else {}
        decided, reranked = {**fused, **late, **read, **mixed}, read or late
        hits = tuple(
            Hit(
                rank=rank,
                chunk=chunks[chunk_id],
                score=decided[chunk_id],
                scores=first.scores_of(chunk_id) | {"rerank": reranked.get(chunk_id)},
                found_by=first.found_by(chunk_id),
            )
            for rank, chunk_id in enumerate(order[: profile.top_k], start=1)
        )
    stages = tuple(log.timings.stages)
    return Found(foreign.asked, profile.name, hits, tuple(log.warnings), dict(log.timings), seen, stages=stages)


def _without_copies(chunks: Sequence[StoredChunk], wanted: int) -> dict[int, StoredChunk]:
    """The first `wanted` passages, by id, whose words no earlier one has: a paper may be there twice."""
    first = {" ".join(chunk.text.casefold().split()): chunk for chunk in reversed(chunks)}
    kept = {chunk.chunk_id for chunk in first.values()}
    return {chunk.chunk_id: chunk for chunk in [each for each in chunks if each.chunk_id in kept][:wanted]}


def _read_again(
    question: str,
    chunks: Mapping[int, StoredChunk],
    reranker: Reranker,
    profile: Profile,
    on_rerank: Callable[[int], None] | None,
    log: SearchLog,
) -> dict[int, float]:
    """The reranker's scores, by id; none, with a warning, where it fails."""
    passages = {key: chunk.searched for key, chunk in chunks.items()}
    if on_rerank is not None:
        on_rerank(len(passages))
    try:
        return rerank(question, passages, reranker, profile.rerank_batch)
    except ModelProblem as problem:
        log.warnings.append(f"The reranker failed, so the first pass's order stands: {problem}")
        return {}


def _embedded(
    texts: Sequence[str], models: SearchModels, log: SearchLog
) -> list[tuple[NDArray[np.float32] | None, QuestionVectors | None]]:
    """Each text's vector and, for late interaction, the text as a question: from one pass if one model makes both.

    None, with a warning, where a model fails.
    """
    vectors: list[NDArray[np.float32] | None] = [None] * len(texts)
    asked: list[QuestionVectors | None] = [None] * len(texts)
    if models.tokens_from is not None:
        try:
            whole = models.tokens_from.questions(texts)
            vectors, asked = [each.vector for each in whole], [*whole]
        except ModelProblem as problem:
            log.warnings.append(f"{NO_DENSE if models.tokens_from is models.embedder else NO_LATE}: {problem}")
    if models.tokens_from is not models.embedder:
        try:
            vectors = [models.embedder.embed_query(text) for text in texts]
        except ModelProblem as problem:
            vectors = [None] * len(texts)
            log.warnings.append(f"{NO_DENSE}: {problem}")
    return list(zip(vectors, asked, strict=True))


def _maxsims(
    asked: QuestionVectors | None,
    fused: Mapping[int, float],
    *,
    library: Store,
    tokens_from: TokenEmbedder | None,
    log: SearchLog,
) -> dict[int, float]:
    """As `maxsim_scores`; nothing without a model, and, with a warning, where it fails."""
    if asked is None or tokens_from is None or not fused:
        return {}
    try:
        return maxsim_scores(asked, fused, library=library, tokens_from=tokens_from)
    except ModelProblem as problem:
        if not any(warning.startswith(NO_LATE) for warning in log.warnings):
            log.warnings.append(f"{NO_LATE}: {problem}")
        return {}
