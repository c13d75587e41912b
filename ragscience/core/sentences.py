"""The text of a paper, cut into sentences and lines, with exact offsets.

Text from a PDF is not prose alone: lines break inside sentences, tables and equations arrive as runs of short lines,
and headings have no full stop. Prose becomes sentences; a run of short lines becomes rows, each of them a label with
the figures that follow it.

Of a quote the sentence that answers is shown first: `leading_of`, `first_line` and `below_of`.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from ragscience.core.answer_records import Block
from ragscience.core.tokenizing import STOP_WORDS

UNSURE = ("⟪", "⟫")
"""Between these stands the text of a formula whose layout was not understood."""
_UNSURE = re.compile("⟪[^⟪⟫]*+(?:⟫|$)|^[^⟪⟫]*+⟫")
SENTENCE_LIMIT = 600
"""Characters: what runs on for longer without a full stop is cut at a blank; a single word never is."""

_ROW_LIMIT = 160
_LINE = re.compile(r"[^\n\r\f\v\x85\u2028\u2029]+")
_MARKDOWN_TABLE = re.compile(r"(?:^\|[^\n]*(?:\n|\Z))+", re.M)
_STOP = re.compile(
    r"""(?<![.!?…])[.!?…]++["'”’»)\]]*+(?:\^\d{1,3}(?:[,–-]\^?\d{1,3})*+)?+(?=\s)|[。！？]++[”’」』）]*+"""
)
"""A stop, with the number of a footnote or reference behind it."""
_LAST_WORD = re.compile(r"""[^\s("'“‘\[]+$""")
_STARTS_SENTENCE = re.compile(r"""["'“‘«(\[•–—\-*]*\s*[^\Wa-z_]|[“«•(\[$\\]""")
_ENUMERATION = re.compile(r"\(?(?:\d{1,2}|[A-Za-z]|[ivx]{1,4})[.)]")
_ACRONYM = re.compile(r"(?:[^\W\d_]\.){2,}[^\W\d_]?\.?|[A-Z]\.")
_CAPTION = re.compile(r"(?:table|tab\.|figure|fig\.|algorithm|listing)\s*[\dIVX]+\s*[.:|]", re.IGNORECASE)
_HEADING = re.compile(r"(?:\d+|[A-Z])(?:\.\d+)*\.?(?:\s+[A-Z]|\s*$)")
_SHORT_FORMS = """
e.g i.e eg ie fig figs eq eqs eqn eqns sec secs sect tab tabs cf vs viz vol no nos pp p ch chap app ref refs resp approx
dr mr mrs ms prof st jr sr dept univ proc conf thm lem def prop cor alg ca w.r.t s.t a.k.a ed eds incl est max min avg
"""
_ABBREVIATIONS = frozenset(_SHORT_FORMS.split())
_MAY_END = frozenset({"al", "etc", "inc", "ltd", "corp", "co"})
"""Abbreviations after which a sentence may well begin: a capital decides."""


@dataclass(frozen=True, slots=True)
class SentenceSpan:
    """`text[start:end]`, without blanks at either end."""

    start: int
    end: int
    kind: str
    """ "sentence", "caption" (how a table's or figure's begins), or "row" (of a table; an equation, a heading)."""


def formulas_named(text: str, page: int = 0) -> str:
    """The text with "[formula, p.5]" in place of each formula whose layout was not understood."""
    return (
        _UNSURE.sub(f"[formula, p.{page}]" if page else "[formula]", text)
        if UNSURE[0] in text or UNSURE[1] in text
        else text
    )


def split_sentences(text: str) -> list[SentenceSpan]:
    """The spans of `text`, in order; they don't overlap, and every character that is not a blank is in one."""
    spans: list[SentenceSpan] = []
    at = 0
    for table in _MARKDOWN_TABLE.finditer(text):
        spans.extend(_without_tables(text, at, table.start()))
        spans.extend(_markdown_rows(text, table.start(), table.end()))
        at = table.end()
    spans.extend(_without_tables(text, at, len(text)))
    return spans


