"""Import and export of the graph: nodes.jsonl and edges.jsonl, and GraphML for other programs (export only).

Types of entities and relations are open: a company graph with FOUNDED and PATENT is imported as it is. Passages have
names that survive re-adding a paper (`GraphTable.stable_ids`), and all lines are sorted: the same papers give the same
bytes. Each line has the share of each passage, so that an import loses nothing.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, ValidationInfo

from ragscience.core.errors import RagScienceError
from ragscience.graph.graph_model import Gathered, gather, load_graph, relation_of
from ragscience.graph.graph_records import LONGEST_NAME, Extracted, Mention, Triple, decoded, encoded, folded, matched
from ragscience.library.atomic_files import disk_errors, put_in_place, write_atomically

if TYPE_CHECKING:
    from ragscience.library.store import Store

__all__ = ["EDGES", "EXTRACTOR", "NODES", "Transferred", "export_graphml", "export_jsonl", "import_jsonl"]

NODES, EDGES = "nodes.jsonl", "edges.jsonl"
EXTRACTOR, VERSION = "import", "1"
LONGEST_ID = 2000
"""Maximum characters of a node_id: the compatibility form of the longest name may be that long."""
HIGHEST_COUNT = 1_000_000

_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Transferred:
    """Counts of what was written or read."""

    entities: int
    relations: int
    passages: int = 0
    """Number of passages in an import."""


def export_jsonl(library: Store, folder: Path) -> Transferred:
    """Write nodes.jsonl and edges.jsonl into `folder`, which is created, replacing older files.

    Raises RagScienceError where a write fails; both files are then unchanged.
    """
    with library.snapshot():
        rows, apart, names = library.graph.rows(), library.graph.apart(), library.graph.stable_ids()
    gathered = gather(((paper, decoded(chunk, text)) for chunk, paper, _, text in rows), apart)
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        _write_together({folder / NODES: _nodes(gathered, names), folder / EDGES: _edges(gathered, names)})
    return Transferred(len(gathered.nodes), len(gathered.edges))


def export_graphml(library: Store, path: Path) -> Transferred:
    """Write the graph as GraphML, by NetworkX; characters that XML does not allow are replaced.

    Nodes have label, node_type, mentions, confidence and chunk_ids (separated by spaces), edges edge_type, count,
    confidence and evidence_chunk_ids. Raises RagScienceError where a write fails.
    """
    from networkx import MultiDiGraph, write_graphml_xml

    with library.snapshot():
        graph, names = load_graph(library), library.graph.stable_ids()
    drawn: MultiDiGraph[str] = MultiDiGraph()
    for entity in graph.entities():
        drawn.add_node(
            _xml(entity.key),
            label=_xml(entity.label),
            node_type=_xml(entity.entity_type),
            mentions=entity.mentions,
            confidence=entity.confidence,
            chunk_ids=" ".join(_named(entity.chunk_ids, names)),
        )
    for number, edge in enumerate(graph.relations()):
        drawn.add_edge(
            _xml(edge.source),
            _xml(edge.target),
            f"e{number}",  # becomes the id of an XML element, which must be unique
            edge_type=_xml(edge.relation),
            count=edge.count,
            confidence=edge.confidence,
            evidence_chunk_ids=" ".join(_named(edge.chunk_ids, names)),
        )
    content = io.BytesIO()
    write_graphml_xml(drawn, content)
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content.getvalue())
    return Transferred(len(graph), graph.relation_count)


_N = TypeVar("_N", int, float)


def _nodes(gathered: Gathered, names: Mapping[int, str]) -> Iterator[dict[str, object]]:
    for key in sorted(gathered.nodes):
        entity, counts = gathered.nodes[key].entity(key), gathered.nodes[key].counts
        shares = {name: _shares(counts[name], names) for name in entity.names}
        yield {
            "node_id": key,
            "label": entity.label,
            "node_type": entity.entity_type,
            "properties": {"mentions": entity.mentions, "confidence": entity.confidence, "names": shares},
            "chunk_ids": _named(entity.chunk_ids, names),
        }


def _edges(gathered: Gathered, names: Mapping[int, str]) -> Iterator[dict[str, object]]:
    for edge in sorted(gathered.edges):
        said = gathered.edges[edge]
        merged = relation_of(edge, said)
        yield {
            "source": merged.source,
            "target": merged.target,
            "edge_type": merged.relation,
            "properties": {"count": merged.count, "confidence": merged.confidence, "said": _shares(said, names)},
            "evidence_chunk_ids": _named(said, names),
        }


def _named(chunks: Iterable[int], names: Mapping[int, str]) -> list[str]:
    """The stable names of passages, by paper and place in it."""
    return sorted((names[chunk] for chunk in chunks), key=_order)


def _shares(shares: Mapping[int, _N], names: Mapping[int, str]) -> dict[str, _N]:
    return {names[chunk]: shares[chunk] for chunk in sorted(shares, key=lambda chunk: _order(names[chunk]))}


def _order(name: str) -> tuple[str, int]:
    paper, _, ordinal = name.partition("#")
    return paper, int(ordinal)


def _xml(text: str) -> str:
    return _NOT_IN_XML.sub("\ufffd", text)


def _write_together(contents: Mapping[Path, Iterable[object]]) -> None:
    """Write all files under temporary names, then rename them. Raises OSError."""
    temporary = {path: path.with_name(f"{path.name}.{os.getpid()}.tmp") for path in contents}
    try:
        for path, lines in contents.items():
            with temporary[path].open("w", encoding="utf-8", newline="\n") as file:
                file.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        for path, written in temporary.items():
            put_in_place(written, path)
    finally:
        for written in temporary.values():
            written.unlink(missing_ok=True)


# Reading


def _not_empty(name: str) -> str:
    if not folded(name):
        raise ValueError("a name is empty")
    return name


def _passage(name: object, info: ValidationInfo) -> int:
    """The id of a passage by its stable name."""
    passages: Mapping[str, int] = info.context or {}
    if not isinstance(name, str) or name not in passages:
        raise ValueError(f"the library has no passage {str(name)[:40]!r}")
    return passages[name]


_Id = Annotated[str, Field(min_length=1, max_length=LONGEST_ID)]
_Name = Annotated[str, Field(max_length=LONGEST_NAME), AfterValidator(_not_empty)]
_Type = Annotated[str, Field(pattern=r"^[^\s:]+$", max_length=100)]
_Share = Annotated[float, Field(ge=0, le=1)]
_Count = Annotated[int, Field(ge=1, le=HIGHEST_COUNT)]
_Passage = Annotated[int, BeforeValidator(_passage)]
_Passages = Annotated[list[_Passage], Field(min_length=1)]


class _Line(BaseModel):
    model_config = ConfigDict(strict=True)


class _NodeProperties(_Line):
    confidence: _Share = 1.0
    names: dict[_Name, Annotated[dict[_Passage, _Count], Field(min_length=1)]] | None = None


class _Node(_Line):
    node_id: _Id
    label: _Name
    node_type: _Type
    properties: _NodeProperties = _NodeProperties()
    chunk_ids: _Passages

    def names(self) -> Mapping[str, Mapping[int, int]]:
        """Name: {passage: number of occurrences}. Raises ValueError if the fields contradict each other."""
        names = self.properties.names
        if names is None:
            return {self.label: dict.fromkeys(self.chunk_ids, 1)}
        if self.label not in names:
            raise ValueError(f"its label {self.label!r} is none of its names")
        if {chunk for counts in names.values() for chunk in counts} != set(self.chunk_ids):
            raise ValueError("chunk_ids and the passages of its names differ")
        return names

    @property
    def key(self) -> str:
        """The node_id if it begins with the type and a colon; else one that does."""
        begins = self.node_id.startswith(f"{self.node_type}:") and folded(self.node_id[len(self.node_type) + 1 :])
        return self.node_id if begins else f"{self.node_type}:{matched(self.label)}"


class _EdgeProperties(_Line):
    confidence: _Share = 1.0
    said: dict[_Passage, _Share] | None = None


class _Edge(_Line):
    source: _Id
    target: _Id
    edge_type: _Type
    properties: _EdgeProperties = _EdgeProperties()
    evidence_chunk_ids: _Passages

    def said(self) -> Mapping[int, float]:
        """Passage: confidence of the relation there. Raises ValueError if the fields contradict each other."""
        said = self.properties.said
        if said is not None and set(said) != set(self.evidence_chunk_ids):
            raise ValueError("evidence_chunk_ids and the passages of said differ")
        return dict.fromkeys(self.evidence_chunk_ids, self.properties.confidence) if said is None else said


def import_jsonl(library: Store, folder: Path) -> Transferred:
    """Read the nodes.jsonl and edges.jsonl of a folder into the library's graph, replacing an earlier import.

    The format is that of `export_jsonl`; `properties` may be absent. Raises RagScienceError, with the file and the
    number of the first wrong line, before anything is changed.
    """
    with library.snapshot():
        passages = {name: chunk for chunk, name in library.graph.stable_ids().items()}
    problems: list[str] = []
    nodes: dict[str, tuple[int, _Node]] = {}
    edges: dict[tuple[str, str, str], int] = {}
    mentions: dict[int, list[Mention]] = defaultdict(list)
    triples: dict[int, list[Triple]] = defaultdict(list)

    def add_node(number: int, node: _Node) -> None:
        if node.node_id in nodes:
            raise ValueError(f"node_id {node.node_id[:100]!r} is that of line {nodes[node.node_id][0]}, too")
        for name, counts in node.names().items():
            for chunk, count in counts.items():
                mention = Mention(name, node.node_type, count, node.properties.confidence, node.key)
                mentions[chunk].append(mention)
        nodes[node.node_id] = number, node

    def add_edge(number: int, edge: _Edge) -> None:
        for end in (edge.source, edge.target):
            if end not in nodes:
                raise ValueError(f"there is no node {end[:100]!r} in {NODES}")
        source, target = nodes[edge.source][1], nodes[edge.target][1]
        if source.key == target.key:
            raise ValueError(f"it joins {source.label!r} to itself")
        said, ends = edge.said(), (source.key, target.key, edge.edge_type)
        if ends in edges:
            raise ValueError(f"the same edge as line {edges[ends]}")
        edges[ends] = number
        both = (source.label, source.node_type, edge.edge_type, target.label, target.node_type)
        for chunk, confidence in said.items():
            triples[chunk].append(Triple(*both, confidence, source.key, target.key))

    _read(folder / NODES, _Node, passages, add_node, problems)
    _read(folder / EDGES, _Edge, passages, add_edge, problems)
    if problems:
        more = len(problems) - 1
        others = f" ({more} more line{'s are' if more > 1 else ' is'} wrong.)" if more else ""
        raise RagScienceError(f"{problems[0]}{others}", "Nothing was imported; correct the file and try again.")
    found = [Extracted(chunk, tuple(mentions[chunk]), tuple(triples[chunk])) for chunk in sorted({*mentions, *triples})]
    library.graph.replace(EXTRACTOR, VERSION, [(each.chunk_id, encoded(each)) for each in found])
    return Transferred(len(nodes), len(edges), len(found))


_L = TypeVar("_L", bound=_Line)


def _read(
    path: Path, line_type: type[_L], passages: Mapping[str, int], add: Callable[[int, _L], None], problems: list[str]
) -> None:
    """Call `add` with the number and the content of each line that is not empty; collects errors as problems."""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    if line.strip():
                        add(number, line_type.model_validate_json(line, context=passages))
                except ValidationError as wrong:
                    problems.append(f"{path.name}, line {number}: {_first(wrong)}.")
                except ValueError as wrong:
                    problems.append(f"{path.name}, line {number}: {wrong}.")
    except OSError as error:
        problems.append(f"{path} cannot be read: {error.strerror}.")


def _first(wrong: ValidationError) -> str:
    """The first error in one short line: where, what, and the value."""
    error = wrong.errors()[0]
    if not error["loc"]:
        return f"this is not a JSON object ({error['msg']})"
    where = " ".join(str(part) if str(part).isidentifier() else _shortened(part) for part in error["loc"])
    seen = "" if error["type"] in ("value_error", "missing") else f", not {_shortened(error['input'])}"
    return f"{where[:80]}: {error['msg'].removeprefix('Value error, ')}{seen}"


def _shortened(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:39]}…"
