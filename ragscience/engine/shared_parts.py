"""What an engine's parts share: library, files, models and logs, each made when first used."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import BoundedSemaphore, RLock
from typing import TYPE_CHECKING, Any, Self, TypeVar

from ragscience.core.errors import RagScienceError, SourceError, UsageError
from ragscience.core.records import Paper
from ragscience.core.settings import Settings
from ragscience.core.system import Closing
from ragscience.engine.events import Event, ModelChosen, OnEvent, Warned, unheard
from ragscience.library.atomic_files import read_checked_json, write_checked_json
from ragscience.library.ingestion import LOCAL, LocalFiles
from ragscience.library.store import Home, Library, Store
from ragscience.models.bert_session import available_cores

if TYPE_CHECKING:
    from ragscience.ask.answer_context import Circuit
    from ragscience.engine.model_pool import ModelPool
    from ragscience.upkeep.telemetry import Telemetry

EMBEDDED = "vectorstore"
"""What names the library in the home's own folder; all else is a URI."""


def open_store(home: Home, settings: Settings, *, writing: bool = False) -> Store:
    """The library that the setting `library` names; the home keeps all that is a person's.

    Raises LibraryBusy while another process writes it, LibraryUnavailable for a newer format, UsageError where a
    package is missing, RagScienceError where the place cannot be read.
    """
    if settings.library == EMBEDDED:
        return Library.open_for_writing(home) if writing else Library.open(home)
    from ragscience.library.lance_store import LanceLibrary

    return LanceLibrary(home, settings.library, writing=writing)


def paper_files(home: Home, settings: Settings) -> LocalFiles:
    """What reads the files of this home's papers; nothing is asked of a server yet."""
    if not settings.papers:
        return LOCAL
    from ragscience.library.bucket import BucketFiles

    cache = settings.cache_folder.expanduser() / "bucket_papers"
    return BucketFiles(home, settings.papers, cache, offline=settings.offline)


def require_some_left(home: Home, settings: Settings, papers: Sequence[Paper], gone: Collection[Paper]) -> None:
    """Raise SourceError where no paper at all is left of those in the bucket: that is no reason to remove them.

    A wrong prefix, a new bucket, a server that has lost its data or a setting that was forgotten look just like it.
    """
    if not gone:
        return
    from ragscience.library.bucket import known_objects

    address = settings.papers or known_objects(home)[0]
    within = [paper for paper in papers if home.papers in Path(paper.path).parents] if address else []
    if not within or any(paper not in gone for paper in within):
        return
    what = f"None of the library's {len(within):,} papers is in {address if settings.papers else 'papers/'}"
    where = "" if settings.papers else f", and they were in {address} before"
    do = "Check" if settings.papers else "Set"
    fix = f"{do} RAG_PAPERS. Papers that are to go: `python ingest.py remove '*' --yes`."
    raise SourceError(f"{what}{where}: nothing was removed.", fix)


def refuse_papers_in(settings: Settings) -> None:
    """Raise UsageError where papers/ is a bucket, to which nothing is written."""
    if settings.papers:
        fix = f"Put it there, as with `aws s3 cp FILE {settings.papers}/`, and run `python ingest.py`."
        raise UsageError(f"The papers are in {settings.papers}, where this program writes nothing.", fix)


T = TypeVar("T")


