"""Commands of the program as processes that can be made to fail, each with a limit of time.

The campaign's own process has imported the program and loaded its model once. A command is a fork of it: a process of
its own, with files, locks and memory of its own, which is killed like any other. `is_whole` starts an interpreter
instead, with the real readers of PDFs.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import gc
import os
import resource
import runpy
import select
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
LIMIT_S = 120.0
"""No command may take longer, on a machine however busy: one takes well under a second."""

CACHE_BYTES = 1 << 20
"""Of the cache of papers of a bucket: so small that a round fills it."""


@dataclass(frozen=True, slots=True)
class Ran:
    """A process that ended."""

    what: str
    code: int
    """The exit code, or minus the signal."""
    out: str
    err: str
    is_hung: bool = False
    was_killed: bool = False


@dataclass
class Running:
    """A process that was started."""

    what: str
    pid: int
    out: Path
    err: Path
    began: float = field(default_factory=time.monotonic)

    def wait(self, kill_after: float | None = None) -> Ran:
        """What it said. Killed after so many seconds, and after LIMIT_S, where it wrote down what it was doing."""
        handle = os.pidfd_open(self.pid)
        try:
            limit = LIMIT_S if kill_after is None else min(kill_after, LIMIT_S)
            is_over = bool(select.select([handle], [], [], max(0.0, self.began + limit - time.monotonic()))[0])
        finally:
            os.close(handle)
        if is_over:
            _, status = os.waitpid(self.pid, 0)
            return self._ran(os.waitstatus_to_exitcode(status))
        if kill_after is not None:
            return self.kill()
        os.kill(self.pid, signal.SIGUSR1)
        time.sleep(1)
        return self.kill(is_hung=True)

    def kill(self, *, is_hung: bool = False, by: int = signal.SIGKILL) -> Ran:
        """End it by a signal."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, by)
        _, status = os.waitpid(self.pid, 0)
        return self._ran(os.waitstatus_to_exitcode(status), is_hung=is_hung, was_killed=not is_hung)

    def _ran(self, code: int, **more: bool) -> Ran:
        out, err = (path.read_text(errors="replace") if path.exists() else "" for path in (self.out, self.err))
        return Ran(self.what, code, out, err, **more)


