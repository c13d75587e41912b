"""Limits of a person: by a clock that the test turns, and over real HTTP by counts."""

import threading

import httpx

from ragscience.engine.access_tokens import AccessTokens, hash_of
from ragscience.engine.ingest import Ingest
from ragscience.engine.library_engine import Engine
from ragscience.serving import access, access_limits
from ragscience.serving.access import address_of
from ragscience.serving.access_limits import Buckets, Running, Sessions
from tests.conftest import copied
from tests.pdf_factory import make_pdf
from tests.serving.conftest import serving


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


def test_a_bucket_gives_as_many_as_it_holds_and_fills_again_evenly():
    clock = Clock()
    buckets = Buckets(6, 60.0, clock)
    assert [buckets.take("ana") for _ in range(8)] == [0] * 6 + [10, 10]
    assert buckets.wait("ben") == 0
    clock.now += 10
    assert [buckets.take("ana") for _ in range(2)] == [0, 10]
    clock.now += 600
    assert [buckets.take("ana") for _ in range(7)] == [0] * 6 + [10]


def test_buckets_stay_few(monkeypatch):
    monkeypatch.setattr(access_limits, "MOST_KEYS", 3)
    buckets = Buckets(1, 60.0, Clock())
    assert [buckets.take(key) for key in "abca"] == [0, 0, 0, 60]
    assert buckets.take("d") == 0
    assert buckets.take("a") == 0  # the oldest went


def test_one_person_has_so_many_under_way():
    running = Running(2)
    assert [running.begin("ana") for _ in range(3)] == [True, True, False]
    assert running.begin("ben")
    running.end("ana")
    assert [running.begin("ana") for _ in range(2)] == [True, False]


def test_a_session_ends_with_its_time():
    clock = Clock()
    sessions = Sessions(60.0, clock)
    first, second = sessions.begin(hash_of("t")), sessions.begin(hash_of("t"))
    assert first != second
    clock.now += 59
    assert sessions.token_of(first) == hash_of("t")
    sessions.end(second)
    assert sessions.token_of(second) is None
    clock.now += 1
    assert sessions.token_of(first) is None


def test_an_address_of_ipv6_counts_by_its_network():
    addresses = ["192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8::2", "2001:db8:0:1::1", "x", ""]
    counted = [address_of({"client": (address, 1)}) for address in addresses]
    assert counted[0] != counted[1]
    assert counted[2] == counted[3] != counted[4]
    assert address_of({"client": None}) == ""


def lab(three_papers, folder):
    home = copied(three_papers, folder / "home")
    tokens = {name: AccessTokens(home / "serve_tokens.json").add(name, "writer") for name in ("ana", "ben")}
    return tokens, serving(home, {"answers": 3})


def client_of(url, token):
    return httpx.Client(base_url=url, timeout=60, headers={"Authorization": f"Bearer {token}"})


def test_requests_of_one_person_do_not_count_for_another(three_papers, tmp_path, monkeypatch):
    monkeypatch.setattr(access, "REQUESTS_A_MINUTE", 5)
    tokens, server = lab(three_papers, tmp_path)
    with server as url, client_of(url, tokens["ana"]) as ana, client_of(url, tokens["ben"]) as ben:
        refused = [ana.get("/readyz").status_code == 429 for _ in range(7)]  # 503 while the models are loaded
        assert refused == [False] * 5 + [True] * 2
        refused = ana.get("/readyz")
        assert int(refused.headers["retry-after"]) >= 1
        assert refused.json()["fix"]
        assert ben.get("/readyz").status_code != 429
        assert ana.get("/healthz").status_code == 200


def test_one_person_leaves_a_place_for_the_others(three_papers, tmp_path, monkeypatch):
    """Three places: two questions of Ana are held, her third is refused, and Ben is answered meanwhile."""
    go_on, held, ask = threading.Event(), threading.Semaphore(0), Engine.ask

    def waiting(self, request, **more):
        if request.question.startswith("hold"):
            held.release()
            assert go_on.wait(60)
        return ask(self, request, **more)

    monkeypatch.setattr(Engine, "ask", waiting)
    monkeypatch.setattr(access, "ANSWERS_AT_ONCE", 100)
    tokens, server = lab(three_papers, tmp_path)
    with server as url, client_of(url, tokens["ana"]) as ana, client_of(url, tokens["ben"]) as ben:
        codes = []
        body = {"question": "hold: what do bees eat?"}
        threads = [
            threading.Thread(target=lambda: codes.append(ana.post("/api/v1/ask", json=body).status_code))
            for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        try:
            assert held.acquire(timeout=60)
            assert held.acquire(timeout=60)
            refused = ana.post("/api/v1/ask", json={"question": "What do bees eat?"})
            assert (refused.status_code, refused.headers["retry-after"]) == (429, "2")
            assert ana.get("/api/v1/papers").status_code == 200
            assert ben.post("/api/v1/ask", json={"question": "What do bees eat?"}).status_code == 200
        finally:
            go_on.set()
            for thread in threads:
                thread.join(60)
        assert codes == [200, 200]
        assert ana.post("/api/v1/ask", json={"question": "What do bees eat?"}).status_code == 200


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
