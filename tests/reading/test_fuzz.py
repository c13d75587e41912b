"""Damaged PDFs go through the real pool: each ends as a document or as a problem, and the workers stay small.

`tools/fuzz_reader.py` does the same with thousands.
"""

import itertools

import pytest

from tests.pdf_factory import make_pdf, make_scan
from tests.reading.fuzzing import mutants, read_all, small_originals
from tests.reading.processes import workers_of

WORDS = "Damage must cost its own file and nothing else, whatever it is. "
GIGABYTE = 1 << 30
MEGABYTE = 1 << 20


@pytest.fixture
def originals(tmp_path):
    text = "\n".join([WORDS] * 20)
    drawn = [
        make_pdf(tmp_path / "text.pdf", [text, "Short.", text], title="A title"),
        make_pdf(tmp_path / "locked.pdf", [text], user_password="", owner_password="secret"),
        make_scan(tmp_path / "scan.pdf"),
    ]
    plain = small_originals(tmp_path / "small", drawn[:1], pages=2, compress=False)
    return [*drawn, *plain]


def test_damaged_files_end_well_and_leave_nothing_behind(tmp_path, originals):
    outcome = read_all(mutants(tmp_path / "bad", originals, 28, seed=7), 1, timeout_seconds=60, memory_bytes=GIGABYTE)
    assert outcome.documents + outcome.problems.total() == 28
    assert outcome.documents > 3
    assert outcome.problems.total() > 3
    assert outcome.crashed == []
    assert len(outcome.workers) == 1
    settled = max(itertools.islice(outcome.resident_bytes, 5, 10))
    assert max(outcome.resident_bytes[10:]) < settled + 100 * MEGABYTE
    assert workers_of() == []
    assert not any((tmp_path / "bad").iterdir())
