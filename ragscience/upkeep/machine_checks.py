"""What a check of `doctor` finds; and the checks of the machine, its models and servers, and what killed runs left."""

import shlex
import shutil
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from ragscience.core.errors import RagScienceError
from ragscience.core.system import limit_memory
from ragscience.core.tokenizing import counted
from ragscience.library.ingestion import LOCAL, LocalFiles
from ragscience.library.store import Home
from ragscience.models.model_choice import ModelRow
from ragscience.models.model_servers import Ollama, OpenAIServer

Severity = Literal["ok", "info", "warning", "error"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""From harmless to grave."""
FEW = 10


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """The result of one check."""

    area: str
    """"disk", "database", "papers", …"""
    severity: Severity
    message: str
    remedy: str = ""
    """What to do about it, with the command; empty where nothing is to be done."""


def worst(findings: Sequence[DoctorFinding]) -> Severity:
    """The gravest of their severities; "ok" for none."""
    return max((finding.severity for finding in findings), key=SEVERITIES.index, default="ok")


def few(findings: Iterable[DoctorFinding], what: str) -> Iterator[DoctorFinding]:
    """The first ten, then the number of the others: "12 more papers …"."""
    each = iter(findings)
    last = None
    for last in islice(each, FEW):
        yield last
    left = sum(1 for _ in each)
    if left and last is not None:
        yield DoctorFinding(last.area, last.severity, f"{left} more {what}.", last.remedy)


def guarded(area: str, check: Callable[..., Iterable[Any]], *given: Any) -> Iterator[DoctorFinding]:
    """The findings of `check(*given)`; an error that stops it is a finding, too."""
    try:
        yield from check(*given)
    except RagScienceError as problem:
        yield DoctorFinding(area, "error", problem.message, problem.fix)
    except (OSError, sqlite3.Error, ValueError, KeyError, TypeError) as error:
        remedy = "Check the disk and the permissions; `python ingest.py rebuild` rebuilds everything."
        yield DoctorFinding(area, "error", f"This could not be checked: {error}.", remedy)


def quoted(path: Path | str) -> str:
    """A path as a shell takes it."""
    return shlex.quote(str(path))


@dataclass(frozen=True, slots=True)
class Given:
    """What the checks depend on beside the home."""

    now: datetime
    """With a time zone."""
    where: LocalFiles = LOCAL
    """Where the papers' files are."""
    fast: bool = False
    """The contents of the database are not verified."""


_SECONDS = 10.0
_NO_OLLAMA = "Start it with `ollama serve`, or set RAG_OLLAMA_URL; without it, answers are made of quotes."


def models(rows: Iterable[ModelRow], needed: Collection[str]) -> Iterator[DoctorFinding]:
    """A finding for each part; a model that is missing is an error for the parts of `needed`, else an info."""
    for row in rows:
        if row.model is not None:
            yield DoctorFinding("models", "ok", f"{row.part}: {row.model} ({row.why}).", row.warning)
        else:
            severity: Severity = "error" if row.part in needed else "info"
            what = row.why if row.why.endswith(".") else f"no model, {row.why}."  # a sentence says what failed
            yield DoctorFinding("models", severity, f"{row.part}: {what}", row.warning)


def network(arxiv_url: str, ollama: Ollama, servers: Iterable[OpenAIServer]) -> Iterator[DoctorFinding]:
    """Whether arXiv's API, Ollama and the servers with OpenAI's API answer, by one small request each."""
    yield _arxiv(arxiv_url)
    for server in (*servers, ollama):
        status, is_ollama = server.status, server is ollama
        if status.running:
            name = f"Ollama {status.version}" if is_ollama else "The server"
            models = counted(len(status.models), "model")
            yield DoctorFinding("network", "ok", f"{name} at {server.shown} answers and has {models}.")
        else:
            why = f"{status.why[:1].upper()}{status.why[1:]}."
            severity: Severity = "info" if is_ollama else "warning"
            yield DoctorFinding("network", severity, why, _NO_OLLAMA if is_ollama else server.remedy)


def _arxiv(url: str) -> DoctorFinding:
    import httpx

    host = urlsplit(url).netloc
    remedy = f"`curl -I {url}` shows more; until then `python ingest.py fetch` cannot be used."
    headers = {"User-Agent": "ragscience-doctor"}
    try:
        code = httpx.head(url, headers=headers, timeout=_SECONDS, follow_redirects=True).status_code
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        return DoctorFinding("network", "warning", f"{host} cannot be reached: {error}.", remedy)
    # A request without a query may be refused: the server still responds.
    if code >= 500 or code in (403, 429):
        return DoctorFinding("network", "warning", f"{host} answers with HTTP {code}.", "Try again in a few minutes.")
    return DoctorFinding("network", "ok", f"{host} can be reached.")


LOW_DISK_BYTES = 2**30
NO_DISK_BYTES = 100 * 2**20
AT_WORK_SECONDS = 3600
"""An older temporary file is of no running process."""
_FULL = "Make room before the next ingest: `du -sh papers vectorstore` shows the sizes."


def disk(home: Home) -> Iterator[DoctorFinding]:
    """The free space, compared with what the library takes."""
    place = next(folder for folder in (home.root, *home.root.parents) if folder.is_dir())
    used = _size(*(path for path in home.vectorstore.rglob("*") if path.is_file())) if home.vectorstore.is_dir() else 0
    yield disk_room(shutil.disk_usage(place).free, used)


def disk_room(free: int, used: int) -> DoctorFinding:
    """What `free` bytes mean for a library of `used` bytes; a rebuild needs its size once more."""
    if free < NO_DISK_BYTES:
        return DoctorFinding("disk", "error", f"Only {free // 2**20} MiB are left on the disk.", _FULL)
    if free < LOW_DISK_BYTES:
        return DoctorFinding("disk", "warning", f"{free // 2**20} MiB are left on the disk.", _FULL)
    left = f"{free / 2**30:.1f} GiB are left on the disk"
    if free < used:
        message = f"{left}, less than the {used / 2**30:.1f} GiB that the library takes."
        return DoctorFinding("disk", "warning", message, "Make room before `python ingest.py rebuild`.")
    return DoctorFinding("disk", "ok", f"{left}; the library takes {used / 2**20:.0f} MiB.")


def memory() -> Iterator[DoctorFinding]:
    """Whether the memory of the process that reads PDFs can be limited."""
    if not limit_memory(lambda _: None):
        message = "This system sets no limit on the memory of the process that reads PDFs; only its time is limited."
        yield DoctorFinding("memory", "info", message, "")


def leftovers(home: Home, given: Given) -> Iterator[DoctorFinding]:
    """Files of killed runs and unfinished downloads that no running process can need."""

    def is_old(path: Path) -> bool:
        return path.is_file() and given.now.timestamp() - path.stat().st_mtime > AT_WORK_SECONDS

    temporary = [*home.root.glob(f"{home.ledger.name}.*.tmp"), *home.vectorstore.rglob("*.tmp"), *home.parts.glob("*")]
    old = sorted({path for path in temporary if is_old(path)})
    if old:
        what = counted(len(old), "file of a killed run or download", "files of killed runs or downloads")
        remedy = f"`rm {' '.join(map(quoted, old))}`."
        yield DoctorFinding("leftovers", "info", f"{what}, {_size(*old) / 2**20:.1f} MiB.", remedy)
    else:
        yield DoctorFinding("leftovers", "ok", "No leftover files.")


def _size(*paths: Path) -> int:
    return sum(path.stat().st_size for path in paths if path.exists())
