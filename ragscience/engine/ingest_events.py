"""Requests, events and results of ingest, fetch and watch runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ragscience.core.addresses import shown_address
from ragscience.core.errors import FileProblem, RagScienceError
from ragscience.core.records import Paper
from ragscience.engine.events import Event
from ragscience.library.duplicates import Duplicate
from ragscience.library.ingestion import Failure
from ragscience.sources.arxiv import Candidate

__all__ = [
    "ArgumentFailed",
    "ArgumentKnown",
    "DownloadDone",
    "DownloadStarted",
    "Duplicate",
    "DuplicateFound",
    "FetchFailure",
    "FetchRequest",
    "FetchResult",
    "FetchedPaper",
    "IndexesRebuilt",
    "IngestResult",
    "OtherFormatsSkipped",
    "PaperCopied",
    "PaperFailed",
    "PaperRead",
    "PaperRemoved",
    "PaperRenamed",
    "PaperStored",
    "PaperSuppressed",
    "PassagesEmbedded",
    "PlanMade",
    "Preparing",
    "RemovalForgotten",
    "RunProgressed",
    "SourceBusy",
    "SyncPlan",
    "WatchChanged",
]

# Ingest


@dataclass(frozen=True, slots=True)
class PlanMade(Event):
    """It is known how many papers are to be read."""

    papers: int


@dataclass(frozen=True, slots=True)
class Preparing(Event):
    """A run is not at the papers yet, or no longer."""

    what: str
    """What it does, as "comparing files"."""
    done: int = 0
    total: int | None = None
    """None where it is not known."""


@dataclass(frozen=True, slots=True)
class RunProgressed(Event):
    """How far a run is; comes several times a second while it reads, and after each batch while it embeds."""

    path: Path
    """The file in hand."""
    number: int
    """Its number in the run, from 1."""
    papers: int
    """Files to be read in the run."""
    page: int
    """The page that is being read, from 1; 0 while the file is embedded, or its pages are not known."""
    pages: int
    passage: int
    """The passage that is being embedded, from 1; 0 while the file is read."""
    passages: int
    seconds_left: float | None
    """Until the end of the run; None while too little is measured."""


@dataclass(frozen=True, slots=True)
class PaperRead(Event):
    """The text of a file is read; its passages are next."""

    path: Path


@dataclass(frozen=True, slots=True)
class PassagesEmbedded(Event):
    """More passages have vectors."""

    done: int
    """In this run."""
    total: int | None = None
    """None where it is not known."""


@dataclass(frozen=True, slots=True)
class PaperStored(Event):
    """A paper is in the library."""

    paper: Paper
    is_update: bool
    """Whether it replaces an earlier content of its file."""
    seconds: float
    """Since the paper before."""


@dataclass(frozen=True, slots=True)
class PaperFailed(Event):
    """A file is not in the library."""

    path: Path
    problem: FileProblem
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class PaperRemoved(Event):
    """A paper has left the library; a file that is there stays."""

    paper: Paper
    newer: Duplicate | None = None
    """The pair, where it left for a newer version."""
    is_file_gone: bool = False
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class RemovalForgotten(Event):
    """A file whose paper was removed earlier is read again by the next run."""

    path: str
    """Where the paper was."""


@dataclass(frozen=True, slots=True)
class PaperRenamed(Event):
    """The file of a paper has another name; it is not read again."""

    before: Paper
    path: Path
    file: str
    """Its short name now."""


@dataclass(frozen=True, slots=True)
class PaperCopied(Event):
    """A file has the bytes of another one, and is not read. Published once."""

    path: Path
    file: str
    """Short, but not the same as the other's."""
    other: str


@dataclass(frozen=True, slots=True)
class PaperSuppressed(Event):
    """A file is left out: for a newer version of its paper, or because its paper was removed. Published once."""

    file: str
    newer: str = ""
    """The version that is kept; empty where the paper was removed."""
    path: Path = Path()


@dataclass(frozen=True, slots=True)
class OtherFormatsSkipped(Event):
    """Documents that are no PDFs are in the folder, and were not there before."""

    files: tuple[str, ...]
    """Their names."""


