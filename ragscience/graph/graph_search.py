"""Graph retrieval: scores of passages, related concepts, papers to search in, and paths of triples.

Paths lead from a question's entities to what it asks for, found by beam search after GeAR (Shen et al. 2024, "GeAR:
Graph-enhanced Agent for Retrieval-augmented Generation", section 3.2): a path's score is the similarity of the question
to its triples. A path's vector is the mean of its triples' vectors, so that each triple is embedded once.

A question's entities are found by the graph search notes' order: exact names, then a ratio above 0.8,
on word borders and normalised as everywhere in the graph (`graph_records.matched`), so that "LSTMs" names the LSTM.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from ragscience.core.errors import ModelProblem, NothingFound
from ragscience.core.records import Found, FoundPath, Profile
from ragscience.core.tokenizing import STOP_WORDS
from ragscience.graph.graph_model import KnowledgeGraph
from ragscience.graph.graph_records import CO_OCCURS, LONGEST_NAME, GraphPath, Relation, folded, matched
from ragscience.graph.traversal import Walk, damping, passage_scores, steps_of, strength, walk
from ragscience.library.store import Store
from ragscience.models.model_protocols import Embedder

HOPS = 2
"""Steps from a question's entities: the graph guide's depth."""
BEAM = 8
"""Beam width: paths that continue from step to step."""
CONTINUATIONS, FEWEST = 32, 4
"""Maximum continuations of a path, the strongest relations; and their minimum, however many paths there are."""
MOST_EMBEDDED = 96
"""Maximum triples embedded for one question."""
MOST_PATHS = 8
"""Maximum paths returned."""
MOST_CONCEPTS = 10
"""Maximum names near a question, for the prompt."""
MOST_PASSAGES = 60
"""Passages that the graph returns for a question, for each of its two scores."""
MOST_KEPT = 20_000
"""Vectors of triples cached from question to question."""

Vectors = Callable[[Sequence[str]], NDArray[np.float32]]
"""Embeds texts: unit rows, shape (len(texts), dimension), float32."""
Cache = dict[str, NDArray[np.float32]]
"""The vectors of triples, by their text."""


def best_paths(
    graph: KnowledgeGraph, seeds: Sequence[str], question: NDArray[np.float32], vectors: Vectors, *, cache: Cache
) -> tuple[GraphPath, ...]:
    """The at most MOST_PATHS best paths of 1 to HOPS relations from the seeds (keys), best first.

    `question` is a unit vector, a path's score its cosine with the mean of the triples. At most MOST_EMBEDDED triples
    go through `vectors`, in one call per step. Of paths over the same relations the first is kept, and one whose
    relations a better one has too is left out.
    """
    beam = [GraphPath((key,), (), 0.0) for key in seeds]
    found: dict[frozenset[Relation], GraphPath] = {}
    room = MOST_EMBEDDED // HOPS
    for _ in range(HOPS):
        each = min(max(room // max(len(beam), 1), FEWEST), CONTINUATIONS)
        ahead = [(path, relation) for path in beam for relation in _continuations(graph, path, seeds, each)]
        texts = dict.fromkeys(triple_text(graph, relation) for _, relation in ahead)
        new = [text for text in texts if text not in cache][:room]
        if new:
            cache.update(zip(new, vectors(new), strict=True))
        longer = [_longer(graph, path, relation, question, cache) for path, relation in ahead]
        ranked = sorted((path for path in longer if path), key=lambda path: -path.score)
        for path in ranked:
            found.setdefault(frozenset(path.relations), path)
        beam = ranked[:BEAM]
    kept: list[GraphPath] = []
    for path in sorted(found.values(), key=lambda one: (-one.score, len(one.relations))):
        if len(kept) < MOST_PATHS and not any(set(path.relations) <= set(better.relations) for better in kept):
            kept.append(path)
    return tuple(kept)


def _continuations(graph: KnowledgeGraph, path: GraphPath, seeds: Sequence[str], most: int) -> list[Relation]:
    """The strongest relations to entities that are not on the path.

    Those to another seed come first: what connects two entities of the question is what it asks for. Hubs are
    penalised: they are neighbours of everything, and tell little.
    """
    end = path.keys[-1]
    ahead = {one: one.other_end(end) for one in graph.around(end) if one.other_end(end) not in path.keys}
    order = sorted(ahead, key=lambda one: -(strength(one) * damping(graph, ahead[one]) + (ahead[one] in seeds)))
    return order[:most]


def _longer(
    graph: KnowledgeGraph, path: GraphPath, relation: Relation, question: NDArray[np.float32], cache: Cache
) -> GraphPath | None:
    """The path with one relation more; None where a triple has no vector."""
    relations = (*path.relations, relation)
    known = [cache.get(triple_text(graph, one)) for one in relations]
    rows = [row for row in known if row is not None]
    if len(rows) < len(relations):
        return None
    mean = np.sum(rows, axis=0)
    length = float(np.linalg.norm(mean))
    score = float(mean @ question) / length if length > 0 else 0.0
    return GraphPath((*path.keys, relation.other_end(path.keys[-1])), relations, round(score, 6))


def path_scores(paths: Iterable[GraphPath]) -> dict[int, float]:
    """Ids of passages that are evidence of a path, the best first, each with its best path's score, over 0 to 1.

    The score is the cosine, unscaled: if no path fits the question, none of their passages is promoted.
    """
    scores: dict[int, float] = {}
    for path in paths:
        for chunk_id in (chunk for relation in path.relations for chunk in relation.chunk_ids):
            if path.score > 0:
                scores[chunk_id] = max(scores.get(chunk_id, 0.0), min(1.0, path.score))
    return {key: scores[key] for key in sorted(scores, key=lambda key: (-scores[key], key))}


def triple_text(graph: KnowledgeGraph, relation: Relation) -> str:
    """A relation as words: "Tesla has founder Elon Musk"; two names joined by "and" for a co-occurrence."""
    says = "and" if relation.relation == CO_OCCURS else relation.relation.replace("_", " ").casefold()
    return f"{graph.label(relation.source)} {says} {graph.label(relation.target)}"


class GraphSearch:
    """Search in one graph; the results for a question are cached for all its uses."""

    def __init__(
        self,
        graph: KnowledgeGraph,
        *,
        embedder: Embedder,
        passages: int,
        types: Iterable[str],
        triples: Cache | None = None,
    ) -> None:
        """`passages` is how many the library has; `types` are the entity types to use (none: all).

        `triples`, the vectors of triples, may be shared between questions.
        """
        self.graph = graph
        self._embedder = embedder
        self._types = frozenset(types)
        self._triples: Cache = {} if triples is None else triples
        self._passages = passages
        self._walks: dict[str, Walk] = {}
        self._paths: dict[str, tuple[GraphPath, ...]] = {}

    @property
    def sources(self) -> Mapping[str, Callable[[str], Mapping[int, float]]]:
        """Scores of passages for a question, by their names in a profile."""
        return {"graph": self.graph_scores, "gear": self.gear_scores}

    def graph_scores(self, question: str) -> dict[int, float]:
        """Passages near the question's entities, 0 to 1."""
        return passage_scores(self.graph, self._walked(question), passages=self._passages, most=MOST_PASSAGES)

    def gear_scores(self, question: str) -> dict[int, float]:
        """Passages on the paths that fit the question best, 0 to 1. Raises ModelProblem where the embedder fails."""
        return dict(islice(path_scores(self.paths(question)).items(), MOST_PASSAGES))

    def paths(self, question: str) -> tuple[GraphPath, ...]:
        """Those paths, best first. Raises ModelProblem where the embedder fails."""
        if question not in self._paths:
            seeds = [key for key, depth in self._walked(question).depths.items() if not depth]
            if len(self._triples) > MOST_KEPT:
                self._triples.clear()
            vector, vectors = self._embedder.embed_query(question), self._embedder.embed_documents
            self._paths[question] = best_paths(self.graph, seeds, vector, vectors, cache=self._triples)
        return self._paths[question]

    def concepts(self, question: str) -> tuple[str, ...]:
        """Names of at most MOST_CONCEPTS entities: those that the question names, then their neighbours, best first."""
        labels: dict[str, str] = {}
        for key, depth in self._walked(question).depths.items():
            if depth < 2 and len(labels) < MOST_CONCEPTS:
                label = " ".join(self.graph.label(key).split())
                labels.setdefault(folded(label), label)
        return tuple(labels.values())

    def papers(self, question: str, library: Store) -> tuple[int, ...]:
        """Ids of the papers that mention any related entity; empty if the question names no entity."""
        chunks = {chunk for key in self._walked(question).depths for chunk in self.graph.entity(key).chunk_ids}
        return tuple(sorted({chunk.paper_id for chunk in library.chunks(sorted(chunks))}))

    def described(self, found: Found, library: Store, profile: Profile) -> Found:
        """What was found with the names near the question and, where the profile weighs them, its best paths."""
        concepts = self.concepts(found.question)
        if "gear" not in dict(profile.more_weights):
            return replace(found, concepts=concepts)
        try:
            paths = self.paths(found.question)
        except ModelProblem:  # the search has warned of it
            paths = ()
        steps = (FoundPath(steps_of(path.relations, self.graph, library), path.score) for path in paths)
        return replace(found, concepts=concepts, paths=tuple(steps))

    def _walked(self, question: str) -> Walk:
        """What is near the entities that the question names."""
        if question not in self._walks:
            weights = link(question, self.graph, types=self._types)
            self._walks[question] = walk(self.graph, weights, hops=HOPS, types=self._types)
        return self._walks[question]


