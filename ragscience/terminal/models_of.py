"""The settings become models; and what `query.py models` shows and fetches."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from ragscience.engine.printable import plain
from ragscience.errors import ModelProblem, RagScienceError, UsageError
from ragscience.models.model_choice import (
    Choice,
    ModelSources,
    choose_embedder,
    choose_llm,
    choose_reranker,
    describe_models,
)
from ragscience.models.model_protocols import TokenEmbedder
from ragscience.models.ollama_api import Ollama
from ragscience.store import Home, Library
from ragscience.terminal.cli import say

if TYPE_CHECKING:
    from ragscience.models.llm_reranker import LLMReranker
    from ragscience.models.model_download import PullProgress
    from ragscience.models.model_protocols import Embedder, Reranker
    from ragscience.models.ollama_embedder import OllamaLLM
    from ragscience.records import EmbedderIdentity, Profile
    from ragscience.settings import Settings

__all__ = [
    "choices_of",
    "embedder_of",
    "llm_of",
    "llm_reranker_of",
    "pull_models",
    "reranker_of",
    "show_models",
    "tokens_at_ingest",
    "tokens_at_query",
]

Tell = Callable[[str], None]

KEPT_LLM_SCORES = 50_000
"""Scores of passages that are kept, about 100 bytes each."""


def embedder_of(settings: Settings, required: EmbedderIdentity | None, tell: Tell) -> Embedder:
    """The embedder for a library that was made with `required`; what was chosen for an empty one is told."""
    choice = _embedder_choice(settings, required, tell)
    if required is None:
        tell(f"embedder: {choice.model.identity.model} ({choice.why})")
    return choice.model


def tokens_at_ingest(settings: Settings, embedder: Embedder, tell: Tell) -> TokenEmbedder | None:
    """What makes the token vectors that are kept: the embedded model, if it runs anyway or late interaction is set."""
    if not settings.token_cache_mb:
        return None
    if isinstance(embedder, TokenEmbedder):
        return embedder
    return _embedded_model(settings, tell) if settings.rerank == "late-interaction" else None


def tokens_at_query(settings: Settings, embedder: Embedder, library: Library, tell: Tell) -> TokenEmbedder | None:
    """What makes a question's token vectors; None where late interaction is off or has nothing to go by."""
    if settings.rerank not in ("auto", "late-interaction", "llm"):
        return None
    if isinstance(embedder, TokenEmbedder):
        return embedder
    if settings.rerank == "late-interaction" or library.token_bytes():
        return _embedded_model(settings, tell)
    return None


def reranker_of(settings: Settings, warning: Tell, *, late: bool) -> Reranker | None:
    """The cross-encoder, or None without one; what is missing is a warning. `late`: late interaction is at work."""
    choice = _reranker_choice(settings, warning, late=late)
    warning(choice.warning)
    return choice.model


def llm_reranker_of(settings: Settings, profile: Profile, warning: Tell) -> LLMReranker | None:
    """The LLM as reranker, where the settings ask for it, or the profile does and there is one; None elsewhere.

    Raises ModelProblem where the settings ask for it and there is none.
    """
    if settings.rerank == "llm":
        return _asked_llm_reranker(settings, warning).model
    if settings.rerank != "auto" or not profile.llm_reranks:
        return None
    choice = _llm_choice(settings)
    if choice.model is None:
        warning(f"Profile {profile.name} has no LLM to score the passages ({choice.why}): they are reranked as usual.")
        return None
    return _llm_reranker(settings, choice.model, warning)


def llm_of(settings: Settings, tell: Tell) -> OllamaLLM | None:
    """The chat model, or None for quotes; which it is, is told in one line."""
    choice = _llm_choice(settings)
    tell(choice.warning or f"answers: {choice.model.name if choice.model else 'quotes'} ({choice.why})")
    return choice.model


def show_models(settings: Settings, *, as_json: bool) -> int:
    """Show what each part would use, where its files are and why; an exit code."""
    with Library.open(Home(settings.home)) as library:
        required = library.embedder
    rows = describe_models(
        embedder=lambda: _embedder_choice(settings, required, say),
        reranker=lambda: _reranker_choice(settings, say, late=required is None or required.provider == "embedded"),
        llm=lambda: _llm_choice(settings),
        ollama=_ollama(settings),
    )
    if as_json:
        from ragscience.json_output import SCHEMA_VERSION, print_json

        print_json({"schema": SCHEMA_VERSION, "models": rows})
        return 0
    from ragscience.terminal.screen import console
    from ragscience.terminal.views import listing

    for row in rows:
        shown = {row.part: row.model or "none", "": row.where, " ": row.why, "  ": row.warning}
        listing({name: value for name, value in shown.items() if value}, console())
    return 0


def choices_of(
    settings: Settings, required: EmbedderIdentity | None
) -> tuple[dict[str, Callable[[], Choice[Any]]], Ollama]:
    """What makes the choice of each part ("embedder", "reranker", "answer"), and the Ollama that they ask."""
    choices: dict[str, Callable[[], Choice[Any]]] = {
        "embedder": lambda: _embedder_choice(settings, required, say),
        "reranker": lambda: _reranker_choice(settings, say, late=required is None or required.provider == "embedded"),
        "answer": lambda: _llm_choice(settings),
    }
    return choices, _ollama(settings)


