"""What tests of several routes share."""

import pytest

from ragscience.models.span_reader import SpanReader
from tests.ask.bee_papers import make_bees


@pytest.fixture(scope="session")
def bees(tmp_path_factory):
    """A library of five papers with metadata, only read."""
    with make_bees(tmp_path_factory.mktemp("bees")) as library:
        yield library


@pytest.fixture(scope="session")
def read(model_cache):
    """The reader of spans itself."""
    return SpanReader(cache_folder=model_cache, on_warning=pytest.fail).read
