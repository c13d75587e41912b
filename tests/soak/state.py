"""What was committed, kept outside of the library: which papers it may, and which it has to hold."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, field

from tests.soak.answers import Answers

Pairs = frozenset[tuple[str, str]]
"""File names, each with an MD5."""


@dataclass
class State:
    """What is on disk, and what is in the library."""

    disk: dict[str, str] = field(default_factory=dict)
    """The MD5 of each file of papers/."""
    held: dict[str, str] = field(default_factory=dict)
    """The MD5 of each paper of the library, by its file's name."""
    removed: set[str] = field(default_factory=set)
    """MD5s that were removed and are left out."""
    unsure: set[str] = field(default_factory=set)
    """MD5s of which it is not known whether they are left out: what noted them was disturbed."""
    answers: Answers = field(default_factory=Answers)
    """The answers that were kept."""

    def copy(self) -> State:
        """The same, apart from this."""
        return deepcopy(self)

    def after_ingest(self, *, is_sync: bool) -> Pairs:
        """What the library holds after an undisturbed run; those of `unsure` may be missing."""
        goal = {name: md5 for name, md5 in self.disk.items() if md5 not in self.removed or md5 in self.held.values()}
        for name, md5 in self.held.items():
            # Of a file that is gone until a sync; of one whose new bytes are left out.
            if name not in goal and md5 not in goal.values() and (not is_sync or name in self.disk):
                goal[name] = md5
        return frozenset(goal.items())

    @property
    def pairs(self) -> Pairs:
        """What the library holds."""
        return frozenset(self.held.items())


def between(before: Pairs, goals: Iterable[Pairs], now: Pairs, unsure: Iterable[str] = ()) -> list[str]:
    """What is wrong with a library that was on the way from `before` to one of the `goals`, or to all of them."""
    goals = list(goals)
    everything = before.union(*goals)
    wrong = [f"{name} ({md5}) belongs to no state on the way" for name, md5 in sorted(now - everything)]
    stays = {md5 for _, md5 in before}.intersection(*({md5 for _, md5 in goal} for goal in goals))
    kept = {md5 for _, md5 in now}
    lost = stays - kept - set(unsure)
    wrong += [f"the paper {name} ({md5}) was committed and is lost" for name, md5 in sorted(before) if md5 in lost]
    for name, md5 in sorted(before):
        later = {new for goal in goals for file, new in goal if file == name}
        # A new version takes the old one's place in one step. One that came from elsewhere may come in two.
        fresh = later - {old for _, old in before}
        if (
            md5 not in kept
            and md5 not in stays
            and fresh
            and not fresh & kept
            and all(any(file == name for file, _ in goal) for goal in goals)
        ):
            wrong.append(f"the paper {name} lost its old version ({md5}) and has no new one")
    names = [name for name, _ in now]
    wrong += [f"{name} is there twice" for name in sorted(set(names)) if names.count(name) > 1]
    return wrong


def is_reached(goal: Pairs, now: Pairs, unsure: Iterable[str]) -> list[str]:
    """What an undisturbed run should have done and has not.

    Where bytes may be left out that have come in a paper's place, the paper may stay.
    """
    free = {(name, md5) for name, md5 in goal if md5 in set(unsure)}
    missing = goal - now - free
    extra = {(name, md5) for name, md5 in now - goal if name not in dict(free)}
    return [f"{name} ({md5}) is not in the library" for name, md5 in sorted(missing)] + [
        f"{name} ({md5}) should not be in the library" for name, md5 in sorted(extra)
    ]