class SharedParts(Closing):
    """The parts of one engine; safe for several threads."""

    def __init__(
        self,
        home: Home,
        settings: Settings,
        *,
        environment: Mapping[str, str] | None = None,
        on_event: OnEvent = unheard,
    ) -> None:
        """The arguments are those of `Engine.open`."""
        self.home = home
        """The folder, and where everything is in it."""
        self.settings = settings
        self.environment = environment or {}
        self.on_event = on_event
        self.search_slots = BoundedSemaphore(available_cores())
        """One for each core: more searches at once only wait for each other."""
        self._lock = RLock()
        self._made: dict[str, Any] = {}
        self._published: set[Event] = set()
        self._graph: tuple[str, tuple[Any, dict[str, Any]]] | None = None

    def close(self, *parts: str) -> None:
        """Release the files and write what waits, of all parts or of these; one that is used again is made anew."""
        with self._lock:
            made = {name: self._made.pop(name) for name in parts or [*self._made] if name in self._made}
        try:
            if "library" in made:
                made["library"].close()
        finally:
            if "telemetry" in made:
                made["telemetry"].close()

    def writing(self) -> Store:
        """The library, opened for writing, which the caller closes. Raises as `open_store`."""
        return open_store(self.home, self.settings, writing=True)

    def with_settings(self, settings: Settings) -> Self:
        """The same library, models and telemetry under other settings; not to be closed."""
        other = type(self)(self.home, settings, on_event=self.on_event)
        other.search_slots = self.search_slots
        other._made = {"library": self.library, "models": self.models, "telemetry": self.telemetry}
        return other

    def publish(self, event: Event) -> None:
        """Pass on what belongs to no single question, once."""
        with self._lock:
            if event in self._published:
                return
            self._published.add(event)
        self.on_event(event)

    def publish_damage(self) -> None:
        """Publish what was seen of the library's damage, each once."""
        for text in self.library.damage():
            self.publish(Warned(text))

    @property
    def library(self) -> Store:
        """The library, for reading; shared by all threads."""
        return self._made_once("library", lambda: open_store(self.home, self.settings))

    @property
    def files(self) -> LocalFiles:
        """The files of the papers, wherever they are."""
        return self._made_once("files", lambda: paper_files(self.home, self.settings))

    @property
    def models(self) -> ModelPool:
        """The models, each loaded when it is first used."""
        from ragscience.engine.model_pool import ModelPool

        def on_choice(part: str, text: str) -> None:
            self.publish(ModelChosen(text, part))

        return self._made_once("models", lambda: ModelPool(on_choice, lambda text: self.publish(Warned(text))))

    @property
    def circuit(self) -> Circuit:
        """Keeps many questions from waiting for a language model that fails each time."""
        from ragscience.ask.answer_context import Circuit

        return self._made_once("circuit", lambda: Circuit(clock=time.monotonic))

    @property
    def telemetry(self) -> Telemetry:
        """The log, the metrics and the traces, as far as the settings and the environment ask for them."""

        def make() -> Telemetry:
            from ragscience.upkeep.telemetry import LogFile, Sink, Telemetry

            settings = self.settings
            sinks: list[Sink] = [LogFile(Path(settings.log_file).expanduser())] if settings.log_file else []
            if self.environment.get("OTEL_TRACES_EXPORTER"):
                from ragscience.upkeep.otel_spans import open_spans

                asked = settings.trace_questions
                spans = open_spans(self.environment, with_questions=asked, offline=settings.offline)
                sinks += [spans] if spans is not None else []
            return Telemetry(sinks, lambda text: self.publish(Warned(text)))

        return self._made_once("telemetry", make)

    def graph_and_vectors(self) -> tuple[Any, dict[str, Any]]:
        """The knowledge graph of the library as it is now, and the vectors of its triples that are known."""
        from ragscience.graph.graph_model import load_graph

        with self._lock:
            state = self.library.graph.state()
            if self._graph is None or self._graph[0] != state:
                self._graph = state, (load_graph(self.library), {})
            return self._graph[1]

    def _made_once(self, name: str, make: Callable[[], T]) -> T:
        with self._lock:
            if name not in self._made:
                self._made[name] = make()
            made: T = self._made[name]
            return made


def is_new_choice(file: Path, part: str, text: str) -> bool:
    """Whether the choice of this part ("llm", "reranker") is another one than the last; from now on it is that.

    `file` keeps what was said and may be deleted at any time. Where it cannot be read, nothing has been said; where it
    cannot be written, a choice is said again each time.
    """
    said = read_checked_json(file) or {}
    if said.get(part, "") == text:
        return False
    with suppress(OSError, RagScienceError):
        if file.parent.is_dir():
            write_checked_json(file, said | {part: text})
    return bool(text)
