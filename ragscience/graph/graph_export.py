"""The graph as files: nodes.jsonl and edges.jsonl, which `importing` reads, and GraphML for other programs.

Passages go by names that stay when a paper leaves and comes back (`GraphTable.stable_ids`), and everything is sorted:
the same papers give the same bytes. Each line tells what each passage says, so that nothing is lost on the way back.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ragscience.graph.entity_merging import Gathered, gather, load_graph, relation
from ragscience.graph.extraction_json import decoded
from ragscience.store.atomic_files import disk_errors, put_in_place, write_atomically

if TYPE_CHECKING:
    from ragscience.store import Library

__all__ = ["EDGES", "NODES", "Exported", "export_graphml", "export_jsonl"]

NODES, EDGES = "nodes.jsonl", "edges.jsonl"

_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Exported:
    """How much was written."""

    entities: int
    relations: int


def export_jsonl(library: Library, folder: Path) -> Exported:
    """Write nodes.jsonl and edges.jsonl into `folder`, which is made, in place of what they were.

    Raises RagScienceError where the disk refuses; both files are then as they were.
    """
    with library.snapshot():
        rows, apart, names = library.graph.rows(), library.graph.apart(), library.graph.stable_ids()
    gathered = gather(((paper, decoded(chunk, text)) for chunk, paper, _, text in rows), apart)
    places = {chunk: place for place, chunk in enumerate(sorted(names, key=lambda chunk: _order(names[chunk])))}
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        _write_together(
            {folder / NODES: _nodes(gathered, names, places), folder / EDGES: _edges(gathered, names, places)}
        )
    return Exported(len(gathered.nodes), len(gathered.edges))


def export_graphml(library: Library, path: Path) -> Exported:
    """Write the graph as GraphML, by NetworkX; characters that XML cannot hold are replaced.

    Nodes have label, node_type, mentions, confidence and chunk_ids (parted by blanks), edges edge_type, count,
    confidence and evidence_chunk_ids. Raises RagScienceError where the disk refuses.
    """
    from networkx import MultiDiGraph, write_graphml_xml

    with library.snapshot():
        graph, names = load_graph(library), library.graph.stable_ids()
    told: MultiDiGraph[str] = MultiDiGraph()

    def passages(chunks: Iterable[int]) -> str:
        return " ".join(sorted((names[chunk] for chunk in chunks), key=_order))

    for number, entity in enumerate(graph.entities()):
        told.add_node(
            _xml(entity.key),
            label=_xml(entity.label),
            node_type=entity.entity_type,
            mentions=entity.mentions,
            confidence=entity.confidence,
            chunk_ids=passages(graph.chunks_of(number).tolist()),
        )
    for number, edge in enumerate(graph.relations()):
        told.add_edge(
            _xml(edge.source),
            _xml(edge.target),
            f"e{number}",  # becomes the id of an XML element, which must be the only one
            edge_type=edge.relation,
            count=edge.count,
            confidence=edge.confidence,
            evidence_chunk_ids=passages(graph.evidence_of(number).tolist()),
        )
    content = io.BytesIO()
    write_graphml_xml(told, content)
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content.getvalue())
    return Exported(len(graph), graph.relation_count)


def _nodes(gathered: Gathered, names: Mapping[int, str], places: Mapping[int, int]) -> Iterator[str]:
    for key in sorted(gathered.nodes):
        node = gathered.nodes[key]
        entity = node.entity(key)
        chunks = sorted(entity.chunk_ids, key=places.__getitem__)
        counts = {
            name: {
                names[chunk]: node.counts[name][chunk] for chunk in sorted(node.counts[name], key=places.__getitem__)
            }
            for name in entity.names
        }
        yield _line(
            node_id=key,
            label=entity.label,
            node_type=entity.entity_type,
            properties={"mentions": entity.mentions, "confidence": entity.confidence, "names": counts},
            chunk_ids=[names[chunk] for chunk in chunks],
        )


def _edges(gathered: Gathered, names: Mapping[int, str], places: Mapping[int, int]) -> Iterator[str]:
    for edge in sorted(gathered.edges):
        said = gathered.edges[edge]
        merged = relation(edge, said)
        chunks = sorted(said, key=places.__getitem__)
        yield _line(
            source=merged.source,
            target=merged.target,
            edge_type=merged.relation,
            properties={
                "count": merged.count,
                "confidence": merged.confidence,
                "said": {names[chunk]: said[chunk] for chunk in chunks},
            },
            evidence_chunk_ids=[names[chunk] for chunk in chunks],
        )


def _line(**content: object) -> str:
    return json.dumps(content, ensure_ascii=False) + "\n"


def _order(name: str) -> tuple[str, int]:
    paper, _, ordinal = name.partition("#")
    return paper, int(ordinal)


def _xml(text: str) -> str:
    return _NOT_IN_XML.sub("\ufffd", text)


def _write_together(contents: Mapping[Path, Iterable[str]]) -> None:
    """Write all files, and only then give them their names. Raises OSError."""
    temporary = {path: path.with_name(f"{path.name}.{os.getpid()}.tmp") for path in contents}
    try:
        for path, lines in contents.items():
            with temporary[path].open("w", encoding="utf-8", newline="\n") as file:
                file.writelines(lines)
        for path, written in temporary.items():
            put_in_place(written, path)
    finally:
        for written in temporary.values():
            written.unlink(missing_ok=True)
