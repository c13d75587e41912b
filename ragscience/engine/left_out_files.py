"""Which files a run skips: of removed papers, older versions of kept papers, and what could not be read before."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ragscience.core.errors import FileProblem
from ragscience.engine.events import Noted, PaperRemoved
from ragscience.engine.paper_lookup import find_papers, papers_matching
from ragscience.library import left_out
from ragscience.library.filter_selection import fits_file
from ragscience.library.ingestion import AS_PDF, LOCAL, Failure, FileState, IngestPlan, LocalFiles
from ragscience.library.left_out import SkippedFile, SkippedFiles, duplicates, keep_newest
from ragscience.library.paper_rows import short_names
from ragscience.library.similarity import Duplicate
from ragscience.library.store import known_files

if TYPE_CHECKING:
    from ragscience.core.records import Paper
    from ragscience.engine.events import OnEvent
    from ragscience.library.store import Store

__all__ = ["SkippedFile", "Skips", "remove_older", "remove_papers"]

_PASSING = frozenset({"changed", "missing", "other-format", "no-model", "network", "cache-size", "worker-failed"})
"""Reasons that are not kept: they may be gone the next time, or concern what was named."""
MOST_NAMES = 3
"""Names in a line; the others are counted."""


class Skips:
    """The files that one run skips, each published where it is news."""

    def __init__(self, library: Store, on_event: OnEvent, where: LocalFiles = LOCAL) -> None:
        self.still_unreadable = 0
        """Files that could not be read before and are as they were."""
        self.still_left_out = 0
        self._library = library
        self._on_event = on_event
        self._files = SkippedFiles(library.home, where.exists)

    def leave_out(self, plan: IngestPlan, named: Sequence[Path], read_by: str) -> IngestPlan:
        """The plan without what is left out and what could not be read before; what is named itself is tried again.

        `read_by` says how files are read now: one that failed is read again where that has changed.
        """
        suppressed, removed = left_out.aside(self._library), left_out.removed(self._library)
        kept: list[FileState] = []
        for state in plan.to_read:
            newer, again = suppressed.get(state.md5), f"`python ingest.py add {shlex.quote(str(state.path))}`"
            if state.path in named:
                kept.append(state)
            elif newer is not None:
                short = short_name(state.path, newer.path)
                why = f"{newer.file} is the same paper, newer or more complete"
                self._leave_out(state, "older-version", f"{why}.", again, f"{short} is left out: {why}")
            elif state.md5 in removed:
                why = "It was removed from the library."
                line = f"{state.path.name} is left out: it was removed from the library. {again} reads it again."
                self._leave_out(state, "removed", why, again, line)
            elif self._is_as_unreadable(state, read_by):
                self.still_unreadable += 1
            else:
                kept.append(state)
        left_out.forget_removed(self._library, {state.md5 for state in kept} & removed.keys())
        return replace(plan, to_read=tuple(kept), failures=self._new(plan.failures, named))

    def note_copies(self, copies: Iterable[tuple[FileState, str]]) -> None:
        """Files that have the bytes of another one."""
        for state, other in copies:
            file = SkippedFile(str(state.path), "same-bytes", f"It has the same bytes as {other}.", md5=state.md5)
            if self._files.note(file):
                line = f"{short_name(state.path, other)} has the same bytes as {other}: not read again"
                self._on_event(Noted("copy", line, str(state.path), f"the same bytes as {other}, not read again"))

    def note_others(self, paths: Iterable[Path]) -> None:
        """Documents in other formats than PDF."""
        files = [SkippedFile(str(path), "other-format", "Only PDFs can be added.", AS_PDF) for path in paths]
        if news := [file for file in files if self._files.note(file)]:
            self._on_event(Noted("other-format", _others_line([Path(file.path).name for file in news])))

    def note_failures(self, failures: Iterable[Failure], states: Mapping[Path, FileState], read_by: str) -> None:
        """Files that could not be read, unless the next run may have more luck."""
        for path, problem in ((failure.path, failure.problem) for failure in failures):
            if problem.reason not in _PASSING:
                self._files.note(_unreadable(path, problem, states[path].md5, read_by))

    def save(self) -> None:
        """Keep what was noted, for the runs to come."""
        self._files.save(known_files(self._library))

    def _leave_out(self, state: FileState, reason: str, why: str, again: str, line: str) -> None:
        self.still_left_out += 1
        if self._files.note(SkippedFile(str(state.path), reason, why, f"{again} reads it again.", state.md5)):
            self.still_left_out -= 1
            self._on_event(Noted("left-out", line))

    def _is_as_unreadable(self, state: FileState, read_by: str) -> bool:
        known = self._files.get(state.path)
        if known is None or known.reason == "unreadable":  # the disk, or a permission, failed it: its bytes are good
            return False
        return (known.md5, known.read_by) == (state.md5, read_by)

    def _new(self, failures: Sequence[Failure], named: Sequence[Path]) -> tuple[Failure, ...]:
        """The failures of files that could not even be opened, without those that are known."""
        new = []
        for failure in failures:
            is_passing = failure.problem.reason in _PASSING
            is_news = is_passing or self._files.note(_unreadable(failure.path, failure.problem))
            if is_news or failure.path in named:
                new.append(failure)
            else:
                self.still_unreadable += 1
        return tuple(new)


def _unreadable(path: Path, problem: FileProblem, md5: str = "", read_by: str = "") -> SkippedFile:
    return SkippedFile(str(path), problem.reason, problem.message, problem.fix, md5, read_by)


def remove_papers(library: Store, names: Sequence[str], on_event: OnEvent, *, forget: bool) -> tuple[Paper, ...]:
    """Take the papers that `names` fit out; their files stay, left out from then on; with `forget` they are read again.

    `forget` also takes names of papers that were removed before. Raises NothingFound for a name that fits no paper.
    """
    papers: list[Paper] = []
    forgotten: set[str] = set()
    before = left_out.removed(library) if forget else {}
    for name in names:
        known = {md5 for md5, path in before.items() if fits_file(name, path, md5)}
        papers += papers_matching(library, name) if known else find_papers(library, [name])
        forgotten |= known
    if forget:
        for md5 in sorted(forgotten, key=before.__getitem__):
            on_event(Noted("read-again", f"`python ingest.py` reads {before[md5]} again"))
        left_out.forget_removed(library, forgotten | {paper.md5 for paper in papers})
    else:
        # Before, so that a run that is killed in between leaves nothing that the next ingest would undo.
        left_out.note_removed(library, papers)
    library.remove_papers([paper.paper_id for paper in papers])
    library.refresh_indexes()
    for paper in papers:
        on_event(PaperRemoved(paper))
    return tuple(papers)


def remove_older(library: Store, on_event: OnEvent) -> tuple[Duplicate, ...]:
    """Remove the older paper of each pair and suppress its file; for each that went, a pair with a newer one."""
    pairs = duplicates(library)
    if not pairs:
        return ()
    papers = {paper.file: paper for paper in library.papers()}

    def suppress(going: Set[str]) -> dict[str, Duplicate]:
        staying = [pair for pair in pairs if pair.older in going and pair.newer not in going]
        newer = {pair.older: pair for pair in staying}
        left_out.set_aside(library, {papers[older].md5: papers[pair.newer] for older, pair in newer.items()})
        return newer

    # Before, so that a run that is killed in between leaves nothing that the next ingest would undo; and after,
    # when it is known which ones stay.
    suppress({pair.older for pair in pairs})
    gone = [paper.file for paper in keep_newest(library)]
    removed = suppress(set(gone))
    for older, pair in removed.items():
        on_event(PaperRemoved(papers[older], newer=pair))
    if gone:
        library.refresh_indexes()
    return tuple(removed[file] for file in gone)


def short_name(path: Path, other: str) -> str:
    """The shortest end of a path that distinguishes it from another one."""
    return short_names([str(path), other])[str(path)]


def same_paper(pair: Duplicate) -> str:
    """What shows that both are the same paper."""
    return ", ".join(f"{pair.overlap:.0%} of the text" if reason == "text" else reason for reason in pair.reasons)


def pair_line(pair: Duplicate) -> str:
    """The one to leave first: why it is the same paper, and what decides which is kept."""
    kept = "more complete" if pair.newer_by == "completeness" else f"newer by its {pair.newer_by}"
    return f"{pair.older}: the same paper as {pair.newer} ({same_paper(pair)}), which is {kept}"


def _others_line(names: Sequence[str]) -> str:
    """Documents that are no PDFs."""
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    one = len(names) == 1
    files, them = (
        ("1 file is not a PDF and was", "it") if one else (f"{len(names):,} files are not PDFs and were", "them")
    )
    return f"{files} skipped: {', '.join(names[:MOST_NAMES])}{more}. Print or export {them} as PDF to add {them}."
