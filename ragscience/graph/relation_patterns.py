"""Relations that a sentence states between two entities: the words between them, passive voice, negation."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Found", "Place", "relations"]


@dataclass(frozen=True, slots=True)
class Pattern:
    """The words that state each relation between two entities."""

    relation: str
    between: re.Pattern[str]
    subjects: frozenset[str]
    objects: frozenset[str]
    confidence: float
    anywhere: bool = False
    """Whether the first entity may follow a preposition: "results of BERT on SQuAD"."""
    turned: bool = False
    """The first entity is the object: passive voice, or a whole before its part."""
    lists: bool = True
    """Whether entities listed after the object are objects too."""

    @property
    def ranks(self) -> bool:
        """Whether it says which of two things is better."""
        return self.relation == "IMPROVES"


MADE = frozenset({"METHOD", "ALGORITHM"})
IDEAS = MADE | {"CONCEPT", "TASK"}
DATA = frozenset({"DATASET"})
_BE = r"(?:(?:is|are|was|were|be|been|being|can be|has been|have been|which is|which are|that is|that are) )?"
_ADV = r"(?:(?:\w+ly|also|further|then|thus|both|still|now|often|even|therefore|instead) )*"
_COST = (
    r"(?:[\w-]+ ){0,2}(?:errors?|perplexity|loss|cost|latency|variance|bias|rate|WER|complexity|overhead|time|memory)\b"
)
_WHO = r"(?:,? ?(?:which|that) )?"
TAIL = (
    r"(?:(?:[\d.]+ ?[BMK]|large|small|medium|big|base|itself|alone|models?|implementations?|mechanisms?|retrievers?|"
    r"generators?|encoders?|decoders?|variants?|few-shot|zero-shot|training|pre-training|fine-tuning),? )*"
)
"""What may be between the first entity and its verb: "PaLM 540B uses", "BERT pre-training uses"."""
DETERMINERS = (
    r"(?:(?:a|an|the|its|their|our|this|these|several|multiple|many|existing|previous|prior|strong|large|larger|new|"
    r"novel|both|two|three|single|simple|popular|standard|original|different|deep|single-model|ensemble|all|other|"
    r"well-known|modern|recent|various|traditional|trained|pre-trained|pretrained|\w+-sized) )*"
)


FREE = (
    r"(?:(?!(?:of|in|on|for|with|from|by|to|at|as|into|via|using|and|or|but|than|that|which|where|when|while|if|is|are|"
    r"was|were|be|we|it|they|has|have|can|only)\b)[\w-]+ ){0,2}"
)
"""Up to two more words before the object: "outperforms the previous best LSTM"."""


_KINDS = {"made": MADE, "ideas": IDEAS, "data": DATA} | {
    kind.lower(): frozenset({kind}) for kind in ("METRIC", "CONCEPT", "TASK")
}


def _patterns() -> Iterator[Pattern]:
    """The rules of relation_patterns.toml."""
    rules = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))["pattern"]
    for rule in rules:
        verbs = "|".join(rule["verbs"]).replace("{be}", _BE).replace("{adv}", _ADV).replace("{cost}", _COST)
        free = f"(?P<free>{FREE})" if rule["confidence"] > 0.7 else "(?P<free>)"
        between = re.compile(rf"{TAIL}{_WHO}{_ADV}(?:{verbs}) {DETERMINERS}{free}", re.IGNORECASE)
        ends = [
            frozenset[str]().union(*(_KINDS[kind] for kind in side.split())) for side in rule["between"].split("->")
        ]
        turned, anywhere = rule.get("turned", False), rule.get("anywhere", False)
        yield Pattern(rule["relation"], between, ends[0], ends[1], rule["confidence"], anywhere, turned)


PATTERNS = tuple(_patterns())

Found = tuple[int, str, int, float]
"""(index of the subject, relation, index of the object, confidence)."""


@dataclass(frozen=True, slots=True)
class Place:
    """An entity in a sentence: `text[start:end]` names it, including a noun of its kind ("the BERT model")."""

    start: int
    end: int
    kind: str


_DENIED = re.compile(
    r"\b(?:not|never|cannot|neither|nor|without|no|fails?|hardly|rarely|seldom|barely|scarcely|unlikely|rather than|"
    r"instead of|except|whether)\b|n['’]t\b",
    re.IGNORECASE,
)
_NONE_OF = re.compile(r"\b(?:no|none of|neither|few|not all|not every|hardly any)(?: [\w-]+){0,3}\s*$", re.IGNORECASE)
"""Before a subject: of which nothing is stated."""
_SUPPOSED = re.compile(
    r"\b(?:if|unless|whether|suppose|supposing|assum\w+|hypothesi\w+|expect\w*|believe\w*|hope\w*|question)\b[^,;]{0,70}$",
    re.IGNORECASE,
)
_CONCEDED = re.compile(r"\b(?:although|though|even if|while|whereas)\b[^,;]{0,80}$", re.IGNORECASE)
_IN_FEW = re.compile(
    r"[^.;,]{0,25}?\b(?:(?:in|on|for|at) (?:only|just|merely|few|fewer|less than|a (?:few|minority|handful))|"
    r"only (?:in|on|for|at|if|when|under))\b",
    re.IGNORECASE,
)
_SHARE = re.compile(r"[^.;,]{0,25}?\bin (?:[a-z]+ ){0,2}(\d+(?:\.\d+)?) ?% of\b", re.IGNORECASE)
_CITATION = re.compile(r"\s*(?:\([^()]*\)|\[\d[\d,;\s–-]*\]|\^\d+)")
_LIST = re.compile(r"\s*(?:,|,? and|,? or|,? as well as)\s+(?:the |a |an |on |both )*", re.IGNORECASE)
_BEFORE_SUBJECT = re.compile(
    r"\b(?:of|in|on|for|with|from|by|to|at|as|into|via|using|between|like|over|than|through|against|under|within)"
    r"(?: (?>(?:a|an|the|our|its|their|this|these|\w+-\w+|standard|original|large|deep|each|all|other)(?![\w-])))*+"
    r"\s*$",
    re.IGNORECASE,
)
_REPLACE = re.compile(
    r"\b(?:(?:replac|substitut|combin|start|begin|unlike|instead)\w*[^.;]{0,30}|(?:compar|contrast)\w*[^.;]{0,80})$",
    re.I,
)
_LISTED_BEFORE = re.compile(r"(?:,|\band|\bor)\s*(?:the |a |an )?$", re.IGNORECASE)
_COMPARE = re.compile(
    r"\b(?:compar(?:e|es|ed|ing|ison (?:of|between))|difference between|contrast) (?:between )?(?:the |a |our )*$", re.I
)
_COMPARED = re.compile(rf"\s*{TAIL}(?:and|with|to|against|versus|vs\.?)\s+{DETERMINERS}", re.IGNORECASE)
_APPLY = re.compile(r"\b(?:appl(?:y|ies|ied|ying)|use|used|uses) (?:the |a |an |our |this )*$", re.IGNORECASE)
_APPLIED = re.compile(r"\s*(?:to|for|on)\s+(?:the |a |an |our |its )*(?:\w+-?\w* ){0,1}?", re.IGNORECASE)
_CLAUSE = re.compile(r",? ?(?:which|that) ", re.IGNORECASE)
_TRAIN = re.compile(
    r"\b(?:pre-?|fine-?)?(?:train|tun|optimi[sz]|implement|regulari[sz])(?:e|es|s|ed|ing)? (?:all (?:of )?)?"
    rf"{DETERMINERS}$",
    re.IGNORECASE,
)
_TRAINED_WITH = re.compile(rf"{TAIL}(?:on|using|with|via|by) {DETERMINERS}{FREE}", re.IGNORECASE)
_EVALUATE = re.compile(rf"\b(?:evaluat|test|benchmark|validat|assess)(?:e|es|s|ed|ing)? {DETERMINERS}$", re.IGNORECASE)
_EVALUATED = re.compile(rf"{TAIL}on {DETERMINERS}{FREE}", re.IGNORECASE)
_TRAINING = re.compile(r"\b(?:train|tun)\w*\b[^.;]{0,60}$", re.IGNORECASE)
_LONGEST_BETWEEN = 110


def relations(text: str, places: Sequence[Place]) -> Iterator[Found]:
    """The relations that a sentence, on one line, states between its entities, which are in order and don't overlap."""
    if text.rstrip().endswith("?"):
        return
    for first in range(len(places) - 1):
        begins = first + 1
        found = _between(text, places[first], places[begins])
        if found is None and places[begins].kind == "METRIC" and begins + 1 < len(places):
            begins += 1  # "BERT has a lower perplexity than ELMo"
            found = _between(text, places[first], places[begins])
            found = found if found and found[0].ranks else None
        if found is None:
            continue
        pattern, confidence = found
        for second in _objects(text, places, begins, pattern):
            source, target = (second, first) if pattern.turned else (first, second)
            if places[second].kind in pattern.objects:
                relation = pattern.relation
                if pattern.ranks and _is_qualified(text, places[first], places[second]):
                    relation = "COMPARES_TO"
                if relation == pattern.relation or places[second].kind in IDEAS:
                    yield source, relation, target, confidence


