"""Answers, what they cite, and the questions before."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from ragscience.core.paper_records import Box, StoredChunk


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
    """What a search may find: by default all but lists of references, the words in figures and readers' notes."""

    papers: tuple[str, ...] = ()
    """Shell patterns or parts of file names, any of which may match, case aside."""
    pages: tuple[int, int] | None = None
    """First and last page, inclusive; a passage that touches one of them counts."""
    kinds: tuple[str, ...] = ()
    """Of passages, any of which; none means every kind but "reference", "figure" and "note", "all" really every one."""
    sections: tuple[str, ...] = ()
    """Parts of section names, any of which may match, case aside."""
    years: tuple[int, int] | None = None
    """First and last year of the paper, inclusive; a paper whose year is not known is left out."""
    authors: tuple[str, ...] = ()
    """Parts of authors' names, any of which may match, case and accents aside."""
    collections: tuple[str, ...] = ()
    """Parts of the names of collections, any of which may match, case aside; those below it count."""
    tags: tuple[str, ...] = ()
    """Tags, any of which the paper has, case aside."""
    item_types: tuple[str, ...] = ()
    """Zotero's types of items ("thesis"), any of which the paper is, case aside."""
    paper_ids: tuple[int, ...] = ()
    """Only these papers; for programs."""


@dataclass(frozen=True, slots=True)
class Profile:
    """How a search works: see the table in search/profiles.py. What is not said is the guide's."""

    name: str
    dense_candidates: int = 20
    bm25_candidates: int = 20
    fusion: str = "weighted"
    """ "weighted" (min-max to 0-1, then a weighted sum), "by-max" (a weighted sum of the cosine as it is and BM25 over
    the highest BM25) or "rrf" (sum of weight / (60 + rank))."""
    dense_weight: float = 0.7
    bm25_weight: float = 0.3
    rerank_depth: int = 20
    """How many of the fused candidates the reranker reads; 0 leaves them in the order of the first pass."""
    top_k: int = 4
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
class QuestionPart:
    """A part of a question, searched for by itself."""

    question: str
    hits: tuple[Hit, ...] = ()
    """The passages that were found for it, the best first; of `Found.hits` some."""

    @property
    def chunk_ids(self) -> tuple[int, ...]:
        """Of these passages."""
        return tuple(hit.chunk.chunk_id for hit in self.hits)


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
    parts: tuple[QuestionPart, ...] = ()
    """The parts of a question that was split for the search, two or more; empty otherwise."""
    stages: tuple[Stage, ...] = ()
    """The summands of `timings_ms`, with their start times."""
    about: tuple[str, ...] = ()
    """Files of the papers that the turns of a conversation keep the question to."""
    second: QuestionPart | None = None
    """The next best reading of a turn of a conversation, where it is nearly as likely."""

    @property
    def understood(self) -> str:
        """What was asked, with the papers that it was asked of: "raft.pdf · how long is an election timeout?"."""
        return " · ".join(filter(None, (", ".join(self.about), self.question)))


class Timings(dict[str, float]):
    """Milliseconds by name ("dense_ms"), a stage that ran twice summed up; `stages` tells when each run began."""

    def __init__(self) -> None:
        super().__init__()
        self.stages: list[Stage] = []
        """In the order in which they ended."""

    def add(self, name: str, ms: float, started: float) -> None:
        """Take in a stage that took `ms` and began at `started`, in seconds since 1970."""
        self[name] = round(self.get(name, 0.0) + ms, 3)
        self.stages.append(Stage(name.removesuffix("_ms"), started, ms))


@contextmanager
def timed(timings: Timings, name: str) -> Iterator[None]:
    """Note under `name` how many milliseconds the block took, also where it raises."""
    began, started = time.time(), time.perf_counter()
    try:
        yield
    finally:
        timings.add(name, round((time.perf_counter() - started) * 1000, 3), began)


PASSAGES = "passages"
"""The usual route of a question: a search for passages, and an answer from them."""
UNCITED = "No citation: nothing could be checked."
"""What is said of a language model's answer that cites no page, instead of a check."""


@dataclass(frozen=True, slots=True)
class Turn:
    """An earlier question and its answer."""

    question: str
    answer: str
    passages: tuple[int, ...] = ()
    """Ids of the passages that the answer cites."""


