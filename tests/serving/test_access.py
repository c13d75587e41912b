"""Tokens, sessions and roles over real HTTP: who is let in, to what, and that nothing of two people crosses."""

import json
import logging
from http.cookies import SimpleCookie

import anyio
import httpx
import pytest
from fastapi.routing import iter_route_contexts
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from ragscience import Engine
from ragscience.core.settings import load_settings
from ragscience.engine.access_tokens import AccessTokens
from ragscience.serving.access import is_open, needs_writer
from ragscience.serving.server_app import make_app
from tests.conftest import copied
from tests.serving.conftest import serving

SESSION = "/api/v1/session"
OPEN = {"/", "/page/{name:path}", "/healthz", "/api/v1/session"}


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


class Lab:
    """A server over a home of its own, with a client for each person."""

    def __init__(self, url, home, tokens):
        self.url, self.home, self.tokens = url, home, tokens
        self.file = AccessTokens(home / "serve_tokens.json")

    def client(self, name=None, **more):
        headers = bearer(self.tokens[name]) if name else {}
        return httpx.Client(base_url=self.url, timeout=60, headers=headers, **more)


def begun(three_papers, folder, roles, options=None, **settings):
    home = copied(three_papers, folder / "home")
    tokens = {name: AccessTokens(home / "serve_tokens.json").add(name, role) for name, role in roles.items()}
    return home, tokens, serving(home, options, **settings)


ROLES = {"ana": "reader", "ben": "reader", "edda": "writer", "olga": "writer"}


@pytest.fixture(scope="module")
def lab(three_papers, tmp_path_factory):
    home, tokens, server = begun(three_papers, tmp_path_factory.mktemp("lab"), ROLES)
    with server as url:
        yield Lab(url, home, tokens)


@pytest.fixture
def own_lab(three_papers, tmp_path):
    """One whose tokens a test changes."""
    home, tokens, server = begun(three_papers, tmp_path, ROLES)
    with server as url:
        yield Lab(url, home, tokens)


def filled(path):
    for name, value in {
        "md5": "0" * 32, "number": "1", "answer_id": "abcd", "chunk_id": "1",
        "job_id": "0" * 32, "name:path": "x", "name": "x"
    }.items():  # fmt: skip
        path = path.replace(f"{{{name}}}", value)
    assert "{" not in path
    return path


@pytest.fixture(scope="module")
def routes(served_home):
    """(method, path) of every route of the app."""
    with Engine.open(served_home, load_settings(home=served_home, offline=True)) as engine:
        app = make_app(engine)
    return {
        (method, route.path)
        for route in iter_route_contexts(app.routes)
        for method in route.methods - {"HEAD", "OPTIONS"}
    }


def test_every_closed_route_needs_a_token(lab, routes):
    token = lab.tokens["olga"]
    wrong = ["Bearer", "Bearer x", f"Bearer {token[:-1]}", f"Bearer {token}0", token, f"Basic {token}"]
    others = [{}, {"Cookie": f"session={token}"}, {"X-Api-Key": token}]
    assert {path for _, path in routes if is_open(filled(path))} == OPEN
    with lab.client() as client:
        for method, path in sorted(each for each in routes if each[1] not in OPEN):
            for headers in [*({"Authorization": each} for each in wrong), *others]:
                response = client.request(method, filled(path), headers=headers, params={"token": token})
                assert response.status_code == 401, (method, path)
                assert response.headers["www-authenticate"].startswith("Bearer")
                assert response.headers["content-type"] == "application/problem+json"
                assert response.json()["fix"]


def test_two_authorizations_are_none(lab):
    with lab.client() as client:
        headers = [("Authorization", f"Bearer {lab.tokens['ana']}"), ("Authorization", "Bearer x")]
        assert client.get("/api/v1/papers", headers=headers).status_code == 401


@pytest.mark.parametrize("path", ["/nosuch", "/api/v1/papers/", "/API/v1/papers", "//api/v1/papers", "/docs", "/v1"])
def test_what_is_no_route_is_closed_too(lab, path):
    with lab.client() as client:
        assert client.get(path).status_code == 401
    with lab.client("ana") as client:
        assert client.get(path).status_code == 404


def test_the_page_and_health_and_the_session_are_open(lab):
    with lab.client() as client:
        assert client.get("/healthz").status_code == 200
        assert client.get("/").status_code == 200
        assert client.get("/page/app.js").status_code == 200
        assert client.get(SESSION).json() == {"name": None, "role": None, "sign_in": True}


def test_a_token_is_let_in(lab):
    with lab.client("ana") as client:
        assert len(client.get("/api/v1/papers").json()["papers"]) == 3
        assert client.get(SESSION).json() == {"name": "ana", "role": "reader", "sign_in": True}
        assert client.get("/api/v1/papers").headers["cache-control"] == "private, no-cache"


def test_without_tokens_nothing_changes(client):
    assert client.get(SESSION).json() == {"name": "", "role": "writer", "sign_in": False}
    assert client.get("/api/v1/papers", headers=bearer("anything")).status_code == 200
    assert client.post(SESSION, json={"token": "x"}).status_code == 409


