"""What is read back: whole records of this version, wherever they are."""

import json
from pathlib import Path

import pytest

from ragscience.core.errors import UsageError
from ragscience.library.audit import SCHEMA_VERSION, AuditLog, AuditReader
from tests.audit.making import record


@pytest.fixture
def path(tmp_path):
    return tmp_path / "audit.jsonl"


def test_an_answer_is_found_by_the_beginning_of_its_id_in_any_file(path):
    log = AuditLog(path, max_bytes=1, keep=9)
    for name in ("aa1", "aa2", "aa", "b"):
        log.append(record(answer_id=name))
    reader = AuditReader(path)
    assert reader.find("aa1")["answer_id"] == "aa1"
    assert reader.find("aa")["answer_id"] == "aa"
    assert reader.find("b")["answer_id"] == "b"
    assert reader.find("c") is None
    assert reader.find('"') is None
    with pytest.raises(UsageError, match="Several answers begin with 'a': aa, aa1, aa2"):
        reader.find("a")


def test_an_id_that_a_question_quotes_is_not_that_answer(path):
    AuditLog(path, max_bytes=1 << 20, keep=1).append(record(answer_id="a", question='what is "answer_id": "b"?'))
    assert AuditReader(path).find("b") is None


def test_without_a_log_there_is_nothing(path):
    assert AuditReader(path).last(3) == []
    assert AuditReader(path.parent / "nowhere" / "audit.jsonl").find("a") is None


@pytest.mark.parametrize(
    "line",
    [
        b'{"schema": 1, "answer_id": "x", "question": "cut sho',
        b"[]",
        b"null",
        b'"\xff\xfe"',
        b"[" * 100_000,
        json.dumps(record() | {"passages": [{}]}).encode(),
        json.dumps(record() | {"sentences": ["x"]}).encode(),
        json.dumps(record() | {"settings": None}).encode(),
        json.dumps({"schema": 1, "answer_id": "x"}).encode(),
    ],
    ids=["torn", "list", "null", "bytes", "deep", "passage", "sentence", "settings", "bare"],
)
def test_what_is_no_record_is_left_out_and_counted(path, line):
    log = AuditLog(path, max_bytes=1 << 20, keep=1)
    log.append(record(answer_id="a"))
    with path.open("ab") as file:
        file.write(line + b"\n\n  \n")
    log.append(record(answer_id="b"))
    reader = AuditReader(path)
    assert [item["answer_id"] for item in reader.records()] == ["b", "a"]
    assert (reader.skipped, reader.newer) == (1, 0)


def test_a_record_of_a_newer_version_is_left_out_and_said_to_be_one(path):
    log = AuditLog(path, max_bytes=1 << 20, keep=1)
    log.append(record(answer_id="a") | {"schema": SCHEMA_VERSION + 1, "answer": None})
    log.append(record(answer_id="b"))
    reader = AuditReader(path)
    assert [item["answer_id"] for item in reader.last(9)] == ["b"]
    assert (reader.skipped, reader.newer) == (0, 1)


def test_a_list_reads_no_further_than_it_must(path):
    log = AuditLog(path, max_bytes=1, keep=9)
    for name in "abc":
        log.append(record(answer_id=name))
    path.with_name("audit.jsonl.2").write_bytes(b"torn\n")
    reader = AuditReader(path)
    assert [item["answer_id"] for item in reader.last(2)] == ["c", "b"]
    assert reader.skipped == 0


def test_a_file_that_is_put_aside_while_it_is_read_is_read_once(path):
    log = AuditLog(path, max_bytes=1, keep=9)
    log.append(record(answer_id="a"))
    log.append(record(answer_id="b"))
    records = AuditReader(path).records()
    assert next(records)["answer_id"] == "b"
    log.append(record(answer_id="c"))
    assert [item["answer_id"] for item in records] == ["a"]


def test_records_of_version_1_are_read_with_todays_names():
    old = Path(__file__).parents[1] / "golden" / "version1" / "audit.jsonl"
    lines = [json.loads(line) for line in old.read_text(encoding="utf-8").splitlines()]
    reader = AuditReader(old)
    found = list(reader.records())[::-1]
    assert (reader.skipped, reader.newer, len(found)) == (0, 0, len(lines))
    for one, line in zip(found, lines, strict=True):
        assert one["warnings"] == line["notices"]
        assert [step["summary"] for step in one["trace"]] == [step["said"] for step in line["trace"]]
        assert one["passages"] == line["passages"]


def test_no_flipped_bit_alters_a_record_that_is_read(path):
    AuditLog(path, max_bytes=1 << 20, keep=1).append(record(answer_id="a"))
    (before,) = AuditReader(path).records()
    assert "checksum" not in before
    line = path.read_bytes()
    left_out = 0
    for bit in range(0, len(line) * 8, 7):
        damaged = bytearray(line)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        reader = AuditReader(path)
        found = [{name: one[name] for name in before} for one in reader.records()]
        assert found in ([], [before])
        assert reader.skipped or reader.newer or found
        left_out += not found
    assert left_out > len(line)
