"""Keys: what they are made of, and that they stay, also those of cited papers that have left."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.core.records import Metadata
from ragscience.sources.bib_entries import citation_keys, entries_cited
from ragscience.sources.bib_formats import as_bibtex
from tests.sources.bib_making import answer, paper, parsed


@pytest.mark.parametrize(
    ("metadata", "key"),
    [
        (Metadata("Attention Is All You Need", ("Ashish Vaswani",), 2017), "vaswani2017attention"),
        (Metadata("On the Nature of Łódź", ("Jan van der Müller-Groß", "B C"), 1999), "mullergross1999nature"),
        (Metadata("Chain-of-Thought Prompting", ("Øyvind Ångström Jr.",), None), "angstromchain"),
        (Metadata("", (), 2020), "2020ascan7"),
        (Metadata("论文", ("李明",), None), "ascan7"),
        (Metadata("Sure", ("A Guess",), 2020, confidence={"title": 1.0, "authors": 0.3, "year": 0.6}), "2020sure"),
    ],
)
def test_a_key_is_name_year_and_word_in_ascii(metadata, key):
    assert citation_keys([paper(1, metadata, path="/papers/A scan_7.pdf")]) == {1: key}


def alike(numbers):
    return [paper(n, title=f"Deep things, part {n}", authors=("A Smith",), year=2020) for n in numbers]


def test_papers_of_one_stem_have_letters_of_their_own_whatever_the_order():
    papers = alike(range(1, 9))
    keys = citation_keys(papers)
    shuffled = papers[:]
    random.Random(7).shuffle(shuffled)
    assert citation_keys(shuffled) == keys
    assert len(set(keys.values())) == 8
    assert all(key.startswith("smith2020deep") and len(key) == len("smith2020deep") + 2 for key in keys.values())


@given(st.lists(st.tuples(st.text(max_size=8), st.text(max_size=6), st.sampled_from([None, 2020])), max_size=30))
def test_keys_are_ascii_and_no_two_are_the_same(made):
    papers = [paper(n, title=title, authors=(name,), year=year) for n, (title, name, year) in enumerate(made)]
    keys = citation_keys(papers)
    assert len(keys) == len(set(keys.values())) == len(papers)
    assert all(key.isascii() and key.isalnum() for key in keys.values())


def test_a_paper_that_has_left_keeps_its_files_name_and_a_key_of_its_own():
    here = paper(1, path="/p/bees.pdf", title="Fog", authors=("A Bee",), year=2020)
    gone = [answer(("bees.pdf", "/elsewhere/bees.pdf"), ("y_1.pdf", "/p/y_1.pdf"))]
    entries = parsed(as_bibtex(entries_cited(gone, [here])))
    assert [fields for _, fields in entries.values()] == [
        {"note": "file bees.pdf; no longer in the library"},
        {"note": r"file y\_1.pdf; no longer in the library"},
    ]
    assert [entry.key for entry in entries_cited(gone, [here])] == list(entries)
    assert all(key.startswith("gone") for key in entries)
