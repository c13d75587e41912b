"""The generations of a library in LanceDB: which version of each table belongs together.

Each table of Lance has versions of its own, and nothing commits two tables at once. So the table `generations` has one
row, which names the version of every other table; a change writes these first and then replaces the row, if it is
still the one that the change began from. What was written and is named by no row is invisible, and the next writer
takes it back. Readers open the versions of one row.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, TypeVar

from ragscience.core.errors import LibraryDamaged, LibraryUnavailable
from ragscience.library.lance_tables import checked_columns, in_list, lance_errors, schema_of
from ragscience.library.library_damage import READ_ALL_AGAIN, Kind
from ragscience.library.row_checksums import row_checksum

__all__ = ["FORMAT", "Generation", "Snapshot"]

T = TypeVar("T")

FORMAT = 3
_UNCHECKED_FORMAT = 2
"""That of an earlier version, whose rows have no checksums."""
_INT8_FORMAT = 1
"""That of one before, whose token vectors are not codes but rows of int8 (token_codes.py)."""
_KINDS: Mapping[str, tuple[Kind, str]] = {
    "papers": ("paper", "paper_id"),
    "pages": ("page", "number"),
    "passages": ("passage", "chunk_id"),
    "vectors": ("vector", "chunk_id"),
    "tokens": ("token", "chunk_id"),
    "graph": ("graph", "chunk_id"),
    "sources": ("source", "md5"),
}
"""By table, what a damaged row of it is a row of, and the column that tells which."""
_OF_A_PAPER = ("pages", "passages", "vectors")
_MOST_NEW = 2000
"""Of more new papers all are read again."""


@dataclass(frozen=True, slots=True)
class Generation:
    """What the row says."""

    library_id: str
    """A random id from the library's creation."""
    number: int = 0
    """Grows with each commit."""
    generation: int = 0
    """Grows with each change of papers or vectors."""
    vectors_epoch: int = 0
    graph_generation: int = 0
    next_paper: int = 1
    next_chunk: int = 1
    papers: int = 0
    chunks: int = 0
    token_bytes: int = 0
    tidied: int = 0
    """The number at which the tables were last compacted."""
    embedder: Mapping[str, Any] | None = None
    chunker: str | None = None
    aside: Mapping[str, str] = field(default_factory=dict)
    removed: Mapping[str, str] = field(default_factory=dict)
    apart: tuple[str, ...] = ()
    tables: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    """By its part in the library, the name and the version of each table."""
    format: int = FORMAT

    def to_json(self) -> str:
        """As it is kept, with a checksum."""
        kept = asdict(self)
        return json.dumps(kept | {"checksum": _checksum(kept)})

    @classmethod
    def from_json(cls, text: str) -> Generation:
        """The inverse of `to_json`.

        Raises LibraryUnavailable for what a newer version wrote, LibraryDamaged for what is not what was written.
        """
        try:
            kept = json.loads(text)
            checksum = kept.pop("checksum", None)
        except (ValueError, AttributeError):
            kept, checksum = {}, 0
        if checksum is not None and checksum != _checksum(kept):
            raise LibraryDamaged("The library's own description was altered.", READ_ALL_AGAIN)
        if kept.get("format") not in (_INT8_FORMAT, _UNCHECKED_FORMAT, FORMAT):
            raise LibraryUnavailable(
                f"The library was written by another version (format {kept.get('format')}; this one knows {FORMAT}).",
                "Update RAG Science, or use another library.",
            )
        known = {one.name for one in fields(cls)}
        values = {name: value for name, value in kept.items() if name in known}
        tables = {role: (str(name), int(version)) for role, (name, version) in kept["tables"].items()}
        return cls(**{**values, "tables": tables, "apart": tuple(kept["apart"])})

    @property
    def has_int8_tokens(self) -> bool:
        """Whether the token vectors are those of an earlier version."""
        return self.format == _INT8_FORMAT

    @property
    def has_checksums(self) -> bool:
        """Whether the rows carry checksums."""
        return self.format == FORMAT

    @property
    def dimension(self) -> int:
        """Of the vectors; 0 before an embedder is set."""
        return int(self.embedder["dimension"]) if self.embedder else 0


