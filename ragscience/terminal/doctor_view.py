"""What `ingest.py doctor` shows: everything that was looked at, the settings and the models too."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ragscience.doctor import Finding, examine, worst
from ragscience.doctor.findings import DoctorOutput, guarded
from ragscience.engine.printable import plain
from ragscience.errors import RagScienceError, UsageError
from ragscience.json_output import print_json, select
from ragscience.store import Home, Library
from ragscience.terminal.cli import as_called, default_home

if TYPE_CHECKING:
    from rich.console import Console

    from ragscience.records import EmbedderIdentity
    from ragscience.settings import Settings

__all__ = ["run_doctor"]

_COLOURS = {"ok": "green", "info": "cyan", "warning": "yellow", "error": "bold red"}


def run_doctor(home: Path | None, console: Console | None, *, network: bool) -> int:
    """Show the findings, as JSON where there is no console; 1 where one of them is an error, else 0."""
    settings, found = settings_of(home)
    place = Home(settings.home)
    found += examine(place, now=datetime.now(UTC), ocr_language=settings.ocr_language)
    found += guarded("models", lambda: _models(settings, _made_by(place), network=network))
    if network:
        found += guarded("network", lambda: _network(settings))
    if console is None:
        print_json(select(DoctorOutput, worst=worst(found), findings=found))
    elif console.is_terminal:
        _table(found, console)
    else:
        for one in found:
            sys.stdout.write(
                plain(as_called(f"{one.severity:8}{one.message} {one.remedy}").rstrip()).replace("\n", " ") + "\n"
            )
    return 1 if worst(found) == "error" else 0


def settings_of(home: Path | None) -> tuple[Settings, list[Finding]]:
    """The settings, and what is wrong with them; where they cannot be used, the defaults."""
    from ragscience.settings import default_settings, find_home, load_settings, unknown_variables

    found = [
        Finding("settings", "error", f"There is no setting {name} (in the environment).", f"`unset {name}`.")
        for name in unknown_variables()
    ]

    def warn(text: str) -> None:
        found.append(Finding("settings", "warning", text, ""))

    try:
        settings = load_settings(default_home=default_home(), on_warning=warn, home=home)
        return settings, found or [Finding("settings", "ok", "The settings are as they may be.")]
    except UsageError as problem:
        if not found:
            found = [Finding("settings", "error", problem.message, problem.fix)]
    return default_settings(find_home(home, default_home())), found


def _made_by(home: Home) -> EmbedderIdentity | None:
    try:
        with Library.open(home) as library:
            return library.embedder
    except RagScienceError:
        return None  # which is a finding already


def _models(settings: Settings, made_by: EmbedderIdentity | None, *, network: bool) -> Iterator[Finding]:
    from ragscience.doctor.service_checks import models, torch_model
    from ragscience.terminal.models_of import choices_of

    settings = settings if network else settings.model_copy(update={"offline": True})
    choices, ollama = choices_of(settings, made_by)
    if _is_torch(settings, made_by):
        del choices["embedder"]
        yield torch_model(made_by.model if made_by else settings.embedding_model)
    needed = {"embedder"}
    if settings.rerank in ("cross-encoder", "llm"):
        needed.add("reranker")
    if settings.answerer == "ollama":
        needed.add("answer")
    yield from models(choices, needed, ollama)


def _is_torch(settings: Settings, made_by: EmbedderIdentity | None) -> bool:
    """Whether sentence-transformers makes the vectors: what its model is cannot be asked without loading it."""
    theirs = "sentence-transformers"
    if made_by is None or made_by.provider != theirs:
        return made_by is None and settings.embedder == theirs
    return settings.embedder == "auto" or (settings.embedder, settings.embedding_model) == (theirs, made_by.model)


def _network(settings: Settings) -> Iterator[Finding]:
    from ragscience.doctor.service_checks import network
    from ragscience.terminal.models_of import choices_of

    if settings.offline:
        yield Finding("network", "info", "Nothing was asked: offline.", "Unset RAG_OFFLINE.")
        return
    yield from network(settings.arxiv_url, choices_of(settings, None)[1])


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
