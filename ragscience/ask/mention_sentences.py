"""What a sentence says of a phrase in it: that its authors use it, evaluate on it, compare with it, or do not."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ragscience.ask.phrase_search import Place
from ragscience.core.paper_records import page_parts
from ragscience.core.records import Citation, StoredChunk
from ragscience.core.sentences import split_sentences
from ragscience.core.tokenizing import joined_lines

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


def best_quote(places: list[Place], kind: str) -> Quoted:
    """The sentence that says most clearly what `kind` asks for.

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
        stance = _stance(chunk.text, (start, end), place, kind)
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


def _stance(text: str, span: tuple[int, int], place: Place, kind: str) -> int:
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
    if ours or kind == "compare":
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


_KIND_NOUN = re.compile(
    r" (?:optimi[sz]ers?|models?|data ?sets?|benchmarks?|methods?|algorithms?|techniques?|corpus|corpora|metrics?|"
    r"scores?|"
    r"architectures?|papers?|frameworks?|approach(?:es)?|library|tasks?|systems?|networks?|layers?|units?|cells?|"
    r"mechanisms?|language|challenge|"
    r"test|suite)$",
    re.IGNORECASE,
)


def without_kind(phrase: str) -> str:
    """The phrase without the noun behind a name that says what it is: "Adam" of "Adam optimizer"; else the same."""
    name = _KIND_NOUN.sub("", phrase)
    return name if name != phrase and len(name) > 1 else phrase
