import pytest

from ragscience.library.store import Home, Library
from tests.library.making import add, numbered_paper


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    home = Home(tmp_path_factory.mktemp("home"))
    with Library.open_for_writing(home) as library:
        for number in range(12):
            add(library, numbered_paper(number))
        library.refresh_indexes()
    with Library.open(home) as library:
        yield library
