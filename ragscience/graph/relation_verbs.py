"""Words between two entities, and the relation that they say."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["DATA", "DETERMINERS", "FREE", "IDEAS", "MADE", "PATTERNS", "TAIL", "Pattern"]


@dataclass(frozen=True, slots=True)
class Pattern:
    """What between two entities says which relation."""

    relation: str
    between: re.Pattern[str]
    subjects: frozenset[str]
    objects: frozenset[str]
    confidence: float
    anywhere: bool = False
    """Whether the first entity may hang on a preposition: "results of BERT on SQuAD"."""
    turned: bool = False
    """The first entity is the object: passive voice, or a whole named before its part."""
    lists: bool = True
    """Whether entities listed behind the object are objects too."""


MADE = frozenset({"METHOD", "ALGORITHM"})
IDEAS = MADE | {"CONCEPT", "TASK"}
DATA = frozenset({"DATASET"})
_BE = r"(?:(?:is|are|was|were|be|been|being|can be|has been|have been|which is|which are|that is|that are) )?"
_ADV = r"(?:(?:\w+ly|also|further|then|thus|both|only|still|now|often|even|therefore|instead) )*"
_WHO = r"(?:,? ?(?:which|that) )?"
TAIL = (
    r"(?:(?:[\d.]+ ?[BMK]|large|small|medium|big|base|itself|alone|models?|implementations?|mechanisms?|retrievers?|"
    r"generators?|encoders?|decoders?|variants?|few-shot|zero-shot|training|pre-training|fine-tuning),? )*"
)
"""What may stand between the first entity and its verb: "PaLM 540B uses", "BERT pre-training uses"."""
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


def _pattern(
    relation: str,
    verbs: Sequence[str],
    subjects: frozenset[str],
    objects: frozenset[str],
    confidence: float,
    *,
    anywhere: bool = False,
    turned: bool = False,
) -> Pattern:
    free = FREE if confidence > 0.7 else ""
    between = re.compile(rf"{TAIL}{_WHO}{_ADV}(?:{'|'.join(verbs)}) {DETERMINERS}{free}", re.IGNORECASE)
    return Pattern(relation, between, subjects, objects, confidence, anywhere, turned)


_MEASURED = r"(?:'s )?(?:performance |results? |accuracy |scores? )?on"
_HELPED = rf"{_BE}{_ADV}"
PATTERNS = (
    _pattern(
        "EVALUATED_ON",
        (
            rf"{_HELPED}(?:evaluated|tested|benchmarked|validated|assessed|measured)(?: and \w+)? on",
            r"(?:achieves?|achieved|obtains?|obtained|performs?|performed|gets?|reaches|reached|scores?|scored|"
            r"attains?|excels?|improves?|is competitive|is state-of-the-art)(?: (?:[^\s.;:,()]|\.(?=\d))+){0,9} on",
        ),
        MADE,
        DATA,
        0.85,
    ),
    _pattern("EVALUATED_ON", (_MEASURED,), MADE, DATA, 0.7, anywhere=True),
    _pattern(
        "USES",
        (
            rf"{_HELPED}(?:pre-?|fine-?)?(?:trained|tuned) "
            r"(?:only |solely |for [^.;,]{1,30} )?(?:on|with|using|by|via)",
        ),
        MADE,
        IDEAS | DATA,
        0.8,
    ),
    _pattern(
        "USES",
        (
            r"uses?|used|employs?|employed|utili[sz]es?|leverages?|adopts?|adopted|relies on|rely on|applies",
            r"incorporates?",
            r"makes use of|using|combined with|augmented with|equipped with",
            r"(?:is|are|was|were) (?:equipped|combined|augmented|optimi[sz]ed|regulari[sz]ed|implemented|"
            r"initiali[sz]ed|parameteri[sz]ed) (?:with|using|by|in)",
        ),
        MADE,
        IDEAS | DATA,
        0.85,
    ),
    _pattern("USES", (r"with",), MADE, IDEAS, 0.65),
    _pattern(
        "USES",
        (rf"{_HELPED}(?:used|employed|adopted|utili[sz]ed) (?:in|by|within|to train)",),
        IDEAS,
        MADE,
        0.8,
        turned=True,
    ),
    _pattern(
        "IMPROVES",
        (
            r"(?:significantly |greatly )?(?:outperforms?|outperformed|surpass(?:es|ed)?|exceeds?|beats?|"
            r"improves?|improved)(?: on| upon| over)?",
            r"(?:is|are|was|were|performs?|works?|generali[sz]es) (?:\w+ly |much )*(?:better|faster|stronger|more "
            r"(?:accurate|effective|efficient|robust|powerful|precise|reliable|stable|expressive|"
            r"discriminative|scalable|factual|truthful)) than",
            r"(?:achieves?|obtains?|yields?) (?:\w+ly |much )*(?:better|higher|lower|superior)(?: \w+){1,3} "
            r"(?:than|to)",
        ),
        IDEAS,
        IDEAS | {"METRIC"},
        0.85,
    ),
    _pattern(
        "IMPROVES",
        (rf"{_HELPED}(?:outperformed|improved|surpassed|beaten) by",),
        IDEAS | {"METRIC"},
        IDEAS,
        0.8,
        turned=True,
    ),
    _pattern(
        "COMPARES_TO",
        (
            rf"{_HELPED}(?:compared|comparable|similar|analogous|equivalent|identical|superior|inferior) "
            r"(?:to|with|against)",
            r"versus|vs\.?|in (?:comparison|contrast) (?:to|with)|compares? favou?rably (?:to|with)",
            r"differs? from|matches",
            r"and compare (?:it|them) (?:to|with|against)",
        ),
        IDEAS,
        IDEAS,
        0.8,
    ),
    _pattern(
        "COMPARES_TO",
        (r"(?!.*\b(?:we|it|they|which)\b)[^.;:()]{3,70} (?:compared (?:to|with)|than|relative to|versus)",),
        MADE,
        MADE,
        0.7,
    ),
    _pattern(
        "BASED_ON",
        (
            rf"{_HELPED}(?:based|built|builds?|building) (?:up)?on(?: top of)?",
            rf"{_BE}(?:derived|adapted|obtained) from|extends?|generali[sz]es|{_BE}initiali[sz]ed (?:from|with)",
            r"(?:is|are) (?:an? )?(?:extension|variant|generali[sz]ation|modification|special case|adaptation|"
            r"form|instance|type) of",
            rf"{_HELPED}(?:inspired|motivated) by",
        ),
        IDEAS,
        IDEAS,
        0.85,
    ),
    _pattern(
        "APPLIES_TO",
        (
            r"(?:have|has|can|are|is) (?:\w+ly )?(?:been |be )?(?:\w+ly )?(?:used|applied) (?:in|for|to)",
            rf"{_HELPED}(?:applied|applicable) (?:to|for|in)",
            rf"{_HELPED}(?:used|useful|suited|suitable|designed|developed|proposed) (?:for|on)",
            r"(?:is|are) (?:an? )?(?:[\w-]+ ){0,3}(?:method|algorithm|approach|technique|framework|model) for",
        ),
        MADE,
        IDEAS | DATA,
        0.8,
    ),
    _pattern("APPLIES_TO", (r"for",), MADE, frozenset({"TASK", "CONCEPT"}), 0.6),
    _pattern(
        "PART_OF",
        (
            rf"{_BE}(?:an? |one |the |core |key |main |central )*"
            r"(?:part|component|subset|module|element|building block|ingredient|subsystem) (?:of|in)",
        ),
        IDEAS | DATA,
        IDEAS | DATA,
        0.85,
    ),
    _pattern(
        "PART_OF",
        (
            r"consists? of|(?:is|are) composed of|comprises|contains?|(?:is|are) made (?:up )?of|includes?",
            r"is a combination of",
        ),
        IDEAS | DATA,
        IDEAS | DATA,
        0.75,
        turned=True,
    ),
)
"""In the order in which they are tried."""
