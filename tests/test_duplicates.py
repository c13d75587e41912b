"""The same paper twice in one library: found, and the older one taken out."""

import hashlib
import random

import numpy as np
import pytest

from ragscience.core.records import Chunk, Document, Metadata, Page
from ragscience.library.left_out import duplicates, keep_newest
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
