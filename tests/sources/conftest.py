"""One good PDF for all tests of the network, and a server for each."""

import pytest

from tests.pdf_factory import make_pdf
from tests.sources.fault_server import FaultServer


@pytest.fixture(scope="session")
def pdf(tmp_path_factory):
    """A good PDF of some kilobytes."""
    pages = [f"Page {number} of a paper about attention.\nIt has two lines." for number in range(1, 13)]
    body = make_pdf(tmp_path_factory.mktemp("good") / "good.pdf", pages).read_bytes()
    assert len(body) > 5000
    return body


@pytest.fixture
def server():
    with FaultServer() as server:
        yield server
