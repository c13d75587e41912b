"""The file itself: nothing is lost, torn or mixed, whoever writes, is killed, or runs out of room."""

import fcntl
import itertools
import json
import os
import resource
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from ragscience.core.errors import LibraryUnavailable, RagScienceError
from ragscience.library import audit_log as log_module
from ragscience.library.audit import AuditLog, AuditReader, delete_log
from tests.audit.making import record
from tests.conftest import ROOT

PLENTY = 1 << 30


@pytest.fixture
def path(tmp_path):
    return tmp_path / "audit.jsonl"


def ids(path):
    return [item["answer_id"] for item in AuditReader(path).records()]


def lines(path):
    return path.read_bytes().splitlines()


def a_process(script, *arguments, **more):
    return subprocess.Popen([sys.executable, "-c", script, *map(str, arguments)], cwd=ROOT, **more)


def test_records_are_lines_in_their_order_for_this_user_alone(path):
    log = AuditLog(path, max_bytes=PLENTY, keep=3)
    made = [record(question=f"{number}\n\x85\u2028\udcff\0?") for number in range(3)]
    for item in made:
        log.append(item)
    lines = [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]
    assert [line | {"checksum": 0} for line in lines] == [one | {"checksum": 0} for one in made]
    assert ids(path) == [item["answer_id"] for item in reversed(made)]
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_record_costs_one_open_one_write_and_one_sync_and_reads_one_byte(path, monkeypatch):
    log = AuditLog(path, max_bytes=PLENTY, keep=3)
    log.append(record())
    calls, read = [], []

    def counted(name):
        real = getattr(os, name)

        def call(*arguments, **more):
            calls.append(name)
            result = real(*arguments, **more)
            if name in ("read", "pread"):
                read.append(len(result))
            return result

        monkeypatch.setattr(os, name, call)

    for name in ("open", "write", "fsync", "read", "pread", "replace", "ftruncate"):
        counted(name)
    log.append(record())
    monkeypatch.undo()
    assert sorted(calls) == ["fsync", "open", "pread", "write"]
    assert read == [1]
    assert len(lines(path)) == 2


def test_a_full_file_is_put_aside_and_the_oldest_goes(path):
    size = len(json.dumps(record())) + 100
    log = AuditLog(path, max_bytes=2 * size, keep=2)
    for number in range(10):
        log.append(record(answer_id=f"{number:012x}"))
    assert sorted(item.name for item in path.parent.iterdir()) == ["audit.jsonl", "audit.jsonl.1", "audit.jsonl.2"]
    assert [len(lines(path.with_name(name))) for name in ("audit.jsonl", "audit.jsonl.1", "audit.jsonl.2")] == [2, 2, 2]
    assert ids(path) == [f"{number:012x}" for number in range(9, 3, -1)]
    AuditLog(path, max_bytes=1, keep=1).append(record(answer_id="f" * 12))
    assert ids(path) == ["f" * 12, *(f"{number:012x}" for number in (9, 8))]


def test_a_rotation_that_was_killed_in_the_middle_has_lost_nothing(path):
    log = AuditLog(path, max_bytes=1, keep=4)
    for number in range(3):
        log.append(record(answer_id=f"{number:012x}"))
    path.with_name("audit.jsonl.1").rename(path.with_name("audit.jsonl.3"))  # as if killed between two of its steps
    path.with_name("audit.jsonl.2").rename(path.with_name("audit.jsonl.4"))
    log.append(record(answer_id="3" * 12))
    log.append(record(answer_id="4" * 12))
    assert set(ids(path)) == {*(f"{number:012x}" for number in range(3)), "3" * 12, "4" * 12}


def test_a_record_larger_than_a_file_may_be_is_kept_all_the_same(path):
    AuditLog(path, max_bytes=10, keep=1).append(record(answer_id="a" * 12))
    assert ids(path) == ["a" * 12]


WRITER = """
import sys
from pathlib import Path
from ragscience.library.audit import AuditLog
from tests.audit.making import record
path, name, number = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
log = AuditLog(path, max_bytes=20_000, keep=1000)
for count in range(number):
    log.append(record(answer_id=f"{name}{count:011x}", question="why? " * (count % 40 * 10)))
"""


def test_processes_that_write_at_once_mix_and_lose_nothing_while_files_are_put_aside(path):
    number = 40
    writers = [a_process(WRITER, path, name, number) for name in "abc"]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0, 0]
    assert len(list(path.parent.iterdir())) > 5
    found = ids(path)
    assert sorted(found) == sorted(f"{name}{count:011x}" for name in "abc" for count in range(number))
    for name in "abc":
        assert [item for item in reversed(found) if item[0] == name] == [f"{name}{n:011x}" for n in range(number)]


