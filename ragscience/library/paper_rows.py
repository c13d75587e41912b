"""The papers of a library at one version, and their passages, from the rows of its database."""

import json
import os
import re
import unicodedata
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from ragscience.core.records import Document, Mark, Metadata, Paper, StoredChunk
from ragscience.core.serialization import slashed, storable
from ragscience.library.dense_index import Ids
from ragscience.reading.other_formats import with_formulas

CHUNK_FIELDS = (
    "ordinal", "text", "start", "end", "page_start", "page_end", "section", "kind", "page_breaks", "header"
)  # fmt: skip
"""What the row of a passage holds, in this order."""
MERGED = ("title", "authors", "year", "venue", "doi", "arxiv_id")
"""What a source says in place of the paper's first page."""
_OF_THE_VENUE = ("kind", "volume", "number", "pages")
_OF_A_COLLECTION = ("collections", "tags", "item_type", "citation_key", "link", "part")
ONLY_FROM_OUTSIDE = ("abstract", "categories", "url", "published", *_OF_A_COLLECTION)


@dataclass(frozen=True, slots=True)
class FileSource:
    """The source of a file."""

    md5: str
    """MD5 of the file, in hexadecimal."""
    metadata: Metadata
    """The metadata given by the source, `url` included."""
    marks: tuple[Mark, ...] = ()
    """What the reader marked there."""
    formulas: tuple[str, ...] = ()
    """The displayed formulas of its HTML, as LaTeX, each with its number behind it."""


def source_json(source: FileSource) -> str:
    """What is kept of a source; the empty text is where older versions have the time of the fetch."""
    fields = {name: value for name, value in asdict(source.metadata).items() if value and name != "confidence"}
    marks = [[*asdict(mark).values()] for mark in source.marks]
    return json.dumps(["", fields, *([marks, source.formulas] if marks or source.formulas else [])])


def source_from(md5: str, content: bytes | str) -> FileSource:
    """The inverse of `source_json`."""
    _, fields, marks, formulas = [*json.loads(content), (), ()][:4]
    known: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in fields.items()}
    return FileSource(md5, Metadata(**known), tuple(Mark(*mark) for mark in marks), tuple(formulas))


def merged(document: Document, source: FileSource | None) -> Document:
    """The document with the source's metadata and formulas in place of its own; confidence 1, as it was not parsed."""
    if source is None:
        return document
    document = with_formulas(document, source.formulas)
    outside = source.metadata
    fields = {name: getattr(outside, name) for name in MERGED if getattr(outside, name)}
    more = {name: getattr(outside, name) for name in ONLY_FROM_OUTSIDE}
    confidence = {**document.metadata.confidence, **dict.fromkeys(fields, 1.0)}
    metadata = replace(document.metadata, **fields, **more, confidence=confidence)
    if metadata.venue != document.metadata.venue:
        metadata = replace(metadata, **{name: getattr(outside, name) for name in _OF_THE_VENUE})
    marks = tuple(dict.fromkeys((*document.marks, *source.marks)))
    return replace(document, title=outside.title or document.title, metadata=metadata, marks=marks)


def from_outside(metadata: Metadata, source: Metadata | None, folder: str) -> Metadata:
    """A paper's metadata with the fields that only its source has; its folder in papers/ is a collection."""
    if source is not None:
        metadata = replace(metadata, **{name: getattr(source, name) for name in ONLY_FROM_OUTSIDE})
    return replace(metadata, collections=(*metadata.collections, folder)) if folder else metadata


def _folder(stored: bytes) -> str:
    """The folder within papers/ of a path as it is kept, as the name of a collection: "2017 › vision"; or empty."""
    first, *folders, _ = ["", *os.fsdecode(stored).split("/")][1:] if b"/" in stored else ["", ""]
    return " › ".join(folders) if first == "papers" else ""


_LINE_ENDS = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_CITED = re.compile(r"(?<=[,，‚])\s*(?=(?:pp?[.．․]|¶)\s*\d)|(?<=[)）])\s+(?=[(（])", re.IGNORECASE)
"""Where a citation's page stands, and the next one begins: "x, p.3) (raft.pdf" must not read as two of them."""
_LETTERS = re.compile(r"[^\W\d_]+")
_LOOK_LATIN = frozenset("аеорсухіјѕһԁԛԝАВЕКМНОРСТУХІЈЅԌԚԜαοριυνΑΒΕΖΗΙΚΜΝΟΡΤΥΧɑɡոսօ")
"""Letters that look like those of English: Cyrillic, Greek, Armenian, phonetic."""


@dataclass(frozen=True, slots=True)
class PaperRow:
    """A row of `papers`."""

    paper_id: int
    path: bytes
    """As it is kept: relative to the home within it, so that a home may be moved."""
    md5: str
    first_chunk: int
    chunks: int
    reference_lists: str
    """(first passage, number) of each run of passages that are a reference list, as JSON."""
    content: bytes = b""
    """The other fields of the paper as JSON."""

    @property
    def key(self) -> tuple[object, ...]:
        """The columns before the last one."""
        return self.paper_id, self.path, self.md5, self.first_chunk, self.chunks, self.reference_lists

    @property
    def span(self) -> tuple[int, int]:
        """The ids of its first and its last passage."""
        return self.first_chunk, self.first_chunk + self.chunks - 1


