"""The words of a sentence that were asked for: the number with its unit, the year, the name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from ragscience.ask.question_needs import QuestionNeeds
from ragscience.core.tokenizing import STOP_WORDS, terms

_POINTERS = re.compile(
    r"\[\d{1,3}(?:\s?[,;–-]\s?\d{1,3}){0,12}\]|"
    r"\([^()]{0,120}?\b(?:19|20)\d\d[a-z]?(?:[;,][^()]{0,120})?\)|"
    r"\b(?:table|figure|fig\.|section|sec\.|appendix|equation|eqn?\.|algorithm|theorem|lemma|chapter)s?\s?\(?\d++(?:\.\d++)*+\)?|"
    r"\^\d{1,3}\b",
    re.IGNORECASE,
)
"""Numbers that point elsewhere and say nothing themselves: "[12]", "(Devlin et al., 2018)", "Table 3", a footnote's."""
_UNIT = (
    r"%|percent\b|(?:[KMGTP]i?B|[kMGT]?Hz|[kKMBT]|ms|s|h|min|hrs?|kg|mg|g|cm|mm|nm|°C|(?:tera|giga|peta|exa)?FLOPS?)\b|"
    r"(?:hundred|thousand|million|billion|trillion)\b(?: [a-z]+s\b)?|[a-z]+(?:-[a-z]+)?(?:s|es)\b|BLEU\b|F1\b|"
    r"(?:bytes?|bits?|days?|hours?|minutes?|seconds?|weeks?|months?|years?|times|points?|km|m)\b"
)
_NUMBER = re.compile(
    r"(?<![\w.,])[$€£~≈∼±]?\s?\d+(?:[.,]\d+)*(?:\s?(?:[-–]|to)\s?\d+(?:[.,]\d+)*)?(?:[eE][-−+]?\d+)?"
    rf"(?:\s?[×·x]\s?10\s?\^?[-−]?\d+)?(?:[-\s]?(?:{_UNIT})(?:/[a-z]+\d?\b)?)?(?![\w])"
)
_SPELLED = re.compile(
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|half|twice|a third) [a-z]+\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\b(?:1[6-9]|20)\d\d\b")
_NAME = re.compile(r"(?<![\w-])[\w-]*[A-Z][\w+-]*(?:[ /](?:(?:of|and|for) )?[A-Z\d][\w+.-]*\w)*")
_WORD = re.compile(r"[^\W_]++(?:[-'’.][^\W_]++)*+")
_SIGN = re.compile(r"[a-z]+|[%$€]")
_NEAR = 4.0
"""Words from a word of the question at which it counts half."""
_MARGIN = 1.25
"""How much better than the next one the best candidate must be."""
_HAS_UNIT = 0.5
"""What a number gains that has a unit that is asked for, wherever the question's words stand."""
_FULL = 1.0
"""Score of a candidate that fits as well as can be."""
_BY = re.compile(r"\bby (?:more than|less than|at least|over|about|up to|around)?\s*$", re.IGNORECASE)
_COMPARING = frozenset(
    terms("better worse faster slower more less improve improvement increase reduce reduction higher lower gain factor")
)
_DIFFERENCE = 0.5
"""What a number counts that says by how much something is better, where that is not asked."""
Span = tuple[int, int]


def asked_span(needs: QuestionNeeds, asked: Mapping[str, float], sentence: str) -> Span | None:
    """(start, end) in `sentence` of what `needs` asks for, where it is sure which words these are; else None.

    `asked` has the weight of each term of the question.
    """
    found = _candidates(needs, asked, sentence)
    if not found or (len(found) > 1 and found[0][0] < _MARGIN * found[1][0]):
        return None
    start, end = found[0][1]
    return start + len(sentence[start:end]) - len(sentence[start:end].lstrip()), end


def has_asked(needs: QuestionNeeds, asked: Mapping[str, float], sentence: str) -> float:
    """How well the best of the words in `sentence` that may be what `needs` asks for fits; 0 without any, up to 1."""
    found = _candidates(needs, asked, sentence)
    if not found:
        return 0.0
    has_unit = any(unit_of(sentence[slice(*span)]) & needs.units for _, span in found)
    return min(1.0, found[0][0] / _FULL + _HAS_UNIT * has_unit)


def _candidates(needs: QuestionNeeds, asked: Mapping[str, float], sentence: str) -> list[tuple[float, Span]]:
    """The numbers, years or names that the question does not have itself, the best first.

    The nearest to its words counts most, one with the unit or the noun that is asked for more.
    """
    find = _CANDIDATES.get(needs.kind)
    if find is None:
        return []
    blank = _POINTERS.sub(lambda found: " " * len(found[0]), sentence)
    spans = [s for s in find(blank) if not (own := frozenset(terms(blank[slice(*s)]))) or own - asked.keys()]
    if not spans:
        return []
    words = [(match.span(), frozenset(terms(match[0]))) for match in _WORD.finditer(blank)]
    found = [(_score(blank, span, words, needs, asked), span) for span in spans]
    return sorted(found, key=lambda each: (-each[0], each[1]))


def _score(
    text: str,
    span: Span,
    words: list[tuple[Span, frozenset[str]]],
    needs: QuestionNeeds,
    asked: Mapping[str, float],
) -> float:
    inside = [i for i, ((start, end), _) in enumerate(words) if start < span[1] and end > span[0]]
    if not inside:
        return 0.0
    first, last = inside[0], inside[-1]
    score = 0.05
    for i, (_, own) in enumerate(words):
        weight = sum(asked.get(term, 0.0) for term in own) / max(len(own), 1)
        weight += 0.3 * bool(own & needs.attribute)
        away = max(first - i, i - last, 0)
        score += weight / (1 + away / _NEAR)
    if _BY.search(text[: span[0]]) and not asked.keys() & _COMPARING:
        score *= _DIFFERENCE
    return score * (2.0 if unit_of(text[span[0] : words[min(last + 1, len(words) - 1)][0][1]]) & needs.units else 1.0)


def unit_of(text: str) -> set[str]:
    """The words and signs in `text` that may be units, in small letters and of one."""
    return {word.removesuffix("s") if len(word) > 2 else word for word in _SIGN.findall(text.casefold())}


def _numbers(text: str) -> Iterator[Span]:
    for pattern in (_NUMBER, _SPELLED):
        for match in pattern.finditer(text):
            yield match.span()


def _years(text: str) -> Iterator[Span]:
    yield from (match.span() for match in _YEAR.finditer(text))


def _names(text: str) -> Iterator[Span]:
    for match in _NAME.finditer(text):
        word = match[0]
        begins = match.start() == 0 or text[: match.start()].rstrip()[-1:] in ".!?:“"
        if word.split()[0].casefold() in STOP_WORDS or (begins and word[1:].islower()) or len(word) < 2:
            continue
        yield match.span()


_CANDIDATES: dict[str, Callable[[str], Iterator[Span]]] = {"number": _numbers, "year": _years, "name": _names}
