"""The graph in memory: columns of entities and relations, and an adjacency list.

Entities and relations have numbers, in the order of their keys; records are created on request. So a graph of
100,000 entities and 500,000 relations loads in a fraction of a second, and a traversal touches only what it visits.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ragscience.graph.graph_records import Entity, Relation, matched

if TYPE_CHECKING:
    from networkx import MultiDiGraph

__all__ = ["KnowledgeGraph"]

FORMAT = "graph 1"
_DIGEST_BYTES = 16
_BETWEEN_NAMES = "\x1f"

Columns = Mapping[str, NDArray[np.generic]]


class KnowledgeGraph:
    """Entities and relations, each with a number from 0; created by `of`, or by `load` from the bytes of `saved`."""

    def __init__(self, columns: Columns) -> None:
        """`columns` as `of` makes them."""
        self._columns = columns
        self._keys, self._labels = _Texts(columns, "key"), _Texts(columns, "label")
        self._types, self._names = _Texts(columns, "type"), _Texts(columns, "names")
        self._relation_names = _Texts(columns, "relation_name")
        self.sources: NDArray[np.int32] = columns["source"].astype(np.int32, copy=False)
        """Number of each relation's source, shape (relations,), int32."""
        self.targets: NDArray[np.int32] = columns["target"].astype(np.int32, copy=False)
        self.confidences: NDArray[np.float32] = columns["edge_confidence"].astype(np.float32, copy=False)
        self.mentions: NDArray[np.int32] = columns["mentions"].astype(np.int32, copy=False)
        """How often each entity is named, shape (entities,), int32."""
        self._kinds = columns["relation"]

    @classmethod
    def of(cls, entities: Sequence[Entity], relations: Sequence[Relation]) -> KnowledgeGraph:
        """From records in any order; raises KeyError for a relation of an unknown entity."""
        nodes = sorted(entities, key=lambda entity: entity.key)
        number = {entity.key: index for index, entity in enumerate(nodes)}
        edges = sorted(relations, key=lambda one: (one.source, one.target, one.relation))
        kinds = sorted({one.relation for one in edges})
        code = {name: index for index, name in enumerate(kinds)}
        columns: dict[str, NDArray[np.generic]] = {
            **_texts("key", [entity.key for entity in nodes]),
            **_texts("label", [entity.label for entity in nodes]),
            **_texts("type", [entity.entity_type for entity in nodes]),
            **_texts("names", [_joined(entity.names) for entity in nodes]),
            **_texts("relation_name", kinds),
            **_texts("canonical", [_joined(_canonical_names(entity)) for entity in nodes]),
            "mentions": np.array([entity.mentions for entity in nodes], np.int32),
            "confidence": np.array([entity.confidence for entity in nodes], np.float32),
            **_lists("chunks", [entity.chunk_ids for entity in nodes]),
            "source": np.array([number[one.source] for one in edges], np.int32),
            "target": np.array([number[one.target] for one in edges], np.int32),
            "relation": np.array([code[one.relation] for one in edges], np.uint16),
            "count": np.array([one.count for one in edges], np.int32),
            "edge_confidence": np.array([one.confidence for one in edges], np.float32),
            **_lists("evidence", [one.chunk_ids for one in edges]),
        }
        return cls(columns)

    # On disk

    def saved(self, state: str) -> bytes:
        """The bytes of a cache file, which `load` reads if the state is the same."""
        buffer = io.BytesIO()
        told = np.frombuffer(f"{FORMAT}\n{state}".encode(), np.uint8)
        np.savez(buffer, allow_pickle=False, told=told, **self._columns)
        return _signed(buffer.getvalue())

    @classmethod
    def load(cls, path: Path, state: str) -> KnowledgeGraph | None:
        """The graph saved for this state; None if it is missing, outdated or damaged."""
        try:
            content = path.read_bytes()
        except OSError:
            return None
        if not _is_whole(content):
            return None
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            if stored["told"].tobytes().decode() != f"{FORMAT}\n{state}":
                return None
            return cls({name: stored[name] for name in stored.files if name != "told"})

    # Contents

    def __len__(self) -> int:
        """Number of entities."""
        return len(self._keys)

    @property
    def relation_count(self) -> int:
        """Number of relations."""
        return len(self.sources)

    def entity(self, number: int) -> Entity:
        """The record of an entity."""
        columns = self._columns
        return Entity(
            self._keys[number],
            self._labels[number],
            self._types[number],
            tuple(self._names[number].split(_BETWEEN_NAMES)),
            int(columns["mentions"][number]),
            round(float(columns["confidence"][number]), 6),
            tuple(self.chunks_of(number).tolist()),
        )

    def relation(self, number: int) -> Relation:
        """The record of a relation."""
        return Relation(
            self._keys[int(self.sources[number])],
            self._keys[int(self.targets[number])],
            self.kind(number),
            int(self._columns["count"][number]),
            round(float(self.confidences[number]), 6),
            tuple(self.evidence_of(number).tolist()),
        )

    def entities(self) -> Iterator[Entity]:
        """All, by key."""
        return map(self.entity, range(len(self)))

    def relations(self) -> Iterator[Relation]:
        """All, by source, target and relation."""
        return map(self.relation, range(self.relation_count))

    def label(self, number: int) -> str:
        """The display name."""
        return self._labels[number]

    def entity_type(self, number: int) -> str:
        """Its type, as "METHOD"."""
        return self._types[number]

    def kind(self, number: int) -> str:
        """A relation's type, as "USES"."""
        return self._relation_names[int(self._kinds[number])]

    def are_kind(self, edges: NDArray[np.int64], kind: str) -> NDArray[np.bool_]:
        """Which of these relations have this type, shape (len(edges),), bool."""
        codes = [code for code, name in enumerate(self._relation_names) if name == kind]
        return np.isin(self._kinds[edges], codes)

    def chunks_of(self, number: int) -> NDArray[np.int64]:
        """Ids of the passages that name an entity, ascending, int64."""
        return _row(self._columns, "chunks", number)

    def evidence_of(self, number: int) -> NDArray[np.int64]:
        """Ids of the passages that state a relation, ascending, int64."""
        return _row(self._columns, "evidence", number)

    def number_of(self, key: str) -> int | None:
        """The number of the entity with this key, or None."""
        return self._numbers.get(key)

    def by_name(self, name: str) -> tuple[int, ...]:
        """Numbers of the entities with this name, ignoring hyphens, plural and case, ascending."""
        return self.names.get(matched(name), ())

    @cached_property
    def names(self) -> dict[str, tuple[int, ...]]:
        """Canonical names, each with the numbers of the entities that have it, ascending."""
        found: dict[str, tuple[int, ...]] = {}
        for number, names in enumerate(_Texts(self._columns, "canonical")):
            for name in names.split(_BETWEEN_NAMES):
                found[name] = (*found.get(name, ()), number)
        return found

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {key: number for number, key in enumerate(self._keys)}

    # Adjacency

    @cached_property
    def _beside(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """(start of each entity's edges, numbers of relations, of the entities at their other ends), both ways."""
        ends = np.concatenate([self.sources, self.targets])
        order = np.argsort(ends, kind="stable")
        starts = np.searchsorted(ends[order], np.arange(len(self) + 1))
        others = np.concatenate([self.targets, self.sources])[order]
        return starts.astype(np.int64), order % max(self.relation_count, 1), others.astype(np.int64)

    def edges_of(self, number: int) -> NDArray[np.int64]:
        """Numbers of the relations of an entity, in either direction, int64."""
        starts, edges, _ = self._beside
        return edges[starts[number] : starts[number + 1]]

    def around(self, numbers: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """One step from many entities at once: (entity, relation, entity at its other end), each int64, a row per edge.

        In the order of `numbers`; a relation between two of them occurs twice, once from each side.
        """
        starts, edges, others = self._beside
        origins = numbers.astype(np.int64)
        first = starts[origins]
        count = starts[origins + 1] - first
        places = np.repeat(first - np.cumsum(count) + count, count) + np.arange(int(count.sum()))
        return np.repeat(origins, count), edges[places], others[places]

    def degree(self, number: int) -> int:
        """The degree of an entity."""
        starts = self._beside[0]
        return int(starts[number + 1] - starts[number])

    def degrees(self) -> NDArray[np.int64]:
        """The degree of each entity, shape (entities,), int64."""
        return np.diff(self._beside[0])

    def other_ends(self, number: int, edges: NDArray[np.int64]) -> NDArray[np.int64]:
        """The numbers of the entities at the other ends of an entity's relations, int64."""
        sources, targets = self.sources[edges].astype(np.int64), self.targets[edges].astype(np.int64)
        return np.where(sources == number, targets, sources)

    @cached_property
    def networkx(self) -> MultiDiGraph[str]:
        """The graph as a NetworkX graph: keys as nodes, an edge for each relation, its type as the edge's key."""
        from networkx import MultiDiGraph

        graph: MultiDiGraph[str] = MultiDiGraph()
        columns, keys = self._columns, list(self._keys)
        kinds = list(self._relation_names)
        nodes = zip(
            self._labels, self._types, columns["mentions"].tolist(), columns["confidence"].tolist(), strict=True
        )
        graph.add_nodes_from(
            (key, {"label": label, "node_type": kind, "mentions": mentions, "confidence": round(sure, 6)})
            for key, (label, kind, mentions, sure) in zip(keys, nodes, strict=True)
        )
        ends = zip(self.sources.tolist(), self.targets.tolist(), self._kinds.tolist(), strict=True)
        told = zip(columns["count"].tolist(), self.confidences.tolist(), strict=True)
        graph.add_edges_from(
            (keys[source], keys[target], kinds[kind], {"count": count, "confidence": round(sure, 6)})  # type: ignore[misc]  # (u, v, key, data)
            for (source, target, kind), (count, sure) in zip(ends, told, strict=True)
        )
        return graph


class _Texts:
    """A column of texts: their UTF-8 bytes concatenated, and their offsets."""

    def __init__(self, columns: Columns, name: str) -> None:
        self._bytes = columns[f"{name}_bytes"].tobytes()
        self._starts: list[int] = columns[f"{name}_starts"].tolist()

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __iter__(self) -> Iterator[str]:
        return map(self.__getitem__, range(len(self)))

    def __getitem__(self, number: int) -> str:
        return self._bytes[self._starts[number] : self._starts[number + 1]].decode()


def _signed(archive: bytes) -> bytes:
    """The zip file with its own digest as its comment, whose length is its last two bytes."""
    body = archive[:-2] + _DIGEST_BYTES.to_bytes(2, "little")
    return body + hashlib.blake2b(body, digest_size=_DIGEST_BYTES).digest()


def _is_whole(content: bytes) -> bool:
    body, digest = content[:-_DIGEST_BYTES], content[-_DIGEST_BYTES:]
    return hashlib.blake2b(body, digest_size=_DIGEST_BYTES).digest() == digest


def _canonical_names(entity: Entity) -> list[str]:
    """Canonical names from its names and its key: an acronym's expansion may occur in no passage of the entity."""
    return sorted({matched(name) for name in (*entity.names, entity.key.partition(":")[2])} - {""})


def _joined(names: Sequence[str]) -> str:
    return _BETWEEN_NAMES.join(name.replace(_BETWEEN_NAMES, " ") for name in names)


def _texts(name: str, texts: Sequence[str]) -> dict[str, NDArray[np.generic]]:
    encoded = [text.encode("utf-8", "replace") for text in texts]
    starts = np.concatenate([[0], np.cumsum([len(each) for each in encoded], dtype=np.int64)]).astype(np.int64)
    return {f"{name}_bytes": np.frombuffer(b"".join(encoded), np.uint8), f"{name}_starts": starts}


def _lists(name: str, lists: Sequence[Sequence[int]]) -> dict[str, NDArray[np.generic]]:
    starts = np.concatenate([[0], np.cumsum([len(each) for each in lists], dtype=np.int64)]).astype(np.int64)
    flat = np.fromiter((value for each in lists for value in each), np.int64, int(starts[-1]))
    return {f"{name}_ids": flat, f"{name}_starts": starts}


def _row(columns: Columns, name: str, number: int) -> NDArray[np.int64]:
    starts = columns[f"{name}_starts"]
    ids: NDArray[np.int64] = columns[f"{name}_ids"][int(starts[number]) : int(starts[number + 1])].astype(np.int64)
    return ids
