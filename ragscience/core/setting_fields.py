"""Every setting of RAG Science: the only place where its default, unit, bounds and purpose are written."""

import os
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

# pydantic looks through every installed package for plugins of its own when the first model is built; we use none.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

from platformdirs import user_cache_path
from pydantic import Field, SecretStr, ValidationInfo, field_validator, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from ragscience.core.errors import UsageError
from ragscience.core.system import small_text

ENV_PREFIX = "RAG_"
LONGEST_KEY = 4096
SERVER_ADDRESS = r"^$|^https?://[^?#\s]+$"
"""The base address of a server, without a query, in which a key would be shown."""

Decides = Literal["answers", "the library", ""]
ANSWER: Decides = "answers"
"""The same question after the same turns can be answered differently; audit records and agent runs keep the value."""
LIBRARY: Decides = "the library"
"""What the library holds; an answer depends on it through the library's generation alone."""
NOTHING: Decides = ""
"""Neither: limits, places, what is kept and shown."""


def setting(default: Any, decides: Decides, description: str, *, guarded: bool = False, **bounds: Any) -> Any:
    """A field of Settings; a `guarded` one can start a program, send text elsewhere, or read or write files."""
    extra: dict[str, Any] = {"decides": decides, "guarded": guarded}
    return Field(default, description=description, json_schema_extra=extra, **bounds)


