"""The engine: what every command, notebook, page and test goes through. See docs/notebook.md.

Names are loaded when they are first used, so that a command imports only what it needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ragscience.engine.dialogue import Dialogue
    from ragscience.engine.doctor_run import DoctorReport, Finding
    from ragscience.engine.events import (
        Checking,
        Event,
        ModelAsked,
        ModelChosen,
        OnEvent,
        Reranking,
        Searched,
        StepDone,
        Thinking,
        Token,
        Warned,
        WorkersStarted,
    )
    from ragscience.engine.ingest_events import (
        ArgumentFailed,
        ArgumentKnown,
        DownloadDone,
        DownloadStarted,
        DuplicateFound,
        FetchedPaper,
        FetchFailure,
        FetchRequest,
        FetchResult,
        IndexesRebuilt,
        IngestResult,
        PaperCopied,
        PaperFailed,
        PaperRead,
        PaperRemoved,
        PaperRenamed,
        PaperStored,
        PaperSuppressed,
        PassagesEmbedded,
        PlanMade,
        SourceBusy,
        SyncPlan,
        WatchChanged,
    )
    from ragscience.engine.library_engine import Engine
    from ragscience.engine.paper_outline import OutlineEntry, PaperOutline
    from ragscience.engine.paper_views import PaperPage
    from ragscience.engine.replay import Replayed
    from ragscience.engine.requests import AskRequest, SearchRequest
    from ragscience.engine.saved_answers import SavedAnswers

__all__ = [
    "ArgumentFailed",
    "ArgumentKnown",
    "AskRequest",
    "Checking",
    "Dialogue",
    "DoctorReport",
    "DownloadDone",
    "DownloadStarted",
    "DuplicateFound",
    "Engine",
    "Event",
    "FetchFailure",
    "FetchRequest",
    "FetchResult",
    "FetchedPaper",
    "Finding",
    "IndexesRebuilt",
    "IngestResult",
    "ModelAsked",
    "ModelChosen",
    "OnEvent",
    "OutlineEntry",
    "PaperCopied",
    "PaperFailed",
    "PaperOutline",
    "PaperPage",
    "PaperRead",
    "PaperRemoved",
    "PaperRenamed",
    "PaperStored",
    "PaperSuppressed",
    "PassagesEmbedded",
    "PlanMade",
    "Replayed",
    "Reranking",
    "SavedAnswers",
    "SearchRequest",
    "Searched",
    "SourceBusy",
    "StepDone",
    "SyncPlan",
    "Thinking",
    "Token",
    "Warned",
    "WatchChanged",
    "WorkersStarted",
]

_MODULES = {
    "dialogue": ("Dialogue",),
    "doctor_run": ("DoctorReport", "Finding"),
    "events": (
        "Checking",
        "Event",
        "ModelAsked",
        "ModelChosen",
        "OnEvent",
        "Reranking",
        "Searched",
        "StepDone",
        "Thinking",
        "Token",
        "Warned",
        "WorkersStarted",
    ),
    "ingest_events": (
        "ArgumentFailed",
        "ArgumentKnown",
        "DownloadDone",
        "DownloadStarted",
        "DuplicateFound",
        "FetchFailure",
        "FetchRequest",
        "FetchResult",
        "FetchedPaper",
        "IndexesRebuilt",
        "IngestResult",
        "PaperCopied",
        "PaperFailed",
        "PaperRead",
        "PaperRemoved",
        "PaperRenamed",
        "PaperStored",
        "PaperSuppressed",
        "PassagesEmbedded",
        "PlanMade",
        "SourceBusy",
        "SyncPlan",
        "WatchChanged",
    ),
    "library_engine": ("Engine",),
    "paper_outline": ("OutlineEntry", "PaperOutline"),
    "paper_views": ("PaperPage",),
    "replay": ("Replayed",),
    "requests": ("AskRequest", "SearchRequest"),
    "saved_answers": ("SavedAnswers",),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
