"""Tables in answers: which row and column a question asks for, what stands there, and how rows are quoted."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, takewhile

from ragscience.ask.quote_candidates import Unit
from ragscience.core.tokenizing import joined_lines, terms

_HEADER_ROWS = 2
"""Rows under the header that may go on with it: they have no figures."""
_SHORT_GAP = 3
"""As many rows between quoted ones, or at an end, are given, too."""
_SHORT_TABLE = 10
"""A table of no more rows is given whole: a reader who is shown two rows of seven has to open the PDF."""
_CELL = re.compile(r"[^|]++")


def caption_of(unit: Unit) -> str:
    """The caption of the table that the unit's rows are in, on one line; empty without one."""
    return unit.lead.partition("|")[0].strip().removesuffix("…").strip()


def same_table(one: Unit, other: Unit) -> bool:
    """Whether both are rows of one table in one passage."""
    if not (one.is_row and other.is_row) or one.hit.chunk.chunk_id != other.hit.chunk.chunk_id:
        return False
    return table_span(one)[0] == table_span(other)[0]


def table_with(units: Sequence[Unit]) -> str:
    """The rows of `units`, which are of one table, in Markdown, under its header, in the table's order.

    A short table is whole; where more than a few rows of another are left out, a row says how many.
    """
    header, rows = _lines_of(units[0])
    quoted = {line.strip() for unit in units for line in unit.text.split("\n")}
    top = len(_header_rows(header, rows))
    wanted = [at < top or row.strip() in quoted for at, row in enumerate(rows)]
    made = list(header)
    for is_wanted, run in groupby(zip(wanted, rows, strict=True), lambda pair: pair[0]):
        part = [row for _, row in run]
        is_short = len(part) <= _SHORT_GAP or len(rows) <= _SHORT_TABLE
        made += part if is_wanted or is_short else [left_out(len(part), part[0])]
    return "\n".join(made)


def _lines_of(unit: Unit) -> tuple[list[str], list[str]]:
    """(The header of the unit's table with the rule below, its rows); of a later part, the header of its beginning."""
    start, end = table_span(unit)
    lines = unit.hit.chunk.text[start:end].split("\n")
    if len(lines) > 1 and not lines[1].strip("|-: "):
        return lines[:2], lines[2:]
    return [line for line in unit.hit.chunk.header.split("\n") if line[:1] == "|"], lines


def _column_names(header: Sequence[str], below: Sequence[str]) -> list[str]:
    """The names of the columns, those of the rows below that go on with the header joined; or none."""
    if not header:
        return []
    names = cells_of(header[0])
    if _has_figures(header[0]) and not all(name.isdigit() for name in names[1:]):  # a row of a table without a header
        return [""] * len(names)
    levels = [level for level in (names, *map(cells_of, below)) if len(level) == len(names)]
    for level in levels[:-1]:  # a name over several columns is in the first of them
        for at in range(1, len(level)):
            level[at] = level[at] or level[at - 1]
    return [" ".join(dict.fromkeys(filter(None, column))) for column in zip(*levels, strict=True)]


def _header_rows(header: Sequence[str], rows: Sequence[str]) -> list[str]:
    """Those of the first rows that go on with the header.

    They have no figures, more than one name, and none of a row where each column of the header has one.
    """
    is_full = bool(header) and all(cells_of(header[0]))

    def goes_on(row: str) -> bool:
        first, *others = cells_of(row)
        return any(others) and not _has_figures(row) and not (is_full and first)

    return list(takewhile(goes_on, rows[:_HEADER_ROWS])) if header else []


def cells_of(row: str) -> list[str]:
    """The cells of a row in Markdown."""
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", row.strip().strip("|"))]


def _has_figures(row: str) -> bool:
    """Whether any cell behind the first is a value: it has a digit and no letter."""
    cells = _CELL.findall(row.strip().strip("|"))[1:]
    return any(any(map(str.isdigit, cell)) and not any(map(str.isalpha, cell)) for cell in cells)


def left_out(count: int, row: str) -> str:
    """A row with as many cells as `row` that says how many rows are left out at its place."""
    cells = max(len(re.findall(r"(?<!\\)\|", row)) - 2, 0)
    return f"| … {count} {'row' if count == 1 else 'rows'} left out {'| ' * cells}|"


