"""`ingest.py watch` as a process, over real files: each line is waited for, with a deadline, and nothing else is."""

import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager

from ragscience.library.atomic_files import WriterLock
from ragscience.library.store import Home, Library
from tests.commands.papers import BEES, KILNS, fill
from tests.conftest import ROOT
from tests.pdf_factory import make_pdf
from tests.warm_processes import WarmProcess

DEADLINE_SECONDS = 60
HASTY = """
import os, runpy, sys
sys.path[0] = os.path.dirname(sys.argv[1])
from ragscience.engine import ingest
from ragscience.library import seen_files
seen_files.SETTLE_SECONDS = seen_files.LOOK_SECONDS = ingest.BUSY_SECONDS = 0.2
del sys.argv[0]
if __name__ == "__main__":
    runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""`ingest.py` with a watch that waits for nothing."""


class Watching:
    """A running watch, and the lines that it has written to stdout."""

    def __init__(self, home, *args):
        self.process = WarmProcess(
            [sys.executable, "-c", HASTY, str(ROOT / "ingest.py"), "watch", *map(str, args)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "RAG_HOME": str(home)},
            cwd=home,
            text=True,
        )
        self.lines = queue.SimpleQueue()
        self._reading = threading.Thread(target=self._read)
        self._reading.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line)

    def line(self, beginning):
        """The next line, which must begin so."""
        line = self.lines.get(timeout=DEADLINE_SECONDS)
        assert line.startswith(beginning), (line, beginning)
        return line

    def end(self, number=signal.SIGTERM):
        """(exit code, lines that were left, stderr)."""
        self.process.send_signal(number)
        code = self.process.wait(DEADLINE_SECONDS)
        self._reading.join(DEADLINE_SECONDS)
        left = []
        while not self.lines.empty():
            left.append(self.lines.get())
        return code, left, self.process.stderr.read()


@contextmanager
def watching(home, *args):
    """Nothing of it outlives the test."""
    run = Watching(home, *args)
    try:
        yield run
    finally:
        run.process.kill()
        run.process.wait()
        run._reading.join()
        run.process.stdout.close()
        run.process.stderr.close()


def papers_of(home):
    with Library.open(Home(home)) as library:
        return {paper.file for paper in library.papers()}


def test_a_day_in_the_life_of_a_folder(commands, tmp_path):
    papers = commands.home / "papers"
    fill(papers)
    with watching(commands.home) as run:
        run.line(f"watching {papers}")
        assert {run.line("added ").split(":")[0] for _ in range(3)} == {
            f"added {name}.pdf" for name in ("bees", "kilns", "tides")
        }
        (papers / "bees.pdf").rename(papers / "honeybees.pdf")
        assert "not read again" in run.line("bees.pdf is now ")
        make_pdf(tmp_path / "other.pdf", [KILNS[0] + "\nThe kiln is 40 metres long."])
        (tmp_path / "other.pdf").replace(papers / "kilns.pdf")
        run.line("updated kilns.pdf: 1 page, 1 passage")
        (papers / "kilns.pdf").unlink()
        run.line("removed kilns.pdf: its file is gone")
        (papers / "more").rename(tmp_path / "more")
        run.line("removed tides.pdf: ")
        (tmp_path / "more").rename(papers / "again")
        run.line("added tides.pdf: 3 pages, 1 passage")
        shutil.copy(papers / "honeybees.pdf", papers / "copy.pdf")
        run.line("not read: copy.pdf: It has the same bytes as ")
        code, left, err = run.end()
    assert (code, left) == (0, ["stopped\n"])
    assert "Traceback" not in err
    assert papers_of(commands.home) == {"honeybees.pdf", "tides.pdf"}
    assert "honeybees.pdf" in commands.query("search", "bees in fog").out


def test_a_locked_library_is_waited_for_and_a_vanished_folder_too(commands, tmp_path):
    home, folder = Home(commands.home), tmp_path / "loaded"
    folder.mkdir()
    home.vectorstore.mkdir()
    make_pdf(folder / "bees.pdf", BEES)
    lock = WriterLock.acquire(home.lock)
    with lock, watching(commands.home, folder) as run:
        run.line("watching")
        assert f"process {os.getpid()}" in run.line("waiting: ")
        lock.close()
        run.line("added bees.pdf")
        folder.rename(tmp_path / "away")
        assert "papers stay" in run.line(f"{folder}: ")
        with WriterLock.acquire(home.lock):  # held only while there is work
            assert papers_of(commands.home) == {"bees.pdf"}
        make_pdf(tmp_path / "away" / "kilns.pdf", KILNS)
        (tmp_path / "away").rename(folder)
        run.line(f"{folder}: the folder is there again")
        run.line("added kilns.pdf")
        assert run.end()[0] == 0


def test_a_signal_ends_it_between_two_papers(commands):
    papers = commands.home / "papers"
    for number in range(30):
        make_pdf(papers / f"paper{number:02}.pdf", [f"{text}\nNumber {number}." for text in BEES])
    with watching(commands.home) as run:
        run.line("watching")
        run.line("added ")
        code, left, err = run.end()
    told = [line for line in left if line.startswith("added ")]
    assert code == 0
    assert left[-1] == "stopped\n"
    assert len(papers_of(commands.home)) == len(told) + 1 < 30
    assert "Traceback" not in err
    assert commands.ingest("doctor").code == 0
