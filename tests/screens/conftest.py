"""What the tests of the screens share: the process that their commands are forked from."""

import pytest

from tests.screens.sessions import WarmServer


@pytest.fixture(scope="session")
def warm_server():
    with WarmServer() as server:
        yield server
