"""An answer, cut into sentences: prose, list items, rows of tables, blocks of code, quotations in one piece."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ragscience.core.paper_records import ENDING
from ragscience.core.sentences import split_sentences
from ragscience.core.tokenizing import terms

_LONGEST_QUOTE = 4000
_HARD_WRAP = 60
"""Characters: a line that is at least as long, and ends in the middle of a sentence, continues in the next."""
_HEADING_WORDS = 8
_LONGEST_WORD = 200
"""Characters: longer strings are not words, and slow to compare."""
_MARK = re.compile(r"[ \t]*(?:(?:>[ \t]*)+|#{1,6}[ \t]+|[-*+•–][ \t]+|\(?(?:\d{1,2}[.)]|[a-z]\))[ \t]+)+")
_LIST_MARK = re.compile(r"[ \t>]*(?:[-*+•–]|\(?(?:\d{1,2}[.)]|[a-z]\)))[ \t]+")
_FENCE = re.compile(r"[ \t]*+(?:```|~~~)[ \t]*+[\w+-]{0,20}+[ \t]*+$")
_ROW = re.compile(r"[ \t]*\|.*\|[ \t]*$")
_RULE = re.compile(r"(?:(?=[ \t:|-]*?--)[ \t:|-]++|[ \t]*+[*_=-]{3,}+[ \t]*+)$")
_EMPHASIS = re.compile(r"\*+|`+|\$+|__|(?<!\w)_|_(?!\w)|\\[()\[\]]")
_QUOTED = re.compile(r"[“\"](.+)[”\"][\s.,;]*")
_MISSING = re.compile(
    r"\W*(?:no (?:relevant )?information (?:was |is |could be )?(?:found|given|available)"
    r"|(?:unfortunately, )?i (?:could|can|was|am) ?(?:not|n't|un)"
    r"|(?:unfortunately, )?(?:(?:none of )?the|these|your|this) (?:\w+ ){0,2}"
    r"(?:passages?|papers?|sources?|documents?|context|text)"
    r" (?:does|do|did)(?: not|n't|n’t) (?:\w+ )?"
    r"(?:mention|say|contain|provide|state|specify|answer|give|include|discuss|describe|report|address))",
    re.IGNORECASE,
)
_NAMES_FILES = re.compile(rf"[^:]{{1,80}}:[^:]*{ENDING}\.?", re.IGNORECASE)
_BUT = re.compile(r"\b(?:but|however|although|though|whereas|while)\b", re.IGNORECASE)
_POLITE = re.compile(
    r"\W*(?:sure|certainly|of course|great question|thank you|thanks|i hope|hope this|let me know|feel free)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class AnswerSentence:
    """`text[start:end]` of an answer, without the mark of a list item or a heading before it."""

    start: int
    end: int
    claim: str
    """Its text on one line, without citations and markup."""
    kind: str
    """ "prose", "row" (of a table), "code", or "nothing": a heading, a lead, a question, a refusal."""
    quoted: bool
    """Whether all of it is in quotation marks."""
    block: int
    """Sentences of one paragraph, list item, table or block of code share it."""


@dataclass(frozen=True, slots=True)
class _Block:
    start: int
    end: int
    kind: str
    number: int
    item: bool


def split_answer(text: str, cited: Sequence[tuple[int, int]]) -> list[AnswerSentence]:
    """The sentences of `text`, in order; they don't overlap. `cited` are the (start, end) of its citations, in order.

    A citation belongs to the sentence that contains it; one between two sentences belongs to neither.
    """
    masked = _masked(text, cited)
    quotes = _quotations(masked)
    found = [
        (sentence, block.item) for block in _blocks(masked, quotes) for sentence in _sentences(masked, block, quotes)
    ]
    last_start = found[-1][0].start if found else 0
    return [
        _classified(sentence, masked, is_item, has_more=sentence.start < last_start, cited=cited)
        for sentence, is_item in found
    ]


def _masked(text: str, cited: Sequence[tuple[int, int]]) -> str:
    """`text` with blanks in the place of citations, of the same length."""
    pieces, at = [], 0
    for start, end in cited:
        pieces += [text[at:start], " " * (end - start)]
        at = end
    return "".join([*pieces, text[at:]])


def _blocks(text: str, quotes: Sequence[tuple[int, int]]) -> Iterator[_Block]:
    """Paragraphs, list items, rows and code, in order."""
    lines = _lines(text, quotes)
    number = 0
    i = 0
    while i < len(lines):
        start, end = lines[i]
        line = text[start:end]
        if _FENCE.match(line):
            j = next((j for j in range(i + 1, len(lines)) if _FENCE.match(text[slice(*lines[j])])), len(lines))
            if j > i + 1:
                yield _Block(lines[i + 1][0], lines[j - 1][1], "code", number, False)
            i, number = j + 1, number + 1
            continue
        if _RULE.match(line) or not line.strip():
            number += not (_RULE.match(line) and "|" in line)
        elif _ROW.match(line):
            header = (
                i + 1 < len(lines) and "|" in text[slice(*lines[i + 1])] and _RULE.match(text[slice(*lines[i + 1])])
            )
            yield _Block(start, end, "nothing" if header else "row", number, False)
        else:
            number += 1
            j = i
            while j + 1 < len(lines) and _goes_on(text, lines[j], lines[j + 1]):
                j += 1
            mark = _MARK.match(text, start, lines[j][1])
            heading = line.lstrip().startswith("#")
            begin = mark.end() if mark else start
            yield _Block(begin, lines[j][1], "nothing" if heading else "prose", number, bool(_LIST_MARK.match(line)))
            i, number = j, number + 1
        i += 1


def _lines(text: str, quotes: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The lines; those inside a quotation count as one."""
    lines: list[tuple[int, int]] = []
    start = 0
    for match in re.finditer(r"\n", text):
        if not any(left < match.start() < right for left, right in quotes):
            lines.append((start, match.start()))
            start = match.end()
    return [*lines, (start, len(text))]


