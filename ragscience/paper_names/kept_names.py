"""The names of all papers on disk: a cache beside the indexes, made again where it does not fit the library."""

from __future__ import annotations

import contextlib
import json
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ragscience.errors import RagScienceError
from ragscience.paper_names.paper_name import RULES_VERSION, PaperName, key_of
from ragscience.records import title_of
from ragscience.store.atomic_files import disk_errors, write_atomically
from ragscience.text.tokenizing import TOKENIZER_VERSION

if TYPE_CHECKING:
    from pathlib import Path

    from ragscience.store import Store

__all__ = ["KeptPaper", "Row", "kept_names", "name_of"]

Row = tuple[Any, ...]
"""A name as it is kept: what it is looked up by, then the fields of PaperName."""


@dataclass(frozen=True, slots=True)
class KeptPaper:
    """The names of a paper."""

    file: str
    passages: int
    """Its passages, lists of references included."""
    signature: str
    """Changes with what the names are found in."""
    rows: list[Row]


def kept_names(library: Store) -> dict[int, KeptPaper]:
    """The names of each paper, by its id: those on disk, and found for the papers that are new.

    Also writes them, unless the library is damaged; a failed write is ignored. Raises what reading the library raises.
    """
    path = library.home.names
    made_by = [RULES_VERSION, TOKENIZER_VERSION, library.library_id]
    kept, generation = _read(path, made_by)
    if generation == library.generation:
        return kept
    from ragscience.paper_names.names_of_paper import names_of_paper

    papers: dict[int, KeptPaper] = {}
    for paper in library.papers():
        known, signature = kept.get(paper.paper_id), f"{paper.md5} {paper.chunks} {paper.file} {title_of(paper)}"
        if known is None or known.signature != signature:
            rows = [_row(name) for name in names_of_paper(paper, library)]
            known = KeptPaper(paper.file, paper.chunks, signature, rows)
        papers[paper.paper_id] = known
    if papers and not library.damage():  # what is left out would stay out without a word
        content = {str(key): [one.file, one.passages, one.signature, one.rows] for key, one in papers.items()}
        whole = {"made_by": made_by, "generation": library.generation, "papers": content}
        body = json.dumps(whole, separators=(",", ":")).encode()
        with contextlib.suppress(RagScienceError), disk_errors(path):
            write_atomically(path, _checksum(body) + body)
    return papers


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
        head, _, body = path.read_bytes().partition(b"\n")
        if head + b"\n" != _checksum(body):
            return {}, -1
        content = json.loads(body)
        if content["made_by"] != made_by:
            return {}, -1
        return {int(key): KeptPaper(*paper) for key, paper in content["papers"].items()}, int(content["generation"])
    except (OSError, ValueError, TypeError, KeyError):
        return {}, -1
