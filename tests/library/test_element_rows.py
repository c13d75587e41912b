"""What a paper is made of and what it says of itself, kept and given back, also by libraries that are older."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from ragscience.core.records import Chunk, Document, Element, Filters, Metadata, Page
from ragscience.library.store import Library, NewPaper

from .making import CHUNKER, EMBEDDER, add, paper_of, unit_rows

TEXT = "Bees steer by light.\n\n[1] Ada. Bees. 1843."
PAPER = Document(
    TEXT,
    (Page(1, 0, 20, "", (), "Journal of Bees\n17"), Page(2, 20, len(TEXT))),
    "On Bees",
    ("one thing is odd",),
    (
        Element(0, 20, "text", 1, 0, "1 Bees › 1.1 Light", (1.5, 2.0, 3.0, 4.25)),
        Element(22, len(TEXT), "reference", 2, 0, "References", None),
    ),
    Metadata(
        "On Bees",
        ("Zoë Müller", "Łukasz Ørsted"),
        1843,
        "Proc. Bees",
        "10.1/b",
        "1706.03762v7",
        {"title": 0.9, "year": 1.0},
    ),
)
CHUNKS = (
    Chunk(0, TEXT[:20], 0, 20, 1, 1, "1 Bees › 1.1 Light", "text", "On Bees › Zeppelins"),
    Chunk(1, TEXT[22:], 22, len(TEXT), 2, 2, "References", "reference", "On Bees › References"),
)


def add_bees(library, document=PAPER, chunks=CHUNKS, path="/p/bees.pdf", **more):
    library.set_identity(EMBEDDER, CHUNKER)
    return library.add_paper(
        NewPaper(
            path=path,
            md5=hashlib.md5((path + document.text).encode("utf-8", "replace")).hexdigest(),
            size_bytes=7,
            modified_ns=8,
            document=document,
            chunks=chunks,
            vectors=unit_rows(np.random.default_rng(0), len(chunks)),
            **more,
        )
    )


def test_half_characters_are_replaced_wherever_they_are(home):
    broken = "a\ud800"
    document = Document(
        "text",
        (Page(1, 0, 4, "", (), broken),),
        broken,
        (),
        (Element(0, 4, "text", 1, 0, broken),),
        Metadata(broken, (broken,), None, broken, broken, broken),
    )
    with Library.open_for_writing(home) as library:
        paper = add_bees(library, document, (Chunk(0, "text", 0, 4, 1, 1, broken, "text", broken),))
        whole = "a\ufffd"
        assert paper.metadata == Metadata(whole, (whole,), None, whole, whole, whole)
        assert library.contents(paper.paper_id).elements[0].section == whole
        assert library.contents(paper.paper_id).page(1).furniture == whole
        assert library.paper_chunks(paper.paper_id)[0].header == whole


# Files that are not wanted


# References, years and authors


@pytest.fixture
def mixed(home):
    """Three papers of four passages, the last of which is a list of references in the first, words in a figure next."""
    rng = np.random.default_rng(0)
    told = [
        Metadata("", ("José Müller", "Ada Lovelace"), 2017),
        Metadata("", ("Łukasz Kaiser",), 2020),
        Metadata("", (), None),
    ]
    with Library.open_for_writing(home) as library:
        for number, metadata in enumerate(told):
            made = paper_of(f"/p/{number}.pdf", [f"light {number} {row}" for row in range(4)], unit_rows(rng, 4))
            kinds = ["text", "table", "text", ("reference", "figure", "text")[number]]
            chunks = tuple(replace(chunk, kind=kind) for chunk, kind in zip(made.chunks, kinds, strict=True))
            add(library, replace(made, chunks=chunks, document=replace(made.document, metadata=metadata)))
        library.refresh_indexes()
    return home


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (Filters(), [1, 2, 3, 5, 6, 7, 9, 10, 11, 12]),
        (Filters(kinds=("reference",)), [4]),
        (Filters(kinds=("Figure",)), [8]),
        (Filters(kinds=("References",)), []),
        (Filters(kinds=("REFERENCE", "figure", "table")), [2, 4, 6, 8, 10]),
        (Filters(kinds=("all",)), None),
        (Filters(kinds=("table", "All")), None),
        (Filters(kinds=("all",), papers=("0.pdf",)), [1, 2, 3, 4]),
        (Filters(kinds=("all",), pages=(4, 4)), [4, 8, 12]),
        (Filters(pages=(4, 4)), [12]),
        (Filters(papers=("0.pdf", "2.pdf")), [1, 2, 3, 9, 10, 11, 12]),
        (Filters(years=(2017, 2019)), [1, 2, 3]),
        (Filters(years=(2018, 2030), kinds=("figure",)), [8]),
        (Filters(authors=("muller",)), [1, 2, 3]),
        (Filters(authors=("JOSE\u0301  m\u00fc",)), [1, 2, 3]),
        (Filters(authors=("lukasz", "lovelace")), [1, 2, 3, 5, 6, 7]),
        (Filters(authors=("kaiser",), years=(2017, 2017)), []),
        (Filters(papers=("0.pdf",), authors=("ada",), years=(2000, 2020), pages=(2, 4)), [2, 3]),
    ],
)
def test_references_years_and_authors(mixed, filters, expected):
    with Library.open(mixed) as library:
        found = library.select(filters)
        assert (found if found is None else found.tolist()) == expected