def pull_models(settings: Settings, *, quiet: bool) -> int:
    """Fetch what is missing; an exit code. Raises UsageError when offline."""
    if settings.offline:
        raise UsageError("`models pull` needs the network, and --offline forbids it.", "Leave --offline out.")
    from ragscience.models.cross_encoder import find_on_this_machine
    from ragscience.models.model_download import pull_cross_encoder, pull_ollama

    progress = _PullLines(quiet=quiet)
    failures: list[RagScienceError] = []
    jobs: list[tuple[str, Callable[[], object]]] = []
    if find_on_this_machine(settings.reranker) is None:
        jobs.append((settings.reranker, partial(pull_cross_encoder, settings.reranker, progress)))
    ollama = _ollama(settings)
    if ollama.status.running:
        missing = [name for name in (settings.embedding_model, settings.llm) if ollama.status.find(name) is None]
        jobs += [(name, partial(pull_ollama, ollama, name, progress)) for name in missing]
    else:
        say(f"Ollama's models are left out: {ollama.status.why}.")
    for name, job in jobs:
        try:
            job()
        except RagScienceError as error:
            failures.append(error)
            say(f"error: {name}: {error}")
        else:
            say(f"{name} is here now.")
    if not jobs:
        say("Nothing is missing.")
    return 1 if failures else 0


class _PullLines:
    """A line for each tenth of a file."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._said: dict[str, int] = {}

    def __call__(self, progress: PullProgress) -> None:
        tenth = 10 * progress.done_bytes // progress.total_bytes if progress.total_bytes else 0
        if not self._quiet and self._said.get(progress.item) != tenth:
            self._said[progress.item] = tenth
            say(f"{plain(progress.item)}: {progress.done_bytes / 2**20:.0f} MiB, {10 * tenth} %")


def _embedded_model(settings: Settings, tell: Tell) -> TokenEmbedder:
    from ragscience.models.minilm import MiniLM

    return MiniLM(cache_folder=settings.cache_folder, on_warning=tell)


def _embedder_choice(settings: Settings, required: EmbedderIdentity | None, tell: Tell) -> Choice[Embedder]:
    return choose_embedder(
        settings.embedder,
        settings.embedding_model,
        sources=ModelSources(
            ollama=_ollama(settings),
            batch_size=settings.embedding_batch,
            cache_folder=settings.cache_folder,
            on_warning=tell,
        ),
        required=required,
    )


def _asked_llm_reranker(settings: Settings, tell: Tell) -> Choice[LLMReranker]:
    try:
        llm = _llm_choice(settings, "ollama").model
    except ModelProblem as problem:
        raise ModelProblem(
            f"The reranker llm needs a chat model: {problem.message}", f"{problem.fix} Or take --reranker auto."
        ) from problem
    if llm is None:  # "ollama" gives one or raises
        raise ModelProblem("The reranker llm needs a chat model.", "Take --reranker auto.")
    return Choice(_llm_reranker(settings, llm, tell), "the setting is llm")


def _llm_reranker(settings: Settings, llm: OllamaLLM, warning: Tell) -> LLMReranker:
    from ragscience.models.llm_reranker import LLMReranker
    from ragscience.models.score_cache import ScoreCache
    from ragscience.retrieval.profiles import LLM_DEPTH

    budget = settings.rerank_budget_ms / 1000
    path = Home(settings.home).vectorstore / "llm_scores.sqlite"
    return LLMReranker(
        llm,
        depth=LLM_DEPTH,
        seconds=min(settings.llm_rerank_seconds, budget or settings.llm_rerank_seconds),
        cache=ScoreCache(path, most=KEPT_LLM_SCORES, on_warning=warning),
        on_warning=warning,
    )


def _reranker_choice(settings: Settings, tell: Tell, *, late: bool) -> Choice[Reranker | None]:
    if settings.rerank == "llm":
        asked = _asked_llm_reranker(settings, tell)
        return Choice(asked.model, asked.why)
    return choose_reranker(
        settings.rerank, settings.reranker, late=late, cache_folder=settings.cache_folder, on_warning=tell
    )


def _llm_choice(settings: Settings, setting: str | None = None) -> Choice[OllamaLLM | None]:
    return choose_llm(
        setting or settings.answerer,
        settings.llm,
        ollama=_ollama(settings),
        temperature=settings.temperature,
        num_ctx=settings.num_ctx,
        num_predict=settings.max_answer_tokens,
    )


def _ollama(settings: Settings) -> Ollama:
    return _ollama_at(
        settings.ollama_url, settings.ollama_connect_seconds, settings.ollama_timeout_seconds, settings.offline
    )


@lru_cache(maxsize=4)
def _ollama_at(url: str, connect_seconds: float, timeout_seconds: float, offline: bool) -> Ollama:
    """One client for each server in a run, so that its state is asked for once."""
    return Ollama(url, connect_seconds=connect_seconds, timeout_seconds=timeout_seconds, offline=offline)
