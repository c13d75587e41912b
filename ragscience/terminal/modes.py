"""The ways to ask that `query.py eval` can measure and compare, by name."""

from __future__ import annotations

from dataclasses import dataclass

from ragscience.errors import UsageError
from ragscience.evaluation.eval_run import Asker
from ragscience.records import Filters
from ragscience.retrieval import PROFILE_NAMES
from ragscience.terminal.session import Session

__all__ = ["ASK", "WAYS", "Mode", "asker", "mode_named", "modes_of"]

WAYS = ("ask", "agent", "corrective", "graph")


@dataclass(frozen=True, slots=True)
class Mode:
    """How a question is asked."""

    name: str
    """As it was given."""
    way: str
    """One of WAYS: `ask` as the settings and the profile say, `ask --agent`, `ask --corrective` or
    `ask --graph`."""
    profile: str | None
    """The profile that it searches with; None for the usual one."""


ASK = Mode("ask", "ask", None)


def mode_named(name: str) -> Mode:
    """The mode of a name: a way ("agent"), a profile ("deep": plain `ask` with it), or both ("agent+deep").

    Raises UsageError where it is neither, or names two of a kind.
    """
    parts = [part.strip() for part in name.split("+")]
    ways = [part for part in parts if part in WAYS]
    profiles = [part for part in parts if part in PROFILE_NAMES]
    unknown = [part for part in parts if part not in ways and part not in profiles]
    if unknown or len(ways) > 1 or len(profiles) > 1:
        raise UsageError(
            f"{name!r} is no mode.",
            f"Take one of {', '.join(WAYS)}, a profile ({', '.join(PROFILE_NAMES)}), or both: agent+rrf.",
        )
    return Mode(name, ways[0] if ways else "ask", profiles[0] if profiles else None)


def modes_of(mode: str, against: str | None) -> tuple[Mode, ...]:
    """The mode to measure, and the one to compare it with, if any. Raises UsageError where both are the same."""
    modes = tuple(mode_named(name) for name in (mode, against) if name is not None)
    if len({(each.way, each.profile) for each in modes}) < len(modes):
        raise UsageError(f"{mode!r} cannot be compared with itself.", "Name another mode with --against.")
    return modes


def asker(session: Session, mode: Mode, filters: Filters) -> Asker:
    """What answers a question in this mode, with its history and none kept."""
    if mode.way == "agent":
        return lambda known: session.answer_by_agent(known.question, history=known.history, filters=filters)
    corrective = True if mode.way == "corrective" else None
    return lambda known: session.answer(known.question, history=known.history, filters=filters, corrective=corrective)
