"""What the graph is made of: mentions and triples of one passage, entities and relations of all, and their names.

Two mentions are one entity only if their types and canonical names agree.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

__all__ = [
    "CO_OCCURS",
    "ENTITY_TYPES",
    "LONGEST_NAME",
    "OPTIONAL_TYPES",
    "RELATION_TYPES",
    "Entity",
    "Extracted",
    "GraphPath",
    "Mention",
    "Relation",
    "Triple",
    "canonical",
    "clean",
    "folded",
    "matched",
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


# Names

LONGEST_NAME = 80
"""Characters: what is longer is a sentence, not a name."""

_DASHES = re.compile(r"[\u2010-\u2015\u2212_/-]+")
_QUOTES = re.compile(r"[\"'`\u2018\u2019\u201c\u201d]")
_BLANKS = re.compile(r"\s+")
_BEFORE_A_NUMBER = re.compile(r"(?<=[^\W\d]) (?=\d)")
_EDGES = " \t.,;:()[]{}\"'`“”‘’*"
_BRACKETS = (("(", ")"), ("[", "]"), ("{", "}"))
_NO_PLURAL = ("ss", "us", "is", "as", "os")
_IRREGULAR = {
    **{f"{word}s": word for word in ("gpu", "cpu", "tpu", "gru", "relu", "api", "area", "formula", "lemma", "schema")},
    **{f"{word}s": word for word in ("cache", "camera", "idea", "movie", "photo", "ratio", "scenario", "video")},
    **{word: word for word in ("news", "series", "species")},
    "analyses": "analysis",
    "biases": "bias",
    "corpora": "corpus",
    "hypotheses": "hypothesis",
    "indices": "index",
    "matrices": "matrix",
    "vertices": "vertex",
}


def clean(name: str) -> str:
    """The name on one line, without blanks and punctuation around it; a bracket that belongs to it stays."""
    whole = _BLANKS.sub(" ", unicodedata.normalize("NFKC", name))
    kept = whole.strip(_EDGES)
    for opening, closing in _BRACKETS:
        still_open = kept.count(opening) - kept.count(closing)
        if still_open == 1 and f"{kept}{closing}" in whole:
            kept += closing
        elif still_open == -1 and f"{opening}{kept}" in whole:
            kept = opening + kept
    return kept


def folded(name: str) -> str:
    """The name as it is compared where plurals and hyphens matter: NFKC, case-folded, blanks collapsed."""
    lowered = unicodedata.normalize("NFKC", name).casefold()
    return " ".join(unicodedata.normalize("NFKC", lowered).casefold().split())


def canonical(name: str) -> str:
    """The name as mentions are merged by; empty for a name of quotation marks and hyphens alone.

    Folded, hyphens as blanks, no quotation marks, the last word singular, no blank between a letter and a number:
    "GPT-3", "gpt 3" and "GPT3" are one name.
    """
    words = _QUOTES.sub("", _DASHES.sub(" ", folded(name))).split()
    if words:
        words[-1] = _singular(words[-1])
    return _BEFORE_A_NUMBER.sub("", " ".join(words))


def matched(name: str) -> str:
    """`canonical`, or `folded` where nothing is left of that."""
    return canonical(name) or folded(name)


def _singular(word: str) -> str:
    """English plurals by their ending; a word of up to 3 letters is left as it is."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 3 or not word.endswith("s") or word.endswith(_NO_PLURAL):
        return word
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("sses", "shes", "ches", "xes", "zzes")):
        return word[:-2]
    return word[:-1]
