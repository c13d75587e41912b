import subprocess
import sys
from pathlib import Path

import pytest

from ragscience.core.errors import LibraryUnavailable, RagScienceError
from ragscience.library.atomic_files import WriterLock
from ragscience.library.store import Library

from .making import add, numbered_paper

ROOT = Path(__file__).parents[2]
HOLDER = """
import os, sys
from pathlib import Path
from ragscience.library.store import Home, Library

with Library.open_for_writing(Home(Path(sys.argv[1]))):
    worker = sys.argv[2] == "fork" and os.fork()
    if worker:
        os.waitpid(worker, 0)
    print("ready", flush=True)  # the worker says so when it has come to life, or the writer where there is none
    os.read(0, 1)
    os._exit(0)
"""


def hold(home, how):
    command = [sys.executable, "-c", HOLDER, str(home.root), how]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    return process


def test_a_second_writer_is_told_who_the_first_is_and_readers_read(filled):
    with hold(filled, "alone") as process:
        with pytest.raises(LibraryUnavailable, match=f"written by process {process.pid}") as refused:
            Library.open_for_writing(filled)
        assert "Wait" in refused.value.fix
        with Library.open(filled) as library:
            assert library.about.papers == 6
        process.stdin.close()
    with Library.open_for_writing(filled) as library:
        add(library, numbered_paper(60))


def test_a_lock_that_cannot_be_made_is_a_clear_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(RagScienceError, match="folder"):
        WriterLock.acquire(tmp_path / "file" / "writer.lock")
