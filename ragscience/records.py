"""What travels between the rooms: plain frozen dataclasses, no behaviour but a derived value or two.

Positions are counted in characters of `Document.text`; pages are numbered from 1, as a reader counts them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Box = tuple[float, float, float, float]
"""Left, top, right, bottom in points (1/72 inch) from the top left corner of the page as it is shown."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line as it stands on a page: `Document.text[start:end]` is in `box`."""

    start: int
    end: int
    box: Box


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a document: `Document.text[start:end]` is what was read from it."""

    number: int
    """From 1."""
    start: int
    end: int
    warning: str = ""
    """Why this page has less than it should ("could not be read: …"), or empty."""
    lines: tuple[Line, ...] = ()
    """Where its text stands, in the order of the text; empty where that is not known."""
    furniture: str = ""
    """What stands on it and is not in the document's text: running heads, its number, stamps; a line each."""


@dataclass(frozen=True, slots=True)
class Element:
    """A part of a document on one page: `Document.text[start:end]` is of one kind."""

    start: int
    end: int
    kind: str
    """One of "title", "authors", "abstract", "heading", "text", "list", "caption", "table", "figure" (the text in one),
    "equation", "footnote", "reference"."""
    page: int
    level: int = 0
    """Of a heading, from 1; 0 for all else."""
    section: str = ""
    """The headings that it stands under, outermost first: "3 Model › 3.2 Attention"; a heading's own is the last."""
    box: Box | None = None
    """Around all its lines; None where that is not known."""


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a paper says of itself, as far as it can be read from its first page and the file; empty where it cannot."""

    title: str = ""
    authors: tuple[str, ...] = ()
    """In the order printed, given name first."""
    year: int | None = None
    venue: str = ""
    """Conference or journal, without the year."""
    doi: str = ""
    """Without a prefix: "10.1136/pgmj.2009.089987"."""
    arxiv_id: str = ""
    """With its version where that is printed: "1706.03762v7"."""
    confidence: Mapping[str, float] = field(default_factory=dict)
    """0 to 1 for each of the fields above that is filled, by its name."""
    abstract: str = ""
    """This and the fields below are known only of a paper that was fetched, from where it came from."""
    categories: tuple[str, ...] = ()
    """arXiv's subject classes, the primary one first: ("cs.CL", "cs.LG")."""
    url: str = ""
    """Where the file was fetched from."""
    published: str = ""
    """The day of its first version, as "2017-06-12"."""


@dataclass(frozen=True, slots=True)
class Document:
    """A file as it was read: the whole text, and where each page begins and ends in it."""

    text: str
    pages: tuple[Page, ...]
    title: str = ""
    warnings: tuple[str, ...] = ()
    elements: tuple[Element, ...] = ()
    """In the order of the text, all of which is in one of them but blanks; empty where the structure is not known."""
    metadata: Metadata = field(default_factory=Metadata)


def searched_text(header: str, text: str) -> str:
    """What a passage is searched by, everywhere: embedded, indexed and read by rerankers; cited is the text alone."""
    return f"{header}\n{text}" if header else text


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage of a document: `Document.text[start:end] == text`, on pages `page_start` to `page_end` inclusive."""

    ordinal: int
    """From 0, in the order of the document."""
    text: str
    start: int
    end: int
    page_start: int
    page_end: int
    section: str = ""
    kind: str = "text"
    header: str = ""
    """What it stands under, "title › section", and for the later parts of a table its header row: searched together
    with the text, but no part of it."""

    @property
    def searched(self) -> str:
        """See `searched_text`."""
        return searched_text(self.header, self.text)


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper that is in the library."""

    paper_id: int
    file: str
    """The shortest name that tells it apart: `attention.pdf`, or `2017/attention.pdf`."""
    path: str
    """The full path that it was read from."""
    md5: str
    """Of the file's bytes, in hexadecimal."""
    size_bytes: int
    modified_ns: int
    """The file's mtime when it was read, in nanoseconds since 1970."""
    pages: int
    chunks: int
    title: str
    added_at: str
    """ISO 8601, UTC."""
    warnings: tuple[str, ...] = ()
    metadata: Metadata = field(default_factory=Metadata)


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk as the library gives it back, with the paper that it is from."""

    chunk_id: int
    paper_id: int
    file: str
    path: str
    ordinal: int
    text: str
    start: int
    end: int
    page_start: int
    page_end: int
    section: str
    kind: str
    page_breaks: tuple[tuple[int, int], ...]
    """(offset in `text`, page number) for each page that the chunk touches; the first offset is 0."""
    header: str = ""
    """As of the chunk: searched together with the text, but no part of it."""

    @property
    def searched(self) -> str:
        """See `searched_text`."""
        return searched_text(self.header, self.text)


@dataclass(frozen=True, slots=True)
class EmbedderIdentity:
    """What a library's vectors were made with; vectors of different identities are never mixed."""

    provider: str
    """ "embedded", "ollama" or "sentence-transformers"."""
    model: str
    digest: str
    """Of the weights, in hexadecimal (sha256, or what Ollama calls the model's digest)."""
    dimension: int


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that was found, with each score that made it."""

    rank: int
    """From 1."""
    chunk: StoredChunk
    score: float
    """The score that decided the rank; higher is better."""
    scores: Mapping[str, float | None]
    """Keys `dense` (cosine), `bm25`, `fused`, `rerank`, and the name of each further source that was asked; None where
    that search did not see the passage."""
    found_by: tuple[str, ...]
    """Which searches found it: "dense", "bm25", or a further source."""


@dataclass(frozen=True, slots=True)
class Filters:
    """What a search may find. Empty means everything but lists of references."""

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
    """Only these papers, whatever else is asked for; for a program, not for a person."""


@dataclass(frozen=True, slots=True)
class Profile:
    """How a search is made: see the table in retrieval/profiles.py."""

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
    """How many of the fused candidates go on to be read again; 0: all."""
    more_weights: tuple[tuple[str, float], ...] = ()
    """Weights of further score sources by name; one that is not there leaves its weight to the others."""
    rerank_batch: int = 0
    """How many passages the reranker gets at a time; 0: all, and a few where its time is limited."""
    llm_reranks: bool = False
    """Whether an LLM, where there is one, reads the candidates again."""
    corrective: bool = False
    """Whether what was found is judged, and searched for again in other words where it is doubtful."""
    about: str = ""
    """What it is for, in a line."""


@dataclass(frozen=True, slots=True)
class PathStep:
    """A relation of the knowledge graph, and the pages that say it."""

    source: str
    """Name of an entity."""
    relation: str
    """What it has to do with the target, as "USES"."""
    target: str
    pages: tuple[tuple[str, int], ...]
    """(file, page), each once."""


@dataclass(frozen=True, slots=True)
class FoundPath:
    """Relations that lead from what a question names to what it may ask for, in order."""

    steps: tuple[PathStep, ...]
    score: float
    """How well they fit the question, -1 to 1."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of one search or answer, as it was timed; a stage that ran twice is there twice."""

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


