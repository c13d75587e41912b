"""The table of profiles, held against the documents that it comes from."""

import pytest

from ragscience.core.settings import Settings
from ragscience.library.store import Home, Library
from ragscience.search.profiles import PROFILE_NAMES, profile_named, read_by_llm, with_graph
from ragscience.search.question_words import corrected
from tests.commands.papers import fill
from tests.conftest import Commands
from tests.pdf_factory import make_pdf


def named(name, wanted=None):
    return profile_named(name, Settings(), wanted)


def test_with_the_graph_a_profile_keeps_the_sum_of_its_weights():
    default, rrf, deep = (with_graph(named(name)) for name in ("default", "rrf", "deep"))
    assert dict(default.more_weights) == {"graph": 0.20, "gear": 0.15}
    assert (default.dense_weight, default.bm25_weight) == pytest.approx((0.65 * 0.7, 0.65 * 0.3))
    assert (rrf.dense_weight, dict(rrf.more_weights)["graph"]) == pytest.approx((0.65, 0.4))
    assert deep == named("deep")


def test_asking_for_more_widens_the_lists():
    profile = named("default", wanted=50)
    assert (profile.top_k, profile.dense_candidates, profile.bm25_candidates, profile.rerank_depth) == (50, 50, 50, 50)
    assert named("deep", wanted=100).prefilter == 200
    assert named("default", wanted=50).prefilter == 0


def test_asking_for_fewer_keeps_the_lists():
    profile = named("default", wanted=1)
    assert (profile.top_k, profile.dense_candidates) == (1, 20)
    assert named("even", wanted=1).prefilter == 10


@pytest.mark.parametrize("name", PROFILE_NAMES)
def test_an_llm_reads_ten_and_five_are_kept_unless_others_are_wanted(name):
    profile = read_by_llm(named(name), wanted=None)
    assert (profile.rerank_depth, profile.top_k, profile.rerank_batch) == (10, 5, 0)
    assert read_by_llm(named(name, wanted=8), wanted=8).top_k == 8


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
