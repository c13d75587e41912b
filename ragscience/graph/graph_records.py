"""The records of the graph: mentions and triples of one passage, entities and relations of all, and name forms.

Two mentions are one entity only if their types and canonical names agree. Types are open: any word can be one.
"""

import re
import unicodedata
from dataclasses import dataclass, replace
from functools import lru_cache

from ragscience.core.errors import RagScienceError
from ragscience.core.serialization import from_json, to_json

ENTITY_TYPES = ("CONCEPT", "METHOD", "ALGORITHM", "DATASET", "METRIC")
"""The types that are extracted where no others are named (the graph guide)."""
RELATION_TYPES = ("USES", "IMPROVES", "COMPARES_TO", "BASED_ON", "APPLIES_TO", "EVALUATED_ON", "PART_OF")
"""The relations that a language model is asked for; an import may have any."""
CO_OCCURS = "CO_OCCURS"
"""Co-occurrence in a sentence without a stated relation: weak, and a type of its own."""


@dataclass(frozen=True, slots=True)
class EntityMention:
    """An entity as named in one passage."""

    name: str
    """As written in the passage, spaces collapsed."""
    entity_type: str
    count: int
    """Number of occurrences in the passage, from 1."""
    confidence: float
    """Confidence, 0 to 1."""
    key: str = ""
    """Key of its entity, set by an import; otherwise names decide."""


@dataclass(frozen=True, slots=True)
class Triple:
    """A relation as stated in one passage, between two of its mentions."""

    subject: str
    """A mention's name, and its type."""
    subject_type: str
    relation: str
    """A word like those of RELATION_TYPES, or CO_OCCURS."""
    object: str
    object_type: str
    confidence: float
    """Confidence, 0 to 1."""
    subject_key: str = ""
    """Key of the entity, as in a mention."""
    object_key: str = ""


@dataclass(frozen=True, slots=True)
class Extracted:
    """The extraction of one passage."""

    chunk_id: int
    mentions: tuple[EntityMention, ...]
    triples: tuple[Triple, ...]
    aliases: tuple[tuple[str, str], ...] = ()
    """(short, long) names that the passage equates: "LSTM", "long short-term memory"."""


@dataclass(frozen=True, slots=True)
class Entity:
    """A node: all mentions of one type with the same meaning."""

    key: str
    """Stable: made of type and canonical name."""
    label: str
    """The display name: the most frequent one, ties in alphabetical order."""
    entity_type: str
    names: tuple[str, ...]
    """All names merged into it, sorted; the label is one of them."""
    mentions: int
    """Number of occurrences over all passages."""
    confidence: float
    """The maximum over its mentions."""
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
    """How many passages state it."""
    confidence: float
    chunk_ids: tuple[int, ...]
    """The evidence, ascending."""

    def other_end(self, key: str) -> str:
        """The key of the entity at the other end."""
        return self.target if key == self.source else self.source


@dataclass(frozen=True, slots=True)
class GraphPath:
    """Relations from one entity to another, in order; an edge may be traversed against its direction."""

    keys: tuple[str, ...]
    """The entities on the path, len(relations) + 1 of them."""
    relations: tuple[Relation, ...]
    score: float


# In the library


def encoded(found: Extracted) -> str:
    """One line of JSON; the same for the same content."""
    return to_json(found)


def decoded(chunk_id: int, text: str) -> Extracted:
    """The inverse of `encoded`. Raises RagScienceError for invalid text."""
    try:
        return replace(from_json(Extracted, text), chunk_id=chunk_id)
    except ValueError as error:
        raise RagScienceError(
            f"What the graph knows of passage {chunk_id} cannot be read.",
            "`python ingest.py graph --again` reads all passages again.",
        ) from error


# Names

LONGEST_NAME = 80
"""Maximum characters: longer text is a sentence, not a name."""

_DASHES = re.compile(r"[\u2010-\u2015\u2212_/-]+")
_QUOTES = re.compile(r"[\"'`\u2018\u2019\u201c\u201d]")
_BEFORE_A_NUMBER = re.compile(r"(?<=[^\W\d]) (?=\d)")
_EDGES = " \t.,;:()[]{}\"'`“”‘’*"
_IRREGULAR = {"analyses": "analysis", "biases": "bias", "corpora": "corpus", "hypotheses": "hypothesis"}
_IRREGULAR |= {"indices": "index", "matrices": "matrix", "vertices": "vertex"}
_IRREGULAR |= {word: word for word in ("news", "series", "species")}


def clean(name: str) -> str:
    """The name on one line, without surrounding spaces and punctuation; a bracket that belongs to it stays."""
    whole = " ".join(unicodedata.normalize("NFKC", name).split())
    kept = whole.strip(_EDGES)
    for opening, closing in ("()", "[]", "{}"):
        still_open = kept.count(opening) - kept.count(closing)
        if still_open == 1 and f"{kept}{closing}" in whole:
            kept += closing
        elif still_open == -1 and f"{opening}{kept}" in whole:
            kept = opening + kept
    return kept


def folded(name: str) -> str:
    """The name for comparison where plurals and hyphens matter: NFKC, case-folded, spaces collapsed."""
    lowered = unicodedata.normalize("NFKC", name).casefold()
    return " ".join(unicodedata.normalize("NFKC", lowered).casefold().split())


@lru_cache(maxsize=1 << 15)
def canonical(name: str) -> str:
    """The form by which mentions are merged; empty for a name of quotation marks and hyphens alone.

    Folded, hyphens as spaces, no quotation marks, the last word singular, no space between a letter and a number:
    "GPT-3", "gpt 3" and "GPT3" are one name.
    """
    words = _QUOTES.sub("", _DASHES.sub(" ", folded(name))).split()
    if words:
        words[-1] = _singular(words[-1])
    return _BEFORE_A_NUMBER.sub("", " ".join(words))


def matched(name: str) -> str:
    """`canonical`, or `folded` if that is empty."""
    return canonical(name) or folded(name)


def _singular(word: str) -> str:
    """The singular of an English plural, by its ending; a word of up to 3 letters is unchanged but for "GPUs"."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 3 or not word.endswith("s") or word.endswith(("ss", "us", "is", "as", "os")):
        return word[:-1] if word in ("gpus", "cpus", "tpus", "grus", "relus", "apis") else word
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("sses", "shes", "ches", "xes", "zzes")) and word != "caches":
        return word[:-2]
    return word[:-1]
