"""The graph's rows and the sources of fetched files in a library in LanceDB."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import uuid4

from ragscience.core.records import Metadata
from ragscience.library.changes import Change
from ragscience.library.generations import Snapshot
from ragscience.library.lance_database import LanceDatabase
from ragscience.library.lance_tables import columns_of, in_list
from ragscience.library.sources_table import Source, metadata_from_json

__all__ = ["LanceGraph", "LanceSources"]


class LanceGraph:
    """The rows of the knowledge graph: what each extractor read from each passage, as JSON text."""

    def __init__(self, database: LanceDatabase) -> None:
        self._reading = database.reading
        self._changed = database.changed

    def state(self) -> str:
        """Changes whenever a row is added, removed or changed; empty if no passage was read."""
        with self._reading() as at:
            if at is None or not at.table("graph").count_rows():
                return ""
            return f"{at.state.graph_generation}:{at.state.library_id}"

    def pending(self, extractor: str, version: str) -> list[int]:
        """Ids of the passages, without reference lists, that this version of `extractor` has not read, ascending."""
        with self._reading() as at:
            if at is None:
                return []
            wanted = at.arrow("passages", ["chunk_id"], "kind <> 'reference'")["chunk_id"].to_pylist()
            by = f"{in_list('extractor', [extractor])} AND {in_list('version', [version])}"
            done = set(at.arrow("graph", ["chunk_id"], by)["chunk_id"].to_pylist())
            return sorted(chunk_id for chunk_id in wanted if chunk_id not in done)

    def put(self, extractor: str, version: str, found: Sequence[tuple[int, str]]) -> None:
        """Store what `extractor` read from each passage (id, text) in one change, replacing its earlier rows.

        A passage that is no longer in the library is skipped.
        """
        which = f"{in_list('extractor', [extractor])} AND {in_list('chunk_id', [one for one, _ in found])}"
        self._changed(partial(self._replace, which, extractor, version, found))

    def replace(self, extractor: str, version: str, found: Sequence[tuple[int, str]]) -> None:
        """As `put`, and delete the extractor's other rows: all in one change."""
        self._changed(partial(self._replace, in_list("extractor", [extractor]), extractor, version, found))

    @staticmethod
    def _replace(which: str, extractor: str, version: str, found: Sequence[tuple[int, str]], change: Change) -> None:
        change.delete("graph", which)
        of = _papers_of(change.before, [chunk_id for chunk_id, _ in found])
        texts = {int(chunk_id): text for chunk_id, text in found if int(chunk_id) in of}
        rows = [(chunk_id, of[chunk_id], extractor, version, text) for chunk_id, text in texts.items()]
        change.append("graph", rows)
        change.bump("graph_generation")

    def clear(self, extractor: str | None = None) -> int:
        """Delete the rows of `extractor`, or all rows; returns how many there were."""

        def act(change: Change) -> int:
            # Into a new table: a damaged one may not be writable, and a damaged row not be the extractor's any more.
            found = change.before.rows("graph", ["chunk_id"])
            others = [row for row in change.before.checked_rows("graph") if extractor not in (None, row["extractor"])]
            change.new_table("graph", f"graph_{uuid4().hex}", 0)
            change.append("graph", [[row[name] for name in columns_of("graph")] for row in others])
            change.bump("graph_generation")
            return len(found) - len(others)

        return self._changed(act)

    def rows(self) -> list[tuple[int, int, str, str]]:
        """(passage id, paper id, extractor, its JSON) of every row, by passage id and extractor."""
        with self._reading() as at:
            rows = at.checked_rows("graph") if at else []
        return sorted((row["chunk_id"], row["paper_id"], row["extractor"], row["found"]) for row in rows)

    def counts(self) -> dict[tuple[str, str], int]:
        """How many passages each (extractor, version) has read."""
        with self._reading() as at:
            rows = at.rows("graph", ["extractor", "version"]) if at else []
        found: dict[tuple[str, str], int] = {}
        for row in rows:
            key = row["extractor"], row["version"]
            found[key] = found.get(key, 0) + 1
        return dict(sorted(found.items()))

    def read_passages(self) -> dict[int, tuple[int, int]]:
        """(passages without reference lists, how many of them any extractor has read) by paper id."""
        with self._reading() as at:
            if at is None:
                return {}
            read = set(at.arrow("graph", ["chunk_id"])["chunk_id"].to_pylist())
            found: dict[int, tuple[int, int]] = {}
            for row in at.rows("passages", ["chunk_id", "paper_id"], "kind <> 'reference'"):
                total, done = found.get(row["paper_id"], (0, 0))
                found[row["paper_id"]] = total + 1, done + (row["chunk_id"] in read)
            return found

    def stable_ids(self) -> dict[int, str]:
        """A name for each passage that survives removing and re-adding its paper: "<12 of the MD5>#<ordinal>"."""
        with self._reading() as at:
            if at is None:
                return {}
            papers = at.papers()
            rows = at.rows("passages", ["chunk_id", "paper_id", "ordinal"])
            return {row["chunk_id"]: f"{papers[row['paper_id']]['md5'][:12]}#{row['ordinal']}" for row in rows}

    def apart(self) -> frozenset[str]:
        """Names that must not be merged with others."""
        with self._reading() as at:
            return frozenset(at.state.apart) if at else frozenset()

    def set_apart(self, names: Iterable[str], *, merge_again: bool = False) -> None:
        """Set or clear the mark that keeps these names from being merged."""
        given = set(names)

        def act(change: Change) -> None:
            kept = set(change.state.apart)
            change.note(apart=tuple(sorted(kept - given if merge_again else kept | given)))
            change.bump("graph_generation")

        self._changed(act)


class LanceSources:
    """The sources of fetched files, by MD5; a row stays when the paper leaves."""

    def __init__(self, database: LanceDatabase) -> None:
        self._reading = database.reading
        self._changed = database.changed

    def put(self, md5: str, metadata: Metadata) -> None:
        """Store the metadata of the file with these bytes, replacing what was stored."""
        fields = {name: value for name, value in asdict(metadata).items() if value and name != "confidence"}
        now = datetime.now(UTC).isoformat(timespec="seconds")

        def act(change: Change) -> None:
            change.delete("sources", in_list("md5", [md5]))
            change.append("sources", [(md5, metadata.url, now, json.dumps(fields))])

        self._changed(act)

    def of(self, md5: str) -> Source | None:
        """The source of the file with these bytes, or None."""
        return next(iter(self._found(in_list("md5", [md5]))), None)

    def all(self) -> list[Source]:
        """Every fetched file, whether it is in the library or not, by MD5."""
        return sorted(self._found(""), key=lambda source: source.md5)

    def _found(self, where: str) -> list[Source]:
        with self._reading() as at:
            rows: list[dict[str, Any]] = at.checked_rows("sources", where) if at else []
        return [Source(row["md5"], row["fetched_at"], metadata_from_json(row["metadata"])) for row in rows]


def _papers_of(at: Snapshot, chunk_ids: Sequence[int]) -> dict[int, int]:
    """The paper's id of each of these passages that the library has."""
    rows = at.rows("passages", ["chunk_id", "paper_id"], in_list("chunk_id", chunk_ids))
    return {row["chunk_id"]: row["paper_id"] for row in rows}
