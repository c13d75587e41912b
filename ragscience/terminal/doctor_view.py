"""What `ingest.py doctor` shows: the findings about the settings, the library and the models."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ragscience.engine.doctor_run import DoctorOutput, DoctorReport, Finding
from ragscience.engine.events import Checking, Event
from ragscience.engine.library_engine import Engine
from ragscience.engine.printable import one_line, plain
from ragscience.errors import UsageError
from ragscience.json_output import select
from ragscience.terminal.cli import as_called, default_home
from ragscience.terminal.screen import print_json
from ragscience.terminal.status_line import STATUS

if TYPE_CHECKING:
    from rich.console import Console

    from ragscience.settings import Settings

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
    elif console.is_terminal:
        _table(report.findings, console)
    else:
        for one in report.findings:
            line = one_line(as_called(f"{one.severity:8}{one.message} {one.remedy}").rstrip())
            sys.stdout.write(line + "\n")
    return 1 if report.worst == "error" else 0


def _show_step(event: Event) -> None:
    if isinstance(event, Checking):
        STATUS.show(f"checking {event.what}, {event.step} of {event.steps}")


def _settings(home: Path | None) -> tuple[Settings, list[Finding]]:
    """The settings, and what is wrong with them; the defaults where they cannot be used."""
    from ragscience.settings import default_settings, find_home, load_settings

    found: list[Finding] = []

    def warn(text: str) -> None:
        found.append(Finding("settings", "warning", text, ""))

    try:
        settings = load_settings(default_home=default_home(), on_warning=warn, home=home)
        return settings, found or [Finding("settings", "ok", "Settings OK.")]
    except UsageError as problem:
        found.append(Finding("settings", "error", problem.message, problem.fix))
    return default_settings(find_home(home, default_home())), found


def _table(found: Sequence[Finding], console: Console) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_header=False)
    for column in ("severity", "area"):
        table.add_column(column, no_wrap=True)
    table.add_column("message", overflow="fold")
    for one in found:
        message = Text(plain(one.message))
        if one.remedy:
            message.append(f"\n{plain(as_called(one.remedy))}", "dim" if one.severity in ("ok", "info") else "bold")
        table.add_row(Text(one.severity, _COLOURS[one.severity]), Text(one.area, "dim"), message)
    console.print(table)
