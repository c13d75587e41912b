"""`engine.papers`: the papers of the library, to list, look up, read and mark."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ragscience.core.records import Answer, Filters, Paper
from ragscience.engine.events import Checking, OnEvent, Warned
from ragscience.engine.paper_lookup import check_filters, papers_matching
from ragscience.engine.shared_parts import SharedParts

if TYPE_CHECKING:
    from ragscience.engine.left_out_files import SkippedFile
    from ragscience.engine.paper_views import Bibliography, PaperOutline, PaperPage
    from ragscience.engine.source_list import Surroundings
    from ragscience.library.duplicates import Duplicate

__all__ = ["Papers"]

T = TypeVar("T")


class Papers:
    """What there is in the library; damage that is met on the way is published."""

    def __init__(self, shared: SharedParts) -> None:
        self._shared = shared

    def list(self) -> list[Paper]:
        """All papers, by their names."""
        return self._after_damage(self._shared.library.papers())

    def matching(self, pattern: str) -> Sequence[Paper]:
        """The papers that a pattern fits, in any case; none where none does.

        A listed name, path or MD5 means that paper alone; all else is a part of the file's name or of the title, a
        pattern with `*`, or what a paper calls itself.
        """
        return self._after_damage(papers_matching(self._shared.library, pattern))

    def page(self, paper: str, number: int) -> PaperPage:
        """A page, as it was read, of the one paper that `paper` fits (see `matching`).

        Raises NothingFound where no paper fits or it has no such page, UsageError where several papers fit.
        """
        from ragscience.engine.paper_views import paper_page

        return self._after_damage(paper_page(self._shared.library, paper, number))

    def outline(self, paper: str) -> PaperOutline:
        """A paper with its headings, tables, figures and references. Raises as `page`."""
        from ragscience.engine.paper_views import paper_outline

        return self._after_damage(paper_outline(self._shared.library, paper))

    def bibliography(self, papers: Sequence[str] = (), *, cited_by: Sequence[Answer] | None = None) -> Bibliography:
        """The entries of the papers that `papers` fit, of those that the answers cite, or of all papers.

        Raises NothingFound for a name that fits no paper.
        """
        from ragscience.engine.paper_views import bibliography

        return self._after_damage(bibliography(self._shared.library, papers, cited_by))

    def surroundings(self, answer: Answer, number: int) -> Surroundings:
        """The page of source `number` of an answer, with the quotes on it.

        Raises UsageError for a number that the answer does not list, NothingFound where the paper has left the library.
        """
        from ragscience.engine.source_list import surroundings

        return self._after_damage(surroundings(answer, number, self._shared.library))

    def duplicates(self) -> Sequence[Duplicate]:
        """The pairs of papers that are the same one, in other bytes or in an older version."""
        from ragscience.library.duplicates import duplicates

        def on_check(what: str, step: int, steps: int) -> None:
            if self._shared.on_event is not None:  # each time, unlike `publish`
                self._shared.on_event(Checking(what, step, steps))

        return self._after_damage(duplicates(self._shared.library, on_check))

    def skipped(self) -> Sequence[SkippedFile]:
        """The files that the last runs saw and did not read into the library, each with the reason, by path."""
        from ragscience.engine.left_out_files import skipped_files

        return skipped_files(self._shared.library, self._shared.files)

    def check_filters(self, filters: Filters) -> None:
        """Raise NothingFound for filters that leave no passage, or name a paper, author, year or heading of none.

        Nothing is checked of an empty library.
        """
        check_filters(self._shared.library, filters)

    def opened(self, path: Path) -> AbstractContextManager[Path]:
        """The file at a paper's path, or what stands for it on this machine."""
        paper = self._shared.library.paper(path=str(path))
        return self._shared.files.opened(path, paper.md5) if paper else nullcontext(path)

    def write_marked_pages(self, answers: Sequence[Answer], target: Path, *, on_event: OnEvent | None = None) -> int:
        """Write a PDF of the pages that the answers cite, with the quotes marked; how many pages.

        Raises UsageError where `target` is a file that was not made so, RagScienceError where it cannot be written.
        """
        from ragscience.engine.marked_pages import write_marked_pages

        return write_marked_pages(
            answers,
            target,
            warn=lambda text: on_event(Warned(text)) if on_event is not None else None,
            opened=self.opened,
        )

    def _after_damage(self, made: T) -> T:
        self._shared.publish_damage()
        return made