@dataclass(frozen=True, slots=True)
class Found:
    """What a search gives back."""

    question: str
    profile: str
    hits: tuple[Hit, ...]
    notices: tuple[str, ...] = ()
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    signals: Mapping[str, float] = field(default_factory=dict)
    """What the search saw that tells whether the papers answer at all: see answering/answerability.py."""
    verdict: str = ""
    """ "correct", "ambiguous" or "incorrect" where a second look was taken (agent/corrective.py), else empty."""
    concepts: tuple[str, ...] = ()
    """Names that the knowledge graph has near the question; empty where it was not asked."""
    paths: tuple[FoundPath, ...] = ()
    """The graph's best paths for the question, best first; empty where it was not asked for them."""
    parts: tuple[Part, ...] = ()
    """Of a question that was searched for in parts: those, two or more; empty otherwise."""
    stages: tuple[Stage, ...] = ()
    """What `timings_ms` sums up, with the time at which each began."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A question that was asked before, and its answer."""

    question: str
    answer: str
    passages: tuple[int, ...] = ()
    """Ids of the passages that the answer cites: they compete again in a follow-up."""


@dataclass(frozen=True, slots=True)
class Citation:
    """A page that an answer points at."""

    file: str
    page: int
    quote: str
    """The words of that page that stand behind the sentence."""
    supported: bool
    """Whether the cited page was among the passages given and holds what is said."""
    path: str = ""
    """The full path of the file."""
    start: int = 0
    end: int = 0
    """`Document.text[start:end]` is the quote; both 0 where there is none."""
    boxes: tuple[Box, ...] = ()
    """Where the quote stands on its page, a box a line; empty where that is not known."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of an answer, and what the check found."""

    text: str
    """As it stands in the answer, with its citations."""
    verdict: str
    """ "supported", "weak" or "unsupported"; "no-claim" where nothing is said that a page could hold."""
    score: float
    """How much of it the cited pages hold, 0 to 1."""
    evidence: Citation | None
    """The best quote for it, cited or not; None where no passage holds anything of it."""


@dataclass(frozen=True, slots=True)
class Step:
    """What one node of the agentic loop did, and what it cost."""

    node: str
    """One of "decompose_query", "retrieve", "reason", "reflect", "generate_answer"."""
    iteration: int
    """Which pass of the loop, from 1."""
    said: str
    """What came of it, in one line."""
    by: str
    """ "llm", or "rules" where the deterministic stand-in did it."""
    queries: tuple[str, ...] = ()
    """The sub-queries that were made or searched for."""
    notes: tuple[str, ...] = ()
    """What tools were called and gave, and what went wrong, a line each."""
    score: float | None = None
    """Of a reflection, 0 to 1."""
    missing: tuple[str, ...] = ()
    """What a reflection says is not there yet."""
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
    """Seconds since 1970; 0 where that was not noted."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer with all that it rests on."""

    answer_id: str
    question: str
    text: str
    mode: str
    """ "llm" or "extractive"."""
    refused: bool
    citations: tuple[Citation, ...]
    found: Found
    models: Mapping[str, str | None]
    """Keys `embedder`, `reranker`, `llm`: the identity of what was used, None where nothing was."""
    notices: tuple[str, ...] = ()
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    sentences: tuple[Sentence, ...] = ()
    """The answer's sentences in order, each with the verdict of the citation check."""
    answerability: float | None = None
    """How likely the passages answer the question, 0 to 1; None where it was not judged."""
    prompt_cut: bool = False
    """Whether the server cut the prompt, so that the model did not see all of it."""
    tokens: Mapping[str, int] = field(default_factory=dict)
    """Keys `prompt`, `answer`, `window`, as the server counted them; empty without an LLM. Summed over all calls where
    there is a trace."""
    trace: tuple[Step, ...] = ()
    """The steps of the agentic loop in order, whose searches, calls and tokens add up to the whole cost; empty for an
    answer from one search."""
    trace_id: str = ""
    """32 hexadecimal digits, the same in the answer's JSON, the log, the spans and the audit log; empty for an answer
    that was kept before there were any."""
    stages: tuple[Stage, ...] = ()
    """What `timings_ms` sums up beside the search's own (`Found.stages`), with the time at which each began."""
