"""Earlier questions and answers: the conversations of the history, and the records of the audit log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ragscience.core.errors import NothingFound
from ragscience.engine.events import Warned
from ragscience.library.audit import SCHEMA_VERSION as AUDIT_SCHEMA_VERSION
from ragscience.library.audit import AuditReader, delete_log
from ragscience.library.conversation_names import check_name
from ragscience.library.history import Conversation, History, KeptAnswer

if TYPE_CHECKING:
    from ragscience.engine.replay import Replayed
    from ragscience.engine.shared_parts import SharedParts

__all__ = ["AUDIT_SCHEMA_VERSION", "AuditReader", "Conversation", "KeptAnswer", "SavedAnswers"]


class SavedAnswers:
    """Reading and deleting those of one person; `Engine.ask` writes. Each call opens the files again."""

    def __init__(self, shared: SharedParts, person: str = "") -> None:
        self._shared = shared
        self._history = shared.home.history_of(person)
        self._audit = shared.home.audit_of(person)

    def for_person(self, name: str) -> SavedAnswers:
        """Those of a person whom the library is served to; empty: of the library's own user."""
        return SavedAnswers(self._shared, name)

    def conversations(self) -> list[Conversation]:
        """All conversations, the one changed last first."""
        with History.open(self._history) as history:
            return history.conversations()

    def conversation(self, key: str | None = None) -> tuple[Conversation, list[KeptAnswer]]:
        """The conversation of that id or name with its turns, or with the one answer whose id begins so.

        Without a key it is the last conversation. Raises NothingFound.
        """
        with self._reading() as history:
            found = history.last() if key is None else history.find(key)
            if found is None:
                raise NothingFound("No conversations saved yet.", 'Ask something: python query.py "…"')
            if isinstance(found, Conversation):
                return found, history.turns(found.conversation_id)
            conversation = history.conversation(found.conversation_id or 0)
            if conversation is None:
                raise NothingFound(f"{key} has just been deleted.", "`python query.py history list` shows the rest.")
            return conversation, [found]

    def numbered(self, number: int) -> tuple[Conversation, list[KeptAnswer]]:
        """The conversation of that number with its turns. Raises NothingFound."""
        with self._reading() as history:
            found = history.numbered(str(number))
            if found is None:
                raise NothingFound(f"There is no conversation {number}.", "`python query.py history list` shows them.")
            return found, history.turns(found.conversation_id)

    def answer(self, answer_id: str = "") -> KeptAnswer:
        """The answer whose id begins with `answer_id`, or the last one. Raises NothingFound."""
        with self._reading() as history:
            kept = history.answer(answer_id)
        if kept is None:
            which = f"answer {answer_id}" if answer_id else "answer yet"
            raise NothingFound(f"The history has no {which}.", "`python query.py history list` shows what it has.")
        return kept

    def search(self, text: str, limit: int) -> list[KeptAnswer]:
        """The turns that have every word of the text, the newest first."""
        with self._reading() as history:
            return history.search(text, limit)

    def questions(self, limit: int) -> list[str]:
        """The last `limit` questions of all conversations, the newest first; none where no history is kept."""
        if not self._shared.settings.history:
            return []
        with self._reading() as history:
            return history.questions(limit)

    def rename(self, key: str, name: str) -> Conversation:
        """Give the conversation of that id or name another name; the conversation as it is then.

        Raises NothingFound, or UsageError for a name that cannot be one or that another conversation has.
        """
        wanted = check_name(name)
        found, _ = self.conversation(key)
        with History.open_for_writing(self._history) as history:
            history.rename(found.conversation_id, wanted)
        return replace(found, name=wanted)

    @contextmanager
    def _reading(self) -> Iterator[History]:
        with History.open(self._history) as history:
            try:
                yield history
            finally:
                if history.damage:
                    self._shared.publish(Warned(history.damage))

    def delete(self, key: str | None) -> int:
        """Delete a conversation, one answer, or for None everything; how many turns. Raises NothingFound."""
        with History.open(self._history) as history:
            what = None if key is None else history.find(key)
            if what is None and history.last() is None:
                return 0
        with History.open_for_writing(self._history) as history:
            return history.delete(what)

    def delete_numbered(self, number: int) -> int:
        """Delete the conversation of that number; how many turns. Raises NothingFound."""
        found, _ = self.numbered(number)
        with History.open_for_writing(self._history) as history:
            return history.delete(found)

    # The audit log

    def audit_reader(self) -> AuditReader:
        """A reader of the audit log, which counts the lines that it leaves out."""
        return AuditReader(self._audit)

    def audit_record(self, start: str, reader: AuditReader | None = None) -> dict[str, Any]:
        """The record of the answer whose id starts so. Raises NothingFound, or UsageError for several."""
        found = (reader or self.audit_reader()).find(start.strip()) if start.strip() else None
        if found is None:
            last = "`python query.py audit` shows the last ones."
            raise NothingFound(f"The audit log has no answer {start!r}.", last)
        return found

    def delete_audit(self) -> int:
        """Delete the whole audit log; how many files."""
        return delete_log(self._audit)

    def passage_text(self, place: Mapping[str, Any]) -> str:
        """The text of a passage of an audit record. Raises NothingFound where the library no longer has it."""
        library = self._shared.library
        paper = library.paper_by_md5(place["md5"]) if place["md5"] else None
        if paper is None:
            raise NothingFound("This paper is no longer in the library.", "Add it again.")
        for chunk in library.paper_chunks(paper.paper_id):
            if (chunk.start, chunk.end) == (place["start"], place["end"]):
                return chunk.text
        raise NothingFound("The library has the paper, and no longer this passage.", "The paper was read again since.")

    def replay(self, start: str) -> Replayed:
        """The question of an audit record asked again in the same way. Raises as `audit_record`."""
        from ragscience.engine.replay import replay

        return replay(self._shared, self.audit_record(start))
