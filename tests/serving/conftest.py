"""A real server on a real socket, over three papers that we made up."""

import contextlib
import threading

import httpx
import pytest
import uvicorn

from ragscience import Engine
from ragscience.core.settings import load_settings
from ragscience.serving.access import ServerOptions
from ragscience.serving.request_guard import bound_connections
from ragscience.serving.server_app import make_app
from tests.conftest import copied


@contextlib.contextmanager
def serving(home, options=None, **settings):
    """The address of a server over the home, on a free port; it is closed behind."""
    listener = uvicorn.Config("", port=0).bind_socket()
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
