"""nodes.jsonl and edges.jsonl become rows of the library: all of them, or, with anything wrong in them, none."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragscience.errors import RagScienceError
from ragscience.graph.extraction_json import encoded
from ragscience.graph.graph_export import EDGES, NODES
from ragscience.graph.graph_records import (
    CO_OCCURS,
    ENTITY_TYPES,
    LONGEST_NAME,
    OPTIONAL_TYPES,
    RELATION_TYPES,
    Extracted,
    Mention,
    Triple,
    folded,
    matched,
)

if TYPE_CHECKING:
    from ragscience.store import Library

__all__ = ["EXTRACTOR", "Imported", "import_jsonl"]

EXTRACTOR = "import"
VERSION = "1"
LONGEST_ID = 2000
"""Characters of a node_id: compatibility forms of the longest name may be that long."""
HIGHEST_COUNT = 1_000_000

_NODE_TYPES = (*ENTITY_TYPES, *OPTIONAL_TYPES)
_EDGE_TYPES = (*RELATION_TYPES, CO_OCCURS)


@dataclass(frozen=True, slots=True)
class Imported:
    """How much was read, and how many passages it is about."""

    entities: int
    relations: int
    passages: int


class _Wrong(Exception):
    """What is wrong with a line, in words."""


@dataclass(frozen=True, slots=True)
class _Node:
    line: int
    key: str
    label: str
    entity_type: str
    confidence: float
    names: Mapping[str, Mapping[int, int]]
    """Name: {passage: count}."""


@dataclass(frozen=True, slots=True)
class _Edge:
    source: _Node
    target: _Node
    relation: str
    said: Mapping[int, float]


def import_jsonl(library: Library, folder: Path) -> Imported:
    """Take the nodes.jsonl and edges.jsonl of a folder into the library's graph, in place of an earlier import.

    Both are as `export_jsonl` writes them; of `properties`, which may be absent, only what that writes is kept. A
    node_id that does not begin with its type and a colon is made one that does. Raises RagScienceError, with the file
    and the number of the first line that is wrong, before anything is changed.
    """
    with library.snapshot():
        passages = {name: chunk for chunk, name in library.graph.stable_ids().items()}
    problems: list[str] = []
    nodes = _nodes(folder / NODES, passages, problems)
    edges = _edges(folder / EDGES, passages, nodes, problems)
    if problems:
        more = len(problems) - 1
        others = f" ({more} more line{'s are' if more > 1 else ' is'} wrong.)" if more else ""
        raise RagScienceError(f"{problems[0]}{others}", "Nothing was imported; mend the file and try again.")
    rows = _rows(nodes.values(), edges)
    library.graph.replace(EXTRACTOR, VERSION, [(chunk, encoded(found)) for chunk, found in rows.items()])
    return Imported(len(nodes), len(edges), len(rows))


def _rows(nodes: Iterable[_Node], edges: list[_Edge]) -> dict[int, Extracted]:
    mentions: dict[int, list[Mention]] = defaultdict(list)
    triples: dict[int, list[Triple]] = defaultdict(list)
    for node in nodes:
        for name, counts in node.names.items():
            for chunk, count in counts.items():
                mentions[chunk].append(Mention(name, node.entity_type, count, node.confidence, node.key))
    for edge in edges:
        source, target = edge.source, edge.target
        for chunk, confidence in edge.said.items():
            ends = (source.label, source.entity_type, edge.relation, target.label, target.entity_type)
            triples[chunk].append(Triple(*ends, confidence, source.key, target.key))
    return {
        chunk: Extracted(chunk, tuple(mentions[chunk]), tuple(triples[chunk]))
        for chunk in sorted({*mentions, *triples})
    }


def _nodes(path: Path, passages: Mapping[str, int], problems: list[str]) -> dict[str, _Node]:
    """The nodes by node_id."""
    nodes: dict[str, _Node] = {}
    for number, content in _lines(path, problems):
        try:
            node_id = _text(content, "node_id", LONGEST_ID)
            if node_id in nodes:
                raise _Wrong(f"node_id {node_id!r} is that of line {nodes[node_id].line}, too")
            nodes[node_id] = _node(number, node_id, content, passages)
        except _Wrong as wrong:
            problems.append(f"{path.name}, line {number}: {wrong}.")
    return nodes


def _node(number: int, node_id: str, content: Mapping[str, object], passages: Mapping[str, int]) -> _Node:
    label = _name(_text(content, "label", LONGEST_NAME))
    kind = _one_of(content, "node_type", _NODE_TYPES)
    properties = _object(content.get("properties", {}), "properties")
    chunks = _passages(content, "chunk_ids", passages)
    told = properties.get("names")
    names = {label: dict.fromkeys(chunks, 1)} if told is None else _names(told, passages)
    if label not in names:
        raise _Wrong(f"its label {label!r} is none of its names")
    if {chunk for counts in names.values() for chunk in counts} != set(chunks):
        raise _Wrong("chunk_ids and the passages of its names differ")
    key = node_id if node_id.startswith(f"{kind}:") and folded(node_id[len(kind) + 1 :]) else f"{kind}:{matched(label)}"
    return _Node(number, key, label, kind, _share(properties.get("confidence", 1.0), "confidence"), names)


def _names(told: object, passages: Mapping[str, int]) -> dict[str, dict[int, int]]:
    names: dict[str, dict[int, int]] = {}
    for name, counts in _object(told, "names").items():
        if len(name) > LONGEST_NAME:
            raise _Wrong(f"a name of {len(name):,} characters ({name[:20]!r}…); at most {LONGEST_NAME}")
        found = {_passage(chunk, passages): _count(count) for chunk, count in _object(counts, repr(name)).items()}
        if not found:
            raise _Wrong(f"the name {name!r} has no passage")
        names[_name(name)] = found
    return names


def _edges(path: Path, passages: Mapping[str, int], nodes: Mapping[str, _Node], problems: list[str]) -> list[_Edge]:
    edges: list[_Edge] = []
    seen: dict[tuple[str, str, str], int] = {}
    for number, content in _lines(path, problems):
        try:
            edge = _edge(content, passages, nodes)
            ends = (edge.source.key, edge.target.key, edge.relation)
            if ends in seen:
                raise _Wrong(f"the same edge as line {seen[ends]}")
            seen[ends] = number
            edges.append(edge)
        except _Wrong as wrong:
            problems.append(f"{path.name}, line {number}: {wrong}.")
    return edges


def _edge(content: Mapping[str, object], passages: Mapping[str, int], nodes: Mapping[str, _Node]) -> _Edge:
    ends = [_text(content, end, LONGEST_ID) for end in ("source", "target")]
    for end in ends:
        if end not in nodes:
            raise _Wrong(f"there is no node {end[:100]!r} in {NODES}")
    source, target = nodes[ends[0]], nodes[ends[1]]
    if source.key == target.key:
        raise _Wrong(f"it joins {source.label!r} to itself")
    relation = _one_of(content, "edge_type", _EDGE_TYPES)
    properties = _object(content.get("properties", {}), "properties")
    chunks = _passages(content, "evidence_chunk_ids", passages)
    sure = _share(properties.get("confidence", 1.0), "confidence")
    if properties.get("said") is None:
        return _Edge(source, target, relation, dict.fromkeys(chunks, sure))
    said = {
        _passage(chunk, passages): _share(each, "said") for chunk, each in _object(properties["said"], "said").items()
    }
    if set(said) != set(chunks):
        raise _Wrong("evidence_chunk_ids and the passages of said differ")
    return _Edge(source, target, relation, said)


def _lines(path: Path, problems: list[str]) -> Iterator[tuple[int, dict[str, object]]]:
    """Each line that is an object, with its number; what is none becomes a problem, an empty line is left out."""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                try:
                    content = json.loads(line)
                except (ValueError, RecursionError):
                    content = None
                if isinstance(content, dict):
                    yield number, content
                else:
                    problems.append(f"{path.name}, line {number}: this is not a JSON object.")
    except OSError as error:
        problems.append(f"{path} cannot be read: {error.strerror}.")


def _object(value: object, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _Wrong(f"{what} is not an object")
    return value


def _text(content: Mapping[str, object], field: str, longest: int) -> str:
    value = content.get(field)
    if not isinstance(value, str) or not value.strip():
        raise _Wrong(f"{field} is missing or empty" if value in (None, "") else f"{field} is no text")
    if len(value) > longest:
        raise _Wrong(f"{field} has {len(value):,} characters ({value[:20]!r}…); at most {longest:,}")
    return _encodable(value)


def _name(name: str) -> str:
    if not folded(name):
        raise _Wrong("a name is empty")
    return _encodable(name)


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise _Wrong(f"{text[:20]!r} has half a character") from error
    return text


def _one_of(content: Mapping[str, object], field: str, known: tuple[str, ...]) -> str:
    value = content.get(field)
    if not isinstance(value, str) or value not in known:
        raise _Wrong(f"{field} is {str(value)[:40]!r}, not one of {', '.join(known)}")
    return value


def _passages(content: Mapping[str, object], field: str, passages: Mapping[str, int]) -> list[int]:
    told = content.get(field)
    if not isinstance(told, list) or not told:
        raise _Wrong(f"{field} is not a list of passages")
    return [_passage(each, passages) for each in told]


def _passage(name: object, passages: Mapping[str, int]) -> int:
    if not isinstance(name, str) or name not in passages:
        raise _Wrong(f"the library has no passage {str(name)[:40]!r}")
    return passages[name]


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= HIGHEST_COUNT:
        raise _Wrong(f"a count is {str(value)[:40]}, not from 1 to {HIGHEST_COUNT:,}")
    return value


def _share(value: object, what: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
        raise _Wrong(f"{what} is {str(value)[:40]}, not from 0 to 1")
    return float(value)
