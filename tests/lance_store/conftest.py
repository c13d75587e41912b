import os
import uuid
from contextlib import contextmanager

import pytest

from ragscience.library.store import Home
from tests.s3_server import access, client_of, moto_server

from .stores import Place


@pytest.fixture(scope="session")
def s3_server():
    """A server with S3's API on loopback, with a bucket `libraries`; the AWS_ variables name it."""
    running = moto_server()
    url = "http://{}:{}".format(*running.get_host_and_port())
    try:
        with environment(access(url)):
            client_of(url).create_bucket(Bucket="libraries")
            yield running
    finally:
        running.stop()


@contextmanager
def environment(values):
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


@pytest.fixture(params=["embedded", "lance", pytest.param("s3", marks=pytest.mark.s3)])
def place(request, tmp_path):
    """A home without a library, and where its library belongs."""
    home = Home(tmp_path / "home")
    if request.param == "embedded":
        return Place(home, "vectorstore")
    pytest.importorskip("lancedb", reason="lancedb is not installed: libraries in LanceDB are not tried")
    if request.param == "lance":
        return Place(home, f"lance://{tmp_path / 'lance'}")
    request.getfixturevalue("s3_server")
    return Place(home, f"s3://libraries/{uuid.uuid4().hex}")
