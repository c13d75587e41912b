"""The engine: one object behind every command, notebook, page and test."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import BoundedSemaphore, RLock
from threading import Event as Flag
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from ragscience.core.errors import RagScienceError
from ragscience.core.records import Answer, Filters, Found, Paper, Profile
from ragscience.core.stage_timing import Timings, timed
from ragscience.engine.dialogue import Dialogue
from ragscience.engine.events import Checking, Event, ModelChosen, OnEvent, Warned
from ragscience.engine.open_store import open_store
from ragscience.engine.paper_lookup import check_filters, filters_by_name, papers_matching
from ragscience.engine.question_run import QuestionRun
from ragscience.engine.requests import AskRequest, SearchRequest
from ragscience.library.atomic_files import disk_errors
from ragscience.library.store import Home, Store
from ragscience.models.bert_session import available_cores

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragscience.ask.circuit_breaker import Circuit
    from ragscience.core.settings import Settings
    from ragscience.engine.doctor_run import DoctorReport
    from ragscience.engine.eval_runs import EvalRequest
    from ragscience.engine.fetch_runs import Choose
    from ragscience.engine.graph_runs import LibraryGraph
    from ragscience.engine.ingest_events import FetchRequest, FetchResult, IngestResult, SyncPlan
    from ragscience.engine.ingest_runs import IngestRun
    from ragscience.engine.left_out_files import SkippedFile
    from ragscience.engine.library_copy import CopyResult
    from ragscience.engine.model_pool import ModelPool
    from ragscience.engine.paper_outline import PaperOutline
    from ragscience.engine.paper_views import Bibliography, PaperPage
    from ragscience.engine.rebuild_runs import Part
    from ragscience.engine.saved_answers import SavedAnswers
    from ragscience.engine.source_list import Surroundings
    from ragscience.engine.told_choices import ToldChoices
    from ragscience.evaluation.eval_report import Evaluation
    from ragscience.evaluation.question_drafts import Draft
    from ragscience.library.duplicates import Duplicate
    from ragscience.library.ingestion import LocalFiles
    from ragscience.models.model_choice import ModelRow
    from ragscience.models.model_protocols import Embedder
    from ragscience.upkeep.telemetry import Telemetry

__all__ = ["Engine"]

T = TypeVar("T")


class Engine:
    """A home with its library, models, history and logs; open it once and use it from any number of threads."""

    def __init__(
        self,
        home: Home,
        settings: Settings,
        *,
        environment: Mapping[str, str] | None = None,
        on_event: OnEvent | None = None,
        stays: bool = False,
    ) -> None:
        self.home = home
        self._stays = stays
        self.settings = settings
        self._environment = environment or {}
        self._on_event = on_event
        self._lock = RLock()
        self.search_slots = BoundedSemaphore(available_cores())
        """One for each core: more searches at once only wait for each other."""
        self._shared: dict[str, Any] = {}
        self._said: set[Event] = set()
        self._graph: tuple[str, tuple[Any, dict[int, Any]]] | None = None

    @classmethod
    def open(
        cls,
        home: str | Path,
        settings: Settings | None = None,
        *,
        environment: Mapping[str, str] | None = None,
        on_event: OnEvent | None = None,
        create: bool = False,
        stays: bool = False,
    ) -> Engine:
        """The engine of the home in that folder; nothing is read before it is needed.

        Without `settings` those of the folder are taken, else the defaults. `environment` holds the OTEL_ variables
        that name an exporter of traces, if any. `on_event` receives what belongs to no single question: the choice of
        models, and logs that cannot be written. `create` makes the folder and its papers/ where they are not there.
        `stays` says that many questions come: the built-in model then takes 48 MB more, and a third less time for each.
        Raises UsageError for a folder that is not there, for settings that cannot be, or where the log or the metrics
        of the settings could not be written.
        """
        from ragscience.core.settings import check_home, load_settings

        folder = Path(home).expanduser()
        if create:
            with disk_errors(folder):
                Home(folder).papers.mkdir(parents=True, exist_ok=True)
        else:
            check_home(folder)
        warnings: list[str] = []
        settings = load_settings(home=folder, on_warning=warnings.append) if settings is None else settings
        engine = cls(Home(folder), settings, environment=environment, on_event=on_event, stays=stays)
        for text in warnings:
            engine._publish(Warned(text))
        if settings.log_file or settings.metrics_file or engine._environment:
            _ = engine.telemetry
        return engine

    def close(self) -> None:
        """Release the files and write what waits; closing twice is harmless."""
        with self._lock:
            shared, self._shared = self._shared, {}
        try:
            if "library" in shared:
                shared["library"].close()
        finally:
            if "telemetry" in shared:
                shared["telemetry"].close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Questions

    def search(self, request: SearchRequest, *, on_event: OnEvent | None = None, cancel: Flag | None = None) -> Found:
        """The passages for a question, best first, with the warnings of this search.

        Raises UsageError for a request that cannot be, NothingFound where a filter fits no paper, Cancelled once
        `cancel` is set.
        """
        from ragscience.ask.query_rewriting import standalone
        from ragscience.engine.split_search import search_in_parts
        from ragscience.upkeep.telemetry import of_search

        request = replace(request, filters=filters_by_name(self.library, request.filters))
        run = QuestionRun(self, request, on_event=on_event, cancel=cancel)
        question = standalone(run.spelled, request.history)
        timings = Timings()

        def find() -> Found:
            check_filters(self.library, request.filters)
            with timed(timings, "search_ms"):
                return search_in_parts(run, question, request.filters)

        found = self._recorded("search", question, find)
        found = replace(
            found,
            timings_ms={**found.timings_ms, **timings},
            stages=(*found.stages, *timings.stages),
            warnings=_once(found.warnings, run.all_warnings()),
        )
        if self.telemetry.is_on:
            self.telemetry.record(of_search(found, run.models_of_search(found)))
        return found

    def ask(
        self,
        request: AskRequest,
        *,
        dialogue: Dialogue | None = None,
        on_event: OnEvent | None = None,
        cancel: Flag | None = None,
    ) -> Answer:
        """The answer to a question, checked against its pages, with its own warnings; kept in history and audit log.

        It is a turn of the `dialogue`, without one of a conversation of its own. `on_event` receives tokens, steps of
        the agent and warnings as they come. Raises as `search`.
        """
        from ragscience.engine.answer_record import audit
        from ragscience.upkeep.telemetry import of_answer

        dialogue = dialogue or self.dialogue()
        filters = filters_by_name(self.library, request.filters)
        request = replace(request, filters=filters, history=request.history or dialogue.context())
        run = QuestionRun(self, request, on_event=on_event, cancel=cancel, person=dialogue.person)
        for warning in dialogue.warnings:
            run.warn(warning)

        def find() -> Answer:
            check_filters(self.library, request.filters)
            return run.answer(request)

        answer = self._recorded("agent" if request.agent else "ask", run.question, find)
        answer = replace(
            answer,
            question=run.question,
            warnings=_once((*answer.found.warnings, *answer.warnings), run.all_warnings()),
        )
        if self.telemetry.is_on:
            self.telemetry.record(of_answer(answer))
        audit(run, answer, request, at=datetime.now(UTC).isoformat(timespec="seconds"))
        dialogue.keep(answer, run.warn)
        return replace(answer, warnings=_once(answer.warnings, run.warnings))

    def dialogue(self, *, name: str | None = None, continue_last: bool = False, person: str = "") -> Dialogue:
        """A conversation: a new one, the last one, or the one called `name`, which may be its number.

        `person` is whose it is; empty: the library's own user's. Raises UsageError for a bad name, and for a number
        without a conversation.
        """
        return Dialogue(self.home, self.settings, name=name, continue_last=continue_last, person=person)

    def _recorded(self, how: str, question: str, act: Callable[[], T]) -> T:
        """What `act` gives; where it fails, the telemetry has a record of the failure."""
        from ragscience.upkeep.telemetry import of_failure

        began, started = time.time(), time.perf_counter()
        try:
            return act()
        except RagScienceError as error:
            took = round((time.perf_counter() - started) * 1000, 3)
            self.telemetry.record(of_failure(how, question, type(error).__name__, started=began, total_ms=took))
            raise

    def write_marked_pages(self, answers: Sequence[Answer], target: Path, *, on_event: OnEvent | None = None) -> int:
        """Write a PDF of the pages that the answers cite, with the quotes marked; how many pages.

        Raises UsageError where `target` is a file that was not made so, RagScienceError where it cannot be written.
        """
        from ragscience.engine.marked_pages import write_marked_pages

        settings = self.settings
        return write_marked_pages(
            answers,
            target,
            timeout_seconds=settings.reading_timeout_seconds,
            memory_bytes=settings.reading_memory_mb << 20,
            warn=lambda text: on_event(Warned(text)) if on_event is not None else None,
            opened=self.opened,
        )

    def opened(self, path: Path) -> AbstractContextManager[Path]:
        """The file at a paper's path, or what stands for it on this machine."""
        paper = self.library.paper_by_path(str(path))
        return self.files.opened(path, paper.md5) if paper else nullcontext(path)

    # What there is

    def papers(self) -> list[Paper]:
        """The papers of the library, by their names."""
        return self._said_of_damage(self.library.papers())

    def skipped_files(self) -> list[SkippedFile]:
        """The files that the last runs saw and did not read into the library, each with the reason, by path."""
        from ragscience.engine.left_out_files import skipped_files

        return skipped_files(self.library, self.files)

    def _said_of_damage(self, made: T) -> T:
        """The same, after what was seen of damage on the way is published."""
        self.tell_damage()
        return made

    def tell_damage(self) -> None:
        """Publish what was seen of the library's damage, each once."""
        for text in self.library.damage():
            self._publish(Warned(text))

    def papers_matching(self, pattern: str) -> list[Paper]:
        """The papers that a pattern fits, in any case; none where none does.

        A listed name, path or MD5 means that paper alone; all else is a part of the file's name or of the title, a
        pattern with `*`, or what a paper calls itself.
        """
        return self._said_of_damage(papers_matching(self.library, pattern))

    def check_filters(self, filters: Filters) -> None:
        """Raise NothingFound for filters that leave no passage, or name a paper, author, year or heading of none.

        Nothing is checked of an empty library.
        """
        check_filters(self.library, filters)

    def page(self, paper: str, number: int) -> PaperPage:
        """A page, as it was read, of the one paper that `paper` fits (see `papers_matching`).

        Raises NothingFound where no paper fits or it has no such page, UsageError where several papers fit.
        """
        from ragscience.engine.paper_views import paper_page

        return self._said_of_damage(paper_page(self.library, paper, number))

    def bibliography(self, papers: Sequence[str] = (), *, cited_by: Sequence[Answer] | None = None) -> Bibliography:
        """The entries of the papers that `papers` fit, of those that the answers cite, or of all papers.

        Raises NothingFound for a name that fits no paper.
        """
        from ragscience.engine.paper_views import bibliography

        return self._said_of_damage(bibliography(self.library, papers, cited_by))

    def surroundings(self, answer: Answer, number: int) -> Surroundings:
        """The page of source `number` of an answer, with the quotes on it.

        Raises UsageError for a number that the answer does not list, NothingFound where the paper has left the library.
        """
        from ragscience.engine.source_list import surroundings

        return self._said_of_damage(surroundings(answer, number, self.library))

    def outline(self, paper: str) -> PaperOutline:
        """A paper with its headings, tables, figures and references. Raises as `page`."""
        from ragscience.engine.paper_outline import paper_outline

        return self._said_of_damage(paper_outline(self.library, paper))

    def duplicates(self) -> list[Duplicate]:
        """The pairs of papers that are the same one, in other bytes or in an older version."""
        from ragscience.library.duplicates import duplicates

        return self._said_of_damage(duplicates(self.library, self._on_check))

    def _on_check(self, what: str, step: int, steps: int) -> None:
        if self._on_event is not None:  # each time, unlike `_publish`
            self._on_event(Checking(what, step, steps))

    # Papers in and out

    @contextmanager
    def _writing(
        self, on_event: OnEvent | None, cancel: Flag | None = None, workers: int | str = 0
    ) -> Iterator[IngestRun]:
        """A run with the library open for writing. Raises LibraryBusy where another process or thread writes it."""
        from ragscience.engine.ingest_runs import IngestRun

        with open_store(self.home, self.settings, writing=True, on_event=on_event) as library:
            run = IngestRun(library, self.settings, self.models, on_event or _unheard, cancel=cancel)
            run.workers = workers
            yield run

    def add(
        self,
        paths: Sequence[str | Path] = (),
        *,
        workers: int | str = 0,
        on_event: OnEvent | None = None,
        cancel: Flag | None = None,
    ) -> IngestResult:
        """Read new and changed PDFs under `paths`, papers/ without any; `cancel` ends it after the paper in hand.

        So many `workers`, processes of one core each, read, cut and embed, or those of the Ray cluster at a HOST:PORT;
        without any this process embeds, on all cores. A script that asks for processes needs its
        `if __name__ == "__main__":`, as they import it. A file that cannot be read is a failure in the result. Raises
        RagScienceError where the library cannot be written or belongs to another model or other settings.
        """
        with self._writing(on_event, cancel, workers) as run:
            return run.add([Path(path) for path in paths])

    def sync(self, *, on_event: OnEvent | None = None, cancel: Flag | None = None) -> IngestResult:
        """Make the library what is on disk: read what is new or changed, remove what is gone. Raises as `add`."""
        with self._writing(on_event, cancel) as run:
            return run.sync()

    def sync_plan(self, *, on_event: OnEvent | None = None) -> SyncPlan:
        """What `sync` would do."""
        with self._writing(on_event) as run:
            return run.sync_plan()

    def remove(
        self, papers: Sequence[str], *, forget: bool = False, on_event: OnEvent | None = None
    ) -> tuple[Paper, ...]:
        """Take out all papers that `papers` fit; their files stay, left out of later runs unless they are named.

        With `forget` the next run reads them again. Raises NothingFound for a name that fits no paper.
        """
        with self._writing(on_event) as run:
            return run.remove(papers, forget=forget)

    def keep_newest(self, *, on_event: OnEvent | None = None) -> tuple[Duplicate, ...]:
        """Take the older paper of each duplicate out; its file stays, and is left out from now on."""
        with self._writing(on_event) as run:
            return run.keep_newest()

    def rebuild(
        self,
        only: Part | None = None,
        papers: Sequence[str] = (),
        *,
        workers: int | str = 0,
        on_event: OnEvent | None = None,
        cancel: Flag | None = None,
    ) -> IngestResult:
        """Read, cut and embed every paper again, or those that `papers` fit, or only make one part again.

        `workers` as for `add`. A database that is damaged as a whole is put aside, and every paper that it had is read
        again. Raises as `add`, and NothingFound for a name that fits no paper.
        """
        from ragscience.engine.rebuild_runs import RebuildRun, put_aside_if_damaged

        told = on_event or _unheard
        whole = not only and not papers
        lost = put_aside_if_damaged(self.home, self.settings.library, told) if whole else None
        if lost is not None:
            with self._lock:
                if "library" in self._shared:
                    self._shared.pop("library").close()
        with open_store(self.home, self.settings, writing=True, on_event=told) as library:
            run = RebuildRun(library, self.settings, self.models, told, cancel=cancel)
            run.workers = workers
            return run.rebuild(only, papers) if lost is None else run.add(lost)

    def copy(self, target: str, source: str | None = None, *, on_event: OnEvent | None = None) -> CopyResult:
        """Copy the library, or the one at `source`, to `target`, and compare the two: URIs as the setting `library`.

        A copy that was cut off is continued. Raises UsageError where the target holds other papers, RagScienceError
        where the copy differs.
        """
        from ragscience.engine.library_copy import copy_library

        return copy_library(self.home, source or self.settings.library, target, on_event or _unheard)

    def fetch(
        self,
        request: FetchRequest,
        *,
        choose: Choose | None = None,
        on_event: OnEvent | None = None,
        cancel: Flag | None = None,
    ) -> FetchResult:
        """Papers from arXiv and from URLs into papers/ and the library; `choose` picks from what searches find.

        Raises UsageError offline and for a request without a meaning; other errors are in the result.
        """
        from ragscience.engine.fetch_runs import FetchRun

        return FetchRun(self.home, self.settings, self.models, on_event or _unheard, cancel).fetch(request, choose)

    def watch(self, folder: Path | None = None, *, on_event: OnEvent | None = None, cancel: Flag | None = None) -> None:
        """Follow a folder, papers/ without one, until `cancel` is set. Raises UsageError if it does not exist."""
        from ragscience.engine.watch_runs import WatchRun

        WatchRun(self.home, self.settings, self.models, on_event or _unheard, cancel).watch(folder)

    def doctor(self, *, network: bool = False, fast: bool = False) -> DoctorReport:
        """Problems of the library and the models, with `network` also of the servers; writes nothing.

        With `fast` the contents of the database are not verified.
        """
        from ragscience.engine.doctor_run import doctor

        return doctor(self.home, self.settings, self.models, network=network, fast=fast, on_event=self._on_event)

    @property
    def history(self) -> SavedAnswers:
        """Earlier conversations, and the audit log."""
        return self._made_once("history", self._saved_answers)

    def _saved_answers(self) -> SavedAnswers:
        from ragscience.engine.saved_answers import SavedAnswers

        return SavedAnswers(self)

    def graph(self) -> LibraryGraph:
        """The knowledge graph of the library, to build, look at, draw and exchange."""
        from ragscience.engine.graph_runs import LibraryGraph

        return LibraryGraph(self)

    def evaluate(self, request: EvalRequest, *, on_event: OnEvent | None = None) -> Evaluation:
        """Ask questions whose answers are known, and measure what comes; nothing is kept. Raises UsageError."""
        from ragscience.engine.eval_runs import evaluate

        return evaluate(self, request, on_event=on_event)

    def draft_questions(
        self, count: int, *, papers: tuple[str, ...] = (), on_event: OnEvent | None = None
    ) -> list[Draft]:
        """Questions drafted from papers, for a person to correct. Raises NothingFound where no paper gives one."""
        from ragscience.engine.eval_runs import draft_questions

        return draft_questions(self, count, papers=papers, on_event=on_event)

    def with_settings(self, settings: Settings) -> Engine:
        """The same engine under other settings, sharing library, models and telemetry; do not close it."""
        other = Engine(self.home, settings, on_event=self._on_event)
        other.search_slots = self.search_slots
        other._shared = {"library": self.library, "models": self.models, "telemetry": self.telemetry}
        return other

    def model_rows(self) -> Sequence[ModelRow]:
        """What each part ("embedder", "reranker", "answer") would use, where its files are and why."""
        return self.models.rows(self.settings, self.library, lambda text: self._publish(Warned(text)))

    def pull_models(self, on_event: OnEvent) -> bool:
        """Fetch the models that are missing; whether all came. Raises UsageError offline."""
        return self.models.pull(self.settings, on_event)

    def embedder_name(self) -> str:
        """The name of the embedder that made the library's vectors, or would make them."""
        return self._embedder().identity.model

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of the texts by the library's embedder, shape (len(texts), dimension). Raises ModelProblem."""
        return self._embedder().embed_documents(texts)

    def _embedder(self) -> Embedder:
        required = self.library.embedder
        return self.models.query_embedder(self.settings, required, lambda text: self._publish(Warned(text)))

    def profiles(self) -> tuple[Profile, ...]:
        """The ways to search, with the numbers of the settings."""
        from ragscience.engine.question_profiles import QuestionProfiles
        from ragscience.search.profiles import PROFILE_NAMES

        profiles = QuestionProfiles(self.settings)
        return tuple(profiles.called(name, profiles.wanted) for name in PROFILE_NAMES)

    # Shared parts

    @property
    def library(self) -> Store:
        """The library, for reading; shared by all threads."""
        return self._made_once("library", lambda: open_store(self.home, self.settings))

    @property
    def files(self) -> LocalFiles:
        """The files of the papers, wherever they are."""
        return self._made_once("files", self._paper_files)

    def _paper_files(self) -> LocalFiles:
        from ragscience.engine.paper_files import paper_files

        return paper_files(self.home, self.settings)

    @property
    def models(self) -> ModelPool:
        """The models, each loaded when it is first used."""
        return self._made_once("models", self._model_pool)

    def _model_pool(self) -> ModelPool:
        from ragscience.engine.model_pool import ModelPool

        return ModelPool(self.home, lambda part, text: self._publish(ModelChosen(text, part)), stays=self._stays)

    @property
    def told_choices(self) -> ToldChoices:
        """Which choices of models a person has been told of."""
        from ragscience.engine.told_choices import ToldChoices

        return ToldChoices(self.home.told)

    @property
    def circuit(self) -> Circuit:
        """Keeps many questions from waiting for a language model that fails each time."""
        return self._made_once("circuit", self._circuit_breaker)

    def _circuit_breaker(self) -> Circuit:
        from ragscience.ask.circuit_breaker import Circuit

        settings = self.settings
        return Circuit(failures=settings.llm_failures, pause_seconds=settings.llm_pause_seconds, clock=time.monotonic)

    @property
    def telemetry(self) -> Telemetry:
        """The log, the metrics and the traces, as far as the settings and the environment ask for them."""
        return self._made_once("telemetry", self._open_telemetry)

    def _open_telemetry(self) -> Telemetry:
        from ragscience.upkeep.telemetry import open_telemetry

        settings = self.settings
        return open_telemetry(
            log_file=_file(settings.log_file),
            metrics_file=_file(settings.metrics_file),
            environment=self._environment,
            with_questions=settings.trace_questions,
            offline=settings.offline,
            on_problem=lambda text: self._publish(Warned(text)),
        )

    def graph_and_vectors(self) -> tuple[Any, dict[int, Any]]:
        """The knowledge graph of the library as it is now, and the vectors of its triples that are known."""
        from ragscience.graph.entity_merging import load_graph

        with self._lock:
            state = self.library.graph.state()
            if self._graph is None or self._graph[0] != state:
                self._graph = state, (load_graph(self.library), {})
            return self._graph[1]

    def _made_once(self, name: str, make: Callable[[], T]) -> T:
        with self._lock:
            if name not in self._shared:
                self._shared[name] = make()
            made: T = self._shared[name]
            return made

    def _publish(self, event: Event) -> None:
        """Pass on what belongs to no single question, once."""
        with self._lock:
            if self._on_event is None or event in self._said:
                return
            self._said.add(event)
        self._on_event(event)


def _unheard(_: Event) -> None:
    """Ignores an event: the default handler."""


def _once(first: tuple[str, ...], more: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *more)))


def _file(name: str) -> Path | None:
    return Path(name).expanduser() if name else None
