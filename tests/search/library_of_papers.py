"""A library of papers that are made of strings, with their titles, authors and years."""

from dataclasses import replace

import numpy as np

from ragscience.core.records import Metadata
from ragscience.library.store import Library
from tests.library.making import add, paper_of, unit_rows

FILLER = ("The weather of the coast was mild.", "Rivers carry sand to the sea.", "Birds rest on the cliffs in May.")


def add_paper(library: Library, file: str, title: str, texts: list[str], **known) -> int:
    """Add a paper, a passage a page, with passages about other things at its end; its id."""
    passages = [*texts, *(f"{line} Part {number} of {file}." for number, line in enumerate(FILLER))]
    made = paper_of(f"/papers/{file}", passages, unit_rows(np.random.default_rng(len(title)), len(passages)), title)
    metadata = Metadata(title=title, confidence={"title": 0.9}, **known)
    return add(library, replace(made, document=replace(made.document, metadata=metadata))).paper_id
