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


NO = "0" * 32
CHAT = {"role": "user", "content": "x"}
ACTION, SEARCH = "/api/agent_action", "/api/v1/search"
REFUSED = [
    ("GET", "/api/v1/answers/00000000", None, 404, "00000000"),
    ("GET", "/api/v1/answers/ffffffff/sources", None, 404, "ffffffff"),
    ("GET", "/api/v1/conversations/99999", None, 404, "99999"),
    ("GET", f"/api/v1/jobs/{NO}", None, 404, ""),
    ("GET", f"/api/v1/bibliography?md5={NO}", None, 404, ""),
    *(("GET", f"/api/v1/papers/{NO}{rest}", None, 404, "") for rest in ("", "/file")),
    *(("GET", f"/api/v1/papers/..%2f..%2fetc%2fpasswd{rest}", None, 404, "") for rest in ("", "/file")),
    *(("GET", f"/api/v1/papers/{NO}/pages/1/{what}", None, 404, "") for what in ("geometry", "image")),
    *(("GET", f"/api/v1/papers/BEES/pages/9/{what}", None, 404, "") for what in ("geometry", "image")),
    ("POST", SEARCH, {"question": "   "}, 400, "empty"),
    ("POST", SEARCH, QUESTION | {"profile": "nosuch"}, 400, "nosuch"),
    ("POST", SEARCH, QUESTION | {"part": {"years": "soon"}}, 400, "soon"),
    ("POST", SEARCH, QUESTION | {"part": {"papers": ["nosuch"]}}, 404, "nosuch"),
    ("POST", SEARCH, QUESTION | {"part": {"authors": ["nosuch"]}}, 404, "nosuch"),
    ("POST", "/api/v1/ask", {"question": " "}, 400, "empty"),
    ("POST", "/api/v1/ask", QUESTION | {"conversation": 99999}, 404, "99999"),
    ("POST", "/api/v1/ask/events", QUESTION | {"conversation": 99999}, 404, "99999"),
    ("POST", "/api/v1/quote", {"quote": "…"}, 400, ""),
    (
        "POST",
        "/v1/chat/completions",
        {"model": "nosuch", "messages": [{"role": "user", "content": "x"}]},
        404,
        "nosuch",
    ),
    ("POST", ACTION, {"action": "sing", "query": "x"}, 400, "There is no action 'sing'."),
    ("POST", ACTION, {"action": "chat"}, 400, "The action chat needs a query."),
    ("POST", ACTION, {"action": "compare", "selected_papers": ["bees.pdf"]}, 400, "takes 2 to 20 papers, not 1"),
    ("POST", ACTION, {"action": "summarize"}, 400, "takes 1 to 20 papers, not 0"),
    ("POST", ACTION, {"selected_papers": ["nosuch.pdf"], "query": "x"}, 404, "No paper matches 'nosuch.pdf'."),
    ("POST", ACTION, {"selected_papers": [{}], "query": "x"}, 400, "A selected paper has no id."),
    ("POST", ACTION, {"query": "x", "session_id": "999999"}, 400, "There is no conversation 999999."),
    ("POST", "/api/build_graph", {"topic": "bees in fog"}, 400, ""),
]


@pytest.mark.parametrize(("method", "path", "body", "status", "words"), REFUSED)
def test_what_cannot_be_done_has_a_way_out_in_a_browser(client, papers, method, path, body, status, words):
    (bees,) = (md5 for md5, file in papers.items() if file == "bees.pdf")
    problem = check_problem(client.request(method, path.replace("BEES", bees), json=body))
    assert problem["status"] == status
    assert words in problem["detail"]
    assert ".py" not in problem["detail"]
    assert ".py" not in problem["fix"] or problem["fix"].startswith("For who runs the server: ")
    assert problem["fix"]
