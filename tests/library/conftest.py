import pytest

from ragscience.library.store import Home, Library

from .making import add, numbered_paper
from .stores import Place


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


@pytest.fixture
def place(tmp_path):
    """A home without a library, and where its library belongs."""
    home = Home(tmp_path / "home")
    return Place(home, "vectorstore")
