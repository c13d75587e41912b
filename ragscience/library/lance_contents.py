"""The papers of a library in LanceDB, and their pages, passages, vectors and token vectors."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ragscience.core.errors import LibraryDamaged, NothingFound
from ragscience.core.records import (
    LOST_PAGE,
    REPAIRED_FILE,
    Box,
    Element,
    Page,
    Paper,
    StoredChunk,
    searched_text,
)
from ragscience.library.element_rows import unpack_elements, unpack_sketch
from ragscience.library.generations import Snapshot
from ragscience.library.lance_database import LanceDatabase
from ragscience.library.lance_tables import in_list
from ragscience.library.library_damage import rebuilds
from ragscience.library.page_geometry import boxes_between, unpack_lines
from ragscience.library.paper_paths import path_from
from ragscience.library.passage_spans import chunk_ids, note_lost
from ragscience.library.passage_vectors import read_vectors, vectors_by_hash
from ragscience.library.row_records import PaperStamp, metadata_of, short_names
from ragscience.library.rows_by_id import AT_ONCE, rows_by_id
from ragscience.library.similarity import Fingerprint, fingerprint_of, sharing_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["LanceContents", "kept_codes"]

_STATED = ("stated_title", "authors", "year", "venue", "doi", "arxiv_id", "confidence", "publication")


class LanceContents:
    """The contents of a library's papers."""

    def __init__(self, database: LanceDatabase, root: str) -> None:
        self._reading = database.reading
        self._root = root
        self._listed: tuple[Snapshot, list[Paper]] | None = None
        self._known: dict[int, tuple[dict[str, Any], Paper]] = {}
        """Of the papers that were listed last and have no source: the row, and what was made of it."""

    # Papers

    def papers(self, ids: Collection[int] | None = None) -> list[Paper]:
        """All papers, or those of these ids, ordered by file."""
        with self._reading() as at:
            if at is None:
                return []
            if ids is not None:
                return self._records(at, [at.papers()[one] for one in set(ids) & at.papers().keys()])
            kept = self._listed
            if kept is None or kept[0] is not at:
                kept = self._listed = at, self._records(at, at.papers().values())
                sources, rows = self._sources(at), at.papers()
                self._known = {one.paper_id: (rows[one.paper_id], one) for one in kept[1] if one.md5 not in sources}
            return [*kept[1]]

    def paper_stamps(self) -> dict[int, PaperStamp]:
        """What changes when what is listed of a paper does, by its id."""
        with self._reading() as at:
            if at is None:
                return {}
            rows, sources = at.papers(), self._sources(at)
            return {one: (row["name"], at.mark_of(row), sources.get(row["md5"])) for one, row in rows.items()}

    def paper_where(self, column: str, value: object) -> Paper | None:
        """The paper whose column has this value."""
        with self._reading() as at:
            found = [row for row in at.papers().values() if row[column] == value] if at else []
            return self._records(at, found)[0] if at and found else None

    def known_files(self) -> dict[str, tuple[int, int, str, int]]:
        """Full path of each paper's file: (size in bytes, mtime in ns, MD5, paper id)."""
        with self._reading() as at:
            return {
                self.full(row["path"]): (row["size_bytes"], row["modified_ns"], row["md5"], row["paper_id"])
                for row in (at.papers().values() if at else ())
            }

    def full(self, path: bytes) -> str:
        """The full path of one that is kept."""
        return path_from(self._root, path)

    def _records(self, at: Snapshot, rows: Iterable[dict[str, Any]]) -> list[Paper]:
        wanted = list(rows)
        which = in_list("md5", [row["md5"] for row in wanted])
        sources = self._sources(at) if len(wanted) > AT_ONCE else _metadata(at.checked_rows("sources", which))
        known = [self._known[row["paper_id"]][1] for row in wanted if self._is_as_it_was(at, row, sources)]
        ids = {paper.paper_id for paper in known}
        changed = [row for row in wanted if row["paper_id"] not in ids]
        names = self._names(at, changed)
        made = [
            Paper(
                row["paper_id"],
                names[row["path"]],
                self.full(row["path"]),
                row["md5"],
                row["size_bytes"],
                row["modified_ns"],
                row["pages"],
                row["chunks"],
                row["title"],
                row["added_at"],
                _warnings(row["warnings"]),
                metadata_of([row[name] for name in _STATED], sources.get(row["md5"])),
            )
            for row in changed
        ]
        return sorted([*known, *made], key=lambda paper: (paper.file, paper.paper_id))

    @staticmethod
    def _sources(at: Snapshot) -> Mapping[str, str]:
        """The metadata of all sources, as JSON, by MD5."""
        return at.once("sources", lambda: _metadata(at.checked_rows("sources")))

    def _is_as_it_was(self, at: Snapshot, row: dict[str, Any], sources: Mapping[str, str]) -> bool:
        """Whether what was made of a paper's row before is what would be made of it now."""
        before, paper = self._known.get(row["paper_id"], (None, None))
        if before is not row or paper is None or row["md5"] in sources:
            return False
        is_alone = at.paths_named(row["name"]) == [row["path"]]
        return is_alone and paper.file == os.path.basename(paper.path)  # noqa: PTH119  # as `short_names` cuts it

    def file_names(self, at: Snapshot, ids: Iterable[int]) -> dict[int, str]:
        """The short name of each of these papers that the library has."""
        papers = at.papers()
        rows = [papers[one] for one in ids if one in papers]
        names = self._names(at, rows)
        return {row["paper_id"]: names[row["path"]] for row in rows}

    def _names(self, at: Snapshot, rows: Sequence[dict[str, Any]]) -> dict[bytes, str]:
        """The short names of these papers, by their paths as kept."""
        names = {row["name"] for row in rows}
        full = {path: self.full(path) for name in names for path in at.paths_named(name)}
        short = short_names(full.values())
        return {path: short[name] for path, name in full.items()}

    def fingerprints(self, ids: Sequence[int] | None = None) -> list[Fingerprint]:
        """The fingerprint of each paper, or of those of `ids`, by file; `Fingerprint.paper` is `Paper.file`."""
        with self._reading() as at:
            if at is None:
                return []
            wanted = None if ids is None else set(ids)
            rows = [row for paper_id, row in at.papers().items() if wanted is None or paper_id in wanted]
            which = "" if ids is None else in_list("paper_id", ids)
            parts = at.checked_rows("papers", which, "parts_checksum")
            sketches = {row["paper_id"]: row["sketch"] for row in parts}
            found = []
            for paper in self._records(at, rows):
                shingles, sketch = unpack_sketch(sketches.get(paper.paper_id, b""))
                known = fingerprint_of(paper.file, "", paper.metadata, paper.modified_ns)
                pages = self.pages(paper.paper_id) if paper.warnings else []
                empty = sum(page.start == page.end for page in pages)
                damaged = REPAIRED_FILE in paper.warnings or any(page.warning.startswith(LOST_PAGE) for page in pages)
                found.append(replace(known, shingles=shingles, sketch=sketch, is_damaged=damaged, empty_pages=empty))
            return found

    def papers_sharing_text(self, with_: Sequence[Fingerprint]) -> list[int]:
        """Ids of the papers whose text may be that of one of these."""
        with self._reading() as at:
            columns = at.arrow("papers", ["paper_id", "sketch"]).columns if at else ([], [])
        kept = ((paper_id.as_py(), sketch.as_py()) for paper_id, sketch in zip(*columns, strict=True))
        return list(sharing_text(kept, with_))

    # Pages and elements

    def pages(self, paper_id: int) -> list[Page]:
        """The pages of a paper in order, without their lines: see `page`."""
        with self._reading() as at:
            rows = at.checked_rows("pages", f"paper_id = {int(paper_id)}") if at else []
            if at is not None and paper_id in at.papers():
                wanted = set(range(1, at.papers()[paper_id]["pages"] + 1))
                if lost := wanted - {row["number"] for row in rows}:
                    at.note("page", paper_id, lost)
        pages = [Page(row["number"], row["start"], row["end"], row["warning"]) for row in rows]
        return sorted(pages, key=lambda page: page.number)

    def page(self, paper_id: int, number: int) -> Page:
        """A page with its lines, headers and footers. Raises NothingFound if there is no such page."""
        return self._page(paper_id, number)[0]

    def page_text(self, paper_id: int, number: int) -> str:
        """A page of a paper. Raises NothingFound if there is no such page."""
        return self._page(paper_id, number)[1]

    def boxes(self, paper_id: int, number: int, start: int, end: int) -> tuple[Box, ...]:
        """The boxes of characters `start` to `end` of the document on one of its pages, one per line."""
        page, text = self._page(paper_id, number)
        return boxes_between(page, text, start, end)

    def whole_pages(self, paper_id: int) -> list[tuple[Page, str]]:
        """The pages of a paper in order, with their lines, and the text of each. Raises LibraryDamaged."""
        with self._reading() as at:
            rows = at.checked_rows("pages", f"paper_id = {int(paper_id)}") if at else []
            if at is not None and paper_id in at.papers() and len(rows) != at.papers()[paper_id]["pages"]:
                raise self._damaged_page(at, paper_id, "A page")
        return [_page_of(row) for row in sorted(rows, key=lambda row: row["number"])]

    def _page(self, paper_id: int, number: int) -> tuple[Page, str]:
        with self._reading() as at:
            where = f"paper_id = {int(paper_id)} AND number = {int(number)}"
            rows = at.checked_rows("pages", where) if at else []
            pages = at.papers()[paper_id]["pages"] if at and paper_id in at.papers() else 0
            if at is not None and not rows and 1 <= number <= pages:
                at.note("page", paper_id, [number])
                raise self._damaged_page(at, paper_id, f"Page {number}")
        if not rows:
            raise NothingFound(f"There is no page {number} of that paper in the library.", "Pages are numbered from 1.")
        return _page_of(rows[0])

    def _damaged_page(self, at: Snapshot, paper_id: int, what: str) -> LibraryDamaged:
        file = self.file_names(at, [paper_id])[paper_id]
        return LibraryDamaged(f"{what} of {file} is damaged in the library.", rebuilds(file))

    def elements(self, paper_id: int) -> tuple[Element, ...]:
        """The elements of a paper, in the order of its text; empty for an unknown paper, and for damaged ones."""
        with self._reading() as at:
            rows = at.checked_rows("papers", f"paper_id = {int(paper_id)}", "parts_checksum") if at else []
        return unpack_elements(rows[0]["elements"]) if rows else ()

    # Passages

    def chunks(self, ids: Sequence[int]) -> list[StoredChunk]:
        """The passages in the order of `ids`; missing ones are left out."""
        with self._reading() as at:
            found = self._chunks(at, rows_by_id(at, "passages", ids).values()) if at and len(ids) else {}
            if at is not None and len(found) < len(set(ids)):
                note_lost(at, "passage", set(ids) - found.keys())
        return [found[int(chunk_id)] for chunk_id in ids if int(chunk_id) in found]

    def paper_chunks(self, paper_id: int) -> list[StoredChunk]:
        """The passages of a paper, in order."""
        with self._reading() as at:
            found = self._chunks(at, at.checked_rows("passages", f"paper_id = {int(paper_id)}")) if at else {}
            if at is not None and paper_id in at.papers():
                note_lost(at, "passage", set(chunk_ids(at, [paper_id]).tolist()) - found.keys())
        return [found[chunk_id] for chunk_id in sorted(found)]

    def _chunks(self, at: Snapshot, rows: Iterable[dict[str, Any]]) -> dict[int, StoredChunk]:
        papers, found = at.papers(), {}
        rows = [row for row in rows if row["paper_id"] in papers]
        names = self._names(at, [papers[paper_id] for paper_id in {row["paper_id"] for row in rows}])
        for row in rows:
            paper = papers[row["paper_id"]]
            path = paper["path"]
            more = {"file": names[path], "path": self.full(path), "md5": paper["md5"]}
            breaks = tuple((offset, page) for offset, page in json.loads(row["page_breaks"]))
            found[row["chunk_id"]] = StoredChunk(**{**row, **more, "page_breaks": breaks})
        return found

    def texts(self, batch: int) -> Iterator[tuple[list[int], list[str]]]:
        """(ids, search texts) of all passages, ascending, `batch` at a time; not a snapshot unless inside one."""
        with self._reading() as at:
            ids = chunk_ids(at).tolist() if at else []
        for first in range(0, len(ids), batch):
            found = dict(self.texts_of(ids[first : first + batch]))
            if found:
                yield list(found), list(found.values())

    def texts_of(self, ids: Sequence[int]) -> Iterator[tuple[int, str]]:
        """(passage id, search text) of the ids that the library has, ascending."""
        with self._reading() as at:
            # Ids that follow one another, as those of a paper do, are a span and not a list.
            span = len(ids) and ids[-1] - ids[0] == len(ids) - 1
            where = f"chunk_id BETWEEN {ids[0]} AND {ids[-1]}" if span else in_list("chunk_id", ids)
            rows = at.checked_rows("passages", where) if at and len(ids) else []
        for row in sorted(rows, key=lambda row: row["chunk_id"]):
            yield row["chunk_id"], searched_text(row["header"], row["text"])

    # Vectors

    def vectors(self, ids: Sequence[int] | None = None) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """(ids, ascending, int64; vectors, shape (n, dimension), float32) of all passages, or of those of `ids`."""
        import numpy as np

        with self._reading() as at:
            if at is None:
                return np.empty(0, np.int64), np.empty((0, 0), np.float32)
            return read_vectors(at, None if ids is None else np.asarray(ids, np.int64))

    def vectors_by_hash(self, hashes: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        """The vectors, shape (dimension,), of those of the texts that are embedded already."""
        with self._reading() as at:
            if at is None or not hashes:
                return {}
            return vectors_by_hash(at, in_list("text_hash", dict.fromkeys(hashes)))

    def token_vectors(self, ids: Sequence[int]) -> dict[int, NDArray[np.uint8]]:
        """Codes of the token vectors (token_codes.py), shape (tokens, 28), of the passages that have any."""
        with self._reading() as at:
            rows = rows_by_id(at, "tokens", ids) if at and len(ids) else {}
            is_int8 = at is not None and at.state.has_int8_tokens
        return {chunk_id: kept_codes(row["tokens"], is_int8=is_int8) for chunk_id, row in rows.items()}

    def token_bytes(self) -> int:
        """The size of the token vectors in bytes."""
        with self._reading() as at:
            return at.state.token_bytes if at else 0

    def passages_without_tokens(self) -> tuple[list[int], list[int]]:
        """The passages whose token vectors are damaged, and those of which none are kept."""
        import numpy as np

        with self._reading() as at:
            if at is None:
                return [], []
            kept = at.arrow("tokens", ["chunk_id"])["chunk_id"].to_numpy()
            intact = [row["chunk_id"] for row in at.checked_rows("tokens")]
            return np.setdiff1d(kept, intact).tolist(), np.setdiff1d(chunk_ids(at), kept).tolist()

    def passages_not_kept(self) -> int:
        """Of how many passages no token vectors are kept."""
        with self._reading() as at:
            tokens = at.table("tokens") if at else None
            return at.state.chunks - int(tokens.count_rows()) if at and tokens is not None else 0


@lru_cache(maxsize=1024)
def _warnings(text: str) -> tuple[str, ...]:
    """The warnings of many papers, read once: most have none."""
    return tuple(json.loads(text))


def _metadata(sources: Iterable[dict[str, Any]]) -> Mapping[str, str]:
    return {row["md5"]: row["metadata"] for row in sources}


def kept_codes(content: bytes, *, is_int8: bool) -> NDArray[np.uint8]:
    """The codes, shape (n, 28), that a row of token vectors holds, or that its int8 become."""
    import numpy as np

    from ragscience.models.token_codes import CODE_BYTES, codes_of_int8

    if is_int8:
        return codes_of_int8(np.frombuffer(content, np.int8))
    return np.frombuffer(content, np.uint8).reshape(-1, CODE_BYTES)


def _page_of(row: dict[str, Any]) -> tuple[Page, str]:
    lines = unpack_lines(row["lines"], row["start"])
    return Page(row["number"], row["start"], row["end"], row["warning"], lines, row["furniture"]), row["text"]
