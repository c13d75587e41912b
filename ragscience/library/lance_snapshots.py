"""What a thread reads of a library in LanceDB: the tables at the versions that belong together."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ragscience.core.errors import LibraryDamaged
from ragscience.core.records import EmbedderIdentity
from ragscience.library.keyword_index import mean_idf_of
from ragscience.library.lance_tables import among, lance_errors, vector_rows
from ragscience.library.paper_rows import FileSource, Listing, PaperRow, source_from
from ragscience.library.sealed_rows import LIST_DAMAGED, Damage, State
from ragscience.library.snapshots import Snapshot

if TYPE_CHECKING:
    from ragscience.core.arrays import Ids, Matrix, Stored


_BATCH = 2000


@dataclass(frozen=True, slots=True)
class LanceState(State):
    """What the library says of itself."""

    number: int = 0
    """Grows with each commit."""
    commit: str = ""
    """A random id of the commit: whether it was made, when a server's answer is lost."""
    next_paper: int = 1
    tables: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    """The name and the version of each table, by what it is for."""

    def to_json(self) -> str:
        """As text."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> LanceState:
        """The inverse of `to_json`. Raises LibraryDamaged."""
        try:
            fields = json.loads(text)
            embedder = fields.pop("embedder")
            tables = {role: (str(name), int(number)) for role, (name, number) in fields.pop("tables").items()}
            return cls(**fields, tables=tables, embedder=EmbedderIdentity(**embedder) if embedder else None)
        except (ValueError, TypeError, KeyError) as error:
            raise LibraryDamaged(*LIST_DAMAGED) from error


class LanceSnapshot(Snapshot):
    """The tables at the versions of one state; for any number of threads. What reads rows is as in `Snapshot`."""

    state: LanceState

    def __init__(self, database: Any, uri: str, root: str, state: LanceState, damage: Damage) -> None:
        self.uri, self.state, self.damage = uri, state, damage
        self._database, self._root = database, root
        self._tables: dict[str, Any] = {}
        self._guard = threading.Lock()
        self.known: dict[str, int] = {}
        """How many passages have a term, as far as it was asked."""

    def table(self, role: str) -> Any:
        """A table of the library, at its version."""
        with self._guard, lance_errors(self.uri):
            if role not in self._tables:
                name, version = self.state.tables[role]
                table = self._database.open_table(name)
                table.checkout(version)
                self._tables[role] = table
            return self._tables[role]

    def columns(self, role: str, names: Sequence[str], where: str = "") -> Any:
        """The columns of the rows that fit, as an Arrow table."""
        if role not in self.state.tables:
            raise LibraryDamaged(*LIST_DAMAGED)
        table = self.table(role)
        with lance_errors(self.uri):
            query = table.search().select(list(names))
            return (query.where(where) if where else query).to_arrow()

    def rows(self, role: str, names: Sequence[str], where: str = "") -> Iterator[tuple[Any, ...]]:
        """As `columns`, row by row."""
        found = self.columns(role, names, where)
        return zip(*(found[name].to_pylist() for name in names), strict=True)

    def passages(self, ids: Sequence[int], names: Sequence[str]) -> Iterator[Any]:
        """The columns of these passages, as Arrow tables, ascending."""
        wanted = sorted({int(one) for one in ids})
        for first in range(0, len(wanted), _BATCH):
            where = among("chunk_id", wanted[first : first + _BATCH])
            yield self.columns("passages", ["chunk_id", *names], where).sort_by("chunk_id")

    @cached_property
    def listing(self) -> Listing:
        """The papers. Raises LibraryDamaged where some are lost."""
        names = ["paper_id", "path", "md5", "first_chunk", "chunks", "reference_lists", "row"]
        found = [PaperRow(*row) for row in self.rows("papers", names)]
        if (len(found), sum(row.chunks for row in found)) != (self.state.papers, self.state.chunks):
            raise LibraryDamaged(*LIST_DAMAGED)
        return Listing(sorted(found, key=lambda row: row.first_chunk), self._root)

    @cached_property
    def mean_idf(self) -> float:
        """The mean inverse document frequency of all terms: kept when the indexes are brought up to date, else made."""
        if self.state.keywords_at == self.state.version:
            return self.state.mean_idf
        having = Counter[str]()
        for (text,) in self.rows("passages", ["terms"]):
            having.update(set(text.split(" ")))
        return mean_idf_of(Counter(having.values()), self.state.chunks)

    def rows_of(self, ids: Sequence[int]) -> Iterator[tuple[int, str]]:
        """As `Snapshot.rows_of`."""
        for found in self.passages(ids, ["row"]):
            yield from zip(found["chunk_id"].to_pylist(), found["row"].to_pylist(), strict=True)

    def parts(self, part: str, paper_ids: Collection[int] | None = None) -> Iterator[tuple[int, bytes]]:
        """As `Snapshot.parts`."""
        where = among("paper_id", paper_ids) if paper_ids is not None and len(paper_ids) < _BATCH else ""
        for paper_id, content in sorted(self.rows("papers", ["paper_id", part], where)):
            if paper_ids is None or paper_id in paper_ids:
                yield paper_id, content

    def vectors_of(self, ids: Ids) -> Stored:
        """As `Snapshot.vectors_of`."""
        found = self.columns("passages", ["chunk_id", "vector"], among("chunk_id", ids.tolist())).sort_by("chunk_id")
        return found["chunk_id"].to_numpy(), vector_rows(found, self.state.dimension)

    def by_hash(self, hashes: Sequence[bytes]) -> dict[bytes, Matrix]:
        """As `Snapshot.by_hash`."""
        if not self.state.chunks:
            return {}
        found = self.columns("passages", ["text_hash", "vector"], among("text_hash", hashes))
        return dict(zip(found["text_hash"].to_pylist(), vector_rows(found, self.state.dimension), strict=True))

    def notes(self, kind: str) -> dict[str, str]:
        """As `Snapshot.notes`."""
        return dict(self.rows("notes", ["key", "text"], among("kind", [kind])))

    def sources(self, md5s: Collection[str] | None = None) -> list[FileSource]:
        """As `Snapshot.sources`."""
        kept = sorted(self.notes("source").items())
        return [source_from(md5, text) for md5, text in kept if md5s is None or md5 in md5s]

    def graph_made(self) -> Iterator[tuple[int, str, str]]:
        """As `Snapshot.graph_made`."""
        yield from self.rows("graph", ["chunk_id", "extractor", "version"])

    def graph_rows(self) -> Iterator[tuple[int, str, str]]:
        """As `Snapshot.graph_rows`."""
        yield from sorted(self.rows("graph", ["chunk_id", "extractor", "text"]))

    def tokens(self, ids: Sequence[int]) -> tuple[dict[int, bytes], list[int]]:
        """As `Snapshot.tokens`."""
        from ragscience.models.token_codes import CODE_BYTES

        found: dict[int, bytes] = {}
        for rows in self.passages(ids, ["tokens"]) if self.state.chunks else ():
            found |= zip(rows["chunk_id"].to_pylist(), rows["tokens"].to_pylist(), strict=True)
        kept = {one: codes for one, codes in found.items() if codes and len(codes) % CODE_BYTES == 0}
        return kept, [one for one, codes in found.items() if not codes]

    def token_sizes(self) -> tuple[int, int]:
        """As `Snapshot.token_sizes`."""
        sizes = [size for (size,) in self.rows("passages", ["token_bytes"])] if self.state.chunks else []
        return sum(sizes), sizes.count(0)