# The names of a question

SIMILAR = 0.8
"""Two names are similar above this ratio (the graph search notes)."""
LONGEST_IN_WORDS, MOST_WORDS = 6, 200
"""Maximum words of a name in a question, and of a question."""
MOST_SEEDS = 12
"""Maximum number of entities per question."""
INSIDE = 0.5
"""Weight of a name inside a longer one: "memory" in "long short-term memory"."""
SHORTEST_SIMILAR = 4
"""Minimum characters of a name for similarity search."""

_WORD = re.compile(r"[^\W_]+(?:[.'’+*#][^\W_]+)*[+*#]*")
_DIGITS = re.compile(r"\d+")
_EDGE_WORDS = STOP_WORDS | frozenset(["much", "many", "paper", "papers"])


def link(question: str, graph: KnowledgeGraph, *, types: frozenset[str]) -> dict[str, float]:
    """At most MOST_SEEDS entities of `types` (none: all) that the question names, by key, the surest first.

    Each has its confidence, over 0 to 1: 1 for its own name, the ratio for a similar one, less inside another.
    Word groups of the question that are no name, nor part of one, are matched by similarity.
    """
    groups = list(_groups(question))
    exact = [(start, end, name) for start, end, name in groups if graph.by_name(name)]
    weighed: list[tuple[float, str, str]] = []
    for start, end, name in exact:
        inside = any(a <= start and end <= b and (a, b) != (start, end) for a, b, _ in exact)
        weighed.append((INSIDE if inside else 1.0, name, name))
    wanted = [
        name
        for start, end, name in groups
        if len(name) >= SHORTEST_SIMILAR and not any(a <= start and end <= b for a, b, _ in exact)
    ]
    unknown = [name for name in dict.fromkeys(wanted) if not graph.by_name(name)]
    for name, near in similar_names(unknown, list(graph.names)).items():
        # "gpt 2 model" is not "gpt 3 model"
        weighed += [(ratio, name, other) for other, ratio in near if _DIGITS.findall(name) == _DIGITS.findall(other)]
    found: dict[str, tuple[float, str]] = {}
    for weight, name, of_graph in weighed:
        for key in graph.by_name(of_graph):
            if not types or graph.entity(key).entity_type in types:
                found[key] = max(found.get(key, (0.0, "")), (weight, name), key=lambda pair: pair[0])
    # Ties: the name with more words first; then the order of the graph.
    order = sorted(found, key=lambda key: (-found[key][0], -len(found[key][1].split()), key))
    return {key: found[key][0] for key in order[:MOST_SEEDS]}


