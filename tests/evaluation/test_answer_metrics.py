"""When a text holds what a right answer must hold, and what is measured of answers."""

import importlib.util
import json
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.significance import mcnemar, p_of, shown_p, sign_flip
from ragscience.core.records import Answer, Citation, Found, Sentence
from ragscience.evaluation.answer_metrics import estimate, holds, holds_all, measure
from ragscience.evaluation.eval_report import paired
from ragscience.evaluation.question_file import KnownQuestion
from tests.ask.passages import hit
from tests.shared_data import SHARED_DATA, needs_shared_data

QUESTION = KnownQuestion(
    "q1",
    "How hot, and how large an error?",
    True,
    ("1280", "12"),
    (frozenset({("kilns.pdf", 1), ("kilns.pdf", 5)}), frozenset({("tides.pdf", 2)})),
    "multi_hop",
)


def answered(text, *hits, cited=(), refused=False, verdicts=()):
    citations = tuple(Citation(file, page, "…", True) for file, page in cited)
    found = Found("?", "default", tuple(hits))
    sentences = tuple(Sentence("…", verdict, 0.0, None) for verdict in verdicts)
    return Answer("a1", "?", text, "extractive", refused, citations, found, {}, sentences=sentences)


def measured(*hits, text="", cited=(), refused=False):
    return measure(QUESTION, answered(text, *hits, cited=cited, refused=refused), {"seconds": 1.5})


KILNS = hit("The glaze matures at 1280 degrees.", file="kilns.pdf", breaks=((0, 4), (10, 5)))
TIDES = hit("Its largest error is 12 centimetres.", file="tides.pdf", page=2, rank=2)
BEES = hit("Bees.", file="bees.pdf", page=1, rank=3)


@pytest.mark.parametrize(
    ("hits", "expected"),
    [
        ((), (0, 0, 0, 0)),
        ((KILNS,), (1, 0, 1, 0)),
        ((KILNS, TIDES), (1, 0, 1, 1)),
        ((BEES, BEES, TIDES, KILNS), (0, 0, 1, 1)),
        ((BEES, BEES, BEES, TIDES, KILNS), (0, 0, 1, 0)),
        ((BEES, BEES, BEES, BEES, KILNS), (0, 0, 0, 0)),
        ((hit("x", file="tides.pdf", page=1),), (0, 0, 0, 0)),
    ],
)
def test_evidence_counts_by_page(hits, expected):
    values = measured(*hits)
    assert tuple(values[name] for name in ("any@1", "full@1", "any@4", "full@4")) == expected


@pytest.mark.parametrize(
    ("hits", "expected"), [((), (0, 0)), ((BEES, BEES, BEES, BEES, KILNS), (0.5, 0)), ((TIDES, KILNS), (1, 1))]
)
def test_the_share_of_the_evidence_that_was_given(hits, expected):
    values = measured(*hits)
    assert (values["evidence"], values["all evidence"]) == expected


@pytest.mark.parametrize(
    ("cited", "expected"),
    [
        ([("kilns.pdf", 5)], (1, 1)),
        ([("kilns.pdf", 4), ("kilns.pdf", 1)], (1, 0.5)),
        ([("tides.pdf", 5), ("bees.pdf", 1)], (0, 0)),
        ([], (0, None)),
    ],
)
def test_cited_pages(cited, expected):
    values = measured(KILNS, text="1280", cited=cited)
    assert (values["cited"], values.get("cited share")) == expected


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_an_interval_holds_what_is_possible(values):
    found = estimate(values)
    assert found.questions == len(values)
    assert found.mean == pytest.approx(np.mean(values))
    assert min(values) - 1e-9 <= found.low <= found.high <= max(values) + 1e-9
    assert estimate(values) == found


@pytest.mark.parametrize(
    ("text", "wanted", "expected"),
    [
        ("Training took 3.5 days.", "3.5 days", True),
        ("It has 28.4 BLEU", "8", False),
        ("It has 128.4 BLEU", "28.4", False),
        ("It has 28.41 BLEU", "28.4", False),
        ("1,000 GPUs", "000", False),
        ("byte\u2010pair encoding", "byte-pair", True),
        ("a \u201clast gasp\u201d", '"last gasp"', True),
        ("the R ank sin k", "rank sink", True),
        ("S \u00b7 C + E\u00b7C", "S\u00b7C + E\u00b7C", True),
        ("a b c", "abc", False),
        ("", "x", False),
    ],
)
def test_what_is_held(text, wanted, expected):
    assert holds(text, wanted) is expected


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


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_binomial_test_of_wins_and_losses(higher, lower):
    from scipy.stats import binomtest

    expected = binomtest(higher, higher + lower).pvalue if higher + lower else 1.0
    assert mcnemar(higher, lower) == pytest.approx(expected)


def by_scipy(differences):
    from scipy.stats import permutation_test

    found = permutation_test(
        (np.array(differences),), np.mean, permutation_type="samples", n_resamples=2**20, vectorized=False
    )
    return found.pvalue


@settings(max_examples=15)
@given(st.lists(st.integers(-4, 4).map(lambda n: n / 4), min_size=2, max_size=8))
def test_the_sign_flip_test_is_exact_for_few_questions(differences):
    assert sign_flip(differences) == pytest.approx(by_scipy(differences))


def test_what_is_0_or_1_everywhere_gets_the_exact_test_of_proportions():
    both = [(0.0, 1.0)] * 6 + [(1.0, 1.0)] * 10
    found = paired(both)
    assert (found.higher, found.lower, p_of(both), shown_p(p_of(both))) == (6, 0, 0.03125, "0.031")
    assert shown_p(0.0004) == "<0.001"
