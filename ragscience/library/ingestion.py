"""Files and papers: which files that can be read exist, and which of them the library lacks.

The MD5 of a file's bytes identifies it.
"""

import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ragscience.core.errors import FileProblem, install_line
from ragscience.core.paper_records import FORMATS, formats_read
from ragscience.core.records import Paper
from ragscience.core.tokenizing import counted, some_of
from ragscience.library.store import Store, known_files

_PDF = ".pdf"
_OTHER_FORMATS = frozenset(
    {*FORMATS, ".rst", ".rtf", ".doc", ".odt", ".pages", ".ps", ".djvu", ".mobi", ".azw3", ".fb2", ".mht", ".xps"}
    | {".ppt", ".pptx", ".odp", ".key", ".png", ".jpg", ".jpeg", ".tif", ".tiff", ".heic", ".webp"}
)
"""Suffixes of documents that could have been meant as papers; other files in a folder are of no interest."""
AS_PDF = "Print or export it as PDF, and add that."
_READ = "PDF, Word (docx), EPUB, HTML, Markdown, LaTeX and plain text"
_HEAD_BYTES = 1024 + len(b"%PDF")


@dataclass(frozen=True, slots=True)
class Failure:
    """A file that is not in the library, and why."""

    path: Path
    problem: FileProblem


@dataclass(frozen=True, slots=True)
class FileState:
    """A file on disk."""

    path: Path
    md5: str
    size_bytes: int
    modified_ns: int


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """What some paths name."""

    pdfs: tuple[Path, ...]
    """Full paths, each once."""
    others: tuple[Path, ...] = ()
    """Documents in other formats, in the folders."""
    failures: tuple[Failure, ...] = ()
    """Paths that name nothing, or a file of another format."""


@dataclass(frozen=True, slots=True)
class IngestPlan:
    """The work of a run, planned without loading a model."""

    to_read: tuple[FileState, ...]
    moved: tuple[tuple[Paper, FileState], ...] = ()
    """Papers whose bytes now have another path."""
    unchanged: tuple[FileState, ...] = ()
    copies: tuple[tuple[FileState, str], ...] = ()
    """Files whose bytes are in the library, or in this plan, under another path that still exists."""
    failures: tuple[Failure, ...] = ()
    put_off: frozenset[str] = frozenset()
    """MD5s of moved papers that keep their old path for now: each would take the path of a paper whose own file is
    nowhere to be seen, while some files could not be read."""

    @property
    def renames(self) -> list[tuple[Paper, FileState]]:
        """The papers that get another path."""
        return [(paper, state) for paper, state in self.moved if paper.md5 not in self.put_off]

    @property
    def states(self) -> list[FileState]:
        """All files except failed ones."""
        moved, copies = (state for _, state in self.moved), (state for state, _ in self.copies)
        return [*self.to_read, *self.unchanged, *moved, *copies]

    @property
    def paths(self) -> list[Path]:
        """Their paths."""
        return [state.path for state in self.states]


def find_pdfs(paths: Sequence[Path], on_found: Callable[[int], None] = lambda _: None) -> FoundFiles:
    """The PDFs, and files of other formats that can be read, that `paths` name, and what is there besides.

    Folders are searched recursively, without hidden ones; a file that is named explicitly may have any suffix if it
    begins like a PDF. Those of a folder are sorted. `on_found` gets the number of files after each folder.
    """
    read = (_PDF, *formats_read())
    found: dict[Path, None] = {}
    others: dict[Path, None] = {}
    failures: list[Failure] = []
    for path in paths:
        full = Path(os.path.abspath(path))  # noqa: PTH100  # a link keeps its own name
        if full.is_dir():
            for folder, folders, files in os.walk(full):
                folders[:] = sorted(name for name in folders if not name.startswith("."))
                for name in sorted(files):
                    suffix = os.path.splitext(name)[1].lower()  # noqa: PTH122  # a name
                    if name.startswith((".", "~$")) or suffix not in (_PDF, *_OTHER_FORMATS):
                        continue
                    (found if suffix in read else others)[Path(folder) / name] = None
                on_found(len(found))
        elif not full.exists():
            is_object = str(path).startswith("s3:/")
            fix = "Set RAG_PAPERS to read papers of a bucket." if is_object else "Check the name."
            failures.append(Failure(full, FileProblem(f"There is no file or folder {path}.", fix, reason="missing")))
        elif full.suffix.lower() in read or not full.is_file() or _begins_like_pdf(full):
            found[full] = None
        else:
            failures.append(Failure(full, other_format([full])))
    return FoundFiles(tuple(found), tuple(others), tuple(failures))


def other_format(paths: Sequence[Path]) -> FileProblem:
    """Why these files are not read: their format is not known, or the package that reads it is missing."""
    names = f"{counted(len(paths), 'file')}, {some_of([path.name for path in paths])}" if paths[1:] else paths[0].name
    if any(path.suffix.lower() in FORMATS for path in paths):
        needs = f"Reading {names} needs the package pypandoc_binary, which is not installed."
        return FileProblem(needs, f"Run `{install_line('formats')}`.", reason="other-format")
    return FileProblem(f"Not read: {names}. Only {_READ} can be added.", AS_PDF, reason="other-format")