def similar_names(wanted: Sequence[str], names: Sequence[str]) -> dict[str, tuple[tuple[str, float], ...]]:
    """For each name wanted those of `names` whose ratio with it is above SIMILAR, most similar first.

    The ratio is difflib's, 2M / T, with M the length of the longest common subsequence.
    """
    from rapidfuzz.distance import Indel
    from rapidfuzz.process import extract

    def near(name: str) -> tuple[tuple[str, float], ...]:
        found = extract(name, names, scorer=Indel.normalized_similarity, score_cutoff=SIMILAR, limit=None)
        pairs = [(other, ratio) for other, ratio, _ in found if ratio > SIMILAR]
        return tuple(sorted(pairs, key=lambda pair: (-pair[1], pair[0])))

    return {name: near(name) for name in wanted}


def _groups(question: str) -> Iterator[tuple[int, int, str]]:
    """(first word, last word + 1, canonical name) of the question's word groups, the longest first.

    A group that begins or ends with a word like "the" is not a name.
    """
    words = list(_WORD.finditer(question))[:MOST_WORDS]
    for length in range(min(LONGEST_IN_WORDS, len(words)), 0, -1):
        for start in range(len(words) - length + 1):
            group = words[start : start + length]
            if any(one.group().casefold() in _EDGE_WORDS for one in (group[0], group[-1])):
                continue
            text = question[group[0].start() : group[-1].end()]
            if len(text) <= LONGEST_NAME and (name := matched(text)):
                yield start, start + length, name


def keys_named(graph: KnowledgeGraph, name: str) -> Sequence[str]:
    """The keys of the entities of a name, which may be a key itself. Raises NothingFound, with similar names."""
    keys = (name,) if name in graph.network else graph.by_name(name)
    if keys:
        return keys
    wanted = matched(name)
    near = [other for other, _ in similar_names([wanted], list(graph.names))[wanted]]
    near = near or [other for other in sorted(graph.names) if wanted and wanted in other]
    hint = ", ".join(dict.fromkeys(graph.label(graph.names[other][0]) for other in near[:3]))
    raise NothingFound(
        f"The graph has no {name!r}.",
        f"Similar names: {hint}." if hint else "`python query.py map OUT.html` shows all names.",
    )
