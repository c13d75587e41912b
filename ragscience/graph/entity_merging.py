"""Merges mentions and triples of all passages into entities and relations, independent of the order of passages.

Mentions are one entity if their types and canonical names agree. An acronym means its expansion: the one that its
own paper states, else the one that most of the papers that state one agree on, else none. One step only, so no chain of
aliases joins unrelated names. A key from an import is kept. A name that a user has split off is always an entity of
its own.
"""

from __future__ import annotations

import contextlib
import difflib
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragscience.core.errors import NothingFound, RagScienceError
from ragscience.graph.extraction_json import decoded
from ragscience.graph.graph_model import KnowledgeGraph
from ragscience.graph.graph_records import Entity, Extracted, Relation, canonical, folded, matched
from ragscience.library.atomic_files import disk_errors, write_atomically

if TYPE_CHECKING:
    from ragscience.library.store import Store

__all__ = [
    "Edges",
    "Gathered",
    "Merge",
    "Merged",
    "Node",
    "Passage",
    "gather",
    "list_merges",
    "load_graph",
    "merge",
    "merge_again",
    "names_apart",
    "undo_merge",
]

Passage = tuple[int, Extracted]
"""(id of its paper, its extraction)."""
Edges = dict[tuple[str, str, str], dict[int, float]]
"""(source, target, relation): {passage: confidence}."""
AGREEMENT = 2 / 3
"""Minimum share of the papers that state an expansion that must state the same one."""
SUREST = 0.99
"""Maximum confidence of a relation."""
_NONE: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Merged:
    """A graph: entities by key, relations by (source, target, relation)."""

    entities: tuple[Entity, ...]
    relations: tuple[Relation, ...]


class Node:
    """The evidence of all passages about an entity."""

    def __init__(self, entity_type: str) -> None:
        self.entity_type = entity_type
        self.counts: dict[str, dict[int, int]] = {}
        """Name: {passage: number of occurrences}."""
        self.confidence = 0.0

    def entity(self, key: str) -> Entity:
        """The entity's record."""
        totals = {name: sum(counts.values()) for name, counts in self.counts.items()}
        label = min(totals, key=lambda name: (-totals[name], name))
        chunks = tuple(sorted({chunk for counts in self.counts.values() for chunk in counts}))
        confidence = round(self.confidence, 6)
        return Entity(key, label, self.entity_type, tuple(sorted(totals)), sum(totals.values()), confidence, chunks)


@dataclass(frozen=True, slots=True)
class Gathered:
    """All evidence of passages, by entity and by relation, unordered."""

    nodes: dict[str, Node]
    edges: Edges


def merge(passages: Iterable[Passage], apart: frozenset[str] = frozenset()) -> Merged:
    """The graph of these passages; a passage may come more than once, read by several extractors.

    A name whose `folded` form is in `apart` is an entity of its own. A relation of an entity with itself is dropped.
    """
    gathered = gather(passages, apart)
    entities = tuple(gathered.nodes[key].entity(key) for key in sorted(gathered.nodes))
    return Merged(entities, tuple(relation(edge, gathered.edges[edge]) for edge in sorted(gathered.edges)))


def gather(passages: Iterable[Passage], apart: frozenset[str] = frozenset()) -> Gathered:
    """The evidence that `merge` turns into records, passage by passage."""
    kept = list(passages)
    meaning = _Meaning(kept, apart)
    nodes: dict[str, Node] = {}
    for paper, found in kept:
        for mention in found.mentions:
            key = meaning.key(paper, mention.name, mention.entity_type, mention.key)
            node = nodes.get(key) or nodes.setdefault(key, Node(mention.entity_type))
            counts = node.counts.setdefault(mention.name, {})
            counts[found.chunk_id] = max(counts.get(found.chunk_id, 0), mention.count)
            node.confidence = max(node.confidence, mention.confidence)
    edges: Edges = defaultdict(dict)
    for paper, found in kept:
        for triple in found.triples:
            source = meaning.key(paper, triple.subject, triple.subject_type, triple.subject_key)
            target = meaning.key(paper, triple.object, triple.object_type, triple.object_key)
            if source != target and source in nodes and target in nodes:
                evidence = edges[source, target, triple.relation]
                evidence[found.chunk_id] = max(evidence.get(found.chunk_id, 0.0), triple.confidence)
    return Gathered(nodes, dict(edges))


def relation(edge: tuple[str, str, str], evidence: dict[int, float]) -> Relation:
    """The record of an edge.

    Its confidence is 1 - the product of (1 - confidence) over its passages (noisy or), at most SUREST. The factors are
    sorted: a rounded product depends on their order, and passages that leave and come back have other ids.
    """
    doubt = math.prod(sorted(1.0 - min(each, 1.0) for each in evidence.values()))
    return Relation(*edge, len(evidence), round(min(1.0 - doubt, SUREST), 6), tuple(sorted(evidence)))


