import pytest

from ragscience.library.store import Home, Library
from tests.s3_server import access, client_of, moto_server

from .making import Place, add, numbered_paper


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path / "home")


@pytest.fixture
def filled(home):
    """A home with six papers and its indexes."""
    with Library.open_for_writing(home) as library:
        for number in range(6):
            add(library, numbered_paper(number))
        library.refresh_indexes()
    return home


@pytest.fixture(scope="session")
def s3_server():
    """A server with S3's API on loopback, with a bucket `libraries`; the AWS_ variables name it."""
    running = moto_server()
    url = "http://{}:{}".format(*running.get_host_and_port())
    try:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in access(url).items():
                patch.setenv(name, value)
            client_of(url).create_bucket(Bucket="libraries")
            yield running
    finally:
        running.stop()


@pytest.fixture(params=["embedded", "lance"])
def place(request, tmp_path):
    """A home without a library, and where its library belongs."""
    home = Home(tmp_path / "home")
    if request.param == "embedded":
        return Place(home, "vectorstore")
    pytest.importorskip("lancedb", reason="lancedb is not installed: libraries in LanceDB are not tried")
    return Place(home, f"lance://{tmp_path / 'lance'}")
