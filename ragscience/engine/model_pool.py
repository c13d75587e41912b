"""The models of an engine: each made from the settings once, however many questions and threads use it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from ragscience.core.errors import ModelProblem, RagScienceError, UsageError
from ragscience.engine.events import Downloaded, Downloading, OnEvent, Warned
from ragscience.engine.made_once import MadeOnce, Warn
from ragscience.engine.model_servers import ModelServers
from ragscience.models.model_choice import (
    Choice,
    ModelRow,
    ModelSources,
    choose_embedder,
    choose_llm,
    choose_reranker,
    describe_models,
)
from ragscience.models.model_protocols import TokenEmbedder
from ragscience.models.query_embedder import QueryEmbedder
from ragscience.models.served_llm import ChatOptions
from ragscience.search.token_matches import token_matches

if TYPE_CHECKING:
    from ragscience.ask.extractive import Matcher
    from ragscience.core.records import EmbedderIdentity, Profile
    from ragscience.core.settings import Settings
    from ragscience.library.store import Home, Store
    from ragscience.models.json_server import ServerStatus
    from ragscience.models.llm_reranker import LLMReranker
    from ragscience.models.model_download import PullProgress
    from ragscience.models.model_protocols import ChatModel, Embedder, Reranker
    from ragscience.models.served_llm import ServedLLM

__all__ = ["ModelPool"]

T = TypeVar("T")
Wrap = Callable[["ServedLLM"], "ChatModel"]
"""A language model as a question calls it."""

KEPT_LLM_SCORES = 50_000
"""Scores of passages that are kept, about 100 bytes each."""


class ModelPool:
    """Embedders, rerankers and language models by the settings that decide them; safe for several threads."""

    def __init__(self, home: Home, on_choice: Callable[[str, str], None], *, stays: bool = False) -> None:
        """`on_choice` receives the part and a line about each choice that the settings leave open.

        `stays` as `Engine.open`.
        """
        self._home = home
        self._stays = stays
        self._on_choice = on_choice
        self._made = MadeOnce()
        self.servers = ModelServers(self._made)

    # Embedders

    def embedder_choice(
        self, settings: Settings, required: EmbedderIdentity | None, warn: Warn, *, packed: bool = False
    ) -> Choice[Embedder]:
        """The embedder of a library that was made with `required`, or for an empty one, and why."""
        packed = packed or self._stays

        def make(warn: Warn) -> Choice[Embedder]:
            return choose_embedder(
                settings.embedder,
                settings.embedding_model,
                sources=self._sources(settings, warn, packed=packed),
                required=required,
            )

        return self._made.get(self._embedder_key(settings, required, packed), make, warn)

    def _embedder_key(self, settings: Settings, required: EmbedderIdentity | None, packed: bool) -> tuple[object, ...]:
        key = ("embedder", settings.embedder, settings.embedding_model, required, packed)
        return (*key, *self.servers.deciding(settings))

    def _sources(self, settings: Settings, warn: Warn, *, packed: bool = False) -> ModelSources:
        return ModelSources(
            ollama=self.servers.ollama(settings),
            batch_size=settings.embedding_batch,
            cache_folder=settings.cache_folder,
            on_warning=warn,
            server=self.servers.openai(settings, "embed_url"),
            model_is_set=settings.chosen("embedding_model") is not None,
            packed=packed,
        )

    def embedder(
        self, settings: Settings, required: EmbedderIdentity | None, warn: Warn, *, packed: bool = False
    ) -> Embedder:
        """The same without the reason; for an empty library the choice goes to `on_choice`.

        `packed` for passages: the same text then has the same vector in whatever batch it comes (`BertSession`).
        """
        choice = self.embedder_choice(settings, required, warn, packed=packed)
        if required is None:
            identity = choice.model.identity
            self._on_choice("embedder", f"embedder: {identity.model} ({choice.why})")
            # The library that is made with it asks for it by its identity.
            self._made.keep(self._embedder_key(settings, identity, packed or self._stays), choice)
        return choice.model

    def query_embedder(self, settings: Settings, required: EmbedderIdentity | None, warn: Warn) -> Embedder:
        """The same for questions: one that may not be there (a server's, a folder's) fails at its calls, not here.

        A question is then searched by its words. Raises ModelProblem for an empty library.
        """
        if required is None or required.provider == "embedded":
            return self.embedder(settings, required, warn)

        def open_embedder() -> Embedder:
            try:
                return self.embedder_choice(settings, required, _ignore).model
            except ModelProblem:
                self.servers.forget(settings, "embed_url")  # their state is asked for again, once the pause is over
                raise

        def make(_: Warn) -> Embedder:
            return QueryEmbedder(
                required, open_embedder, pause_seconds=settings.llm_pause_seconds, clock=time.monotonic
            )

        key = ("query embedder", settings.embedder, settings.embedding_model, required, settings.llm_pause_seconds)
        return self._made.get((*key, *self.servers.deciding(settings)), make, warn)

    def ingest_tokens(self, settings: Settings, embedder: Embedder, warn: Warn) -> TokenEmbedder | None:
        """What makes the token vectors that are kept: the embedded model, whatever the embedder is.

        None where the settings keep none or, with a warning, where the embedded model is not installed.
        """
        if not settings.token_cache_mb:
            return None
        if isinstance(embedder, TokenEmbedder):
            return embedder
        from ragscience.models.minilm import find_minilm

        try:
            find_minilm()
        except ModelProblem as problem:
            warn(f"No token vectors are stored, so passages are not reranked without a cross-encoder: {problem}")
            return None
        return self._minilm(settings, warn, packed=True)

    def query_tokens(self, settings: Settings, embedder: Embedder, library: Store, warn: Warn) -> TokenEmbedder | None:
        """What makes a question's token vectors; None where late interaction is off or has nothing to go by."""
        if settings.rerank not in ("auto", "late-interaction", "llm"):
            return None
        if isinstance(embedder, TokenEmbedder):
            return embedder
        if settings.rerank == "late-interaction" or library.token_bytes():
            return self._minilm(settings, warn)
        return None

    def matcher(self, settings: Settings, embedder: Embedder, library: Store, warn: Warn) -> Matcher | None:
        """What matches a question with the words of passages, for quotes; None where no token vectors are stored."""
        tokens_from = self.query_tokens(settings, embedder, library, warn) if library.token_bytes() else None
        if tokens_from is None:
            return None
        return partial(token_matches, library=library, tokens_from=tokens_from)

    def _minilm(self, settings: Settings, warn: Warn, *, packed: bool = False) -> TokenEmbedder:
        from ragscience.models.minilm import MiniLM

        packed = packed or self._stays

        def make(warn: Warn) -> TokenEmbedder:
            return MiniLM(cache_folder=settings.cache_folder, on_warning=warn, packed=packed)

        return self._made.get(("minilm", settings.cache_folder, packed), make, warn)

    # Rerankers

    def reranker_choice(self, settings: Settings, warn: Warn, *, late: bool) -> Choice[Reranker | None]:
        """The reranker and why; `late`: late interaction is at work."""
        if settings.rerank == "llm":
            return Choice(self._wanted_llm_reranker(settings, warn, _itself), "the setting is llm")

        def make(warn: Warn) -> Choice[Reranker | None]:
            return choose_reranker(
                settings.rerank, settings.reranker, late=late, cache_folder=settings.cache_folder, on_warning=warn
            )

        return self._made.get(("reranker", settings.rerank, settings.reranker, late), make, warn)

    def reranker(self, settings: Settings, warn: Warn, *, late: bool) -> Reranker | None:
        """The cross-encoder, or None without one; what is missing is a warning."""
        choice = self.reranker_choice(settings, warn, late=late)
        if settings.rerank == "auto":
            self._on_choice("reranker", choice.warning)
        warn(choice.warning)
        return choice.model

    def llm_reranker(self, settings: Settings, profile: Profile, warn: Warn, wrapped: Wrap) -> LLMReranker | None:
        """The language model as reranker, where the settings ask for it, or the profile does and there is one.

        Raises ModelProblem if the settings require one and none is available.
        """
        if settings.rerank == "llm":
            return self._wanted_llm_reranker(settings, warn, wrapped)
        if settings.rerank != "auto" or not profile.llm_reranks:
            return None
        choice = self.llm_choice(settings)
        if choice.model is None:
            why = f"Profile {profile.name} has no LLM to score the passages ({choice.why})"
            warn(f"{why}: they are reranked as usual.")
            return None
        return self._llm_reranker(settings, choice.model, warn, wrapped)

    def _wanted_llm_reranker(self, settings: Settings, warn: Warn, wrapped: Wrap) -> LLMReranker:
        try:
            llm = self.llm_choice(settings, "llm").model
        except ModelProblem as problem:
            raise ModelProblem(
                f"The reranker llm needs a chat model: {problem.message}", f"{problem.fix} Or use --reranker auto."
            ) from problem
        if llm is None:  # "llm" gives one or raises
            raise ModelProblem("The reranker llm needs a chat model.", "Use --reranker auto.")
        return self._llm_reranker(settings, llm, warn, wrapped)

    def _llm_reranker(self, settings: Settings, llm: ServedLLM, warn: Warn, wrapped: Wrap) -> LLMReranker:
        """One for this question alone, as it warns; the scores that it keeps are shared, on disk."""
        from ragscience.models.llm_reranker import LLMReranker
        from ragscience.models.score_cache import ScoreCache
        from ragscience.search.profiles import LLM_DEPTH

        path = self._home.vectorstore / "llm_scores.sqlite"
        return LLMReranker(
            wrapped(llm),
            depth=LLM_DEPTH,
            seconds=settings.llm_rerank_seconds,
            cache=ScoreCache(path, most=KEPT_LLM_SCORES, on_warning=warn),
            on_warning=warn,
        )

    # Language models

    def llm(self, settings: Settings) -> ServedLLM | None:
        """The chat model, or None for quotes; which it is goes to `on_choice`."""
        choice = self.llm_choice(settings)
        named = f"answers: {choice.model.name}" if choice.model else "No language model: showing quotes"
        self._on_choice("llm", choice.warning or f"{named} ({choice.why})")
        return choice.model

    def llm_choice(self, settings: Settings, setting: str | None = None) -> Choice[ServedLLM | None]:
        """The chat model and the reason; `setting` replaces the setting `answerer`."""
        answerer = setting or settings.answerer

        options = ChatOptions(
            temperature=settings.temperature,
            num_ctx=settings.num_ctx,
            num_predict=settings.max_answer_tokens,
            first_token_seconds=settings.llm_first_token_s,
        )

        def make(_: Warn) -> Choice[ServedLLM | None]:
            return choose_llm(
                answerer,
                settings.llm,
                ollama=self.servers.ollama(settings),
                options=options,
                server=self.servers.of_llm(settings),
                is_set=is_set,
            )

        is_set = settings.chosen("llm") is not None
        return self._made.get(
            ("llm", answerer, settings.llm, is_set, options, *self.servers.deciding(settings)), make, _ignore
        )

    def llm_status(self, settings: Settings) -> ServerStatus:
        """Whether the server of the language model answers, and its models."""
        server = self.servers.of_llm(settings)
        return server.status if server is not None else self.servers.ollama(settings).status

    # What there is, and what can be fetched

    def rows(self, settings: Settings, library: Store, warn: Warn) -> Sequence[ModelRow]:
        """What each part would use for the library, where its files are and why."""
        required = library.embedder
        late = bool(library.token_bytes() if library.chunk_count else settings.token_cache_mb)
        return describe_models(
            embedder=lambda: self.embedder_choice(settings, required, warn),
            reranker=lambda: self.reranker_choice(settings, warn, late=late),
            llm=lambda: self.llm_choice(settings),
            sources=self._sources(settings, warn),
        )

    def pull(self, settings: Settings, on_event: OnEvent) -> bool:
        """Fetch the cross-encoder and Ollama's models that are missing; whether all came.

        Events are `Downloading`, `Downloaded`, and `Warned` for what is left out or failed. Raises UsageError offline.
        """
        if settings.offline:
            raise UsageError("`models pull` needs the network, and --offline forbids it.", "Leave --offline out.")
        from ragscience.models.cross_encoder import find_on_this_machine
        from ragscience.models.model_download import pull_cross_encoder, pull_ollama

        def progress(done: PullProgress) -> None:
            on_event(Downloading(done.item, done.done_bytes, done.total_bytes))

        jobs: list[tuple[str, Callable[[], object]]] = []
        if find_on_this_machine(settings.reranker) is None:
            jobs.append((settings.reranker, partial(pull_cross_encoder, settings.reranker, progress)))
        ollama = self.servers.ollama(settings)
        if ollama.status.running:
            wanted = [] if settings.embed_url else [settings.embedding_model]
            wanted += [] if self.servers.of_llm(settings) else [settings.llm]
            missing = [name for name in wanted if ollama.status.find(name) is None]
            jobs += [(name, partial(pull_ollama, ollama, name, progress)) for name in missing]
        else:
            on_event(Warned(f"Ollama's models are left out: {ollama.status.why}."))
        is_whole = True
        for name, job in jobs:
            try:
                job()
            except RagScienceError as error:
                is_whole = False
                on_event(Warned(f"error: {name}: {error}"))
            else:
                on_event(Downloaded(name))
        return is_whole


def _itself(llm: ServedLLM) -> ChatModel:
    return llm


def _ignore(_: str) -> None:
    """These choices make no warnings."""
