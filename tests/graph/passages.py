"""Passages for the tests of extraction: text alone, in a paper of their own."""

from ragscience.core.records import StoredChunk
from ragscience.graph.graph_records import CO_OCCURS, ENTITY_TYPES
from ragscience.graph.local_extraction import extract, own_names

LSTM = (
    "Recurrent networks forget. We propose FogNet, a novel framework for weather data. FogNet uses long short-term "
    "memory (LSTM) in each block, and long short-term memory keeps what it saw.",
    "We evaluate FogNet on the SkyView dataset. FogNet outperforms LSTM. The SkyView dataset has 412 hours of fog.",
    "FogNet does not use GRUs. GRUs are older. FogNet is evaluated on SkyView, and FogNet reaches a score of 31.2.",
)


def passage(text, chunk_id=1, kind="text", ordinal=0):
    """A passage with this text."""
    return StoredChunk(
        chunk_id, 1, "fog.pdf", "/papers/fog.pdf", ordinal, text, 0, len(text), 1, 1, "", kind, ((0, 1),)
    )


def passages(*texts):
    """The passages of a paper."""
    return [passage(text, number, ordinal=number) for number, text in enumerate(texts, 1)]


def kinds(*texts, types=ENTITY_TYPES):
    """Types of the paper's names, by canonical name."""
    return {name: kind for name, (kind, _) in own_names(passages(*texts), frozenset(types)).kinds.items()}


def found_in(*texts, types=ENTITY_TYPES):
    """What each passage gives, as one paper."""
    names = own_names(passages(*texts), frozenset(types))
    return [extract(chunk, names) for chunk in passages(*texts)]


def said(*found):
    """(subject, relation, object) of what passages say, but that things stand together."""
    triples = [each for one in found for each in one.triples if each.relation != CO_OCCURS]
    return {(each.subject, each.relation, each.object) for each in triples}
