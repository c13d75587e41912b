"""What is known of a paper well enough to be printed."""

from __future__ import annotations

from dataclasses import replace

from ragscience.metadata.title_lines import says_nothing
from ragscience.records import Metadata, Paper

__all__ = ["LEFT_OUT", "UNCERTAIN", "doubtful", "sure_enough"]

UNCERTAIN = 0.7
"""Below this confidence a field is given and marked."""
LEFT_OUT = 0.4
"""Below this one a field is rather wrong than right, as a year that only the file's date tells, and is not given."""
_FIELDS = ("title", "authors", "year", "venue", "doi", "arxiv_id")


def sure_enough(paper: Paper) -> Metadata:
    """The paper's metadata without what is below LEFT_OUT; a field without a confidence is taken for certain.

    Where the page gave no title, the one that stands in the file's properties is there, with too low a confidence to
    go unmarked.
    """
    known = paper.metadata
    confidence = {name: known.confidence.get(name, 1.0) for name in _FIELDS if getattr(known, name)}
    empty = Metadata()
    weak = {name: getattr(empty, name) for name, sure in confidence.items() if sure < LEFT_OUT}
    known = replace(known, **weak, confidence={name: sure for name, sure in confidence.items() if name not in weak})
    if not known.title and not says_nothing(paper.title):
        return replace(known, title=paper.title, confidence={**known.confidence, "title": LEFT_OUT})
    return known


def doubtful(known: Metadata) -> tuple[str, ...]:
    """The names of the fields that `sure_enough` left in and that are to be marked, in the order of the record."""
    return tuple(name for name in _FIELDS if known.confidence.get(name, 1.0) < UNCERTAIN)
