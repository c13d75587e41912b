"""Changes of a library in LanceDB: written to its tables, then made visible all at once (generations.py)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from ragscience.core.errors import DiskProblem
from ragscience.library.generations import Snapshot
from ragscience.library.lance_tables import as_table, changed_meanwhile, lance_errors, schema_of
from ragscience.library.written_files import WrittenFiles

__all__ = ["Change"]


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
