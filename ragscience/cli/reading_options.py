"""The options of the commands that read papers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ragscience.core.errors import UsageError

__all__ = ["Layout", "Ocr", "Ray", "Workers", "reading", "workers_of"]

Ocr = Annotated[bool, typer.Option("--ocr", help="Read pages without a text layer by OCR; needs Tesseract.")]
Layout = Annotated[
    bool, typer.Option("--layout", help="Also run PyMuPDF's layout model on each page: about 0.7 s a page.")
]
Workers = Annotated[
    int,
    typer.Option(
        "--workers",
        metavar="N",
        help="Read, cut and embed in N processes of one core and about 0.4 GB each. Default: one process, all cores.",
        min=0,
        max=256,
        show_default=False,
    ),
]
Ray = Annotated[
    str,
    typer.Option(
        "--ray",
        metavar="HOST:PORT",
        help="Read, cut and embed on the machines of this Ray cluster (docs/scale.md); this one writes the library.",
        show_default=False,
    ),
]


def workers_of(workers: int, ray: str) -> int | str:
    """What `engine.ingest.add` takes for the two options. Raises UsageError."""
    if workers and ray:
        raise UsageError("--workers is of this machine, --ray of a cluster.", "Leave one of them out.")
    return ray or workers


def reading(home: Path | None, offline: bool | None, ocr: bool, layout: bool) -> dict[str, object]:
    """The settings of a command that reads papers."""
    return {"home": home, "offline": offline, "ocr": ocr or None, "layout": "always" if layout else None}
