"""What answers cite, as entries."""

from ragscience.sources.bib_entries import entries_cited
from ragscience.sources.bib_formats import as_bibtex
from tests.sources.bib_making import answer, paper
from tests.sources.bib_parsing import parsed

BEES = paper(1, path="/p/bees.pdf", title="Fog", authors=("A Bee",), year=2020)
TWO = [
    paper(2, path="/p/a/x.pdf", file="a/x.pdf", title="Tea", authors=("A Leaf",)),
    paper(3, path="/p/b/x.pdf", file="b/x.pdf", title="Tin", authors=("A Mine",)),
]


def keys(*answers, library=(BEES, *TWO)):
    return [entry.key for entry in entries_cited(answers, library)]


def test_a_paper_that_has_left_keeps_its_files_name_and_a_key_of_its_own():
    gone = [answer(("bees.pdf", "/elsewhere/bees.pdf"), ("y_1.pdf", "/p/y_1.pdf"))]
    entries = parsed(as_bibtex(entries_cited(gone, [BEES])))
    assert len(entries) == 2
    assert [fields for _, fields in entries.values()] == [
        {"note": "file bees.pdf; no longer in the library"},
        {"note": r"file y\_1.pdf; no longer in the library"},
    ]
    assert keys(*gone) == keys(*gone)
    assert all(key.startswith("gone") for key in entries)
