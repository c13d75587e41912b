"""The models of an engine: each made from the settings once, however many questions and threads use it."""

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from threading import RLock
from typing import Any, Literal, TypeVar

from ragscience.ask.extractive import Matcher
from ragscience.core.errors import ModelProblem
from ragscience.core.records import EmbedderIdentity, Profile
from ragscience.core.settings import ENV_PREFIX, Settings, changed_settings, server_key
from ragscience.engine.requests import NO_LLM, SearchRequest
from ragscience.library.store import Store
from ragscience.models import model_choice
from ragscience.models.llm_reranker import LLMReranker
from ragscience.models.minilm import MiniLM, SpanReader, find_minilm
from ragscience.models.model_choice import ModelChoice, ModelRow, ModelSources, row
from ragscience.models.model_protocols import ChatModel, Embedder, Reader, Reranker, Splitter, TokenEmbedder
from ragscience.models.model_servers import Ollama, OpenAIServer
from ragscience.models.question_parts import QuestionParts
from ragscience.models.served_embedder import QueryEmbedder
from ragscience.models.served_llm import ChatOptions, ServedLLM
from ragscience.search.profiles import LLM_DEPTH
from ragscience.search.reranking import token_matches

T = TypeVar("T")
Warn = Callable[[str], None]


UrlSetting = Literal["llm_url", "embed_url"]
Wrap = Callable[[ServedLLM], ChatModel]
"""A language model as a question calls it."""
_KNOWN_CONNECTION = ("ollama_url", "llm_url", "embed_url", "llm_timeout_seconds", "offline")


