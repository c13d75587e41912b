"""Import and export of the graph: nodes.jsonl and edges.jsonl, and GraphML for other programs (export only).

Types of entities and relations are open: a company graph with FOUNDED and PATENT is imported as it is. Passages have
names that survive re-adding a paper (`GraphTable.stable_ids`), and all lines are sorted: the same papers give the same
bytes. Each line has the share of each passage, so that an import loses nothing.
"""

import io
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, ValidationInfo

from ragscience.core.errors import RagScienceError
from ragscience.core.serialization import to_json
from ragscience.graph import graph_records as records
from ragscience.graph.graph_model import gather, relation_of
from ragscience.graph.graph_records import EntityMention, Extracted, Triple
from ragscience.library.atomic_files import disk_errors, write_atomically
from ragscience.library.store import Store

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

    Raises RagScienceError where a write fails.
    """
    nodes, edges = _lines(library)
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name, lines in ((NODES, nodes), (EDGES, edges)):
            write_atomically(folder / name, "".join(to_json(line) + "\n" for line in lines).encode())
    return Transferred(len(nodes), len(edges))


def export_graphml(library: Store, path: Path) -> Transferred:
    """Write the graph as GraphML, by NetworkX; characters that XML does not allow are replaced.

    Nodes have label, node_type, mentions, confidence and chunk_ids (separated by spaces), edges edge_type, count,
    confidence and evidence_chunk_ids. Raises RagScienceError where a write fails.
    """
    from networkx import MultiDiGraph, write_graphml_xml

    nodes, edges = _lines(library)
    drawn: MultiDiGraph[str] = MultiDiGraph()
    for line in nodes:
        drawn.add_node(_xml(line["node_id"]), **_attributes(line))
    for number, line in enumerate(edges):  # the key becomes the id of an XML element, which must be unique
        drawn.add_edge(_xml(line["source"]), _xml(line["target"]), f"e{number}", **_attributes(line))
    content = io.BytesIO()
    write_graphml_xml(drawn, content)
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content.getvalue())
    return Transferred(len(nodes), len(edges))


def _lines(library: Store) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The lines of nodes.jsonl and of edges.jsonl."""
    with library.snapshot():
        rows, names = library.graph.rows(), library.graph.stable_ids()
    found, evidence = gather((paper, records.decoded(chunk, text)) for chunk, paper, _, text in rows)
    nodes, edges = [], []
    for key in sorted(found):
        entity, counts = found[key].entity(key), found[key].counts
        shares = {name: _shares(counts[name], names) for name in entity.names}
        properties = {"mentions": entity.mentions, "confidence": entity.confidence, "names": shares}
        line = {"node_id": key, "label": entity.label, "node_type": entity.entity_type, "properties": properties}
        nodes.append({**line, "chunk_ids": _named(entity.chunk_ids, names)})
    for edge in sorted(evidence):
        merged = relation_of(edge, evidence[edge])
        said = {"count": merged.count, "confidence": merged.confidence, "said": _shares(evidence[edge], names)}
        line = {"source": merged.source, "target": merged.target, "edge_type": merged.relation, "properties": said}
        edges.append({**line, "evidence_chunk_ids": _named(evidence[edge], names)})
    return nodes, edges


