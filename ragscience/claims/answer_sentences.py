"""An answer, cut into sentences: prose, list items, rows of tables, lines of code."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile

from ragscience.core.paper_records import ENDING
from ragscience.core.sentences import split_sentences
from ragscience.core.tokenizing import terms

_HARD_WRAP = 60
"""Characters: a line that is at least as long, and ends in the middle of a sentence, continues in the next."""
_HEADING_WORDS = 8
_FEWEST_TERMS = 3
"""A part before a citation with fewer content words is not a claim: it is joined with the one before it."""
_LONGEST_WORD = 200
"""Characters: longer strings are not words, and slow to compare."""
_MARK = re.compile(r"[ \t]*(?:(?:>[ \t]*)+|#{1,6}[ \t]+|[-*+•–][ \t]+|\(?(?:\d{1,2}[.)]|[a-z]\))[ \t]+)+")
_FENCE = re.compile(r"[ \t]*+(?:```|~~~)[ \t]*+[\w+-]{0,20}+[ \t]*+$")
_ROW = re.compile(r"[ \t]*\|.*\|[ \t]*$")
_RULE = re.compile(r"(?:(?=[ \t:|-]*?--)[ \t:|-]++|[ \t]*+[*_=-]{3,}+[ \t]*+)$")
_EMPHASIS = re.compile(r"\*+|`+|\$+|__|(?<!\w)_|_(?!\w)|\\[()\[\]]")
_QUOTATION = re.compile(r"“[^“”]{1,4000}+”|\"[^\"\n]{1,4000}+\"")
_ENDS = (".", "!", "?", "。")
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


def split_answer(text: str, cited: Sequence[tuple[int, int]]) -> list[AnswerSentence]:
    """The sentences of `text`, in order; they don't overlap. `cited` are the (start, end) of its citations, in order.

    A citation belongs to the sentence that contains it; one between two sentences belongs to neither.
    """
    plain = masked(text, cited)
    quotations = [match.span() for match in _QUOTATION.finditer(plain)]
    spans = [span for start, end, kind in _blocks(plain) for span in _spans(plain, start, end, kind)]
    found = [_sentence(plain, *span, quotations) for span in spans]
    return [
        each
        if _says_something(
            each,
            plain,
            has_more=each is not found[-1],
            has_citation=any(each.start <= start < each.end for start, _ in cited),
        )
        else replace(each, kind="nothing")
        for each in found
    ]


def masked(text: str, cited: Sequence[tuple[int, int]]) -> str:
    """`text` with blanks in the place of citations, of the same length."""
    pieces, at = [], 0
    for start, end in cited:
        pieces += [text[at : max(at, start)], " " * (end - max(at, start))]
        at = max(at, end)
    return "".join([*pieces, text[at:]])


def _blocks(text: str) -> list[tuple[int, int, str]]:
    """(start, end, kind as in AnswerSentence) of paragraphs, list items, rows and lines of code, in order."""
    blocks: list[tuple[int, int, str]] = []
    is_code, at = False, 0
    for line, following in pairwise([*text.split("\n"), ""]):
        start, at = at, at + len(line) + 1
        if _FENCE.match(line):
            is_code = not is_code
        elif is_code:
            blocks.append((start, at - 1, "code"))
        elif _ROW.match(line) and not _RULE.match(line):
            is_header = "|" in following and _RULE.match(following)
            blocks.append((start, at - 1, "nothing" if is_header else "row"))
        elif line.strip() and not _RULE.match(line):
            last, end, kind = blocks[-1] if blocks else (0, -1, "")
            if kind == "prose" and end + 1 == start and _goes_on(text[last:end], line):
                blocks[-1] = last, at - 1, kind
            else:
                blocks.append((start, at - 1, "nothing" if line.lstrip().startswith("#") else "prose"))
    return blocks


def _goes_on(before: str, line: str) -> bool:
    """Whether the sentence at the end of `before` runs on into the next line."""
    last = before.rpartition("\n")[2]
    if _MARK.match(line) or last.endswith("  ") or last.rstrip().endswith((*_ENDS, ":")):
        return False
    return line.lstrip()[0].islower() or len(last) >= _HARD_WRAP


def _spans(text: str, start: int, end: int, kind: str) -> Iterator[tuple[int, int, str]]:
    """(start, end, kind) of the sentences of a block, behind its mark."""
    if kind not in ("row", "code"):
        mark = _MARK.match(text, start, end)
        start = mark.end() if mark else start
    body = text[start:end]
    if kind != "prose":
        begin = start + len(body) - len(body.lstrip())
        if begin < start + len(body.rstrip()):
            yield begin, start + len(body.rstrip()), kind
        return
    for span in split_sentences(body.replace("\n", " ").replace("\r", " ")):
        yield start + span.start, start + span.end, kind


def _sentence(text: str, start: int, end: int, kind: str, quotations: Sequence[tuple[int, int]]) -> AnswerSentence:
    said = " ".join(word[:_LONGEST_WORD] for word in _EMPHASIS.sub("", text[start:end].replace("|", " ")).split())
    said = re.sub(r"(?<!\s)\s++([.,;:!?])", r"\1", said)
    is_quoted = any(left <= start and not text[right:end].strip(" .,;") for left, right in quotations if start < right)
    return AnswerSentence(start, end, said.strip('“”" ,;') if is_quoted else said.strip(), kind, is_quoted)


def _says_something(sentence: AnswerSentence, text: str, *, has_more: bool, has_citation: bool) -> bool:
    """Whether it makes a claim."""
    claim = sentence.claim
    if sentence.kind == "nothing" or not terms(claim) or claim.endswith("?") or _POLITE.match(claim):
        return False
    if _NAMES_FILES.fullmatch(claim) or (_MISSING.match(claim) and not _BUT.search(claim)):
        return False
    if has_citation or sentence.kind != "prose" or any(character.isdigit() for character in claim):
        return True
    if claim.rstrip("]) ").endswith(":"):
        return False
    is_alone = (
        not text[: sentence.start].rpartition("\n")[2].strip() and text[sentence.end : sentence.end + 1] in "\r\n"
    )
    return not (is_alone and has_more and len(claim.split()) <= _HEADING_WORDS and not claim.endswith(_ENDS))


def homes(text: str, sentences: Sequence[AnswerSentence], cited: Sequence[tuple[int, int]]) -> list[tuple[int, ...]]:
    """For each citation, `text[start:end]`, the indices of the sentences that it follows; empty if there are none.

    One between two sentences belongs to that before it, unless that one has its own or is on another line. Alone below
    a table or a block of code it belongs to all rows that cite nothing.
    """
    found: list[tuple[int, ...]] = []
    has_own: set[int] = set()
    starts = [sentence.start for sentence in sentences]
    for start, end in cited:
        at = bisect_right(starts, start) - 1
        if at >= 0 and start < sentences[at].end:
            found.append((at,))
            has_own.add(at)
            continue
        before = at if at >= 0 else None
        following = bisect_left(starts, end)
        after = following if following < len(starts) else None
        if after is not None and "\n" in text[end : sentences[after].start]:
            after = None
        same_line = before is not None and "\n" not in text[sentences[before].end : start]
        if before is None or (after is not None and (not same_line or before in has_own)):
            found.append(() if after is None else (after,))
        elif not same_line and sentences[before].kind in ("row", "code"):
            rows = takewhile(lambda i: sentences[i].kind in ("row", "code"), range(before, -1, -1))
            found.append(tuple(sorted(set(rows) - has_own)))
        else:
            found.append((before,))
    return found


def cited_parts(
    text: str, sentence: AnswerSentence, cited: Sequence[tuple[int, int, int]]
) -> list[tuple[str, list[int]]]:
    """The parts of a sentence, each with the citations behind it; one too short goes with the one before it.

    `cited` are (number, start, end), in order; one that does not stand in the sentence belongs to the part before it.
    """
    parts: list[tuple[str, list[int]]] = []
    at = sentence.start
    for number, start, end in cited:
        inside = sentence.kind == "prose" and sentence.start <= start < sentence.end
        said = text[at:start] if inside else ""
        at = end if inside else at
        if parts and any(len(set(terms(each))) < _FEWEST_TERMS for each in (parts[-1][0], said)):
            before, numbers = parts.pop()
            parts.append((f"{before} {said}", [*numbers, number]))
        else:
            parts.append((said, [number]))
    last, numbers = parts.pop() if parts else ("", [])
    return [*parts, (f"{last} {text[at : sentence.end]}", numbers)]
