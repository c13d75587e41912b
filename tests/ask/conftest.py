"""What tests of several routes share."""

import pytest

from ragscience.ask.router import route
from tests.ask import span_reading
from tests.ask.bee_papers import make_bees
from tests.ask.paper_library import context


@pytest.fixture(scope="session")
def bees(tmp_path_factory):
    """A library of five papers with metadata, only read."""
    with make_bees(tmp_path_factory.mktemp("bees")) as library:
        yield library


@pytest.fixture
def ask(bees):
    """What a route says to a question about these papers; None where it has nothing to say."""

    def ask(question, filters=None):
        routed = route(question, context(bees, filters))
        return None if routed is None else "\n".join(block.text for block in routed.blocks)

    return ask


@pytest.fixture(scope="session")
def read():
    """The reader of spans itself."""
    return span_reading.read
