"""Which questions ask in which papers something occurs, and for what."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["MentionQuestion", "mention_question", "without_kind", "without_marks"]

_USE = (
    r"(?:use|uses|used|using|utili[sz]e[sd]?|utili[sz]ing|employ(?:s|ed|ing)?|appl(?:y|ies|ied|ying)|adopt(?:s|ed|"
    r"ing)?|"
    r"rel(?:y|ies|ied) on|build(?:s|ing)? (?:up)?on|built (?:up)?on|(?:is|are|was|were) based on|"
    r"(?:pre-?|fine-?)?(?:train|tune|tuned|trains|trained|tunes|optimi[sz]e[sd]?) (?:(?:their|its|"
    r"the) models? )?(?:with|on|using|by)|"
    r"make use of|makes use of|work(?:s|ed)? with)"
)
_EVALUATE = (
    r"(?:evaluat(?:e|es|ed|ing)|test(?:s|ed|ing)?|experiment(?:s|ed|ing)?|benchmark(?:s|ed|ing)?|"
    r"report(?:s|ed|ing)? (?:results|scores|numbers|performance))"
    r"(?: (?:their|its|the) (?:models?|methods?|systems?|results?|approach))? (?:on|with|using|by|for|in)"
)
_COMPARE = (
    r"(?:compar(?:e|es|ed|ing)(?: (?:themselves|itself|their (?:models?|methods?|results?)))? (?:with|to|against)|"
    r"outperform(?:s|ed|ing)?|beat(?:s|ing)?|(?:use|uses|used) as (?:a )?baselines?)"
)
_CITE = r"(?:cit(?:e|es|ed|ing)|referenc(?:e|es|ed|ing)|refer(?:s|red|ring)? to)"
_MENTION = (
    r"(?:mention(?:s|ed|ing)?|nam(?:e|es|ed|ing)|talk(?:s|ed|ing)? (?:about|of)|discuss(?:es|ed|ing)?|describ(?:e|"
    r"es|ed|ing)|"
    r"contain(?:s|ed|ing)?|cover(?:s|ed|ing)?|deal(?:s|t|ing)? with|address(?:es|ed|ing)?|speak(?:s|ing)? (?:about|of)|"
    r"(?:say|says|said) (?:anything|something) (?:about|on)|consider(?:s|ed|ing)?|stud(?:y|ies|ied|ying)|"
    r"investigat(?:e|es|ed|ing)|explor(?:e|es|ed|ing)|(?:is|are|was|were) (?:about|on|concerned with)|about|on)"
)
_KINDS = (("compare", _COMPARE), ("evaluate", _EVALUATE), ("use", _USE), ("cite", _CITE), ("mention", _MENTION))
_VERB = "|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _KINDS)
_DONE = (
    r"(?:(?P<use>used|applied|employed|adopted|utili[sz]ed)|(?P<cite>cited|referenced|referred to)|"
    r"(?P<evaluate>evaluated on|tested on)|(?P<compare>compared (?:with|to|against))|"
    r"(?P<mention>mentioned|discussed|described|named|talked about|covered|addressed|studied|considered|found|"
    r"brought up))"
)
_PAPERS = r"(?:papers?|articles?|documents?|publications?|pdfs?|stud(?:y|ies)|works)"
_WHERE = rf"(?:in|by) (?:which|what|how many)(?: of (?:the|my|these|those|our))? {_PAPERS}(?: in (?:my|the) library)?"
_PLURAL = r"(?:papers|articles|documents|publications|pdfs|studies|works)"
_ANY = (
    rf"(?:any(?:where| ?one| ?body)?(?: (?:of )?(?:the|my|our|these|those) {_PLURAL}| (?:other )?{_PAPERS})?|"
    rf"(?:one|some) of (?:the|my|our|these|those) {_PLURAL}|a {_PAPERS}|"
    rf"(?:the|my|our|these|those) (?:other )?{_PLURAL})"
)
_ALSO = r"(?:(?:that|which|who|also|actually|even|ever|do|does|did|have|has|at least|else|explicitly|they|to) )*"

_REST = re.compile(rf"(?:{_ALSO})(?:{_VERB}) (?P<x>.+)", re.IGNORECASE)
"""What stands behind "which papers"."""
_WHO = re.compile(
    rf"who (?:else )?(?:(?:has|have|also|all) )*(?:{_VERB.replace('|about|on)', ')')}) (?P<x>.+)", re.IGNORECASE
)
_DOES_ANY = re.compile(
    rf"(?:do|does|did|has|have|is there|are there|is) {_ANY} (?:in (?:my|"
    rf"the) library )?(?:{_ALSO})(?:{_VERB}) (?P<x>.+)",
    re.IGNORECASE,
)
_DO_I_HAVE = re.compile(
    r"(?:do i have|do we have|have i got|is there|are there|does (?:my|the) library (?:have|contain))"
    r" (?:anything|something|any mentions?|mentions?)(?: in (?:my|the) (?:papers|library))? (?P<mention>about|on|"
    r"of|that mentions) (?P<x>.+)",
    re.IGNORECASE,
)
_IN_WHICH = re.compile(
    rf"{_WHERE} (?:is|are|was|were|do|does|did)(?: there)? (?P<x>.+?) (?:been )?(?:{_DONE}|(?P<m2>occur|appear|"
    rf"come up|mentioned))",
    re.IGNORECASE,
)
_IS_ANYWHERE = re.compile(
    rf"(?:is|are|was|were|has|have|does|do) (?P<x>.+?) (?:been |ever )*(?:{_DONE}|(?P<m2>occur|appear|come up))"
    rf" (?:anywhere|somewhere|(?:in|by) {_ANY})(?: in (?:my|the|these) (?:library|papers))?",
    re.IGNORECASE,
)
_WHERE_IS = re.compile(
    rf"where (?:is|are|was|were|does|do) (?P<x>.+?) (?:been )?(?:(?P<mention>mentioned|discussed)|(?P<cite>cited)|"
    rf"(?P<m2>occur|appear|come up))"
    rf"(?: (?:in|by) {_ANY})?",
    re.IGNORECASE,
)
_MENTIONS_OF = re.compile(
    rf"(?:list |show |find |count )?(?:all |the |every )*(?P<mention>mentions?|"
    rf"occurrences?) of (?P<x>.+?)(?: in (?:{_ANY}|my library|the library))?",
    re.IGNORECASE,
)
_HOW_OFTEN = re.compile(
    rf"how (?:often|many times) (?:is|are|was|were|does|do) (?P<x>.+?) (?:{_DONE}|(?P<m2>occur|appear|"
    rf"come up))(?: (?:in|by) {_ANY})?",
    re.IGNORECASE,
)
_WHOLE = (_DOES_ANY, _DO_I_HAVE, _IN_WHICH, _IS_ANYWHERE, _WHERE_IS, _MENTIONS_OF, _HOW_OFTEN)

_KIND_NOUN = re.compile(
    r" (?:optimi[sz]ers?|models?|data ?sets?|benchmarks?|methods?|algorithms?|techniques?|corpus|corpora|metrics?|"
    r"scores?|"
    r"architectures?|papers?|frameworks?|approach(?:es)?|library|tasks?|systems?|networks?|layers?|units?|cells?|"
    r"mechanisms?|language|challenge|"
    r"test|suite)$",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"^(?:the|a|an|any|some|such|this|that|these|those|its|their|term|word|phrase) ", re.IGNORECASE)
_BEHIND = re.compile(
    r"(?: (?:at all|anywhere|somewhere|too|as well|in (?:its|their) (?:experiments?|text|work|references)|"
    r"for (?:training|"
    r"evaluation|testing)|in (?:my|the|this|any) library|in (?:any of )?(?:my|the|these) papers|or not|and where|"
    r"and how often))+$",
    re.IGNORECASE,
)
_NO_PHRASE = re.compile(
    r"(?:more|most|less|least|fewer|best|better|worse|highest|lowest|largest|smallest|same|how|what|which|who|"
    r"whether|why|"
    r"when|where|that|it|them|both of|one|each other|another|other|different|only|at least|over|between)\b|"
    r".*\b(?:how|what|which|whether|why|that|than|is|are|was|were|does|do|did|their own|each other|instead)\b",
    re.IGNORECASE,
)
_MOST_WORDS = 6


@dataclass(frozen=True, slots=True)
class MentionQuestion:
    """A question for the papers in which something occurs."""

    kind: str
    """ "use", "evaluate", "compare", "cite" or "mention": what the papers are asked to do with it."""
    phrase: str
    is_who: bool = False
    """Whether it does not say that it means papers."""


def mention_question(question: str, rest: str | None) -> MentionQuestion | None:
    """What the question asks for, as `bare` gives it; `rest` is what stands behind "which papers", if it begins so."""
    patterns = [(_REST, rest)] if rest else [(_WHO, question), *((pattern, question) for pattern in _WHOLE)]
    for pattern, text in patterns:
        found = pattern.fullmatch(text or "")
        if found is None:
            continue
        groups = found.groupdict()
        kind = next((kind for kind, _ in _KINDS if groups.get(kind)), "mention")
        phrase = without_marks(groups["x"])
        if phrase and not _NO_PHRASE.match(phrase) and len(phrase.split()) <= _MOST_WORDS:
            return MentionQuestion(kind, phrase, pattern is _WHO)
        return None
    return None


def without_marks(text: str) -> str:
    """The phrase without article, quotation marks and what only says where to look."""
    before = ""
    while text != before:
        before = text
        text = _ARTICLE.sub("", _BEHIND.sub("", text.strip(" ,.?!\"'“”‘’`")))
    return text


def without_kind(phrase: str) -> str:
    """The phrase without the noun behind a name that says what it is: "Adam" of "Adam optimizer"; else the same."""
    name = _KIND_NOUN.sub("", phrase)
    return name if name != phrase and len(name) > 1 else phrase
