"""The engine: one object for every command, notebook, page and test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ragscience.core.errors import RagScienceError, UsageError
from ragscience.core.records import Profile
from ragscience.core.settings import Settings, check_home, load_settings
from ragscience.engine import asking
from ragscience.engine.dialogue import Dialogue
from ragscience.engine.events import Noted, OnEvent, Warned, unheard
from ragscience.engine.shared_parts import SharedParts
from ragscience.library.atomic_files import disk_errors
from ragscience.library.store import Home
from ragscience.search.profiles import PROFILE_NAMES, profile_named

if TYPE_CHECKING:
    from ragscience.engine.eval_runs import DoctorFinding, EvalRequest
    from ragscience.engine.graph_runs import LibraryGraph
    from ragscience.engine.ingest import Ingest
    from ragscience.engine.papers import Papers
    from ragscience.engine.review_runs import Review
    from ragscience.engine.saved_answers import SavedAnswers
    from ragscience.evaluation.eval_report import Evaluation
    from ragscience.models.model_choice import ModelRow


class Engine(SharedParts):
    """A home with its library, models, history and logs; open it once and use it from any number of threads."""

    @classmethod
    def open(
        cls,
        home: str | Path,
        settings: Settings | None = None,
        *,
        environment: Mapping[str, str] | None = None,
        on_event: OnEvent = unheard,
        create: bool = False,
    ) -> Engine:
        """The engine of the home in that folder; nothing is read before it is needed.

        Without `settings` those of the folder are taken, else the defaults. `environment` holds the OTEL_ variables
        that name an exporter of traces, if any. `on_event` receives what belongs to no single question: the choice of
        models, and logs that cannot be written. `create` makes the folder and its papers/ where they are not there.
        Raises UsageError for a folder that is not there, for settings that cannot be, or where the log of the settings
        could not be written.
        """
        folder = Path(home).expanduser()
        if create:
            with disk_errors(folder):
                Home(folder).papers.mkdir(parents=True, exist_ok=True)
        else:
            check_home(folder)
        warnings: list[str] = []
        settings = load_settings(home=folder, on_warning=warnings.append) if settings is None else settings
        engine = cls(Home(folder), settings, environment=environment, on_event=on_event)
        for text in warnings:
            engine.publish(Warned(text))
        if settings.log_file or environment:
            _ = engine.telemetry
        return engine

    # Questions

    search = asking.search
    ask = asking.ask

    def dialogue(self, *, name: str | None = None, continue_last: bool = False, person: str = "") -> Dialogue:
        """A conversation: a new one, the last one, or the one called `name`, which may be its number.

        `person` is whose it is; empty: the library's own user's. Raises UsageError for a bad name, and for a number
        without a conversation.
        """
        return Dialogue(self.home, self.settings, name=name, continue_last=continue_last, person=person)

    def profiles(self) -> tuple[Profile, ...]:
        """The ways to search, with the numbers of the settings."""
        wanted = self.settings.chosen("top_k")
        return tuple(profile_named(name, self.settings, wanted) for name in PROFILE_NAMES)

    def evaluate(self, request: EvalRequest, *, on_event: OnEvent = unheard) -> Evaluation:
        """Ask questions whose answers are known, and measure what comes; nothing is kept. Raises UsageError."""
        from ragscience.engine.eval_runs import evaluate

        return evaluate(self, request, on_event=on_event)

    # What an engine has

    @cached_property
    def papers(self) -> Papers:
        """The papers of the library, to list, look up, read and mark."""
        from ragscience.engine.papers import Papers

        return Papers(self)

    @cached_property
    def ingest(self) -> Ingest:
        """Papers into the library, and out of it."""
        from ragscience.engine.ingest import Ingest

        return Ingest(self)

    @cached_property
    def graph(self) -> LibraryGraph:
        """The knowledge graph of the library, to build, look at, draw and exchange."""
        from ragscience.engine.graph_runs import LibraryGraph

        return LibraryGraph(self)

    @cached_property
    def history(self) -> SavedAnswers:
        """Earlier conversations, and the audit log."""
        from ragscience.engine.saved_answers import SavedAnswers

        return SavedAnswers(self)

    @cached_property
    def review(self) -> Review:
        """What a writer holds against the papers."""
        from ragscience.engine.review_runs import Review

        return Review(self)

    # Models

    def model_rows(self) -> Sequence[ModelRow]:
        """What each part ("embedder", "reranker", "answer") would use, where its files are and why."""
        library = self.library
        late = bool(library.tokens.size_bytes() or not library.about.chunks)
        return self.models.rows(self.settings, library.about.embedder, late=late)

    def doctor(self, *, network: bool = False, fast: bool = False) -> list[DoctorFinding]:
        """What is found of the library and the models, with `network` also of the servers; writes nothing.

        With `fast` the contents of the database are not verified.
        """
        from ragscience.engine.eval_runs import doctor

        return doctor(self.home, self.settings, self.models, network=network, fast=fast, on_event=self.on_event)


def pull_models(engine: Engine, on_event: OnEvent, name: str = "") -> bool:
    """Fetch the model `name` if it is missing, else all that the settings name and that are; whether all came.

    Ollama fetches its own. Events are `Noted`, and `Warned` for what failed. Raises UsageError offline, and for a
    name that is neither known nor the hub's; ModelProblem for a folder that is not there.
    """
    from ragscience.models import model_download as models

    settings = engine.settings
    folder = models.find_on_this_machine(name) if name else None
    if folder is not None:
        on_event(Noted(f"{name} is in {folder}. {models.how_to_use(name)}".rstrip()))
        return True
    if name and "/" not in models.hub_name(name):
        known = ", ".join(row.name.rpartition("/")[2] for row in models.known_models().values())
        raise UsageError(f"There is no model {name}.", f"Name one of {known}; or another of the hub as OWNER/NAME.")
    if settings.offline:
        fix = "Leave --offline out, or unset RAG_OFFLINE."
        raise UsageError("`models pull` needs the network, which is switched off.", fix)
    is_known = models.known_model(settings.embedding_model) is not None
    wanted = [name] if name else [settings.reranker, *([settings.embedding_model] if is_known else [])]
    missing = [each for each in wanted if models.find_on_this_machine(each) is None]
    if not missing:
        on_event(Noted("No models are missing."))
    failed = 0
    for each in missing:
        try:
            models.pull_model(each)
        except RagScienceError as error:
            failed += 1
            on_event(Warned(f"error: {each}: {error}"))
        else:
            how = models.how_to_use(each) if name else ""
            on_event(Noted(f"{each} was downloaded. {how}".rstrip()))
    return not failed
