"""How well a document that was read agrees with what a person sees on its pages: see README.md beside this file."""

import html
import itertools
import json
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

GOLD = Path(__file__).parent

_NUMBER = re.compile(r"^(?:appendix\s+)?(?:[A-Z]|\d+|[IVX]+)(?:\.\d+)*\.?\s+", re.IGNORECASE)
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—―−", "-"))
_MARKUP = str.maketrans(dict.fromkeys("*_^\\{}$`"))
_LOOSE_BLANK = re.compile(r"\s+(?=\W)|(?<=\W)\s+")
_LEFT, _ABOVE = ">", "^"


@dataclass(frozen=True)
class GoldTable:
    page: int
    name: str
    header_rows: int
    cells: tuple[tuple[str | list[str], ...], ...]


@dataclass(frozen=True)
class Gold:
    file: str
    title: str
    references: int
    """How many entries the list of references has."""
    headings: tuple[tuple[int, int, str], ...]
    """Level, page, text."""
    run_in_headings: tuple[tuple[int, str], ...]
    reading_order: dict[int, tuple[str, ...]]
    tables: tuple[GoldTable, ...]


@dataclass(frozen=True)
class TableScore:
    right: int
    cells: int
    """That are not empty in the gold, and those that the reader filled although they are."""
    wrong: tuple[str, ...] = ()

    @property
    def share(self):
        return self.right / self.cells


@dataclass(frozen=True)
class Scores:
    title: bool
    matched: int
    """Headings found on their page."""
    missing: tuple[tuple[int, str], ...]
    extra: tuple[tuple[int, str], ...]
    levels_right: int
    """Of the matched ones."""
    orders: dict[int, float]
    """Kendall's tau by page."""
    tables: dict[str, TableScore]
    references: int
    """Elements of kind "reference" that the reader found."""

    @property
    def heading_f1(self):
        return f1(self.matched, len(self.missing), len(self.extra))


def load_gold():
    """All gold, in the order of the file names."""
    return [_gold(json.loads(path.read_text("utf-8"))) for path in sorted(GOLD.glob("*.json"))]


def _gold(data):
    return Gold(
        data["file"],
        data["title"],
        data["references"],
        tuple((level, page, text) for level, page, text in data["headings"]),
        tuple((page, text) for page, text in data["run_in_headings"]),
        {int(page): tuple(phrases) for page, phrases in data["reading_order"].items()},
        tuple(
            GoldTable(table["page"], table["name"], table["header_rows"], tuple(map(tuple, table["cells"])))
            for table in data["tables"]
        ),
    )


def score_document(document, gold):
    """The scores of a document whose `elements` have `kind`, `level`, `page`, `start` and `end`."""
    headings = [
        (element.level, element.page, document.text[element.start : element.end])
        for element in document.elements
        if element.kind == "heading"
    ]
    matched, levels_right, missing, extra = match_headings(headings, gold)
    pages = {page.number: document.text[page.start : page.end] for page in document.pages}
    tables = {}
    for table in gold.tables:
        texts = [
            document.text[element.start : element.end]
            for element in document.elements
            if element.kind == "table" and element.page == table.page
        ]
        tables[table.name] = best_table(texts, table)
    return Scores(
        squashed(document.title) == squashed(gold.title),
        matched,
        missing,
        extra,
        levels_right,
        {page: order_tau(pages.get(page, ""), phrases) for page, phrases in gold.reading_order.items()},
        tables,
        sum(element.kind == "reference" for element in document.elements),
    )


def total(scores):
    """Heading F1 over all headings, levels right and cells exact over all of them, and tau as the mean of the pages."""
    matched = sum(one.matched for one in scores)
    taus = [tau for one in scores for tau in one.orders.values()]
    tables = [table for one in scores for table in one.tables.values()]
    return {
        "titles": sum(one.title for one in scores),
        "heading_f1": f1(matched, sum(len(one.missing) for one in scores), sum(len(one.extra) for one in scores)),
        "levels": sum(one.levels_right for one in scores) / matched if matched else 0.0,
        "order_tau": sum(taus) / len(taus),
        "cells": sum(table.right for table in tables) / sum(table.cells for table in tables),
    }


def squashed(text):
    """Letters and digits alone, whatever their case and form."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return "".join(char for char in folded if char.isalnum())


def heading_key(text):
    """A heading without its number, squashed."""
    text = unicodedata.normalize("NFKC", text).strip()
    return squashed(_NUMBER.sub("", text)) or squashed(text)


def match_headings(headings, gold):
    """How many match, how many of those have the right level, and what is missing or too much, each once."""
    left = [(page, heading_key(text), level, text) for level, page, text in headings]
    matched = levels_right = 0
    missing = []
    for level, page, text in gold.headings:
        same = [one for one in left if one[:2] == (page, heading_key(text))]
        if not same:
            missing.append((page, text))
            continue
        # Where two alike stand on one page, the one of the right level is meant.
        one = min(same, key=lambda one: one[2] != level)
        left.remove(one)
        matched += 1
        levels_right += one[2] == level
    free = {(page, heading_key(text)) for page, text in gold.run_in_headings} | {(1, heading_key(gold.title))}
    extra = [(page, text) for page, key, _, text in left if (page, key) not in free]
    return matched, levels_right, tuple(missing), tuple(extra)


def f1(matched, missing, extra):
    return 2 * matched / (2 * matched + missing + extra) if matched else 0.0


def order_tau(text, phrases):
    """Kendall's tau between the phrases' order and their places in the text; a missing one has no right pair."""
    page = squashed(text)
    places = [page.find(squashed(phrase)) for phrase in phrases]
    pairs = list(itertools.combinations(places, 2))
    concordant = sum(0 <= first < second for first, second in pairs)
    return (2 * concordant - len(pairs)) / len(pairs)


def best_table(texts, table):
    """The score of that one of a page's tables that agrees best."""
    scores = [table_score(matrix_of(text), table) for text in texts]
    if not scores:
        return TableScore(0, sum(bool(names[0]) for _, names in groups_of(table.cells)), ("no table on this page",))
    return max(scores, key=lambda score: (score.share, score.right))


