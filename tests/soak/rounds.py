"""One round: some steps of work on a home of its own, each with a fault or without, and what has to hold after each.

All that a round does follows from its seed and number, but for the moments of kills by time.
"""

from __future__ import annotations

import json
import os
import random
import re
import shlex
import shutil
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import ClassVar

from tests.soak.faults import Fault, disk_fault, make_fault
from tests.soak.look import look
from tests.soak.messages import complaints, strange_hits
from tests.soak.processes import Machine, Ran
from tests.soak.shelf import NAMES, VERSIONS, Truth
from tests.soak.state import Pairs, State, between, is_reached

_FIX = re.compile(r"`((?:python (?:ingest|query)\.py|mv|rm) [^`]+)`")
CALM = Fault()


@dataclass
class World:
    """What all rounds share."""

    folder: Path
    disk: Path
    truths: Mapping[str, Truth]
    machine: Machine
    kinds: Sequence[str]
    """The kinds of faults that are possible here."""
    bases: dict[str, State] = field(default_factory=dict)
    """Homes to begin with, by the name of their folder, which begins with the kind of round."""
    counts: Counter[str] = field(default_factory=Counter)

    def base(self, name: str) -> Path:
        """Where such a home is."""
        return self.folder / "bases" / name


class Round:
    """A home, what it should hold, and what was found to be broken."""

    kind: ClassVar[str]
    modules: ClassVar[tuple[str, ...]] = ()
    """What its commands import beside the usual."""
    steps: ClassVar[Mapping[str, int]]
    """The steps of a round, each a method of the same name, and how often each comes."""

    def __init__(self, world: World, seed: int, number: int) -> None:
        self.world = world
        self.name = f"{seed}-{number}"
        self.dice = random.Random(self.name)
        self.home = world.disk / "home"
        self.broken: list[str] = []
        self.told: list[str] = []
        """What was done, for the log."""
        self._md5s = {(truth.name, truth.version): md5 for md5, truth in world.truths.items()}
        self._is_clock_wrong = False
        self._is_small = True
        """Whether each command so far had the small bounds of this process."""

    def run(self, base: str | None = None) -> None:
        """Do the round; `broken` has what was found."""
        mine = [name for name in self.world.bases if name.rpartition("-")[0] == self.kind]
        begin = base or self.dice.choice(sorted(mine))
        self._begin(begin)
        self.told.append(begin)
        steps = self.dice.choices(list(self.steps), weights=list(self.steps.values()), k=self.dice.randint(1, 3))
        for step in steps:
            self.world.counts[f"step {step}"] += 1
            getattr(self, f"_{step.replace('-', '_')}")()
            if self.broken:
                return
        self._recover()
        self._clear()

    def environment(self) -> dict[str, str]:
        """What each command is told of where the library and the papers are."""
        return {}

    def keep(self, base: str) -> None:
        """Have rounds begin with this home as it is now, by that name, and leave it."""
        shutil.copytree(self.home, self.world.base(base), symlinks=True)
        shutil.rmtree(self.home)
        self.world.bases[base] = self.state

    def _begin(self, base: str) -> None:
        """Make the home as that base is."""
        self._clear()
        shutil.copytree(self.world.base(base), self.home, symlinks=True)
        self.state = self.world.bases[base].copy()

    def _clear(self) -> None:
        for path in self.world.disk.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    # Commands

    def _fault(self, likely: float = 0.7) -> Fault:
        if self.dice.random() > likely:
            return CALM
        kind = self.dice.choice(list(self.world.kinds))
        return make_fault(kind, self.dice, self.home)

    def _command(self, script: str, *words: str, fault: Fault = CALM, codes: Sequence[int] = ()) -> Ran:
        """Run one command with the fault; `codes` may come without a failure, too."""
        is_whole = self.dice.random() < 0.005
        self._is_small &= not is_whole
        with disk_fault(fault, self.world.disk):
            environment = self.environment() | fault.environment
            running = self.world.machine.command(
                script, *words, home=self.home, environment=environment, file_bytes=fault.file_bytes, is_whole=is_whole
            )
            self._started(running.pid)
            ran = running.wait(fault.kill_after)
        self._end(ran, fault, codes)
        return ran

    def _started(self, pid: int) -> None:
        """A command has begun."""

    def _ask(self, question: str, fault: Fault = CALM, codes: Sequence[int] = ()) -> None:
        """Ask, and note the answer; it shows what is in the papers, and nothing else."""
        answers = self.state.answers
        answers.asked.add(question)
        is_kept = (self.home / "vectorstore").is_dir()
        ran = self._command("query.py", "ask", question, "--json", fault=fault, codes=codes)
        # Python itself ends with 0 where a short write cuts stdout.
        if is_done(ran) and fault.kind != "small-files":
            self.broken += strange_hits(ran.out, self.world.truths)
            if is_kept:
                answers.note(question, ran.out)

    def _end(self, ran: Ran, fault: Fault, codes: Sequence[int] = ()) -> None:
        self._is_clock_wrong |= fault.kind == "clock"
        may_fail = fault.may_fail or ran.code in codes
        is_whole_end = ran.code == 0 and not ran.was_killed
        self.world.counts[f"fault {fault.kind}: {'no effect' if is_whole_end else 'failed or killed'}"] += 1
        self.told.append(f"{ran.what} [{fault}] -> {ran.code}")
        self.broken += complaints(ran, may_fail=may_fail, may_be_killed=fault.kind.endswith(("kill", "torn")))

    def _look(
        self, *, may_be_damaged: bool = False, is_deep: bool = True, place: Mapping[str, str] | None = None
    ) -> tuple[Pairs, str, list[tuple[str, ...]]]:
        """What the library holds, why it refuses, and what `doctor` finds; what is broken is noted.

        `place` is the environment of another library of this home.
        """
        act = partial(look, self.home, self.world.truths, self.name, may_be_damaged=may_be_damaged, is_deep=is_deep)
        ran = self.world.machine.forked("look", act, environment=place or self.environment()).wait()
        if ran.code or ran.is_hung:
            self.broken.append(f"looking at the library failed with {ran.code}: {ran.err[-4000:]}")
            return frozenset(), "", []
        report = json.loads(ran.out)
        self.broken += report["broken"] + self.state.answers.hold_against(report["answers"])
        if not may_be_damaged:
            self.broken += [f"damage without a fault: {text}" for text in report["damage"]]
            self.broken += [f"doctor, without a fault: {one}" for one in report["findings"]]
            self.broken += [f"refused without a fault: {report['error']}"] if report["error"] else []
        said = report["error"] or " ".join(report["damage"])
        return frozenset(map(tuple, report["held"])), said, report["findings"]

    def _settle(self, before: Pairs, goals: Sequence[Pairs], *, is_reached_now: bool) -> None:
        """Look at a library after a change from `before` towards the goals, and keep what it holds."""
        if self.broken:
            return
        now, _, _ = self._look(is_deep=is_reached_now or self.dice.random() < 0.6)
        unsure = self.state.unsure
        if is_reached_now:
            self.broken += is_reached(goals[-1], now, unsure)
        else:
            self.broken += between(before, goals, now, unsure)
        self.state.held = dict(now)

    # Files

    def _change_files(self) -> None:
        """Add, change, rename, swap or delete files of papers/, some with strange times."""
        disk, dice = self.state.disk, self.dice
        for _ in range(dice.randint(1, 4)):
            how = dice.choice(["add", "add", "add", "change", "change", "rename", "swap", "delete"])
            names = sorted(disk)
            if how == "add" or not names:
                free = [
                    name
                    for name in NAMES
                    if not {self._md5s[name, number] for number in range(VERSIONS)} & set(disk.values())
                ]
                if not free:
                    continue
                paper = dice.choice(free)
                self._put(f"{paper}.pdf" if f"{paper}.pdf" not in disk else f"{paper}-{len(disk)}.pdf", paper)
            elif how == "change":
                name = dice.choice(names)
                self._put(name, self.world.truths[disk[name]].name)
            elif how in ("rename", "delete") and not self.may_leave(name := dice.choice(names)):
                continue
            elif how == "rename":
                new = f"{name.removesuffix('.pdf')[:20]}-{dice.randrange(100)}.pdf"
                if new not in disk:
                    self.rename_file(name, new)
                    disk[new] = disk.pop(name)
            elif how == "swap" and len(names) > 1:
                one, other = dice.sample(names, 2)
                for old, new in ((one, "swapped"), (other, one), ("swapped", other)):
                    self.rename_file(old, new)
                disk[one], disk[other] = disk[other], disk[one]
            elif how == "delete":
                self.delete_file(name)
                del disk[name]

    def _put(self, name: str, paper: str) -> None:
        """Write a version of the paper to a file, sometimes with a time in the past or the future."""
        taken = set(self.state.disk.values())
        versions = [number for number in range(VERSIONS) if self._md5s[paper, number] not in taken]
        md5 = self._md5s[paper, self.dice.choice(versions)]
        self.write_file(name, self.world.truths[md5].file)
        self.state.disk[name] = md5

    def write_file(self, name: str, source: Path) -> None:
        """Put a paper's file where papers are, sometimes with a time in the past or the future."""
        target = self.home / "papers" / name
        shutil.copyfile(source, target)
        if self.dice.random() < 0.3:
            shift = self.dice.choice([0, time.time() - 10**9, time.time() + 10**8, 4 * 10**9])
            os.utime(target, (shift, shift))

    def may_leave(self, name: str) -> bool:
        """Whether a file may leave its place."""
        return True

    def rename_file(self, name: str, new: str) -> None:
        """Give a paper's file another name."""
        (self.home / "papers" / name).rename(self.home / "papers" / new)

    def delete_file(self, name: str) -> None:
        """Delete a paper's file."""
        (self.home / "papers" / name).unlink()

    # The end

    def _recover(self) -> None:
        """An undisturbed run makes all of it what is on disk."""
        if self.broken:
            return
        self._command("ingest.py", "sync")
        self._settle(self.state.pairs, [self.state.after_ingest(is_sync=True)], is_reached_now=True)
        here = set(self.state.held.values())
        self.state.removed |= {md5 for md5 in self.state.unsure if md5 not in here}
        self.state.unsure = set()


def is_done(ran: Ran) -> bool:
    """Whether it ended well, and by itself."""
    return ran.code == 0 and not ran.was_killed


def fixes_named(findings: Sequence[Sequence[str]], said: str) -> list[list[str]]:
    """The commands that the program names, each once: script and words."""
    texts = [said, *(one[2] for one in findings)]
    named = dict.fromkeys(command for text in texts for command in _FIX.findall(text))
    return [shlex.split(command) for command in named if "fetch" not in command]
