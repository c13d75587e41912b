"""The cache: bounded, whole files only, and nothing goes that is in use."""

import errno
import hashlib
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from ragscience.core.errors import FileProblem, RagScienceError
from ragscience.library.paper_cache import PaperCache
from tests.conftest import ROOT


def content(number, size=1000):
    return bytes([number]) * size


def md5(data):
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def writes(data):
    def download(file):
        file.write(data)
        return md5(data)

    return download


def kept(cache, name, data):
    return cache.store(name, len(data), writes(data))


def has(cache, data, name="x.pdf"):
    with cache.opened(md5(data), name) as path:
        return path is not None and path.read_bytes() == data


@pytest.fixture
def cache(tmp_path):
    return PaperCache(tmp_path / "papers", 3500)


def test_what_was_not_used_for_longest_goes_first(cache, tmp_path):
    for number in range(3):
        kept(cache, "x.pdf", content(number))
        os.utime(tmp_path / "papers" / md5(content(number)), ns=(number, number))
    assert has(cache, content(0))  # which is a use
    kept(cache, "x.pdf", content(3))
    assert [has(cache, content(number)) for number in range(4)] == [True, False, True, True]
    taken = sum(path.stat().st_size for path in (tmp_path / "papers").rglob("*.pdf"))
    assert taken <= 3500


def test_a_file_in_use_stays(cache):
    kept(cache, "x.pdf", content(0))
    with cache.opened(md5(content(0)), "x.pdf") as path:
        for number in range(1, 6):
            kept(cache, "x.pdf", content(number))
        assert path.read_bytes() == content(0)
    kept(cache, "x.pdf", content(6, 3000))
    assert not has(cache, content(0))


def test_a_file_larger_than_the_cache_is_refused_and_nothing_goes(cache):
    kept(cache, "x.pdf", content(0))
    with pytest.raises(FileProblem, match="larger than the cache") as raised:
        kept(cache, "large.pdf", content(1, 4000))
    assert "RAG_PAPERS_CACHE_MB" in raised.value.fix
    assert has(cache, content(0))


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data[:-1] + b"?", lambda _: b""])
def test_a_damaged_file_is_not_given(cache, tmp_path, damage):
    kept(cache, "x.pdf", content(0))
    path = tmp_path / "papers" / md5(content(0)) / "x.pdf"
    path.write_bytes(damage(content(0)))
    assert not has(cache, content(0))
    kept(cache, "x.pdf", content(0))
    assert has(cache, content(0))


def test_the_same_bytes_have_the_name_that_is_asked_for_and_count_once(cache, tmp_path):
    kept(cache, "2017/first.pdf", content(0))
    kept(cache, "second.pdf", content(0))
    with cache.opened(md5(content(0)), "more/third.pdf") as path:
        assert path.name == "third.pdf"
    long = "n" * 300 + ".pdf"
    assert has(cache, content(0), long)
    for number in (1, 2):
        kept(cache, "x.pdf", content(number))
    assert has(cache, content(0))


def test_a_full_disk_is_one_line_and_leaves_nothing(cache, tmp_path):
    def full(file):
        file.write(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(RagScienceError, match="The disk is full") as raised:
        cache.store("x.pdf", 10, full)
    assert raised.value.fix == "Make room."
    assert list((tmp_path / "papers").iterdir()) == []


def test_what_a_killed_download_leaves_is_never_given_and_goes(cache, tmp_path):
    script = (
        "import sys, pathlib\n"
        "from ragscience.library.paper_cache import PaperCache\n"
        "def download(file):\n    file.write(b'half'); file.flush(); print('half', flush=True); sys.stdin.read()\n"
        "PaperCache(pathlib.Path(sys.argv[1]), 3500).store('x.pdf', 8, download)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "papers")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT,
    )  # fmt: skip
    assert process.stdout.readline() == b"half\n"
    (left,) = (tmp_path / "papers").glob(".part-*")
    kept(cache, "x.pdf", content(1))
    assert left.exists()  # of a download that is under way
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not has(cache, b"half")
    kept(cache, "x.pdf", content(2))
    assert not left.exists()
    assert has(cache, content(1))


def test_downloads_at_the_same_time_share_the_room(cache, tmp_path):
    """Each thread locks as a process does: on a handle of its own."""
    taken = []

    def measure():
        """Runs in one of the threads while the others wait, so that nothing moves."""
        taken.append(sum(path.stat().st_size for path in (tmp_path / "papers").rglob("*.pdf")))

    begin, written = threading.Barrier(3, timeout=60), threading.Barrier(3, measure, timeout=60)

    def stored(number):
        def download(file):
            file.write(content(number))
            file.flush()
            written.wait()
            return md5(content(number))

        begin.wait()
        cache.store("x.pdf", 1000, download)

    kept(cache, "old.pdf", content(99))
    for number in range(0, 30, 3):
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(stored, range(number, number + 3)))
        assert all(has(cache, content(number + more)) for more in range(3))
    assert len(taken) == 10
    assert max(taken) <= 3500


def test_what_is_not_the_caches_is_left_alone(cache, tmp_path):
    mine = tmp_path / "papers" / "2017" / "mine.pdf"
    mine.parent.mkdir(parents=True)
    mine.write_bytes(bytes(5000))
    os.utime(mine.parent, (0, 0))
    for number in range(5):
        kept(cache, "x.pdf", content(number))
    assert mine.exists()
    assert [has(cache, content(number)) for number in range(5)] == [False, False, True, True, True]
