"""A language model from a GGUF file, in a process of its own (the extra `llm`): see gguf_worker.py.

The process is spoken to as any server with OpenAI's API. It starts with the first question, is started again where it
has crashed, and ends with this one.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import IO, TYPE_CHECKING

from pydantic import SecretStr

from ragscience.core.errors import ModelProblem
from ragscience.core.program import PACKAGE_ROOT
from ragscience.models.json_server import one_line
from ragscience.models.openai_api import OpenAIServer
from ragscience.models.openai_client import is_broken
from ragscience.models.openai_llm import OpenAILLM, check_installed
from ragscience.models.served_llm import ChatOptions

if TYPE_CHECKING:
    from langchain_openai import ChatOpenAI

__all__ = ["GgufLLM", "GgufServer", "check_gguf"]

_MAGIC = b"GGUF"
_SPARE_BYTES = 4 * 2**30
"""Address space for code, context and buffers, besides the file."""
_END_SECONDS = 2.0
"""A process that broke its connection by ending has ended by then."""
_NOT_ON_THIS_PORT = "http://127.0.0.1:9"


def check_gguf(path: Path) -> None:
    """Raise ModelProblem where there is no GGUF file at `path`, or the packages that run it are missing."""
    from importlib.util import find_spec

    try:
        with path.open("rb") as file:
            is_one = file.read(len(_MAGIC)) == _MAGIC
    except OSError as error:
        raise ModelProblem(f"The model {path} cannot be read: {error.strerror}.", "Correct RAG_LLM.") from None
    if not is_one:
        raise ModelProblem(f"{path} is not a GGUF file.", "Fetch it again, or name another one in RAG_LLM.")
    if find_spec("xllamacpp") is None:
        raise ModelProblem(
            "A GGUF file needs the package xllamacpp, which is not installed.",
            "Run `python -m pip install -r requirements-llm.txt`.",
        )
    check_installed()


class GgufServer(OpenAIServer):
    """The process of one GGUF file. `start` may be called from any thread.

    `memory_mb` limits its address space, in MiB; 0: one and a half times the file, and 4 GiB.
    """

    def __init__(
        self, path: Path, *, context: int, memory_mb: int, start_seconds: float, timeout_seconds: float
    ) -> None:
        super().__init__(
            _NOT_ON_THIS_PORT,
            setting="RAG_LLM",
            key=SecretStr(secrets.token_urlsafe(32)),
            connect_seconds=timeout_seconds,
            timeout_seconds=timeout_seconds,
            offline=True,
        )
        self.path = path
        self.model = path.stem
        self.shown = str(path)
        self._context = context
        self._memory_mb = memory_mb
        self._start_seconds = start_seconds
        self._starting = Lock()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The process id, once it has been started."""
        return self._process.pid if self._process is not None else None

    def start(self) -> None:
        """Start the process where it does not run, on its earlier port if it had one. Raises ModelProblem."""
        with self._starting:
            if self._process is not None and self._process.poll() is None:
                return
            with tempfile.TemporaryFile() as errors:
                process = subprocess.Popen(
                    # -P: a module in the user's current folder must not replace a real one.
                    [sys.executable, "-P", "-m", "ragscience.models.gguf_worker"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    env={**os.environ, "PYTHONPATH": _python_path()},
                    start_new_session=True,  # Ctrl-C in the terminal is for this process, which ends the other
                )
                weakref.finalize(self, _end, process)
                self.url = self._started(process, errors) + "/v1"
                self._process = process

    def _started(self, process: subprocess.Popen[bytes], errors: IO[bytes]) -> str:
        """The address that the new process listens at."""
        stdin, stdout = process.stdin, process.stdout
        if stdin is None or stdout is None:
            raise NotImplementedError  # both are pipes
        port = 0 if self.url == _NOT_ON_THIS_PORT else int(self.url.removesuffix("/v1").rpartition(":")[2])
        memory = self._memory_mb * 2**20 or self.path.stat().st_size * 3 // 2 + _SPARE_BYTES
        asked = {"model": str(self.path.absolute()), "name": self.model, "context": self._context, "port": port}
        asked |= {"key": self.key.get_secret_value(), "memory_bytes": memory}
        lines: SimpleQueue[bytes] = SimpleQueue()
        try:
            stdin.write(json.dumps(asked).encode() + b"\n")
            stdin.flush()
        except OSError:
            lines.put(b"")  # it has ended already
        else:
            Thread(target=lambda: lines.put(stdout.readline()), daemon=True).start()
        try:
            line = lines.get(timeout=self._start_seconds)
        except Empty:
            _end(process)
            raise ModelProblem(
                f"{self.path.name} was not loaded within {self._start_seconds:g} s.",
                "Raise RAG_LLM_FIRST_TOKEN_S, or choose a smaller model.",
            ) from None
        told = json.loads(line) if line else {}
        if "url" in told:
            return str(told["url"])
        code = process.wait()
        errors.seek(0)
        said = [one_line(each) for each in errors.read().decode(errors="replace").splitlines() if each.strip()]
        why = told.get("problem") or f"exit code {code}"
        last = next((each for each in reversed(said) if "error" in each.casefold()), said[-1] if said else "")
        raise ModelProblem(
            f"{self.path.name} cannot be loaded: {one_line(why)}{f' ({last})' if last else ''}.",
            "Choose another file or a smaller RAG_NUM_CTX, or raise RAG_LLM_MEMORY_MB.",
        )

    def broken(self) -> ModelProblem:
        """The failure of a request whose connection broke or was refused."""
        code: int | None = None
        with suppress(subprocess.TimeoutExpired):
            code = self._process.wait(_END_SECONDS) if self._process is not None else None
        if code is None:
            return ModelProblem(f"The process that runs {self.path.name} broke the connection.", "Ask again.")
        return ModelProblem(
            f"The process that runs {self.path.name} has ended (exit code {code}).",
            "Ask again, which starts it anew. If it ends again, choose another file or a smaller RAG_NUM_CTX, or raise "
            "RAG_LLM_MEMORY_MB.",
        )

    def close(self) -> None:
        """End the process now."""
        if self._process is not None:
            _end(self._process)


class GgufLLM(OpenAILLM):
    """The chat model of a GGUF file, with its own chat template."""

    def __init__(self, server: GgufServer, *, options: ChatOptions) -> None:
        super().__init__(server, server.model, options=options)
        self._gguf = server

    def load(self) -> None:
        """The process with the model, and LangChain's client. Raises ModelProblem."""
        super().load()
        if not self._asked_served:
            self._asked_served, self._served = True, self.served_context()

    def problem(self, error: Exception) -> ModelProblem:
        """A failed call as one line and a fix; a broken connection is the process's end, not a server's."""
        return self._gguf.broken() if is_broken(error) else super().problem(error)

    @property
    def chat_model(self) -> ChatOpenAI:
        """LangChain's model; the process is started where it does not run, or does no more."""
        self._gguf.start()
        return super().chat_model


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()


def _python_path() -> str:
    """PYTHONPATH with this package's folder first."""
    root = str(PACKAGE_ROOT)
    return os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
