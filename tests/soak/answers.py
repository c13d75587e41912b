"""The answers that a command said were kept: as turns and as audit records, and what became of them."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragscience.core.errors import RagScienceError
from ragscience.core.serialization import to_json
from ragscience.library.history import History
from ragscience.library.store import Home

HISTORY, AUDIT = "history", "audit"
_NOT_KEPT = {
    HISTORY: ("This conversation is not kept",),
    AUDIT: ("This conversation is not kept", "This answer is not in the audit log"),
}
_WITHOUT_A_WORD = ("deleted", "truncate", "empty")
"""Damage after which nobody can know that there was more."""


def read_answers(home: Home) -> dict[str, Any]:
    """By the id of each kept turn and audit record its question, text and digest; and what is said of damage."""
    found: dict[str, Any] = {HISTORY: {}, AUDIT: {}, "said": {HISTORY: "", AUDIT: ""}}
    try:
        with History.open(home.history) as history:
            for conversation in history.conversations():
                for turn in history.turns(conversation.conversation_id):
                    answer = turn.answer
                    whole = f"{turn.created_at} {turn.conversation_id} {to_json(answer, allow_nan=True)}"
                    found[HISTORY][answer.answer_id] = answer.question, answer.text, _digest(whole)
            for record in history.audit(1 << 30):
                whole = json.dumps(record, sort_keys=True)
                found[AUDIT][record["answer_id"]] = record["question"], record["answer"], _digest(whole)
            found["said"] = dict.fromkeys((HISTORY, AUDIT), history.damage)
    except RagScienceError as error:
        found["said"] = dict.fromkeys((HISTORY, AUDIT), str(error))
    return found


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass
class Answers:
    """What was kept, by its place: the history, or the audit log."""

    held: dict[str, dict[str, str]] = field(default_factory=lambda: {HISTORY: {}, AUDIT: {}})
    """By the id of each answer that was seen there, the digest of all of it."""
    promised: dict[str, dict[str, str]] = field(default_factory=lambda: {HISTORY: {}, AUDIT: {}})
    """By the id of each answer that a command gave since, its text."""
    asked: set[str] = field(default_factory=set)
    """The questions so far."""
    hurt: dict[str, bool] = field(default_factory=dict)
    """The places that were damaged since; whether so that nobody can know what is lost."""
    said: dict[str, str] = field(default_factory=lambda: {HISTORY: "", AUDIT: ""})
    """What was last said of damage."""

    def note(self, question: str, output: str) -> None:
        """A command that ended well printed this as the JSON of an answer."""
        self.asked.add(question)
        with contextlib.suppress(ValueError):
            shown = json.loads(output)
            for place, warning in _NOT_KEPT.items():
                if not any(text.startswith(warning) for text in shown["warnings"]):
                    self.promised[place][shown["answer_id"]] = shown["answer"]

    def damaged(self, path: Path, how: str) -> None:
        """A file was damaged, as `damage` says."""
        # A damaged write-ahead log ends where its checksums do.
        silent = "-" in path.suffix or any(one in how for one in _WITHOUT_A_WORD)
        for place in (HISTORY, AUDIT):
            self.hurt[place] = self.hurt.get(place, False) or silent

    def hold_against(self, now: Mapping[str, Any]) -> list[str]:
        """What is wrong with what is there now; what is there is held from here on."""
        wrong = []
        for place in (HISTORY, AUDIT):
            found, said = now[place], now["said"][place]
            self.said[place] = said
            held, promised = self.held[place], self.promised[place]
            for answer_id, digest in held.items():
                if answer_id in found and found[answer_id][2] != digest:
                    wrong.append(f"the answer {answer_id} in the {place} is not what it was: {found[answer_id]}")
            for answer_id, text in promised.items():
                if answer_id in found and found[answer_id][1] != text:
                    wrong.append(f"the {place} has another text for the answer {answer_id}: {found[answer_id]}")
            strange = [one for one, (question, *_) in found.items() if question not in self.asked]
            wrong += [f"nobody asked for the answer {one} in the {place}: {found[one]}" for one in strange]
            lost = (held.keys() | promised.keys()) - found.keys()
            may_be_lost = place in self.hurt and (said or self.hurt[place])
            if lost and not may_be_lost:
                wrong.append(f"{len(lost)} answers are lost from the {place}, which says {said!r}: {sorted(lost)}")
            if said and place not in self.hurt:
                wrong.append(f"the {place} was not damaged and says {said!r}")
            self.held[place] = {one: digest for one, (_, _, digest) in found.items()}
            self.promised[place] = {}
        return wrong