def table_span(unit: Unit) -> tuple[int, int]:
    """(start, end) in the passage of the table that the unit begins in: neighbouring lines that begin with a bar."""
    text = unit.hit.chunk.text
    start = end = text.rfind("\n", 0, unit.start) + 1
    while start > 0 and text[text.rfind("\n", 0, start - 1) + 1] == "|":
        start = text.rfind("\n", 0, start - 1) + 1
    while end < len(text) and text[end] == "|":
        following = text.find("\n", end)
        end = following + 1 if following >= 0 else len(text)
    return start, len(text[:end].rstrip())


_LONGEST = 120
"""Characters of a heading; a longer paragraph is text."""
_NUMBERED = re.compile(r"(?:\d{1,2}(?:\.\d{1,2})*+\.?|[A-Z](?:\.\d{1,2})++\.?)\s++[A-Z][^=≤≥<>]*+(?<![.,;:])")


def without_headings(text: str, section: str) -> tuple[str, str]:
    """(the headings that `text` begins with, its words behind them), each on one line.

    `section` has the names of headings near the text, "3 Model › 3.2 Attention". A heading is a paragraph that is one
    of them, or that begins with a number of a section and ends without a stop. A text of headings alone stays whole.
    """
    names = {joined_lines(name).casefold() for name in section.split(" › ")}
    headings: list[str] = []
    rest = text.strip()
    while True:
        paragraph, _, behind = rest.partition("\n\n")
        heading = joined_lines(paragraph)
        is_named = heading.casefold() in names
        if len(heading) > _LONGEST or not behind.strip() or not (is_named or _NUMBERED.fullmatch(heading)):
            return " › ".join(headings), joined_lines(rest)
        headings.append(heading)
        rest = behind.strip()


_SHORTEST_PART = 4
"""Letters of a term that is looked for inside the words of a row's name."""
_CAPTION = 0.6
"""What a word of the question counts that only the table's caption holds."""
_UNASKED = 0.04
"""What a row or a column loses by names that the question does not have, all of them: "BERT" is not "BERT + CRF"."""
_SIGNS = "+⋆★"
"""At the end of a name they make it another one: "BM25+"."""
_LABEL_WORDS = 3
_SAME = 1e-6
_CAMEL = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z]?[a-z]+|[A-Z]|\d+")
_SHORT = re.compile(r"\b[A-Z][A-Za-z]?[A-Za-z]?[A-Za-z]?[A-Z]\b")

Words = Sequence[tuple[frozenset[str], float]]
"""For each word piece of a question the terms of its word and its weight; the weights' sum is 1."""


@dataclass(frozen=True, slots=True)
class AskedRow:
    """A row of a table as it answers a question."""

    line: str
    """`name: column value`: the cell that fits best; every filled one where none is asked for."""
    value: str
    """The cell that is asked for, where it is sure which; else empty."""
    fit: float
    """0 to 1: the share of the question that the names of the row and the column hold; less than `held` where a half of
    them holds nothing."""
    held: float
    """0 to 1: the share that they and the caption hold."""


@dataclass(frozen=True, slots=True)
class _Name:
    """A name of a row or a column, and how much it holds of each word of the question."""

    text: str
    held: tuple[float, ...]
    unasked: float
    """0 to 1: the share of its words that the question does not have."""


def asked_rows(question: str, words: Words, rows: Sequence[Unit]) -> list[AskedRow | None]:
    """How each of a table's rows, one or more, answers; None for one without the columns of its header, or of it.

    Cells without a figure are taken only where a row has no other.
    """
    header, lines = _lines_of(rows[0])
    heads = _header_rows(header, lines)
    asked = _Question(question, words)
    columns = [asked.name(text) for text in _column_names(header, heads)]
    caption = asked.name(rows[0].lead.partition("|")[0]).held
    found: list[AskedRow | None] = []
    last = group = ""
    for row in rows:
        line = row.text.split("\n")[0]
        first, *others = cells_of(line)
        found.append(None if line in heads else _asked_row(asked, line, (columns, caption), (last, group)))
        last = first or last
        group = first if first and not any(others) else group
    return found


