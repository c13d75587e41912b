"""The knowledge graph and the map over HTTP."""

import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from ragscience.engine.graph_runs import LibraryGraph
from tests.commands.papers import SAID
from tests.graph.making import fill_graph
from tests.pdf_factory import make_pdf
from tests.serving.conftest import serving
from tests.serving.test_paper_routes import finished, paper_of


@pytest.fixture(scope="module")
def graph(graph_home):
    with serving(graph_home) as url, httpx.Client(base_url=url, timeout=60) as client:
        yield client


def test_a_library_without_a_graph_says_so_and_builds_one(own):
    client, home = own
    make_pdf(home / "bert.pdf", ["On BERT\n\nBERT uses the Transformer. We evaluate BERT on SQuAD."])
    upload = client.post("/api/v1/uploads", files={"files": ("bert.pdf", (home / "bert.pdf").read_bytes())})
    finished(client, upload.json())
    before = client.get("/api/v1/graph").json()
    assert (before["built"], before["entities"], before["passages_read"]) == (False, 0, 0)
    assert [paper["file"] for paper in before["unread"]] == ["bees.pdf", "bert.pdf", "kilns.pdf", "tides.pdf"]
    started = client.post("/api/v1/graph")
    assert started.status_code == 202
    job = finished(client, started.json())
    assert (job["state"], job["done"], job["total"]) == ("done", before["passages"], before["passages"])
    after = client.get("/api/v1/graph").json()
    assert (after["built"], after["papers_unread"], after["passages_read"]) == (True, 0, before["passages"])
    assert after["entities"] == sum(after["entity_types"].values()) > 0


def test_the_map_runs_its_own_script_alone_and_only_in_this_servers_frames(graph, graph_home):
    response = graph.get("/map")
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    policy = dict(part.strip().split(" ", 1) for part in response.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert policy["frame-ancestors"] == "'self'"
    assert re.fullmatch(r"'sha256-[\w+/=]+'", policy["script-src"])
    assert response.headers["x-frame-options"] == "SAMEORIGIN"
    assert str(graph_home) not in response.text
    assert "file:/" not in response.text
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', response.text)[1])
    assert data["links"] == {
        paper["file"]: f"/#paper={paper['md5']}" for paper in graph.get("/api/v1/papers").json()["papers"]
    }


@pytest.mark.parametrize("path", ["/map", "/api/v1/map"])
def test_a_client_that_has_the_map_gets_it_again_once_the_library_has_changed(own, path):
    client, home = own
    tag = client.get(path).headers["etag"]
    again = client.get(path, headers={"If-None-Match": tag})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    fill_graph(home, SAID)
    with_graph = client.get(path, headers={"If-None-Match": tag})
    assert (with_graph.status_code, "Transponder X2" in with_graph.text) == (200, True)
    bees = paper_of(client, "bees.pdf")
    finished(client, client.delete(f"/api/v1/papers/{bees['md5']}").json())
    without = client.get(path, headers={"If-None-Match": with_graph.headers["etag"]})
    assert (without.status_code, "Transponder X2" in without.text) == (200, False)


def test_a_map_is_drawn_once_for_all_who_wait_and_also_when_one_leaves(own, monkeypatch):
    client, _ = own
    drawn, began, may_end = [], threading.Event(), threading.Event()
    draw = LibraryGraph._drawn

    def slow(engine):
        drawn.append(1)
        began.set()
        assert may_end.wait(60)
        return draw(engine)

    monkeypatch.setattr(LibraryGraph, "_drawn", slow)
    try:
        with ThreadPoolExecutor(4) as pool:
            with httpx.Client(base_url=client.base_url, timeout=60) as leaving:
                first = pool.submit(leaving.get, "/map", timeout=httpx.Timeout(60, read=0.5))
                assert began.wait(60)
                others = [pool.submit(client.get, "/map") for _ in range(3)]
                with pytest.raises(httpx.ReadTimeout):
                    first.result()
            assert client.get("/healthz").status_code == 200  # it waits in a thread, the server goes on
            may_end.set()
            pages = [other.result() for other in others]
    finally:
        may_end.set()
    assert len(drawn) == 1
    assert {page.status_code for page in pages} == {200}
    assert len({page.content for page in pages}) == 1
