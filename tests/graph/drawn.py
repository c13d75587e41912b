"""Graphs written down as triples, and those of the documents."""

from itertools import count

from ragscience.graph.graph_model import merge
from ragscience.graph.graph_records import EntityMention, Extracted, Triple

TESLA = (
    ("Tesla", "has_founder", "Elon Musk", 101),
    ("Elon Musk", "invested_in", "SolarCity", 101),
    ("Elon Musk", "holds_patent", "Tesla battery patent XYZ123", 202),
    ("Rivian", "has_founder", "RJ Scaringe", 303),
    ("RJ Scaringe", "holds_patent", "Rivian battery patent ABC456", 303),
)
"""The production notes' triples, each with the passage that says it."""
TESLA_QUESTION = (
    "Which founders of Tesla or Rivian have invested in solar energy startups, and what patents related to EV batteries"
    " do they hold?"
)
ATTENTION = (
    ("attention", "USES", "self-attention", 1),
    ("multi-head", "BASED_ON", "attention", 2),
    ("transformer", "USES", "attention", 3),
    ("BERT", "BASED_ON", "transformer", 4),
    ("GPT", "BASED_ON", "transformer", 5),
    ("encoder", "PART_OF", "transformer", 6),
    ("ELMo", "COMPARES_TO", "BERT", 7),
)
"""The graph guide's relations, as its walk of two steps implies them, and one that is a step too far."""


def passages(*triples, kinds=None, confidence=0.5):
    """What each passage gave: of triples (subject, relation, object, passage)."""
    kinds = kinds or {}
    found = {}
    for subject, relation, other, passage in triples:
        mentions, said = found.setdefault(passage, ({}, []))
        for name in (subject, other):
            mentions[name] = EntityMention(name, kinds.get(name, "CONCEPT"), 1, 0.8)
        kind = [kinds.get(name, "CONCEPT") for name in (subject, other)]
        said.append(Triple(subject, kind[0], relation, other, kind[1], confidence))
    return [Extracted(number, tuple(each.values()), tuple(said)) for number, (each, said) in found.items()]


def drawn(*triples, **more):
    """The graph of these triples; a triple of three has a passage of its own."""
    number = count(1000)
    whole = [(*each, next(number)) if len(each) == 3 else each for each in triples]
    return merge((1, found) for found in passages(*whole, **more))


def labels(graph, numbers):
    return {graph.label(number) for number in numbers}


def number(graph, name):
    (found,) = graph.by_name(name)
    return found