class Settings(BaseSettings):
    """The settings of one run, checked."""

    model_config = SettingsConfigDict(env_prefix=ENV_PREFIX, extra="forbid", frozen=True, validate_default=False)

    # Files and folders
    home: Path = Field(
        default_factory=Path.cwd,
        description="Folder that holds papers/, vectorstore/ and ingested.json.",
        json_schema_extra={"decides": NOTHING, "guarded": True},
    )
    library: str = setting(
        "vectorstore",
        NOTHING,
        "Where the library is kept: vectorstore (the folder of that name), lance:///folder or s3://bucket/prefix "
        "(in LanceDB; see docs/stores.md).",
        guarded=True,
        pattern=r"^vectorstore$|^lance:///.|^s3://.",
    )
    cache_folder: Path = setting(
        user_cache_path("ragscience", appauthor=False),
        NOTHING,
        "Where models are kept after their one-time conversion; safe to delete.",
        guarded=True,
    )
    papers: str = setting(
        "",
        NOTHING,
        "Where the PDFs are: s3://bucket/prefix, read with the credentials and the server that the AWS_ variables "
        "name; empty: the folder papers/ of the home.",
        pattern=r"^$|^s3://[a-z0-9.-]{3,63}(/[^\s?#*]{0,900})?$",
        guarded=True,
    )
    offline: bool = setting(False, ANSWER, "Refuse everything that needs a connection to another machine.")

    # Reading and chunking
    reading_workers: int = setting(0, NOTHING, "Processes that read PDFs; 0: CPU cores minus one.", ge=0, le=64)
    ocr: bool = setting(False, LIBRARY, "Read pages without a text layer by OCR, 2 to 5 s a page; needs Tesseract.")
    ocr_language: str = setting(
        "eng",
        LIBRARY,
        "Language of scanned pages, as Tesseract names it; join several with +, as eng+deu.",
        pattern=r"^[A-Za-z0-9_]+(\+[A-Za-z0-9_]+)*$",
        max_length=100,
    )
    chunk_size: int = setting(1500, LIBRARY, "Characters in a chunk: enough for a full paragraph.", ge=50, le=20_000)
    chunk_overlap: int = setting(
        200, LIBRARY, "Characters that neighbouring chunks share, so that no sentence is cut in both.", ge=0, le=10_000
    )

    # Models
    embedder: Literal["auto", "embedded", "ollama", "openai", "sentence-transformers"] = setting(
        "auto",
        ANSWER,
        "What makes the vectors; openai: the server of `embed_url`; auto: that server if it is set, else a model that "
        "`models pull` knows if it is named, else Ollama if it runs and has the model, else the built-in model.",
    )
    embedding_model: str = setting(
        "nomic-embed-text",
        ANSWER,
        "Embedding model: one that `models pull` knows; or one for Ollama, the server of `embed_url` or "
        "sentence-transformers.",
        min_length=1,
        guarded=True,
    )
    embed_url: str = setting(
        "",
        ANSWER,
        "Address of a server with OpenAI's API for embeddings, as http://127.0.0.1:8081/v1; empty: none.",
        pattern=SERVER_ADDRESS,
        guarded=True,
    )
    rerank: Literal["auto", "cross-encoder", "late-interaction", "llm", "off"] = setting(
        "auto",
        ANSWER,
        "Reranker; auto: the cross-encoder if it is installed, else late interaction over stored token vectors; llm: "
        "the chat model, which scores the ten best passages.",
    )
    reranker: str = setting(
        "cross-encoder/ms-marco-MiniLM-L-6-v2",
        ANSWER,
        "Cross-encoder: one that `models pull` knows, a name on the Hugging Face Hub, or a folder.",
        min_length=1,
        guarded=True,
    )
    answerer: Literal["auto", "llm", "ollama", "extractive"] = setting(
        "auto",
        ANSWER,
        "What writes the answer; auto: the language model if it can be used, else quotes; llm: the language model or "
        "an error; ollama: Ollama's or an error, whatever `llm_url` says; extractive: quotes.",
    )
    llm: str = setting(
        "llama3.1:8b", ANSWER, "Chat model of Ollama or of the server of `llm_url`.", min_length=1, guarded=True
    )
    llm_url: str = setting(
        "",
        ANSWER,
        "Address of a server with OpenAI's API (llama.cpp, LM Studio, vLLM), as http://127.0.0.1:8080/v1; empty: "
        "Ollama.",
        pattern=SERVER_ADDRESS,
        guarded=True,
    )
    llm_key: SecretStr = setting(
        SecretStr(""),
        NOTHING,
        "Key for the servers of `llm_url` and `embed_url`; from the environment only, never in config.toml.",
    )
    llm_key_file: str = setting("", NOTHING, "File that holds the key instead.", max_length=4096, guarded=True)
    temperature: float = setting(0.0, ANSWER, "Randomness; 0: the same question gets the same answer.", ge=0, le=2)
    num_ctx: int = setting(
        8192, ANSWER, "Context window in tokens, sent to Ollama with each call.", ge=512, le=1_048_576
    )
    max_answer_tokens: int = setting(1024, ANSWER, "Longest answer, in tokens.", ge=16, le=32768)
    ollama_url: str = setting(
        "http://127.0.0.1:11434",
        ANSWER,
        "Address of Ollama; not set: Ollama's own OLLAMA_HOST.",
        pattern=r"^https?://",
        guarded=True,
    )
    llm_timeout_seconds: float = setting(
        120.0, NOTHING, "Time limit for each further piece of a model's reply, and for an embedding.", gt=0, le=3600
    )

    # Retrieval
    profile: Literal["default", "rrf", "even", "deep", "balanced", "guide"] = setting(
        "default", ANSWER, "How passages are searched and ranked; `query.py profiles` compares the profiles."
    )
    top_k_candidates: int = setting(
        20, ANSWER, "Candidates from each search, and how many of them are reranked (profile default).", ge=1, le=1000
    )
    top_k: int = setting(
        4,
        ANSWER,
        "Passages that `search` lists, in every profile; not set: the profile's number. It also sets how many "
        "passages an answer is made from, unless `answer_passages` is set. -k overrides both for one run.",
        ge=1,
        le=200,
    )
    dense_weight: float = setting(0.7, ANSWER, "Weight of dense search in the fused score.", ge=0, le=1)
    bm25_weight: float = setting(0.3, ANSWER, "Weight of keyword search in the fused score.", ge=0, le=1)
    graph: Literal["auto", "on", "off"] = setting(
        "auto",
        ANSWER,
        "Whether a search also uses the knowledge graph (`ingest.py graph` makes it); auto: as the profile "
        "says (deep does).",
    )
    graph_entity_types: tuple[Annotated[str, Field(pattern=r"^\S+$", max_length=100)], ...] = setting(
        (),
        ANSWER,
        'Types of entities that the knowledge graph looks for and a search by it uses: ["PERSON", "COMPANY"]; empty: '
        "CONCEPT, METHOD, ALGORITHM, DATASET and METRIC are looked for, and all are used.",
    )

    # Answers
    answer_passages: int = setting(
        8,
        ANSWER,
        "Passages that an answer is made from; it does not change what `search` lists. Not set: `top_k` if that is "
        "set, else 8, or the profile's number if that is larger. -k overrides it for one run.",
        ge=1,
        le=200,
    )
    answer_seconds: float = setting(
        600.0,
        ANSWER,
        "Time limit for an LLM's answer, from its first token; an unfinished answer is shown and followed by quotes.",
        gt=0,
        le=86400,
    )
    agent_iterations: int = setting(
        3, ANSWER, "Most passes of the agent; each searches and writes a draft.", ge=1, le=10
    )

    # What is kept, logged and shown
    history: bool = setting(
        True, NOTHING, "Save each question and its answer in vectorstore/history.sqlite, on this machine."
    )
    audit: bool = setting(
        True,
        NOTHING,
        "Save with each answer everything it was made from, in vectorstore/history.sqlite; needs `history`.",
    )
    log_file: str = setting(
        "", NOTHING, "File to which ask, chat and search append one line per question.", max_length=4096, guarded=True
    )
    trace_questions: bool = setting(False, NOTHING, "Include the question's text in OpenTelemetry spans.", guarded=True)
    pdf_viewer: str = setting(
        "",
        NOTHING,
        "Command that opens a page, as `okular -p {page} {file}`; empty: the first known viewer that is installed.",
        pattern=r"^$|\{file\}",
        guarded=True,
    )
    arxiv_url: str = setting(
        "https://export.arxiv.org/api/query",
        NOTHING,
        "Address of arXiv's API; where it is on this machine, papers may be fetched from this machine, too.",
        pattern=r"^https?://[^/?#\s]+/[^?#\s]*$",
        guarded=True,
    )

    def deciding_values(self) -> dict[str, Any]:
        """The values that an answer depends on, by name, as JSON has them."""
        extras: dict[str, Any] = {name: field.json_schema_extra for name, field in type(self).model_fields.items()}
        return self.model_dump(mode="json", include={name for name in extras if extras[name]["decides"] == ANSWER})

    def chosen(self, name: str) -> Any:
        """The value of the setting where somebody has set it, be it to the default; else None."""
        return getattr(self, name) if name in self.model_fields_set else None

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - pydantic's signature
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """What is given over the environment; pydantic would look for each setting in two more places."""
        return init_settings, env_settings

    @field_validator("*", mode="before")
    @classmethod
    def _true_is_no_number(cls, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, bool) and cls.model_fields[str(info.field_name)].annotation is not bool:
            raise ValueError(f"it is {str(value).lower()}, which only a switch may be")
        return value

    @field_validator("ollama_url", "llm_url", "embed_url", "arxiv_url")
    @classmethod
    def _address(cls, value: str) -> str:
        try:
            _ = urlsplit(value).port
        except ValueError as error:
            raise ValueError(f"it is no address ({error})") from None
        if "@" in value.split("://", 1)[-1].split("/", 1)[0]:
            raise ValueError("it contains a user name or a password, which would be shown and sent; leave them out")
        return value

    @model_validator(mode="after")
    def _values_that_go_together(self) -> Self:
        if abs(self.dense_weight + self.bm25_weight - 1.0) > 1e-6:
            raise ValueError(
                f"dense_weight {self.dense_weight:g} and bm25_weight {self.bm25_weight:g} must add up to 1"
            )
        if self.chunk_overlap >= self.chunk_size:
            raise ValueError(f"chunk_overlap {self.chunk_overlap} must be below chunk_size {self.chunk_size}")
        return self


def server_key(settings: Settings) -> SecretStr:
    """The key for the servers of llm_url and embed_url; empty where none is set. Raises UsageError, without the key."""
    key, place = settings.llm_key.get_secret_value().strip(), "RAG_LLM_KEY"
    if not key and settings.llm_key_file:
        path = Path(settings.llm_key_file).expanduser()
        place = str(path)
        try:
            key = small_text(path, LONGEST_KEY + 1).strip()
        except OSError as error:
            why = error.strerror
            raise UsageError(f"The key in {path} cannot be read: {why}.", "Correct RAG_LLM_KEY_FILE.") from None
        if not key:
            raise UsageError(f"{path} holds no key.", "Write the key into it, or unset RAG_LLM_KEY_FILE.")
    if len(key) > LONGEST_KEY or not (key.isascii() and key.isprintable() and " " not in key if key else True):
        raise UsageError(
            f"What {place} holds is not a key: a key is one line of ASCII characters without blanks.",
            "Set it again, without quotes and line breaks.",
        )
    return SecretStr(key)
