"""A typed value for a question from the passages of one paper: its words, its place, and how likely it is right.

Sentences and rows are scored as quotes are, and the best are read by the small model (models/minilm.py). What it
reads must have the column's type. A logistic model over what is known of each then says how likely it is the value,
fitted to half of benchmarks/questions/matrix.tsv; `python -m benchmarks.matrix --curve` shows what STATED decides.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING

from ragscience.ask.quote_candidates import Unit, units_of
from ragscience.ask.unit_scores import Asked, Piece, features_of, pieces_of, score_of
from ragscience.claims.facts import Said, squeezed
from ragscience.core.paper_records import page_parts
from ragscience.core.records import Answer, Block, Hit
from ragscience.core.tokenizing import STOP_WORDS, joined_lines, terms
from ragscience.review.columns import Column, converted

if TYPE_CHECKING:
    from ragscience.ask.extractive import Readers

MODEL = {"intercept": -4.8, "span": 3.6, "name": 2.0, "meaning": 2.5, "cell": 0.7}
"""Weights of the log-odds that a value is right."""
STATED = 0.6
"""How likely a value must be right; below it the paper counts as stating none: a wrong value costs more than none."""
HIGH = 0.85
ROUTED = {"high": 0.9, "medium": 0.75}
"""For the confidence of an answer that needed no search."""
_READ = 24
"""Sentences and rows that are read for a cell."""
_BESIDE = 0.75
"""For an item that stands beside the column's name, in place of how sure the reader is."""
_NUMBER = re.compile(
    r"(?<![\w.^])[-\u2212]?\d[\d,]*+(?:\.\d++)?+(?:\s?[x×·]\s?10\s?\^?\{?[-\u2212]?\d++\}?|[eE][-\u2212]?\d++)?+"
    r"(?:\s?[%‰]|\s?(?:million|billion|thousand|trillion)\b|[^\W\d_]{1,8}(?!\w))?+"
)
_DIGITS = re.compile(r"[-\u2212+.,\d]+\s?(?:thousand|million|billion|trillion)?\s?")
_MORE_UNIT = re.compile(r"\s([^\W\d_]{1,20}(?:/[^\W\d_]{1,9})?)")
_NAMED = re.compile(r"[^\W\d_]\w{0,12}\s?=\s?\Z")
"""Before a number that is the value of a symbol."""
_RATIO = re.compile(r"\s?(?:times\b|[x×](?!\w))")
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sept?|Oct|Nov|Dec)[a-z]{0,6}\.?"
_DATE = re.compile(
    rf"\b(?:(?:\d{{1,2}}\s)?{_MONTH}\s(?:\d{{1,2}}(?:st|nd|rd|th)?,\s)?)?(?:19|20)\d\d(?:-\d\d-\d\d)?\b(?!\.\d)"
)
_CITED = re.compile(r"\bal\.,?\s\(?\Z|[a-z],\s\Z")
"""Before the year of somebody else's paper."""
_TITLES = re.compile(r"“[^”]{0,400}”")
_BETWEEN = re.compile(r",\s(?:and\s)?|;\s|\sand\s")
_ASIDE = re.compile(r"\s?(?:\[[\d, -]{1,20}\]|\([^()]{1,60}\))")
"""A citation or an abbreviation behind a name."""
_LISTS = re.compile(r"[^.;:]{0,40}?(?::|\bsuch as|\bincluding|\bnamely)\s")
_WINDOW = 200
_PARTS = re.compile(r"[,;:]\s")
_HEADING = re.compile(r"[\d.\s]*\Z")
_LABEL = re.compile(r"\s?\([^()]{1,200}, (?:p\.|¶)\s?\d+\)")


@dataclass(frozen=True, slots=True)
class Value:
    """A value as a paper has it."""

    text: str
    """As printed, with its unit; "yes" or "no"; a model's sentence where one worded it."""
    page: int
    quote: str
    """The words of the page that it is in or stands on."""
    certainty: float
    """0 to 1: how likely it is the paper's answer."""
    number: float | None = None
    normal: float | None = None
    """The number in the column's unit; None without one, and where the printed unit is no such unit."""

    def same(self, other: Value) -> bool:
        """Whether both say the same: equal numbers, in the column's unit where both are, or the same words."""
        for one, two in ((self.normal, other.normal), (self.number, other.number)):
            if one is not None and two is not None:
                return math.isclose(one, two, rel_tol=1e-6)
        return squeezed(self.text) == squeezed(other.text)


