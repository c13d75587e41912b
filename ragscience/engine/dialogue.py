"""A conversation under way: its turns are context of the next question, and are on disk right away."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace
from typing import Any

from ragscience.ask.conversation import state_after
from ragscience.core import __version__
from ragscience.core.errors import RagScienceError, UsageError
from ragscience.core.records import Answer, Paper, StoredChunk, Turn
from ragscience.core.serialization import select
from ragscience.core.settings import Settings
from ragscience.core.tokenizing import counted
from ragscience.engine.places import holds
from ragscience.engine.question_run import QuestionRun
from ragscience.engine.requests import AskRequest
from ragscience.library.atomic_files import disk_errors
from ragscience.library.history import History, KeptAnswer, check_name
from ragscience.library.history_database import AUDIT_SCHEMA_VERSION, of_answer, place_of, plain, without_credentials
from ragscience.library.store import Home, Store
from ragscience.search.names import PaperNames

HISTORY_TURNS = 6
"""Earlier turns by which a follow-up is understood; the older ones are seldom meant, and cost prompt."""

Warn = Callable[[str], None]


class Dialogue:
    """One conversation: a new one, the last one, or the one with a name, which is created if missing.

    History never costs an answer. If it cannot be read, a new conversation starts; if it cannot be written,
    the next turn tries again; both give a warning. With the setting `history` off nothing is written.
    """

    def __init__(
        self, home: Home, settings: Settings, *, name: str | None, continue_last: bool, person: str = ""
    ) -> None:
        """`name` may be the number of a conversation that is there; those of the `person` alone are there.

        Raises UsageError for a name that cannot be one, for a number without a conversation, and for both ways at once.
        """
        if continue_last and name is not None:
            raise UsageError("--continue and --chat exclude each other.", "Give one of them.")
        self.person = person
        """Whose it is; empty for the library's own user."""
        self._path = home.history_of(person)
        self._home = home
        self._settings = settings
        is_number = name is not None and name.strip().isdecimal()
        self.name = "" if name is None or is_number else check_name(name)
        self._conversation_id: int | None = None
        self._unkept: list[KeptAnswer] = []
        self.focus: tuple[str, ...] | None = None
        """The papers (files) that the next question is about, if it names none; None: those that were spoken of."""
        self.turns: list[KeptAnswer] = []
        """All turns of this conversation, from disk and from this run, the first first."""
        self.warnings: list[str] = []
        """Why earlier turns are missing."""
        if continue_last or name is not None:
            self._read(name.strip() if is_number and name is not None else "")

    @property
    def answers(self) -> list[Answer]:
        """The answers of this conversation."""
        return [turn.answer for turn in self.turns]

    def rename(self, name: str) -> str:
        """Give it another name, on disk if it is there; the name as it is kept.

        Raises UsageError for a name that cannot be one or that another conversation has.
        """
        wanted = check_name(name)
        if self.is_kept:
            with self._writing() as history:
                history.rename(self._conversation_id, wanted)
        self.name = wanted
        return wanted

    @property
    def summary(self) -> str:
        """Where this conversation comes from, in one line; empty for a new one without a name."""
        if not self.turns:
            return f"A new conversation, {self.name}." if self.name else ""
        name = f" ({self.name})" if self.name else ""
        turns = counted(len(self.turns), "turn")
        return f"Continuing “{' '.join(self.turns[0].answer.question.split())}”{name}, {turns}."

    @property
    def is_kept(self) -> bool:
        """Whether its turns go to the disk. Without the folder there is no library: asking makes none."""
        return self._settings.history and self._home.vectorstore.is_dir()

    def context(self) -> tuple[Turn, ...]:
        """The last HISTORY_TURNS turns: the context of the next question."""
        last = self.answers[-HISTORY_TURNS:]
        return tuple(Turn(answer.question, answer.text, _cited_passages(answer)) for answer in last)

    def in_focus(self, library: Store) -> tuple[str, ...]:
        """The files of the papers that "it" means in the next question."""
        if self.focus is not None or not self.turns:
            return self.focus or ()
        return state_after(self.context(), PaperNames.of(library)).focus

    def keep(self, answer: Answer, at: str, audit: Mapping[str, Any] | None, warn: Warn) -> KeptAnswer:
        """Add a turn of the time `at` (ISO 8601, UTC) and write it to the disk with its audit record, if there is one.

        Gives it without a conversation's id where it could not be written.
        """
        kept, self.focus = KeptAnswer(None, at, answer), None
        if self.is_kept:
            self._unkept.append(replace(kept, audit=audit))
            try:
                with self._writing() as history:
                    number = self._conversation_id
                    self._conversation_id = history.add(self._unkept, conversation_id=number, name=self.name)
                    if history.damage:
                        warn(history.damage)
            except RagScienceError as error:
                warn(f"This conversation is not kept: {error}")
            else:
                self._unkept.clear()
                kept = replace(kept, conversation_id=self._conversation_id)
        self.turns.append(kept)
        return kept

    def _writing(self) -> History:
        with disk_errors(self._path.parent):
            self._path.parent.mkdir(mode=0o700, exist_ok=True)
        return History.open_for_writing(self._path)

    def start_new(self) -> None:
        """Begin a conversation without a name; the one so far stays on disk."""
        self.name, self._conversation_id = "", None
        self._unkept.clear()
        self.turns.clear()
        self.focus = None

    def _read(self, number: str) -> None:
        try:
            with History.open(self._path) as history:
                named = history.named(self.name) if self.name else history.last()
                found = history.numbered(number) if number else named
                if found is not None:
                    self.turns = history.turns(found.conversation_id)
                    self.warnings += filter(None, [history.damage])
                    self._conversation_id, self.name = found.conversation_id, found.name
                elif number:
                    fix = "Give a name, or a number that `history list` shows."
                    raise UsageError(f"There is no conversation {number}.", fix)
                elif not self.name:
                    self.warnings.append("There is no conversation to continue: this is a new one.")
        except UsageError:
            raise
        except RagScienceError as error:
            self.warnings.append(f"Earlier conversations cannot be read: {error}")


