import shutil
import tempfile
from pathlib import Path

import pytest

from ragscience.core.errors import LibraryUnavailable
from ragscience.library.atomic_files import write_atomically
from ragscience.library.store import Home, Library

from .making import add, contents, numbered_paper, run_program, start_program

FULL = """
import resource, sys
from pathlib import Path
from ragscience.core.errors import RagScienceError
from ragscience.library.store import Home, Library
from tests.library.making import add, numbered_paper

home = Home(Path(sys.argv[1]))
library = Library.open_for_writing(home)
largest = max(path.stat().st_size for path in home.vectorstore.iterdir() if path.is_file())
resource.setrlimit(resource.RLIMIT_FSIZE, (largest + 20_000, resource.RLIM_INFINITY))
number = 100
try:
    while number < 1000:
        add(library, numbered_paper(number))
        number += 1
except RagScienceError as error:
    print(number - 100, repr(str(error)))
library.close()
"""

FORBIDDEN = """
import os, sys, tempfile
from pathlib import Path
from ragscience.core.errors import RagScienceError
from ragscience.library.store import Home, Library
from tests.library.making import add, contents, numbered_paper
from tests.library.test_damage import results

with tempfile.TemporaryDirectory() as folder:  # imports all that nobody may not read where the tests are root's
    with Library.open_for_writing(Home(Path(folder))) as library:
        add(library, numbered_paper(1))
        library.refresh_indexes()
    with Library.open(Home(Path(folder))) as library:
        results(library)

home = Home(Path(sys.argv[1]))
if os.geteuid() == 0:
    os.setegid(65534)
    os.seteuid(65534)
with Library.open(home) as library:
    print(library.about.papers, len(contents(library)), sum(len(ids) for ids, _ in results(library)))
try:
    Library.open_for_writing(home)
except RagScienceError as error:
    print(error)
try:
    Library.open_for_writing(Home(home.root / "below"))
except RagScienceError as error:
    print(error)
"""


UNFINISHED = """
import os, sys
from pathlib import Path
import numpy  # while this user may still read where Python is installed
from ragscience.core.errors import RagScienceError
from ragscience.library.store import Home, Library

if os.geteuid() == 0:
    os.setegid(65534)
    os.seteuid(65534)
try:
    Library.open(Home(Path(sys.argv[1])))
except RagScienceError as error:
    print(error)
"""


def test_a_full_disk_is_a_clear_error_and_costs_only_the_paper_in_hand(filled):
    (line,) = run_program(FULL, filled.root)
    added, message = line.split(" ", 1)
    assert "disk" in message
    with Library.open(filled) as library:
        assert library.about.papers == 6 + int(added)
        expected = [numbered_paper(number) for number in [*range(6), *range(100, 100 + int(added))]]
        assert {row[2] for row in contents(library)} == {chunk.text for made in expected for chunk in made.chunks}
    with Library.open_for_writing(filled) as library:
        add(library, numbered_paper(100 + int(added)))
        library.refresh_indexes()


@pytest.mark.parametrize("caches", ["whole", "missing"])
def test_a_read_only_home_can_be_searched_and_not_written(caches):
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder) / "home")
        with Library.open_for_writing(home) as library:
            for number in range(6):
                add(library, numbered_paper(number))
            library.refresh_indexes()
            passages = library.about.chunks
        if caches == "missing":
            home.faiss.unlink()
        before = sorted(home.root.rglob("*"))
        folders = [Path(folder), home.root, *(path for path in before if path.is_dir())]
        try:
            for path in before:
                path.chmod(0o555 if path.is_dir() else 0o444)
            home.root.chmod(0o555)
            Path(folder).chmod(0o755)
            searched, refused, below = run_program(FORBIDDEN, home.root)
        finally:
            for path in folders:
                path.chmod(0o755)
        papers, read, hits = map(int, searched.split())
        assert (papers, read) == (6, passages)
        assert hits > 50
        assert "cannot be written" in refused
        assert "cannot be written" in below
        assert sorted(home.root.rglob("*")) == before


def test_what_a_killed_writer_left_cannot_be_read_where_nothing_can_be_written_and_that_is_said(filled):
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder))
        home.vectorstore.mkdir()
        with Library.open_for_writing(filled) as library:
            add(library, numbered_paper(9))
            for name in ("library.sqlite", "library.sqlite-wal"):  # as a kill at this moment would leave them
                shutil.copy(filled.vectorstore / name, home.vectorstore / name)
                (home.vectorstore / name).chmod(0o444)
        try:
            Path(folder).chmod(0o755)
            home.vectorstore.chmod(0o555)
            (said,) = run_program(UNFINISHED, home.root)
        finally:
            home.vectorstore.chmod(0o755)
        assert "permission to read it" in said
        with Library.open(home) as library:
            assert library.about.papers == 7


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    target = tmp_path / "target"
    target.mkdir()
    (target / "inside").touch()
    with pytest.raises(OSError, match="target"):
        write_atomically(target, b"new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["target"]


HOLDER = """
import os, sys
from pathlib import Path
from ragscience.library.store import Home, Library

with Library.open_for_writing(Home(Path(sys.argv[1]))):
    print("ready", flush=True)
    os.read(0, 1)
    os._exit(0)
"""


def test_a_second_writer_is_told_who_the_first_is_and_readers_read(filled):
    with start_program(HOLDER, filled.root) as process:
        assert process.stdout.readline() == "ready\n"
        with pytest.raises(LibraryUnavailable, match=f"written by process {process.pid}") as refused:
            Library.open_for_writing(filled)
        assert "Wait" in refused.value.fix
        with Library.open(filled) as library:
            assert library.about.papers == 6
        process.stdin.close()
    with Library.open_for_writing(filled) as library:
        add(library, numbered_paper(60))
