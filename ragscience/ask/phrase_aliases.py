"""Other names of a thing: its acronym or what that stands for, as the papers or the knowledge graph say."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ragscience.ask.phrase_search import PaperMentions, Phrase
from ragscience.ask.route_records import RouteContext

if TYPE_CHECKING:
    from ragscience.graph.graph_model import KnowledgeGraph

__all__ = ["aliases_of", "stated_in"]

_SHORT_BEHIND = re.compile(r"\s{0,2}\(([A-Z][A-Za-z-]{1,8}[A-Z])s?\)")
_WORD = re.compile(r"[^\W\d_]++")
_SMALL = frozenset({"of", "the", "and", "for", "in", "on", "a", "to", "with"})
_LEAST_LETTERS = 3
"""An acronym of fewer letters means too many things."""
_MOST = 2
_RELATIONS = {"use": "USES", "evaluate": "EVALUATED_ON", "compare": "COMPARES_TO"}


def aliases_of(phrase: Phrase, found: dict[int, PaperMentions], context: RouteContext) -> tuple[str, ...]:
    """At most _MOST other names of the phrase: "(LSTM)" behind it, the words that "(LSTM)" stands behind."""
    names: dict[str, None] = {}
    for one in found.values():
        for place in (*one.text.values(), *one.references.values()):
            text = place.chunk.text
            if len(phrase.pieces) > 1:
                short = _SHORT_BEHIND.match(text, place.end)
                if short and len(short[1]) >= _LEAST_LETTERS and _stands_for(short[1], phrase.pieces):
                    names.setdefault(short[1])
            elif phrase.text.isupper() and len(phrase.text) >= _LEAST_LETTERS and text[: place.start].endswith("("):
                names.update(dict.fromkeys(_long_before(text[: place.start - 1], phrase.text)))
    names.update(dict.fromkeys(_by_graph(phrase, context)))
    different: dict[str, str] = {}
    for name in names:
        if _flat(name) != _flat(phrase.text):
            different.setdefault(_flat(name), name)
    return tuple(different.values())[:_MOST]


def _flat(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum()).removesuffix("s")


def _stands_for(short: str, words: Iterable[str]) -> bool:
    """Whether the letters are the initials of the words, small words counted or not."""
    words = [word.casefold() for word in words]
    initials = {"".join(word[0] for word in words), "".join(word[0] for word in words if word not in _SMALL)}
    return short.casefold().replace("-", "") in initials


def _long_before(text: str, short: str) -> list[str]:
    """The words that end the text and whose initials are the acronym; empty where they are not."""
    words = list(_WORD.finditer(text[-120:]))
    for count in range(len(short), len(short) + 3):
        last = words[-count:]
        begins = len(last) == count and last[0].group().casefold() not in _SMALL
        if begins and _stands_for(short, [word.group() for word in last]):
            return [" ".join(text[-120:][last[0].start() :].split())]
    return []


def _graph(context: RouteContext) -> KnowledgeGraph | None:
    if not context.library.graph.state():
        return None
    from ragscience.graph.graph_model import load_graph

    return load_graph(context.library)


def _by_graph(phrase: Phrase, context: RouteContext) -> list[str]:
    """The names that the graph merged with the phrase: acronyms and what they stand for."""
    graph = _graph(context)
    if graph is None:
        return []
    names = [name for key in graph.by_name(phrase.text) for name in graph.entity(key).names]
    return [
        name
        for name in names
        if _stands_for(name, phrase.pieces) or _stands_for(phrase.text, _WORD.findall(name))
        if len(name) >= _LEAST_LETTERS
    ]


def stated_in(name: str, kind: str, context: RouteContext) -> frozenset[int]:
    """The passages that state the relation by the graph: those in which something USES the thing, for "use"."""
    graph = _graph(context) if kind in _RELATIONS else None
    if graph is None:
        return frozenset()
    found: set[int] = set()
    for key in graph.by_name(name):
        for one in graph.around(key):
            if one.relation == _RELATIONS[kind] and (kind == "compare" or one.target == key):
                found.update(one.chunk_ids)
    return frozenset(found)
