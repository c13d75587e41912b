"""`query.py audit ID --replay`: the question is asked again as it was asked, and what differs is said."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from rich.text import Text

from ragscience.audit import SCHEMA_VERSION, Difference, Request, compare
from ragscience.errors import NothingFound, UsageError
from ragscience.json_output import print_json
from ragscience.records import Filters, Turn
from ragscience.settings import deciding_settings
from ragscience.store import Home, Library
from ragscience.terminal.ask_command import console
from ragscience.terminal.audit_view import kept_record
from ragscience.terminal.auditing import record_for
from ragscience.terminal.plain import plain
from ragscience.terminal.session import Session

if TYPE_CHECKING:
    from ragscience.settings import Settings

__all__ = ["DIFFERENT", "replay"]

DIFFERENT = 6
"""The exit code where another answer came, or the same from other passages."""
NEVER_RESTORED = frozenset({"offline", "ollama_url"})
"""A record must not lead this program to a server or out of the machine: these are as they are today."""

Record = Mapping[str, Any]


def replay(home: Home, start: str, *, settings_with: Callable[..., Settings], quiet: bool, as_json: bool) -> int:
    """Ask again what the answer was that begins with `start`; 0 where the outcome is the same, else DIFFERENT.

    `settings_with` gives the settings of today with some of them replaced. Nothing of a replay is kept.
    """
    before = kept_record(home, start)
    settings, found = _settings(before, settings_with)
    with Session(settings, quiet=quiet, wanted=before.get("k")) as session:
        found += _papers_gone(before, session.library)
        request, lost = _request(before, session.library)
        found += lost
        try:
            after = _again(session, before, request)
        except NothingFound as problem:
            after = None
            found.append(Difference("not answered", f"It cannot be asked any more: {problem}"))
    found += compare(before, after) if after is not None else []
    is_same = not any(item.is_outcome for item in found)
    if as_json:
        value = {
            "schema": SCHEMA_VERSION,
            "answer_id": before["answer_id"],
            "same": is_same,
            "differences": [{"kind": item.kind, "outcome": item.is_outcome, "said": item.said} for item in found],
            "replayed": after,
        }
        print_json(value)
    else:
        _view(found, is_same=is_same)
    return 0 if is_same else DIFFERENT


def _again(session: Session, before: Record, request: Request) -> dict[str, Any]:
    ask = session.answer_by_agent if request.agent else session.answer
    answer = ask(before["question"], history=request.history, filters=request.filters, strict=request.strict)
    for notice in (*answer.found.notices, *answer.notices):
        session.notice(notice)
    return record_for(session, answer, request, at=datetime.now(UTC).isoformat(timespec="seconds"))


def _settings(before: Record, settings_with: Callable[..., Settings]) -> tuple[Settings, list[Difference]]:
    """Those of the record over those of today, and what could not be restored."""
    today, deciding = settings_with(), deciding_settings()
    kept = {name: value for name, value in before["settings"].items() if name not in NEVER_RESTORED}
    known = {name: value for name, value in kept.items() if name in deciding}
    said = [
        Difference("not restored", f"There is no setting {name} any more; it was {kept[name]}.")
        for name in sorted(kept.keys() - known.keys())
    ]
    said += [
        Difference("not restored", f"The record does not say what {name} was: it is as it is today.")
        for name in sorted(deciding - before["settings"].keys())
    ]
    now = today.model_dump(mode="json", include=set(known))
    said += [
        Difference("setting", f"{name} is {now[name]} today; it is asked with {known[name]}, as it was.")
        for name in sorted(known)
        if now[name] != known[name]
    ]
    try:
        settings = settings_with(**known, history=False, audit=False)
    except UsageError as problem:
        said.append(Difference("not restored", f"The settings of that answer are not allowed any more: {problem}"))
        settings = settings_with(history=False, audit=False)
    return settings, said


def _papers_gone(before: Record, library: Library) -> list[Difference]:
    """The papers of the record that the library does not have, or has in other bytes."""
    found = {}
    for item in before["passages"]:
        if item["md5"] in found or not item["md5"] or library.paper_by_md5(item["md5"]) is not None:
            continue
        is_other = library.paper_by_path(item["path"]) is not None
        said = "has changed: other bytes are at" if is_other else "is no longer in the library; it was"
        found[item["md5"]] = Difference(
            "paper changed" if is_other else "paper gone", f"{item['file']} {said} {item['path']}."
        )
    return list(found.values())


def _request(before: Record, library: Library) -> tuple[Request, list[Difference]]:
    """How it was asked, with today's ids of the passages that earlier turns cite; and which of them are gone."""
    lost = 0
    turns = []
    for turn in before["history"]:
        ids = [_chunk_id(place, library) for place in turn["passages"]]
        turns.append(Turn(turn["question"], turn["answer"], tuple(found for found in ids if found is not None)))
        lost += ids.count(None)
    kept = {name: tuple(value) if isinstance(value, list) else value for name, value in before["filters"].items()}
    filters = Filters(**{field.name: kept[field.name] for field in fields(Filters) if field.name in kept})
    said = []
    if lost:
        passages = "1 passage" if lost == 1 else f"{lost} passages"
        said.append(
            Difference("not restored", f"{passages} that earlier turns cite {'is' if lost == 1 else 'are'} gone.")
        )
    return Request(filters, tuple(turns), strict=before["strict"], agent=before["agent"]), said


def _chunk_id(place: Record, library: Library) -> int | None:
    """The passage at that place, as the library numbers it today."""
    paper = library.paper_by_md5(place["md5"])
    chunks = library.paper_chunks(paper.paper_id) if paper is not None else []
    here = (chunk.chunk_id for chunk in chunks if (chunk.start, chunk.end) == (place["start"], place["end"]))
    return next(here, None)


def _view(found: list[Difference], *, is_same: bool) -> None:
    out = console()
    for item in found:
        colour = "yellow" if item.is_outcome else "dim"
        out.print(Text(f"{item.kind}: {' '.join(plain(item.said).split())}", colour), soft_wrap=True)
    if is_same:
        out.print(
            "The same: passages, scores, answer and verdicts." + (" What is above changed nothing." if found else "")
        )
    else:
        out.print("Not the same.")