def _markdown_rows(text: str, start: int, end: int) -> Iterator[SentenceSpan]:
    """A row for each line; the line of dashes belongs to the header above it."""
    begin = start
    for line in _LINE.finditer(text, start, end):
        following = _LINE.match(text, line.end() + 1, end) if line.end() < end else None
        if following is None or set(following.group()) - set("|-: "):
            yield from _bounded(text, begin, line.end(), "row")
            begin = line.end()


def _without_tables(text: str, start: int, end: int) -> Iterator[SentenceSpan]:
    for first, last, prose in _runs(text, start, end):
        yield from _sentences(text, first, last) if prose else _rows(text, first, last)


def _runs(text: str, start: int, end: int) -> Iterator[tuple[int, int, bool]]:
    """Stretches of whole lines, each prose (True) or short lines (False)."""
    lines = [(m.start(), m.end()) for m in _LINE.finditer(text, start, end)]
    short = _short_lines(text, lines)
    begin: int | None = None
    for i, (start, end) in enumerate(lines):
        if begin is None:
            begin = start
        last = i + 1 == len(lines)
        if last or short[i] != short[i + 1] or _breaks_after(text, lines, i):
            yield begin, end, not short[i]
            begin = None


def _breaks_after(text: str, lines: Sequence[tuple[int, int]], i: int) -> bool:
    """Whether a paragraph ends with line `i`: a blank line, or a caption begins, follows."""
    start, _ = lines[i + 1]
    gap = text[lines[i][1] : start]
    return gap.count("\n") > 1 or "\f" in gap or not text[slice(*lines[i])].strip() or bool(_CAPTION.match(text, start))


def _short_lines(text: str, lines: Sequence[tuple[int, int]]) -> list[bool]:
    """Which lines are cells, rows, equations or headings rather than prose."""
    widths = [len(text[start:end].strip()) for start, end in lines]
    limit = min(0.6 * _prose_width(widths), 45.0)
    looks = [0 < width < limit for width in widths]
    short = [False] * len(lines)
    i = 0
    while i < len(lines):
        if not looks[i]:
            i += 1
            continue
        j = i
        while j < len(lines) and (looks[j] or widths[j] == 0):
            j += 1
        first = i + 1 if i > 0 and _goes_on(text, lines, i) else i
        # What goes on in line i may leave blank lines alone.
        if any(widths[first:j]) and (j - first >= 3 or _stands_alone(text, lines, first, j)):
            short[first:j] = [True] * (j - first)
        i = j
    return short


def _prose_width(widths: Sequence[int]) -> int:
    """The width that at least 70 % of the characters are in lines of at most; lines under 25 are never prose."""
    broad = sorted(width for width in widths if width >= 25)
    seen = 0
    for width in broad:
        seen += width
        if seen >= 0.7 * sum(broad):
            return width
    return 0


def _goes_on(text: str, lines: Sequence[tuple[int, int]], i: int) -> bool:
    """Whether line `i` ends the sentence that the line before it began."""
    before, line = text[slice(*lines[i - 1])].rstrip(), text[slice(*lines[i])].strip()
    return bool(before) and not before.endswith((".", ":", "!", "?")) and line.endswith((".", "?", "!"))


def _stands_alone(text: str, lines: Sequence[tuple[int, int]], first: int, end: int) -> bool:
    """Whether one or two short lines are a heading: no full stop before, in or at the end of them."""
    before = text[slice(*lines[first - 1])].rstrip() if first else ""
    if before and not before.endswith((".", ":", "!", "?", "…", ")")):
        return False
    own = text[lines[first][0] : lines[end - 1][1]].strip()
    if own.endswith((".", ",", ";", "-", "?", "!")):
        return False
    after = text[slice(*lines[end])].lstrip() if end < len(lines) else ""
    return bool(_HEADING.match(own)) or (bool(after) and not after[0].islower() and own[0].isupper())


def _sentences(text: str, start: int, end: int) -> Iterator[SentenceSpan]:
    kind = "caption" if _CAPTION.match(text, start, end) else "sentence"
    begin = start
    for stop in _STOP.finditer(text, start, end):
        if _ends_sentence(text, begin, stop, end):
            yield from _bounded(text, begin, stop.end(), kind)
            begin, kind = stop.end(), "sentence"
    yield from _bounded(text, begin, end, kind)


