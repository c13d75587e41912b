"""Limits of a person over real HTTP."""

import threading

import httpx
import pytest

from ragscience.engine.access_tokens import AccessTokens, hash_of
from ragscience.engine.ingest import Ingest
from ragscience.engine.library_engine import Engine
from ragscience.engine.page_files import PagePictures
from ragscience.serving import access
from ragscience.serving.access import Sessions
from tests.conftest import copied
from tests.pdf_factory import make_pdf
from tests.serving.conftest import serving


def test_a_session_ends_with_its_time(monkeypatch):
    sessions = Sessions()
    first, second = sessions.begin(hash_of("t")), sessions.begin(hash_of("t"))
    assert first != second
    assert sessions.token_of(first) == hash_of("t")
    sessions.end(second)
    assert sessions.token_of(second) == ""
    monkeypatch.setattr(access, "SESSION_SECONDS", -1)
    assert sessions.token_of(sessions.begin(hash_of("t"))) == ""


def lab(three_papers, folder):
    home = copied(three_papers, folder / "home")
    tokens = {name: AccessTokens(home / "serve_tokens.json").add(name, "writer") for name in ("ana", "ben")}
    return tokens, serving(home, {"answers": 3})


def client_of(url, token, address="127.0.0.1"):
    transport = httpx.HTTPTransport(local_address=address)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return httpx.Client(base_url=url, timeout=60, headers=headers, transport=transport)


class Held:
    """Two requests of Ana that wait in the server, each sent by `ask`, until the block is left; both then succeed."""

    def __init__(self, ask):
        self._may_end, self._held, self._codes = threading.Event(), threading.Semaphore(0), []
        self._threads = [threading.Thread(target=lambda: self._codes.append(ask().status_code)) for _ in range(2)]

    def here(self):
        self._held.release()
        assert self._may_end.wait(60)

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        for _ in self._threads:
            assert self._held.acquire(timeout=60)

    def __exit__(self, *_):
        self._may_end.set()
        for thread in self._threads:
            thread.join(60)
        assert self._codes == [200, 200]


def test_one_person_leaves_a_place_for_the_others(three_papers, tmp_path, monkeypatch):
    """Three places: two questions of Ana are held, her third is refused, and Ben is answered meanwhile."""
    ask = Engine.ask

    def waiting(self, request, **more):
        if request.question.startswith("hold"):
            held.here()
        return ask(self, request, **more)

    monkeypatch.setattr(Engine, "ask", waiting)
    monkeypatch.setattr(access, "ANSWERS_AT_ONCE", 100)
    tokens, server = lab(three_papers, tmp_path)
    body = {"question": "What do bees eat?"}
    with server as url, client_of(url, tokens["ana"]) as ana, client_of(url, tokens["ben"]) as ben:
        held = Held(lambda: ana.post("/api/v1/ask", json={"question": "hold: what do bees eat?"}))
        with held:
            refused = ana.post("/api/v1/ask", json=body)
            assert (refused.status_code, refused.headers["retry-after"]) == (429, "2")
            assert ana.get("/api/v1/papers").status_code == 200
            assert ben.post("/api/v1/ask", json=body).status_code == 200
        assert ana.post("/api/v1/ask", json=body).status_code == 200


def test_uploads_of_one_person_that_wait_are_few(three_papers, tmp_path, monkeypatch):
    go_on, add = threading.Event(), Ingest.add

    def waiting(self, *given, **more):
        assert go_on.wait(60)
        return add(self, *given, **more)

    monkeypatch.setattr(Ingest, "add", waiting)
    monkeypatch.setattr(access, "MOST_WAITING", 2)
    tokens, server = lab(three_papers, tmp_path)
    with server as url, client_of(url, tokens["ana"]) as ana, client_of(url, tokens["ben"]) as ben:
        try:
            make_pdf(tmp_path / "moss.pdf", ["Growth of moss\n\nMoss grows 4.2 millimetres a year on granite."])
            pdf = (tmp_path / "moss.pdf").read_bytes()
            codes = [
                client.post("/api/v1/uploads", files=[("files", (f"{number}.pdf", pdf))]).status_code
                for number, client in enumerate((ana, ana, ana, ben))
            ]
            assert codes == [202, 202, 429, 202]
        finally:
            go_on.set()


@pytest.mark.parametrize("has_tokens", [True, False])
def test_pages_that_one_client_has_drawn_leave_a_place_for_the_others(three_papers, tmp_path, monkeypatch, has_tokens):
    """Clients are told apart by their tokens, or where there are none by their addresses."""
    picture = PagePictures.drawn

    def waiting(self, paper, number, width):
        if width == 999:
            held.here()
        return picture(self, paper, number, width)

    monkeypatch.setattr(PagePictures, "drawn", waiting)
    tokens, server = lab(three_papers, tmp_path) if has_tokens else ({}, serving(three_papers))
    with server as url, client_of(url, tokens.get("ana")) as ana, client_of(url, tokens.get("ben"), "127.0.0.2") as ben:
        address = f"/api/v1/papers/{ana.get('/api/v1/papers').json()['papers'][0]['md5']}"
        held = Held(lambda: ana.get(f"{address}/pages/1/image?width=999"))
        with held:
            assert ana.get(f"{address}/pages/1/image").status_code == 429
            assert ana.get(address).status_code == 200
            assert ben.get(f"{address}/pages/1/image").status_code == 200
