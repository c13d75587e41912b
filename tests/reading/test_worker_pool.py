import os
import signal
import subprocess
import sys
import threading

import psutil
import pytest

from ragscience.core.errors import FileProblem, RagScienceError
from ragscience.core.records import Document
from ragscience.reading.pdf_reader import read_pdf
from ragscience.reading.reader_process import ReaderProcess
from ragscience.reading.worker_pool import ReadingPool
from tests.pdf_factory import make_endless_pdf, make_huge_pdf, make_pdf
from tests.reading.processes import is_gone, reader_of, until, workers_of

GIGABYTE = 1 << 30
LONG = 120.0


@pytest.fixture(autouse=True)
def no_worker_is_left():
    yield
    assert workers_of() == []


@pytest.fixture
def papers(tmp_path):
    return [make_pdf(tmp_path / f"{number}.pdf", [f"paper {number}", "end"]) for number in range(7)]


def test_files_come_in_their_order_as_read_pdf_reads_them(papers):
    with ReadingPool(2, LONG, GIGABYTE) as pool:
        assert list(pool.read_all(papers)) == [(path, read_pdf(path)) for path in papers]


def test_bad_files_are_among_the_results(papers, tmp_path):
    (tmp_path / "web.pdf").write_text("<html></html>")
    locked = make_pdf(tmp_path / "locked.pdf", ["secret"], user_password="pw")
    asked = [tmp_path / "none.pdf", papers[0], tmp_path / "web.pdf", locked]
    with ReadingPool(1, LONG, GIGABYTE) as pool:
        results = [result for _, result in pool.read_all(asked)]
        (_, unlocked), *_ = pool.read_all([locked], password="pw")
    assert [getattr(result, "reason", None) for result in results] == ["missing", None, "not-a-pdf", "encrypted"]
    assert unlocked.text == "secret"


def test_relative_paths_and_odd_names(papers, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "json.py").write_text("raise SystemExit('the wrong module')")
    odd = os.fsdecode(b"\xff\nline.pdf")
    papers[1].rename(odd)
    with ReadingPool(1, LONG, GIGABYTE) as pool:
        results = [result for _, result in pool.read_all([type(papers[0])("0.pdf"), type(papers[0])(odd)])]
    assert [result.text for result in results] == ["paper 0\n\nend", "paper 1\n\nend"]


def test_no_files_no_workers():
    with ReadingPool(2, LONG, GIGABYTE) as pool:
        assert list(pool.read_all([])) == []
        assert workers_of() == []


def test_no_more_workers_than_files_and_the_same_ones_again(papers):
    with ReadingPool(4, LONG, GIGABYTE) as pool:
        list(pool.read_all(papers[:1]))
        (first,) = workers_of()
        list(pool.read_all(papers[:1]))
        assert workers_of() == [first]
        list(pool.read_all(papers))
        assert len(workers_of()) <= 4


def test_paths_are_taken_up_as_they_are_needed(papers):
    taken = []

    def paths():
        for path in papers:
            taken.append(path)
            yield path

    with ReadingPool(1, LONG, GIGABYTE) as pool:
        for done, _ in enumerate(pool.read_all(paths()), 1):
            assert len(taken) <= done + 2


def test_a_pool_needs_a_worker():
    with pytest.raises(ValueError, match="at least 1, not 0"):
        ReadingPool(0, LONG, GIGABYTE)


def test_a_file_without_end_times_out_and_the_next_is_read(papers, tmp_path):
    endless = make_endless_pdf(tmp_path / "endless.pdf")
    with ReadingPool(1, 1.0, GIGABYTE) as pool:
        (_, before), (_, problem), (_, after) = pool.read_all([papers[0], endless, papers[1]])
    assert problem.reason == "timeout"
    assert "endless.pdf took longer to read than 1 s" in problem.message
    assert isinstance(before, Document)
    assert isinstance(after, Document)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSEGV])
def test_a_worker_that_dies_in_a_file_is_replaced(papers, tmp_path, how):
    endless = make_endless_pdf(tmp_path / "endless.pdf")

    def kill():
        until(lambda: reader_of(endless)).send_signal(how)

    killer = threading.Thread(target=kill)
    killer.start()
    with ReadingPool(1, LONG, GIGABYTE) as pool:
        (_, problem), (_, after) = pool.read_all([endless, papers[0]])
    killer.join()
    assert problem.reason == "crashed"
    assert how.name in problem.message
    assert isinstance(after, Document)


