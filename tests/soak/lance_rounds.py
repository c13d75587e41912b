"""Rounds on a library in LanceDB: copies of it, and two homes that write it.

Its files are not damaged: Lance keeps no checksums of its pages.
"""

from __future__ import annotations

import shutil
import time
from functools import partial
from typing import ClassVar

from tests.soak.faults import make_fault
from tests.soak.mending import MendingRound
from tests.soak.rounds import CALM


class LanceRound(MendingRound):
    """A round whose library lies in LanceDB's tables, in the folder `lance` of the home."""

    kind = "lance"
    modules = ("lancedb", "pyarrow.compute", "ragscience.library.lance_store")
    steps: ClassVar = {
        "ingest": 26,
        "remove": 8,
        "rebuild": 5,
        "graph": 3,
        "read": 12,
        "copy": 4,
        "two-writers": 5,
        "two-homes": 8,
        "serve": 3,
    }

    def environment(self) -> dict[str, str]:
        """The library's place, which moves with the home."""
        return {"RAG_LIBRARY": f"lance://{self.home / 'lance'}"}

    def _two_homes(self) -> None:
        """Two homes with the same papers write the same library at once; each change is made whole."""
        self._change_files()
        before, second = self.state.pairs, self.world.disk / "second"
        goals = [self.state.after_ingest(is_sync=is_sync) for is_sync in (False, True)]
        shutil.copytree(self.home / "papers", second / "papers")
        start = partial(self.world.machine.command, environment=self.environment())
        fault = make_fault(self.dice.choice(["none", "none", "kill-by-time"]), self.dice, self.home)
        first = start("ingest.py", self.dice.choice(["add", "sync"]), home=self.home)
        time.sleep(self.dice.random() / 10)
        other = start("ingest.py", self.dice.choice(["add", "sync"]), home=second)
        ran = [first.wait(fault.kill_after), other.wait()]
        shutil.rmtree(second)
        self._end(ran[0], fault, [1, 5])
        self._end(ran[1], CALM, [1, 5])
        self._settle(before, goals, is_reached_now=False)
