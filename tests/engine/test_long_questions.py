"""What a question costs grows with its length, not with its square."""

import cProfile

import pytest

from ragscience import Engine
from ragscience.engine.requests import AskRequest
from tests.pdf_factory import make_pdf


@pytest.fixture(scope="module")
def engine(tmp_path_factory, model_cache):
    home = tmp_path_factory.mktemp("long")
    make_pdf(home / "papers" / "bees.pdf", ["Bees fly at 12 km/h in fog [1]. Table 1 lists 7 of 10^20."])
    with Engine.open(home) as engine:
        engine.ingest.add()
        yield engine


def calls_of(work):
    """How often a function was called meanwhile, in this thread."""
    profile = cProfile.Profile()
    profile.runcall(work)
    return sum(entry.callcount for entry in profile.getstats())


@pytest.mark.parametrize("piece", ["10^20 ", "[1] ", "1. ", '"x" ', "3.4.5 ", "GPT-2 "])
def test_four_times_the_length_costs_about_four_times_as_much(engine, piece):
    engine.ask(AskRequest("How fast do bees fly?"))  # what is made once
    short, long = (f"bees {piece * 2000}"[:length] for length in (1900, 7600))
    assert calls_of(lambda: engine.ask(AskRequest(long))) < 6 * calls_of(lambda: engine.ask(AskRequest(short)))
