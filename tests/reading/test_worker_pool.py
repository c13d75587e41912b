import json
import os
import signal
import subprocess
import sys
import threading

import pytest

from ragscience.core.records import Document
from ragscience.core.serialization import from_json
from ragscience.reading.pdf_reader import read_pdf
from ragscience.reading.worker_pool import ReadingPool, ReadingProgress
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


@pytest.mark.skipif("RAG_TESTS_WITHOUT_POSIX" in os.environ, reason="no limit of memory there")
def test_a_file_beyond_the_memory_is_too_large_and_the_next_is_read(papers, tmp_path):
    huge = make_huge_pdf(tmp_path / "huge.pdf", 3_000_000)
    with ReadingPool(1, LONG, 300 << 20) as pool:
        (_, problem), (_, after) = pool.read_all([huge, papers[0]])
    assert problem.reason == "too-large"
    assert isinstance(after, Document)


SCRIPT = """
import sys
from pathlib import Path
from ragscience.reading.worker_pool import ReadingPool, ReadingProgress
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


class Interrupted(ReadingProgress):
    """Raises KeyboardInterrupt at the nth call or return of the thread that waits, as a signal's handler may."""

    def __init__(self, number):
        self.number = number

    def waiting(self, path):
        sys.setprofile(self.count)

    def count(self, frame, event, of):
        self.number -= 1
        if not self.number:
            sys.setprofile(None)
            raise KeyboardInterrupt


def test_ctrl_c_at_any_point_of_waiting_ends_the_reading(tmp_path):
    endless = make_endless_pdf(tmp_path / "endless.pdf")
    for number in range(1, 25, 3):
        with ReadingPool(1, LONG, GIGABYTE) as pool, pytest.raises(KeyboardInterrupt):
            list(pool.read_all([endless], progress=Interrupted(number)))


def test_stdout_carries_replies_alone_and_no_layout_models_are_loaded(tmp_path):
    path = make_pdf(tmp_path / "a.pdf", ["text"])
    script = (
        "import sys\n"
        "from ragscience.reading import worker\n"
        "real = worker.read_pdf\n"
        "def noisy(path, password, *rest, **options):\n"
        "    import os\n"
        "    print('from Python'); sys.stdout.flush(); os.write(1, b'from C')\n"
        "    loaded = [n for n in ('onnxruntime', 'networkx', 'numpy') if n in sys.modules]\n"
        "    assert not loaded, loaded\n"
        "    return real(path, password)\n"
        "worker.read_pdf = noisy\n"
        "sys.exit(worker.main(['1000000000', '60']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=json.dumps(["read", str(path), "", ""]).encode(),
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    ready, reply = map(json.loads, done.stdout.splitlines())
    assert ready == {"ready": True}
    assert from_json(Document, reply["done"]) == read_pdf(path)
