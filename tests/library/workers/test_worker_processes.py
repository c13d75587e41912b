"""Worker processes of this machine make the library that one process makes, to the bit, whoever is killed when."""

import os
import signal
from contextlib import suppress

import psutil
import pytest

from tests.library.workers.papers import contents, read_all, start, wait_for
from tests.reading.processes import is_gone, until


def workers_of(process):
    """The worker processes of a run."""
    children = psutil.Process(process.pid).children()
    return [child for child in children if "--multiprocessing-fork" in child.cmdline()]


def kill_workers(process):
    with suppress(psutil.NoSuchProcess):
        for worker in workers_of(process):
            worker.kill()


def test_the_library_is_the_same_by_workers_and_their_memory_is_told(papers, by_one_process, tmp_path):
    made, said = read_all(tmp_path / "home", papers, "--workers", "2")
    assert made == by_one_process
    assert "2 workers, about 0.8 GB of memory together\n" in said


@pytest.mark.kill
def test_a_run_that_is_killed_or_stopped_leaves_no_process_and_the_next_one_goes_on(papers, by_one_process, tmp_path):
    home, count = tmp_path / "home", by_one_process[0]
    with start(home, papers, "--workers", "2") as process:
        wait_for(" added ", process)
        below = psutil.Process(process.pid).children(recursive=True)
        assert len(workers_of(process)) == 2
        process.kill()
    until(lambda: all(map(is_gone, below)))
    some, _ = contents(home)
    assert 1 <= some < count
    with start(home, papers, "--workers", "2") as process:
        wait_for(" added ", process)
        below = psutil.Process(process.pid).children(recursive=True)
        os.killpg(process.pid, signal.SIGINT)
        said = process.stderr.read()
    assert process.returncode == 130
    assert "Traceback" not in said
    assert f"of {count + 1 - some} papers" in said
    assert "the same command continues with the rest" in said
    until(lambda: all(map(is_gone, below)))
    assert some < contents(home)[0]
    with start(home, papers) as process:
        process.stderr.read()
    assert contents(home) == by_one_process


@pytest.mark.kill
def test_workers_that_are_killed_again_and_again_end_the_run_in_two_lines(papers, tmp_path):
    with start(tmp_path / "home", papers, "--workers", "1") as process:
        until(lambda: kill_workers(process) or process.poll() is not None)
        said = process.stderr.read()
    assert process.returncode == 1
    assert "Workers ended 4 times while broken.pdf was read." in said
    assert "Memory may be short: give --workers a smaller number, or leave it out." in said
    assert "Traceback" not in said
