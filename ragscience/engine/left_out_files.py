"""Which files a run leaves out: those of removed papers, and older versions of papers that are kept."""

from __future__ import annotations

import os
from collections.abc import Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ragscience.duplicates import Duplicate, duplicates, keep_newest
from ragscience.engine.ingest_events import PaperRemoved, PaperSuppressed, RemovalForgotten
from ragscience.errors import RagScienceError
from ragscience.ingestion import Plan, papers_named
from ragscience.store.row_records import short_names

if TYPE_CHECKING:
    from ragscience.engine.events import OnEvent
    from ragscience.records import Paper
    from ragscience.store import Library

__all__ = ["remove_older", "remove_papers", "short_name", "without_left_out"]


def without_left_out(library: Library, plan: Plan, named: Sequence[Path], on_event: OnEvent) -> Plan:
    """The plan without the files that are left out; those that are named themselves are wanted again."""
    suppressed, removed = library.aside(), library.removed()
    kept = []
    for state in plan.to_read:
        newer = suppressed.get(state.md5)
        if state.path in named or (newer is None and state.md5 not in removed):
            kept.append(state)
        elif newer is None:
            on_event(PaperSuppressed(state.path.name, path=state.path))
        else:
            on_event(PaperSuppressed(short_name(state.path, newer.path), newer.file, state.path))
    library.forget_removed({state.md5 for state in kept} & removed.keys())
    return replace(plan, to_read=tuple(kept))


def remove_papers(library: Library, names: Sequence[str], on_event: OnEvent, *, forget: bool) -> tuple[Paper, ...]:
    """Take papers out; their files stay, and are left out from then on; with `forget` they are read again.

    `forget` also takes names of papers that were removed before. Raises RagScienceError for a name that no paper has.
    """
    papers: list[Paper] = []
    forgotten: set[str] = set()
    before = library.removed() if forget else {}
    for name in names:
        known = {md5 for md5, path in before.items() if name in (md5, path, os.path.basename(path), _full(name, path))}  # noqa: PTH119  # a name
        try:
            papers += papers_named(library, [name])
        except RagScienceError:
            if not known:
                raise
        forgotten |= known
    if forget:
        for md5 in sorted(forgotten, key=before.__getitem__):
            on_event(RemovalForgotten(before[md5]))
        library.forget_removed(forgotten | {paper.md5 for paper in papers})
    else:
        # Before, so that a run that is killed in between leaves nothing that the next ingest would undo.
        library.note_removed(papers)
    library.remove_papers([paper.paper_id for paper in papers])
    library.refresh_indexes()
    for paper in papers:
        on_event(PaperRemoved(paper))
    return tuple(papers)


def _full(name: str, path: str) -> str:
    """The name, if it leads to the path."""
    return name if os.path.abspath(name) == path else ""  # noqa: PTH100  # as find_pdfs does


def remove_older(library: Library, on_event: OnEvent) -> tuple[Duplicate, ...]:
    """Remove the older paper of each pair and suppress its file; for each that went, a pair with a newer one."""
    pairs = duplicates(library)
    if not pairs:
        return ()
    papers = {paper.file: paper for paper in library.papers()}

    def suppress(going: Set[str]) -> dict[str, Duplicate]:
        staying = [pair for pair in pairs if pair.older in going and pair.newer not in going]
        newer = {pair.older: pair for pair in staying}
        library.set_aside({papers[older].md5: papers[pair.newer] for older, pair in newer.items()})
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
