"""Rounds with a bucket of S3 whose server fails while a command runs."""

from __future__ import annotations

import atexit
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from tests.soak.bucket_server import BucketServer
from tests.soak.faults import Fault
from tests.soak.processes import Ran
from tests.soak.rounds import CALM
from tests.soak.work_rounds import WorkRound

_SERVER: list[BucketServer] = []


def server() -> BucketServer:
    """The one that all rounds use; it is started once."""
    if not _SERVER:
        _SERVER.append(BucketServer())
        atexit.register(_SERVER[0].close)
    return _SERVER[0]


class ServedRound(WorkRound):
    """A round whose commands may meet a fault of the server, a fault of their own, or both."""

    server_faults: ClassVar[Sequence[tuple[str, str, int]]]
    """Requests that hold the first text, what becomes of them, and how many; 1,000 are all of a command.

    "kill" and "lost" are of one of the requests, drawn for each command.
    """

    def _command(self, script: str, *words: str, fault: Fault = CALM, codes: Sequence[int] = ()) -> Ran:
        if fault is not CALM and self.dice.random() < 0.7:
            part, how, times = self.dice.choice(self.server_faults)
            self.world.counts[f"server {how}"] += 1
            kind = "kill" if how == "kill" else fault.kind
            how = f"{how} {int(2 ** self.dice.uniform(0, 7))}" if how in ("kill", "lost") else how
            server().tell("spoil", part, how, times)
            self.told.append(f"{part}: {how} x{times}")
            fault = replace(fault if self.dice.random() < 0.3 else Fault(), kind=f"server {kind}")
        ran = super()._command(script, *words, fault=fault, codes=codes)
        server().tell("heal")
        return ran

    def _started(self, pid: int) -> None:
        server().tell("victim", pid)
