"""Every setting of RAG Science, with its default, unit, bounds and reason: the only place where a default is written.

A setting is taken from a flag of the command, else from the environment (`RAG_CHUNK_SIZE=1200`), else from here.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self

# pydantic looks through every installed package for plugins of its own when the first model is built; we use none.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

from pydantic import Field, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from ragscience.errors import UsageError
from ragscience.prompt_templates import TEMPLATE_PLACEHOLDERS, checked_template

__all__ = ["Settings", "load_settings"]

ENV_PREFIX = "RAG_"

LONGEST_SHOWN = 80
"""Characters of a wrong value that a message repeats."""


class Settings(BaseSettings):
    """The settings of one run, checked."""

    model_config = SettingsConfigDict(env_prefix=ENV_PREFIX, extra="forbid", frozen=True, validate_default=False)

    # Where things lie
    home: Annotated[
        Path, Field(default_factory=Path.cwd, description="Folder that holds papers/, vectorstore/ and ingested.json.")
    ]
    cache_folder: Annotated[
        Path, Field(description="Where models are kept after their one-time conversion; safe to delete.")
    ] = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ragscience"

    # Reading
    reading_workers: Annotated[
        int, Field(ge=0, le=64, description="Processes that read PDFs; 0 means one for each core but one.")
    ] = 0
    reading_timeout_seconds: Annotated[
        float, Field(gt=0, le=3600, description="A file that takes longer is reported and left out.")
    ] = 60.0
    reading_memory_mb: Annotated[
        int, Field(ge=256, le=65536, description="Memory that a reading process may use, in MiB.")
    ] = 1024
    ocr: Annotated[
        bool, Field(description="Read pages without a text layer by OCR, 2 to 5 s a page; needs Tesseract's data.")
    ] = False
    ocr_language: Annotated[
        str,
        Field(
            pattern=r"^[A-Za-z0-9_]+(\+[A-Za-z0-9_]+)*$",
            max_length=100,
            description="What scanned pages are written in, by Tesseract's names; several as eng+deu.",
        ),
    ] = "eng"

    watch_settle_seconds: Annotated[
        float,
        Field(gt=0, le=3600, description="`ingest.py watch` takes a file that nobody has touched for so many seconds."),
    ] = 2.0
    layout: Annotated[
        Literal["auto", "always", "never"],
        Field(
            description="When PyMuPDF's layout model reads a paper, too, for 0.7 s a page and up to 2 GiB more memory "
            "a process: always, never, or where gaps in the section numbers show that a heading is missing."
        ),
    ] = "auto"

    # Chunking (the guide)
    chunk_size: Annotated[
        int,
        Field(ge=50, le=20000, description="Characters in a chunk: a full paragraph, still a focused passage."),
    ] = 1500
    chunk_overlap: Annotated[
        int,
        Field(ge=0, le=10000, description="Characters that neighbours share, so that a sentence is whole in one."),
    ] = 200
    separators: Annotated[
        tuple[str, ...],
        Field(min_length=1, description="Where to split, the best place first."),
    ] = ("\n\n", "\n", ". ", " ", "")

    # The map (the graph guide)
    map_neighbours: Annotated[
        int, Field(ge=1, le=50, description="Papers that each paper is joined with on the map: its nearest ones.")
    ] = 3
    map_min_cosine: Annotated[
        float, Field(ge=-1, le=1, description="Cosine above which two papers are joined on the map.")
    ] = 0.3
    map_max_nodes: Annotated[
        int, Field(ge=10, le=10_000, description="Nodes in each drawing of the map; those with fewest relations go.")
    ] = 2000

    # Models
    embedder: Annotated[
        Literal["auto", "embedded", "ollama", "sentence-transformers"],
        Field(description="Who makes vectors; auto is Ollama where it runs and has the model, else the embedded one."),
    ] = "auto"
    embedding_model: Annotated[str, Field(min_length=1, description="Model for Ollama or sentence-transformers.")] = (
        "nomic-embed-text"
    )
    embedding_batch: Annotated[int, Field(ge=1, le=1024, description="Chunks that are embedded in one call.")] = 64
    rerank: Annotated[
        Literal["auto", "cross-encoder", "late-interaction", "llm", "off"],
        Field(
            description="Who reads the candidates again; auto is the cross-encoder where its files are, "
            "else late interaction over stored token vectors; llm is Ollama's chat model, which scores the ten best."
        ),
    ] = "auto"
    token_cache_mb: Annotated[
        int,
        Field(
            ge=0,
            le=1_048_576,
            description="Disk for stored token vectors, in MiB (about 16 KiB a passage); past it, those of a few "
            "candidates are made while the question waits. 0 keeps none.",
        ),
    ] = 2048
    reranker: Annotated[str, Field(min_length=1, description="Cross-encoder: a name on the hub, or a folder.")] = (
        "cross-encoder/ms-marco-MiniLM-L-6-v2"
    )
    rerank_budget_ms: Annotated[
        int,
        Field(
            ge=0,
            le=600_000,
            description="Time that the cross-encoder may take, in ms; what it has not read by then keeps its order. "
            "0: no limit.",
        ),
    ] = 0
    llm_rerank_seconds: Annotated[
        float,
        Field(
            gt=0,
            le=3600,
            description="Longest time for an LLM to score the passages of one search; those that it has not scored by "
            "then keep their order.",
        ),
    ] = 120.0
    answerer: Annotated[
        Literal["auto", "ollama", "extractive"],
        Field(description="Who words the answer; auto is Ollama where it runs and has the model, else quotes."),
    ] = "auto"
    llm: Annotated[str, Field(min_length=1, description="Ollama's chat model.")] = "llama3.1:8b"
    temperature: Annotated[float, Field(ge=0, le=2, description="0: the same question gets the same answer.")] = 0.0
    num_ctx: Annotated[
        int, Field(ge=512, le=1_048_576, description="Tokens of context asked of Ollama; sent with every call.")
    ] = 8192
    max_answer_tokens: Annotated[int, Field(ge=16, le=32768, description="Longest answer, in tokens.")] = 1024
    ollama_url: Annotated[str, Field(pattern=r"^https?://", description="Where Ollama listens.")] = (
        "http://127.0.0.1:11434"
    )
    ollama_connect_seconds: Annotated[
        float, Field(gt=0, le=60, description="How long to wait for Ollama to take the call.")
    ] = 1.0
    ollama_timeout_seconds: Annotated[
        float, Field(gt=0, le=3600, description="How long to wait for Ollama's next piece of a reply.")
    ] = 120.0
    offline: Annotated[bool, Field(description="Refuse whatever would leave this machine.")] = False

    # Retrieval (the guide)
    profile: Annotated[
        Literal["default", "rrf", "even", "deep", "balanced"],
        Field(description="How searches are fused and cut; `query.py profiles` tells them apart."),
    ] = "default"
    top_k_candidates: Annotated[
        int, Field(ge=1, le=1000, description="Passages that each search gives to the fusion, and that are reranked.")
    ] = 20
    top_k: Annotated[int, Field(ge=1, le=200, description="Passages that the answer is made from.")] = 4
    dense_weight: Annotated[float, Field(ge=0, le=1, description="Share of meaning in the fused score.")] = 0.7
    bm25_weight: Annotated[float, Field(ge=0, le=1, description="Share of keywords in the fused score.")] = 0.3
    answerable_threshold: Annotated[
        float,
        Field(
            ge=0,
            le=1,
            description="How likely (0 to 1, as `answerability` in the JSON) the passages must answer the question; "
            "below it the answer is refused. 0 refuses only where nothing was found.",
        ),
    ] = 0.3

    # The knowledge graph (the graph guide, the graph search notes)
    graph: Annotated[
        Literal["auto", "on", "off"],
        Field(
            description="Whether a search asks the knowledge graph, too, where `ingest.py graph` has made one; auto is "
            "as the profile says: deep does."
        ),
    ] = "auto"
    graph_filter: Annotated[
        bool, Field(description="Search only papers that mention what the graph has near the question.")
    ] = False
    graph_max_hops: Annotated[
        int, Field(ge=1, le=4, description="Steps in the graph from what a question names to what counts as related.")
    ] = 2
    graph_entity_types: Annotated[
        tuple[Annotated[str, Field(pattern=r"^\S+$", max_length=100)], ...],
        Field(description='Types of entities that a search in the graph goes over, as ["METHOD"]; empty: all.'),
    ] = ()

    # Conversations
    history: Annotated[
        bool, Field(description="Keep each question and its answer in vectorstore/history.sqlite, on this machine.")
    ] = True
    audit: Annotated[
        bool,
        Field(
            description="Keep each answer with all that it was made from in vectorstore/audit.jsonl, on this machine; "
            "without `history` it is off, too."
        ),
    ] = True
    audit_max_mb: Annotated[
        int, Field(ge=1, le=10_000, description="Size from which on a new audit log is begun, in MiB.")
    ] = 16
    audit_keep: Annotated[
        int, Field(ge=1, le=1000, description="Audit logs that are kept beside the current one; older ones go.")
    ] = 5
    history_turns: Annotated[
        int,
        Field(
            ge=0,
            le=100,
            description="Turns of a conversation that the next question is understood by; 0: each stands alone.",
        ),
    ] = 6

    # Papers from the network
    arxiv_url: Annotated[str, Field(pattern=r"^https?://[^/?#\s]+/[^?#\s]*$", description="Where arXiv's API is.")] = (
        "https://export.arxiv.org/api/query"
    )
    arxiv_pause_s: Annotated[
        float,
        Field(ge=0, le=600, description="Seconds between two requests to one host; arXiv's terms of use ask for 3."),
    ] = 3.0
    sources_max_mb: Annotated[int, Field(ge=1, le=10_000, description="Largest PDF that is fetched, in MiB.")] = 200
    sources_timeout_s: Annotated[
        float, Field(gt=0, le=3600, description="Seconds to wait for a server, and for the next piece of its answer.")
    ] = 30.0
    sources_total_s: Annotated[
        float, Field(gt=0, le=86400, description="Seconds that one file may take, waits that a server asks for aside.")
    ] = 900.0
    sources_max_redirects: Annotated[int, Field(ge=0, le=20, description="Redirects that one address may make.")] = 5
    sources_allow_http: Annotated[bool, Field(description="Fetch over http://, too, which anyone may change.")] = False
    sources_allow_loopback: Annotated[
        bool, Field(description="Fetch from servers on this machine; other private addresses are always refused.")
    ] = False

    # What is told of each question: docs/telemetry.md
    log_file: Annotated[
        str, Field(max_length=4096, description="File that gets a line about each question of ask, chat and search.")
    ] = ""
    metrics_file: Annotated[
        str,
        Field(
            max_length=4096,
            description="File for the node exporter's textfile collector (`*.prom`) that what is counted and timed is "
            "added to.",
        ),
    ] = ""
    trace_questions: Annotated[
        bool, Field(description="Let OpenTelemetry's spans have the words of the question; by itself none are sent.")
    ] = False

    # Looking at pages
    pdf_viewer: Annotated[
        str,
        Field(
            pattern=r"^$|\{file\}",
            description="Command that opens a page, as `okular -p {page} {file}`; empty: the first known viewer.",
        ),
    ] = ""

    # Answers
    answer_passages: Annotated[
        int,
        Field(
            ge=1,
            le=200,
            description="Passages that an answer is made from, where the profile gives fewer; -k says it for one run.",
        ),
    ] = 8
    extractive_sentences: Annotated[int, Field(ge=1, le=20, description="Quotes in an answer without an LLM.")] = 5
    max_question_chars: Annotated[int, Field(ge=100, le=100_000, description="Longest question, in characters.")] = 8000
    answer_seconds: Annotated[
        float,
        Field(
            gt=0, le=86400, description="Longest time for an LLM's answer; what came by then is kept, quotes follow."
        ),
    ] = 600.0
    corrective: Annotated[
        Literal["auto", "on", "off"],
        Field(
            description="Whether what was found is judged before it is answered from, and searched for again in other "
            "words where it is doubtful; auto is as the profile says."
        ),
    ] = "auto"
    agent_iterations: Annotated[
        int, Field(ge=1, le=10, description="Passes of the agent (--agent): at most so often it searches and drafts.")
    ] = 3
    agent_enough: Annotated[
        float,
        Field(ge=0, le=1, description="Score of its reflection from which on a draft is the answer."),
    ] = 0.7
    agent_seconds: Annotated[
        float,
        Field(gt=0, le=86400, description="Longest time for an answer by the agent; then the best draft is given."),
    ] = 600.0
    agent_tokens: Annotated[
        int,
        Field(
            ge=0,
            le=100_000_000,
            description="Tokens of prompts and replies for one answer by the agent; past them rules do what the LLM "
            "did, and no further pass begins.",
        ),
    ] = 60_000
    agent_passages: Annotated[
        int, Field(ge=1, le=200, description="Passages that a draft of the agent is made from, of all its searches.")
    ] = 12
    agent_tool_calls: Annotated[
        int, Field(ge=0, le=20, description="Tools that the agent may call in one pass; 0: none.")
    ] = 4
    llm_failures: Annotated[
        int, Field(ge=1, le=1000, description="Failures of the LLM in a row after which it is left alone for a while.")
    ] = 3
    llm_pause_seconds: Annotated[
        float, Field(ge=0, le=86400, description="How long it is left alone before it is tried again.")
    ] = 60.0
    answer_rules: Annotated[
        str,
        Field(
            description="What the LLM is told about answers (the system message); may have {refusal}. Here and in the "
            "next two: a text or @FILE, a brace that is meant is written twice, empty is the text of "
            "ragscience/answering/prompts.py."
        ),
    ] = ""
    answer_request: Annotated[
        str,
        Field(description="What the LLM is asked; must have {context} and {question}, may have {history}."),
    ] = ""
    condense_prompt: Annotated[
        str,
        Field(description="How a follow-up is rewritten; must have {chat_history} and {question}."),
    ] = ""

    @field_validator("ollama_url", "arxiv_url")
    @classmethod
    def _without_credentials(cls, value: str) -> str:
        if "@" in value.split("://", 1)[-1].split("/", 1)[0]:
            raise ValueError("it carries a user name or a password, which would be shown and sent; leave them out")
        return value

    @field_validator("answer_rules", "answer_request", "condense_prompt")
    @classmethod
    def _checked_template(cls, value: str, info: ValidationInfo) -> str:
        required, allowed = TEMPLATE_PLACEHOLDERS[str(info.field_name)]
        return checked_template(value, required, required | allowed)

    @model_validator(mode="after")
    def _values_that_go_together(self) -> Self:
        if abs(self.dense_weight + self.bm25_weight - 1.0) > 1e-6:
            raise ValueError(
                f"dense_weight {self.dense_weight:g} and bm25_weight {self.bm25_weight:g} must add up to 1"
            )
        if self.chunk_overlap >= self.chunk_size:
            raise ValueError(f"chunk_overlap {self.chunk_overlap} must be below chunk_size {self.chunk_size}")
        return self


def load_settings(*, default_home: Path | None = None, **flags: Any) -> Settings:
    """The settings of this run: `flags` that are not None, over the environment, over the defaults.

    `default_home` is the home where neither a flag nor the environment names one; without it the current folder.
    Raises UsageError with one line that names the setting, its value and what is allowed.
    """
    known = {ENV_PREFIX + name.upper() for name in Settings.model_fields}
    for name in sorted(os.environ):
        if name.upper().startswith(ENV_PREFIX) and name.upper() not in known:
            raise UsageError(
                f"There is no setting {name} (in the environment).", "`docs/config.md` lists them all; unset this one."
            )
    flags = {name: value for name, value in flags.items() if value is not None}
    if default_home is not None and f"{ENV_PREFIX}HOME" not in os.environ:
        flags.setdefault("home", default_home)
    try:
        settings = Settings(**flags)
    except ValidationError as error:
        raise UsageError(_one_line(error), "`docs/config.md` lists every setting.") from None
    except ValueError as error:  # pydantic-settings: a value that should be JSON and is not
        raise UsageError(f"A setting cannot be read: {error}.", "`docs/config.md` lists every setting.") from None
    return settings.model_copy(update={"home": settings.home.expanduser().resolve()})


def _one_line(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    name = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        return f"There is no setting {name}."
    message = first["msg"].removeprefix("Value error, ")
    if not name:
        return f"{message}."
    shown = re.sub(r"//[^/@]*@", "//…@", repr(first["input"]))
    shown = shown if len(shown) <= LONGEST_SHOWN else f"{shown[:LONGEST_SHOWN]}…"
    return f"Setting {name} is {shown}: {message[:1].lower()}{message[1:]}."
