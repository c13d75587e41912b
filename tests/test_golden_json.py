"""`--json` prints what the kept files say; `python -m tests.golden.printing` writes them anew after a wanted change."""

import pytest

from tests.conftest import Commands
from tests.golden import printing


@pytest.fixture(scope="module")
def values(tmp_path_factory):
    home = tmp_path_factory.mktemp("golden")
    (home / "papers").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in printing.ENVIRONMENT.items():
            patch.setenv(name, value)
        commands = Commands(home)
        printing.fill(commands)
        return dict(printing.printed(commands))


@pytest.mark.parametrize("name", printing.PRINTED)
def test_a_command_prints_what_it_printed(values, name):
    assert values[name] == printing.kept(name)
