"""How long a person looks at nothing: from Enter to the first byte on the terminal, and while a model says nothing."""

from __future__ import annotations

import fcntl
import json
import os
import re
import select
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.libraries import fresh_folder, papers_home
from benchmarks.report import REPOSITORY, Report, Table, spread
from benchmarks.running import Options, by_turns, door

TITLE = "The first sign of life"
QUESTION = "How is the keyword score normalised before it is added to the dense score?"
TARGET_SECONDS = 0.3
LONG_SECONDS = 1.0
"""A command that takes longer has to give a sign."""
WATCHED_SECONDS = 8.0
"""How long a silent model server is waited for, before Ctrl-C."""
START, TYPER = "python -c pass", "python -c 'import typer'"
QUERIES: tuple[tuple[str, ...], ...] = (
    ("search", QUESTION),
    ("ask", QUESTION, "--no-history"),
    ("ask", QUESTION, "--agent", "--no-history"),
    ("eval", "QUESTIONS"),
    ("map", "OUTPUT"),
    ("graph", "BERT"),
    ("related", "PAPER"),
    ("models",),
    ("history", "list"),
    ("audit",),
    ("bib",),
)
INGESTS: tuple[tuple[str, ...], ...] = (
    ("add", "NEW"),
    ("sync", "--dry-run"),
    ("graph",),
    ("duplicates",),
    ("doctor",),
    ("list",),
    ("show", "PAPER"),
    ("rebuild", "--indexes"),
    ("rebuild", "--embeddings"),
    ("rebuild",),
)
STOPPED = {"rebuild --embeddings", "rebuild", "graph"}
"""Commands that take minutes and leave a library as it was when they are stopped: it is done after the first sign."""
ESCAPES = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]|[\r\n\x07]")
SENT = b"\x1b[?2004l"
"""What prompt_toolkit writes when a line was sent."""


@dataclass(frozen=True)
class Sign:
    """Seconds from Enter."""

    first: float
    """To the first byte that can be seen."""
    whole: float
    """To the end of the command, or to Ctrl-C."""


@dataclass(frozen=True)
class Wait:
    """What a person sees of a model server that says nothing."""

    first: float
    longest_pause: float
    """Seconds, between two changes of the screen, until Ctrl-C."""
    stopped: float
    """Seconds from Ctrl-C to the end."""
    code: int
    last: str
    """The line before Ctrl-C."""


def run(options: Options) -> Report:
    """Commands over the 24 papers, each a process on a pty of its own."""
    home = _home()
    sides: dict[str, Callable[[], Sign]] = {
        START: lambda: _watch([sys.executable, "-c", "print(1)"]),
        TYPER: lambda: _watch([sys.executable, "-c", "import typer; print(1)"]),
        "query.py --help": lambda: _watch([sys.executable, str(REPOSITORY / "query.py"), "--help"]),
    }
    for name, commands in (("query", QUERIES), ("ingest", INGESTS)):
        for words in commands:
            short = " ".join(words)
            shown = f"{name}.py {short.replace(QUESTION, '…')}"
            sides[shown] = lambda name=name, words=words, short=short: _watch(  # type: ignore[misc]
                door(name, home, *_filled(words, home)), stop=short in STOPPED
            )
    runs = by_turns(sides, options.rounds)
    runs["chat: a question"] = list(_chat(home, options.rounds))
    rows = [_row(name, signs) for name, signs in runs.items()]
    waits = {name: [_wait(home, url) for _ in range(options.rounds)] for name, url in _silent_servers()}
    figures: dict[str, object] = {
        "first, s": {name: statistics.median(sign.first for sign in signs) for name, signs in runs.items()},
        "whole, s": {name: statistics.median(sign.whole for sign in signs) for name, signs in runs.items()},
        "silent server": {name: [vars(wait) for wait in each] for name, each in waits.items()},
    }
    note = f"Wanted: {TARGET_SECONDS} s in every command that takes over {LONG_SECONDS:.0f} s."
    first = Table(
        f"From Enter to the first byte, median of {options.rounds}", ["command", "first byte", "end"], rows, note=note
    )
    second = Table(
        f"A model server that says nothing, Ctrl-C after {WATCHED_SECONDS:.0f} s",
        ["server", "first byte", "longest pause", "Ctrl-C to the end", "the line then"],
        [_wait_row(name, each) for name, each in waits.items()],
    )
    return Report("first_sign", TITLE, [first, second], figures)


def _row(name: str, signs: Sequence[Sign]) -> list[str]:
    whole = statistics.median(sign.whole for sign in signs)
    stopped = name.partition(" ")[2] in STOPPED and name.startswith("ingest")
    return [f"`{name}`", spread([sign.first for sign in signs]), "stopped" if stopped else f"{whole:.2f} s"]


def _wait_row(name: str, waits: Sequence[Wait]) -> list[str]:
    times = (
        spread([wait.first for wait in waits]),
        spread([wait.longest_pause for wait in waits]),
        spread([wait.stopped for wait in waits]),
    )
    return [name, *times, f"`{waits[-1].last}`"]


