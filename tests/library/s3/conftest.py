"""A bucket on a real S3 server on loopback, and a home whose papers are in it."""

import shutil

import pytest

from tests.conftest import Commands, copied
from tests.s3_server import BUCKET, FaultyS3, access, client_of, moto_server

ADDRESS = f"s3://{BUCKET}/pdf"


@pytest.fixture(scope="session")
def s3_server():
    """The faulty server in front of moto's, with a bucket."""
    moto = moto_server()
    faulty = FaultyS3(moto.get_host_and_port())
    faulty.client = client_of("http://{}:{}".format(*moto.get_host_and_port()))
    faulty.client.create_bucket(Bucket=BUCKET)
    yield faulty
    faulty.client.close()
    faulty.close()
    moto.stop()


@pytest.fixture
def s3(s3_server, monkeypatch):
    """The same without faults and with an empty bucket, and nothing of the person's own access to S3."""
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL_S3"):
        monkeypatch.delenv(name, raising=False)
    for name, value in access(s3_server.url).items():
        monkeypatch.setenv(name, value)
    yield s3_server
    s3_server.heal()
    empty(s3_server)


def empty(s3):
    for row in s3.client.list_objects_v2(Bucket=BUCKET).get("Contents", ()):
        s3.client.delete_object(Bucket=BUCKET, Key=row["Key"])


@pytest.fixture
def put(s3):
    """`put(name, bytes)`: an object of the papers' bucket."""
    return lambda name, content: s3.client.put_object(Bucket=BUCKET, Key=f"pdf/{name}", Body=content)


@pytest.fixture
def delete(s3):
    return lambda name: s3.client.delete_object(Bucket=BUCKET, Key=f"pdf/{name}")


class InBucket(Commands):
    """The commands over a home whose papers are in the bucket."""

    def run(self, script, *args, **env):
        return super().run(script, *args, **{"RAG_PAPERS": ADDRESS, **env})


@pytest.fixture
def lab(s3, put, three_papers, tmp_path, monkeypatch, model_cache):
    """A home without papers of its own, and the three papers in the bucket."""
    papers = three_papers / "papers"
    for path in papers.rglob("*.pdf"):
        put(path.relative_to(papers).as_posix(), path.read_bytes())
    cache = tmp_path / "cache"
    cache.mkdir()
    for model in model_cache.iterdir():
        (cache / model.name).symlink_to(model)
    monkeypatch.setenv("RAG_CACHE_FOLDER", str(cache))
    home = tmp_path / "home"
    home.mkdir()
    return InBucket(home)


@pytest.fixture
def read(lab, three_papers):
    """The same with the three papers in its library, read from a folder that is no longer there."""
    copied(three_papers, lab.home)
    shutil.rmtree(lab.home / "papers")
    return lab
