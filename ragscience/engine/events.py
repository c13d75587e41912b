"""What happens while the engine works, and requests and results of runs: a frozen record each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ragscience.core.errors import FileProblem, RagScienceError, shown_address
from ragscience.core.records import Paper, Step

if TYPE_CHECKING:
    from ragscience.library.ingestion import Failure
    from ragscience.library.seen_files import SkippedFile as SkippedFile
    from ragscience.library.similarity import Duplicate as Duplicate
    from ragscience.sources.arxiv import Candidate, Search


@dataclass(frozen=True, slots=True)
class Event:
    """The base of all events."""


@dataclass(frozen=True, slots=True)
class ModelChosen(Event):
    """Which model does a part of the work, in one line; comes once for each choice of an engine."""

    text: str
    """Empty where there is nothing to say: what the settings want is there."""
    part: str = ""
    """ "embedder", "llm" or "reranker"; empty where the choice belongs to one run."""


@dataclass(frozen=True, slots=True)
class Warned(Event):
    """Something is missing or failed, and the work continues without it. Also in the result's warnings."""

    text: str


@dataclass(frozen=True, slots=True)
class Token(Event):
    """A piece of an answer as it is written, before its citations are checked."""

    text: str


@dataclass(frozen=True, slots=True)
class StepDone(Event):
    """A step of the agent is done."""

    step: Step


@dataclass(frozen=True, slots=True)
class Searched(Event):
    """The library is searched, by these words."""

    query: str


@dataclass(frozen=True, slots=True)
class Reranking(Event):
    """The reranker reads the passages that were found."""

    passages: int


@dataclass(frozen=True, slots=True)
class ModelAsked(Event):
    """A language model is asked; nothing comes until it has read its prompt."""

    model: str
    passages: int
    """In its prompt; 0 where it reads something else."""


@dataclass(frozen=True, slots=True)
class TokensCounted(Event):
    """A reply of a language model has ended."""

    tokens: int
    """Of prompt and reply together, as the server counted them."""


@dataclass(frozen=True, slots=True)
class Thinking(Event):
    """A language model has begun to think, which is not shown: nothing comes until it writes its answer."""

    model: str


@dataclass(frozen=True, slots=True)
class Progressed(Event):
    """How far the work is; comes several times a second while a paper is read."""

    what: str
    """What is done, as "comparing files" or "[3/24] page 7 of 12: raft.pdf"."""
    done: int = 0
    total: int | None = None
    """None where it is not known."""


@dataclass(frozen=True, slots=True)
class Noted(Event):
    """Something that a person is to know of, in words."""

    line: str


@dataclass(frozen=True, slots=True)
class PlanMade(Event):
    """It is known how many papers are to be read."""

    papers: int


OnEvent = Callable[[Event], None]
"""Called in the thread that does the work; what it raises ends the work."""


def unheard(_: Event) -> None:
    """Ignores an event: the default handler."""


# Ingest


@dataclass(frozen=True, slots=True)
class PaperStored(Event):
    """A paper is in the library."""

    paper: Paper
    is_update: bool
    """Whether it replaces an earlier content of its file."""


@dataclass(frozen=True, slots=True)
class PaperFailed(Event):
    """A file is not in the library."""

    path: Path
    problem: FileProblem


@dataclass(frozen=True, slots=True)
class PaperRemoved(Event):
    """A paper has left the library; a file that is there stays."""

    paper: Paper
    why: str
    """As "its file is gone"."""


@dataclass(frozen=True, slots=True)
class IngestResult:
    """What a run did, and what the library holds now."""

    added: tuple[Paper, ...] = ()
    updated: tuple[Paper, ...] = ()
    failures: tuple[Failure, ...] = ()
    """Files that could not be read for the first time, or that were named."""
    still_skipped: int = 0
    """Files that earlier runs named: of removed papers, and those that cannot be read and have not changed."""
    known: int = 0
    """Files that were in the library already, under any name."""
    duplicates: tuple[Duplicate, ...] = ()
    """New papers that are the same as another one, each with it."""
    papers: int = 0
    """In the library."""
    passages: int = 0


@dataclass(frozen=True, slots=True)
class PassagesRead(Event):
    """So many of the passages are read for the graph and kept; comes first with none."""

    done: int
    total: int


# Fetch


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """Papers to fetch."""

    arguments: tuple[str, ...]
    """Topics, arXiv ids, DOIs and URLs of PDFs, in any order."""
    count: int = 5
    """Papers for each topic."""
    narrow: Search | None = None
    """What every topic's search is kept to; without a topic, it is the search."""
    only_list: bool = False
    ingest: bool = True
    """Whether the papers are read into the library."""
    only_topics: bool = False
    """Refuse what names a paper."""


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
