"""Whatever the OpenAPI document allows or forbids, the server answers as the document says, and never with a 500."""

from tests.serving.api_fuzzing import WRITES, fuzz


def test_the_server_answers_as_its_document_says(address, tmp_path):
    found = fuzz(address, tmp_path, examples=5, more=("--phases=fuzzing", *WRITES))
    assert found.passed, found.report
    assert found.requests > 100