def test_a_server_for_others_is_closed_without_any_token(three_papers, tmp_path):
    _, _, server = begun(three_papers, tmp_path, {}, {"is_shared": True})
    with server as url, httpx.Client(base_url=url, timeout=60) as client:
        assert client.get("/api/v1/papers").status_code == 401


def test_a_browser_signs_in_and_out(lab):
    with lab.client() as client:
        response = client.post(SESSION, json={"token": lab.tokens["edda"]})
        assert response.json() == {"name": "edda", "role": "writer", "sign_in": True}
        (cookie,) = SimpleCookie(response.headers["set-cookie"]).values()
        assert (cookie["httponly"], cookie["samesite"], cookie["path"], cookie["secure"]) == (True, "strict", "/", "")
        assert cookie["domain"] == ""
        assert lab.tokens["edda"] not in str(response.headers) + response.text
        assert client.get(SESSION).json()["name"] == "edda"
        assert client.get("/api/v1/papers").status_code == 200
        kept = dict(client.cookies)
        assert client.delete(SESSION).status_code == 204
        assert not client.cookies
        assert client.get("/api/v1/papers").status_code == 401
    with lab.client(cookies=kept) as client:
        assert client.get("/api/v1/papers").status_code == 401


def test_signing_in_again_ends_the_session_before(lab):
    with lab.client() as client:
        client.post(SESSION, json={"token": lab.tokens["ana"]})
        before = dict(client.cookies)
        client.post(SESSION, json={"token": lab.tokens["ben"]})
        assert client.get(SESSION).json()["name"] == "ben"
    with lab.client(cookies=before) as client:
        assert client.get(SESSION).json()["name"] is None


def test_a_wrong_bearer_is_not_helped_by_a_cookie(lab):
    with lab.client() as client:
        client.post(SESSION, json={"token": lab.tokens["ana"]})
        assert client.get("/api/v1/papers", headers=bearer("x")).status_code == 401


@pytest.mark.parametrize("body", [{}, {"token": ""}, {"token": None}, {"token": ["x"]}, {"token": "x" * 201}, [], "x"])
def test_what_is_no_token_is_refused_without_repeating_it(lab, body):
    with lab.client() as client:
        response = client.post(SESSION, json=body)
        assert response.status_code == 422
        assert "x" * 20 not in response.text
        assert "set-cookie" not in response.headers


def test_a_token_that_is_not_known_opens_no_session(own_lab):
    with own_lab.client() as client:
        response = client.post(SESSION, json={"token": "ragscience_" + "0" * 64})
        assert (response.status_code, "set-cookie" in response.headers) == (401, False)


def test_a_revoked_token_ends_at_once_with_its_sessions(own_lab):
    with own_lab.client() as browser, own_lab.client("ana") as program, own_lab.client("ben") as other:
        browser.post(SESSION, json={"token": own_lab.tokens["ana"]})
        assert browser.get("/api/v1/papers").status_code == program.get("/api/v1/papers").status_code == 200
        own_lab.file.revoke("ana")
        assert browser.get("/api/v1/papers").status_code == program.get("/api/v1/papers").status_code == 401
        assert other.get("/api/v1/papers").status_code == 200
        own_lab.file.add("ana", "reader")
        assert browser.get("/api/v1/papers").status_code == 401  # another token, another session


def test_a_server_whose_last_token_is_revoked_stays_closed(own_lab):
    for name in ROLES:
        own_lab.file.revoke(name)
    with own_lab.client() as client:
        assert client.get("/api/v1/papers").status_code == 401
        (own_lab.home / "serve_tokens.json").unlink()
        assert client.get("/api/v1/papers").status_code == 401


def test_the_first_token_closes_a_running_server(three_papers, tmp_path):
    home, _, server = begun(three_papers, tmp_path, {})
    with server as url, httpx.Client(base_url=url, timeout=60) as client:
        assert client.get("/api/v1/papers").status_code == 200
        token = AccessTokens(home / "serve_tokens.json").add("ana")
        assert client.get("/api/v1/papers").status_code == 401
        assert client.get("/api/v1/papers", headers=bearer(token)).status_code == 200


def test_damaged_tokens_open_no_door(own_lab):
    (own_lab.home / "serve_tokens.json").write_text("{")
    with own_lab.client("olga") as client:
        for path in ("/api/v1/papers", SESSION, "/nosuch"):
            response = client.get(path)
            assert response.status_code == 503
            assert "doctor" in response.json()["fix"]
        assert client.get("/healthz").status_code == 200


def test_each_deletes_conversations_of_their_own_alone(own_lab):
    with own_lab.client("ana") as ana, own_lab.client("ben") as ben, own_lab.client("olga") as olga:
        number = ana.post("/api/v1/ask", json={"question": "How fast do bees fly in fog?"}).json()["conversation"]
        for other in (ben, olga):
            assert other.delete(f"/api/v1/conversations/{number}").status_code == 404
        assert ana.get(f"/api/v1/conversations/{number}").status_code == 200
        assert ana.delete(f"/api/v1/conversations/{number}").status_code == 204
        assert ana.get(f"/api/v1/conversations/{number}").status_code == 404


