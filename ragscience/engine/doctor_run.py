"""Checks everything that an engine depends on: library, models, network."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from ragscience.core.errors import RagScienceError
from ragscience.engine.access_tokens import AccessTokens
from ragscience.engine.events import OnEvent, Progressed
from ragscience.engine.shared_parts import EMBEDDED, open_store, paper_files
from ragscience.upkeep.doctor import examine
from ragscience.upkeep.machine_checks import DoctorFinding, Given, Severity, guarded, worst

if TYPE_CHECKING:
    from ragscience.core.records import EmbedderIdentity
    from ragscience.core.settings import Settings
    from ragscience.engine.model_pool import ModelPool
    from ragscience.library.store import Home
    from ragscience.models.model_choice import ModelChoice

__all__ = ["DoctorFinding", "DoctorReport", "doctor"]

_TORCH = "sentence-transformers"


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """All findings, in the order of the checks."""

    findings: tuple[DoctorFinding, ...]

    @property
    def worst(self) -> Severity:
        """The gravest severity; "ok" for no finding."""
        return worst(self.findings)


def doctor(
    home: Home,
    settings: Settings,
    models: ModelPool,
    *,
    network: bool,
    fast: bool = False,
    on_event: OnEvent | None = None,
) -> DoctorReport:
    """Check the library and the models, with `network` also the servers; nothing is written or loaded.

    With `fast` the contents of the database are not verified. `on_event` gets a `Progressed` for each check.
    """

    def on_check(what: str, step: int, steps: int) -> None:
        if on_event is not None:
            on_event(Progressed(f"checking {what}", step, steps))

    now = datetime.now(UTC)
    opened = None if settings.library == EMBEDDED else partial(open_store, home, settings)
    offline = settings if network else settings.model_copy(update={"offline": True})
    given = Given(now, where=paper_files(home, offline), fast=fast)
    found = list(examine(home, given, opened, on_check=on_check))
    found += guarded("access", _access, home)
    found += guarded("models", _models, offline, models, _made_by(home, settings))
    if network:
        found += guarded("network", _network, settings, models)
    return DoctorReport(tuple(found))


def _access(home: Home) -> Iterator[DoctorFinding]:
    """That the tokens of a served library can be read: their error is the finding."""
    AccessTokens(home.serve_tokens).all()
    yield from ()


def _made_by(home: Home, settings: Settings) -> EmbedderIdentity | None:
    try:
        with open_store(home, settings) as library:
            return library.about.embedder
    except RagScienceError:
        return None  # a separate finding


def _models(settings: Settings, pool: ModelPool, made_by: EmbedderIdentity | None) -> Iterator[DoctorFinding]:
    from ragscience.upkeep.machine_checks import models, torch_model

    late = made_by is None or made_by.provider == "embedded"
    choices: dict[str, Callable[[], ModelChoice[Any]]] = {
        "embedder": lambda: pool.embedder_choice(settings, made_by, _ignore),
        "reranker": lambda: pool.reranker_choice(settings, _ignore, late=late),
        "answer": lambda: pool.llm_choice(settings),
    }
    if _is_torch(settings, made_by):
        del choices["embedder"]
        yield torch_model(made_by.model if made_by else settings.embedding_model)
    needed = {"embedder"}
    if settings.rerank in ("cross-encoder", "llm"):
        needed.add("reranker")
    if settings.answerer in ("llm", "ollama"):
        needed.add("answer")
    yield from models(choices, needed)


def _is_torch(settings: Settings, made_by: EmbedderIdentity | None) -> bool:
    """Whether sentence-transformers is the embedder: its choice would load the model."""
    if made_by is None or made_by.provider != _TORCH:
        return made_by is None and settings.embedder == _TORCH
    return settings.embedder == "auto" or (settings.embedder, settings.embedding_model) == (_TORCH, made_by.model)


def _network(settings: Settings, pool: ModelPool) -> Iterator[DoctorFinding]:
    from ragscience.upkeep.machine_checks import network

    if settings.offline:
        yield DoctorFinding("network", "info", "Nothing was checked: offline.", "Unset RAG_OFFLINE.")
    else:
        servers = [each for name in ("llm_url", "embed_url") if (each := pool.server(settings, name)) is not None]
        yield from network(settings.arxiv_url, pool.ollama(settings), servers)


def _ignore(_: str) -> None:
    """Ignores a warning of the model choice: the findings report it."""
