"""`engine.review`: what a writer holds against the papers of a library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragscience.engine.shared_parts import SharedParts
from ragscience.review.quotes import QuoteFinder
from ragscience.search.paper_lookup import find_papers

if TYPE_CHECKING:
    from ragscience.library.store import Store
    from ragscience.review.quotes import QuotePlace


class Review:
    """Holds quotes against the library."""

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
