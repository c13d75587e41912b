"""The hash of a library's contents: the same for the same papers, another one for any other bit."""

from dataclasses import replace

from ragscience.library.store import Home, Library
from tests.contents_hash import contents_hash
from tests.library.making import add, numbered_paper, unit_rows


def hash_of(folder, papers):
    with Library.open_for_writing(Home(folder)) as library:
        for made in papers:
            add(library, made)
        return contents_hash(library)


def test_the_order_does_not_count_and_each_bit_does(tmp_path):
    import numpy as np

    first, second = numbered_paper(1), numbered_paper(2)
    whole = hash_of(tmp_path / "a", [first, second])
    assert hash_of(tmp_path / "b", [second, first]) == whole
    vectors = unit_rows(np.random.default_rng(9), len(first.chunks))
    title = replace(first.document, title="Another title")
    section = (replace(first.chunks[0], section="Methods"), *first.chunks[1:])
    others = [
        [first],
        [replace(first, vectors=vectors), second],
        [replace(first, document=title), second],
        [replace(first, chunks=section), second],
    ]
    assert len({whole, *(hash_of(tmp_path / str(number), papers) for number, papers in enumerate(others))}) == 5