class ModelPool:
    """Embedders, rerankers and language models by the settings that decide them; safe for several threads."""

    def __init__(self, on_choice: Callable[[str, str], None], on_warning: Callable[[str], None]) -> None:
        """`on_choice` receives the part and a line about each choice that the settings leave open.

        `on_warning` receives what a model says of its own files.
        """
        self._on_choice = on_choice
        self._on_warning = on_warning
        self._lock = RLock()
        self._made: dict[Hashable, Any] = {}

    def _once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` gives, made by the first caller. A failure is not kept."""
        with self._lock:
            if key not in self._made:
                self._made[key] = make()
            made: T = self._made[key]
            return made

    # Servers

    def ollama(self, settings: Settings) -> Ollama:
        """The client of the Ollama server, whose state is requested once."""
        seconds, offline = settings.llm_timeout_seconds, settings.offline
        make = partial(Ollama, settings.ollama_url, timeout_seconds=seconds, offline=offline)
        return self._once(("ollama", *_connection(settings)), make)

    def server(self, settings: Settings, name: UrlSetting) -> OpenAIServer | None:
        """The client of the server with OpenAI's API that the setting `name` names, if it does. Raises UsageError."""
        if not (url := getattr(settings, name)):
            return None
        named, seconds = f"{ENV_PREFIX}{name.upper()}", settings.llm_timeout_seconds
        make = partial(OpenAIServer, url, setting=named, timeout_seconds=seconds, offline=settings.offline)
        return self._once((name, *_connection(settings)), lambda: make(key=server_key(settings)))

    def _forget_servers(self, settings: Settings) -> None:
        for name in ("ollama", "llm_url", "embed_url"):
            self._made.pop((name, *_connection(settings)), None)

    def _sources(self, settings: Settings, name: UrlSetting) -> ModelSources:
        return ModelSources(
            ollama=self.ollama(settings),
            cache_folder=settings.cache_folder,
            on_warning=self._on_warning,
            server=self.server(settings, name),
            model_is_set=settings.chosen("embedding_model" if name == "embed_url" else "llm") is not None,
        )

    # Embedders

    def embedder_choice(self, settings: Settings, required: EmbedderIdentity | None) -> ModelChoice[Embedder]:
        """The embedder of a library that was made with `required`, or for an empty one, and why."""

        def make() -> ModelChoice[Embedder]:
            sources = self._sources(settings, "embed_url")
            wanted = settings.embedder, settings.embedding_model
            return model_choice.choose_embedder(*wanted, sources=sources, required=required)

        return self._once(_embedder_key(settings, required), make)

    def embedder(self, settings: Settings, required: EmbedderIdentity | None) -> Embedder:
        """The same without the reason; for an empty library the choice goes to `on_choice`."""
        choice = self.embedder_choice(settings, required)
        if required is None:
            identity = choice.model.identity
            self._on_choice("embedder", f"embedder: {identity.model} ({choice.why})")
            # The library that is made with it asks for it by its identity.
            self._made.setdefault(_embedder_key(settings, identity), choice)
        return choice.model

    def query_embedder(self, settings: Settings, required: EmbedderIdentity | None) -> Embedder:
        """The same for questions: one that may not be there (a server's, a folder's) fails at its calls, not here.

        A question is then searched by its words. Raises ModelProblem for an empty library.
        """
        if required is None or required.provider == "embedded":
            return self.embedder(settings, required)

        def open_embedder() -> Embedder:
            try:
                return self.embedder_choice(settings, required).model
            except ModelProblem:
                self._forget_servers(settings)  # their state is asked for again, once the pause is over
                raise

        key = ("query", *_embedder_key(settings, required))
        return self._once(key, lambda: QueryEmbedder(required, open_embedder))

    def ingest_tokens(self, settings: Settings, embedder: Embedder, warn: Warn) -> TokenEmbedder | None:
        """What makes the token vectors that are kept: the embedded model, whatever the embedder is.

        None, with a warning, where the embedded model is not installed.
        """
        if isinstance(embedder, TokenEmbedder):
            return embedder
        try:
            find_minilm()
        except ModelProblem as problem:
            warn(f"No token vectors are stored, so passages are not reranked without a cross-encoder: {problem}")
            return None
        return self.minilm(settings)

    def query_tokens(self, settings: Settings, embedder: Embedder, library: Store) -> TokenEmbedder | None:
        """What makes a question's token vectors; None where late interaction is off or has nothing to go by."""
        if settings.rerank not in ("auto", "late-interaction", "llm"):
            return None
        if isinstance(embedder, TokenEmbedder):
            return embedder
        is_wanted = settings.rerank == "late-interaction" or library.tokens.size_bytes()
        return self.minilm(settings) if is_wanted else None

    def matcher(self, settings: Settings, embedder: Embedder, library: Store) -> Matcher | None:
        """What matches a question with the words of passages, for quotes; None where no token vectors are stored."""
        tokens_from = self.query_tokens(settings, embedder, library) if library.tokens.size_bytes() else None
        return None if tokens_from is None else partial(token_matches, library=library, tokens_from=tokens_from)

    def minilm(self, settings: Settings) -> MiniLM:
        """The embedded model, whatever the embedder is; its calls raise ModelProblem where it is not installed."""
        folder = settings.cache_folder
        return self._once(("minilm", folder), partial(MiniLM, cache_folder=folder, on_warning=self._on_warning))

    def span_reader(self, settings: Settings) -> Reader:
        """What finds the words of passages that answer; its calls raise ModelProblem where MiniLM is not installed."""
        folder = settings.cache_folder
        return self._once(("spans", folder), partial(SpanReader, cache_folder=folder, on_warning=self._on_warning)).read

    def splitter(self, settings: Settings) -> Splitter:
        """What takes questions apart; its calls raise ModelProblem where MiniLM is not installed."""
        folder = settings.cache_folder
        make = partial(QuestionParts, cache_folder=folder, on_warning=self._on_warning)
        return self._once(("parts", folder), make)

    # Rerankers

    def reranker_choice(self, settings: Settings, warn: Warn, *, late: bool) -> ModelChoice[Reranker | None]:
        """The reranker and why; `late`: late interaction is at work."""
        if settings.rerank == "llm":
            return ModelChoice(self.llm_reranker(settings, None, warn, lambda llm: llm), "the setting is llm")

        def make() -> ModelChoice[Reranker | None]:
            given, folder = (settings.rerank, settings.reranker), settings.cache_folder
            return model_choice.choose_reranker(*given, late=late, cache_folder=folder, on_warning=self._on_warning)

        return self._once(("reranker", settings.rerank, settings.reranker, late), make)

    def reranker(self, settings: Settings, warn: Warn, *, late: bool) -> Reranker | None:
        """The cross-encoder, or None without one; what is missing is a warning."""
        choice = self.reranker_choice(settings, warn, late=late)
        if settings.rerank == "auto":
            self._on_choice("reranker", choice.warning)
        warn(choice.warning)
        return choice.model

    def llm_reranker(
        self, settings: Settings, profile: Profile | None, warn: Warn, wrapped: Wrap
    ) -> LLMReranker | None:
        """The language model as reranker, where the settings ask for it, or the profile does and there is one.

        It is of this question alone, as it warns. Raises ModelProblem if the settings require one and none is there.
        """
        is_required = settings.rerank == "llm"
        if not is_required and (settings.rerank != "auto" or profile is None or not profile.llm_reranks):
            return None
        try:
            choice = self.llm_choice(settings, "llm" if is_required else None)
        except ModelProblem as problem:
            if not is_required:
                raise
            fix = f"{problem.fix} Or use --reranker auto."
            raise ModelProblem(f"The reranker llm needs a chat model: {problem.message}", fix) from problem
        if choice.model is not None:
            return LLMReranker(wrapped(choice.model), depth=LLM_DEPTH, on_warning=warn)
        why = f"Profile {profile.name if profile else ''} has no LLM to score the passages ({choice.why})"
        warn(f"{why}: they are reranked as usual.")
        return None

    # Language models

    def llm(self, settings: Settings) -> ServedLLM | None:
        """The chat model, or None for quotes; which it is goes to `on_choice`."""
        choice = self.llm_choice(settings)
        named = f"answers: {choice.model.name}" if choice.model else "No language model: showing quotes"
        self._on_choice("llm", choice.warning or f"{named} ({choice.why})")
        return choice.model

    def llm_choice(self, settings: Settings, setting: str | None = None) -> ModelChoice[ServedLLM | None]:
        """The chat model and the reason; `setting` replaces the setting `answerer`."""
        answerer, is_set = setting or settings.answerer, settings.chosen("llm") is not None
        options = ChatOptions(settings.temperature, settings.num_ctx, settings.max_answer_tokens)

        def make() -> ModelChoice[ServedLLM | None]:
            sources = self._sources(settings, "llm_url")
            return model_choice.choose_llm(answerer, settings.llm, options=options, sources=sources)

        key = ("llm", answerer, settings.llm, is_set, options, *_connection(settings))
        return self._once(key, make)

    def chat_models(self, settings: Settings) -> tuple[list[str], str]:
        """The models that the language model's server has, without the embedding model, and why there are none."""
        status = (self.server(settings, "llm_url") or self.ollama(settings)).status
        if not status.running:
            return [], status.why
        embedding = status.find(settings.embedding_model)
        return sorted(name for name in status.models if name != embedding), "it has no chat model"

    def chat_model(self, settings: Settings, request: SearchRequest) -> str:
        """The language model that a question would be answered by; NO_LLM for quotes. Raises ModelProblem."""
        choice = self.llm_choice(changed_settings(settings, request.overrides()))
        return choice.model.name if choice.model is not None else NO_LLM

    # What there is, and what can be fetched

    def rows(self, settings: Settings, made_by: EmbedderIdentity | None, *, late: bool) -> Sequence[ModelRow]:
        """What each part would use for a library, where its files are and why; `late` as `reranker_choice`."""
        return [
            row("embedder", lambda: self.embedder_choice(settings, made_by)),
            row("reranker", lambda: self.reranker_choice(settings, self._on_warning, late=late)),
            row("answer", lambda: self.llm_choice(settings)),
        ]


def _connection(settings: Settings) -> tuple[Hashable, ...]:
    """What decides the servers, and so their models."""
    return tuple(getattr(settings, name) for name in _KNOWN_CONNECTION)


def _embedder_key(settings: Settings, required: EmbedderIdentity | None) -> tuple[Hashable, ...]:
    return ("embedder", settings.embedder, settings.embedding_model, required, *_connection(settings))
