"""A server that answers while the library is written, and is killed."""

from __future__ import annotations

import http.client
import json
import random
import re
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.soak.answers import Answers
from tests.soak.messages import strange_hits
from tests.soak.processes import LIMIT_S, Machine, Ran, Running
from tests.soak.shelf import Truth

_ADDRESS = re.compile(r"Serving http://([\w.]+):(\d+)/ ")


@dataclass
class Served:
    """What a server did."""

    ran: list[Ran] = field(default_factory=list)
    """The commands that wrote meanwhile."""
    broken: list[str] = field(default_factory=list)
    told: str = ""
    is_synced: bool = False


def serve_and_kill(
    machine: Machine,
    home: Path,
    environment: Mapping[str, str],
    dice: random.Random,
    truths: Mapping[str, Truth],
    answers: Answers,
) -> Served:
    """Start a server, ask it while `sync` writes, ask once more, and end it by a signal."""
    served = Served()
    server = machine.command("query.py", "serve", "--port", "0", home=home, environment=environment)
    address = _address(server)
    if address is None:
        ran = server.kill(is_hung=True)
        served.broken.append(f"the server does not start: {ran.code} {ran.err[-3000:]}")
        return served
    questions = [truth.question for truth in dice.sample(list(truths.values()), 4)]
    count = 0
    is_early = dice.random() < 0.3  # killed while the other process writes
    writer = machine.command("ingest.py", "sync", home=home, environment=environment)
    try:
        while count < (2 if is_early else 3):
            is_kept = (home / "vectorstore").is_dir()
            question, route = dice.choice(questions), dice.choice(["search", "ask"])
            reply = _asked(address, question, route)
            served.broken += _complaints(reply, truths)
            answers.asked.add(question)
            if route == "ask" and reply[0] == 200 and is_kept:
                answers.note(question, reply[1])
            count += 1
        if not is_early:
            served.ran.append(writer.wait())
            served.broken += _complaints(_asked(address, dice.choice(questions), "search"), truths)
    except (OSError, http.client.HTTPException) as error:
        served.broken.append(f"the server does not answer: {error!r} {server.err.read_text()[-2000:]}")
    by = dice.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM])
    ran = server.kill(by=by)
    if not served.ran:
        served.ran.append(writer.wait())
    served.is_synced = served.ran[0].code == 0
    served.told = f"serve, {count} questions, signal {int(by)} -> {ran.code}"
    if ran.code not in ((-signal.SIGKILL,) if by == signal.SIGKILL else (0, 130, 143)):
        served.broken.append(f"the server ended with {ran.code}: {ran.err[-2000:]}")
    if "Traceback" in ran.err:
        served.broken.append(f"the server said: {ran.err[-3000:]}")
    return served


def _address(server: Running) -> tuple[str, int] | None:
    while time.monotonic() - server.began < LIMIT_S:
        if found := _ADDRESS.search(server.err.read_text() if server.err.exists() else ""):
            return found[1], int(found[2])
        time.sleep(0.01)
    return None


def _asked(address: tuple[str, int], question: str, route: str) -> tuple[int, str]:
    """The status and the text of a reply."""
    connection = http.client.HTTPConnection(*address, timeout=LIMIT_S)
    try:
        body = json.dumps({"question": question})
        connection.request("POST", f"/api/v1/{route}", body, {"Content-Type": "application/json"})
        reply = connection.getresponse()
        return reply.status, reply.read().decode()
    finally:
        connection.close()


def _complaints(reply: tuple[int, str], truths: Mapping[str, Truth]) -> list[str]:
    """What is wrong with a reply."""
    status, text = reply
    if status == 200:
        return strange_hits(text, truths)
    return [] if status in (404, 503) else [f"the server replied {status}: {text[:1000]}"]
