"""What the graph is made of: mentions and triples as read from one passage, entities and relations as merged from all.

Names are compared by their key (`entity_key`): two mentions are one entity only if type and canonical name agree.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "CO_OCCURS",
    "ENTITY_TYPES",
    "OPTIONAL_TYPES",
    "RELATION_TYPES",
    "Entity",
    "Extracted",
    "GraphPath",
    "Mention",
    "Relation",
    "Triple",
]

ENTITY_TYPES = ("CONCEPT", "METHOD", "ALGORITHM", "DATASET", "METRIC")
"""What is looked for always."""
OPTIONAL_TYPES = ("PERSON", "ORGANISATION", "TASK")
"""What is looked for on request."""
RELATION_TYPES = ("USES", "IMPROVES", "COMPARES_TO", "BASED_ON", "APPLIES_TO", "EVALUATED_ON", "PART_OF")
CO_OCCURS = "CO_OCCURS"
"""Two entities of one sentence, nothing said of how they relate: weak, and a kind of its own."""


@dataclass(frozen=True, slots=True)
class Mention:
    """An entity as one passage names it."""

    name: str
    """As it stands in the passage, blanks collapsed."""
    entity_type: str
    count: int
    """How often the passage names it, from 1."""
    confidence: float
    """0 to 1."""
    key: str = ""
    """Of the entity that it is said to be of, by an import; else names decide."""


@dataclass(frozen=True, slots=True)
class Triple:
    """A relation as one passage says it, between two of its mentions."""

    subject: str
    """A mention's name, and its type."""
    subject_type: str
    relation: str
    """One of RELATION_TYPES, or CO_OCCURS."""
    object: str
    object_type: str
    confidence: float
    """0 to 1."""
    subject_key: str = ""
    """As of a mention."""
    object_key: str = ""


@dataclass(frozen=True, slots=True)
class Extracted:
    """What one passage gave."""

    chunk_id: int
    mentions: tuple[Mention, ...]
    triples: tuple[Triple, ...]
    aliases: tuple[tuple[str, str], ...] = ()
    """(short, long) names that the passage says are the same: "LSTM", "long short-term memory"."""


@dataclass(frozen=True, slots=True)
class Entity:
    """A node: all mentions of one type that mean the same."""

    key: str
    """Stable: made of type and canonical name, not of when it came."""
    label: str
    """The name shown: the most frequent one, of equals the first in the alphabet."""
    entity_type: str
    names: tuple[str, ...]
    """All names that were merged into it, sorted; the label is one of them."""
    mentions: int
    """How often it is named, over all passages."""
    confidence: float
    """The highest of its mentions."""
    chunk_ids: tuple[int, ...]
    """Passages that name it, ascending."""


@dataclass(frozen=True, slots=True)
class Relation:
    """An edge: all triples of one relation between the same two entities, in this direction."""

    source: str
    """Key of an entity."""
    target: str
    relation: str
    count: int
    """How many passages say it."""
    confidence: float
    chunk_ids: tuple[int, ...]
    """The evidence, ascending."""


@dataclass(frozen=True, slots=True)
class GraphPath:
    """Relations that lead from one entity to another, in order; an edge may be walked against its direction."""

    keys: tuple[str, ...]
    """The entities passed, len(relations) + 1 of them."""
    relations: tuple[Relation, ...]
    score: float