def _home() -> Path:
    """A copy of the papers' library with a graph, a question that was answered, and questions to evaluate."""
    home = fresh_folder("first-sign")
    shutil.copytree(papers_home(), home, dirs_exist_ok=True)
    line = '{"question": "What is BM25?", "must_contain": ["BM25"]}\n'
    (home / "questions.jsonl").write_text(line * 3, encoding="utf-8")
    for command in (door("ingest", home, "graph"), door("query", home, "ask", "What is BM25?")):
        subprocess.run(command, env=_environment(), check=True, capture_output=True)
    listed = subprocess.run(door("ingest", home, "list", "--json"), env=_environment(), check=True, capture_output=True)
    (home / "list.json").write_bytes(listed.stdout)
    return home


def _filled(words: Sequence[str], home: Path) -> list[str]:
    """The words with the files that they stand for; NEW is a file that the library does not know."""
    new = home / "new.pdf"
    if "NEW" in words:
        sample = REPOSITORY / "papers" / "sample" / "ragscience.pdf"
        new.write_bytes(sample.read_bytes() + f"\n% {time.time_ns()}\n".encode())
    paper = json.loads((home / "list.json").read_text(encoding="utf-8"))["papers"][0]["file"]
    known = {"NEW": new, "QUESTIONS": home / "questions.jsonl", "OUTPUT": home / "map.html", "PAPER": paper}
    return [str(known.get(word, word)) for word in words]


def _environment(**more: str) -> dict[str, str]:
    quiet = {name: value for name, value in os.environ.items() if not name.startswith("RAG_")}
    return {
        **quiet,
        "TERM": "xterm-256color",
        "PAGER": "cat",
        "RAG_OFFLINE": "true",
        "RAG_OLLAMA_URL": "http://127.0.0.1:9",
        **more,
    }


class _Pty:
    """A command on a terminal of its own."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        self.ours, theirs = os.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 100, 0, 0))
        self.written = b""
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=REPOSITORY, env=environment or _environment(),
            start_new_session=True,
        )  # fmt: skip
        os.close(theirs)

    def read(self, until: float) -> bool:
        """Read what comes next; False at the end, or when nothing came before `until` on the clock."""
        if not select.select([self.ours], [], [], max(until - time.perf_counter(), 0))[0]:
            return False
        try:
            new = os.read(self.ours, 65536)
        except OSError:  # the last process has closed the terminal
            return False
        self.written += new
        if b"\x1b[6n" in new:  # where is the cursor?
            os.write(self.ours, b"\x1b[1;1R")
        return bool(new)

    def end(self) -> int:
        while self.read(time.perf_counter() + 600):
            pass
        code = self.process.wait(60)
        os.close(self.ours)
        return code


def _watch(command: Sequence[str], *, stop: bool = False) -> Sign:
    pty = _Pty(command)
    while not _seen(pty.written) and pty.read(time.perf_counter() + 600):
        pass
    first = time.perf_counter() - pty.started
    if stop:
        pty.process.send_signal(signal.SIGINT)
    pty.end()
    return Sign(first, time.perf_counter() - pty.started)


def _seen(written: bytes) -> bool:
    return bool(ESCAPES.sub(b"", written).strip())


def _chat(home: Path, rounds: int) -> Iterator[Sign]:
    """One conversation: a question to warm up, then as many as there are rounds."""
    pty = _Pty(door("query", home, "chat", "--no-history"))
    for number in range(1 + rounds):
        while pty.written.count(b"\x1b[?2004h") <= number:
            pty.read(time.perf_counter() + 600)
        sent_before, started = pty.written.count(SENT), time.perf_counter()
        os.write(pty.ours, QUESTION.encode() + b"\r")
        while pty.written.count(SENT) <= sent_before or not _seen(pty.written.rpartition(SENT)[2]):
            pty.read(time.perf_counter() + 600)
        first = time.perf_counter() - started
        while pty.written.count(b"\x1b[?2004h") <= number + 1:
            pty.read(time.perf_counter() + 600)
        if number:
            yield Sign(first, time.perf_counter() - started)
    os.write(pty.ours, b"/quit\r")
    pty.end()


def _silent_servers() -> Iterator[tuple[str, str]]:
    """(what it does, its address) of servers that accept a question and never answer it."""
    with _deaf() as url:
        yield "accepts, and says nothing at all", url
    from tests.ollama_server import OllamaServer, chat_model

    with OllamaServer(models={"llama3.1:8b": chat_model()}) as server:
        server.fault("/api/chat", until=threading.Event(), cut_after=0, times=None)
        yield "has the model, and no first word", server.url


@contextmanager
def _deaf() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def _wait(home: Path, url: str) -> Wait:
    command = door("query", home, "ask", QUESTION, "--no-history", "--plain")
    pty = _Pty(command, _environment(RAG_OLLAMA_URL=url, RAG_EMBEDDER="embedded"))
    until = pty.started + WATCHED_SECONDS
    times: list[float] = []
    while pty.read(until):
        if _seen(pty.written):
            times.append(time.perf_counter())
    last = ESCAPES.sub(b"\n", pty.written).decode("utf-8", "replace").strip().rpartition("\n")[2]
    stopped = time.perf_counter()
    pauses = [later - earlier for earlier, later in zip(times, [*times[1:], stopped], strict=True)]
    with suppress(OSError):
        os.write(pty.ours, b"\x03")
        os.kill(pty.process.pid, signal.SIGINT)
    code = pty.end()
    first = times[0] - pty.started if times else WATCHED_SECONDS
    return Wait(first, max(pauses, default=WATCHED_SECONDS), time.perf_counter() - stopped, code, last)
