import pytest

from tests.library.workers.papers import draw_papers, read_all

PAPERS = 8


@pytest.fixture(scope="session")
def papers(tmp_path_factory):
    return draw_papers(tmp_path_factory.mktemp("papers"), PAPERS)


@pytest.fixture(scope="session")
def by_one_process(papers, tmp_path_factory):
    """The contents of the library that one process makes of the papers."""
    made, _ = read_all(tmp_path_factory.mktemp("one") / "home", papers)
    assert made[0] == PAPERS
    return made