@dataclass(frozen=True, slots=True)
class Citation:
    """A page that an answer cites."""

    file: str
    page: int
    quote: str
    """The words of that page that support the sentence."""
    supported: bool
    """Whether the cited page was among the passages and supports the claim."""
    path: str = ""
    """The full path of the file."""
    start: int = 0
    end: int = 0
    """`Document.text[start:end]` is the quote; both 0 where there is none."""
    boxes: tuple[Box, ...] = ()
    """Where the quote is on its page, a box (left, top, right, bottom in points) a line; empty where unknown."""
    added: bool = False
    """Whether the model cited nothing and this page was found by matching its sentence with the passages."""
    md5: str = ""
    """Of the paper's file; empty where it is not known, and in an answer that an older version kept."""
    cited_as: str = ""
    """First author and year, "Vaswani 2017"; empty where not known."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of an answer, and the result of its check."""

    text: str
    """As in the answer, with its citations."""
    verdict: str
    """ "no-claim" where it says nothing that a page could support; "quote": the page's own words, not checked."""
    score: float
    """How much of it the cited pages support."""
    evidence: Citation | None
    """The best quote for it, cited or not; None where no passage supports any of it."""


@dataclass(frozen=True, slots=True)
class Block:
    """A part of an answer that is shown by itself."""

    kind: str
    """ "text": words of the program; "item": a line of a list."""
    text: str
    """On one line, a table in Markdown; a quote without its quotation marks."""
    citations: tuple[Citation, ...] = ()
    """The pages that its words are on."""
    lead: str = ""
    """What stands over it on its page and says what it is about: a heading, the caption of a table."""
    is_brief: bool = False
    """Whether it is shown only where all is asked for: it comes after better ones."""
    line: str = ""
    """Of the first quote: the sentence in it that answers, or its row as `name: column value`; else empty."""
    key: str = ""
    """The words of `line` that were asked for, a value or a name, where it is sure which they are; else empty."""
    beside: str = ""
    """The next best sentences of that quote, in its order, which are shown below `line`."""


@dataclass(frozen=True, slots=True)
class Step:
    """What one node of the agentic loop did, and its cost."""

    node: str
    iteration: int
    """Pass of the loop, from 1."""
    summary: str
    """The result, in one line."""
    by: str
    """ "rules": the deterministic stand-in."""
    queries: tuple[str, ...] = ()
    """The sub-queries that were written or searched for."""
    notes: tuple[str, ...] = ()
    """Tool calls with their results, and what went wrong, a line each."""
    score: float | None = None
    """Of a reflection."""
    missing: tuple[str, ...] = ()
    """What a reflection finds missing."""
    passages: int = 0
    """How many are found so far."""
    new_passages: int = 0
    searches: int = 0
    llm_calls: int = 0
    tool_calls: int = 0
    tokens: int = 0
    """Of prompts and replies together."""
    seconds: float = 0.0
    started: float = 0.0
    """Seconds since 1970; 0 where unknown."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer with its passages, citations and checks."""

    answer_id: str
    question: str
    text: str
    mode: str
    """ "llm" or "extractive"."""
    refused: bool
    citations: tuple[Citation, ...]
    found: Found
    models: Mapping[str, str | None]
    """Keys `embedder`, `reranker`, `llm`: the model that was used, or None."""
    warnings: tuple[str, ...] = ()
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    sentences: tuple[Sentence, ...] = ()
    """In order, each with the verdict of the citation check."""
    answerability: float | None = None
    """How likely the passages answer the question, 0 to 1; None where not judged."""
    prompt_cut: bool = False
    """Whether the server cut the prompt, so that the model did not see all of it."""
    tokens: Mapping[str, int] = field(default_factory=dict)
    """Keys `prompt`, `answer`, `window`, as the server counted them; empty without an LLM. Summed over all calls where
    there is a trace. `thoughts`: how many of `answer` were thoughts, estimated; only where there were any."""
    trace: tuple[Step, ...] = ()
    """The steps of the agentic loop in order, whose costs add up to the whole; empty for an answer from one search."""
    trace_id: str = ""
    """32 hexadecimal digits, the same in the log, the spans and the audit log; empty for answers older than those."""
    stages: tuple[Stage, ...] = ()
    """The summands of `timings_ms` without the search's own (`Found.stages`), with their start times."""
    confidence: str | None = None
    """How sure it is that the quotes hold the answer; None for a refusal and for the answer of an LLM."""
    missing: tuple[str, ...] = ()
    """What was asked for and does not occur near the quotes, a sentence each."""
    route: str = PASSAGES
    """How it was found: PASSAGES, or the name of one of the routes in ragscience/ask/."""
    route_note: str = ""
    """What was done, in one line; empty for PASSAGES."""
    blocks: tuple[Block, ...] = ()
    """What `text` is made of, under the words of an LLM the quotes below them; empty for a refusal without an LLM."""
