"""A library whose server or disk does not answer, or refuses: nothing is damaged, and `rebuild` begins nothing anew."""

import resource
import uuid

import pytest

from ragscience.core.errors import DiskProblem, LibraryUnavailable
from ragscience.library.lance_repair import begin_anew_if_damaged
from ragscience.library.store import Home
from tests.s3_server import FaultyS3, access
from tests.store.making import CHUNKER, EMBEDDER, add, numbered_paper

from .conftest import environment
from .stores import Place
from .test_store_conformance import assert_whole

pytest.importorskip("lancedb", reason="lancedb is not installed: libraries in LanceDB are not tried")


@pytest.mark.s3
@pytest.mark.parametrize(
    ("part", "how"), [("HEAD /", "403 AccessDenied"), ("/libraries", "503 SlowDown"), ("/libraries", "close")]
)
def test_a_server_that_does_not_answer_or_refuses_is_not_taken_for_damage(s3_server, tmp_path, part, how):
    server = FaultyS3(s3_server.get_host_and_port())
    given_up_soon = {"OBJECT_STORE_CLIENT_MAX_RETRIES": "1", "OBJECT_STORE_CLIENT_RETRY_TIMEOUT": "5"}
    place = Place(Home(tmp_path / "home"), f"s3://libraries/{uuid.uuid4().hex}")
    try:
        with environment({**access(server.url), **given_up_soon}):
            with place.open(writing=True) as library:
                library.set_identity(EMBEDDER, CHUNKER)
                add(library, numbered_paper(0))
            server.spoil(part, how)
            with pytest.raises(LibraryUnavailable, match="is out of reach"):
                begin_anew_if_damaged(place.home, place.uri)
            server.heal()
            assert begin_anew_if_damaged(place.home, place.uri) is None
            with place.open() as library:
                assert_whole(library, 1)
    finally:
        server.close()


def test_a_disk_that_refuses_is_not_taken_for_damage(tmp_path):
    place = Place(Home(tmp_path / "home"), f"lance://{tmp_path / 'lance'}")
    with place.open(writing=True) as library:
        library.set_identity(EMBEDDER, CHUNKER)
        add(library, numbered_paper(0))
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, before[1]))  # no further file can be opened
    try:
        with pytest.raises(DiskProblem, match="lance error"):
            begin_anew_if_damaged(place.home, place.uri)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    with place.open() as library:
        assert_whole(library, 1)
