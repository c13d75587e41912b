"""Relations that a sentence states between two names: the words between them, passive voice, negation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

__all__ = ["Found", "NamePlace", "relations"]

Found = tuple[int, str, int, float]
"""(index of the subject, relation, index of the object, confidence)."""
SURE = 0.85
LONGEST_BETWEEN = 110
"""Characters between two names; what is farther apart belongs to another clause."""


@dataclass(frozen=True, slots=True)
class NamePlace:
    """A name in a sentence: `text[start:end]`."""

    start: int
    end: int
    kind: str


_BE = r"(?:(?:is|are|was|were|be|been|being|can be|has been|have been|which is|which are|that is|that are) )?"
_ADV = r"(?:(?:\w+ly|also|further|then|thus|both|still|now|often|even|therefore|instead) )*+"
_TAIL = (
    r"(?:(?:[\d.]+ ?[BMK]|large|small|medium|big|base|itself|alone|models?|networks?|algorithms?|methods?|"
    r"architectures?|implementations?|variants?|few-shot|zero-shot|training|pre-training|fine-tuning),? )*"
)
"""What may be between the first name and its verb: "PaLM 540B uses", "BERT pre-training uses"."""
GENERAL = frozenset(
    """existing previous prior strong large larger new both two three single simple popular standard original different
    all other modern recent various traditional trained challenging several multiple many well-known pre-trained
    pretrained proposed same first second final best better whole entire higher lower lowest
    underlying practical following""".split()  # noqa: SIM905  # a list of forty strings
)
"""Words before a noun that name nothing."""
_DETERMINERS = rf"(?:(?:a|an|the|its|their|our|this|these|{'|'.join(sorted(GENERAL))}|\w+-sized) )*"
_WORDS = r"(?: (?!than\b)(?:[^\s.;:,()]|\.(?=\d))+){0,9}"
_MEASURED = r"(?:accuracy|scores?|quality|results?|performance|F1|BLEU|recall|precision)"

_PATTERNS = (
    (
        "EVALUATED_ON",
        rf"{_BE}{_ADV}(?:evaluated|tested|benchmarked|validated|assessed)(?: and \w+)? on"
        rf"|(?:achieve[sd]?|obtain(?:s|ed)?|perform(?:s|ed)?|gets?|reache[sd]|score[sd]?){_WORDS} on"
        r"|(?:'s )?(?:performance|results?|accuracy|scores?) on",
        False,
    ),
    (
        "USES",
        rf"{_BE}{_ADV}(?:pre-?|fine-?)?(?:trained|tuned) (?:only |solely )?(?:on|with|using|via)"
        r"|uses|used|employs|utili[sz]es|leverages|adopts|relies on|makes use of|combined with|augmented with"
        r"|(?:is|are|was|were) (?:optimi[sz]ed|regulari[sz]ed|implemented|initiali[sz]ed) (?:with|using|in)",
        False,
    ),
    ("USES", rf"{_BE}{_ADV}(?:used|employed|adopted|utili[sz]ed) (?:in|by|to train)", True),
    (
        "IMPROVES",
        r"(?:significantly |greatly |consistently )?(?:outperforms?|outperformed|surpass(?:es|ed)?)"
        rf"|(?:is|are|was|were|performs?|works?) (?:\w+ly |much )*(?:better|faster|more accurate) than"
        rf"|(?:achieves?|obtains?|has|have|had) (?:\w+ly |much |a )*(?:better|higher) {_MEASURED} than",
        False,
    ),
    ("IMPROVES", rf"{_BE}{_ADV}(?:outperformed|surpassed|beaten) by", True),
    (
        "COMPARES_TO",
        rf"{_BE}{_ADV}(?:compared|comparable|similar|analogous|equivalent|superior|inferior) (?:to|with|against)"
        r"|versus|vs\.?|in (?:comparison|contrast) (?:to|with)|compares? favou?rably (?:to|with)|differs? from"
        r"|(?!.*\b(?:we|it|they|which)\b)[^.;:()]{3,70} (?:compared (?:to|with)|than|relative to|versus)",
        False,
    ),
    (
        "BASED_ON",
        rf"{_BE}{_ADV}(?:based|built|builds?) (?:up)?on(?: top of)?|{_BE}(?:derived|adapted) from|extends"
        r"|(?:is|are) (?:an? )?(?:extension|variant|generali[sz]ation|modification|adaptation) of"
        rf"|{_BE}{_ADV}(?:inspired|motivated) by",
        False,
    ),
)
"""(relation, the words between two names, whether the first is the object)."""
_COMPILED = tuple(
    (kind, re.compile(rf"{_TAIL}(?:,? ?(?:which|that) )?{_ADV}(?:{words}) {_DETERMINERS}", re.I), turned)
    for kind, words, turned in _PATTERNS
)
_COMPARE = re.compile(
    r"\b(?:compar(?:e|es|ed|ing|ison (?:of|between))|difference between|contrast) (?:between )?(?:the |a |our )*$", re.I
)
_COMPARED = re.compile(rf"\s*{_TAIL}(?:and|with|to|against|versus|vs\.?)\s+{_DETERMINERS}", re.I)
_DENIED = re.compile(
    r"\b(?:not|never|cannot|neither|nor|without|no|none|fails?|hardly|rarely|unlikely|rather than|instead of|except|"
    r"whether|few|if|unless|suppose|assum\w+|hypothesi\w+|expect\w*|although|though|while|whereas)\b|n['’]t\b",
    re.I,
)
_LIMITED = re.compile(r"[^.;,]{0,25}?\b(?:in|on|for|at) (?:only|just|few|some|less than|most|\d+ ?%)\b", re.I)
_DEPENDENT = re.compile(
    r"\b(?:of|in|on|for|with|from|by|to|at|as|into|via|using|between|like|over|than|through|against|under|within|"
    r"replac\w+|unlike|compar\w+|combin\w+)(?: [\w-]+){0,2} ?$",
    re.I,
)
"""Before a name that is not the subject: "results of BERT"."""
_CITATION = re.compile(r"\s*(?:\([^()]*\)|\[\d[\d,;\s–-]*\]|\^\d+)")
_LIST = re.compile(r"\s*(?:,|,? and|,? or|,? as well as)\s+(?:the |a |an |on |both )*", re.I)


def relations(text: str, places: Sequence[NamePlace]) -> Iterator[Found]:
    """The relations that a sentence, on one line, states between its names, which are in order and don't overlap.

    The kinds of relation kept are those that were right nine times of ten, see tests/graph/gold.
    """
    if text.rstrip().endswith("?"):
        return
    for first in range(len(places) - 1):
        stated = _between(text, places[first], places[first + 1])
        if stated is None:
            continue
        kind, turned = stated
        for second in _objects(text, places, first + 1):
            source, target = (second, first) if turned else (first, second)
            yield source, kind, target, SURE


def _between(text: str, one: NamePlace, other: NamePlace) -> tuple[str, bool] | None:
    """(relation, whether the first name is its object) that the words between two names state."""
    before, between = text[: one.start], _CITATION.sub("", text[one.end : other.start]).lstrip()
    if len(between) > LONGEST_BETWEEN or ";" in between or ". " in between or one.kind == "DATASET":
        return None
    if _DENIED.search(between) or _DENIED.search(before[-70:]) or _LIMITED.match(text[other.end :]):
        return None
    if _COMPARE.search(before) and _COMPARED.fullmatch(between):
        return "COMPARES_TO", False
    if between.startswith(")") or _DEPENDENT.search(before):
        return None
    for kind, pattern, turned in _COMPILED:
        if pattern.fullmatch(between):
            # People and things of an example are compared, too; CONCEPT is also a name whose type no paper shows.
            fits = kind != "EVALUATED_ON" or other.kind in ("DATASET", "CONCEPT")
            fits = fits and (kind != "COMPARES_TO" or bool({one.kind, other.kind} & {"METHOD", "ALGORITHM"}))
            return (kind, turned) if fits else None
    return None


def _objects(text: str, places: Sequence[NamePlace], first: int) -> Iterator[int]:
    """The object and the names listed after it, of the same type."""
    yield first
    for at in range(first + 1, len(places)):
        between = _CITATION.sub("", text[places[at - 1].end : places[at].start])
        if not _LIST.fullmatch(between) or places[at].kind != places[first].kind:
            return
        if re.match(
            r"\s*(?:\([^()]*\)\s*)?(?:is|are|was|were|can|has|have|uses?|achieves?|outperforms?|do|does)\b",
            text[places[at].end :],
        ):
            return
        yield at
