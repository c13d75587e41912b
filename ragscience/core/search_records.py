"""What a search takes and gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ragscience.core.paper_records import StoredChunk


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that a search found, with its scores."""

    rank: int
    """From 1."""
    chunk: StoredChunk
    score: float
    """The score that decided the rank; higher is better."""
    scores: Mapping[str, float | None]
    """Keys `dense` (cosine), `bm25`, `fused`, `rerank` and the name of each further source; None where that search did
    not see the passage."""
    found_by: tuple[str, ...]
    """The searches that found it: "dense", "bm25" or a further source; or the tool that read it."""


@dataclass(frozen=True, slots=True)
class Filters:
    """What a search may find: everything but lists of references by default."""

    papers: tuple[str, ...] = ()
    """Shell patterns or parts of file names, any of which may match, case aside."""
    pages: tuple[int, int] | None = None
    """First and last page, inclusive; a passage that touches one of them counts."""
    kinds: tuple[str, ...] = ()
    """Of passages, any of which; none means every kind but "reference", "all" really every one."""
    sections: tuple[str, ...] = ()
    """Parts of section names, any of which may match, case aside."""
    years: tuple[int, int] | None = None
    """First and last year of the paper, inclusive; a paper whose year is not known is left out."""
    authors: tuple[str, ...] = ()
    """Parts of authors' names, any of which may match, case and accents aside."""
    paper_ids: tuple[int, ...] = ()
    """Only these papers; for programs."""


@dataclass(frozen=True, slots=True)
class Profile:
    """How a search works: see the table in search/profiles.py."""

    name: str
    dense_candidates: int
    bm25_candidates: int
    fusion: str
    """ "weighted" (min-max to 0-1, then a weighted sum), "by-max" (a weighted sum of the cosine as it is and BM25 over
    the highest BM25) or "rrf" (sum of weight / (60 + rank))."""
    dense_weight: float
    bm25_weight: float
    rerank_depth: int
    """How many of the fused candidates the reranker reads; 0 leaves them in the order of the first pass."""
    top_k: int
    """How many passages are given to the answer."""
    prefilter: int = 0
    """How many of the fused candidates go on to be reranked; 0: all."""
    more_weights: tuple[tuple[str, float], ...] = ()
    """Weights of further score sources by name; a missing source leaves its weight to the others."""
    rerank_batch: int = 0
    """How many passages the reranker gets at a time; 0: all, and a few where its time is limited."""
    llm_reranks: bool = False
    """Whether an LLM, where there is one, reranks the candidates."""
    corrective: bool = False
    """Whether doubtful results are searched for again in other words."""
    about: str = ""
    """Its purpose, in a line."""


@dataclass(frozen=True, slots=True)
class PathStep:
    """A relation of the knowledge graph, and the pages that state it."""

    source: str
    """Name of an entity."""
    relation: str
    """As "USES"."""
    target: str
    pages: tuple[tuple[str, int], ...]
    """(file, page), each once."""


@dataclass(frozen=True, slots=True)
class FoundPath:
    """Consecutive relations from what a question names to what it may ask for."""

    steps: tuple[PathStep, ...]
    score: float
    """How well they fit the question, -1 to 1."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One timed stage of a search or an answer; a stage that ran twice is listed twice."""

    name: str
    """As in `timings_ms`, without the unit: "dense", "llm"."""
    started: float
    """Seconds since 1970."""
    ms: float
    """How long it took, in milliseconds."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a question, searched for by itself."""

    question: str
    chunk_ids: tuple[int, ...]
    """The passages that were found for it."""
    words: str = ""
    """What of it is looked for in its paper: the question without the paper's name; empty: all of it."""


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a search."""

    question: str
    profile: str
    hits: tuple[Hit, ...]
    warnings: tuple[str, ...] = ()
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    signals: Mapping[str, float] = field(default_factory=dict)
    """Whether the papers answer at all: see ask/confidence.py."""
    verdict: str = ""
    """ "correct", "ambiguous" or "incorrect" where a second look was taken (agent/corrective.py), else empty."""
    concepts: tuple[str, ...] = ()
    """Names that the knowledge graph has near the question; empty without the graph."""
    paths: tuple[FoundPath, ...] = ()
    """The graph's best paths for the question, best first; empty without the graph."""
    parts: tuple[Part, ...] = ()
    """The parts of a question that was split for the search, two or more; empty otherwise."""
    stages: tuple[Stage, ...] = ()
    """The summands of `timings_ms`, with their start times."""
