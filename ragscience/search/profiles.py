"""The table of search profiles."""

from dataclasses import replace

from ragscience.core.errors import UsageError
from ragscience.core.records import Profile
from ragscience.core.settings import Settings

PROFILE_NAMES = ("default", "rrf", "even", "deep", "balanced", "guide")
LLM_DEPTH, LLM_KEPT = 10, 5
"""How many passages an LLM scores, and how many of them are kept: the graph guide's numbers."""
GRAPH_SHARES = (("graph", 0.20), ("gear", 0.15))
"""Weights of the graph's two scores, out of 1 (the production notes)."""
EVERY_PASSAGE = 1000
"""Candidates in place of "all that contain a word of the question": far more than the ten that are kept."""

_FIXED = (
    Profile(
        name="rrf",
        fusion="rrf",
        dense_weight=1.0,
        bm25_weight=1.0,
        top_k=5,
        about="Combines the two searches by rank (reciprocal rank fusion); scores are not compared.",
    ),
    Profile(
        name="even",
        dense_candidates=3 * LLM_DEPTH,
        bm25_candidates=EVERY_PASSAGE,
        fusion="by-max",
        dense_weight=0.5,
        bm25_weight=0.5,
        rerank_depth=LLM_DEPTH,
        top_k=LLM_KEPT,
        prefilter=LLM_DEPTH,
        llm_reranks=True,
        corrective=True,
        about="Meaning and words count the same; an LLM, if there is one, scores the ten best and judges the result.",
    ),
    Profile(
        name="deep",
        dense_candidates=100,
        bm25_candidates=60,
        dense_weight=0.45,
        bm25_weight=0.20,
        rerank_depth=80,
        top_k=12,
        prefilter=80,
        more_weights=GRAPH_SHARES,
        rerank_batch=8,
        about="Many candidates and many passages, with the knowledge graph if there is one.",
    ),
    Profile(
        name="balanced",
        dense_weight=0.5,
        bm25_weight=0.5,
        rerank_depth=0,
        about="Meaning and words count the same, without a reranker: for collections of abstracts.",
    ),
    Profile(
        name="guide",
        about="The plain baseline: FAISS, rank_bm25 over words as written, and a cross-encoder if there is one.",
    ),
)
"""The profiles whose numbers are not settings."""


def profile_named(name: str, settings: Settings, wanted: int | None = None) -> Profile:
    """The profile `name`; `default` is made from the settings.

    `wanted` is the requested number of passages, or None for the profile's own; the candidate lists grow
    with it, so that 50 requested are 50 found. Raises UsageError for a name that is not in the table.
    """
    default = Profile(
        name="default",
        dense_candidates=settings.top_k_candidates,
        bm25_candidates=settings.top_k_candidates,
        dense_weight=settings.dense_weight,
        bm25_weight=settings.bm25_weight,
        rerank_depth=settings.top_k_candidates,
        top_k=settings.top_k,
        about="Meaning counts more than words; the numbers are settings.",
    )
    found = next((profile for profile in (default, *_FIXED) if profile.name == name), None)
    if found is None:
        raise UsageError(f"There is no profile {name!r}.", f"Take one of: {', '.join(PROFILE_NAMES)}.")
    if wanted is None:
        return found
    return replace(
        found,
        top_k=wanted,
        dense_candidates=max(found.dense_candidates, wanted),
        bm25_candidates=max(found.bm25_candidates, wanted),
        rerank_depth=max(found.rerank_depth, wanted) if found.rerank_depth else 0,
        # Twice: some of them repeat others and are left out.
        prefilter=max(found.prefilter, 2 * wanted) if found.prefilter else 0,
    )


def passages_wanted(settings: Settings, requested: int | None, *, for_answer: bool = False) -> int | None:
    """How many passages somebody asked for, in the request or in a setting; None where nobody did."""
    own = settings.chosen("answer_passages") if for_answer else None
    return requested or own or settings.chosen("top_k")


def profile_of(
    settings: Settings, requested: int | None, *, name: str = "", for_answer: bool = False, by_llm: bool = False
) -> Profile:
    """How a question is searched, and how many passages it or its answer gets; `name`: by this profile alone.

    `requested` are the passages that the request asks for; `by_llm`: whether a language model reranks. An answer gets
    `answer_passages` where nobody asked for a number.
    """
    wanted = passages_wanted(settings, requested, for_answer=for_answer)
    profile = profile_named(name or settings.profile, settings, wanted)
    if settings.graph == "on" and not name:
        profile = with_graph(profile)
    if by_llm:
        return read_by_llm(profile, wanted=wanted)
    if not for_answer or wanted is not None or profile.name == "guide":  # whose number is the design card's
        return profile
    return replace(profile, top_k=max(profile.top_k, settings.answer_passages))


def with_graph(profile: Profile) -> Profile:
    """The profile with the knowledge graph's scores added, with the weights of the production notes.

    A profile that already weighs further sources is unchanged.
    """
    if profile.more_weights:
        return profile
    rest = 1.0 - sum(share for _, share in GRAPH_SHARES)
    both = profile.dense_weight + profile.bm25_weight
    return replace(
        profile,
        dense_weight=profile.dense_weight * rest,
        bm25_weight=profile.bm25_weight * rest,
        more_weights=tuple((name, share * both) for name, share in GRAPH_SHARES),
    )


def read_by_llm(profile: Profile, *, wanted: int | None) -> Profile:
    """The profile with an LLM as the reranker: it scores LLM_DEPTH passages, and LLM_KEPT, or `wanted`, are kept."""
    return replace(
        profile, rerank_depth=LLM_DEPTH, top_k=LLM_KEPT if wanted is None else wanted, rerank_batch=0, llm_reranks=True
    )
