"""Where the papers say what the graph has: relations with names and pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragscience.graph.entity_names import folded
from ragscience.graph.graph_records import Relation
from ragscience.records import PathStep, StoredChunk
from ragscience.text.page_spans import page_parts
from ragscience.text.words import joined_lines

if TYPE_CHECKING:
    from ragscience.graph.graph_model import KnowledgeGraph
    from ragscience.store import Library

__all__ = ["label_of", "pages_of", "steps_of"]

MOST_PAGES = 3
"""Pages that are named for a relation."""


def steps_of(relations: Sequence[Relation], graph: KnowledgeGraph, library: Library) -> tuple[PathStep, ...]:
    """The relations with names and pages in place of keys and passages."""
    steps = []
    for one in relations:
        ends = [_names(graph, one.source), _names(graph, one.target)]
        pages = pages_of(one.chunk_ids, ends, library)
        steps.append(PathStep(label_of(graph, one.source), one.relation, label_of(graph, one.target), pages))
    return tuple(steps)


def pages_of(
    chunk_ids: Sequence[int], entities: Sequence[Sequence[str]], library: Library, most: int = MOST_PAGES
) -> tuple[tuple[str, int], ...]:
    """(file, page) of at most `most` passages, each once, in the order of the library.

    Of a passage on several pages it is the first of those that name the most of `entities`, each given by its names.
    """
    chunks = library.chunks(sorted(chunk_ids)[:most])
    return tuple(dict.fromkeys((chunk.file, _page_naming(chunk, entities)) for chunk in chunks))


def _page_naming(chunk: StoredChunk, entities: Sequence[Sequence[str]]) -> int:
    best, most = chunk.page_start, 0
    for page, start, end in page_parts(chunk, 0, len(chunk.text)) if chunk.page_start < chunk.page_end else ():
        text = folded(joined_lines(chunk.text[start:end]))
        named = sum(any(folded(name) in text for name in names) for names in entities)
        if named > most:
            best, most = page, named
    return best


def _names(graph: KnowledgeGraph, key: str) -> tuple[str, ...]:
    number = graph.number_of(key)
    return () if number is None else graph.entity(number).names


def label_of(graph: KnowledgeGraph, key: str) -> str:
    """The name shown for an entity, or its key where the graph has it not."""
    number = graph.number_of(key)
    return key if number is None else graph.label(number)