def _quotations(text: str) -> list[tuple[int, int]]:
    """(start, end) of the text in “ ”, the outermost; and of whole lines that begin with “ and end with ”."""
    found: list[tuple[int, int]] = []
    opened: list[int] = []
    for match in re.finditer("[“”]|\n[ \t]*\n", text):
        mark = match.group()
        if mark == "“":
            opened.append(match.start())
        elif mark == "”" and opened:
            start = opened.pop()
            if not opened and match.end() - start <= _LONGEST_QUOTE:
                found.append((start, match.end()))
    whole_lines = re.finditer(r"^[ \t]*(?:[-*•][ \t]+)?(“[^\n]*”)[ \t.]*$", text, re.MULTILINE)
    return [*found, *(match.span(1) for match in whole_lines)]


def _goes_on(text: str, line: tuple[int, int], after: tuple[int, int]) -> bool:
    """Whether the sentence at the end of a line runs on into the next line."""
    here, there = text[slice(*line)], text[slice(*after)]
    if not there.strip() or _MARK.match(there) or _ROW.match(there) or _RULE.match(there) or _FENCE.match(there):
        return False
    if here.rstrip() != here.rstrip(" ") or here.endswith("  ") or here.rstrip().endswith((".", "!", "?", ":", "。")):
        return False
    return there.lstrip()[0].islower() or (len(here) >= _HARD_WRAP and not here.lstrip().startswith("#"))


def _sentences(text: str, block: _Block, quotes: Sequence[tuple[int, int]]) -> list[AnswerSentence]:
    """The sentences of one block, still without a verdict on whether they say anything."""
    if block.kind != "prose":
        start, end = _stripped(text, block.start, block.end)
        return [_sentence(text, start, end, block)] if start < end else []
    body = text[block.start : block.end].replace("\n", " ").replace("\r", " ")
    spans = [(block.start + span.start, block.start + span.end) for span in split_sentences(body)]
    for left, right in quotes:
        inside = [span for span in spans if span[0] < right and left < span[1]]
        if len(inside) > 1:
            joined = (inside[0][0], inside[-1][1])
            spans = sorted({*spans} - {*inside} | {joined})
    return [_sentence(text, start, end, block) for start, end in spans]


def _sentence(text: str, start: int, end: int, block: _Block) -> AnswerSentence:
    said = _said(text[start:end])
    quoted = _QUOTED.fullmatch(said)
    return AnswerSentence(start, end, quoted[1] if quoted else said, block.kind, quoted is not None, block.number)


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    body = text[start:end]
    return start + len(body) - len(body.lstrip()), start + len(body.rstrip())


def _said(text: str) -> str:
    """On one line, without markup."""
    said = " ".join(word[:_LONGEST_WORD] for word in _EMPHASIS.sub("", text.replace("|", " ")).split())
    return re.sub(r"(?<!\s)\s++([.,;:!?])", r"\1", said).strip()


def _classified(
    sentence: AnswerSentence, text: str, is_item: bool, *, has_more: bool, cited: Sequence[tuple[int, int]]
) -> AnswerSentence:
    """The sentence, with the kind "nothing" if it makes no claim."""
    has_citation = any(sentence.start <= start < sentence.end for start, _ in cited)
    if sentence.kind == "nothing" or not _says_something(sentence, text, is_item, has_more, has_citation):
        return replace(sentence, kind="nothing")
    return sentence


def _says_something(sentence: AnswerSentence, text: str, is_item: bool, has_more: bool, has_citation: bool) -> bool:
    claim = sentence.claim
    if not terms(claim) or claim.endswith("?") or _POLITE.match(claim):
        return False
    if _MISSING.match(claim) and not _BUT.search(claim):
        return False
    if _NAMES_FILES.fullmatch(claim):
        return False
    if has_citation or sentence.kind != "prose" or any(character.isdigit() for character in claim):
        return True
    if claim.rstrip("]) ").endswith(":"):
        return False
    ends_line = text[sentence.end : sentence.end + 1] in ("", "\n", "\r")
    alone = ends_line and not text[: sentence.start].rpartition("\n")[2].strip()
    is_heading = alone and has_more and not is_item and len(claim.split()) <= _HEADING_WORDS
    return not (is_heading and not claim.endswith((".", "!", "。")))