def matrix_of(text):
    """The cells of the Markdown table in a text, row by row, without the line under the header."""
    rows = []
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("|"):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.removesuffix("|"))[1:]]
            if len(rows) != 1 or not all(re.fullmatch(r":?-+:?", cell) for cell in cells):
                rows.append(cells)
    return rows


def cell_key(text):
    """What a cell says, apart from emphasis, the form of dashes and blanks beside signs."""
    text = html.unescape(re.sub(r"<br\s*/?>", " ", text))
    text = unicodedata.normalize("NFKC", text).translate(_DASHES).translate(_MARKUP)
    return _LOOSE_BLANK.sub("", " ".join(text.split()))


def groups_of(cells):
    """The printed cells: the places (row, column) that each covers, and its right spellings, keyed."""
    groups = {}
    origin = {}
    for row, values in enumerate(cells):
        for column, value in enumerate(values):
            place = (row, column)
            if value == _LEFT:
                origin[place] = origin[row, column - 1]
            elif value == _ABOVE:
                origin[place] = origin[row - 1, column]
            else:
                origin[place] = place
                names = [value] if isinstance(value, str) else value
                groups[place] = ([], [cell_key(name) for name in names])
            groups[origin[place]][0].append(place)
    return list(groups.values())


def flat_header(table):
    """The table with its header rows made one: "BLEU" over "EN-DE" is "BLEU EN-DE"."""
    width = len(table.cells[0])
    columns = [[] for _ in range(width)]
    for row in range(table.header_rows):
        for column in range(width):
            value = table.cells[row][column]
            if value == _LEFT:
                value = columns[column - 1][-1]
            if value == _ABOVE:
                value = ""
            columns[column].append(value if isinstance(value, str) else value[0])
    header = tuple(" ".join(filter(None, parts)) for parts in columns)
    return GoldTable(table.page, table.name, 1, (header, *table.cells[table.header_rows :]))


def table_score(matrix, table):
    """Cells of the gold that are exact, with its header as printed or in one row, whichever agrees better."""
    forms = [table] if table.header_rows == 1 else [table, flat_header(table)]
    return max((_form_score(matrix, form) for form in forms), key=lambda score: score.share)


def _form_score(matrix, table):
    keys = [[cell_key(cell) for cell in row] for row in matrix]
    width = max(map(len, keys), default=0)
    keys = [row + [""] * (width - len(row)) for row in keys]
    groups = groups_of(table.cells)
    names = {place: spellings for places, spellings in groups for place in places}
    rows, columns = len(table.cells), len(table.cells[0])
    column_of = _aligned(columns, width, lambda one, other: _common(names, rows, one, [row[other] for row in keys]))
    pairs = [(column, column_of[column]) for column in range(columns) if column in column_of]
    row_of = _aligned(
        rows, len(keys), lambda one, other: sum(_agree(keys[other][to], names[one, column]) for column, to in pairs)
    )
    right, counted, wrong, used = 0, 0, [], set()
    for places, spellings in groups:
        at = [(row_of[row], column_of[column]) for row, column in places if row in row_of and column in column_of]
        found = {keys[row][column] for row, column in at} - {""}
        if not spellings[0]:
            continue
        used.update(at)
        counted += 1
        if len(found) == 1 and found <= set(spellings):
            right += 1
        else:
            wrong.append(f"{spellings[0]!r} is {sorted(found)}")
    extra = [
        key for row, cells in enumerate(keys) for column, key in enumerate(cells) if key and (row, column) not in used
    ]
    return TableScore(right, counted + len(extra), (*wrong, *(f"{key!r} is too much" for key in extra)))


def _common(names, rows, column, keys):
    wanted = Counter(names[row, column][0] for row in range(rows))
    return sum(((wanted & Counter(keys)) - Counter({"": rows})).values())


def _agree(key, spellings):
    """Filled cells that agree decide, empty ones break ties."""
    if key in spellings:
        return 1.0 if key else 0.01
    return 0.0


def _aligned(length, other_length, likeness):
    """Partners that keep the order and are most alike in sum, as a dict of positions; unlike ones have no partner."""
    like = [[likeness(one, other) for other in range(other_length)] for one in range(length)]
    best = [[0.0] * (other_length + 1) for _ in range(length + 1)]
    for one in range(length - 1, -1, -1):
        for other in range(other_length - 1, -1, -1):
            best[one][other] = max(
                best[one + 1][other], best[one][other + 1], best[one + 1][other + 1] + like[one][other]
            )
    partners = {}
    one = other = 0
    while one < length and other < other_length:
        if like[one][other] and best[one][other] == best[one + 1][other + 1] + like[one][other]:
            partners[one] = other
            one, other = one + 1, other + 1
        elif best[one][other] == best[one + 1][other]:
            one += 1
        else:
            other += 1
    return partners