def _checksum(kept: Mapping[str, Any]) -> int:
    return row_checksum(json.dumps(kept, sort_keys=True))


class Snapshot:
    """The tables of one generation, for any number of threads; what is read of the papers is kept."""

    def __init__(self, database: Any, uri: str, state: Generation, before: Snapshot | None = None) -> None:
        """The papers of `before`, an earlier generation, that are the same are not read again."""
        self.state = state
        self._before: Snapshot | None = before
        if before is not None and before._papers is None:
            self._before = before._before
        self.uri = uri
        self._database = database
        self._tables: dict[str, Any] = {}
        self._lock = threading.RLock()
        self._papers: dict[int, dict[str, Any]] | None = None
        self._checksums: dict[int, int] = {}
        """Those that the rows of the papers were read with."""
        self.damaged: dict[tuple[Kind, int | None], set[int]] = {}
        """The rows that were seen not to be what was written, as `described` takes them (library/library_damage.py)."""
        self._alike: dict[bytes, list[bytes]] | None = None
        self._kept: dict[str, dict[int, dict[str, Any]]] = {}
        self._made: dict[str, Any] = {}
        self.out_of_place: set[str] = set()
        """The tables whose rows do not stand in the order of the library's passages (rows_by_id.py)."""

    def table(self, role: str) -> Any:
        """The table at this generation's version; None where the library has none yet."""
        with self._lock, lance_errors(self.uri):
            if role not in self._tables and role in self.state.tables:
                name, version = self.state.tables[role]
                table = self._database.open_table(name)
                table.checkout(version)
                self._tables[role] = table
            return self._tables.get(role)

    def arrow(self, role: str, columns: list[str], where: str = "") -> Any:
        """Those columns of the rows that an SQL condition fits, in no order, as an Arrow table."""
        table = self.table(role)
        if table is None:
            return schema_of(role, self.state.dimension).empty_table().select(columns)
        with lance_errors(self.uri):
            query = table.search().select(columns)
            return (query.where(where) if where else query).to_arrow()

    def rows(self, role: str, columns: list[str], where: str = "") -> list[dict[str, Any]]:
        """As `arrow`, as dictionaries."""
        table = self.arrow(role, columns, where)
        with lance_errors(self.uri):  # damaged text is no UTF-8
            found: list[dict[str, Any]] = table.to_pylist()
        return found

    def checked_rows(self, role: str, where: str = "", checksum: str = "checksum") -> list[dict[str, Any]]:
        """The rows that an SQL condition fits, with the columns that a checksum is of.

        Those that are not what was written are noted and left out.
        """
        names = [*checked_columns(role, checksum), *([checksum] if self.state.has_checksums else [])]
        return self.intact(role, self.rows(role, names, where), checksum)

    def intact(self, role: str, rows: Iterable[dict[str, Any]], checksum: str = "checksum") -> list[dict[str, Any]]:
        """Those of the rows that are what was written, without their checksums; the others are noted."""
        if not self.state.has_checksums:
            return list(rows)
        names, good = checked_columns(role, checksum), []
        for row in rows:
            written = row.pop(checksum)
            if row_checksum(*map(row.__getitem__, names)) == written:
                good.append(row)
            elif checksum == "checksum":
                self.note_row(role, row)
            else:
                self.note("part", row["paper_id"], [0])
        return good

    def once(self, name: str, make: Callable[[], T]) -> T:
        """What `make` gives, made once for this snapshot."""
        with self._lock:
            if name not in self._made:
                self._made[name] = make()
            made: T = self._made[name]
            return made

    def kept_rows(self, role: str) -> Mapping[int, dict[str, Any]]:
        """Intact rows of a table that stay in memory, by passage."""
        return self._kept.get(role, {})

    def keep_rows(self, role: str, rows: Mapping[int, dict[str, Any]], most: int) -> None:
        """Keep intact rows, and of those before them so many that there are `most`."""
        with self._lock:
            self._kept[role] = dict([*self._kept.get(role, {}).items(), *rows.items()][-most:])

    def note_row(self, role: str, row: Mapping[str, Any]) -> None:
        """Note that a row is not what was written."""
        kind, key = _KINDS[role]
        of_paper = role in _OF_A_PAPER
        self.note(kind, row.get("paper_id") if of_paper else None, [row[key] if key != "md5" else hash(row[key])])

    def note(self, kind: Kind, paper_id: int | None, keys: Iterable[int]) -> None:
        """Note rows that are damaged or lost."""
        with self._lock:
            self.damaged.setdefault((kind, paper_id), set()).update(keys)

    def papers(self) -> dict[int, dict[str, Any]]:
        """The columns of all papers, by id, ascending, without what is large; those that are damaged are left out.

        Raises LibraryDamaged where a paper is lost.
        """
        with self._lock:
            if self._papers is None:
                rows = self._read_papers()
                damaged = sum(len(keys) for (kind, _), keys in self.damaged.items() if kind == "paper")
                if self.state.has_checksums and len(rows) + damaged < self.state.papers:
                    raise LibraryDamaged("The library's list of papers is damaged: some are lost.", READ_ALL_AGAIN)
                self._papers = {row["paper_id"]: row for row in sorted(rows, key=lambda row: row["paper_id"])}
                self._before = None
            return self._papers

    def _read_papers(self) -> list[dict[str, Any]]:
        """The rows of all papers; of those that an earlier snapshot has, only the checksums are read."""
        if not self.state.has_checksums:
            return self.checked_rows("papers")
        before = self._before.papers() if self._before is not None else {}
        known = self._before._checksums if self._before is not None else {}
        same, new = [], []
        if before:
            present = self.arrow("papers", ["paper_id", "checksum"])
            for paper_id, checksum in zip(*(column.to_pylist() for column in present.columns), strict=True):
                if known.get(paper_id) == checksum:
                    same.append(before[paper_id])
                    self._checksums[paper_id] = checksum
                else:
                    new.append(paper_id)
        if len(new) > _MOST_NEW:
            same = []
        if before and not new:
            return same
        names = [*checked_columns("papers"), "checksum"]
        rows = self.rows("papers", names, in_list("paper_id", new) if same else "")
        checksums = {row["paper_id"]: row["checksum"] for row in rows}
        found = self.intact("papers", rows)
        self._checksums |= {row["paper_id"]: checksums[row["paper_id"]] for row in found}  # not of damaged ones
        return same + found

    def mark_of(self, row: Mapping[str, Any]) -> int:
        """A number that is another one where the row of a paper is."""
        written = self._checksums.get(row["paper_id"])
        return row_checksum(*map(row.__getitem__, checked_columns("papers"))) if written is None else written

    def paths_named(self, name: bytes) -> list[bytes]:
        """The paths, as they are kept, of all papers whose files have this name."""
        with self._lock:
            if self._alike is None:
                self._alike = {}
                for row in self.papers().values():
                    self._alike.setdefault(row["name"], []).append(row["path"])
            return self._alike.get(name, [])

    def followed_by(self, state: Generation, added: list[dict[str, Any]], gone: set[int]) -> Snapshot:
        """The snapshot after a change that this process made, without reading the papers again."""
        other = Snapshot(self._database, self.uri, state)
        if self._papers is not None:
            kept = {paper_id: row for paper_id, row in self._papers.items() if paper_id not in gone}
            other._checksums = {one: checksum for one, checksum in self._checksums.items() if one not in gone}
            other._papers = dict(sorted((kept | {row["paper_id"]: row for row in added}).items()))
        return other