READERS_MAY_CHANGE = {
    ("POST", "/api/v1/search"), ("POST", "/api/v1/ask"), ("POST", "/api/v1/ask/events"), ("POST", "/api/agent_action"),
    ("POST", "/v1/chat/completions"), ("POST", "/mcp"),
    ("DELETE", "/api/v1/conversations/{number}"),
}  # fmt: skip


def test_a_reader_may_only_send_what_changes_no_library(lab, routes):
    changing = {each for each in routes if each[0] != "GET" and each not in READERS_MAY_CHANGE and each[1] not in OPEN}
    assert {each for each in routes if each[1] not in OPEN and needs_writer(each[0], filled(each[1]))} == changing
    with lab.client("ana") as reader:
        for method, path in sorted(changing):
            assert reader.request(method, filled(path)).status_code == 403, (method, path)


def test_a_writer_alone_takes_papers_out(own_lab):
    with own_lab.client("olga") as writer, own_lab.client("ana") as reader:
        md5 = reader.get("/api/v1/papers").json()["papers"][0]["md5"]
        refused = reader.delete(f"/api/v1/papers/{md5}")
        assert refused.status_code == 403
        assert "writer" in refused.json()["detail"]
        assert writer.delete(f"/api/v1/papers/{md5}").status_code == 202


def test_conversations_of_two_people_never_cross(lab):
    asked = {}
    with lab.client("ana") as ana, lab.client("ben") as ben, lab.client("olga") as olga:
        for client, question in ((ana, "What do bees eat?"), (ben, "How hot is the kiln?")):
            asked[client] = client.post("/api/v1/ask", json={"question": question}).json()
            with client.stream("POST", "/api/v1/ask/events", json={"question": question}) as response:
                assert "event: answer" in response.read().decode()
            chat = {"model": "ragscience", "messages": [{"role": "user", "content": question}]}
            assert client.post("/v1/chat/completions", json=chat).status_code == 200
            anyio.run(ask_by_mcp, lab.url, client.headers, question)
        for client, other in ((ana, ben), (ben, ana)):
            listed = client.get("/api/v1/conversations").json()["conversations"]
            assert len(listed) == 4
            assert {each["title"] for each in listed} == {asked[client]["question"]}
            mine, theirs = asked[client]["answer_id"], asked[other]["answer_id"]
            assert client.get(f"/api/v1/answers/{mine}").json()["question"] == asked[client]["question"]
            assert client.get(f"/api/v1/answers/{theirs}").status_code == 404
            for number in range(1, 12):
                response = client.get(f"/api/v1/conversations/{number}")
                assert (response.status_code, asked[other]["question"] in response.text) == (
                    200 if number <= 4 else 404,
                    False,
                )
            response = client.post("/api/v1/ask", json={"question": "Why?", "conversation": 9})
            assert response.status_code == 404
        assert olga.get("/api/v1/conversations").json()["conversations"] == []
        assert olga.get(f"/api/v1/answers/{asked[ana]['answer_id']}").status_code == 404
    with Engine.open(lab.home, load_settings(home=lab.home, offline=True)) as engine:
        assert engine.history.conversations() == []
        assert engine.history.audit(99) == []
        for name in ("ana", "ben"):
            records = engine.history.for_person(name).audit(99)
            assert {record["person"] for record in records} == {name}
            assert len(records) == 4


async def ask_by_mcp(url, headers, question):
    async with (
        httpx.AsyncClient(headers={"Authorization": headers["authorization"]}, timeout=60) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
    ):
        result = await client.call_tool("ask", {"question": question})
        assert not result.is_error


def test_a_follow_up_goes_on_in_ones_own_conversation(own_lab):
    with own_lab.client("ana") as ana, own_lab.client("ben") as ben:
        for client in (ana, ben):
            assert client.post("/api/v1/ask", json={"question": "What do bees eat?"}).json()["conversation"] == 1
        ana.post("/api/v1/ask", json={"question": "Where do they live?", "conversation": 1})
        turns = [len(client.get("/api/v1/conversations/1").json()["turns"]) for client in (ana, ben)]
        assert turns == [2, 1]


def test_no_token_is_told_or_kept(own_lab, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    token = own_lab.tokens["olga"]
    with own_lab.client("olga") as client:
        client.post("/api/v1/ask", json={"question": "What do bees eat?"})
        client.post(SESSION, json={"token": token})
        client.post(SESSION, json={"token": token, "more": 1})
        client.post(SESSION, content=json.dumps({"token": token})[:-1], headers={"Content-Type": "application/json"})
        replies = [client.get(path).text for path in ("/api/v1/openapi.json", "/api/v1/conversations", SESSION)]
    secret = token.removeprefix("ragscience_")
    kept = [path for path in own_lab.home.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]
    assert kept == []
    logged = [record.getMessage() for record in caplog.records if not record.name.startswith(("httpx", "httpcore"))]
    assert not [text for text in (*replies, *logged, *capfd.readouterr()) if secret in text]