@dataclass(frozen=True, slots=True)
class Outline:
    """What filters ask of the passages of a paper; a list has an item for each passage."""

    page_start: list[int]
    page_end: list[int]
    kind: list[str]
    section: list[str]

    def pack(self) -> bytes:
        """As JSON, each name once."""
        names = list(dict.fromkeys([*self.kind, *self.section]))
        place = {name: number for number, name in enumerate(names)}
        columns = [[place[name] for name in column] for column in (self.kind, self.section)]
        return json.dumps([names, self.page_start, self.page_end, *columns], separators=(",", ":")).encode()

    @classmethod
    def unpack(cls, packed: bytes) -> Self:
        """The inverse of `pack`."""
        names, start, end, *columns = json.loads(packed)
        kind, section = ([names[number] for number in column] for column in columns)
        return cls(start, end, kind, section)


class Listing:
    """The papers of one version of a library; immutable, for any number of threads."""

    def __init__(self, rows: list[PaperRow], root: str, damaged: Sequence[int] = ()) -> None:
        """`rows` are in the order of their passages; `damaged` are the ids of papers that are left out."""
        self.damaged = tuple(damaged)
        self._root = root
        self.rows = {row.paper_id: row for row in rows}
        """By id, in the order of their passages."""
        self._firsts = [row.first_chunk for row in rows]
        self._order = rows

    def changed(self, removed: Collection[int], added: PaperRow) -> Self:
        """That after a change; unlike `read`, it costs next to nothing in a large library."""
        gone = {one: self.rows[one] for one in removed if one in self.rows}
        rows = [row for row in self._order if row.paper_id not in gone]
        listing = type(self)([*rows, added], self._root, self.damaged)
        alike = dict(self._alike)
        for path in map(self.full_path, gone.values()):
            alike[_name(path)] = [one for one in alike[_name(path)] if one != path]
        path = self.full_path(added)
        alike[_name(path)] = [*alike.get(_name(path), ()), path]
        listing._alike = alike
        return listing

    # Papers

    @cached_property
    def _alike(self) -> Mapping[str, list[str]]:
        """The full paths of the files of each name."""
        found: dict[str, list[str]] = defaultdict(list)
        for row in self._order:
            path = path_from(self._root, row.path)
            found[_name(path)].append(path)
        return found

    @cached_property
    def by_md5(self) -> Mapping[str, PaperRow]:
        """The papers by the MD5s of their files."""
        return {row.md5: row for row in self._order}

    @cached_property
    def by_path(self) -> Mapping[bytes, PaperRow]:
        """The papers by their paths as they are kept."""
        return {row.path: row for row in self._order}

    def full_path(self, row: PaperRow) -> str:
        """The full path of its file."""
        return path_from(self._root, row.path)

    def file(self, row: PaperRow) -> str:
        """Its short name, as `Paper.file`."""
        path = self.full_path(row)
        return short_names(self._alike[_name(path)])[path]

    def papers(
        self, ids: Iterable[int] | None, sources: Callable[[list[str] | None], Mapping[str, Metadata]]
    ) -> list[Paper]:
        """The papers of these ids, or all, ordered by their short names; unknown ids are left out.

        `sources` gives what is known from outside of the files of these MD5s, or of all.
        """
        rows = self._order if ids is None else [self.rows[one] for one in dict.fromkeys(ids) if one in self.rows]
        known = sources(None if len(rows) > 1 else [row.md5 for row in rows])
        found = [self._paper(row, known.get(row.md5)) for row in rows]
        return sorted(found, key=lambda paper: (paper.file, paper.paper_id))

    def _paper(self, row: PaperRow, source: Metadata | None) -> Paper:
        fields = json.loads(row.content)
        stated = fields.pop("metadata")
        metadata = Metadata(**{**stated, "authors": tuple(stated["authors"])})
        return Paper(
            paper_id=row.paper_id,
            file=self.file(row),
            path=self.full_path(row),
            md5=row.md5,
            chunks=row.chunks,
            warnings=tuple(fields.pop("warnings")),
            metadata=from_outside(metadata, source, _folder(row.path)),
            **fields,
        )

    def paper_of(self, chunk_id: int) -> PaperRow | None:
        """The paper that claims a passage."""
        place = bisect_right(self._firsts, chunk_id) - 1
        row = self._order[place] if place >= 0 else None
        return row if row is not None and chunk_id < row.first_chunk + row.chunks else None

    # Passages

    @cached_property
    def chunk_ids(self) -> Ids:
        """The ids of all passages, ascending, int64; do not change them."""
        return _ranges((row.first_chunk, row.chunks) for row in self._order)

    @cached_property
    def unasked(self) -> Ids | None:
        """The ids of the passages that a search finds unasked, ascending; None for all."""
        kept = self.unasked_of(self.rows)
        return None if kept.size == self.chunk_ids.size else kept

    def chunk_ids_of(self, paper_ids: Collection[int]) -> Ids:
        """The ids of the passages of these papers, ascending."""
        return _ranges((row.first_chunk, row.chunks) for row in self._order if row.paper_id in paper_ids)

    def unasked_of(self, paper_ids: Collection[int]) -> Ids:
        """As `chunk_ids_of`, without `ASKED_KINDS`."""
        return _ranges(
            between for row in self._order if row.paper_id in paper_ids for between in _between_left_out(row)
        )

    def chunks(self, ids: Sequence[int], read: Iterable[tuple[int, PaperRow, list[Any]]]) -> list[StoredChunk]:
        """The passages in the order of `ids`, from (id, paper, the fields of the row) of those read."""
        found: dict[int, StoredChunk] = {}
        for chunk_id, row, fields in read:
            named = dict(zip(CHUNK_FIELDS, fields, strict=True))
            named["page_breaks"] = tuple((offset, page) for offset, page in named["page_breaks"])
            named |= {"file": self.file(row), "path": self.full_path(row), "md5": row.md5}
            found[chunk_id] = StoredChunk(chunk_id=chunk_id, paper_id=row.paper_id, **named)
        return [found[one] for one in map(int, ids) if one in found]


