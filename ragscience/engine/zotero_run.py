"""Papers that Zotero or a .bib file describes come into the library, and follow what changes there."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from ragscience.core.records import Mark, Metadata
from ragscience.core.tokenizing import counted, some_of
from ragscience.engine.events import IngestResult, Noted, PaperRemoved, Progressed
from ragscience.engine.ingest_runs import IngestRun
from ragscience.library.ingestion import FileState, IngestPlan, LocalFiles, file_state, make_plan
from ragscience.library.paper_rows import ONLY_FROM_OUTSIDE, FileSource
from ragscience.library.store import known_files
from ragscience.sources.bib_reading import BibFile, joined
from ragscience.sources.zotero import Attachment, ZoteroLibrary

_TO_READ = "to read again"
"""The kind of note on a paper whose source says something else than when the paper was read."""

Said = tuple[Metadata, tuple[Mark, ...]]
"""What is said of a file, and what is marked in it."""


class UnreadFiles(LocalFiles):
    """Files on this machine; one of the size and time that the library knows is not opened."""

    def __init__(self, known: Mapping[str, tuple[int, int, str, int]]) -> None:
        """`known` has (size, mtime in ns, MD5, paper) by path."""
        self._known = known

    def state(self, path: Path, known: Collection[str] = ()) -> FileState:
        """As `file_state`. Raises FileProblem."""
        del known
        size, modified, md5, _ = self._known.get(str(path), (-1, -1, "", 0))
        state = FileState(path, md5, size, modified)
        return state if md5 and self.is_as(state) else file_state(path)


class DescribedRun(IngestRun):
    """A library that is open for writing, and papers that are described elsewhere than on their first page."""

    def read_described(self, said: Mapping[Path, Said], plan: IngestPlan) -> IngestResult:
        """Store what is said of the files of a plan, and read what is new, or what is now described in other words.

        A run that is killed goes on where it was: what is to be read again is noted before.
        """
        library = self.library
        by_md5: dict[str, Said] = {}
        for state in _states(plan):
            if state.path in said:
                by_md5[state.md5] = _both(by_md5.get(state.md5), said[state.path])
        kept = {source.md5: source for source in library.sources.all()}
        others = {md5: one for md5, one in by_md5.items() if _differs(kept.get(md5), one)}
        there = {md5 for _, _, md5, _ in known_files(library).values()}
        again = [md5 for md5 in others.keys() & there if _is_read_anew(kept.get(md5), others[md5])]
        library.note(_TO_READ, dict.fromkeys(again, "yes"))
        if others:
            library.sources.put_all(others)
        waiting = library.noted(_TO_READ)
        later = [state for state in (*plan.unchanged, *(state for _, state in plan.moved)) if state.md5 in waiting]
        planned = {state.md5 for state in (*plan.to_read, *later)}
        copied = {state.md5: path for state, path in plan.copies if state.md5 in waiting.keys() - planned}
        later += [file_state(Path(path)) for path in copied.values()]
        if later:
            papers = counted(len(later), "paper is", "papers are")
            self._on_event(Noted(f"{papers} described in other words, or marked, since the last time: read again"))
        result = self.carry_out(replace(plan, to_read=(*plan.to_read, *later)))
        read = {paper.md5 for paper in (*result.added, *result.updated)}
        library.note(_TO_READ, dict.fromkeys(waiting.keys() & read))
        return result


class ZoteroRun(DescribedRun):
    """A library that is open for writing, to be brought in step with Zotero's."""

    def follow(self, found: ZoteroLibrary, wanted: Sequence[Attachment]) -> IngestResult:
        """Read the `wanted` of what was found, as far as it is new or has changed; remove what is in Zotero's trash."""
        for text in found.warnings:
            self._warn(text)
        there = {one.path: one for one in wanted if one.path.is_file()}
        if lacking := [one.path.name for one in wanted if one.path not in there]:
            files = counted(len(lacking), "file of Zotero's is", "files of Zotero's are")
            self._warn(f"{files} not on this machine: {some_of(lacking)}.")
        here = UnreadFiles(known_files(self.library))
        compared = lambda number: self._on_event(Progressed("comparing files", number, len(there)))  # noqa: E731
        plan = make_plan(self.library, there, (), compared, here)
        moved = {paper.paper_id for paper, _ in plan.moved}
        gone = [
            paper
            for paper in self.library.papers()
            if paper.metadata.link in found.trashed
            or (paper.metadata.link and paper.paper_id not in moved and here.is_gone(Path(paper.path)))
        ]
        if gone:
            self.library.remove_papers([paper.paper_id for paper in gone])
            for paper in gone:
                self._on_event(PaperRemoved(paper, "it is no longer in Zotero"))
            if not plan.to_read:
                self.library.refresh_indexes()
        return self.read_described({path: (one.metadata, one.marks) for path, one in there.items()}, plan)


