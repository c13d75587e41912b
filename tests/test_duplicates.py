"""The same paper twice in one library: found, and the older one taken out."""

import hashlib
import random

import numpy as np
import pytest

from ragscience.core.records import Chunk, Document, Metadata, Page
from ragscience.library.left_out import duplicates, duplicates_of, keep_newest
from ragscience.library.store import Home, Library, NewPaper
from tests.library.making import CHUNKER, EMBEDDER, unit_rows


def words(seed, count=400):
    chooser = random.Random(seed)
    return " ".join(f"w{chooser.randrange(10**6)}" for _ in range(count))


def put(library, name, text, metadata=None, modified_ns=1):
    library.set_identity(EMBEDDER, CHUNKER)
    return library.add_paper(
        NewPaper(
            path=f"/p/{name}.pdf",
            md5=hashlib.md5(name.encode()).hexdigest(),
            size_bytes=1,
            modified_ns=modified_ns,
            document=Document(text, (Page(1, 0, len(text)),), metadata=metadata or Metadata()),
            chunks=(Chunk(0, text, 0, len(text), 1, 1),),
            vectors=unit_rows(np.random.default_rng(0), 1),
        )
    )


@pytest.fixture
def library(tmp_path):
    with Library.open_for_writing(Home(tmp_path)) as library:
        yield library


def pairs(found):
    return [(pair.newer, pair.older, pair.reasons, pair.newer_by) for pair in found]


def test_versions_are_found_from_what_the_library_keeps(library):
    text = words(1)
    put(library, "second", text, Metadata(arxiv_id="1706.03762v2"))
    put(library, "other", words(2), Metadata("A Study of Other Things", ("Ada Lovelace",)))
    put(library, "first", text + " " + words(3, 20), Metadata(arxiv_id="1706.03762v1"), modified_ns=9)
    expected = [("second.pdf", "first.pdf", ("identifier", "text"), "version")]
    assert pairs(duplicates(library)) == expected
    assert pairs(duplicates_of(library, {"first.pdf"})) == expected
    assert pairs(duplicates_of(library, {"second.pdf", "first.pdf"})) == expected
    assert duplicates_of(library, {"other.pdf"}) == duplicates_of(library, set()) == []


def test_older_papers_leave_and_the_newest_stays(library):
    text = words(1)
    for version in (3, 1, 2):
        put(library, f"v{version}", text, Metadata(arxiv_id=f"1706.03762v{version}"))
    other = put(library, "other", words(2))
    assert [paper.file for paper in keep_newest(library)] == ["v1.pdf", "v2.pdf"]
    assert [paper.file for paper in library.papers()] == ["other.pdf", "v3.pdf"]
    generation = library.about.version
    assert keep_newest(library) == []
    assert library.about.version == generation
    assert other in library.papers()


def test_a_paper_leaves_only_where_one_that_is_the_same_stays(library):
    """The first and the last of a chain have too little in common to be the same."""
    start, middle, end = words(1, 200), words(2, 400), words(3, 400)
    put(library, "a", f"{start} {middle}", modified_ns=1)
    put(library, "b", f"{middle} {end}", modified_ns=2)
    put(library, "c", f"{end} {words(4, 400)}", modified_ns=3)
    assert [(newer, older) for newer, older, _, _ in pairs(duplicates(library))] == [
        ("b.pdf", "a.pdf"),
        ("c.pdf", "b.pdf"),
    ]
    assert [paper.file for paper in keep_newest(library)] == ["b.pdf"]
    assert [paper.file for paper in library.papers()] == ["a.pdf", "c.pdf"]