def _between_left_out(row: PaperRow) -> Iterator[tuple[int, int]]:
    """(first passage, number) of each run of passages of a paper that a search finds unasked."""
    first, end = row.first_chunk, row.first_chunk + row.chunks
    for start, count in json.loads(row.reference_lists):
        if start > first:
            yield first, start - first
        first = start + count
    if end > first:
        yield first, end - first


def _ranges(spans: Iterable[tuple[int, int]]) -> Ids:
    """The numbers of ranges given by (first, count), one after the other, int64."""
    first, count = np.array([*spans], np.int64).reshape(-1, 2).T
    before = np.cumsum(count) - count
    return np.repeat(first - before, count) + np.arange(int(count.sum()), dtype=np.int64)


def new_paper_json(fields: Mapping[str, Any], metadata: Metadata) -> bytes:
    """The last column of a row of `papers`."""
    stated = {name: value for name, value in asdict(metadata).items() if name not in ONLY_FROM_OUTSIDE}
    return storable(json.dumps({**fields, "metadata": stated}, ensure_ascii=False)).encode()


def _name(path: str) -> str:
    return os.path.basename(path)  # noqa: PTH119  # a million times


def path_within(root: str, path: str) -> bytes:
    """A full path as it is kept in the library of the home `root`."""
    within = os.path.join(root, "") if root else ""  # noqa: PTH118  # with a separator at its end
    return os.fsencode(slashed(path.removeprefix(within)) if within else path)


def path_from(root: str, stored: bytes) -> str:
    """The inverse of `path_within`."""
    return os.path.join(root, os.fsdecode(stored).replace("/", os.sep))  # noqa: PTH118  # a full one stays as it is


def short_names(paths: Iterable[str]) -> dict[str, str]:
    """For each path its shortest unique suffix, cut at a folder: `a.pdf`, or `2017/a.pdf`.

    A line's end is "␤", the blanks of ", p.3" and ") (" are "␣", and a letter of another script in a word that looks
    English is its number, "[U+0430]": no name can pass for lines, for citations or for another name.
    """
    names: dict[str, str] = {}
    by_end: dict[str, list[str]] = {"": list(paths)}
    depth = 0
    while by_end:
        depth += 1
        crowded: dict[str, list[str]] = defaultdict(list)
        for alike in by_end.values():
            longer: dict[str, list[str]] = defaultdict(list)
            for path in alike:
                longer[_end(path, depth)].append(path)
            for end, group in longer.items():
                if len(group) == 1 or all(_end(path, depth) == slashed(path) for path in group):
                    names.update((path, end) for path in group)
                else:
                    crowded[end] += group
        by_end = crowded
    return {path: _LETTERS.sub(_told, _CITED.sub("␣", _LINE_ENDS.sub("␤", end))) for path, end in names.items()}


def _told(word: re.Match[str]) -> str:
    """The word; where all of it looks like English, letters of other scripts as their numbers."""
    names = [unicodedata.name(letter, "") for letter in word[0]]
    alike = [
        letter in _LOOK_LATIN or name.startswith(("FULLWIDTH LATIN", "MATHEMATICAL"))
        for letter, name in zip(word[0], names, strict=True)
    ]
    if not all(is_alike or "LATIN" in name for is_alike, name in zip(alike, names, strict=True)):
        return word[0]
    return "".join(f"[U+{ord(one):04X}]" if is_alike else one for one, is_alike in zip(word[0], alike, strict=True))


def _end(path: str, depth: int) -> str:
    return "/".join(slashed(path).rsplit("/", depth)[-depth:])