def _cited_passages(answer: Answer) -> tuple[int, ...]:
    """Ids of the passages that hold what is cited, in the order of their rank."""
    chunks = [hit.chunk for hit in answer.found.hits]
    return tuple(one.chunk_id for one in chunks if any(holds(one, cited) for cited in answer.citations))


def record_for(run: QuestionRun, answer: Answer, request: AskRequest, *, at: str) -> dict[str, Any]:
    """The record of an answer that this run has just given, `at` that moment (ISO 8601, UTC), as JSON.

    It has no credentials in URLs, except in text by the user or a model. Raises RagScienceError for a damaged library.
    """
    library = run.library
    with library.snapshot():
        earlier = library.chunks([number for turn in request.history for number in turn.passages])
        papers = _papers(library, [*(hit.chunk for hit in answer.found.hits), *earlier])
        embedder = library.about.embedder
        depends_on = {
            "settings": run.settings.deciding_values(),
            "library": {
                "id": library.about.library_id,
                "generation": library.about.version,
                "chunker": library.about.chunker,
                "embedder": embedder and asdict(embedder),
            },
            "models": _models(run, answer, embedder.digest if embedder else ""),
        }
    places = {chunk.chunk_id: place_of(chunk, papers.get(chunk.paper_id)) for chunk in earlier}
    history = [
        select("question answer passages", turn, passages=[places[one] for one in turn.passages if one in places])
        for turn in request.history
    ]
    names, version = "schema at program agent strict plain k focus filters history", AUDIT_SCHEMA_VERSION
    given = {"schema": version, "at": at, "program": __version__, "k": request.top_k, "history": history}
    asked = select(names, request, filters=asdict(request.filters), **given)
    record: dict[str, Any] = plain(asked) | without_credentials(depends_on)
    return record | of_answer(answer, papers, run.warnings)


def _papers(library: Store, chunks: Iterable[StoredChunk]) -> dict[int, Paper]:
    """The papers of the passages by id, but for those that have changed since they were read."""
    chunks = list(chunks)
    found = (library.paper(path=path) for path in {chunk.path for chunk in chunks})
    ids = {chunk.paper_id for chunk in chunks}
    return {paper.paper_id: paper for paper in found if paper is not None and paper.paper_id in ids}


def _models(run: QuestionRun, answer: Answer, embedder: str) -> dict[str, Any]:
    """Name and digest of the weights of each part, None for one that was not used; `embedder` is that one's digest."""
    used, digests = answer.models, {"embedder": embedder}
    if used.get("reranker"):
        late = run.tokens_from.identity.digest if run.tokens_from is not None else ""
        digests["reranker"] = late if run.reranker is None else str(getattr(run.reranker, "digest", ""))
    if used.get("llm") and run.llm is not None:
        digests["llm"] = run.llm.digest
    return {part: {"name": name, "digest": digests.get(part) or None} if name else None for part, name in used.items()}
