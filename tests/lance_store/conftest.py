import logging
import os
import uuid
from contextlib import contextmanager

import pytest

from ragscience.store import Home

from .stores import Place

AWS = {
    "AWS_ACCESS_KEY_ID": "key",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_ALLOW_HTTP": "true",
}


@pytest.fixture(scope="session")
def s3_server():
    """The address of a server with S3's API on loopback, with a bucket `libraries`; the AWS_ variables name it."""
    server = pytest.importorskip("moto.server", reason="moto is not installed: S3 is not tried")
    boto3 = pytest.importorskip("boto3", reason="boto3 is not installed: S3 is not tried")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    running = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    try:
        host, port = running.get_host_and_port()
        with environment({**AWS, "AWS_ENDPOINT_URL": f"http://{host}:{port}"}):
            boto3.client("s3").create_bucket(Bucket="libraries")
            yield
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
