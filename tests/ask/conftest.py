"""What tests of several routes share."""

import pytest

from tests.ask import span_reading
from tests.ask.bee_papers import make_bees


@pytest.fixture(scope="session")
def bees(tmp_path_factory):
    """A library of five papers with metadata, only read."""
    with make_bees(tmp_path_factory.mktemp("bees")) as library:
        yield library


@pytest.fixture(scope="session")
def read():
    """The reader of spans itself."""
    return span_reading.read
