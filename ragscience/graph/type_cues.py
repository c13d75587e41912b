"""What the words around a name tell of its type: "we propose X", "X, a dataset of …", "evaluated on X", "28.4 X"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragscience.graph.entity_names import canonical
from ragscience.graph.lexicon import BREAKS, HEADS
from ragscience.graph.passage_words import Words

__all__ = ["Vote", "cues", "noun_of"]

Vote = tuple[str, float]
"""(type, weight): 3 and more is a statement, 2 strong, 1 a hint."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_DETERMINERS = _words("a an the our this these new novel simple both standard original popular also then here")
_PROPOSE = _words(
    "propose proposes proposed introduce introduces introduced present presents presented develop developed"
)
_CALL = _words("called named dubbed termed call coined denoted")
_IT = _words("it this model method approach algorithm framework system")
_TRIED = _words("""
    trained pretrained pre-trained evaluated evaluate tested train test finetuned fine-tuned fine-tune finetune
    results result performance experiments experiment experimented scores fine-tuning pretraining pre-training
    validated
    """)
_MEASURED_BY = (("in", "terms", "of"), ("measured", "by"), ("measured", "in"), ("measured", "using"), ("report",))
_AMOUNT = _words("higher lower better improved best average")
_ACTS = _words("""
    outperforms outperformed achieves achieved obtains learns performs requires uses used surpasses improves
    exceeds generalizes trains converges computes predicts generates encodes
    """)
_WITH = _words("using with via use uses apply employ implement implemented")
_LIST_BEGINS = (("such", "as"), ("including",), ("like",), ("namely",), ("e.g",))
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_DECIMAL = re.compile(r"\d+\.\d+")
_KIND_ENDS = _words("of for that which with to in from by on where whose based using designed and as at")
_RESULT_AT = 12


def cues(words: Words, start: int, end: int) -> Iterator[Vote]:
    """What sentence `words` tells of the name that is words `start` to `end` (exclusive) of it."""
    yield from _from_behind(words, end)
    yield from _from_before(words, start)
    listed = _listed_as(words, start)
    if listed:
        yield listed, 2.0


def noun_of(words: Words, start: int) -> str:
    """The type by the noun that ends the noun phrase from word `start` on: "a novel framework for …": METHOD."""
    kind = ""
    for i in range(start, min(start + _RESULT_AT, len(words.words))):
        if i > start and words.gaps[i] != " ":
            break
        if words.lower[i] in _KIND_ENDS:
            break
        kind = HEADS.get(canonical(words.lower[i]), "")
    return kind


def _from_behind(words: Words, end: int) -> Iterator[Vote]:
    lower, gaps = words.lower, words.gaps
    if end >= len(lower):
        return
    following, gap = lower[end], gaps[end]
    if gap == " ":
        kind = HEADS.get(canonical(following), "")
        if kind and kind != "CONCEPT":
            yield kind, 2.0
        elif following in ("task", "tasks", "test", "dev", "leaderboard", "validation"):
            yield "DATASET", 1.0
        elif following in _ACTS:
            yield "METHOD", 1.0
        elif following == "of" and end + 1 < len(lower) and _NUMBER.fullmatch(lower[end + 1]):
            yield "METRIC", 1.0
        if following in ("is", "are", "was") and end + 1 < len(lower) and lower[end + 1] in ("a", "an", "the"):
            kind = noun_of(words, end + 2)
            if kind:
                yield kind, 3.0
    elif gap.strip() == "," and following in ("a", "an"):
        kind = noun_of(words, end + 1)
        if kind:
            yield kind, 3.0
    elif gap.strip() == ":" and following in ("a", "an") and words.kind == "title":
        yield noun_of(words, end + 1) or "METHOD", 3.0


def _from_before(words: Words, start: int) -> Iterator[Vote]:
    lower, gaps = words.lower, words.gaps
    at = start
    while at > 0 and gaps[at].strip(" :“\"'‘") == "" and lower[at - 1] in _DETERMINERS:
        at -= 1
    if at == 0 or gaps[at].strip(" :“\"'‘,"):
        return
    before = lower[at - 1]
    if before in _PROPOSE or (before in _CALL) or (at > 1 and lower[at - 2] in _CALL and before in _IT):
        yield "METHOD", 3.0
    elif before == "as" and at > 2 and "refer" in lower[max(0, at - 6) : at]:
        yield "METHOD", 2.0
    elif before == "on" and at > 1 and any(word in _TRIED for word in lower[max(0, at - 7) : at - 1]):
        yield "DATASET", 2.0 if lower[at - 2] in _TRIED else 1.0
    elif any(lower[at - len(phrase) : at] == phrase for phrase in _MEASURED_BY):
        yield "METRIC", 1.5
    elif before in _AMOUNT or _DECIMAL.fullmatch(before):
        yield "METRIC", 0.3
    elif before in _WITH:
        yield "METHOD", 0.5
    elif gaps[at] == " " and before not in BREAKS:
        kind = HEADS.get(before, "")
        if kind and kind != "CONCEPT":
            yield kind, 1.5


def _listed_as(words: Words, start: int) -> str:
    """The type of the list that a name is in: "datasets such as A, B and X": DATASET."""
    lower, gaps = words.lower, words.gaps
    first = max(0, start - 12)
    for at in range(start - 1, first, -1):
        for phrase in _LIST_BEGINS:
            begin = at - len(phrase) + 1
            if begin > 0 and lower[begin : at + 1] == phrase:
                between = [*gaps[at + 2 : start + 1]] if start > at + 1 else []
                if any("." in gap or ";" in gap or ":" in gap for gap in between):
                    return ""
                inner = lower[at + 1 : start]
                if any(word in BREAKS and word not in ("and", "or", "the") for word in inner):
                    return ""
                return HEADS.get(canonical(lower[begin - 1]), "") if gaps[begin].strip() in ("", ",", "(") else ""
    return ""
