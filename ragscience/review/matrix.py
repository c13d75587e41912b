"""A literature matrix: papers by questions, with the quote behind each cell."""

from collections.abc import Mapping
from dataclasses import dataclass

from ragscience.core.paper_records import place_label
from ragscience.review.columns import Column
from ragscience.review.values import HIGH, Value

NOT_STATED = "not stated"


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """What one paper says to one question."""

    values: tuple[Value, ...] = ()
    """Of a list its items; else the likeliest, then other values that the paper has as well. Empty: not stated."""
    guess: Value | None = None
    """What came nearest where none is stated."""
    mode: str = "extractive"
    """As of an answer: "llm" where a language model worded it; "failed" where it was to and did not."""

    def shown(self, column: Column) -> str:
        """The value, a list's items between semicolons, or that it is not stated."""
        if not self.values:
            return NOT_STATED
        first = self.values[0]
        normal = f" ({first.normal:g} {column.unit})" if first.normal is not None else ""
        return "; ".join(each.text for each in self.values) if column.kind == "list" else first.text + normal

    @property
    def certainty(self) -> str:
        """How sure the value is, high or medium; empty where nothing is stated."""
        return "" if not self.values else "high" if self.values[0].certainty >= HIGH else "medium"


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """A paper and its cells, in the order of the columns."""

    file: str
    path: str
    title: str
    cells: tuple[MatrixCell, ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """All papers and questions."""

    columns: tuple[Column, ...]
    rows: tuple[MatrixRow, ...]
    asked: int
    """How many cells were asked now; the others were on disk."""

    def differing(self) -> Mapping[str, list[tuple[str, Value]]]:
        """By the name of each column whose papers should agree and do not: each value that there is, with its paper."""
        found: dict[str, list[tuple[str, Value]]] = {}
        for at, column in enumerate(self.columns):
            given = [(row.file, row.cells[at].values[0]) for row in self.rows if row.cells[at].values]
            if column.agree and any(not value.same(given[0][1]) for _, value in given):
                found[column.name] = given
        return found

    def differences(self) -> list[str]:
        """The same in a line for each column."""
        return [
            f"Papers differ on {name}: "
            + "; ".join(f"{one.text} ({file}, {place_label(file, one.page)}: “{one.quote}”)" for file, one in given)
            for name, given in self.differing().items()
        ]
