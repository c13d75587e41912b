"""`engine.review`: what a writer holds against the papers of a library."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from pathlib import Path
from threading import Event as Flag
from typing import TYPE_CHECKING, Any

from ragscience.core.errors import Cancelled
from ragscience.core.serialization import select
from ragscience.engine.events import OnEvent, Progressed, unheard
from ragscience.engine.shared_parts import SharedParts
from ragscience.review.quotes import QuoteFinder
from ragscience.review.reports import DraftReport
from ragscience.search.paper_lookup import find_papers

if TYPE_CHECKING:
    from ragscience.library.store import Store
    from ragscience.review.drafts import Draft
    from ragscience.review.quotes import QuotePlace


class Review:
    """Holds quotes and drafts against the library."""

    def __init__(self, shared: SharedParts) -> None:
        self._shared = shared
        self._kept: tuple[Store, QuoteFinder] | None = None

    def quote(self, text: str, papers: Sequence[str] = ()) -> list[QuotePlace]:
        """The places of a quote, the likest first, exact ones alone where there are any; none where it is nowhere.

        Raises UsageError for a quote without a word or of more than 5,000 characters, NothingFound for a name in
        `papers` that fits no paper.
        """
        library = self._shared.library
        with library.snapshot():
            if self._kept is None or self._kept[0] is not library:
                self._kept = library, QuoteFinder(library)
            places = self._kept[1].find(text, find_papers(library, papers))
        self._shared.publish_damage()
        return places

    def check(self, draft: Path, *, suggest: bool = False, on_event: OnEvent = unheard) -> DraftReport:
        """What the papers hold of each sentence of a draft that cites one; with `suggest` also of those that cite none.

        Raises UsageError and FileProblem as `read_draft`.
        """
        from ragscience.review.drafts import read_draft

        return self._checked(read_draft(draft), str(draft), suggest=suggest, on_event=on_event)

    def check_text(self, text: str, name: str = "draft.md", *, cancel: Flag | None = None) -> DraftReport:
        """The same of a text in the format that `name` ends in. Raises Cancelled once `cancel` is set."""
        from ragscience.review.drafts import draft_of

        return self._checked(draft_of(text, name), name, cancel=cancel)

    def _checked(
        self, draft: Draft, name: str, *, suggest: bool = False, on_event: OnEvent = unheard, cancel: Flag | None = None
    ) -> DraftReport:
        from ragscience.review.draft_check import DraftChecker

        total, done = len(draft.sentences), count()

        def on_sentence() -> None:
            if cancel is not None and cancel.is_set():
                raise Cancelled
            on_event(Progressed("checking", next(done), total))

        library = self._shared.library
        with library.snapshot():
            checker = DraftChecker(library, self._shared.models.span_reader(self._shared.settings))
            sentences = tuple(checker.check(draft, suggest=suggest, on_sentence=on_sentence))
        self._shared.publish_damage()
        return DraftReport(name, sentences, (*draft.warnings, *checker.warnings))


def quote_output(quote: str, places: Sequence[QuotePlace], quote_id: str | None = None) -> dict[str, Any]:
    """What `quote --json` prints for one quote."""
    rows = [select("likeness differences citations", place) for place in places]
    return select("schema id quote places", id=quote_id, quote=quote, places=rows)


def draft_output(report: DraftReport) -> dict[str, Any]:
    """What `check --json` prints."""
    return select("schema draft counts sentences warnings", report)
