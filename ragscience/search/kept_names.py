"""The names of all papers on disk: a cache beside the indexes, made again where it does not fit the library."""

from __future__ import annotations

import contextlib
import json
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ragscience.core.errors import RagScienceError
from ragscience.core.records import title_of
from ragscience.core.tokenizing import TOKENIZER_VERSION
from ragscience.library.atomic_files import disk_errors, write_atomically
from ragscience.search.names_of_paper import (
    RULES_VERSION,
    CitedName,
    PaperName,
    key_of,
    names_of_others,
    names_of_paper,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ragscience.core.records import Paper
    from ragscience.library.store import Store

__all__ = ["KeptNames", "KeptPaper", "Row", "kept_names", "name_of"]

_FORMAT = 3
"""Of the file: a line of what it was made by, then one for each paper. That of earlier versions was a single object."""
Row = tuple[Any, ...]
"""A name as it is kept: what it is looked up by, then the fields of PaperName."""


@dataclass(frozen=True, slots=True)
class KeptPaper:
    """The names of a paper: a line of the file, whose fields are read when they are wanted."""

    kept_file: str
    """As JSON, like the signature and the rows: so no field holds a tab or a line's end."""
    kept_passages: str
    signature: str
    """Changes with what the names are found in."""
    keys: str
    """What the names are looked up by, with blanks between them."""
    kept_rows: str
    kept_cited: str
    """What the paper calls the works of others: key, authors and year of each, with colons and blanks between."""

    @property
    def cited(self) -> list[CitedName]:
        """What the paper calls the works of others."""
        return [CitedName(*each.split(":")) for each in self.kept_cited.split()]

    @property
    def title(self) -> str:
        """Its title, empty where it is not known."""
        return str(json.loads(self.signature)).split(" ", 2)[2].partition("\n")[0]

    @property
    def file(self) -> str:
        """Its short name."""
        text = self.kept_file
        return str(json.loads(text)) if "\\" in text else text[1:-1]

    @property
    def passages(self) -> int:
        """Its passages, lists of references included."""
        return int(self.kept_passages)

    @property
    def rows(self) -> list[Row]:
        """Its names."""
        return [tuple(row) for row in json.loads(self.kept_rows)]


@dataclass(slots=True)
class KeptNames:
    """The names of each paper, by its id, at one generation of a library."""

    generation: int
    papers: Mapping[int, KeptPaper]
    is_on_disk: bool

    def write(self, library: Store) -> None:
        """Keep them on disk, unless they are there, or the library is damaged; a failed write is ignored."""
        path = library.home.names
        if self.papers and not self.is_on_disk and not library.damage():  # what is left out would stay out
            head = _json({"made_by": _made_by(library), "generation": self.generation})
            lines = [f"{key}\t{_line(one)}" for key, one in self.papers.items()]
            body = "\n".join([head, *lines]).encode()
            with contextlib.suppress(RagScienceError), disk_errors(path):
                write_atomically(path, _checksum(body) + body)
                self.is_on_disk = True


def kept_names(library: Store, before: KeptNames | None = None) -> KeptNames:
    """The names of all papers: those of `before` or on disk, and found for the papers that are new or changed.

    `before` is of another generation of the library. To be called within a snapshot. Raises what reading the library
    raises.
    """
    if before is not None:
        papers = before.papers
    else:
        papers, generation = _read(library.home.names, _made_by(library))
        if generation == library.about.version:
            return KeptNames(generation, papers, is_on_disk=True)
    present = library.papers()
    papers = {paper.paper_id: papers[paper.paper_id] for paper in present if paper.paper_id in papers}
    for paper in present:
        known = papers.get(paper.paper_id)
        signature = json.dumps(f"{paper.md5} {paper.chunks} {title_of(paper)}\n{paper.file}")
        if known is None or known.signature != signature:
            papers[paper.paper_id] = _found(paper, signature, library)
    return KeptNames(library.about.version, papers, is_on_disk=False)


def _found(paper: Paper, signature: str, library: Store) -> KeptPaper:
    chunks = library.paper_chunks(paper.paper_id)
    rows = [_row(name) for name in names_of_paper(paper, chunks, library)]
    keys = " ".join(row[0] for row in rows)
    cited = " ".join(f"{one.key}:{one.author}:{one.second}:{one.year}" for one in names_of_others(chunks))
    return KeptPaper(json.dumps(paper.file), str(paper.chunks), signature, keys, _json(rows), cited)


def _made_by(library: Store) -> list[Any]:
    return [_FORMAT, RULES_VERSION, TOKENIZER_VERSION, library.about.library_id]


def _line(paper: KeptPaper) -> str:
    return "\t".join(
        (paper.kept_file, paper.kept_passages, paper.signature, paper.keys, paper.kept_rows, paper.kept_cited)
    )


def _json(content: object) -> str:
    return json.dumps(content, separators=(",", ":"))


def _checksum(body: bytes) -> bytes:
    """The first line of the file."""
    return b"%08x\n" % zlib.crc32(body)


def name_of(row: Row) -> PaperName:
    """The name that a row keeps."""
    _, name, how, base, page, start, end, share, indexed, detail = row
    return PaperName(name, how, base, page, start, end, share, tuple(indexed), tuple(detail))


def _row(name: PaperName) -> Row:
    place = (name.page, name.start, name.end)
    return (key_of(name.name), name.name, name.how, name.base, *place, name.share, [*name.indexed], [*name.detail])


def _read(path: Path, made_by: list[Any]) -> tuple[dict[int, KeptPaper], int]:
    """The names on disk and their generation; none of generation -1 where they are missing, damaged or of others."""
    try:
        first, _, body = path.read_bytes().partition(b"\n")
        if first + b"\n" != _checksum(body):
            return {}, -1
        head, *lines = body.decode().split("\n")
        of = json.loads(head)
        if of["made_by"] != made_by:
            return {}, -1
        found = {}
        for line in lines:
            key, *fields = line.split("\t")
            found[int(key)] = KeptPaper(*fields)
        return found, int(of["generation"])
    except (OSError, ValueError, TypeError, KeyError):
        return {}, -1