@dataclass(frozen=True, slots=True)
class DuplicateFound(Event):
    """A new paper is the same as another one of the library."""

    pair: Duplicate


@dataclass(frozen=True, slots=True)
class IndexesRebuilt(Event):
    """The search indexes are new."""

    passages: int


@dataclass(frozen=True, slots=True)
class IngestResult:
    """What a run did, and what the library holds now."""

    added: tuple[Paper, ...] = ()
    updated: tuple[Paper, ...] = ()
    failures: tuple[Failure, ...] = ()
    """Files that could not be read for the first time, or that were named."""
    still_unreadable: int = 0
    """Files that could not be read before, and have not changed."""
    still_left_out: int = 0
    """Files of removed papers and older versions that earlier runs named."""
    known: int = 0
    """Files that were in the library already, under any name."""
    duplicates: tuple[Duplicate, ...] = ()
    """New papers that are the same as another one, each with it."""
    embedded: int = 0
    """Passages that got new vectors."""
    reused: int = 0
    """Passages whose vectors the library had already."""
    papers: int = 0
    """In the library."""
    passages: int = 0


@dataclass(frozen=True, slots=True)
class SyncPlan:
    """What a sync would do."""

    to_read: tuple[Path, ...]
    gone: tuple[Paper, ...]


# Watch


@dataclass(frozen=True, slots=True)
class WatchChanged(Event):
    """The state of a watch."""

    state: Literal["watching", "waiting", "problem", "vanished", "back", "stopped"]
    folder: str = ""
    text: str = ""
    """Why, in words."""


# Fetch


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """Papers to fetch."""

    arguments: tuple[str, ...]
    """Topics, arXiv ids, DOIs and URLs of PDFs, in any order."""
    count: int = 5
    """Papers for each topic."""
    author: str = ""
    """This and the next four narrow every topic's search; without a topic, they are the search."""
    title: str = ""
    category: str = ""
    since: str = ""
    """"2023", "2023-05" or "2023-05-17"."""
    until: str = ""
    sort: str = "relevance"
    """"relevance" or "newest": which come first."""
    only_list: bool = False
    ingest: bool = True
    """Whether the papers are read into the library."""


@dataclass(frozen=True, slots=True)
class FetchedPaper:
    """A paper that was found or named, and what became of it."""

    candidate: Candidate
    is_named: bool
    """Whether an argument names it; else a search found it."""
    status: Literal["listed", "known", "fetched", "failed"]
    file: str = ""
    """Of one that is known or was fetched."""
    md5: str = ""
    error: str = ""

    @property
    def title(self) -> str:
        """Its id or URL, and its title, for a message."""
        title = self.candidate.metadata.title
        short = title if len(title) <= 60 else f"{title[:59]}…"
        name = str(self.candidate.arxiv or shown_address(self.candidate.url))
        return f"{name} ({short})" if short else name


@dataclass(frozen=True, slots=True)
class FetchFailure:
    """An argument that led to no paper."""

    argument: str
    error: RagScienceError


@dataclass(frozen=True, slots=True)
class FetchResult:
    """What came of a fetch."""

    papers: tuple[FetchedPaper, ...]
    failures: tuple[FetchFailure, ...]
    known_arguments: int = 0
    """Arguments whose papers were there, so that nothing was looked up."""
    ingest: IngestResult | None = None
    """None where nothing was to be read."""


@dataclass(frozen=True, slots=True)
class SourceBusy(Event):
    """A server asks for patience."""

    reason: str
    seconds: float
    """Until the next try."""


@dataclass(frozen=True, slots=True)
class ArgumentKnown(Event):
    """A paper is there already."""

    name: str
    file: str


@dataclass(frozen=True, slots=True)
class ArgumentFailed(Event):
    """An argument leads to no paper."""

    failure: FetchFailure


@dataclass(frozen=True, slots=True)
class DownloadStarted(Event):
    """A download starts; its bytes are `Downloading` events."""

    paper: FetchedPaper
    number: int
    total: int


@dataclass(frozen=True, slots=True)
class DownloadDone(Event):
    """A download has ended, well or not."""

    paper: FetchedPaper
    number: int
    total: int
    size_bytes: int = 0