class BibRun(DescribedRun):
    """A library that is open for writing, whose papers a .bib file describes."""

    def join(self, bib: BibFile, files: Path | None = None) -> IngestResult:
        """Give the papers that the entries are about their keys and fields, and read the PDFs that they name.

        Files with relative paths are in `files` or beside the .bib. What another source says of a paper stays where the
        entry says nothing.
        """
        for text in bib.warnings:
            self._warn(text)
        found, unfit = joined(bib.entries, self.library.papers(), [*filter(None, [files]), *bib.folders])
        if unfit:
            entries = counted(len(unfit), "entry is about no paper", "entries are about no paper")
            self._warn(f"{bib.path.name}: {entries} of the library and no file: {some_of(unfit)}.")
        papers = counted(len(found), "paper")
        self._on_event(Noted(f"{bib.path.name}: {counted(len(bib.entries), 'entry', 'entries')}, {papers} found"))
        compared = lambda number: self._on_event(Progressed("comparing files", number, len(found)))  # noqa: E731
        plan = make_plan(self.library, found, (), compared, UnreadFiles(known_files(self.library)))
        kept = {source.md5: source for source in self.library.sources.all()}
        md5s = {state.path: state.md5 for state in _states(plan)}
        said = {path: _over(kept.get(md5s.get(path, "")), metadata) for path, metadata in found.items()}
        return self.read_described(said, plan)


def _states(plan: IngestPlan) -> tuple[FileState, ...]:
    """All files of a plan that can be read."""
    moved, copies = (state for _, state in plan.moved), (state for state, _ in plan.copies)
    return (*plan.to_read, *plan.unchanged, *moved, *copies)


def _over(kept: FileSource | None, said: Metadata) -> Said:
    """What is said now, and what was said before where that says nothing; of collections and tags those of both."""
    if kept is None:
        return said, ()
    given = {field.name: value for field in fields(said) if (value := getattr(said, field.name))}
    lists = {name: (*getattr(kept.metadata, name), *getattr(said, name)) for name in ("collections", "tags")}
    given |= {name: tuple(dict.fromkeys(value)) for name, value in lists.items()}
    return replace(kept.metadata, **given), kept.marks


def _both(first: Said | None, second: Said) -> Said:
    """What two entries say of the same bytes: the first one's words, the collections, tags and marks of both."""
    if first is None:
        return second
    lists: dict[str, Any] = {
        name: tuple(dict.fromkeys((*getattr(first[0], name), *getattr(second[0], name))))
        for name in ("collections", "tags")
    }
    return replace(first[0], **lists), tuple(dict.fromkeys((*first[1], *second[1])))


def _differs(kept: FileSource | None, said: Said) -> bool:
    return kept is None or (kept.metadata, kept.marks) != said


def _is_read_anew(kept: FileSource | None, said: Said) -> bool:
    """Whether what is said now changes the passages of the paper, and not its collections alone."""
    if kept is None:
        return True
    same = {name: getattr(said[0], name) for name in ONLY_FROM_OUTSIDE}
    return (replace(kept.metadata, **same), kept.marks) != said
