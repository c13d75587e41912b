"""A real server on a real socket, over three papers that we made up."""

import contextlib
import socket
import threading

import httpx
import pytest
import uvicorn

from ragscience import Engine
from ragscience.core.settings import load_settings
from ragscience.serving.access import ServerOptions
from ragscience.serving.request_guard import bound_connections
from ragscience.serving.server_app import make_app
from tests.commands.papers import SAID
from tests.conftest import copied
from tests.graph.making import fill_graph
from tests.serving.raw_requests import state_of_library


@contextlib.contextmanager
def serving(home, options=None, **settings):
    """The address of a server over the home, on a free port; it is closed behind."""
    listener = socket.socket(proto=socket.IPPROTO_TCP)  # named, as in the program: or each reply takes 40 ms
    listener.bind(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    values = {**(options or {}), "port": port}
    with Engine.open(home, load_settings(home=home, **{"offline": True, **settings})) as engine:
        app = make_app(engine, ServerOptions(**values))
        proxies = list(values.get("proxies", ()))
        config = uvicorn.Config(
            app, log_level="warning", ws="none", timeout_graceful_shutdown=5,
            proxy_headers=bool(proxies), forwarded_allow_ips=proxies,
        )  # fmt: skip
        bound_connections(config)
        server = uvicorn.Server(config)
        listening = threading.Event()

        async def watched_startup(sockets=None):
            await type(server).startup(server, sockets=sockets)
            listening.set()

        server.startup = watched_startup
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            assert listening.wait(60)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.should_exit = True
            thread.join(60)
            listener.close()
            assert not thread.is_alive()


@pytest.fixture(scope="module")
def served_home(three_papers, tmp_path_factory):
    return copied(three_papers, tmp_path_factory.mktemp("served"))


@pytest.fixture(scope="module")
def address(served_home):
    with serving(served_home) as url:
        yield url


@pytest.fixture
def client(address):
    with httpx.Client(base_url=address, timeout=60) as opened:
        yield opened


@pytest.fixture(scope="module")
def graph_home(three_papers, tmp_path_factory):
    home = copied(three_papers, tmp_path_factory.mktemp("graph"))
    fill_graph(home, SAID)
    return home


@pytest.fixture
def own(own_home):
    """A client of a server whose library the test may change, and its home."""
    with serving(own_home) as url, httpx.Client(base_url=url, timeout=60) as opened:
        yield opened, own_home


@pytest.fixture(scope="module")
def papers(address):
    """The names of the server's papers, by their MD5."""
    return state_of_library(address)


@pytest.fixture
def unharmed(address, papers):
    """After each attack the server answers, and its library is as it was."""
    yield
    assert state_of_library(address) == papers
