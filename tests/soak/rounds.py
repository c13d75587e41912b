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
import subprocess
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.soak import faults
from tests.soak.faults import Fault, damage, disk_fault, files_of, kind_of, make_fault
from tests.soak.look import look
from tests.soak.messages import complaints, strange_hits
from tests.soak.processes import Machine, Ran
from tests.soak.served import serve_and_kill
from tests.soak.shelf import NAMES, VERSIONS, Truth
from tests.soak.state import Pairs, State, between, is_reached

STEPS = {
    "ingest": 30,
    "remove": 8,
    "rebuild": 4,
    "graph": 3,
    "read": 14,
    "copy": 5,
    "two-writers": 6,
    "damage": 16,
    "older": 5,
    "serve": 4,
}
"""The steps of a round, and how often each comes."""
_FIX = re.compile(r"`((?:python (?:ingest|query)\.py|mv|rm) [^`]+)`")
_CALM = Fault()


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
    """Homes to begin with, by the name of their folder."""
    counts: Counter[str] = field(default_factory=Counter)

    def base(self, name: str) -> Path:
        """Where such a home is."""
        return self.folder / "bases" / name


class Round:
    """A home, what it should hold, and what was found to be broken."""

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

    def run(self, base: str | None = None) -> None:
        """Do the round; `broken` has what was found."""
        begin = base or self.dice.choice(sorted(self.world.bases))
        self._clear()
        shutil.copytree(self.world.base(begin), self.home)
        known = self.world.bases[begin]
        self.state = State(dict(known.disk), dict(known.held), set(known.removed))
        self.told.append(begin)
        steps = self.dice.choices(list(STEPS), weights=list(STEPS.values()), k=self.dice.randint(1, 3))
        for step in steps:
            self.world.counts[f"step {step}"] += 1
            getattr(self, f"_{step.replace('-', '_')}")()
            if self.broken:
                return
        self._recover()
        self._clear()

    def _clear(self) -> None:
        for path in self.world.disk.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    # Commands

    def _fault(self, likely: float = 0.7) -> Fault:
        if self.dice.random() > likely:
            return _CALM
        kind = self.dice.choice(list(self.world.kinds))
        return make_fault(kind, self.dice, self.home)

    def _command(self, script: str, *words: str, fault: Fault = _CALM, codes: Sequence[int] = ()) -> Ran:
        """Run one command with the fault; `codes` may come without a failure, too."""
        is_whole = self.dice.random() < 0.005
        with disk_fault(fault, self.world.disk):
            running = self.world.machine.command(
                script, *words, home=self.home, fault=fault.environment, file_bytes=fault.file_bytes, is_whole=is_whole
            )
            ran = running.wait(fault.kill_after)
        self._end(ran, fault, codes)
        return ran

    def _end(self, ran: Ran, fault: Fault, codes: Sequence[int] = ()) -> None:
        self._is_clock_wrong |= fault.kind == "clock"
        may_fail = fault.may_fail or ran.code in codes
        is_whole_end = ran.code == 0 and not ran.was_killed
        self.world.counts[f"fault {fault.kind}: {'no effect' if is_whole_end else 'failed or killed'}"] += 1
        self.told.append(f"{ran.what} [{fault}] -> {ran.code}")
        self.broken += complaints(ran, may_fail=may_fail, may_be_killed=fault.kind in ("kill", "torn"))

    def _look(self, *, may_be_damaged: bool = False, is_deep: bool = True) -> tuple[Pairs, str, list[tuple[str, ...]]]:
        """What the library holds, why it refuses, and what `doctor` finds; what is broken is noted."""
        act = partial(look, self.home, self.world.truths, self.name, may_be_damaged=may_be_damaged, is_deep=is_deep)
        ran = self.world.machine.forked("look", act).wait()
        if ran.code or ran.is_hung:
            self.broken.append(f"looking at the library failed with {ran.code}: {ran.err[-4000:]}")
            return frozenset(), "", []
        report = json.loads(ran.out)
        self.broken += report["broken"]
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

    # Steps

    def _change_files(self) -> None:
        """Add, change, rename, swap or delete files of papers/, some with strange times."""
        disk, dice, papers = self.state.disk, self.dice, self.home / "papers"
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
            elif how == "rename":
                name = dice.choice(names)
                new = f"{name.removesuffix('.pdf')[:20]}-{dice.randrange(100)}.pdf"
                if new not in disk:
                    (papers / name).rename(papers / new)
                    disk[new] = disk.pop(name)
            elif how == "swap" and len(names) > 1:
                one, other = dice.sample(names, 2)
                (papers / one).rename(papers / "swapped")
                (papers / other).rename(papers / one)
                (papers / "swapped").rename(papers / other)
                disk[one], disk[other] = disk[other], disk[one]
            elif how == "delete":
                name = dice.choice(names)
                (papers / name).unlink()
                del disk[name]

    def _put(self, name: str, paper: str) -> None:
        """Write a version of the paper to a file, sometimes with a time in the past or the future."""
        taken = set(self.state.disk.values())
        versions = [number for number in range(VERSIONS) if self._md5s[paper, number] not in taken]
        md5 = self._md5s[paper, self.dice.choice(versions)]
        target = self.home / "papers" / name
        shutil.copyfile(self.world.truths[md5].file, target)
        self.state.disk[name] = md5
        if self.dice.random() < 0.3:
            shift = self.dice.choice([0, time.time() - 10**9, time.time() + 10**8, 4 * 10**9])
            os.utime(target, (shift, shift))

    def _ingest(self) -> None:
        self._change_files()
        is_sync = self.dice.random() < 0.5
        before, goal = self.state.pairs, self.state.after_ingest(is_sync=is_sync)
        fault = self._fault()
        ran = self._command("ingest.py", "sync" if is_sync else "add", fault=fault)
        self._settle(before, [goal], is_reached_now=self._is_done(ran))

    def _is_done(self, ran: Ran) -> bool:
        return ran.code == 0 and not ran.was_killed

    def _remove(self) -> None:
        if not self.state.held:
            return
        name = self.dice.choice(sorted(self.state.held))
        md5 = self.state.held[name]
        before = self.state.pairs
        goal = frozenset(before - {(name, md5)})
        forget = ["--forget"] if self.dice.random() < 0.3 else []
        ran = self._command("ingest.py", "remove", md5, "--yes", *forget, fault=self._fault())
        if not self._is_done(ran):
            self.state.unsure.add(md5)
        elif not forget:
            self.state.removed.add(md5)
        self._settle(before, [goal], is_reached_now=self._is_done(ran))

    def _rebuild(self) -> None:
        part = self.dice.choice([[], ["--indexes"], ["--indexes"], ["--tokens"]])
        before = self.state.pairs
        if not before:
            return
        # Files that changed since are read as they are now.
        goal = frozenset((name, self.state.disk.get(name, md5)) for name, md5 in before) if not part else before
        taken = [md5 for _, md5 in goal]
        if len(set(taken)) < len(taken) or any(md5 in self.state.removed for _, md5 in goal - before):
            return
        ran = self._command("ingest.py", "rebuild", *part, fault=self._fault())
        self._settle(before, [goal], is_reached_now=self._is_done(ran))

    def _graph(self) -> None:
        ran = self._command("ingest.py", "graph", fault=self._fault(), codes=[4])
        self._settle(self.state.pairs, [self.state.pairs], is_reached_now=self._is_done(ran))

    def _read(self) -> None:
        """Commands that read, with a fault; what they show is true."""
        question = self.dice.choice(list(self.world.truths.values())).question
        words = self.dice.choice(
            [
                ["search", question, "--json"],
                ["ask", question, "--json"],
                ["ask", question, "--json"],
                ["history", "list"],
            ]
        )
        for _ in range(2):
            fault = self._fault()
            ran = self._command("query.py", *words, fault=fault, codes=[] if self.state.held else [4])
            # Python itself ends with 0 where a short write cuts stdout.
            if self._is_done(ran) and "--json" in words and fault.kind != "small-files":
                self.broken += strange_hits(ran.out, self.world.truths)
        self._settle(self.state.pairs, [self.state.pairs], is_reached_now=False)

    def _copy(self) -> None:
        """Copy the home, and go on in the copy."""
        copy = self.world.disk / "copy"
        faults.copy_home(self.home, copy)
        shutil.rmtree(self.home)
        if self.dice.random() < 0.5:
            copy.rename(self.home)
        else:
            self.home = copy
        self.told.append("copy")
        self._settle(self.state.pairs, [self.state.pairs], is_reached_now=False)
        if self.home == copy:
            copy.rename(self.world.disk / "home")
            self.home = self.world.disk / "home"

    def _two_writers(self) -> None:
        """Two commands that write and one that reads, at once."""
        self._change_files()
        before = self.state.pairs
        goals = [self.state.after_ingest(is_sync=False), self.state.after_ingest(is_sync=True)]
        start = partial(self.world.machine.command, home=self.home)
        question = self.dice.choice(list(self.world.truths.values())).question
        fault = make_fault(self.dice.choice(["none", "kill-by-time"]), self.dice, self.home)
        running = [start("ingest.py", "add")]
        time.sleep(self.dice.random() / 20)
        running += [
            start("ingest.py", self.dice.choice(["add", "sync"])),
            start("query.py", "search", question, "--json"),
        ]
        ran = [running[0].wait(fault.kill_after), *(one.wait() for one in running[1:])]
        self._end(ran[0], fault, [5])
        self._end(ran[1], _CALM, [5])
        self._end(ran[2], _CALM, [4])
        if ran[2].code == 0:
            self.broken += strange_hits(ran[2].out, self.world.truths)
        if not any(map(self._is_done, ran[:2])) and not ran[0].was_killed:
            self.broken.append("two writers at once: both failed")
        self._settle(before, goals, is_reached_now=False)

    def _serve(self) -> None:
        """A server answers while the library is written, and is killed."""
        self._change_files()
        before, goal = self.state.pairs, self.state.after_ingest(is_sync=True)
        served = serve_and_kill(self.world.machine, self.home, self.dice, self.world.truths)
        self.broken += served.broken
        self.told.append(served.told)
        for ran in served.ran:
            self._end(ran, _CALM)
        self._settle(before, [goal], is_reached_now=served.is_synced)

    # Damage at rest

    def _older(self) -> None:
        """Put back older caches, the older database alone, as from a backup of it, or both; then work goes on."""
        store, backup = self.home / "vectorstore", self.world.disk / "backup"
        if not self.state.held:
            return
        kept = State(dict(self.state.disk), dict(self.state.held), set(self.state.removed), set(self.state.unsure))
        shutil.copytree(store, backup)
        for _ in range(self.dice.randint(1, 2)):
            self._change_files()
            self._command("ingest.py", "sync")
            self._settle(self.state.pairs, [self.state.after_ingest(is_sync=True)], is_reached_now=True)
        what = self.dice.choice(["caches", "database", "both"])
        self.told.append(f"older {what}")
        self.world.counts[f"older {what}"] += 1
        if what != "caches":
            self.state.held, self.state.removed, self.state.unsure = kept.held, kept.removed, kept.unsure
            for log in store.glob("library.sqlite-*"):
                log.unlink()
        for path in sorted(path for path in backup.rglob("*") if path.is_file()):
            target = store / path.relative_to(backup)
            is_cache = kind_of(target, self.home) == "cache" and ".lock" not in path.name
            is_database = path.name in ("library.sqlite", "library.sqlite-wal")
            if what == "both" or (what == "caches" and is_cache) or (what == "database" and is_database):
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, target)
        shutil.rmtree(backup)
        if self.dice.random() < 0.5:
            self._settle(self.state.pairs, [self.state.pairs], is_reached_now=False)
        self._change_files()
        self._command("ingest.py", "sync")
        self._settle(self.state.pairs, [self.state.after_ingest(is_sync=True)], is_reached_now=True)

    def _damage(self) -> None:
        """Damage one to three files between two commands, and mend it as the program says."""
        files = files_of(self.home)
        if not files:
            return
        dice, kinds = self.dice, set()
        for path in dice.sample(files, min(len(files), dice.randint(1, 3))):
            kinds.add(kind_of(path, self.home))
            self.told.append(damage(path, dice))
        self._mend(kinds)

    def _mend(self, kinds: set[str]) -> None:
        for kind in sorted(kinds):
            self.world.counts[f"damaged {kind}"] += 1
        if not kinds & {"database", "log"}:
            self._mend_caches(kinds)
            return
        before = self.state.pairs
        now, said, findings = self._look(may_be_damaged=True)
        lost = {md5 for _, md5 in before} - {md5 for _, md5 in now}
        if lost and not said and not findings and "log" not in kinds:
            self.broken.append(f"{len(lost)} papers are gone with the damage, and nothing is said of it")
        self._reading_of_damaged()
        for _ in range(5):
            fixes = _fixes(findings, said)
            if not fixes or self.broken:
                break
            for words in fixes:
                self._fix(words)
            now, said, findings = self._look(may_be_damaged=True)
        self.broken += [f"it stays damaged: {said} {findings}"] if said or findings else []
        # What was removed, and papers whose files are gone, may be forgotten with a database.
        self.state.unsure |= self.state.removed
        self.state.removed = set()
        self.state.held = dict(now)
        self._recover()

    def _mend_caches(self, kinds: set[str]) -> None:
        """Whatever lies beside the database may be lost at any time."""
        self._reading_of_damaged()
        may_be_damaged = bool(kinds & {"tokens", "answers"})
        now, said, findings = self._look(may_be_damaged=may_be_damaged)
        self.broken += is_reached(self.state.pairs, now, ())
        if may_be_damaged and (said or findings):
            for words in _fixes(findings, said):
                self._fix(words)
            self._settle(self.state.pairs, [self.state.pairs], is_reached_now=True)

    def _fix(self, words: Sequence[str]) -> None:
        """Do what the program named as a fix."""
        if words[0] != "python":
            subprocess.run(words, check=False)
            return
        self._command(*words[1:], codes=[1, 3, 4])

    def _reading_of_damaged(self) -> None:
        """What commands show of a damaged library is true, and how they fail is clear."""
        question = self.dice.choice(list(self.world.truths.values())).question
        for words in (["query.py", "search", question, "--json"], ["query.py", "ask", question, "--json"]):
            if self.dice.random() < 0.6:
                ran = self._command(*words, codes=[1, 4, 5])
                if self._is_done(ran):
                    self.broken += strange_hits(ran.out, self.world.truths)
        if self.dice.random() < 0.3:
            self._command("ingest.py", "list", codes=[1])

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


def _fixes(findings: Sequence[Sequence[str]], said: str) -> list[list[str]]:
    """The commands that the program names, each once: script and words."""
    texts = [said, *(one[2] for one in findings)]
    named = dict.fromkeys(command for text in texts for command in _FIX.findall(text))
    return [shlex.split(command) for command in named if "fetch" not in command]
