"""Questions that name a paper: its passages are preferred, others stay in reach."""

from dataclasses import replace

import numpy as np
import pytest

from ragscience.core.records import Filters, Profile
from ragscience.library.store import Home, Library
from ragscience.search.hybrid_search import SearchModels, search
from tests.library.making import DIMENSION, EMBEDDER
from tests.search.library_of_papers import add_paper

DEFAULT = Profile("default", 3, 3, "weighted", 0.0, 1.0, 3, 4)
TIDE = [
    "We introduce TideNet, a network for tides. TideNet reads the levels of the water.",
    "TideNet has gates. TideNet was built in a year.",
    "It was trained with the Newton optimizer on a cluster.",
    "TideNet was compared with others.",
]
OTHER = [
    "The optimizer used to train TideNet and its optimizer are what others use.",
    "An optimizer used to train is the optimizer used to train networks.",
    "Which optimizer is used to train depends on the network.",
    "Optimizer, optimizer, optimizer: to train is to use one.",
]


class OneDirection:
    """The same vector for every question; counts its calls."""

    identity = EMBEDDER

    def __init__(self):
        self.questions = []

    def embed_query(self, text):
        self.questions.append(text)
        return np.eye(1, DIMENSION, dtype=np.float32)[0]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    home = Home(tmp_path_factory.mktemp("home"))
    with Library.open_for_writing(home) as library:
        add_paper(library, "tide.pdf", "Predicting Water", TIDE, authors=("Ada Moreau",), year=2021)
        for number in range(3):
            texts = [f"{text} See {' and '.join(f'{number}{part}x' for part in range(9))}." for text in OTHER]
            add_paper(library, f"other{number}.pdf", f"On Training {number}", texts)
        library.refresh_indexes()
    with Library.open(home) as library:
        yield library


def found(library, question, *, filters=None, profile=DEFAULT, embedder=None):
    models = SearchModels(embedder or OneDirection())
    return search(question, library=library, models=models, profile=profile, filters=filters or Filters())


def texts(result):
    return [hit.chunk.text for hit in result.hits]


def test_the_named_paper_answers_though_others_repeat_the_question(library):
    question = "Which optimizer was used to train TideNet?"
    assert TIDE[2] in texts(found(library, question))[:2]
    assert TIDE[2] in texts(found(library, "Which optimizer did Moreau 2021 use to train?"))
    plain = found(library, "Which optimizer was used to train networks?")
    assert TIDE[2] not in texts(plain)
    assert {hit.chunk.file for hit in found(library, question, profile=replace(DEFAULT, top_k=12)).hits} > {"tide.pdf"}


def test_filters_of_the_user_stay(library):
    question = "Which optimizer was used to train TideNet?"
    others = found(library, question, filters=Filters(papers=("other1.pdf",)))
    assert {hit.chunk.file for hit in others.hits} == {"other1.pdf"}
    on_page = found(library, question, filters=Filters(papers=("tide.pdf",), pages=(1, 2)))
    assert set(texts(on_page)) == set(TIDE[:2])


def test_the_name_is_left_out_of_the_question_for_its_paper(library):
    embedder = OneDirection()
    result = found(library, "Which optimizer was used to train TideNet?", embedder=embedder)
    assert embedder.questions == ["Which optimizer was used to train TideNet?", "Which optimizer was used to train ?"]
    found(library, "What is TideNet?", embedder=embedder)
    assert embedder.questions[2:] == ["What is TideNet?"] * 2
    assert result.timings_ms["names_ms"] >= 0
