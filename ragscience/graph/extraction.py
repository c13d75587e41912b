"""Extracts graph rows from the passages of a library that were not read yet.

Rows are stored a few passages at a time, so that a run can be stopped at any moment and resumed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ragscience.core.errors import ModelProblem
from ragscience.core.records import Paper, StoredChunk
from ragscience.graph import llm_extraction as by_llm
from ragscience.graph import local_extraction as local
from ragscience.graph.graph_records import CO_OCCURS, Extracted, encoded

if TYPE_CHECKING:
    from ragscience.library.store import Store
    from ragscience.models.model_protocols import ChatModel

__all__ = ["LLMReading", "OnProgress", "Report", "extract_by_llm", "extract_locally", "llm_version", "local_version"]

BATCH = 64
"""Passages of a paper per transaction."""
LOADED = 1000
"""Passages loaded at once."""
ABSTRACT_PASSAGES = 2
"""Maximum passages of an abstract in one call."""
MOST_FAILURES = 3
"""Consecutive failures of the server after which the rest is left for the next run."""

OnProgress = Callable[[int, int], None]
"""Receives how many passages are done (with or without results), and the total; first with 0."""


@dataclass(frozen=True, slots=True)
class LLMReading:
    """Options of the LLM extraction."""

    types: Sequence[str]
    """The types of entities to extract."""
    version: str
    """As returned by `llm_version`."""
    full: bool
    """Every passage, not only titles and abstracts."""
    max_tokens: int
    seconds: float
    """Maximum time for one passage."""


@dataclass
class Report:
    """The result of a run."""

    passages: int = 0
    """Passages read and stored."""
    papers: int = 0
    mentions: int = 0
    relations: int = 0
    """Relations other than co-occurrence."""
    failures: list[str] = field(default_factory=list)
    dropped: int = 0
    """Rejected entities and relations of a model's replies."""
    left: int = 0
    """Passages that were skipped, because the model failed too often."""

    def keep(self, library: Store, extractor: str, version: str, found: Sequence[Extracted]) -> None:
        """Store what was found in some passages, and count it."""
        library.graph.put(extractor, version, [(each.chunk_id, encoded(each)) for each in found])
        self.passages += len(found)
        self.mentions += sum(len(each.mentions) for each in found)
        self.relations += sum(triple.relation != CO_OCCURS for each in found for triple in each.triples)


def local_version(types: Iterable[str]) -> str:
    """The version of rows of extractor "local": the rules and the entity types."""
    return f"{local.VERSION} {','.join(sorted(types))}"


def llm_version(model: str, types: Iterable[str]) -> str:
    """The version of rows of extractor "llm": the prompt, the model and the entity types."""
    return f"{by_llm.VERSION} {model} {','.join(sorted(types))}"


def extract_locally(library: Store, types: Sequence[str], on_progress: OnProgress) -> Report:
    """Read all passages that the current rules have not read, paper by paper; stores a batch at a time."""
    version, report = local_version(types), Report()
    pending = frozenset(library.graph.pending("local", version))
    on_progress(0, len(pending))
    for _, chunks in _papers(library, pending):
        names = local.own_names(chunks, frozenset(types))
        todo = [chunk for chunk in chunks if chunk.chunk_id in pending]
        for begin in range(0, len(todo), BATCH):
            report.keep(library, "local", version, [local.extract(one, names) for one in todo[begin : begin + BATCH]])
            on_progress(report.passages, len(pending))
        report.papers += 1
    return report


def extract_by_llm(library: Store, llm: ChatModel, reading: LLMReading, on_progress: OnProgress) -> Report:
    """Ask a model about each paper's title and abstract, or about every passage, that it has not read yet.

    Each reply is stored at once. A passage without a usable one is left for the next run. Raises ModelProblem if the
    server gave no reply at all.
    """
    report = Report()
    pending = frozenset(library.graph.pending("llm", reading.version))
    prompts = [
        (paper, [chunk.chunk_id for chunk in unit])
        for paper, chunks in _papers(library, pending)
        for unit in _units(chunks, pending, full=reading.full)
    ]
    total = sum(len(ids) for _, ids in prompts)
    on_progress(0, total)
    done, in_a_row, papers = 0, 0, set[int]()
    for paper, ids in prompts:
        unit = library.chunks(ids)
        answer = by_llm.ask_for(
            llm, unit, paper.title, reading.types, max_tokens=reading.max_tokens, seconds=reading.seconds
        )
        if answer.failure:
            report.failures.append(f"{paper.file}, p.{unit[0].page_start}: {answer.failure}")
        else:
            report.keep(library, "llm", reading.version, answer.found)
            report.dropped += answer.dropped
            papers.add(paper.paper_id)
        done += len(unit)
        on_progress(done, total)
        in_a_row = in_a_row + 1 if answer.problem else 0
        if in_a_row >= MOST_FAILURES:
            report.left = total - done
            if not report.passages and answer.problem:
                raise ModelProblem(answer.problem.message, answer.problem.fix)
            break
    report.papers = len(papers)
    return report


def _papers(library: Store, pending: frozenset[int]) -> Iterator[tuple[Paper, list[StoredChunk]]]:
    """Papers with a pending passage, by id, with all their passages except references."""
    ids = sorted(pending)
    batches = (ids[begin : begin + LOADED] for begin in range(0, len(ids), LOADED))
    with_pending = {chunk.paper_id for batch in batches for chunk in library.chunks(batch)}
    for paper in sorted(library.papers(), key=lambda each: each.paper_id):
        if paper.paper_id in with_pending:
            chunks = library.paper_chunks(paper.paper_id)
            yield paper, [chunk for chunk in chunks if chunk.kind != "reference"]


def _units(chunks: Sequence[StoredChunk], pending: frozenset[int], *, full: bool) -> list[list[StoredChunk]]:
    """The passages of one prompt: the abstract, in a paper without one the first passage; each passage if `full`."""
    abstract = [chunk for chunk in chunks if chunk.kind == "abstract"][:ABSTRACT_PASSAGES] or list(chunks[:1])
    units = [abstract] + ([[chunk] for chunk in chunks if chunk not in abstract] if full else [])
    return [unit for unit in units if any(chunk.chunk_id in pending for chunk in unit)]