def _ends_sentence(text: str, begin: int, stop: re.Match[str], end: int) -> bool:
    rest = text[stop.end() : min(stop.end() + 40, end)].lstrip()
    if not rest:
        return False
    mark = stop.group()
    if mark[0] in "。！？":
        return True
    if not _STARTS_SENTENCE.match(rest):
        return False
    if mark[0] != "." or "^" in mark:
        return True
    word = _LAST_WORD.search(text[max(begin, stop.start() - 40) : stop.start()])
    token = word.group() if word else ""
    if _ENUMERATION.fullmatch(token + ".") and not text[begin : stop.start() - len(token)].strip(" \n(["):
        return False  # "1. Introduction", "(a. …": a list's mark, not a sentence
    if token.casefold() in _ABBREVIATIONS or _ACRONYM.fullmatch(token + "."):
        return False
    return (len(token) != 1 and token.casefold() not in _MAY_END) or rest[0].isupper()


def _rows(text: str, start: int, end: int) -> Iterator[SentenceSpan]:
    """Lines gathered to rows: a row begins where words follow figures, and is not longer than `_ROW_LIMIT`."""
    begin, row_end, had_figures = -1, start, False
    for line in _LINE.finditer(text, start, end):
        cell = line.group()
        if not cell.strip():
            continue
        figures = _is_figures(cell)
        if begin >= 0 and ((had_figures and not figures) or line.end() - begin > _ROW_LIMIT):
            yield from _bounded(text, begin, row_end, "row")
            begin, had_figures = -1, False
        if begin < 0:
            begin = line.start()
        had_figures = had_figures or figures
        row_end = line.end()
    if begin >= 0:
        yield from _bounded(text, begin, row_end, "row")


def _is_figures(cell: str) -> bool:
    """Whether a cell holds a value rather than a label: digits outnumber letters, or it marks an empty cell."""
    digits = sum(character.isdigit() for character in cell)
    letters = sum(character.isalpha() for character in cell)
    return digits > letters or not (digits or letters)


def _bounded(text: str, start: int, end: int, kind: str) -> Iterator[SentenceSpan]:
    """`text[start:end]` without outer blanks, cut at blanks into pieces of at most SENTENCE_LIMIT."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    while end - start > SENTENCE_LIMIT:
        cut = next((i for i in range(start + SENTENCE_LIMIT, start, -1) if text[i].isspace()), None)
        if cut is None:
            cut = next((i for i in range(start + SENTENCE_LIMIT, end) if text[i].isspace()), end)
        yield SentenceSpan(start, len(text[:cut].rstrip()) if cut < end else end, kind)
        start = cut
        while start < end and text[start].isspace():
            start += 1
    if start < end:
        yield SentenceSpan(start, end, kind)


_LINE_CHARS = 260
"""A longer first line is cut."""
_FEWEST_CHARS = 20
"""Less than this is nothing to show below it."""


BETWEEN_CELLS = " · "
"""Between the cells of one table that a comparison's sides ask for, in the line that answers."""