def _begins_like_pdf(path: Path) -> bool:
    """Whether `%PDF` is among its first bytes, or they cannot be read, which its reader will say."""
    try:
        with path.open("rb") as file:
            return b"%PDF" in file.read(_HEAD_BYTES)
    except OSError:
        return True


def file_state(path: Path) -> FileState:
    """The file's MD5, size and time. Raises FileProblem if it cannot be read."""
    try:
        if not path.is_file():
            raise FileProblem("It is not a regular file.", reason="unreadable")
        with path.open("rb") as file:
            stat = os.fstat(file.fileno())
            digest = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    except OSError as error:
        raise FileProblem(f"It cannot be read: {error.strerror}.", reason="unreadable") from error
    return FileState(path, digest, stat.st_size, stat.st_mtime_ns)


class LocalFiles:
    """The files of papers on this machine's disks; `bucket.BucketFiles` has those of a bucket."""

    def find(self, paths: Sequence[Path], on_found: Callable[[int], None] = lambda _: None) -> FoundFiles:
        """As `find_pdfs`. Raises SourceError where papers are elsewhere and cannot be listed."""
        return find_pdfs(paths, on_found)

    def state(self, path: Path, known: Collection[str] = ()) -> FileState:
        """The file as it is now; `known` are MD5s that need no reading to be told. Raises FileProblem."""
        del known
        return file_state(path)

    def is_as(self, state: FileState) -> bool:
        """Whether the file that was read is still the one of that state."""
        stat = state.path.stat() if state.path.exists() else None
        return stat is not None and (stat.st_size, stat.st_mtime_ns) == (state.size_bytes, state.modified_ns)

    def is_gone(self, path: Path) -> bool:
        """Whether there is no such file. Raises SourceError where that cannot be told."""
        return not path.exists()

    def exists(self, path: str) -> bool:
        """Whether there is such a file, or was when it was last looked for; nothing is asked of another machine."""
        return os.path.lexists(path)

    @contextmanager
    def opened(self, path: Path, md5: str) -> Iterator[Path]:
        """The file to read for `path`, which stays while the `with` lasts; `md5` is that of its bytes.

        Raises FileProblem where it cannot be had.
        """
        del md5
        yield path

    def shown(self, path: str) -> str:
        """Where the file is, for a person."""
        return path

    def save(self) -> None:
        """Keep what was learnt of the files for the runs to come."""


LOCAL = LocalFiles()


def make_plan(
    library: Store,
    files: Iterable[Path],
    failures: Sequence[Failure] = (),
    on_compared: Callable[[int], None] = lambda _: None,
    where: LocalFiles = LOCAL,
) -> IngestPlan:
    """The work for `files`, which are `where`: those that the library lacks, or has under another path.

    `on_compared` gets the number of files whose bytes were compared, before each.
    """
    to_read: dict[str, FileState] = {}
    moved: list[FileState] = []
    unchanged: list[FileState] = []
    copies: list[tuple[FileState, str]] = []
    failed = list(failures)
    owners = {path: md5 for path, (_, _, md5, _) in known_files(library).items()}
    paths = {md5: path for path, md5 in owners.items()}
    for number, path in enumerate(files):
        on_compared(number)
        try:
            state = where.state(path, paths)
        except FileProblem as problem:
            failed.append(Failure(path, problem))
            continue
        known = paths.get(state.md5)
        if state.md5 in to_read:
            copies.append((state, str(to_read[state.md5].path)))
        elif known is None:
            to_read[state.md5] = state
        elif known == str(path):
            unchanged.append(state)
        elif _still_holds(known, state.md5, where):
            copies.append((state, known))
        else:
            moved.append(state)
            paths[state.md5] = str(state.path)
    papers = {paper.md5: paper for paper in library.papers()} if moved else {}
    renamed = tuple((papers[state.md5], state) for state in moved)
    put_off = _put_off(moved, owners) if failed else frozenset()
    return IngestPlan(tuple(to_read.values()), renamed, tuple(unchanged), tuple(copies), tuple(failed), put_off)


def _put_off(moved: Sequence[FileState], owners: Mapping[str, str]) -> frozenset[str]:
    """The MD5s of those that would take the path of a paper which stays: its file may be one that cannot be read.

    `owners` are the MD5s of the library's papers by path.
    """
    moving = {state.md5 for state in moved}
    while True:
        kept = {state.md5 for state in moved if owners.get(str(state.path), state.md5) in moving} & moving
        if kept == moving:
            return frozenset(state.md5 for state in moved) - moving
        moving = kept


def _still_holds(path: str, md5: str, where: LocalFiles) -> bool:
    """Whether the file that a paper was read from still has the same bytes."""
    try:
        return where.state(Path(path), (md5,)).md5 == md5
    except FileProblem:
        return False


def apply_renames(library: Store, plan: IngestPlan) -> None:
    """Update the paths of papers whose files were renamed."""
    if plan.renames:
        library.rename_papers([(paper.paper_id, str(state.path), state.modified_ns) for paper, state in plan.renames])
