"""What `ingest.py doctor` shows: the findings about the settings, the library and the models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ragscience.cli.cli import as_called
from ragscience.cli.column_list import Column, list_records
from ragscience.cli.line_wrap import put
from ragscience.cli.run_options import default_home
from ragscience.cli.screen import print_json
from ragscience.cli.status_line import STATUS
from ragscience.core.errors import UsageError
from ragscience.core.serialization import select
from ragscience.engine.doctor_run import DoctorOutput, DoctorReport, Finding
from ragscience.engine.events import Checking, Event
from ragscience.engine.library_engine import Engine
from ragscience.engine.printable import plain

if TYPE_CHECKING:
    from rich.console import Console

    from ragscience.core.settings import Settings

__all__ = ["run_doctor"]

_COLOURS = {"ok": "green", "info": "cyan", "warning": "yellow", "error": "bold red"}


def run_doctor(home: Path | None, console: Console | None, *, network: bool, fast: bool = False) -> int:
    """Show the findings, as JSON without a console; 1 where one of them is an error, else 0."""
    settings, found = _settings(home)
    quiet = settings.model_copy(update={"log_file": "", "metrics_file": ""})
    with Engine.open(settings.home, quiet, on_event=_show_step) as engine:
        report = DoctorReport((*found, *engine.doctor(network=network, fast=fast).findings))
    STATUS.hide()
    if console is None:
        print_json(select(DoctorOutput, report))
    else:
        _findings_view(report.findings, console)
    return 1 if report.worst == "error" else 0


def _show_step(event: Event) -> None:
    if isinstance(event, Checking):
        STATUS.show(f"checking {event.what}, {event.step} of {event.steps}")


def _settings(home: Path | None) -> tuple[Settings, list[Finding]]:
    """The settings, and what is wrong with them; the defaults where they cannot be used."""
    from ragscience.core.settings import default_settings, find_home, load_settings

    found: list[Finding] = []

    def warn(text: str) -> None:
        found.append(Finding("settings", "warning", text, ""))

    try:
        settings = load_settings(default_home=default_home(), on_warning=warn, home=home)
        return settings, found or [Finding("settings", "ok", "Settings OK.")]
    except UsageError as problem:
        found.append(Finding("settings", "error", problem.message, problem.fix))
    return default_settings(find_home(home, default_home())), found


def _findings_view(found: Sequence[Finding], console: Console) -> None:
    """On a terminal each finding with its remedy below; in a pipe severity, area, finding and remedy between tabs."""
    from rich.text import Text

    if not console.is_terminal:
        columns = [Column(name) for name in ("severity", "area", "finding", "remedy")]
        list_records(columns, [(one.severity, one.area, one.message, as_called(one.remedy)) for one in found], console)
        return
    severities = max(len(one.severity) for one in found)
    areas = max(len(one.area) for one in found)
    for one in found:
        sign = Text(f"{one.severity:{severities}}  ", _COLOURS[one.severity]).append(
            f"{one.area:{areas}}  ", "not bold dim"
        )
        put(console, plain(one.message), sign)
        if one.remedy:
            style = "dim" if one.severity in ("ok", "info") else "bold"
            put(console, plain(as_called(one.remedy)), " " * len(sign), style=style)
