"""Earlier questions and answers: conversations, the audit record of each answer, and asking again."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ragscience.core.errors import NothingFound, UsageError
from ragscience.core.records import Filters, StoredChunk, Turn
from ragscience.core.settings import Settings, changed_settings, deciding_settings
from ragscience.core.tokenizing import counted
from ragscience.engine.dialogue import record_for
from ragscience.engine.events import Warned
from ragscience.engine.requests import DECIDING_WHERE_SET, AskRequest
from ragscience.library.audit import SCHEMA_VERSION as AUDIT_SCHEMA_VERSION
from ragscience.library.audit import Difference, compare
from ragscience.library.history import Conversation, History, KeptAnswer, check_name

if TYPE_CHECKING:
    from ragscience.engine.shared_parts import SharedParts
    from ragscience.library.store import Store

__all__ = ["AUDIT_SCHEMA_VERSION", "Conversation", "KeptAnswer", "Replayed", "SavedAnswers", "record_for"]

NEVER_RESTORED = frozenset({"offline", "ollama_url", "llm_url", "embed_url"})
"""A record must not lead this program to a server or out of the machine: these are as they are today."""
LAST = "last"
"""In place of the id of an answer or conversation: the last one."""
Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Replayed:
    """What came of asking again."""

    answer_id: str
    """Of the answer that was given then."""
    differences: tuple[Difference, ...]
    record: Mapping[str, Any] | None
    """Of the answer that came now; None where none did."""

    @property
    def is_same(self) -> bool:
        """Whether passages, scores, answer and verdicts are the same."""
        return not any(item.is_outcome for item in self.differences)


def replay(shared: SharedParts, before: Record) -> Replayed:
    """Ask again, under the settings of the record `before`; nothing of it is kept."""
    from ragscience.engine.asking import answer_of
    from ragscience.engine.question_run import QuestionRun

    settings, found = _settings(before, shared.settings)
    found += _papers_gone(before, shared.library)
    request, lost = _request(before, shared.library)
    found += lost
    after = None
    try:
        run = QuestionRun(shared.with_settings(settings), request)
        answer = answer_of(run, request)
        answer = replace(answer, warnings=tuple(dict.fromkeys((*answer.warnings, *run.all_warnings()))))
        after = record_for(run, answer, request, at=datetime.now(UTC).isoformat(timespec="seconds"))
    except NothingFound as problem:
        found.append(Difference("not answered", f"It cannot be asked again: {problem}"))
    found += compare(before, after) if after is not None else []
    return Replayed(before["answer_id"], tuple(found), after)


def _settings(before: Record, today: Settings) -> tuple[Settings, list[Difference]]:
    """Those of the record over those of today, and what could not be restored."""
    deciding, unkept = deciding_settings(), {"history": False, "audit": False}
    kept = {
        name: value
        for name, value in before["settings"].items()
        if name not in NEVER_RESTORED and not str(value).startswith("@")  # @FILE: a record must not have files read
    }
    known = {name: value for name, value in kept.items() if name in deciding}
    unknown = [f"There is no setting {name} any more; it was {kept[name]}." for name in sorted(kept.keys() - deciding)]
    missing = sorted(deciding - before["settings"].keys())
    unknown += [f"The record does not say what {name} was: it is as it is today." for name in missing]
    found = [Difference("not restored", text) for text in unknown]
    now = today.model_dump(mode="json", include=set(known))
    found += [
        Difference("setting", f"{name} is {now[name]} today; it is asked with {known[name]}, as it was.")
        for name in sorted(known)
        if now[name] != known[name]
    ]
    not_chosen = dict.fromkeys(DECIDING_WHERE_SET - set(before.get("chosen", ())))
    try:
        return changed_settings(today, {**known, **not_chosen, **unkept}), found
    except UsageError as problem:
        found.append(Difference("not restored", f"The settings of that answer are not allowed any more: {problem}"))
        return changed_settings(today, unkept), found


def _papers_gone(before: Record, library: Store) -> list[Difference]:
    """The papers of the record that the library does not have, or has in other bytes."""
    found = {}
    for item in before["passages"]:
        if item["md5"] in found or not item["md5"] or library.paper(md5=item["md5"]) is not None:
            continue
        is_other = library.paper(path=item["path"]) is not None
        message = "has changed: other bytes are at" if is_other else "is no longer in the library; it was"
        kind = "paper changed" if is_other else "paper gone"
        found[item["md5"]] = Difference(kind, f"{item['file']} {message} {item['path']}.")
    return list(found.values())


def _request(before: Record, library: Store) -> tuple[AskRequest, list[Difference]]:
    """How it was asked, with today's ids of the passages that earlier turns cite; and which of them are gone."""
    lost = 0
    turns = []
    for turn in before["history"]:
        chunks = [chunk_at(place, library) for place in turn["passages"]]
        turns.append(Turn(turn["question"], turn["answer"], tuple(one.chunk_id for one in chunks if one is not None)))
        lost += chunks.count(None)
    kept = {name: tuple(value) if isinstance(value, list) else value for name, value in before["filters"].items()}
    filters = Filters(**{field.name: kept[field.name] for field in fields(Filters) if field.name in kept})
    found = []
    if lost:
        passages = f"{counted(lost, 'passage')} that earlier turns cite {'is' if lost == 1 else 'are'}"
        found.append(Difference("not restored", f"{passages} gone."))
    request = AskRequest(
        before["question"],
        filters,
        tuple(turns),
        top_k=before.get("k"),
        focus=tuple(before["focus"]) if before.get("focus") else None,
        strict=before["strict"],
        agent=before["agent"],
        plain=before.get("plain", True),
    )
    return request, found


