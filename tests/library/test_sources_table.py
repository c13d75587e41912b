"""Where files came from: kept by their MD5, whatever becomes of the paper."""

import pytest

from ragscience.core.records import Document, Metadata
from ragscience.library.paper_rows import merged
from ragscience.library.store import Library

from .making import add, numbered_paper

SAID = Metadata(
    title="On bees",
    authors=("Ada Lovelace", "李明"),
    year=2021,
    venue="J. Bees",
    doi="10.1000/x",
    arxiv_id="2101.00001v2",
    abstract="They fly \ud800 slower.",
    categories=("cs.CL", "stat.ML"),
    url="https://example.org/a.pdf",
    published="2021-01-04",
)


def test_a_paper_has_what_only_its_source_knows_and_the_row_stays_when_it_leaves(home):
    made = numbered_paper(1)
    with Library.open_for_writing(home) as library:
        library.sources.put(made.md5, SAID)
        paper = add(library, made)
        assert (paper.metadata.url, paper.metadata.categories) == (SAID.url, SAID.categories)
        assert (paper.metadata.abstract, paper.metadata.published) == (SAID.abstract, SAID.published)
        assert library.papers() == [paper]
        library.remove_papers([paper.paper_id])
        assert library.sources.of(made.md5) is not None
        assert add(library, made).metadata.url == SAID.url


@pytest.mark.parametrize("fields", [(), ("title",), ("title", "year"), ("authors", "doi", "arxiv_id", "venue")])
def test_only_what_the_source_says_is_taken_from_it(home, fields):
    read = Metadata("Head", ("A. Wrong",), 1999, "arXiv", "10.1/a", "1.2", dict.fromkeys(("title", "venue"), 0.4))
    said = Metadata(url="https://x.org/a", **{name: getattr(SAID, name) for name in fields})
    with Library.open_for_writing(home) as library:
        library.sources.put("a", said)
        before = Document("text", (), "file title", metadata=read)
        assert merged(before, None) is before
        document = merged(before, library.sources.of("a"))
    for name in ("title", "authors", "year", "doi", "arxiv_id", "venue"):
        expected, sure = (SAID, 1.0) if name in fields else (read, read.confidence.get(name))
        assert getattr(document.metadata, name) == getattr(expected, name)
        assert document.metadata.confidence.get(name) == sure
    assert document.metadata.url == "https://x.org/a"
    assert document.title == ("On bees" if "title" in fields else "file title")
