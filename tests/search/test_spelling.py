"""Misspelt words of a question are taken for the library's own, and said; words that the library has never are."""

import pytest

from ragscience.library.store import Home, Library
from ragscience.search.question_words import corrected
from tests.commands.papers import fill
from tests.conftest import Commands
from tests.pdf_factory import make_pdf

PAGES = [
    "Training of residual networks\n\nThe mini-batch size of the training is 256 images.\nThe Beekeeper data is used.",
    "Training goes on with another batch size.\nThe warmup of the training takes 4000 steps with the Beekeeper."
    "\nThe rank of HoneyNet is 8.",
]


@pytest.fixture(scope="module")
def library(made_once):
    def make(home):
        make_pdf(home / "papers" / "nets.pdf", PAGES)
        make_pdf(home / "papers" / "more.pdf", [*reversed(PAGES)])
        fill(home / "papers")
        assert Commands(home).ingest(RAG_EMBEDDER="embedded").code == 0

    with Library.open(Home(made_once("spelling", make))) as opened:
        yield opened


@pytest.mark.parametrize(
    ("question", "meant"),
    [
        ("How long is the trainig?", {"trainig": "training"}),
        ("How long is the tarinign?", {}),  # two edits
        ("How many imagees has the trainnig?", {"imagees": "images", "trainnig": "training"}),
        ("Which data has the Beekeper?", {"Beekeper": "Beekeeper"}),
        ("Which data has the BeeKeper?", {}),  # a coined name, and no paper has one like it
        ("Which rank has the HoneNet?", {"HoneNet": "HoneyNet"}),
        ("How do I bake bread?", {}),  # a word, though not of this library
        ("What are steps2, GPT-22 and 4001?", {}),
        ("", {}),
    ],
)
def test_what_a_word_is_taken_for(library, question, meant):
    text, corrections = corrected(question, library)
    assert {each.written: each.meant for each in corrections} == meant
    for written, right in meant.items():
        question = question.replace(written, right)
    assert text == question


def test_looking_for_a_word_costs_a_few_hundred_lookups(library, monkeypatch):
    asked, read, count, load = [], [], library.keywords.frequencies, library.chunks
    monkeypatch.setattr(library.keywords, "frequencies", lambda stems: (asked.append(len([*stems])), count(stems))[1])
    monkeypatch.setattr(library, "chunks", lambda ids: (read.append(len(ids)), load(ids))[1])
    corrected("How long is the trainig?", library)
    assert 100 < sum(asked) < 600
    assert sum(read) <= 24
    asked.clear()
    corrected("How long is the training of residual networks?", library)
    assert sum(asked) <= 5
    assert sum(read) <= 24
