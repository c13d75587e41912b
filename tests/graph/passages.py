"""Passages for the tests of extraction: text alone, in a paper of their own."""

from ragscience.core.records import StoredChunk
from ragscience.graph.graph_records import CO_OCCURS, ENTITY_TYPES
from ragscience.graph.local_extraction import extract
from ragscience.graph.paper_terms import paper_terms

LSTM = (
    "Recurrent networks forget. We propose FogNet, a novel framework for weather data. FogNet uses long short-term "
    "memory (LSTM) in each block, and long short-term memory keeps what it saw.",
    "We evaluate FogNet on the SkyView dataset. FogNet outperforms LSTM. The SkyView dataset has 412 hours of fog.",
    "FogNet does not use dropout. Results on SkyView are measured in terms of BLEU. FogNet reaches 31.2 BLEU.",
)


def passage(text, chunk_id=1, kind="text", ordinal=0):
    """A passage with this text."""
    return StoredChunk(
        chunk_id, 1, "fog.pdf", "/papers/fog.pdf", ordinal, text, 0, len(text), 1, 1, "", kind, ((0, 1),)
    )


def passages(*texts):
    """The passages of a paper."""
    return [passage(text, number, ordinal=number) for number, text in enumerate(texts, 1)]


def terms_of(*texts, title="", types=ENTITY_TYPES):
    """The terms of the paper that these passages are all of."""
    return paper_terms(passages(*texts), title, frozenset(types))


def kinds(*texts, title="", types=ENTITY_TYPES):
    """Types of the paper's terms, by canonical name."""
    return {name: term.kind for name, term in terms_of(*texts, title=title, types=types).terms.items()}


def found_in(*texts, title="", types=ENTITY_TYPES):
    """What each passage gives, as one paper."""
    terms = terms_of(*texts, title=title, types=types)
    return [extract(chunk, terms) for chunk in passages(*texts)]


def names(found):
    """(name, type) of what a passage names."""
    return {(mention.name, mention.entity_type) for mention in found.mentions}


def said(found):
    """(subject, relation, object) of what a passage says, but that things stand together."""
    return {(each.subject, each.relation, each.object) for each in found.triples if each.relation != CO_OCCURS}
