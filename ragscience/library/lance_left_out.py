"""The files that a library in LanceDB leaves out: of older versions of its papers, and of removed papers."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ragscience.core.records import Paper
from ragscience.library.changes import Change
from ragscience.library.lance_contents import LanceContents
from ragscience.library.lance_database import LanceDatabase
from ragscience.library.left_out import newer_versions

__all__ = ["LanceLeftOut"]


class LanceLeftOut:
    """What is kept of such files, by the MD5 of their bytes."""

    def __init__(self, database: LanceDatabase, contents: LanceContents) -> None:
        self._reading, self._changed = database.reading, database.changed
        self._papers = contents.papers

    def aside(self) -> dict[str, Paper]:
        """By MD5, the suppressed files: for each the newer version, which is in the library."""
        with self._reading() as at:
            papers = {paper.md5: paper for paper in self._papers()} if at and at.state.aside else {}
            return newer_versions(at.state.aside, papers) if at and papers else {}

    def set_aside(self, newer: Mapping[str, Paper]) -> None:
        """Suppress files, by MD5: they are not ingested while the library has the paper that is the newer version."""
        added = {md5: paper.md5 for md5, paper in newer.items()}
        self._changed(lambda change: change.note(aside={**change.state.aside, **added}))

    def removed(self) -> dict[str, str]:
        """The path that each removed paper had, by the MD5 of its file; without those that were added again."""
        with self._reading() as at:
            if at is None or not at.state.removed:
                return {}
            present = {row["md5"] for row in at.papers().values()}
            return {md5: path for md5, path in at.state.removed.items() if md5 not in present}

    def note_removed(self, papers: Collection[Paper]) -> None:
        """Remember that these papers were removed: their files are left out once the library lacks them."""
        added = {paper.md5: paper.path for paper in papers}
        self._changed(lambda change: change.note(removed={**change.state.removed, **added}))

    def forget_removed(self, md5s: Collection[str]) -> None:
        """Forget that the papers with these bytes were removed."""
        with self._reading() as at:
            known = at is not None and not at.state.removed.keys().isdisjoint(md5s)

        def act(change: Change) -> None:
            change.note(removed={md5: path for md5, path in change.state.removed.items() if md5 not in md5s})

        if known:
            self._changed(act)