class _Question:
    """A question, as names are compared with it."""

    def __init__(self, question: str, words: Words) -> None:
        self.words = words
        self._spelled = re.findall(r"[^\W_]+", question)
        self._question = question
        self._all = _terms(question)
        self._terms = frozenset[str]().union(*(found for found, _ in words))

    def name(self, text: str) -> _Name:
        """A name."""
        own = _terms(text) | {sign for sign in _SIGNS if text.endswith(sign) and sign not in self._question}
        letters = "".join(filter(str.isalnum, text.casefold()))
        has = {term for term in self._terms if term in own or (len(term) >= _SHORTEST_PART and term in letters)}
        has |= self._terms.intersection(terms(" ".join(_written_out(text, self._spelled))))
        held = tuple(len(found & has) / len(found) if found else 0.0 for found, _ in self.words)
        return _Name(text, held, len(own - has) / len(own) if own else 0.0)

    def has_all(self, cell: str) -> bool:
        """Whether each word of a cell is in the question: it says which row it is, and answers nothing."""
        own = _terms(cell)
        return len(cell) > 1 and bool(own) and own <= self._all

    def share(self, *parts: Sequence[float]) -> float:
        """The share of the question that the best of the parts holds, word by word."""
        best = [max(each) for each in zip(*parts, strict=True)]
        return sum(float(weight * share) for (_, weight), share in zip(self.words, best, strict=True))


def _asked_row(
    asked: _Question, line: str, heads: tuple[Sequence[_Name], Sequence[float]], above: tuple[str, str]
) -> AskedRow | None:
    columns, caption = heads
    first, *cells = cells_of(line)
    if len(columns) != len(cells) + 1 or not any(cells):
        return None
    held = [asked.has_all(cell) for cell in cells]
    given = [has or _is_label(cell) for cell, has in zip(cells, held, strict=True)]
    said = [first, *(cell for cell, is_name in zip(cells, given, strict=True) if is_name)]
    shown = [first, *(cell for cell, has in zip(cells, held, strict=True) if has)]
    headed = [column.text for column, cell in zip(columns[1:], cells, strict=True) if asked.has_all(cell)]
    name = asked.name(" ".join(filter(None, [*(above[1:] if first else above), *said, *headed])))
    values = [(at, cell) for at, cell in enumerate(cells, start=1) if cell and not given[at - 1] and cell not in "-–—"]
    if not values:
        return None
    figures = [(at, cell) for at, cell in values if any(map(str.isdigit, cell))]
    values = figures or values
    scores = {
        at: asked.share(name.held, columns[at].held, [_CAPTION * each for each in caption])
        - _UNASKED * (name.unasked + columns[at].unasked)
        for at, _ in values
    }
    best = max(scores.values())
    pairs = [(columns[at].text, cell) for at, cell in values if scores[at] >= best - _SAME]
    at = max(scores, key=lambda each: (scores[each], -each))
    of_row, of_column = asked.share(name.held), asked.share(columns[at].held)
    is_sure = len(pairs) == 1 and any(map(str.isdigit, pairs[0][1]))
    label = ", ".join(filter(None, shown)) or above[0]
    shown_line = f"{label}: {'; '.join(f'{column} {cell}'.strip() for column, cell in pairs)}" if label else ""
    is_captioned = asked.share(name.held, [_CAPTION * each for each in caption]) > of_row
    fits = of_row and (of_column or (is_sure and len(values) == 1 and is_captioned))
    return AskedRow(shown_line, pairs[0][1] if is_sure else "", best if fits else 0.0, best)


def _is_label(cell: str) -> bool:
    """Whether it is words, few enough to say which row it is rather than something about it."""
    return any(map(str.isalpha, cell)) and not any(map(str.isdigit, cell)) and len(cell.split()) <= _LABEL_WORDS


def _written_out(name: str, question: Sequence[str]) -> Iterator[str]:
    """The words of the question that are short forms of the name's, or the other way round: EM and exact match."""
    for short, spelled in ((name, question), ("\0".join(question), re.findall(r"[^\W_]+", name))):
        initials = [_initials(word) for word in spelled]
        for match in _SHORT.finditer(short):
            for first in range(len(spelled)):
                letters, last = "", first
                while last < len(spelled) and len(letters) < len(match[0]):
                    letters, last = letters + initials[last], last + 1
                if letters == match[0].upper() and (last - first > 1 or len(_CAMEL.findall(spelled[first])) > 1):
                    yield from spelled[first:last] if short is name else (match[0],)


@lru_cache(maxsize=1 << 14)
def _terms(text: str) -> frozenset[str]:
    return frozenset(terms(text))


@lru_cache(maxsize=1 << 12)
def _initials(word: str) -> str:
    """The first letters of the parts of a word, in capitals: "TriviaQA" TQA, "exact" E."""
    return "".join(part if part.isupper() else part[0].upper() for part in _CAMEL.findall(word))


def lead_and_words(unit: Unit) -> tuple[str, str]:
    """What goes before its quotation marks, and its words, on one line each."""
    headings, words = without_headings(unit.text, unit.hit.chunk.section)
    return unit.lead or headings, words
