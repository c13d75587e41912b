"""Every setting of RAG Science, with its default, unit, bounds and reason: the only place where a default is written.

A setting is taken from a flag of the command, else from the environment (`RAG_CHUNK_SIZE=1200`), else from here.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal, Self

# pydantic looks through every installed package for plugins of its own when the first model is built; we use none.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

from pydantic import Field, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from ragscience.errors import UsageError

__all__ = ["Settings", "load_settings"]

ENV_PREFIX = "RAG_"


class Settings(BaseSettings):
    """The settings of one run, checked."""

    model_config = SettingsConfigDict(env_prefix=ENV_PREFIX, extra="forbid", frozen=True, validate_default=False)

    # Where things lie
    home: Annotated[Path, Field(description="Folder that holds papers/, vectorstore/ and ingested.json.")] = (
        Path(__file__).resolve().parent
    )
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
        Literal["auto", "cross-encoder", "late-interaction", "off"],
        Field(
            description="Who reads the candidates again; auto is the cross-encoder where its files are, "
            "else late interaction over stored token vectors."
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
    profile: Annotated[Literal["default", "rrf", "balanced"], Field(description="How searches are fused and cut.")] = (
        "default"
    )
    top_k_candidates: Annotated[
        int, Field(ge=1, le=1000, description="Passages that each search gives to the fusion, and that are reranked.")
    ] = 20
    top_k: Annotated[int, Field(ge=1, le=200, description="Passages that the answer is made from.")] = 4
    dense_weight: Annotated[float, Field(ge=0, le=1, description="Share of meaning in the fused score.")] = 0.7
    bm25_weight: Annotated[float, Field(ge=0, le=1, description="Share of keywords in the fused score.")] = 0.3
    min_relevance: Annotated[
        float,
        Field(
            ge=-1,
            le=1,
            description="Cosine below which a passage that shares no word with the question answers nothing.",
        ),
    ] = 0.25

    # Answers
    extractive_sentences: Annotated[int, Field(ge=1, le=20, description="Quotes in an answer without an LLM.")] = 5
    max_question_chars: Annotated[int, Field(ge=100, le=100_000, description="Longest question, in characters.")] = 8000

    @model_validator(mode="after")
    def _values_that_go_together(self) -> Self:
        if abs(self.dense_weight + self.bm25_weight - 1.0) > 1e-6:
            raise ValueError(
                f"dense_weight {self.dense_weight:g} and bm25_weight {self.bm25_weight:g} must add up to 1"
            )
        if self.chunk_overlap >= self.chunk_size:
            raise ValueError(f"chunk_overlap {self.chunk_overlap} must be below chunk_size {self.chunk_size}")
        return self


def load_settings(**flags: Any) -> Settings:
    """The settings of this run: `flags` that are not None, over the environment, over the defaults.

    Raises UsageError with one line that names the setting, its value and what is allowed.
    """
    known = {ENV_PREFIX + name.upper() for name in Settings.model_fields}
    for name in sorted(os.environ):
        if name.upper().startswith(ENV_PREFIX) and name.upper() not in known:
            raise UsageError(
                f"There is no setting {name} (in the environment).", "`docs/config.md` lists them all; unset this one."
            )
    try:
        settings = Settings(**{name: value for name, value in flags.items() if value is not None})
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
    return f"Setting {name} is {first['input']!r}: {message[:1].lower()}{message[1:]}."
