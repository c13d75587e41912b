"""The small tables of a library in LanceDB: notes, the sources of files, and what extractors read for the graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ragscience.core.records import Metadata
from ragscience.core.serialization import storable
from ragscience.library.lance_database import Change, LanceDatabase
from ragscience.library.lance_tables import among
from ragscience.library.sources_table import FileSource, source_from, source_json

__all__ = ["LanceGraph", "LanceSources", "write_notes"]


def write_notes(change: Change, kind: str, texts: Mapping[str, str | None]) -> None:
    """Keep small texts of a kind by their keys; None forgets one."""
    if not texts:
        return
    change.delete("notes", f"{among('kind', [kind])} AND {among('key', texts)}")
    kept = [(key, storable(text)) for key, text in texts.items() if text is not None]
    change.add("notes", {"kind": [kind] * len(kept), "key": [key for key, _ in kept], "text": [one for _, one in kept]})


class LanceSources:
    """The sources of fetched files; `SourcesTable` says what each method does."""

    def __init__(self, database: LanceDatabase) -> None:
        self._database = database

    def put(self, md5: str, metadata: Metadata) -> None:
        """As `SourcesTable.put`."""

        def act(change: Change) -> None:
            write_notes(change, "source", {md5: source_json(metadata)})
            change.note(version=change.state.version + 1)

        self._database.changed(act)

    def of(self, md5: str) -> FileSource | None:
        """As `SourcesTable.of`."""
        return next((one for one in self.all() if one.md5 == md5), None)

    def all(self) -> list[FileSource]:
        """As `SourcesTable.all`."""
        with self._database.now() as at:
            kept = at.notes("source") if at is not None else {}
        return [source_from(md5, text) for md5, text in sorted(kept.items())]


class LanceGraph:
    """What extractors read from the passages; `GraphTable` says what each method does."""

    def __init__(self, database: LanceDatabase) -> None:
        self._database = database

    def _kept(self, *columns: str) -> list[tuple[Any, ...]]:
        with self._database.now() as at:
            if at is None:
                return []
            found = at.rows("graph", columns)
            return sorted(zip(*(found[name].to_pylist() for name in columns), strict=True))

    def _read_ids(self) -> list[int]:
        """The passages that extractors read: all but reference lists."""
        with self._database.now() as at:
            if at is None:
                return []
            kept = at.listing.without_references
            return [int(one) for one in (at.listing.chunk_ids if kept is None else kept)]

    def state(self) -> str:
        """As `GraphTable.state`."""
        with self._database.now() as at:
            if at is None or not self._kept("chunk_id"):
                return ""
            return f"{at.state.graph_version}:{at.state.library_id}"

    def pending(self, extractor: str, version: str) -> list[int]:
        """As `GraphTable.pending`."""
        with self._database.now():
            of_extractor = self._kept("chunk_id", "extractor", "version")
            done = {one for one, *made_by in of_extractor if made_by == [extractor, version]}
            return [one for one in self._read_ids() if one not in done]

    def put(self, extractor: str, version: str, found: Sequence[tuple[int, str]]) -> None:
        """As `GraphTable.put`."""
        self._write(extractor, version, found, f"{{}} AND {among('extractor', [extractor])}")

    def replace(self, extractor: str, version: str, found: Sequence[tuple[int, str]]) -> None:
        """As `GraphTable.replace`."""
        self._write(extractor, version, found, among("extractor", [extractor]))

    def _write(self, extractor: str, version: str, found: Sequence[tuple[int, str]], where: str) -> None:
        def act(change: Change) -> None:
            listing = change.before.listing
            rows = {int(one): storable(text) for one, text in found if listing.paper_of(int(one)) is not None}
            change.delete("graph", where.replace("{}", among("chunk_id", rows), 1))
            made_by = {"extractor": [extractor] * len(rows), "version": [version] * len(rows)}
            change.add("graph", {"chunk_id": [*rows], **made_by, "text": [*rows.values()]})
            change.note(graph_version=change.state.graph_version + 1)

        self._database.changed(act)

    def clear(self, extractor: str | None = None) -> int:
        """As `GraphTable.clear`."""

        def act(change: Change) -> int:
            where = among("extractor", [extractor]) if extractor is not None else "true"
            count = change.before.rows("graph", ["chunk_id"], where).num_rows
            change.delete("graph", where)
            change.note(graph_version=change.state.graph_version + 1)
            return int(count)

        return self._database.changed(act)

    def rows(self) -> list[tuple[int, int, str, str]]:
        """As `GraphTable.rows`."""
        with self._database.now() as at:
            kept = self._kept("chunk_id", "extractor", "text")
            papers = {one: at.listing.paper_of(one) for one, *_ in kept} if at is not None else {}
        return [(one, row.paper_id, *rest) for one, *rest in kept if (row := papers[one]) is not None]

    def counts(self) -> dict[tuple[str, str], int]:
        """As `GraphTable.counts`."""
        return dict(sorted(Counter(self._kept("extractor", "version")).items()))

    def read_passages(self) -> dict[int, tuple[int, int]]:
        """As `GraphTable.read_passages`."""
        total, done = Counter[int](), Counter[int]()
        with self._database.now() as at:
            read = {one for (one,) in self._kept("chunk_id")}
            for one in self._read_ids():
                if at is not None and (paper := at.listing.paper_of(one)) is not None:
                    total[paper.paper_id] += 1
                    done[paper.paper_id] += one in read
        return {paper_id: (count, done[paper_id]) for paper_id, count in total.items()}

    def stable_ids(self) -> dict[int, str]:
        """As `GraphTable.stable_ids`."""
        with self._database.now() as at:
            rows = at.listing.rows.values() if at is not None else ()
            return {row.first_chunk + place: f"{row.md5[:12]}#{place}" for row in rows for place in range(row.chunks)}
