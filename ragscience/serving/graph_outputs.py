"""The JSON of the graph's routes: what `query.py graph` and `path` print, and the MD5 of each paper beside its name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from typing_extensions import TypedDict

from ragscience.core.records import Paper, PathStep, title_of
from ragscience.core.serialization import Count, Output, PageNumber, select
from ragscience.engine.graph_runs import Entity, EntityPassages, GraphSummary
from ragscience.engine.outputs import EntityOutput, GraphPathOutput, PageOutput, RelationOutput

if TYPE_CHECKING:
    from ragscience.engine.graph_runs import Neighbourhood

__all__ = [
    "MOST_UNREAD",
    "ConceptOutput",
    "ConceptsOutput",
    "GraphSummaryOutput",
    "SimilarOutput",
    "concept_output",
    "concepts_output",
    "named_paper",
    "path_output",
    "similar_output",
    "summary_output",
]

MOST_UNREAD = 100
"""Papers that a summary names."""

Md5Of = Mapping[str, str]
"""The MD5 of each paper's file, by its name."""


class NamedPaper(TypedDict):
    """A paper."""

    md5: str
    file: str
    title: str


class NamingPaper(NamedPaper):
    """A paper that names an entity."""

    passages: Count
    """How many of its passages do."""


class SimilarPaper(NamedPaper):
    """A paper, by its similarity to the one asked for."""

    cosine: float


class Quote(PageOutput):
    """A passage that names an entity."""

    md5: str | None
    page: PageNumber
    quote: str


class GraphSummaryOutput(Output):
    """The graph in counts."""

    state: str
    """Changes with the papers and with the graph."""
    built: bool
    """Whether passages were read for it."""
    entities: Count
    relations: Count
    entity_types: Mapping[str, Count]
    relation_types: Mapping[str, Count]
    papers: Count
    papers_unread: Count
    """Papers of which the graph lacks passages."""
    passages: Count
    passages_read: Count
    unread: Sequence[NamedPaper]
    """The first 100 of `papers_unread`."""


class ConceptName(TypedDict):
    """An entity without its pages."""

    id: str
    name: str
    type: str
    names: Sequence[str]
    mentions: Count


class ConceptsOutput(Output):
    """A page of entities."""

    query: str
    total: Count
    offset: Count
    concepts: Sequence[ConceptName]


class ConceptOutput(Output):
    """The entities of a name, and what is around them."""

    entities: Sequence[EntityOutput]
    """Each with its `id`."""
    hops: Count
    relations: Sequence[RelationOutput]
    """The nearest first, from `offset` on."""
    relations_total: Count
    reached: Count
    """Entities within so many hops, without these."""
    papers: Sequence[NamingPaper]
    passages: Sequence[Quote]
    """From `offset` on."""
    passages_total: Count
    offset: Count


class SimilarOutput(Output):
    """The papers most like one."""

    md5: str
    file: str
    related: Sequence[SimilarPaper]


def summary_output(summary: GraphSummary) -> GraphSummaryOutput:
    """The counts, and the first of the papers that were not read."""
    return select(
        GraphSummaryOutput,
        summary,
        built=summary.passages_read > 0,
        papers_unread=len(summary.unread),
        unread=[named_paper(paper) for paper in summary.unread[:MOST_UNREAD]],
    )


def concepts_output(query: str, total: int, offset: int, found: Iterable[Entity]) -> ConceptsOutput:
    """Some of the entities that a query fits."""
    concepts = [select(ConceptName, one, id=one.key, name=one.label, type=one.entity_type) for one in found]
    return select(ConceptsOutput, query=query, total=total, offset=offset, concepts=concepts)


def concept_output(found: Neighbourhood, places: EntityPassages, offset: int, md5: Md5Of) -> ConceptOutput:
    """Entities with their relations, papers and passages."""
    entities = [
        {"id": one.entity.key}
        | select(
            EntityOutput, one.entity, name=one.entity.label, type=one.entity.entity_type, pages=_pages(one.pages, md5)
        )
        for one in found.entities
    ]
    relations = [
        select(RelationOutput, each, each.step, pages=_pages(each.step.pages, md5)) for each in found.relations[offset:]
    ]
    return select(
        ConceptOutput,
        found,
        entities=entities,
        relations=relations,
        relations_total=found.walked,
        papers=[named_paper(paper) | {"passages": count} for paper, count in places.papers],
        passages=[
            {"md5": md5.get(one.file), "file": one.file, "page": one.page, "quote": one.text} for one in places.passages
        ],
        passages_total=places.total,
        offset=offset,
    )


def path_output(names: Sequence[str], steps: Iterable[PathStep], md5: Md5Of) -> GraphPathOutput:
    """How two entities are connected."""
    shown = [
        {"source": step.source, "relation": step.relation, "target": step.target, "pages": _pages(step.pages, md5)}
        for step in steps
    ]
    return select(GraphPathOutput, source=names[0], target=names[-1], steps=shown)


def similar_output(paper: Paper, related: Iterable[tuple[Paper, float]]) -> SimilarOutput:
    """The papers most like one, the nearest first."""
    return select(
        SimilarOutput, paper, related=[named_paper(one) | {"cosine": round(cosine, 6)} for one, cosine in related]
    )


def named_paper(paper: Paper) -> dict[str, Any]:
    """A `NamedPaper`."""
    return {"md5": paper.md5, "file": paper.file, "title": title_of(paper)}


def _pages(pages: Iterable[tuple[str, int]], md5: Md5Of) -> list[dict[str, Any]]:
    return [{"md5": md5.get(file), "file": file, "page": page} for file, page in pages]
