"""Steps of work that each kind of library takes: commands with a fault or without, alone or several at once."""

from __future__ import annotations

import shutil
import time
from functools import partial

from tests.soak import faults
from tests.soak.faults import make_fault
from tests.soak.messages import strange_hits
from tests.soak.rounds import CALM, Round, is_done
from tests.soak.served import serve_and_kill


class WorkRound(Round):
    """A round whose steps are commands."""

    def _ingest(self) -> None:
        self._change_files()
        is_sync = self.dice.random() < 0.5
        before, goal = self.state.pairs, self.state.after_ingest(is_sync=is_sync)
        fault = self._fault()
        ran = self._command("ingest.py", "sync" if is_sync else "add", fault=fault)
        unread = {name for name in self.state.disk if f"/{name}: It cannot be read" in ran.err}
        without = frozenset((name, md5) for name, md5 in goal if name not in unread)
        # A paper whose file has another name now, and cannot be read there, is in the folder alone until the next run.
        self._settle(before, [without, goal], is_reached_now=is_done(ran))

    def _remove(self) -> None:
        if not self.state.held:
            return
        name = self.dice.choice(sorted(self.state.held))
        md5 = self.state.held[name]
        before = self.state.pairs
        goal = frozenset(before - {(name, md5)})
        ran = self._command("ingest.py", "remove", md5, "--yes", fault=self._fault())
        if not is_done(ran):
            self.state.unsure.add(md5)
        else:
            self.state.removed.add(md5)
        self._settle(before, [goal], is_reached_now=is_done(ran))

    def _rebuild(self) -> None:
        part = self.dice.choice([[], ["--indexes"], ["--indexes"]])
        before = self.state.pairs
        if not before:
            return
        # Files that changed since are read as they are now.
        goal = frozenset((name, self.state.disk.get(name, md5)) for name, md5 in before) if not part else before
        taken = [md5 for _, md5 in goal]
        if len(set(taken)) < len(taken) or any(md5 in self.state.removed for _, md5 in goal - before):
            return
        ran = self._command("ingest.py", "rebuild", *part, fault=self._fault())
        self._settle(before, [goal], is_reached_now=is_done(ran))

    def _graph(self) -> None:
        ran = self._command("ingest.py", "graph", fault=self._fault(), codes=[4])
        self._settle(self.state.pairs, [self.state.pairs], is_reached_now=is_done(ran))

    def _read(self) -> None:
        """Commands that read, with a fault; what they show is true."""
        question = self.dice.choice(list(self.world.truths.values())).question
        what = self.dice.choice(["search", "ask", "ask", "history"])
        for _ in range(2):
            fault, codes = self._fault(), [] if self.state.held else [4]
            if what == "ask":
                self._ask(question, fault, codes)
                continue
            words = ["search", question, "--json"] if what == "search" else ["history", "list"]
            ran = self._command("query.py", *words, fault=fault, codes=codes)
            if is_done(ran) and what == "search" and fault.kind != "small-files":
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
        start = partial(self.world.machine.command, home=self.home, environment=self.environment())
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
        self._end(ran[1], CALM, [5])
        self._end(ran[2], CALM, [4])
        if ran[2].code == 0:
            self.broken += strange_hits(ran[2].out, self.world.truths)
        if not any(map(is_done, ran[:2])) and not ran[0].was_killed:
            self.broken.append("two writers at once: both failed")
        self._settle(before, goals, is_reached_now=False)

    def _serve(self) -> None:
        """A server answers while the library is written, and is killed."""
        self._change_files()
        before, goal = self.state.pairs, self.state.after_ingest(is_sync=True)
        served = serve_and_kill(
            self.world.machine, self.home, self.environment(), self.dice, self.world.truths, self.state.answers
        )
        self.broken += served.broken
        self.told.append(served.told)
        for ran in served.ran:
            self._end(ran, CALM)
        self._settle(before, [goal], is_reached_now=served.is_synced)
