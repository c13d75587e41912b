"""What a suite hands back, and how it becomes a JSON file and a page of the docs."""

from __future__ import annotations

import json
import os
import platform
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["RESULTS", "Report", "Table", "cell", "conditions", "save", "spread", "write_page"]

REPOSITORY = Path(__file__).resolve().parent.parent
RESULTS = REPOSITORY / "benchmarks" / "results"
PAGE = REPOSITORY / "docs" / "benchmarks.md"
NOTES = Path(__file__).resolve().parent / "page_head.md"
PACKAGES = (
    "numpy",
    "onnxruntime",
    "faiss-cpu",
    "torch",
    "sentence-transformers",
    "rank-bm25",
    "langchain-community",
    "pymupdf",
)


@dataclass(frozen=True)
class Table:
    """Rows of cells under a heading; cells are text already."""

    heading: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""
    detail: bool = False
    """In the suite's JSON alone, not on the page."""


@dataclass(frozen=True)
class Report:
    """What one suite found: tables for the reader, `figures` for machines."""

    suite: str
    title: str
    tables: Sequence[Table]
    figures: Mapping[str, object] = field(default_factory=dict)


def spread(values: Sequence[float], unit: str = "s", digits: int = 2) -> str:
    """The median with lowest and highest: "1.02 s (0.98–1.10)"."""
    middle = statistics.median(values)
    return f"{middle:.{digits}f} {unit} ({min(values):.{digits}f}–{max(values):.{digits}f})"


def cell(value: float | None, digits: int = 3) -> str:
    """A number as a table shows it; "–" where there is none."""
    return "–" if value is None else f"{value:.{digits}f}"


def conditions() -> dict[str, str]:
    """The machine and the versions; nothing that names a person, a host or a folder."""
    import psutil

    found = {
        "cpu": _cpu_model(),
        "cores": str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()),
        "memory": f"{psutil.virtual_memory().total / 2**30:.0f} GB",
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "load before": " ".join(f"{load:.1f}" for load in os.getloadavg()),
    }
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "absent"
    return found


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


def save(report: Report, machine: Mapping[str, str]) -> Path:
    """Write the suite's JSON; `machine` is what `conditions()` gave before the run."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{report.suite}.json"
    content = {"made": datetime.now(UTC).strftime("%Y-%m-%d"), "conditions": dict(machine), **asdict(report)}
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def write_page(order: Sequence[str], ran: Sequence[str], page: Path = PAGE) -> Path:
    """docs/benchmarks.md anew, in order: the results of the suites that `ran`, the sections that it has of others."""
    old = page.read_text(encoding="utf-8").split("\n\n## ")[1:] if page.exists() else []
    sections = {
        name: f"## {text.rstrip()}"
        for text in old
        for name in re.findall(r"`python -m benchmarks (\w+)[^`]*`, \d", text)
    }
    for path in (RESULTS / f"{name}.json" for name in order):
        if path.exists() and (path.stem in ran or path.stem not in sections):
            sections[path.stem] = _section(json.loads(path.read_text(encoding="utf-8")))
    parts = [NOTES.read_text(encoding="utf-8").rstrip(), *(sections[name] for name in order if name in sections)]
    page.parent.mkdir(exist_ok=True)
    page.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return page


def _section(result: Mapping[str, object]) -> str:
    machine = dict(result["conditions"])  # type: ignore[call-overload]
    told = ", ".join(f"{name} {machine[name]}" for name in ("cpu", "cores", "memory", "load before") if name in machine)
    lines = [f"## {result['title']}", "", f"`python -m benchmarks {result['suite']}`, {result['made']}: {told}."]
    for table in result["tables"]:  # type: ignore[attr-defined]
        if table.get("detail"):
            continue
        lines += ["", f"### {table['heading']}", ""]
        lines.append("| " + " | ".join(table["columns"]) + " |")
        lines.append("|" + "---|" * len(table["columns"]))
        lines += ["| " + " | ".join(row) + " |" for row in table["rows"]]
        if table["note"]:
            lines += ["", table["note"]]
    return "\n".join(lines)