def test_a_worker_that_dies_between_files_costs_no_file(papers):
    with ReadingPool(1, LONG, GIGABYTE) as pool:
        list(pool.read_all(papers[:1]))
        (worker,) = workers_of()
        worker.kill()
        until(lambda: is_gone(worker))
        ((_, result),) = pool.read_all(papers[1:2])
    assert isinstance(result, Document)


def test_a_stopped_worker_times_out(papers):
    reader = ReaderProcess(0.2, GIGABYTE)
    os.kill(reader.pid, signal.SIGSTOP)
    assert reader.read(papers[0], "").reason == "timeout"
    assert not reader.is_alive
    reader.close()


def test_a_worker_that_is_dead_already_is_a_crash(papers):
    reader = ReaderProcess(LONG, GIGABYTE)
    os.kill(reader.pid, signal.SIGTERM)
    problem = reader.read(papers[0], "")
    assert problem.reason == "crashed"
    assert "SIGTERM" in problem.message
    reader.close()


def test_a_file_beyond_the_memory_is_too_large_and_the_next_is_read(papers, tmp_path):
    huge = make_huge_pdf(tmp_path / "huge.pdf", 3_000_000)
    with ReadingPool(1, LONG, 300 << 20) as pool:
        (_, problem), (_, after) = pool.read_all([huge, papers[0]])
    assert problem.reason == "too-large"
    assert isinstance(after, Document)


def test_a_worker_that_cannot_start_is_one_clear_error(papers, monkeypatch, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.exit('broken on purpose')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with ReadingPool(1, LONG, GIGABYTE) as pool, pytest.raises(RagScienceError, match="broken on purpose") as caught:
        list(pool.read_all(papers))
    assert not isinstance(caught.value, FileProblem)


def test_an_interpreter_that_is_gone_is_one_clear_error(papers, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with ReadingPool(1, LONG, GIGABYTE) as pool, pytest.raises(RagScienceError, match="does not start"):
        list(pool.read_all(papers))


def test_leaving_the_loop_ends_what_is_being_read(papers, tmp_path):
    endless = make_endless_pdf(tmp_path / "endless.pdf")
    with ReadingPool(2, LONG, GIGABYTE) as pool:
        results = pool.read_all([papers[0], endless, *papers[1:]])
        next(results)
        results.close()
        assert reader_of(endless) is None
        assert len(list(pool.read_all(papers))) == len(papers)


def test_a_closed_pool_reads_no_more(papers, tmp_path):
    endless = make_endless_pdf(tmp_path / "endless.pdf")
    pool = ReadingPool(1, LONG, GIGABYTE)
    results = pool.read_all([papers[0], endless, papers[1]])
    next(results)
    until(lambda: reader_of(endless))
    pool.close()
    _, stopped = next(results)
    assert stopped.reason == "crashed"
    with pytest.raises(RuntimeError, match="closed"):
        next(results)


SCRIPT = """
import sys
from pathlib import Path
from ragscience.reading.worker_pool import ReadingPool
assert "pymupdf" not in sys.modules
with ReadingPool(1, float(sys.argv[1]), 1 << 30) as pool:
    for path, result in pool.read_all(Path(name) for name in sys.argv[2:]):
        print(path, flush=True)
    assert "pymupdf" not in sys.modules
    sys.stdin.read()
"""


def start(*arguments):
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def end(parent):
    out, err = parent.communicate()
    return parent.returncode, out.decode(), err.decode()


def test_ctrl_c_leaves_no_worker(tmp_path):
    endless = make_endless_pdf(tmp_path / "endless.pdf")
    parent = start(LONG, endless)
    worker = until(lambda: reader_of(endless, parent.pid))
    assert os.getsid(worker.pid) != os.getsid(parent.pid)
    os.kill(parent.pid, signal.SIGINT)
    code, _, err = end(parent)
    assert code != 0
    assert err.rstrip().endswith("KeyboardInterrupt")
    assert is_gone(worker)


def test_an_idle_worker_ends_with_its_killed_pool(papers):
    parent = start(LONG, papers[0])
    assert parent.stdout.readline().decode().strip() == str(papers[0])
    (worker,) = workers_of(parent.pid)
    parent.kill()
    end(parent)
    until(lambda: is_gone(worker))


def test_a_busy_worker_ends_some_time_after_its_killed_pool(tmp_path):
    endless = make_endless_pdf(tmp_path / "endless.pdf")
    parent = start(1.0, endless)
    worker = until(lambda: reader_of(endless, parent.pid))
    assert psutil.pid_exists(worker.pid)
    parent.kill()
    end(parent)
    until(lambda: is_gone(worker))
