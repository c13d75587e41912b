"""The generations of a library in LanceDB: which version of each table belongs together.

Each table of Lance has versions of its own, and nothing commits two tables at once. So the table `generations` has one
row, which names the version of every other table; a change writes these first and then replaces the row, if it is
still the one that the change began from. What was written and is named by no row is invisible, and the next writer
takes it back. Readers open the versions of one row.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import timedelta
from typing import Any

from ragscience.errors import DiskProblem, LibraryDamaged, LibraryUnavailable
from ragscience.lance_store.lance_tables import (
    as_table,
    changed_meanwhile,
    checked_columns,
    lance_errors,
    schema_of,
)
from ragscience.lance_store.written_files import WrittenFiles
from ragscience.store.library_damage import READ_ALL_AGAIN, Kind
from ragscience.store.row_checksums import row_checksum

__all__ = ["FORMAT", "Change", "Generation", "Snapshot"]

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

    def __init__(self, database: Any, uri: str, state: Generation) -> None:
        self.state = state
        self.uri = uri
        self._database = database
        self._tables: dict[str, Any] = {}
        self._lock = threading.RLock()
        self._papers: dict[int, dict[str, Any]] | None = None
        self.damaged: dict[tuple[Kind, int | None], set[int]] = {}
        """The rows that were seen not to be what was written, as `described` takes them (store/library_damage.py)."""
        self._alike: dict[bytes, list[bytes]] | None = None

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
        names = checked_columns(role, checksum)
        if not self.state.has_checksums:
            return self.rows(role, list(names), where)
        good = []
        for row in self.rows(role, [*names, checksum], where):
            written = row.pop(checksum)
            if row_checksum(*map(row.__getitem__, names)) == written:
                good.append(row)
            elif checksum == "checksum":
                self.note_row(role, row)
            else:
                self.note("part", row["paper_id"], [0])
        return good

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
                rows = self.checked_rows("papers")
                damaged = sum(len(keys) for (kind, _), keys in self.damaged.items() if kind == "paper")
                if self.state.has_checksums and len(rows) + damaged < self.state.papers:
                    raise LibraryDamaged("The library's list of papers is damaged: some are lost.", READ_ALL_AGAIN)
                self._papers = {row["paper_id"]: row for row in sorted(rows, key=lambda row: row["paper_id"])}
            return self._papers

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
            other._papers = dict(sorted((kept | {row["paper_id"]: row for row in added}).items()))
        return other


class Change:
    """A change of a library, which `commit` makes visible all at once; what it does not commit is never seen."""

    def __init__(self, database: Any, before: Snapshot) -> None:
        self.before = before
        self.state = before.state
        self._database = database
        self._handles: dict[str, Any] = {}
        self.added_papers: list[dict[str, Any]] = []
        self.gone_papers: set[int] = set()
        self._is_anew = False
        self._written: list[WrittenFiles] = []

    def note(self, **values: Any) -> None:
        """Give fields of the state new values."""
        self.state = replace(self.state, **values)

    def bump(self, *counters: str) -> None:
        """Increment counters of the state."""
        self.note(**{name: getattr(self.state, name) + 1 for name in counters})

    def append(self, role: str, rows: Any) -> None:
        """Append rows, each with its values in the order of the columns."""
        table = as_table(role, rows, self.state.dimension)
        if table.num_rows:
            self.append_table(role, table)

    def append_table(self, role: str, table: Any) -> None:
        """Append an Arrow table."""
        with lance_errors(self.before.uri):
            handle = self._handle(role)
            self._wrote(role, handle.add(table).version)

    def delete(self, role: str, where: str) -> int:
        """Delete the rows that an SQL condition fits; how many."""
        if role not in self.state.tables:
            return 0
        with lance_errors(self.before.uri):
            handle = self._handle(role)
            done = handle.delete(where)
            self._wrote(role, done.version)
        return int(done.num_deleted_rows)

    def new_table(self, role: str, name: str, dimension: int) -> None:
        """Make an empty table in place of the one of this role, which stays as it is for the readers of today."""
        with lance_errors(self.before.uri):
            made = self._database.create_table(name, schema=schema_of(role, dimension))
        self._handles[role] = made
        self._written.append(WrittenFiles(self.before.uri, name))
        self._named(role, name, made.version)

    def tidy(self, role: str, older_than: timedelta = timedelta(days=36500)) -> None:
        """Compact a table and bring its indexes up to date; versions of a greater age are deleted."""
        with lance_errors(self.before.uri):
            handle = self._handle(role)
            count = handle.count_rows()
            handle.optimize(cleanup_older_than=older_than)
            handle.checkout_latest()
            if handle.count_rows() != count:
                raise changed_meanwhile()
            self._named(role, self.state.tables[role][0], handle.version)

    def make_index(self, role: str, column: str, config: Any) -> None:
        """Make an index of Lance's on a column."""
        with lance_errors(self.before.uri):
            handle = self._handle(role)
            handle.create_index(column, config=config)
            self._wrote(role, handle.version)

    def commit(self) -> Snapshot:
        """Make the change visible.

        Raises LibraryBusy where another writer committed meanwhile, DiskProblem where the disk cut a file short: then
        nothing is changed.
        """
        for files in self._written:
            files.require_whole()
        number = self.before.state.number
        state = replace(self.state, number=number + 1)
        with lance_errors(self.before.uri):
            generations = self._database.open_table("generations")
            values = {"number": state.number, "state": state.to_json()}
            version, files = generations.version, WrittenFiles(self.before.uri, "generations")
            done = generations.update(where=f"number = {number}", values=values)
            if done.rows_updated != 1:
                raise changed_meanwhile()
            try:
                files.require_whole()
            except DiskProblem:  # nobody can read that version, nor write after it
                generations.checkout(version)
                generations.restore()
                raise
        if self._is_anew:
            return Snapshot(self._database, self.before.uri, state)
        return self.before.followed_by(state, self.added_papers, self.gone_papers)

    def forget_papers(self) -> None:
        """Have the next snapshot read its papers, and not go on from those before the change."""
        self._is_anew = True

    def _handle(self, role: str) -> Any:
        """The newest version of a table, which is the one that the generation names."""
        if role not in self._handles:
            name, version = self.state.tables[role]
            self._written.append(WrittenFiles(self.before.uri, name))
            table = self._database.open_table(name)
            if table.version != version:  # a writer was killed, or refused
                table.checkout(version)
                table.restore()
                self._named(role, name, table.version)
            self._handles[role] = table
        return self._handles[role]

    def _wrote(self, role: str, version: int) -> None:
        """Note the version after a write. Raises LibraryBusy where another writer's rows may be in it."""
        name, before = self.state.tables[role]
        if version > before + 1:
            raise changed_meanwhile()
        self._named(role, name, version)

    def _named(self, role: str, name: str, version: int) -> None:
        self.state = replace(self.state, tables={**self.state.tables, role: (name, version)})