def chunk_at(place: Record, library: Store) -> StoredChunk | None:
    """The passage at that place of a record, as the library has it today."""
    paper = library.paper(md5=place["md5"]) if place["md5"] else None
    chunks = library.paper_chunks(paper.paper_id) if paper is not None else []
    return next((chunk for chunk in chunks if (chunk.start, chunk.end) == (place["start"], place["end"])), None)


class SavedAnswers:
    """Reading and deleting those of one person; `Engine.ask` writes. Each call opens the file again."""

    def __init__(self, shared: SharedParts, person: str = "") -> None:
        self._shared = shared
        self._path = shared.home.history_of(person)

    def for_person(self, name: str) -> SavedAnswers:
        """Those of a person whom the library is served to; empty: of the library's own user."""
        return SavedAnswers(self._shared, name)

    @contextmanager
    def _reading(self) -> Iterator[History]:
        with History.open(self._path) as history:
            try:
                yield history
            finally:
                if history.damage:
                    self._shared.publish(Warned(history.damage))

    def conversations(self) -> list[Conversation]:
        """All conversations, the one changed last first."""
        with self._reading() as history:
            return history.conversations()

    def conversation(self, key: str | int | None = None) -> tuple[Conversation, list[KeptAnswer]]:
        """The conversation of that name or number with its turns, or with the one answer whose id begins so.

        An int is only a conversation's number. Without a key, or for LAST, it is the last one. Raises NothingFound.
        """
        with self._reading() as history:
            found = history.last() if key in (None, LAST) else history.find(key or 0)
            if found is None:
                raise NothingFound("No conversations saved yet.", 'Ask something: python query.py "…"')
            if isinstance(found, Conversation):
                return found, history.turns(found.conversation_id)
            conversation = history.find(found.conversation_id or 0)
            assert isinstance(conversation, Conversation)  # noqa: S101 - for the type: a number finds nothing else
            return conversation, [found]

    def answer(self, answer_id: str = LAST) -> KeptAnswer:
        """The answer whose id begins with `answer_id`, or the last one. Raises NothingFound."""
        with self._reading() as history:
            kept = history.answer("" if answer_id == LAST else answer_id)
        if kept is None:
            which = "answer yet" if answer_id == LAST else f"answer {answer_id}"
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
        with History.open_for_writing(self._path) as history:
            history.rename(found.conversation_id, wanted)
        return replace(found, name=wanted)

    def delete(self, key: str | int | None) -> int:
        """Delete a conversation, one answer, or for None everything; how many turns. Raises as `conversation`.

        With everything go the interrupted runs of the agent.
        """
        if key is None:
            shutil.rmtree(self._shared.home.agent, ignore_errors=True)
        if key == LAST:
            key = self.conversation()[0].conversation_id
        with self._reading() as history:
            what = None if key is None else history.find(key)
            if what is None and history.last() is None:
                return 0
        with History.open_for_writing(self._path) as history:
            return history.delete(what)

    # Audit records

    def audit(self, limit: int) -> list[dict[str, Any]]:
        """The records of the last `limit` answers, the newest first."""
        with self._reading() as history:
            return history.audit(limit)

    def audit_record(self, start: str) -> dict[str, Any]:
        """The record of the answer whose id starts so. Raises NothingFound, or UsageError for several."""
        with self._reading() as history:
            if start == LAST:
                found = next(iter(history.audit(1)), None)
            else:
                found = history.audit_record(start.strip()) if start.strip() else None
        if found is None:
            last = "`python query.py audit` shows the last ones."
            raise NothingFound(f"The audit log has no answer {start!r}.", last)
        return found

    def delete_audit(self) -> int:
        """Delete every audit record; how many."""
        if not self._path.exists():
            return 0
        with History.open_for_writing(self._path) as history:
            return history.delete_audit()

    def passage_text(self, place: Mapping[str, Any]) -> str:
        """The text of a passage of an audit record. Raises NothingFound where the library no longer has it."""
        if not place["md5"] or self._shared.library.paper(md5=place["md5"]) is None:
            raise NothingFound("This paper is no longer in the library.", "Add it again.")
        chunk = chunk_at(place, self._shared.library)
        if chunk is None:
            reason = "The paper was read again since."
            raise NothingFound("The library has the paper, and no longer this passage.", reason)
        return chunk.text

    def replay(self, start: str) -> Replayed:
        """The question of an audit record asked again in the same way. Raises as `audit_record`."""
        return replay(self._shared, self.audit_record(start))
