"""Which cell of a table a question asks for."""

from dataclasses import replace

import pytest

from ragscience.ask.cells import asked_rows
from ragscience.ask.quote_candidates import units_of
from ragscience.core.tokenizing import terms
from tests.ask.passages import hit

SCORES = """Table 1: Open-domain test scores.

| Model | Parameters | NQ |  | TriviaQA |  |
|---|---|---|---|---|---|
|  |  | EM | F1 | EM | F1 |
| Closed book |  |  |  |  |  |
| T5 | 11B | 34.5 | 40.1 | 50.1 | 55.2 |
| RAG-Seq. | 626M | 44.5 | 50.3 | 56.8 | 60.4 |
| RAG-Token | 626M | 44.1 | 49.9 | 55.2 | 59.8 |
"""
SIZES = """| Batch Size | 32 | 16 | 1 |
|---|---|---|---|
| Plain | 1449.4 | 338.0 | 19.8 |
| Adapter^H | 1492.2 | 366.3 | 25.8 |
"""
MARKED = "| Model | MAP |\n|---|---|\n| BM25+ | 0.2026 |\n| BM25 | 0.1870 |\n"
FAILURES = """| Group | Type | ReAct | CoT |
|---|---|---|---|
| Success | True positive | 94% | 86% |
|  | False positive | 6% | 14% |
| Failure | Reasoning error | 47% | 16% |
|  | Hallucination | 0% | 56% |
"""


def best_of(table: str, question: str):
    whole = hit(table)
    rows = [unit for unit in units_of(replace(whole, chunk=replace(whole.chunk, kind="table"))) if unit.is_row]
    asked = sorted(set(terms(question)))
    words = [(frozenset({term}), 1 / len(asked)) for term in asked]
    return max(filter(None, asked_rows(question, words, rows)), key=lambda row: row.fit)


@pytest.mark.parametrize(
    ("table", "question", "value"),
    [
        (SCORES, "exact match of RAG-Token on Natural Questions", "44.1"),
        (SCORES, "F1 of RAG-Sequence on TriviaQA", "60.4"),
        (SCORES, "TriviaQA EM of T5", "50.1"),
        (SCORES, "parameters of T5", "11B"),
        (SIZES, "latency of AdapterH with batch size 1", "25.8"),
        (MARKED, "MAP of BM25", "0.1870"),
        (MARKED, "MAP of BM25+", "0.2026"),
        (FAILURES, "share of chain of thought hallucination failures", "56%"),
    ],
)
def test_a_value_is_found_by_row_and_column(table, question, value):
    assert best_of(table, question).value == value


def test_a_row_is_a_line_with_its_column():
    assert best_of(SCORES, "exact match of RAG-Token on Natural Questions").line == "RAG-Token: NQ EM 44.1"


def test_no_value_is_sure_where_two_columns_fit_as_well():
    row = best_of(SCORES, "score of RAG-Token")
    assert row.value == ""
    assert row.fit == 0.0


def test_a_second_row_of_the_header_is_no_answer():
    whole = hit(SCORES)
    rows = [unit for unit in units_of(replace(whole, chunk=replace(whole.chunk, kind="table"))) if unit.is_row]
    assert [row is None for row in asked_rows("F1 of T5", [(frozenset({"f1"}), 1.0)], rows)][:3] == [True, True, False]
