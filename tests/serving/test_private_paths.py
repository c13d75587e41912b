"""No reply names a folder of the machine: every route is asked, rightly and wrongly, and each reply is searched."""

import re

import httpx
import pytest

from ragscience import Engine
from ragscience.core.settings import load_settings
from ragscience.serving.problem_responses import words_without_folders
from tests.conftest import copied
from tests.pdf_factory import make_pdf
from tests.serving.conftest import serving
from tests.serving.test_paper_routes import paper_of

QUESTION = {"question": "How fast do bees fly in fog?"}
CHAT = {"model": "ragscience", "messages": [{"role": "user", "content": QUESTION["question"]}]}


@pytest.fixture(scope="module")
def place(three_papers, tmp_path_factory):
    """A home with a paper in a folder below papers/ and one outside of the home."""
    folder = tmp_path_factory.mktemp("secretfolder")
    home = copied(three_papers, folder / "home")
    (home / "papers" / "below").mkdir()
    for path in (home / "papers" / "below" / "moss.pdf", folder / "elsewhere" / "fern.pdf"):
        path.parent.mkdir(exist_ok=True)
        make_pdf(path, [f"Growth of the {path.stem}\n\nThe {path.stem} grows 4.2 millimetres a year on granite."])
    with Engine.open(home, load_settings(home=home, offline=True)) as engine:
        assert not engine.ingest.add([home / "papers" / "below", folder / "elsewhere"]).failures
    return folder


@pytest.fixture(scope="module")
def client(place):
    with serving(place / "home") as url, httpx.Client(base_url=url, timeout=120) as opened:
        yield opened


@pytest.fixture
def check(place):
    def check(response):
        assert "secretfolder" not in response.text
        assert str(place.parent) not in response.text
        assert "/tmp/" not in response.text
        return response

    return check


def test_paths_of_papers_are_within_the_folder_of_papers(client, check):
    papers = check(client.get("/api/v1/papers")).json()["papers"]
    paths = {paper["path"] for paper in papers}
    assert {"bees.pdf", "below/moss.pdf", "fern.pdf"} <= paths


def test_every_route_that_reads(client, check):
    paths = client.get("/api/v1/openapi.json").json()["paths"]
    answer = client.post("/api/v1/ask", json=QUESTION).json()
    values = {"answer_id": answer["answer_id"], "number": "1", "job_id": "0" * 32, "name": "bees"}
    asked = 0
    for md5 in (paper_of(client, "fern.pdf")["md5"], "0" * 32):
        for template in (path for path, methods in paths.items() if "get" in methods):
            known = values | {"md5": md5}
            path = re.sub(r"\{(\w+)\}", lambda name, known=known: known.get(name[1], "1"), template)
            reply = client.get(path)
            if "json" in reply.headers["content-type"]:
                check(reply)
                asked += 1
    assert asked > 20


def test_every_route_that_asks(client, check):
    for path in ("/api/v1/search", "/api/v1/ask", "/api/v1/ask/events"):
        check(client.post(path, json={"question": "How fast does the fern grow?"}))
        check(client.post(path, json={"question": "Which papers do you have, and where are their files?"}))
        check(client.post(path, json=QUESTION | {"part": {"papers": ["nosuch"]}}))
        check(client.post(path, json=QUESTION | {"profile": "nosuch"}))
    for stream in (False, True):
        check(client.post("/v1/chat/completions", json=CHAT | {"stream": stream}))
        check(client.post("/v1/chat/completions", json=CHAT | {"model": "nosuch"}))


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("search", {"query": "growth of the fern"}), ("list_papers", {}), ("read_page", {"paper": "fern", "page": 1}),
        ("read_page", {"paper": "nosuch", "page": 1}), ("ask", QUESTION), ("cite", {"paper": "fern"}),
    ],
)  # fmt: skip
def test_every_tool_of_assistants(client, check, name, arguments):
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    check(client.post("/mcp", json=body, headers={"Accept": "application/json"}))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("{home}/papers/a b/x.pdf has no text.", "papers/a b/x.pdf has no text."),
        ("There is no folder {home}.", "There is no folder the home."),
        ("/mnt/lab/models/bge cannot be read: denied.", "bge cannot be read: denied."),
        (
            "See '/data/x/y.pdf', or http://127.0.0.1:11434/api/tags.",
            "See 'y.pdf', or http://127.0.0.1:11434/api/tags.",
        ),
        ("GET /api/v1/papers lists them; and/or 3/4.", "GET /api/v1/papers lists them; and/or 3/4."),
    ],
)
def test_messages_name_files_and_no_folders(tmp_path, text, shown):
    assert words_without_folders(text.format(home=tmp_path), tmp_path) == shown