LARGE = """
import resource, signal, sys
from pathlib import Path
from ragscience.library.audit import AuditLog
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
path, room = Path(sys.argv[1]), int(sys.argv[2])
if room:
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
AuditLog(path, max_bytes=1 << 40, keep=1).append({"schema": 1, "answer_id": "torn", "text": "x" * int(sys.argv[3])})
"""


def after_a_torn_line(path):
    """The log is gone on with behind what a killed process left of its line."""
    log = AuditLog(path, max_bytes=PLENTY, keep=3)
    torn = path.read_bytes()
    log.append(record(answer_id="b" * 12))
    assert path.read_bytes().startswith(torn + b"\n{")
    reader = AuditReader(path)
    assert [item["answer_id"] for item in reader.records()] == ["b" * 12, "a" * 12]
    assert reader.skipped == 1
    log.append(record(answer_id="c" * 12))
    assert path.read_bytes().count(b"\n") == 4


def test_a_line_of_a_process_that_a_signal_ended_is_left_out_and_the_next_begins_anew(path):
    AuditLog(path, max_bytes=PLENTY, keep=3).append(record(answer_id="a" * 12))
    room = path.stat().st_size + 1000
    # The kernel writes what there is room for, and ends the process when it goes on.
    assert a_process(LARGE, path, room, 5000).wait(timeout=60) == -signal.SIGXFSZ
    assert path.stat().st_size == room
    after_a_torn_line(path)


@pytest.mark.kill
def test_kill_9_while_a_line_is_written(path):
    AuditLog(path, max_bytes=PLENTY, keep=3).append(record(answer_id="a" * 12))
    before = path.read_bytes()
    for attempt in itertools.count():
        process = a_process(LARGE, path, 0, 1 << 26)
        while path.stat().st_size == len(before) and process.poll() is None:
            pass
        process.kill()
        process.wait(timeout=60)
        with path.open("rb+") as file:
            file.seek(-1, os.SEEK_END)
            is_torn = file.read(1) != b"\n"
            if is_torn:
                file.truncate(min(path.stat().st_size, 1 << 16))  # what follows reads it often
                break
            file.truncate(len(before))  # it was too quick
        assert attempt < 20
    after_a_torn_line(path)


def test_a_disk_without_room_costs_the_record_and_leaves_the_file_as_it_was(path):
    log = AuditLog(path, max_bytes=PLENTY, keep=3)
    log.append(record())
    before = path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 100, hard))
    try:
        with pytest.raises(RagScienceError, match=r"The disk is full: .*audit\.jsonl"):
            log.append(record())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == before
    log.append(record())
    assert len(lines(path)) == 2


def test_what_is_no_file_and_a_device_without_room_are_refused(path):
    path.symlink_to("/dev/full")
    with pytest.raises(RagScienceError, match="The disk is full"):
        AuditLog(path, max_bytes=PLENTY, keep=3).append(record())
    path.unlink()
    path.mkdir()
    with pytest.raises(RagScienceError, match="could not be written: Is a directory"):
        AuditLog(path, max_bytes=PLENTY, keep=3).append(record())
    with pytest.raises(RagScienceError, match="cannot be read: Is a directory"):
        AuditReader(path).last(1)


def test_a_file_that_somebody_holds_is_given_up_after_a_while(path, monkeypatch):
    monkeypatch.setattr(log_module, "LOCK_SECONDS", 0.0)
    log = AuditLog(path, max_bytes=PLENTY, keep=3)
    log.append(record())
    with path.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(LibraryUnavailable, match=r"Another process has held .*audit\.jsonl"):
            log.append(record())
    log.append(record())
    assert len(ids(path)) == 2


def test_deleting_takes_every_file_and_nothing_else(path):
    log = AuditLog(path, max_bytes=1, keep=5)
    for _ in range(4):
        log.append(record())
    other = path.with_name("audit.jsonl.bak")
    other.write_text("mine")
    assert delete_log(path) == 4
    assert list(path.parent.iterdir()) == [other]
    assert delete_log(path) == 0
    assert delete_log(path.parent / "nowhere" / "audit.jsonl") == 0
    log.append(record(answer_id="a" * 12))
    path.rename(path.with_name("audit.jsonl.2"))
    assert delete_log(path) == 1


def has_open(process, path):
    for handle in Path(f"/proc/{process.pid}/fd").glob("*"):
        with suppress(OSError):  # closed meanwhile
            if handle.readlink() == path:
                return True
    return False


def test_who_waits_for_a_file_that_is_deleted_meanwhile_begins_a_new_one(path):
    AuditLog(path, max_bytes=PLENTY, keep=3).append(record())
    with path.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        writer = a_process(WRITER, path, "a", 1)
        while not has_open(writer, path):
            assert writer.poll() is None
        path.unlink()
    assert writer.wait(timeout=60) == 0
    assert ids(path) == ["a" + "0" * 11]
