"""Words as a viewer copies them, found on the pages of a paper that was really read."""

import hashlib

import numpy as np
import pytest

from ragscience.core.errors import NothingFound
from ragscience.core.records import Chunk
from ragscience.engine.page_files import word_places
from ragscience.library.store import Home, Library, NewPaper
from ragscience.reading.pdf_reader import read_pdf
from tests.library.making import CHUNKER, EMBEDDER, unit_rows
from tests.pdf_factory import make_pdf

PAGES = [
    "Bees steer by polar-\nised light, and the efficient ones fly at 3.7 metres.\n"
    "In fog they fly at 37 metres a minute,",
    "which is slower than in the sun of a caf\u00e9.\nBees steer by the sun, too.",
    "A third page tells of wasps.",
]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("places")
    path = make_pdf(folder / "a.pdf", PAGES)
    document = read_pdf(path)
    with Library.open_for_writing(Home(folder / "home")) as library:
        library.set_identity(EMBEDDER, CHUNKER)
        library.add_paper(
            NewPaper(
                path=str(path),
                md5=hashlib.md5(path.read_bytes()).hexdigest(),
                size_bytes=1,
                modified_ns=1,
                document=document,
                chunks=(Chunk(0, document.text, 0, len(document.text), 1, 3),),
                vectors=unit_rows(np.random.default_rng(0), 1),
            )
        )
    with Library.open(Home(folder / "home")) as opened:
        yield opened


def places(library, words, page=None):
    (paper,) = library.papers()
    found = word_places(library, paper, words, page)
    for place in found:
        for part in place:
            start = library.contents(paper.paper_id).page(part.page).start
            text = library.contents(paper.paper_id).text(part.page)
            assert text[part.start - start : part.end - start] == part.text
            assert part.boxes == library.contents(paper.paper_id).boxes(part.page, part.start, part.end)
            assert part.boxes
    return [[(part.page, " ".join(part.text.split())) for part in place] for place in found]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("by polarised light", "by polarised light"),
        ("polar-\nised\n light", "polarised light"),
        ("the e\ufb03cient ones", "the efficient ones"),
        ("THE EFFICIENT ONES", "the efficient ones"),
        ("3.7 metres", "3.7 metres"),
        ("37 metres", "37 metres"),
    ],
)
def test_words_as_a_viewer_copies_them(library, words, found):
    assert places(library, words) == places(library, words, 1) == [[(1, found)]]


@pytest.mark.parametrize("page", [None, 1, 2])
def test_words_that_go_on_on_the_next_page(library, page):
    words = "In fog they fly at 37 metres a minute,\nBees, 12\nwhich is slower than in the sun of a cafe."
    first, second = "In fog they fly at 37 metres a minute,", "which is slower than in the sun of a café."
    assert places(library, words.replace("Bees, 12\n", ""), page) == [[(1, first), (2, second)]]
    assert len(places(library, words, page)[0]) == 2
    with pytest.raises(NothingFound):
        places(library, words.replace("Bees, 12", "Proceedings of the Twelfth International Meeting of Bees"), page)
