"""`query.py serve` as a process of its own over a copy of the papers' library, and clients of it."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import subprocess
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from benchmarks.libraries import fresh_folder, papers_home
from benchmarks.report import REPOSITORY
from benchmarks.running import door

__all__ = ["Client", "Served", "copied_home", "percentile", "served", "until_served"]

LONGEST_S = 120
"""Seconds that a reply may take."""


def copied_home(name: str) -> Path:
    """A copy of the library of the papers, to be changed."""
    home = fresh_folder(name)
    shutil.copytree(papers_home(), home, dirs_exist_ok=True)
    return home


@dataclass(frozen=True)
class Served:
    """A server that runs."""

    process: subprocess.Popen[str]
    port: int
    started: float
    """`time.perf_counter()` at its start."""

    def client(self) -> Client:
        """A client with a connection of its own."""
        return Client(self.port)

    def memory_mb(self) -> tuple[float, float]:
        """Its resident and its proportional memory."""
        import psutil

        seen = psutil.Process(self.process.pid).memory_full_info()
        return seen.rss / 2**20, seen.pss / 2**20


@contextmanager
def served(home: Path) -> Iterator[Served]:
    """A server over the home that listens; killed at the end, where it still runs."""
    started = time.perf_counter()
    process = subprocess.Popen(
        door("query", home, "serve", "--port", "0", "--offline"),
        stderr=subprocess.PIPE, text=True, cwd=REPOSITORY, env=dict(os.environ),
    )  # fmt: skip
    assert process.stderr is not None
    with process:
        try:
            lines = []
            for line in process.stderr:
                lines.append(line)
                if found := re.search(r"http://127\.0\.0\.1:(\d+)/", line):
                    yield Served(process, int(found[1]), started)
                    return
            raise RuntimeError(f"the server did not begin: {''.join(lines)[-2000:]}")
        finally:
            process.kill()


class Client:
    """One connection that is kept open."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LONGEST_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def get(self, path: str) -> dict[str, Any]:
        """The reply to a GET. Raises RuntimeError for a failure, OSError or HTTPException without a reply."""
        return self._sent("GET", path, None, {})

    def post(self, path: str, value: object) -> dict[str, Any]:
        """The reply to JSON. Raises as `get`."""
        return self._sent("POST", path, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def upload(self, name: str, content: bytes) -> None:
        """Add a PDF and wait until it is in. Raises as `get`."""
        mark = uuid.uuid4().hex
        head = f'--{mark}\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n\r\n'.encode()
        kind = {"Content-Type": f"multipart/form-data; boundary={mark}"}
        self._done(self._sent("POST", "/api/v1/uploads", head + content + f"\r\n--{mark}--\r\n".encode(), kind))

    def remove(self, md5: str) -> None:
        """Take a paper out and wait until it is. Raises as `get`."""
        self._done(self._sent("DELETE", f"/api/v1/papers/{md5}", None, {}))

    def _done(self, job: dict[str, Any]) -> None:
        while job["state"] in ("waiting", "running"):
            time.sleep(0.05)
            job = self.get(f"/api/v1/jobs/{job['job_id']}")
        if job["state"] != "done":
            raise RuntimeError(f"{job['what']}: {job['detail'] or job['failures']}")

    def _sent(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> dict[str, Any]:
        self._connection.request(method, path, body, headers)
        reply = self._connection.getresponse()
        text = reply.read()
        if reply.status >= 300:
            raise RuntimeError(f"{method} {path}: {reply.status} {text[:300]!r}")
        value: dict[str, Any] = json.loads(text)
        return value


def until_served(server: Served, path: str) -> float:
    """Seconds from the start of the process to the first good reply to a GET."""
    while True:
        with suppress(OSError, RuntimeError, http.client.HTTPException), server.client() as client:
            client.get(path)
            return time.perf_counter() - server.started
        time.sleep(0.01)


def percentile(values: Sequence[float], share: float) -> float:
    """The value that this share of them does not exceed."""
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]
