"""The conversation under way: what was said in it is in mind for the next question, and on disk right away."""

from __future__ import annotations

from datetime import UTC, datetime

from ragscience.audit import Request
from ragscience.errors import NothingFound, RagScienceError, UsageError
from ragscience.history import History, KeptAnswer
from ragscience.history.conversations import check_name
from ragscience.records import Answer, Citation, StoredChunk, Turn
from ragscience.store import Home
from ragscience.terminal.auditing import audit
from ragscience.terminal.session import Session

__all__ = ["Talk", "kept_answer"]


class Talk:
    """One conversation: a new one, the last one (`go_on`), or the one called `name`, begun where there is none.

    History never costs an answer. Where it cannot be read, the conversation begins anew; where it cannot be written,
    what was not kept is tried again with the next turn; a notice says so. With the setting `history` off nothing is
    written. Raises UsageError for a name that cannot be one, and for both ways at once.
    """

    def __init__(self, session: Session, *, name: str | None, go_on: bool) -> None:
        if go_on and name is not None:
            raise UsageError("--continue and --chat are two ways to choose a conversation.", "Give one of them.")
        self._session = session
        self._name = "" if name is None else check_name(name)
        self._conversation_id: int | None = None
        self._unkept: list[tuple[Answer, str]] = []
        self.kept: list[KeptAnswer] = []
        """All of this conversation, from disk and from this run, the first first."""
        if go_on or self._name:
            self._read()

    @property
    def answers(self) -> list[Answer]:
        """The answers of this conversation."""
        return [kept.answer for kept in self.kept]

    @property
    def said(self) -> str:
        """Where this conversation comes from, in one line; empty for a new one without a name."""
        if not self.kept:
            return f"A new conversation, {self._name}." if self._name else ""
        name = f" ({self._name})" if self._name else ""
        turns = "1 turn" if len(self.kept) == 1 else f"{len(self.kept)} turns"
        return f"Going on with “{' '.join(self.kept[0].answer.question.split())}”{name}, {turns}."

    def turns(self) -> tuple[Turn, ...]:
        """What the next question is understood by: the last turns, as many as the setting `history_turns` says."""
        wanted = self._session.settings.history_turns
        last = self.answers[-wanted:] if wanted else []
        return tuple(Turn(answer.question, answer.text, _cited_passages(answer)) for answer in last)

    def keep(self, answer: Answer, asked: Request) -> KeptAnswer:
        """Take a turn in and bring it to the disk; what was kept, without a conversation where it could not be.

        How it was `asked` goes to the audit log with it.
        """
        now = datetime.now(UTC).isoformat(timespec="seconds")
        audit(self._session, answer, asked, at=now)
        kept = KeptAnswer(None, now, answer)
        self.kept.append(kept)
        path = self._session.home.history
        # Without the folder there is no library: asking makes none.
        if not self._session.settings.history or not path.parent.is_dir():
            return kept
        self._unkept.append((answer, now))
        try:
            with History.open_for_writing(path) as history:
                self._conversation_id = history.add(
                    self._unkept, conversation_id=self._conversation_id, name=self._name
                )
        except RagScienceError as error:
            self._session.notice(f"This conversation is not kept: {error}")
            return kept
        self._unkept.clear()
        return KeptAnswer(self._conversation_id, now, answer)

    def start_new(self) -> None:
        """Begin a conversation without a name; the one so far stays on disk."""
        self._name, self._conversation_id = "", None
        self._unkept.clear()
        self.kept.clear()

    def _read(self) -> None:
        try:
            with History.open(self._session.home.history) as history:
                found = history.named(self._name) if self._name else history.last()
                if found is None:
                    if not self._name:
                        self._session.notice("There is no conversation to go on with: this is a new one.")
                    return
                self.kept = history.turns(found.conversation_id)
                self._conversation_id, self._name = found.conversation_id, found.name
        except RagScienceError as error:
            self._session.notice(f"Earlier conversations cannot be read: {error}")


def _cited_passages(answer: Answer) -> tuple[int, ...]:
    """Ids of the passages that hold what is cited, in the order of their rank."""
    return tuple(
        hit.chunk.chunk_id
        for hit in answer.found.hits
        if any(_holds(hit.chunk, citation) for citation in answer.citations)
    )


def _holds(chunk: StoredChunk, citation: Citation) -> bool:
    if (citation.path or chunk.path) != chunk.path or citation.file != chunk.file:
        return False
    if citation.end:
        return chunk.start <= citation.start and citation.end <= chunk.end
    return chunk.page_start <= citation.page <= chunk.page_end


def kept_answer(home: Home, answer_id: str | None) -> KeptAnswer:
    """The answer whose id begins with `answer_id`, or the last that was given. Raises NothingFound without one."""
    with History.open(home.history) as history:
        kept = history.answer(answer_id or "")
    if kept is None:
        which = f"answer {answer_id}" if answer_id else "answer yet"
        raise NothingFound(f"The history has no {which}.", "`python query.py history list` shows what it has.")
    return kept
