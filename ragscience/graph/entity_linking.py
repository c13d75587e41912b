"""Entity linking: which entities of the graph a question names, by exact names, then by similar names.

The order is the graph search notes': exact names, then `SequenceMatcher.ratio() > 0.8`. Names are matched
on word borders and normalised as everywhere in the graph (`graph_records.matched`), so that "LSTMs" names the LSTM.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ragscience.core.tokenizing import STOP_WORDS
from ragscience.graph.graph_model import KnowledgeGraph
from ragscience.graph.graph_records import LONGEST_NAME, matched

__all__ = ["SIMILAR", "Named", "link", "similar_names"]

SIMILAR = 0.8
"""Two names are similar above this ratio of difflib's (the graph search notes)."""
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


@dataclass(frozen=True, slots=True)
class Named:
    """An entity that a question names."""

    key: str
    """Key of the entity."""
    name: str
    """The name as in the question, folded."""
    weight: float
    """Confidence, over 0 to 1: 1 for its own name, the ratio for a similar one, less inside another."""


def link(question: str, graph: KnowledgeGraph, *, types: frozenset[str]) -> tuple[Named, ...]:
    """At most MOST_SEEDS entities of `types` (none: all) that the question names, the surest first.

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
    found: dict[str, Named] = {}
    for weight, name, of_graph in weighed:
        for key in graph.by_name(of_graph):
            if key not in found or weight > found[key].weight:
                found[key] = Named(key, name, weight)
    named = [one for one in found.values() if not types or graph.entity(one.key).entity_type in types]
    # Ties: the name with more words first; then the order of the graph.
    return tuple(sorted(named, key=lambda one: (-one.weight, -len(one.name.split()), one.key))[:MOST_SEEDS])


def similar_names(wanted: Sequence[str], names: Sequence[str]) -> dict[str, tuple[tuple[str, float], ...]]:
    """For each name wanted those of `names` whose difflib ratio with it is above SIMILAR, most similar first.

    rapidfuzz prunes the pairs: difflib's matching blocks are a common subsequence, so its ratio is
    never above that of the longest one, which rapidfuzz computes for all pairs at once. difflib decides.
    """
    from difflib import SequenceMatcher

    found: dict[str, list[tuple[str, float]]] = {name: [] for name in wanted}
    if wanted and names:
        from rapidfuzz.distance import Indel
        from rapidfuzz.process import cdist

        near = cdist(wanted, names, scorer=Indel.normalized_similarity, score_cutoff=SIMILAR - 1e-6)
        for row, column in zip(*(places.tolist() for places in near.nonzero()), strict=True):
            ratio = SequenceMatcher(None, wanted[row], names[column]).ratio()
            if ratio > SIMILAR:
                found[wanted[row]].append((names[column], ratio))
    return {name: tuple(sorted(set(near), key=lambda pair: (-pair[1], pair[0]))) for name, near in found.items()}


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