def _attributes(line: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a line and of its properties that GraphML can hold, without the ids."""
    values = {**line, **line["properties"]}
    kept = {name: value for name, value in values.items() if name not in ("node_id", "source", "target")}
    texts = {name: " ".join(value) if isinstance(value, list) else value for name, value in kept.items()}
    return {
        name: _xml(value) if isinstance(value, str) else value
        for name, value in texts.items()
        if not isinstance(value, dict)
    }


_N = TypeVar("_N", int, float)


def _named(chunks: Iterable[int], names: Mapping[int, str]) -> list[str]:
    """The stable names of passages."""
    return sorted(names[chunk] for chunk in chunks)


def _shares(shares: Mapping[int, _N], names: Mapping[int, str]) -> dict[str, _N]:
    return dict(sorted((names[chunk], share) for chunk, share in shares.items()))


def _xml(text: str) -> str:
    return _NOT_IN_XML.sub("\ufffd", text)


# Reading


def _not_empty(name: str) -> str:
    if not records.folded(name):
        raise ValueError("a name is empty")
    return name


def _passage(name: object, info: ValidationInfo) -> int:
    """The id of a passage by its stable name."""
    passages: Mapping[str, int] = info.context or {}
    if not isinstance(name, str) or name not in passages:
        raise ValueError(f"the library has no passage {str(name)[:40]!r}")
    return passages[name]


_Id = Annotated[str, Field(min_length=1, max_length=LONGEST_ID)]
_Name = Annotated[str, Field(max_length=records.LONGEST_NAME), AfterValidator(_not_empty)]
_Type = Annotated[str, Field(pattern=r"^[^\s:]+$", max_length=100)]
_Share = Annotated[float, Field(ge=0, le=1)]
_Passage = Annotated[int, BeforeValidator(_passage)]
_Passages = Annotated[list[_Passage], Field(min_length=1)]
_Counts = Annotated[dict[_Passage, Annotated[int, Field(ge=1, le=HIGHEST_COUNT)]], Field(min_length=1)]


class _Line(BaseModel):
    model_config = ConfigDict(strict=True)


class _Properties(_Line):
    confidence: _Share = 1.0
    names: dict[_Name, _Counts] | None = None
    """Of a node: each name, and how often each passage has it."""
    said: dict[_Passage, _Share] | None = None
    """Of an edge: the confidence of each passage."""


class _Node(_Line):
    node_id: _Id
    label: _Name
    node_type: _Type
    properties: _Properties = _Properties()
    chunk_ids: _Passages

    @property
    def key(self) -> str:
        """The node_id if it begins with the type and a colon; else one that does."""
        kind, _, name = self.node_id.partition(":")
        begins = kind == self.node_type and records.folded(name)
        return self.node_id if begins else f"{self.node_type}:{records.matched(self.label)}"


class _Edge(_Line):
    source: _Id
    target: _Id
    edge_type: _Type
    properties: _Properties = _Properties()
    evidence_chunk_ids: _Passages


def import_jsonl(library: Store, folder: Path) -> Transferred:
    """Read the nodes.jsonl and edges.jsonl of a folder into the library's graph, replacing an earlier import.

    The format is that of `export_jsonl`; `properties` may be absent. Raises RagScienceError, with the file and the
    number of the first wrong line, before anything is changed.
    """
    with library.snapshot():
        passages = {name: chunk for chunk, name in library.graph.stable_ids().items()}
    nodes: dict[str, _Node] = {}
    edges: set[tuple[str, str, str]] = set()
    mentions: dict[int, list[EntityMention]] = defaultdict(list)
    triples: dict[int, list[Triple]] = defaultdict(list)
    for line, node in _read(folder / NODES, _Node, passages):
        if nodes.setdefault(node.node_id, node) is not node:
            raise _wrong(line, f"node_id {node.node_id[:100]!r} is also in an earlier line")
        named = node.properties.names or {node.label: dict.fromkeys(node.chunk_ids, 1)}
        for name, counts in named.items():
            for chunk, count in counts.items():
                mention = EntityMention(name, node.node_type, count, node.properties.confidence, node.key)
                mentions[chunk].append(mention)
    for line, edge in _read(folder / EDGES, _Edge, passages):
        missing = [end for end in (edge.source, edge.target) if end not in nodes]
        if missing:
            raise _wrong(line, f"there is no node {missing[0][:100]!r} in {NODES}")
        source, target = nodes[edge.source], nodes[edge.target]
        if source.key == target.key:
            raise _wrong(line, f"it joins {source.label!r} to itself")
        ends = (source.key, target.key, edge.edge_type)
        if ends in edges:
            raise _wrong(line, "an earlier line has the same edge")
        edges.add(ends)
        both = (source.label, source.node_type, edge.edge_type, target.label, target.node_type)
        said = edge.properties.said or dict.fromkeys(edge.evidence_chunk_ids, edge.properties.confidence)
        for chunk, confidence in said.items():
            triples[chunk].append(Triple(*both, confidence, source.key, target.key))
    found = [Extracted(chunk, tuple(mentions[chunk]), tuple(triples[chunk])) for chunk in sorted({*mentions, *triples})]
    library.graph.put(EXTRACTOR, VERSION, [(each.chunk_id, records.encoded(each)) for each in found], alone=True)
    return Transferred(len(nodes), len(edges), len(found))


_L = TypeVar("_L", bound=_Line)


def _read(path: Path, line_type: type[_L], passages: Mapping[str, int]) -> Iterator[tuple[str, _L]]:
    """The content of each line that is not empty, with its place."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise RagScienceError(f"{path} cannot be read: {error.strerror}.", "Name a folder that has it.") from error
    for number, line in enumerate(lines, 1):
        place = f"{path.name}, line {number}"
        try:
            if line.strip():
                yield place, line_type.model_validate_json(line, context=passages)
        except ValidationError as wrong:
            raise _wrong(place, _first(wrong)) from None


def _wrong(place: str, what: str) -> RagScienceError:
    return RagScienceError(f"{place}: {what}.", "Nothing was imported; correct the file and try again.")


def _first(wrong: ValidationError) -> str:
    """The first error in one short line: where, and what."""
    error = wrong.errors()[0]
    if not error["loc"]:
        return f"this is not a JSON object ({error['msg']})"
    where = " ".join(str(part) if str(part).isidentifier() else f"{part!r:.40}" for part in error["loc"])
    return f"{where[:80]}: {error['msg'].removeprefix('Value error, ')}"
