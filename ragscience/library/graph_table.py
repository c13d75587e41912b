"""The knowledge graph's rows, what each extractor read from each passage as JSON text; and the sources of files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ragscience.core.records import Metadata
from ragscience.core.serialization import storable
from ragscience.library.snapshots import Change, Database, Snapshot
from ragscience.library.sources_table import FileSource, source_json

__all__ = ["GraphTable", "SourcesTable"]


class GraphTable:
    """The graph's part of a library."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def state(self) -> str:
        """Changes whenever a row is added, removed or changed; empty if no passage was read."""
        with self._database.now() as at:
            if at is None or next(at.graph_made(), None) is None:
                return ""
            return f"{at.state.graph_version}:{at.state.library_id}"

    def pending(self, extractor: str, version: str) -> list[int]:
        """Ids of the passages, without reference lists, that this version of `extractor` has not read, ascending."""
        with self._database.now() as at:
            if at is None:
                return []
            done = {one for one, *made_by in at.graph_made() if made_by == [extractor, version]}
            return [one for one in _read_ids(at) if one not in done]

    def put(self, extractor: str, version: str, found: Sequence[tuple[int, str]], *, alone: bool = False) -> None:
        """Store what `extractor` read from each passage (id, text) in one transaction, replacing its earlier rows.

        With `alone`, its other rows are deleted. A passage that is no longer in the library is skipped.
        """

        def act(change: Change) -> None:
            if alone:
                change.delete_graph(extractor)
            listing = change.before.listing
            texts = {int(one): storable(text) for one, text in found if listing.paper_of(int(one)) is not None}
            change.put_graph(extractor, version, texts)
            change.note(graph_version=change.state.graph_version + 1)

        self._database.changed(act)
        if alone:
            self._database.damage.forget("graph")

    def replace(self, extractor: str, version: str, found: Sequence[tuple[int, str]]) -> None:
        """As `put`, and delete the extractor's other rows: all in one transaction."""
        self.put(extractor, version, found, alone=True)

    def clear(self, extractor: str | None = None) -> int:
        """Delete the rows of `extractor`, or all rows; returns how many there were."""

        def act(change: Change) -> int:
            change.note(graph_version=change.state.graph_version + 1)
            return change.delete_graph(extractor)

        count = self._database.changed(act)
        self._database.damage.forget("graph")
        return count

    def rows(self) -> list[tuple[int, int, str, str]]:
        """(passage id, paper id, extractor, its JSON) of every row, by passage id and extractor.

        Damaged ones are noted and left out.
        """
        found = []
        with self._database.now() as at:
            for chunk_id, extractor, text in at.graph_rows() if at is not None else ():
                if at is not None and (paper := at.listing.paper_of(chunk_id)) is not None:
                    found.append((chunk_id, paper.paper_id, extractor, text))
                else:
                    self._database.damage.note("graph")
        return found

    def counts(self) -> dict[tuple[str, str], int]:
        """How many passages each (extractor, version) has read."""
        with self._database.now() as at:
            made = Counter((extractor, version) for _, extractor, version in at.graph_made()) if at is not None else {}
            return dict(sorted(made.items()))

    def read_passages(self) -> dict[int, tuple[int, int]]:
        """(passages without reference lists, how many of them any extractor has read) by paper id."""
        with self._database.now() as at:
            if at is None:
                return {}
            read = {chunk_id for chunk_id, _, _ in at.graph_made()}
            total, done = Counter[int](), Counter[int]()
            for chunk_id in _read_ids(at):
                if (paper := at.listing.paper_of(chunk_id)) is not None:
                    total[paper.paper_id] += 1
                    done[paper.paper_id] += chunk_id in read
            return {paper_id: (count, done[paper_id]) for paper_id, count in total.items()}

    def stable_ids(self) -> dict[int, str]:
        """A name for each passage that survives removing and re-adding its paper: "<12 of the MD5>#<ordinal>"."""
        with self._database.now() as at:
            rows = at.listing.rows.values() if at is not None else ()
            return {row.first_chunk + place: f"{row.md5[:12]}#{place}" for row in rows for place in range(row.chunks)}


class SourcesTable:
    """The sources of fetched files."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, md5: str, metadata: Metadata) -> None:
        """Store the metadata of the file with these bytes, replacing what was stored."""

        def act(change: Change) -> None:
            change.put_source(md5, source_json(metadata))
            change.note(version=change.state.version + 1)

        self._database.changed(act)

    def of(self, md5: str) -> FileSource | None:
        """The source of the file with these bytes, or None."""
        with self._database.now() as at:
            return next(iter(at.sources([md5])), None) if at is not None else None

    def all(self) -> list[FileSource]:
        """Every fetched file, whether it is in the library or not, by MD5; damaged rows are left out."""
        with self._database.now() as at:
            return at.sources() if at is not None else []


def _read_ids(at: Snapshot) -> list[int]:
    """The passages that extractors read: all but reference lists."""
    kept = at.listing.without_references
    return [int(one) for one in (at.listing.chunk_ids if kept is None else kept)]