def read_values(column: Column, hits: Sequence[Hit], readers: Readers) -> list[Value]:
    """What the passages say, the likeliest first, each value once; of a list names alone, where one is stated.

    Raises ModelProblem.
    """
    places = {unit.place: unit for hit in hits for unit in units_of(hit)}
    matches = readers.matcher(column.question, [hit.chunk for hit in hits]) if readers.matcher and hits else None
    asked, pieces = pieces_of(column.question, list(places.values()), matches)
    about = [piece for piece in pieces if (piece.held or piece.above) and _may_hold(column.kind, piece.unit)]
    best = sorted(about, key=lambda piece: -score_of(features_of([piece], asked)))[:_READ]
    if column.kind == "yes/no":
        return _once(_yes_or_no(column, piece, asked) for piece in best)
    texts = [piece.unit.shown for piece in best]
    spans = readers.spans(f"{column.question.rstrip(' ?.!')}?", texts) if readers.spans and texts else []
    found: list[Value] = []
    for piece, text, span in zip(best, texts, spans, strict=True):
        said, sure = typed(column, text, span.start, span.end), span.probability
        if (row := piece.row) and row.value and row.fit >= sure:
            said, sure = typed(column, row.value, 0, len(row.value)), row.fit
        found += [_value(column, each, piece, likelihood(column, piece, asked, sure)) for each in said]
    for piece in pieces if column.kind == "list" else ():
        sure = likelihood(column, piece, asked, _BESIDE)
        found += [_value(column, each, piece, sure) for each in beside_name(column, joined_lines(piece.unit.text))]
    stated = (each for each in found if each.certainty >= STATED)
    named = [each for each in stated if all(map(_is_of_name, each.text.split()))] if column.kind == "list" else []
    return _once(named or found)


def likelihood(column: Column, piece: Piece, asked: Asked, span: float) -> float:
    """How likely the value in that sentence or row is right, 0 to 1.

    `span` is how likely the reader finds its words there. `name` is the share of the column's name, of those words that
    the question has too, that the sentence, its table's head or its headings have; the rest as in ask/unit_scores.py.
    """
    features, words = features_of([piece], asked), column.name.split()
    own = frozenset(terms(column.question)) & frozenset(terms(column.name)) or frozenset(terms(column.question))
    is_joined = len(words) > 1 and not piece.terms.isdisjoint(terms("".join(words)))
    name = 1.0 if is_joined else len(own & (piece.terms | piece.above)) / max(1, len(own))
    signs = features | {"span": span, "name": name}
    odds = MODEL["intercept"] + sum(weight * signs[each] for each, weight in MODEL.items() if each in signs)
    return 0.5 * (1.0 + math.tanh(0.5 * odds))


def beside_name(column: Column, text: str) -> list[str]:
    """The names before the column's name ("the MNIST dataset", "A and B datasets") or listed behind it.

    A lone name before a plural is rather a kind of them ("NLP datasets").
    """
    found: list[str] = []
    for match in _called(column.name).finditer(text):
        before = text[max(0, match.start() - _WINDOW) : match.start()]
        lists, items = _LISTS.match(text, match.end()), _names(before, backwards=True)
        found += items if not match[1] or len(items) > 1 else []
        found += _names(text[lists.end() : lists.end() + _WINDOW]) if lists else []
    known = {squeezed(each) for each in Said(text).names}
    return [each for each in found if not known.isdisjoint(map(squeezed, each.split()))]


def _called(name: str) -> re.Pattern[str]:
    """A column's name in one word or several, with a group for the plural's ending."""
    words = r"[\s-]?".join(map(re.escape, name.removesuffix("s").split()))
    return re.compile(rf"\b{words}(s)?\b", re.IGNORECASE)


def _names(text: str, *, backwards: bool = False) -> list[str]:
    """The names of an enumeration that the text begins with, or, `backwards`, ends with but for two small words."""
    found: list[str] = []
    for part in _BETWEEN.split(_ASIDE.sub("", text).strip())[:: -1 if backwards else 1]:
        words = part.split()
        if backwards and not found:
            small = [*takewhile(str.islower, reversed(words[-2:]))]
            words = words[: len(words) - len(small)]
        end = next((at for at, word in enumerate(words, start=1) if word[-1] in ".:?"), len(words))
        within = words[:end] if not backwards else words[end:] if end < len(words) else words
        name = [*takewhile(_is_of_name, within[:: -1 if backwards else 1])]
        found += [" ".join(name[:: -1 if backwards else 1]).strip(".,;:?")] if name else []
        if len(name) < len(words):
            break
    return found


def _is_of_name(word: str) -> bool:
    """Whether a name may have it: in capitals or digits, and no footnote's mark before a word ("9The")."""
    is_marked = word[0].isdigit() and word[1:2].isupper() and word[2:].islower()
    return word[0].isalnum() and not (word[0].islower() or is_marked) and word.casefold() not in STOP_WORDS


def typed(column: Column, text: str, start: int, end: int) -> list[str]:
    """The values of the column's type in `text[start:end]`; of a list each item, else one at most."""
    kind, span = column.kind, text[start:end].strip(" .,;:()[]“”\"'")
    if kind == "number":
        return list(_numbers(text, start, end))[:1]
    if kind == "date":
        found = (match for match in _DATE.finditer(text, max(0, start - 12), min(len(text), end + 12)))
        return [match.group() for match in found if not _CITED.search(text[: match.start()])][:1]
    items = _BETWEEN.split(span) if kind == "list" else [span]
    asked = frozenset(terms(column.question))
    return [each.strip() for each in items if not _HEADING.match(each) and not asked.issuperset(terms(each))]


