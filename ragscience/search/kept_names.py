"""The names of all papers on disk: a cache beside the indexes, made again where it does not fit the library."""

import contextlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from functools import cached_property
from typing import Any

from ragscience.core.records import Paper, title_of
from ragscience.core.tokenizing import TOKENIZER_VERSION
from ragscience.library.atomic_files import write_atomically
from ragscience.library.store import Store
from ragscience.search.names_of_paper import RULES_VERSION, PaperName, key_of, names_of_paper

_FORMAT = 7
"""Of the file: its checksum, and JSON of what it was made by, the generation, and each paper's id and fields."""


@dataclass(frozen=True)
class KeptPaper:
    """The names of a paper, and before them what they change with."""

    md5: str
    passages: int
    """How many it has, lists of references included."""
    title: str
    """Empty where it is not known."""
    file: str
    """Its short name."""
    keys: str
    """What the names are looked up by, with blanks between them."""
    kept_names: str
    """JSON, which is read when it is wanted."""

    @cached_property
    def names(self) -> tuple[PaperName, ...]:
        """Its names, the surest first."""
        return tuple(PaperName(*row[:-2], *map(tuple, row[-2:])) for row in json.loads(self.kept_names))


@dataclass(slots=True)
class KeptNames:
    """The names of each paper, by its id, at one generation of a library."""

    generation: int
    papers: Mapping[int, KeptPaper]
    is_on_disk: bool

    def write(self, library: Store) -> None:
        """Keep them on disk, unless they are there, or the library is damaged; a failed write is ignored."""
        if self.papers and not self.is_on_disk and not library.damage():  # what is left out would stay out
            rows = [(key, *astuple(paper)) for key, paper in self.papers.items()]
            body = json.dumps([_made_by(library), self.generation, rows]).encode()
            with contextlib.suppress(OSError):
                write_atomically(library.home.names, b"%08x\n" % zlib.crc32(body) + body)
                self.is_on_disk = True


def kept_names(library: Store, before: KeptNames | None = None) -> KeptNames:
    """The names of all papers: those of `before` or on disk, and found for the papers that are new or changed.

    `before` is of another generation of the library. To be called within a snapshot. Raises what reading the library
    raises.
    """
    kept = before or _read(library)
    if before is None and kept.generation == library.about.version:
        return kept
    papers: dict[int, KeptPaper] = {}
    for paper in library.papers():
        known = kept.papers.get(paper.paper_id)
        about = (paper.md5, paper.chunks, title_of(paper), paper.file)
        fits = known is not None and (known.md5, known.passages, known.title, known.file) == about
        papers[paper.paper_id] = known if known and fits else _found(paper, about, library)
    return KeptNames(library.about.version, papers, is_on_disk=False)


def _found(paper: Paper, about: tuple[str, int, str, str], library: Store) -> KeptPaper:
    names = names_of_paper(paper, library.paper_chunks(paper.paper_id), library)
    keys = " ".join(dict.fromkeys(key_of(name.name) for name in names))
    return KeptPaper(*about, keys, json.dumps([astuple(name) for name in names]))


def _made_by(library: Store) -> list[Any]:
    return [_FORMAT, RULES_VERSION, TOKENIZER_VERSION, library.about.library_id]


def _read(library: Store) -> KeptNames:
    """The names on disk; none of generation -1 where they are missing, damaged or of another library or version."""
    try:
        checksum, _, body = library.home.names.read_bytes().partition(b"\n")
        made_by, generation, rows = json.loads(body)
        if int(checksum, 16) == zlib.crc32(body) and made_by == _made_by(library):
            return KeptNames(generation, {int(key): KeptPaper(*row) for key, *row in rows}, is_on_disk=True)
    except (OSError, ValueError, TypeError):
        pass
    return KeptNames(-1, {}, is_on_disk=False)
