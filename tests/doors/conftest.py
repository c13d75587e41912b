"""What the tests of the doors share: a library of three papers, read once."""

import shutil

import pytest

from ragscience.store import Home, Library
from tests.conftest import NOBODY, Doors
from tests.doors.papers import fill


@pytest.fixture(scope="session")
def three_papers(tmp_path_factory, model_cache):
    """A home with the three papers in its library; no test may change it."""
    home = tmp_path_factory.mktemp("three")
    fill(home / "papers")
    ran = Doors(home).ingest(RAG_EMBEDDER="embedded", RAG_OLLAMA_URL=NOBODY, RAG_CACHE_FOLDER=str(model_cache))
    assert ran.code == 0, ran.err
    return home


@pytest.fixture(scope="module")
def library(three_papers, tmp_path_factory):
    """The same in a home that the tests of one file share."""
    return copied(three_papers, tmp_path_factory.mktemp("home"))


@pytest.fixture
def asked(library):
    return Doors(library)


def copied(home, target):
    """A home in another place, whose library knows its papers there."""
    shutil.copytree(home, target, dirs_exist_ok=True)
    with Library.open_for_writing(Home(target)) as library:
        library.rename_papers(
            [
                (paper.paper_id, paper.path.replace(str(home), str(target), 1), paper.modified_ns)
                for paper in library.papers()
            ]
        )
    return target
