"""A question of the audit log, asked again as it was asked, and what differs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ragscience.core.errors import NothingFound, UsageError
from ragscience.core.records import Filters, StoredChunk, Turn
from ragscience.core.settings import Settings, changed_settings, deciding_settings
from ragscience.core.tokenizing import counted
from ragscience.engine.answer_record import record_for
from ragscience.engine.asking import answer_of
from ragscience.engine.question_run import QuestionRun
from ragscience.engine.requests import DECIDING_WHERE_SET, AskRequest
from ragscience.library.audit_diff import Difference, compare

if TYPE_CHECKING:
    from ragscience.engine.shared_parts import SharedParts
    from ragscience.library.store import Store

__all__ = ["Replayed", "chunk_at", "replay"]

NEVER_RESTORED = frozenset({"offline", "ollama_url", "llm_url", "embed_url"})
"""A record must not lead this program to a server or out of the machine: these are as they are today."""

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
    deciding = deciding_settings()
    kept = {
        name: value
        for name, value in before["settings"].items()
        if name not in NEVER_RESTORED and not str(value).startswith("@")  # @FILE: a record must not have files read
    }
    known = {name: value for name, value in kept.items() if name in deciding}
    found = [
        Difference("not restored", f"There is no setting {name} any more; it was {kept[name]}.")
        for name in sorted(kept.keys() - known.keys())
    ]
    found += [
        Difference("not restored", f"The record does not say what {name} was: it is as it is today.")
        for name in sorted(deciding - before["settings"].keys())
    ]
    now = today.model_dump(mode="json", include=set(known))
    found += [
        Difference("setting", f"{name} is {now[name]} today; it is asked with {known[name]}, as it was.")
        for name in sorted(known)
        if now[name] != known[name]
    ]
    unkept = {"history": False, "audit": False}
    try:
        return changed_settings(today, {**known, **_not_chosen(before), **unkept}), found
    except UsageError as problem:
        found.append(Difference("not restored", f"The settings of that answer are not allowed any more: {problem}"))
        return changed_settings(today, unkept), found


def _not_chosen(before: Record) -> dict[str, None]:
    """The settings that decide only where somebody has set them, and that nobody had set.

    Older records do not say which were set: there, those at their defaults count as not set.
    """
    chosen = before.get("chosen")
    defaults = {name: Settings.model_fields[name].default for name in DECIDING_WHERE_SET}
    if chosen is None:
        return {name: None for name, default in defaults.items() if before["settings"].get(name, default) == default}
    return {name: None for name in defaults if name not in chosen}


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
        strict=before["strict"],
        agent=before["agent"],
        plain=before.get("plain", True),  # older records are of a program without routes
    )
    return request, found


def chunk_at(place: Record, library: Store) -> StoredChunk | None:
    """The passage at that place of a record, as the library has it today."""
    paper = library.paper(md5=place["md5"]) if place["md5"] else None
    chunks = library.paper_chunks(paper.paper_id) if paper is not None else []
    return next((chunk for chunk in chunks if (chunk.start, chunk.end) == (place["start"], place["end"])), None)
