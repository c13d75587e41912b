"""What a sentence says of a phrase in it: that its authors use it, evaluate on it, compare with it, or do not."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ragscience.ask.phrase_search import Place
from ragscience.core.paper_records import page_parts
from ragscience.core.records import Citation, StoredChunk
from ragscience.core.sentences import split_sentences
from ragscience.core.tokenizing import joined_lines

__all__ = [
    "DENIES",
    "SAYS",
    "MentionQuestion",
    "Quoted",
    "best_quote",
    "mention_question",
    "without_kind",
    "without_marks",
]

SAYS, DENIES = 3, 2
SAYS_OF_NOBODY = 1
"""As SAYS, in the passive voice: a denial by the authors counts more."""
_MOST_PLACES = 40
"""Of a paper: so many places are looked at for the best quote."""
_SHOWN = 240
_FAR = 75
"""Characters between a verb and what it is said of."""
_MOST_NUMBERS = 0.25
"""Of a sentence: the share of its words that are numbers."""
_MOST_MARKS = 0.13
"""Of a sentence: the share of its characters that are neither letters, digits nor blanks."""
_VERBS = {
    "use": re.compile(
        r"\b(?:us(?:e|es|ed|ing)|utili[sz]\w*|employ\w*|appl(?:y|ies|ied|ying)|adopt\w*|incorporat\w*|add(?:ed|ing)?|"
        r"(?:pre-?|fine-?)?(?:train|tun|optimi[sz])(?:e|es|ed|ing|s)?\b(?: [\w-]+){0,5} (?:with|on|using))\b",
        re.IGNORECASE,
    ),
    "evaluate": re.compile(
        r"\b(?:evaluat\w*|test(?:ed|ing|s)?|experiment\w*|report\w*|benchmark\w*|measur\w*|results?|perform\w*|"
        r"achiev\w*|"
        r"improv\w*|obtain\w*|scores?|accuracy|F1)\b",
        re.IGNORECASE,
    ),
    "compare": re.compile(
        r"\b(?:compar\w*|outperform\w*|baselines?|better than|worse than|versus|vs\.?|beat\w*|surpass\w*|exceed\w*|"
        r"against|in contrast to|than)\b",
        re.IGNORECASE,
    ),
}
_DO = (
    r"(?:used|applied|employed|adopted|utili[sz]ed|(?:pre-?|fine-?)?(?:trained|tuned|optimi[sz]ed)|evaluated|"
    r"tested|chosen|added|included)"
)
_BE = r"(?:is|are|was|were|been) (?!typically|commonly|usually|generally|widely|frequently)(?:\w+ly )?(?:also )?"
_PASSIVE = re.compile(rf"[^.;]{{0,50}}\b{_BE}{_DO}\b", re.IGNORECASE)
_PASSIVE_BEFORE = re.compile(rf"\b{_BE}{_DO}\b[^.;]{{0,60}}$", re.IGNORECASE)
_OURS = re.compile(r"\b(?:we|our|us|this paper|this work)\b", re.IGNORECASE)
_EXAMPLE = re.compile(r"\b(?:like|such as)(?: the)?\s*$", re.IGNORECASE)
_OTHERS = re.compile(r"\bet al\b|\b(?:19|20)\d\d[a-z]?\)? (?:use|apply|employ|propose|show)", re.IGNORECASE)
_NOT = re.compile(
    r"(?:\b(?:not|never|without|no|neither|nor|rather than|instead of|unlike|except)\b|n['’]t\b)[^.;,]{0,45}$",
    re.IGNORECASE,
)
_SUPPOSED = re.compile(
    r"\b(?:if|could|would|might|may|can|whether) (?:we|one|also|be|have|obtain|get)\b[^,;]*$", re.IGNORECASE
)
_REFERENCE = re.compile(r"\s?(?:\[[\d,;\s–-]{1,20}\]|\([^()]{0,80}(?:19|20)\d\d[a-z]?[^()]{0,40}\))")
_NUMBER = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class Quoted:
    """The best sentence of a paper for a phrase."""

    stance: int
    """SAYS, DENIES, or 0 for a mention."""
    quote: str
    """As it is shown: cut around the phrase where it is long."""
    citation: Citation
    chunk: StoredChunk


def best_quote(places: list[Place], kind: str, evidence: frozenset[int]) -> Quoted:
    """The sentence that says most clearly what `kind` asks for; `evidence`: passages that state it by the graph.

    `places` are those of one paper, at least one.
    """
    best: tuple[float, Quoted] | None = None
    spans: dict[int, list[tuple[int, int, str]]] = {}
    for place in places[:_MOST_PLACES]:
        chunk = place.chunk
        if chunk.chunk_id not in spans:
            spans[chunk.chunk_id] = [(span.start, span.end, span.kind) for span in split_sentences(chunk.text)]
        around = ((start, end, what) for start, end, what in spans[chunk.chunk_id] if start <= place.start < end)
        start, end, what = next(around, (place.start, place.end, "row"))
        stance = _stance(chunk.text, (start, end), place, kind, chunk.chunk_id in evidence)
        is_prose = what == "sentence" and end - start > 20 and _is_prose(chunk.text[start:end])
        stance = stance if is_prose else 0
        score = stance + is_prose * 0.9 + (end - start < 350) * 0.5
        if best is None or score > best[0]:
            best = score, Quoted(SAYS if stance == SAYS_OF_NOBODY else stance, *_cited(place, start, end), chunk)
    if best is None:
        raise ValueError("no place to quote")
    return best[1]


def _is_prose(text: str) -> bool:
    """Whether it is not a figure's labels in one line: these are full of marks and numbers, and nobody speaks."""
    if _OURS.search(text):
        return True
    marks = sum(not (char.isalnum() or char.isspace()) for char in text)
    words = text.split()
    numbers = sum(word[0].isdigit() for word in words)
    return marks <= _MOST_MARKS * len(text) and numbers <= _MOST_NUMBERS * len(words)


