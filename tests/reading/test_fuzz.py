"""Damaged PDFs go through the real pool: each ends as a document or as a problem, and the workers stay small.

`tools/fuzz_reader.py` does the same with thousands.
"""

import itertools
import random

import pytest

from tests.pdf_factory import make_pdf, make_scan
from tests.reading.fuzzing import MUTATIONS, mutants, read_all, small_originals
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


@pytest.mark.parametrize("mutate", MUTATIONS, ids=lambda mutate: mutate.__name__)
def test_a_mutation_damages_and_repeats_itself(mutate, originals):
    data = originals[0].read_bytes()
    damaged = {mutate(data, random.Random(seed)) for seed in range(5)}
    assert data not in damaged
    assert len(damaged) > 1
    assert mutate(data, random.Random(3)) == mutate(data, random.Random(3))


def test_the_same_seed_makes_the_same_files(tmp_path, originals):
    first = {path.name: path.read_bytes() for path in mutants(tmp_path / "one", originals, 9, seed=1)}
    again = {path.name: path.read_bytes() for path in mutants(tmp_path / "two", originals, 9, seed=1)}
    other = {path.name: path.read_bytes() for path in mutants(tmp_path / "three", originals, 9, seed=2)}
    assert first == again != other


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
