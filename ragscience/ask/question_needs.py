"""What a question asks for, a number, a year, a name, a reason or something else, and about what.

By rules on the words of an English question, some tens of microseconds each.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ragscience.core.tokenizing import STOP_WORDS, terms

_REASON = re.compile(
    r"\bwhy\b|\bfor what reasons?\b|\bwhat (?:is|was|are|were) the reasons?\b|\bwhat (?:causes?|made)\b"
)
_COMPARISON = re.compile(
    r"^compare\b|\bhow (?:do|does|did|is|are) .{1,120}\b(?:compare|differ|different)\b|"
    r"\bdifferences? between\b|\b(?:versus|vs)\b"
)
_FORMULA = re.compile(r"\b(?:formula|equation|written as|expression|update rule|loss function|objective function)\b")
_DEFINITION = re.compile(
    r"\bwhat (?:is|are) (?:meant by|the (?:definition|meaning) of)\b|^define\b|\bhow (?:is|are) .{1,80} defined\b|"
    r"\bwhat (?:does|do) .{1,60} (?:mean|stand for)\b"
)
_PLAIN_DEFINITION = re.compile(r"what(?:'s| is| are) (?:an? )?(?:[\w'-]+ ){0,3}[\w'-]+ ?\?*")
_HOW = re.compile(r"\bhow (many|much|long|often|large|big|far|fast|high|low|small|wide|deep|old|quickly|slow|tall)\b")
_BY_HOW_MUCH = re.compile(r"\b(?:by how much|by what factor|at what|to what (?:size|extent|value)|from what)\b")
_PROCEDURE = re.compile(r"^how (?:do|does|did|is|are|was|were|can|could|would|will|to)\b")
_YEAR = re.compile(r"\b(?:what|which) year\b|^when (?:was|were|did|is)\b")
_NAME = re.compile(
    r"^(?:who|whose|where)\b|"
    r"\b(?:what|which) (?:\w+ ){0,2}(?:algorithm|architecture|baseline|benchmark|company|corpora|"
    r"corpus|country|dataset|data ?set|city|framework|gpu|hardware|institution|journal|language|librar(?:y|ies)|"
    r"machine|method|metric|model|optimi[sz]er|package|platform|program|software|supplier|system|tool|tokeni[sz]er|"
    r"university|website)s?\b"
)
_ANY_ASKING = re.compile(r"\b(?:what|which|who|whose|why|how|when|where)\b")
_UNITS = (
    (
        re.compile(r"\bhow long\b|\b(?:duration|latency|time)\b"),
        "day hour hrs minute min second sec ms week month year s h",
    ),
    (re.compile(r"\b(?:memory|v?ram|storage|disk)\b"), "gb mb kb tb gib mib byte"),
    (re.compile(r"\b(?:percent|percentage|share|proportion|fraction)\b"), "% percent"),
    (re.compile(r"\b(?:costs?|price|paid|pay|dollars?|money)\b"), "$ dollar usd euro"),
)
_ASKING = re.compile(r"\b(?:what|which|whose|how (?:many|much))\b(?:'s)?")
_WORD = re.compile(r"[^\W_]++(?:[-'’.][^\W_]++)*+")
_NUMBER_NOUNS = frozenset(
    """
    accuracy age amount auc average bandwidth bleu bound budget capacity coefficient concentration constant cost count
    decay decrease depth deviation dimension dimensionality dosage dose dropout duration epoch error estimate exponent
    f1 factor fraction frequency gain hyper-parameter hyperparameter improvement increase interval latency length margin
    mean median memory momentum number p-value penalty percent percentage perplexity precision price probability
    proportion range rate ratio recall reduction rouge score setting share size speed speedup step temperature threshold
    throughput time value variance weight width year
    """.split()  # noqa: SIM905  # a list of 60 strings reads worse
)
_PASSED_OVER = frozenset(
    {"is", "are", "was", "were", "the", "a", "an", "kind", "kinds", "type", "types", "of", "exact"}
)
_ENDS = frozenset(
    """
    about across after against and are as at been before between by can could did do does during for from had has have
    if in into is it may might must of on or over per should so than that the their them these they this to under was
    were when where which while who will with within without would
    """.split()  # noqa: SIM905  # as above
)


@dataclass(frozen=True, slots=True)
class QuestionNeeds:
    """What a quote must have to answer a question."""

    kind: str
    """ "number", "year", "name", "formula", "definition", "reason" or "other"."""
    attribute: frozenset[str]
    """Terms (core/tokenizing.py) of what is asked for: of "What learning rate does Adam use?" learn, rate; or none."""
    units: frozenset[str]
    """In small letters, of one: those that a number asked for may have, of "How long …" day, hour, …; or none."""
    entities: tuple[str, ...]
    """Names as the question has them: words with a capital, a digit or an inner capital, but for its first word."""


def needs_of(question: str) -> QuestionNeeds:
    """What `question` asks for. Why something is so, and how two things differ, is told by no number."""
    asked = " ".join(question.casefold().split())
    attribute = _attribute(asked)
    units = next((words for cue, words in _UNITS if cue.search(asked)), "")
    return QuestionNeeds(
        _kind(asked, attribute, units),
        frozenset(terms(" ".join(attribute))),
        frozenset(units.split()),
        _entities(question),
    )


def _kind(asked: str, attribute: tuple[str, ...], units: str) -> str:
    if _REASON.search(asked) or _PROCEDURE.search(asked):
        return "reason"
    if _COMPARISON.search(asked):
        return "other"
    if _YEAR.search(asked):
        return "year"
    if _FORMULA.search(asked):
        return "formula"
    if attribute[:1] in (("happens",), ("happened",)):
        return "other"
    if _HOW.search(asked) or _BY_HOW_MUCH.search(asked) or _names_a_number(attribute) or (units and not attribute):
        return "number"
    if not _ANY_ASKING.search(asked) and _names_a_number(tuple(_WORD.findall(asked))):
        return "number"  # "vram needed for …", "bert large accuracy on RTE"
    if _NAME.search(asked):
        return "name"
    is_list = attribute and attribute[-1].endswith("s") and not attribute[-1].endswith(("ss", "us", "is"))
    if (
        _DEFINITION.search(asked)
        or _PLAIN_DEFINITION.fullmatch(asked)
        or (asked.startswith(("what is ", "what are ", "what's ")) and not is_list)
    ):
        return "definition"
    return "other"


def _names_a_number(attribute: tuple[str, ...]) -> bool:
    return any(word in _NUMBER_NOUNS or word.removesuffix("s") in _NUMBER_NOUNS for word in attribute)


def _attribute(asked: str) -> tuple[str, ...]:
    """The words between what asks ("which", "how many") and the next verb or preposition."""
    begin = _ASKING.search(asked)
    if begin is None:
        return ()
    words: list[str] = []
    for match in _WORD.finditer(asked, begin.end()):
        word = match.group()
        if not words and word in _PASSED_OVER:
            continue
        if word in _ENDS or len(words) == 5:
            break
        words.append(word)
    return tuple(words)


def _entities(question: str) -> tuple[str, ...]:
    found = []
    for number, match in enumerate(_WORD.finditer(question)):
        word = match.group()
        is_named = any(letter.isupper() for letter in word[1:]) or (word[0].isupper() and number > 0)
        if (
            is_named or (any(map(str.isdigit, word)) and any(map(str.isalpha, word)))
        ) and word.casefold() not in STOP_WORDS:
            found.append(word)
    return tuple(dict.fromkeys(found))