def leading_of(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """The blocks that are shown by their line: the first, of a comparison one for each side; or none."""
    return tuple(takewhile(lambda block: block.line and not block.is_brief, blocks))


def first_line(block: Block) -> tuple[str, str]:
    """(The line that answers, the words in it that were asked for or ""); a long sentence is cut around these words."""
    line, key = formulas_named(block.line, block.citations[0].page if block.citations else 0), block.key
    if len(line) > _LINE_CHARS:
        at = line.find(key) if key else 0
        start = max(0, min(at - _LINE_CHARS // 2, len(line) - _LINE_CHARS))
        start = line.find(" ", start) + 1 if start else 0
        end = line.rfind(" ", at + len(key), start + _LINE_CHARS) if start + _LINE_CHARS < len(line) else len(line)
        end = end if end > at else len(line)
        line = f"{'… ' if start else ''}{line[start:end]}{' …' if end < len(line) else ''}"
    return line, key


def below_of(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """What is shown below these lines: the quotes that carry them, without the words that are there already.

    Of a comparison each paper's second quote follows its first, in the order of the papers.
    """
    leading = leading_of(blocks)
    others = [block for block in blocks[len(leading) :] if not block.is_brief]
    cited = [one for one in others if one.citations] if len(leading) > 1 else []
    below = list[Block]()
    for block in leading:
        own = [one for one in cited if one.citations[0].path == block.citations[0].path]
        below += [*_rest_of(block), *own]
    return tuple(dict.fromkeys([*below, *others]))


def _rest_of(block: Block) -> tuple[Block, ...]:
    """The block without its line: the best of its other sentences."""
    if block.kind == "table" or len(block.line) > _LINE_CHARS:
        return (block,)
    return (replace(block, text=block.beside, lead=""),) if len(block.beside) >= _FEWEST_CHARS else ()


# The acronyms that a text defines

_IN_PARENTHESES = re.compile(r"\s\(([^()]{2,80})\)")
_SHORT = re.compile(r"[A-Za-z][A-Za-z0-9\-/&]{1,9}")
_MAY_PRECEDE = re.compile(r"[.;:,()\[\]|]")
_NEVER = frozenset("fig eq sec ie eg iii vi vii viii usa uk us eu phd et-al arxiv pdf url".split())  # noqa: SIM905
"""What stands in parentheses with capitals and abbreviates nothing that a paper introduces."""
_NOT_FIRST = STOP_WORDS | frozenset("one two three many several like via per another every even first second".split())  # noqa: SIM905
_NOWHERE = frozenset({"the", "is", "are", "we", "that", "this", "was"})


def short_forms(text: str) -> Iterator[tuple[str, str]]:
    """(short, long) as defined in a text on one line, in order: "long short-term memory (LSTM)", "LSTM (long …)".

    After A. S. Schwartz, M. A. Hearst, "A simple algorithm for identifying abbreviation definitions in biomedical
    text", Pacific Symposium on Biocomputing 2003, section 3: the letters of the short form are found in the long one
    from the right; its first letter begins a word there.
    """
    for match in _IN_PARENTHESES.finditer(text):
        before, inside = text[: match.start()], re.split(r"[;,]", match.group(1))[0].strip()
        if _is_short(inside):
            words = _MAY_PRECEDE.split(before)[-1].split()[-min(len(inside) + 5, 2 * len(inside)) :]
            long = _long_form(inside, " ".join(words))
        else:
            inside, swapped = before.split()[-1] if before.split() else "", match.group(1).strip()
            long = _long_form(inside, swapped) if _is_short(inside) else ""
            long = long if long == swapped else ""
        short = inside.removesuffix("s") if inside[-2:-1].isupper() else inside
        if long and _is_term(short, long):
            yield short, long


def _is_short(text: str) -> bool:
    return bool(_SHORT.fullmatch(text)) and sum(c.isupper() for c in text) >= 2 and text.casefold() not in _NEVER


def _is_term(short: str, long: str) -> bool:
    words = [word.casefold() for word in long.split()]
    return (
        2 <= len(words) <= len(short) + 2
        and not _NOWHERE.intersection(words)
        and words[0] not in _NOT_FIRST
        and not any(character.isdigit() for character in long)
        and short.casefold() not in words
    )


def _long_form(short: str, text: str) -> str:
    """The end of `text` that `short` abbreviates, or nothing."""
    letters = [c for c in short.removesuffix("s" if short[-2:-1].isupper() else "").casefold() if c.isalnum()]
    folded, at = text.casefold(), len(text)
    for place in range(len(letters) - 1, -1, -1):
        at -= 1
        while at >= 0 and (folded[at] != letters[place] or (place == 0 and at > 0 and folded[at - 1].isalnum())):
            at -= 1
        if at < 0:
            return ""
    long = " ".join(text[at:].split()).strip(" .,;:\"'“”‘’*")
    return long if long.count(" ") < 8 else ""