class Machine:
    """Starts processes; what they say lands in `folder`, which no fault reaches."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._folder = folder
        self._environment = dict(environment)
        self._count = 0

    def command(
        self,
        script: str,
        *words: str,
        home: Path,
        environment: Mapping[str, str] | None = None,
        file_bytes: int | None = None,
        is_whole: bool = False,
    ) -> Running:
        """`python SCRIPT WORDS` for a home; `file_bytes` limits the size of each file that it writes."""
        what = " ".join([script, *words])
        told = {**self._environment, "RAG_HOME": str(home), **(environment or {})}
        if is_whole:
            return self._started(what, [sys.executable, str(ROOT / script), *words], told, file_bytes, home)

        act = partial(run_script, script, *words, home=home)
        return self.forked(what, act, environment=told, file_bytes=file_bytes)

    def warm_up(self, home: Path, questions: Sequence[str]) -> None:
        """Do each kind of work once in this process: forks find all modules imported, and all papers read."""
        before = dict(os.environ), list(sys.argv), Path.cwd()
        os.environ.update(self._environment | {"RAG_HOME": str(home)})
        out, err = self._files()
        with out.open("w") as to, err.open("w") as errors, redirect_stdout(to), redirect_stderr(errors):
            for words in _WARM:
                for question in questions if words[1] == "search" else questions[:1]:
                    run_script(*(question if word == "?" else word for word in words), home=home)
        os.environ.clear()
        os.environ.update(before[0])
        sys.argv[:] = before[1]
        os.chdir(before[2])
        _SESSIONS.clear()  # what is asked from now on is known, and a small process is forked faster
        gc.collect()
        gc.freeze()

    def _started(
        self, what: str, command: list[str], environment: Mapping[str, str], file_bytes: int | None, home: Path
    ) -> Running:
        out, err = self._files()
        limit = (lambda: _limit(file_bytes)) if file_bytes else None
        with out.open("wb") as to, err.open("wb") as errors:
            process = subprocess.Popen(
                command, stdout=to, stderr=errors, cwd=home, env={**os.environ, **environment}, preexec_fn=limit
            )
        process.returncode = 0  # it is waited for here, by its number
        return Running(what, process.pid, out, err)

    def forked(
        self,
        what: str,
        act: Callable[[], int],
        *,
        environment: Mapping[str, str] | None = None,
        file_bytes: int | None = None,
    ) -> Running:
        """`act` in a fork, whose exit code it gives."""
        out, err = self._files()
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid:
            return Running(what, pid, out, err)
        code = 70
        try:
            for number, path in ((1, out), (2, err)):
                os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
            faulthandler.enable(open(2, "w", closefd=False))  # noqa: SIM115
            faulthandler.register(signal.SIGUSR1, open(2, "w", closefd=False))  # noqa: SIM115
            os.environ.update(environment or {})
            _limit(file_bytes)
            if arm := _shim():
                arm()
            code = act()
            sys.stdout.flush()
            sys.stderr.flush()
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(code)

    def _files(self) -> tuple[Path, Path]:
        self._count += 1
        place = self._folder / str(self._count % 50)
        out, err = place.with_suffix(".out"), place.with_suffix(".err")
        for path in (out, err):  # what an earlier process said is not taken for what this one says
            path.unlink(missing_ok=True)
        return out, err


def run_script(script: str, *words: str, home: Path) -> int:
    """`python SCRIPT WORDS` in this process; its exit code."""
    sys.argv = [str(ROOT / script), *words]
    os.chdir(home)
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0
    return 0


def _limit(file_bytes: int | None) -> None:
    if file_bytes:
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))


def _shim() -> Any:
    """What reads the variables of failing_files.c again; None where that is not loaded."""
    return getattr(ctypes.CDLL(None), "soak_arm", None)


def has_shim() -> bool:
    """Whether calls on files can be made to fail."""
    return _shim() is not None


def load_program(models: Path, more: Sequence[str] = ()) -> None:
    """Import what commands use, and `more`, load the model, and have forks share it.

    Files are read without further processes.
    """
    import typer.main

    from ragscience.library import bucket as bucket_files
    from ragscience.models import bert_session, minilm
    from ragscience.reading import worker_pool

    os.environ["RAG_CACHE_FOLDER"] = str(models)
    sessions = _SESSIONS
    open_session = bert_session._inference_session
    made: dict[Path | None, Any] = {}
    make = minilm.BertSession

    def session_of(folder: Path, _: bool) -> Any:
        if folder not in sessions:
            sessions[folder] = open_session(folder, False)
        return sessions[folder]

    def made_once(*source: Any, **how: Any) -> Any:
        adapter = how.get("adapter")
        if adapter not in made:
            made[adapter] = make(*source, **how)
        return made[adapter]

    embed = minilm.MiniLM.embed_with_tokens

    def embed_known(model: minilm.MiniLM, texts: Sequence[str]) -> Any:
        for text in texts:
            if text not in _EMBEDDED:
                (_EMBEDDED[text],) = embed(model, [text])
        return [_EMBEDDED[text] for text in texts]

    minilm.MiniLM.embed_with_tokens = embed_known  # type: ignore[method-assign]
    bert_session._inference_session = session_of
    minilm.BertSession = made_once  # type: ignore[misc,assignment]
    bucket_files.CACHE_BYTES = CACHE_BYTES
    worker_pool.ReaderProcess = ReaderHere  # type: ignore[misc,assignment]
    typer.main.get_command = lru_cache(typer.main.get_command)
    model = minilm.MiniLM(cache_folder=models, on_warning=print)
    model.questions(["warm"])
    model.embed_query("warm")
    model.embed_documents(["warm " * 20] * 4)
    # Threads that a package starts when it is imported do nothing yet, so that a fork is safe without them.
    warnings.filterwarnings("ignore", message="lancedb fork support is experimental")
    for name in (*_MODULES, *more):
        __import__(name)


_WARM = (
    ("ingest.py", "add"),
    ("ingest.py", "sync"),
    ("ingest.py", "graph"),
    ("ingest.py", "doctor"),
    ("ingest.py", "list"),
    ("query.py", "search", "?", "--json"),
    ("query.py", "ask", "?", "--json"),
    ("query.py", "history", "list"),
    ("ingest.py", "remove", "*", "--yes"),
)
_MODULES = (
    "pymupdf", "faiss", "fastapi", "uvicorn", "langchain_core.documents", "ragscience.cli.ingest_app",
    "ragscience.cli.query_app", "ragscience.engine.library_engine", "ragscience.engine.ingest_runs",
    "ragscience.engine.eval_runs", "ragscience.engine.graph_runs", "ragscience.engine.ingest",
    "ragscience.serving.server_app", "ragscience.reading.pdf_reader", "ragscience.ask",
    "ragscience.ask.router",
)  # fmt: skip


_SESSIONS: dict[Path, Any] = {}
_EMBEDDED: dict[str, Any] = {}
_READ: dict[bytes, Any] = {}
"""What the model gave for each text, and the reader for each file: this process fills them, forks use them."""


class ReaderHere:
    """Stands for a worker process: reads in the process that asks."""

    def __init__(self, timeout_seconds: float, memory_bytes: int, *, waits: bool = True) -> None:
        self.is_alive = True

    def read(self, path: Path, password: str, ocr: str = "", *, on_page: Any = None) -> Any:
        """The document, or what is wrong with the file."""
        from ragscience.core.errors import FileProblem
        from ragscience.reading.pdf_reader import read_pdf

        try:
            content = path.read_bytes()
            if content not in _READ:
                _READ[content] = read_pdf(path.absolute(), password, ocr, lambda *_: None)
            return _READ[content]
        except FileProblem as problem:
            return problem
        except OSError as error:
            return FileProblem(f"{path.name} cannot be read: {error.strerror}.", reason="unreadable")

    def count(self, path: Path) -> Any:
        """The number of its pages."""
        from ragscience.core.errors import FileProblem
        from ragscience.reading.pdf_file import count_pages

        try:
            return count_pages(path.absolute())
        except FileProblem as problem:
            return problem

    def kill(self) -> None:
        """Nothing runs."""

    def close(self) -> None:
        """Nothing is open."""
