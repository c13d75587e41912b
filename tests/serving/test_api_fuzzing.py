"""Whatever the OpenAPI document allows or forbids, the server answers as the document says, and never with a 500."""

from tests.serving.api_fuzzing import WRITES, fuzz
from tests.serving.attacks import came_through


def test_the_server_answers_as_its_document_says(address, tmp_path):
    found = fuzz(address, tmp_path, examples=5, more=("--phases=fuzzing", *WRITES))
    assert found.passed, found.report
    assert found.requests > 100


def test_of_thirty_attacks_none_comes_through(tmp_path):
    found, counts = came_through(20261127, range(30), tmp_path)
    assert found == []
    assert counts.total() == 30
