import pytest

from ragscience.core.settings import load_settings
from ragscience.engine import Engine


@pytest.fixture
def engine(own_home):
    """An engine over the three papers, in a home of the test's own."""
    with Engine.open(own_home, load_settings(home=own_home, offline=True)) as opened:
        yield opened
