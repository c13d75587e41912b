"""When a text holds what a right answer must hold."""

import importlib.util
import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.evaluation.answer_metrics import holds, holds_all, readings
from tests.shared_data import SHARED_DATA, needs_shared_data


@pytest.mark.parametrize(
    ("text", "wanted", "expected"),
    [
        ("Training took 3.5 days.", "3.5 days", True),
        ("Training took\n3.5   Days.", "3.5 days", True),
        ("It has 28.4 BLEU", "8", False),
        ("It has 28.4 BLEU", "28", False),
        ("It has 128.4 BLEU", "28.4", False),
        ("It has 28.41 BLEU", "28.4", False),
        ("It has 28.4, or more", "28.4", True),
        ("1,000 GPUs", "000", False),
        ("the in-\ntermediate keys", "intermediate", True),
        ("byte\u2010pair encoding", "byte-pair", True),
        ("over\ufb01tting", "overfitting", True),
        ("a \u201clast gasp\u201d", '"last gasp"', True),
        ("b\u00adig words", "big words", True),
        ("the R ank sin k", "rank sink", True),
        ("S \u00b7 C + E\u00b7C", "S\u00b7C + E\u00b7C", True),
        ("a b c", "abc", False),
        ("anything", "", False),
        ("", "x", False),
    ],
)
def test_what_is_held(text, wanted, expected):
    assert holds(text, wanted) is expected


def test_all_must_be_held():
    assert holds_all("8 P100 GPUs for 3.5 days", ["P100", "3.5 days"])
    assert not holds_all("8 P100 GPUs for 3.5 days", ["P100", "12 hours"])
    assert holds_all("8 P100 GPUs for 3.5 days", ["P100", ("half a week", "3.5 days")])
    assert not holds_all("8 P100 GPUs for 3.5 days", ["P100", ("half a week", "84 hours")])
    assert holds_all("whatever", [])


@given(st.text(max_size=60).filter(lambda text: readings(text)[0] and not any(map(str.isdigit, text))))
def test_a_text_without_digits_holds_itself_within_anything(text):
    assert holds(f"before {text} after", text)


@pytest.fixture(scope="module")
def verify():
    """The checker that the shared questions came with: an oracle from elsewhere."""
    spec = importlib.util.spec_from_file_location("shared_verify", SHARED_DATA / "qa" / "verify.py")
    module = importlib.util.module_from_spec(spec)
    bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = bytecode
    return module


@needs_shared_data
def test_the_shared_questions_get_the_same_verdicts(verify):
    lines = (SHARED_DATA / "qa" / "dev.jsonl").read_text(encoding="utf-8").splitlines()
    items = [item for item in map(json.loads, lines) if item["answerable"]]
    texts = [item["answer"] for item in items] + [" ".join(e["quote"] for e in item["evidence"]) for item in items]
    for item in items:
        for text in texts:
            assert holds_all(text, item["must_contain"]) == verify.answer_ok(text, item["must_contain"])
        assert holds_all(item["answer"], item["must_contain"])
