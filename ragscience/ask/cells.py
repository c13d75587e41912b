"""Cells of tables as answers: which row and which column a question asks for, and what stands there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ragscience.ask.quote_candidates import Unit
from ragscience.ask.quoted_tables import cells_of, column_names, header_rows, table_span
from ragscience.core.tokenizing import terms

_SHORTEST_PART = 4
"""Letters of a term that is looked for inside the words of a row's name."""
_CAPTION = 0.6
"""What a word of the question counts that only the table's caption holds."""
_UNASKED = 0.04
"""What a row or a column loses by names that the question does not have, all of them: "BERT" is not "BERT + CRF"."""
_SHORT_FORM = range(3, 6)
"""Letters of a short form that a word of the question begins with: "Acc." accuracy."""
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
    """How each of the rows of one table answers; None for one without the columns of its header, or of it.

    Cells without a figure are taken only where a row has no other.
    """
    if not rows:
        return []
    asked = _Question(question, words)
    columns = [asked.name(text) for text in column_names(rows[0])]
    caption = asked.name(rows[0].lead.partition("|")[0]).held
    above = _names_above(rows[0])
    lines = [row.text.split("\n")[0] for row in rows]
    heads = header_rows([rows[0].hit.chunk.text[table_span(rows[0])[0] :].partition("\n")[0], *lines])
    return [
        None if line in heads else _asked_row(asked, row, (columns, caption), above.get(row.start, ("", "")))
        for row, line in zip(rows, lines, strict=True)
    ]


class _Question:
    """A question, as names are compared with it."""

    def __init__(self, question: str, words: Words) -> None:
        self.words = words
        self._spelled = re.findall(r"[^\W_]+", question)
        self._all = _terms(question)
        self._terms = frozenset[str]().union(*(found for found, _ in words))

    def name(self, text: str) -> _Name:
        """A name."""
        own = _terms(text)
        letters = "".join(filter(str.isalnum, text.casefold()))
        has = {term for term in self._terms if term in own or (len(term) >= _SHORTEST_PART and term in letters)}
        has |= self._terms.intersection(terms(" ".join(_written_out(text, self._spelled))))
        short = {word for word in re.findall(r"[^\W\d_]+", text.casefold()) if len(word) in _SHORT_FORM}
        has |= {term for term in self._terms if any(len(term) > len(word) and term.startswith(word) for word in short)}
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
    asked: _Question, row: Unit, heads: tuple[Sequence[_Name], Sequence[float]], above: tuple[str, str]
) -> AskedRow | None:
    columns, caption = heads
    first, *cells = cells_of(row.text.split("\n")[0])
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
    line = f"{label}: {'; '.join(f'{column} {cell}'.strip() for column, cell in pairs)}" if label else ""
    is_captioned = asked.share(name.held, [_CAPTION * each for each in caption]) > of_row
    fits = of_row and (of_column or (is_sure and len(values) == 1 and is_captioned))
    return AskedRow(line, pairs[0][1] if is_sure else "", best if fits else 0.0, best)


def _is_label(cell: str) -> bool:
    """Whether it is words, few enough to say which row it is rather than something about it."""
    return any(map(str.isalpha, cell)) and not any(map(str.isdigit, cell)) and len(cell.split()) <= _LABEL_WORDS


def _names_above(unit: Unit) -> dict[int, tuple[str, str]]:
    """By where each row of the table begins the last name above it, which it goes on with, and the group it is in."""
    start, end = table_span(unit)
    names, last, group = dict[int, tuple[str, str]](), "", ""
    for line in unit.hit.chunk.text[start:end].split("\n"):
        names[start] = last, group
        first, *others = cells_of(line)
        last = first or last
        group = first if first and not any(others) else group
        start += len(line) + 1
    return names


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
