"""`python -m benchmarks.matrix`: a literature matrix of the 24 papers by 8 columns, held against what they say.

questions/matrix.tsv was written by reading the papers, before any value was looked at: for each cell all values that
are right, between |, and their pages (* for any that has it). One half of the papers is for work, the other says at
the end what it is worth.

right        the value is right, or rightly "not stated"; of a list all items
invented     a value where the paper states none
wrong        another value than the paper's
missed       "not stated" where the paper states one
page         of the right values, those on a right page that has them
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.asking import SILENT, library_home
from benchmarks.contract import ENVIRONMENT
from benchmarks.corpora import data_folder
from benchmarks.report import REPOSITORY

QUESTIONS = REPOSITORY / "benchmarks" / "questions"
NONE = "not stated"
KINDS = ("right", "invented", "wrong", "missed", "page")
Gold = dict[tuple[str, str], dict[str, str]]


def main() -> int:
    """Ask, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.matrix", description=__doc__)
    parser.add_argument("--half", choices=("open", "closed", "both"), default="open")
    parser.add_argument("--cells", action="store_true", help="name each cell that is not right")
    parser.add_argument("--curve", action="store_true", help="what other thresholds of certainty would give")
    asked = parser.parse_args()
    data = data_folder()
    if data is None:
        print("matrix: skipped, as ../shared/data is not on this machine")
        return 0
    os.environ |= ENVIRONMENT | SILENT
    from ragscience import AskRequest, Engine
    from ragscience.core.records import Filters
    from ragscience.engine.matrix_runs import fill
    from ragscience.review.columns import read_columns
    from ragscience.review.values import STATED

    with (QUESTIONS / "matrix.tsv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t") if asked.half in ("both", row["half"])]
    gold: Gold = {(row["file"], row["column"]): row for row in rows}
    files = tuple(dict.fromkeys(file for file, _ in gold))
    with Engine.open(library_home("papers", fresh=False)) as engine:
        columns = read_columns(QUESTIONS / "matrix.yaml")
        matrix = fill(engine, columns, AskRequest("", Filters(papers=files)), fresh=True)
    outcomes = list(judged(matrix, gold, STATED, data / "papers"))
    _table(outcomes, [column.name for column in columns])
    if asked.cells:
        print(*(f"{one['kind']:<9}{one['file']}: {one['column']}: {one['said']}" for one in outcomes), sep="\n")
    for threshold in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9) if asked.curve else ():
        counts = Counter(one["kind"] for one in judged(matrix, gold, threshold, data / "papers"))
        print(threshold, *(f"{kind} {counts[kind] / len(gold):.3f}" for kind in KINDS[:4]))
    return 0


def judged(matrix: Any, gold: Gold, threshold: float, folder: Path) -> Iterator[dict[str, Any]]:
    """Each cell with its kind, and whether its page is right."""
    for row in matrix.rows:
        for column, cell in zip(matrix.columns, row.cells, strict=True):
            wanted = gold[row.file, column.name]
            values = [one for one in (*cell.values, *filter(None, [cell.guess])) if one.certainty >= threshold]
            values = values if column.kind == "list" else values[:1]
            rights = [one for one in wanted["value"].split("|") if one != NONE]
            if not values:
                kind = "right" if NONE in wanted["value"].split("|") else "missed"
            elif not rights:
                kind = "invented"
            else:
                kind = "right" if all(_is(one, rights, column.kind) for one in values) else "wrong"
            said = " | ".join(f"{one.text} (p.{one.page}, {one.certainty:.2f})" for one in values) or NONE
            page = all(_is_on(one, wanted["pages"], folder / row.file) for one in values) if values else None
            yield {"file": row.file, "column": column.name, "kind": kind, "said": said, "page": page}


def _is(value: Any, rights: Sequence[str], kind: str) -> bool:
    from ragscience.claims.facts import Said

    if kind != "number":
        return any(one.casefold() in value.text.casefold() for one in rights)
    known = [number for one in rights for number in Said(one).numbers[:1]]
    return any(number.equals(other) for other in Said(value.text).numbers[:1] for number in known) or any(
        value.number is not None and math.isclose(value.number, number.value) for number in known
    )


def _is_on(value: Any, pages: str, file: Path) -> bool:
    """Whether it is one of the right pages; where any is, the page has the quote's first words."""
    if pages != "*":
        return str(value.page) in pages.split(",")
    import pymupdf

    from ragscience.claims.facts import squeezed

    with pymupdf.open(file) as document:
        return squeezed(value.text) in squeezed(str(document[value.page - 1].get_text()).replace("-\n", ""))


def _table(outcomes: Sequence[dict[str, Any]], columns: Sequence[str]) -> None:
    print(f"{'column':<16}{'n':>4}", *(f"{kind:>9}" for kind in KINDS))
    for name in (*columns, "all"):
        rows = [one for one in outcomes if name in ("all", one["column"])]
        counts = Counter(one["kind"] for one in rows)
        paged = [one["page"] for one in rows if one["kind"] == "right" and one["page"] is not None]
        shares = (f"{counts[kind] / len(rows):>9.3f}" for kind in KINDS[:4])
        print(f"{name:<16}{len(rows):>4}", *shares, f"{sum(paged) / len(paged) if paged else 0:>9.3f} of {len(paged)}")


if __name__ == "__main__":
    sys.exit(main())
