"""Answers, what they cite, and the questions before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from ragscience.core.paper_records import Box
from ragscience.core.search_records import Found, Stage
from ragscience.core.serialization import Count, PageNumber, Schema, Share

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
    """Ids of the passages that the answer cites: they compete again in a follow-up."""


@dataclass(frozen=True, slots=True)
class Citation:
    """A page that an answer cites."""

    file: str
    page: PageNumber
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


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of an answer, and the result of its check."""

    text: str
    """As in the answer, with its citations."""
    verdict: Annotated[str, Schema(enum=["supported", "weak", "unsupported", "no-claim", "quote"])]
    """ "no-claim" where it says nothing that a page could support; "quote": the page's own words, not checked."""
    score: Share
    """How much of it the cited pages support."""
    evidence: Citation | None
    """The best quote for it, cited or not; None where no passage supports any of it."""


@dataclass(frozen=True, slots=True)
class Block:
    """A part of an answer that is shown by itself."""

    kind: Annotated[str, Schema(enum=["text", "heading", "quote", "table", "formula", "item"])]
    """ "text": words of the program; "item": a line of a list."""
    text: str
    """On one line, a table in Markdown; a quote without its quotation marks."""
    citations: tuple[Citation, ...] = ()
    """The pages that its words are on."""
    lead: str = ""
    """What stands over it on its page and says what it is about: a heading, the caption of a table."""
    is_brief: bool = False
    """Whether a line is enough for it: it comes after better ones."""


@dataclass(frozen=True, slots=True)
class Step:
    """What one node of the agentic loop did, and its cost."""

    node: Annotated[str, Schema(enum=["decompose_query", "retrieve", "reason", "reflect", "generate_answer"])]
    iteration: PageNumber
    """Pass of the loop, from 1."""
    summary: str
    """The result, in one line."""
    by: Annotated[str, Schema(enum=["llm", "rules"])]
    """ "rules": the deterministic stand-in."""
    queries: tuple[str, ...] = ()
    """The sub-queries that were written or searched for."""
    notes: tuple[str, ...] = ()
    """Tool calls with their results, and what went wrong, a line each."""
    score: Share | None = None
    """Of a reflection."""
    missing: tuple[str, ...] = ()
    """What a reflection finds missing."""
    passages: Count = 0
    """How many are found so far."""
    new_passages: Count = 0
    searches: Count = 0
    llm_calls: Count = 0
    tool_calls: Count = 0
    tokens: Count = 0
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
    confidence: Annotated[str | None, Schema(enum=["high", "medium", "low", None])] = None
    """How sure it is that the quotes hold the answer; None for a refusal and for the answer of an LLM."""
    missing: tuple[str, ...] = ()
    """What was asked for and does not occur near the quotes, a sentence each."""
    route: str = PASSAGES
    """How it was found: PASSAGES, or the name of one of the routes in ragscience/ask/."""
    route_note: str = ""
    """What was done, in one line; empty for PASSAGES."""
    blocks: tuple[Block, ...] = ()
    """What `text` is made of; empty for the answer of an LLM and for a refusal."""


VERSION_1_NAMES = {"notices": "warnings", "said": "summary"}
"""Fields that had another name in rows that version 1 of the JSON wrote, with today's name."""