class _Meaning:
    """The meaning of a name in a paper."""

    def __init__(self, passages: Sequence[Passage], apart: frozenset[str]) -> None:
        self._apart = apart
        votes: dict[int, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
        for paper, found in passages:
            for short, long in found.aliases:
                shortened, meant = canonical(short), canonical(long)
                if shortened and meant and shortened != meant:
                    votes[paper][shortened][meant] += 1
        self._own = {paper: {short: _most(longs) for short, longs in stated.items()} for paper, stated in votes.items()}
        stated: dict[str, Counter[str]] = defaultdict(Counter)
        for meanings in self._own.values():
            for short, long in meanings.items():
                stated[short][long] += 1
        self._common = {
            short: _most(longs) for short, longs in stated.items() if longs[_most(longs)] >= AGREEMENT * longs.total()
        }
        self._forms: dict[str, tuple[str, str]] = {}

    def key(self, paper: int, name: str, entity_type: str, given: str) -> str:
        """The key of the entity that the name means; `given` if an import sets it."""
        forms = self._forms.get(name)
        if forms is None:
            forms = self._forms[name] = (folded(name), matched(name))
        as_it_is, own = forms
        if as_it_is in self._apart:
            return f'{entity_type}:"{as_it_is}"'  # canonical names contain no quotation marks
        if given:
            return given
        long = self._own.get(paper, _NONE).get(own) or self._common.get(own)
        return f"{entity_type}:{long or own}"


def _most(counts: Counter[str]) -> str:
    return min(counts, key=lambda name: (-counts[name], name))


def load_graph(library: Store) -> KnowledgeGraph:
    """The graph from the library's rows; empty if there are none.

    Also writes the cache, unless rows are damaged; a failed write is ignored. Raises RagScienceError for an
    unreadable row.
    """
    state = library.graph.state()
    if not state:
        return KnowledgeGraph.of((), ())
    path = library.home.graph / "graph.npz"
    cached = KnowledgeGraph.load(path, state)
    if cached is not None:
        return cached
    with library.snapshot():
        state, rows, apart = library.graph.state(), library.graph.rows(), library.graph.apart()
    merged = merge(((paper, decoded(chunk, text)) for chunk, paper, _, text in rows), apart)
    graph = KnowledgeGraph.of(merged.entities, merged.relations)
    if library.damage():  # what is left out would stay out of the cache without a word
        return graph
    with contextlib.suppress(RagScienceError), disk_errors(path):
        path.parent.mkdir(exist_ok=True)
        write_atomically(path, graph.saved(state))
    return graph


NEAREST = 3
"""How many similar names are suggested for an unknown one."""


@dataclass(frozen=True, slots=True)
class Merge:
    """An entity with more than one name, ignoring case and spaces."""

    label: str
    entity_type: str
    names: tuple[str, ...]
    """All of them as written in the papers, sorted."""


def list_merges(library: Store) -> list[Merge]:
    """All entities that have more than one name, by label and type."""
    found = [
        Merge(entity.label, entity.entity_type, entity.names)
        for entity in load_graph(library).entities()
        if len({folded(name) for name in entity.names}) > 1
    ]
    return sorted(found, key=lambda merge: (folded(merge.label), merge.label, merge.entity_type))


def names_apart(library: Store) -> list[str]:
    """The names that were split off their entities, folded, sorted."""
    return sorted(library.graph.apart())


def undo_merge(library: Store, name: str) -> str:
    """Make this name an entity of its own, in each of its types; returns the folded name.

    Doing it twice is harmless. Raises NothingFound where no merged entity has the name.
    """
    wanted = folded(name)
    if wanted not in library.graph.apart():
        known = {folded(each) for merge in list_merges(library) for each in merge.names}
        _require(wanted, known, f"No merged entity has the name {name!r}.", "--merges` lists what was merged.")
        library.graph.set_apart([wanted])
    return wanted


def merge_again(library: Store, name: str) -> str:
    """Undo the split of a name; returns the folded name.

    Raises NothingFound for a name that was not split off.
    """
    wanted = folded(name)
    _require(wanted, library.graph.apart(), f"{name!r} was not taken out of a merge.", "--merges` lists the merges.")
    library.graph.set_apart([wanted], merge_again=True)
    return wanted


def _require(wanted: str, known: Iterable[str], message: str, fix: str) -> None:
    names = sorted(known)
    if wanted in names:
        return
    near = difflib.get_close_matches(wanted, names, NEAREST, 0.5)
    offered = f" Near to it: {', '.join(near)}." if near else ""
    raise NothingFound(f"{message}{offered}", f"`python ingest.py graph {fix}")
