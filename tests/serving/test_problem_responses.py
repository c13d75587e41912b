"""Expected failures over HTTP: a status and a title of their own, and a way out that fits a browser."""

import httpx
import pytest

from ragscience.core.errors import (
    DiskProblem,
    HistoryDamaged,
    LibraryBusy,
    LibraryDamaged,
    LibraryUnavailable,
    RagScienceError,
)
from ragscience.engine.papers import Papers
from ragscience.library.sealed_rows import READ_ALL_AGAIN
from tests.serving.raw_requests import check_problem

QUESTION = {"question": "How fast do bees fly in fog?"}


@pytest.mark.parametrize(
    ("error", "status", "title"),
    [
        (LibraryDamaged("It is damaged.", READ_ALL_AGAIN), 409, "Conflict"),
        (HistoryDamaged("It is damaged.", "Move it."), 409, "Conflict"),
        (LibraryUnavailable("It is newer.", "Update."), 409, "Conflict"),
        (LibraryBusy("It is written.", "Wait."), 503, "Service Unavailable"),
        (DiskProblem("The disk is full.", "Make room."), 507, "Insufficient Storage"),
        (RagScienceError("It has no class of its own.", "Do this."), 500, "Internal Server Error"),
        (ValueError("secret"), 500, "Internal Server Error"),
    ],
)
def test_only_what_nobody_expects_is_called_unexpected(address, client, monkeypatch, error, status, title):
    def failing(*_):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(Papers, "list", failing)
        problem = check_problem(client.get("/api/v1/papers"))
    document = httpx.get(f"{address}/api/v1/openapi.json").json()
    assert (problem["status"], problem["title"]) == (status, title)
    assert title == document["paths"]["/api/v1/papers"]["get"]["responses"][str(status)]["description"]
    assert problem["detail"].startswith("Unexpected error") == isinstance(error, ValueError)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/api/v1/answers/00000000", None),
        ("GET", "/api/v1/conversations/99999", None),
        ("POST", "/api/v1/search", QUESTION | {"part": {"papers": ["nosuch"]}}),
        ("POST", "/api/v1/search", QUESTION | {"part": {"authors": ["nosuch"]}}),
        ("POST", "/v1/chat/completions", {"model": "nosuch", "messages": [{"role": "user", "content": "x"}]}),
        ("POST", "/api/v1/ask", {"question": " "}),
    ],
)
def test_no_refusal_tells_a_reader_to_type_a_command(client, method, path, body):
    problem = check_problem(client.request(method, path, json=body))
    fix = problem["fix"].removeprefix("For who runs the server: ")
    assert fix == problem["fix"] or ".py" in fix
    assert ".py" not in problem["detail"]
    assert fix


NO = "0" * 32


@pytest.mark.parametrize(
    "path",
    [
        f"papers/{NO}", f"papers/{NO}/file", "papers/..%2f..%2fetc%2fpasswd", "papers/..%2f..%2fetc%2fpasswd/file",
        f"papers/{NO}/pages/1/geometry", f"papers/{NO}/pages/1/image", "papers/BEES/pages/9/geometry",
        "papers/BEES/pages/9/image", "answers/ffffffff/sources", f"jobs/{NO}",
        f"bibliography?md5={NO}",
    ],
)  # fmt: skip
def test_what_is_not_there_is_a_problem(client, papers, path):
    (bees,) = (md5 for md5, file in papers.items() if file == "bees.pdf")
    assert check_problem(client.get(f"/api/v1/{path}".replace("BEES", bees)))["status"] == 404
