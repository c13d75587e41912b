"""What a thread reads of a library in LanceDB: the tables at the versions that belong together."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from ragscience.core.errors import LibraryDamaged
from ragscience.core.records import EmbedderIdentity, Metadata, Paper
from ragscience.core.tokenizing import TOKENIZER_VERSION
from ragscience.library.keyword_scores import mean_idf_of
from ragscience.library.lance_tables import among, lance_errors
from ragscience.library.paper_rows import Listing, Outline, PaperRow
from ragscience.library.sealed_rows import LIST_DAMAGED
from ragscience.library.sources_table import source_from

__all__ = ["LanceSnapshot", "LanceState"]

_BATCH = 2000


@dataclass(frozen=True, slots=True)
class LanceState:
    """What the library says of itself."""

    library_id: str
    number: int = 0
    """Grows with each commit."""
    commit: str = ""
    """A random id of the commit: whether it was made, when a server's answer is lost."""
    version: int = 0
    """Grows with each change of papers or vectors."""
    graph_version: int = 0
    next_chunk: int = 1
    next_paper: int = 1
    papers: int = 0
    chunks: int = 0
    terms: int = 0
    """How many terms the passages have together, repeated as they are."""
    embedder: EmbedderIdentity | None = None
    chunker: str | None = None
    tokenizer: str = TOKENIZER_VERSION
    mean_idf: float = 0.0
    """The mean inverse document frequency of the terms at the version `mean_idf_at`."""
    mean_idf_at: int = -1
    tables: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    """The name and the version of each table, by what it is for."""

    @property
    def dimension(self) -> int:
        """Of the vectors; 0 while no embedder is set."""
        return self.embedder.dimension if self.embedder else 0

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


class LanceSnapshot:
    """The tables at the versions of one state; for any number of threads."""

    def __init__(self, database: Any, uri: str, root: str, state: LanceState) -> None:
        self.uri, self.state = uri, state
        self._database, self._root = database, root
        self._tables: dict[str, Any] = {}
        self._guard = threading.Lock()
        self.known: dict[str, int] = {}
        """How many passages have a term, as far as it was asked."""

    @property
    def version(self) -> int:
        """Grows with each change of papers or vectors."""
        return self.state.version

    def table(self, role: str) -> Any:
        """A table of the library, at its version."""
        with self._guard, lance_errors(self.uri):
            if role not in self._tables:
                name, version = self.state.tables[role]
                table = self._database.open_table(name)
                table.checkout(version)
                self._tables[role] = table
            return self._tables[role]

    def rows(self, role: str, columns: Sequence[str], where: str = "") -> Any:
        """The columns of the rows that fit, as an Arrow table."""
        if role not in self.state.tables:
            raise LibraryDamaged(*LIST_DAMAGED)
        table = self.table(role)
        with lance_errors(self.uri):
            query = table.search().select(list(columns))
            return (query.where(where) if where else query).to_arrow()

    def passages(self, ids: Sequence[int], columns: Sequence[str]) -> Iterator[Any]:
        """The columns of these passages, as Arrow tables, ascending."""
        wanted = sorted({int(one) for one in ids})
        for first in range(0, len(wanted), _BATCH):
            where = among("chunk_id", wanted[first : first + _BATCH])
            yield self.rows("passages", ["chunk_id", *columns], where).sort_by("chunk_id")

    @cached_property
    def mean_idf(self) -> float:
        """The mean inverse document frequency of all terms: kept when the indexes are brought up to date, else made."""
        if self.state.mean_idf_at == self.state.version:
            return self.state.mean_idf
        having = Counter[str]()
        for text in self.rows("passages", ["terms"])["terms"]:
            having.update(set(text.as_py().split(" ")))
        return mean_idf_of(Counter(having.values()), self.state.chunks)

    @cached_property
    def listing(self) -> Listing:
        """The papers. Raises LibraryDamaged where some are lost."""
        columns = ["paper_id", "path", "md5", "first_chunk", "chunks", "reference_lists", "row"]
        found = [PaperRow(*row.values()) for row in self.rows("papers", columns).select(columns).to_pylist()]
        if (len(found), sum(row.chunks for row in found)) != (self.state.papers, self.state.chunks):
            raise LibraryDamaged(*LIST_DAMAGED)
        return Listing(sorted(found, key=lambda row: row.first_chunk), self._root)

    def notes(self, kind: str) -> dict[str, str]:
        """The small texts of a kind, by their keys."""
        found = self.rows("notes", ["key", "text"], among("kind", [kind]))
        return dict(zip(found["key"].to_pylist(), found["text"].to_pylist(), strict=True))

    def papers(self, ids: Collection[int] | None = None) -> list[Paper]:
        """All papers, or those of these ids, ordered by file."""
        return self.listing.papers(ids, self._sources)

    def _sources(self, md5s: list[str] | None) -> dict[str, Metadata]:
        return {
            md5: source_from(md5, text).metadata
            for md5, text in self.notes("source").items()
            if md5s is None or md5 in md5s
        }

    def outlines(self, paper_ids: Collection[int]) -> Iterator[tuple[int, Outline]]:
        """(first passage, outline) of each of the papers, in the order of their passages."""
        where = among("paper_id", paper_ids) if len(paper_ids) < _BATCH else ""
        found = self.rows("papers", ["first_chunk", "paper_id", "outline"], where).sort_by("first_chunk").to_pylist()
        for row in found:
            if row["paper_id"] in paper_ids:
                yield row["first_chunk"], Outline.unpack(row["outline"])

    def read_passages(self, ids: Sequence[int]) -> Iterator[tuple[int, PaperRow, list[Any]]]:
        """(id, paper, the fields of the row) of the passages, ascending."""
        if not ids or "passages" not in self.state.tables:
            return
        for found in self.passages(ids, ["row"]):
            for chunk_id, row in zip(found["chunk_id"].to_pylist(), found["row"].to_pylist(), strict=True):
                if (paper := self.listing.paper_of(chunk_id)) is not None:
                    yield chunk_id, paper, json.loads(row)