def _is_qualified(text: str, one: Place, other: Place) -> bool:
    """Whether a sentence concedes or supposes that one thing is better than another, or has it in few cases only."""
    before, behind = text[: one.start], text[other.end :]
    share = _SHARE.match(behind)
    is_rare = _IN_FEW.match(behind) is not None or (share is not None and float(share[1]) < 50)
    return is_rare or bool(_SUPPOSED.search(before) or _CONCEDED.search(before))


def _between(text: str, one: Place, other: Place) -> tuple[Pattern, float] | None:
    """The pattern between two entities."""
    between = _CITATION.sub("", text[one.end : other.start])
    before = text[: one.start]
    # "GPT-3 (greedy decoding) outperforms": what is in parentheses with other words is not the subject.
    is_aside = between.lstrip().startswith(")") and not before.endswith("(")
    between = between.lstrip(" )")
    if _NONE_OF.search(before):
        return None
    if _DENIED.search(before[-18:]) or _DENIED.search(between):
        return None
    if len(between) > _LONGEST_BETWEEN or ";" in between or ". " in between:
        return None
    for verb, pattern in _VERB_FIRST:
        fits = one.kind in pattern.subjects and other.kind in pattern.objects
        if fits and verb.search(before) and pattern.between.fullmatch(between):
            return pattern, pattern.confidence
    if _REPLACE.search(before):
        return None
    hangs = is_aside or (_BEFORE_SUBJECT.search(before) is not None and not _CLAUSE.match(between))
    for pattern in PATTERNS:
        if (hangs and not pattern.anywhere) or (pattern.anywhere and _TRAINING.search(before)):
            continue
        if one.kind not in pattern.subjects or other.kind not in pattern.objects:
            continue
        stated = pattern.between.fullmatch(between)
        # Words before a common noun make it another thing: "dot product attention" is not "attention".
        if stated and not (pattern.ranks and stated["free"] and text[other.start : other.end].islower()):
            listed = _LISTED_BEFORE.search(before) is not None
            return pattern, round(pattern.confidence - (0.1 if listed else 0.0), 2)
    return None


def _objects(text: str, places: Sequence[Place], first: int, pattern: Pattern) -> Iterator[int]:
    """The object and the entities listed after it."""
    yield first
    for at in range(first + 1, len(places)):
        between = _CITATION.sub("", text[places[at - 1].end : places[at].start])
        if not pattern.lists or not _LIST.fullmatch(between) or places[at].kind != places[first].kind:
            return
        behind = text[places[at].end :].lstrip()[:14].casefold()
        if re.match(r"(?:is|are|was|were|can|has|have|uses?|improves?|achieves?|outperforms?|does|do)\b", behind):
            return
        yield at


_VERB_FIRST = (
    (_COMPARE, Pattern("COMPARES_TO", _COMPARED, IDEAS, IDEAS, 0.8)),
    (_TRAIN, Pattern("USES", _TRAINED_WITH, MADE, IDEAS | DATA, 0.8)),
    (_EVALUATE, Pattern("EVALUATED_ON", _EVALUATED, MADE, DATA, 0.85)),
    (_APPLY, Pattern("APPLIES_TO", _APPLIED, MADE, IDEAS | DATA, 0.75, lists=False)),
)
"""What a verb before the first entity makes of the words between the two: "we compare X with Y"."""