def _numbers(text: str, start: int, end: int) -> Iterable[str]:
    """Numbers of a span with what they are of, as printed, but for ratios and the values of symbols."""
    for match in _NUMBER.finditer(text, start, end):
        if _NAMED.search(text[max(0, match.start() - 20) : match.start()]) or _RATIO.match(text, match.end()):
            continue
        printed, more = match.group(), _MORE_UNIT.match(text, match.end(), end)
        is_bare = not printed[-1].isalpha() or any(one.mantissa != one.value for one in Said(printed).numbers)
        yield text[match.start() : more.end()] if more and is_bare and terms(more[1]) else printed


def _may_hold(kind: str, unit: Unit) -> bool:
    """Whether there can be a value of that type."""
    text = unit.text
    return bool(_DATE.search(text)) if kind == "date" else kind != "number" or any(map(str.isdigit, text))


def _yes_or_no(column: Column, piece: Piece, asked: Asked) -> Value:
    """What a sentence with the question's words says, by how many: "no" where it denies, and the question does not."""
    parts = _PARTS.split(joined_lines(piece.unit.text))
    most = max(parts, key=lambda part: len(piece.held.intersection(terms(part))))
    says_no = Said(most).negates != Said(column.question).negates
    held = features_of([piece], asked)["words"]
    return _value(column, "no" if says_no else "yes", piece, likelihood(column, piece, asked, held))


def _value(column: Column, text: str, piece: Piece, certainty: float) -> Value:
    """The value with the page that has it, or where its quote begins."""
    unit, chunk = piece.unit, piece.unit.hit.chunk
    parts = [(page, chunk.text[start:end].strip()) for page, start, end in page_parts(chunk, unit.start, unit.end)]
    page, quote = next((part for part in parts if text in joined_lines(part[1])), parts[0])
    lead = f"{unit.lead} " if unit.lead else ""
    return with_number(column, Value(text, page, lead + joined_lines(quote), round(certainty, 4)))


def with_number(column: Column, value: Value) -> Value:
    """The value of a column of numbers, read; also in the column's unit, where it has one."""
    numbers = Said(value.text).numbers if column.kind == "number" else []
    if not numbers:
        return value
    number = -numbers[0].value if value.text[0] in "-\u2212" else numbers[0].value
    unit = _DIGITS.sub("", value.text, count=1)
    return replace(value, number=number, normal=converted(number, unit, column.unit) if column.unit else None)


# From an answer that is there


def routed_values(column: Column, answer: Answer) -> list[Value]:
    """The values of an answer that needed no search, from its parts with a place."""
    sure = ROUTED.get(answer.confidence or "", 0.0)
    return _once(
        with_number(column, Value(text, block.citations[0].page, joined_lines(block.citations[0].quote), sure))
        for block in answer.blocks
        if block.citations and block.kind != "heading"
        for text in _of_block(column, block)
    )


def _of_block(column: Column, block: Block) -> list[str]:
    said = _TITLES.sub(" ", block.text)
    if column.kind == "list":
        return [said.strip()] if block.kind == "item" else []
    if column.kind == "text":
        return [block.key or block.line or joined_lines(block.text)]
    return typed(column, said, 0, len(said)) if column.kind in ("number", "date") else []


def dates_on(column: Column, answer: Answer, text: str) -> Iterable[Value]:
    """The dates of an answer without a place that a line of the text has, or of which it has the year."""
    known = {date[-4:] for block in answer.blocks for date in typed(column, block.text, 0, len(block.text))}
    for line in text.splitlines():
        for date in typed(column, line, 0, len(line)):
            if known & {date[-4:], date[:4]}:
                yield Value(date, 1, line.strip(), ROUTED.get(answer.confidence or "", 0.0))


def worded_values(column: Column, answer: Answer, readers: Readers) -> list[Value]:
    """The values of a language model's answer: those of sentences that their page holds, which are on that page."""
    found: list[Value] = []
    for sentence in answer.sentences:
        evidence, text = sentence.evidence, _LABEL.sub("", sentence.text).strip()
        if sentence.verdict != "supported" or evidence is None:
            continue
        says: list[str] = []
        if column.kind == "text":
            says = [text]
        elif column.kind == "yes/no":
            says = ["no" if Said(text).negates != Said(column.question).negates else "yes"]
        elif readers.spans:
            span = readers.spans(column.question, [text])[0]
            held = squeezed(evidence.quote)
            says = [each for each in typed(column, text, span.start, span.end) if squeezed(each) in held]
        quote = joined_lines(evidence.quote)
        found += [with_number(column, Value(each, evidence.page, quote, round(sentence.score, 4))) for each in says]
    return _once(found)


def _once(values: Iterable[Value]) -> list[Value]:
    """Each value where it is likeliest, the likeliest first."""
    kept: list[Value] = []
    for value in sorted(values, key=lambda each: -each.certainty):
        if not any(value.same(other) for other in kept):
            kept.append(value)
    return kept
