"""The sentences of a paper that say what it asks, does, uses, finds and leaves open, by cue words and place.

Cue phrases and the place in the paper are the classic features of extracts (Edmundson 1969, J. ACM 16(2)).
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Aspect:
    """What a summary says of a paper, and how its sentences are known."""

    name: str
    cues: re.Pattern[str]
    zones: dict[str, float]
    """Where its sentences stand, and how much each place speaks for them; no others are taken."""
    label: re.Pattern[str]
    """How its part of an abstract with labels begins."""
    least: float = 1.5
    """The score from which on a sentence says it."""
    needs_number: bool = False
    """Whether sentences with figures are preferred."""


def _cues(words: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{words})\b", re.IGNORECASE)


ASPECTS = (
    Aspect(
        "Question",
        _cues(
            r"problems?|challeng\w{1,6}|questions?|aim(?:s|ed)?|goal|objective (?:of|was|is)|purpose|difficult\w{0,4}|"
            r"unclear|unknown|controversial|expensive|prohibitive\w{0,2}|slow|hypothes\w{1,5}|motivat\w{1,5}|costly|"
            r"we (?:study|investigate|ask|explore|examine|address|consider|tackle)|"
            r"has not been|have not been|lacks?|hard to"
        ),
        {"abstract": 1.2, "introduction": 0.6},
        re.compile(r"(?:background|objectives?|aims?|purpose|introduction|context|rationale)\b[:.]?\s?(?=[A-Z])", re.I),
    ),
    Aspect(
        "Method",
        _cues(
            r"we (?:here )?(?:\w{2,12} )?(?:propose|present|introduce|describe|develop|design|define|built?|explore)|"
            r"in this (?:paper|work|article|report|study),? we|"
            r"(?:this|the) (?:paper|article|work|study|report) (?:\w{2,12} )?"
            r"(?:proposes|presents|introduces|describes|develops|reports|reviews|surveys|discusses|shows|takes)|"
            r"our (?:approach|method|model|system|algorithm|framework|implementation|technique|key idea)|"
            r"was conducted|were (?:performed|searched)"
        ),
        {"abstract": 1.6, "introduction": 0.8, "method": 0.2, "conclusion": 0.2},
        re.compile(r"(?:materials and )?(?:methods?|design|methodology|approach)\b[:.]?\s?(?=[A-Z])", re.I),
    ),
    Aspect(
        "Data",
        _cues(
            r"data ?sets?|corpus|corpora|benchmarks?|patients|participants|subjects|volunteers|trials|databases?|"
            r"(?:pre-?)?trained on|evaluated? (?:\w{1,12} )?on|"
            r"experiment(?:s|ed)? (?:\w{1,12} )?on|tested on|workloads?|"
            r"were (?:collected|recruited|enrolled|included|selected)"
        ),
        {"abstract": 0.4, "data": 1.1, "experiments": 0.7},
        re.compile(r"(?:data|participants|patients|setting|subjects|sample)\b[:.]?\s?(?=[A-Z])", re.I),
        least=1.9,
        needs_number=True,
    ),
    Aspect(
        "Results",
        _cues(
            r"achiev\w{1,5}|outperform\w{0,3}|improv\w{1,6}|results?|shows?|showed|shown|found|finds?|"
            r"reduc(?:es|ed|ing|tions?)|(?:can|to|we) reduce|"
            r"increas\w{1,4}|significant(?:ly)?|state[- ]of[- ]the[- ]art|faster|higher|lower|better|fewer|"
            r"demonstrate\w{0,1}|"
            r"associated with|conclude|effective|obtains?|reach\w{0,3}"
        ),
        {
            "abstract": 1.4,
            "introduction": 0.7,
            "conclusion": 0.7,
            "discussion": 0.4,
        },
        re.compile(r"(?:results|findings|conclusions?)\b[:.]?\s?(?=[A-Z])", re.I),
        least=1.9,
        needs_number=True,
    ),
    Aspect(
        "Limits",
        _cues(
            r"limitations?|drawbacks?|shortcomings?|weakness\w{0,2}|future (?:work|research|studies)|cannot|fails? to|"
            r"caveats?|open (?:questions?|problems?)|further (?:research|work|studies)|we (?:plan|leave)|"
            r"not (?:yet|clear|straightforward|suitable|always)|remains? (?:to be|an open|un\w{2,12}|open)"
        ),
        {"limits": 2.2, "conclusion": 0.7, "discussion": 0.7, "future": 0.9},
        re.compile(r"(?:limitations?|strengths and limitations)\b[:.]?\s?(?=[A-Z])", re.I),
    ),
)
METHOD = next(aspect for aspect in ASPECTS if aspect.name == "Method")
_ZONES = (
    ("limits", r"limit"),
    (
        "related",
        r"related|previous work|prior work|background|acknowledg|checklist|broader impact|funding|conflict|author",
    ),
    ("conclusion", r"conclu|summary"),
    ("future", r"future"),
    ("discussion", r"discussion"),
    ("results", r"results?|findings|evaluation|performance|analysis"),
    (
        "data",
        r"data|corpus|corpora|participants|patients|subjects|search strategy|study (?:population|selection)|materials",
    ),
    ("experiments", r"experiment|setup|settings?|benchmarks?"),
    ("introduction", r"introduction|motivation"),
)
_ZONE_WORDS = tuple((zone, re.compile(rf"\b(?:{words})", re.I)) for zone, words in _ZONES)
_APPENDIX = re.compile(r"(?:appendix|supplement|[A-Z](?:\.\d{1,2})?\.?\s)", re.I)


def zone_of(section: str, kind: str) -> str:
    """What a section is for: the innermost heading that says so; "method" where none does."""
    if kind == "abstract":
        return "abstract"
    names = section.split(" › ")
    if _APPENDIX.match(names[0]) and not names[0][:1].isdigit():
        return "other"
    for name in reversed(names):
        for zone, words in _ZONE_WORDS:
            if words.search(name):
                return "abstract" if zone == "conclusion" and "abstract" in name.casefold() else zone
        if name.casefold().strip() in ("abstract", "summary"):
            return "abstract"
    return "method"