def _stance(text: str, span: tuple[int, int], place: Place, kind: str, is_evidence: bool) -> int:
    """What a sentence says: as `Quoted.stance`, less where it does not say who."""
    verbs = _VERBS.get(kind)
    if verbs is None or text[place.end : place.end + 1] == "-":
        return 0
    before = _REFERENCE.sub("", text[max(span[0], place.start - 250) : place.start])
    behind = _REFERENCE.sub("", text[place.end : min(span[1], place.end + 150)])[:_FAR]
    verb = verbs.search(before[-_FAR:]) or (_PASSIVE.match(behind) if kind == "use" else verbs.search(behind))
    if verb is None or _EXAMPLE.search(before) or _SUPPOSED.search(before):
        return 0
    ours = _OURS.search(before) is not None
    denied = _NOT.search(before)
    if denied:
        of_use = denied.group().casefold().startswith(("no ", "without")) or verbs.search(denied.group())
        return DENIES if kind == "use" and ours and of_use else 0
    if ours or is_evidence or kind == "compare":
        return SAYS
    if _OTHERS.search(before + behind):
        return 0
    is_passive = _PASSIVE_BEFORE.search(before) or _PASSIVE.match(behind)
    is_result = kind == "evaluate" and _NUMBER.search(text[span[0] : span[1]])
    return SAYS_OF_NOBODY if is_passive or is_result else 0


def _cited(place: Place, start: int, end: int) -> tuple[str, Citation]:
    """(the sentence as it is shown, the part of it that is on the page of the phrase, as a citation)."""
    chunk = place.chunk
    parts = list(page_parts(chunk, start, end)) or [(chunk.page_start, start, end)]
    page, first, last = next((part for part in parts if part[1] <= place.start < part[2]), parts[0])
    shown, where = joined_lines(chunk.text[first:last]), joined_lines(chunk.text[first : place.start] + "x")
    citation = Citation(chunk.file, page, shown, True, chunk.path, chunk.start + first, chunk.start + last)
    return _cut(shown, len(where)), citation


def _cut(text: str, at: int) -> str:
    """At most _SHOWN characters around a place of the text, whole words."""
    if len(text) <= _SHOWN:
        return text
    begin = max(0, min(at - _SHOWN // 2, len(text) - _SHOWN))
    begin = text.find(" ", begin) + 1 if begin else 0
    end = min(len(text), begin + _SHOWN)
    end = text.rfind(" ", begin, end) if end < len(text) else end
    return f"{'… ' if begin else ''}{text[begin:end]}{' …' if end < len(text) else ''}"


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
