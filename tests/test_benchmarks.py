"""The benchmarks measure what they say: the order of the runs, and the rules by which evidence counts."""

import atexit
import json

import numpy as np
import pytest

from benchmarks import calibration, report, trust
from benchmarks.embedding_cache import keep_embeddings
from benchmarks.libraries import plain_document
from benchmarks.quality import Place, _evidence
from benchmarks.reading import compared, listed_headings, metadata_scores, milliseconds_a_page
from benchmarks.running import by_turns, clock, medians
from ragscience.core.records import Document, Metadata, Page
from ragscience.evaluation.question_file import read_known_questions
from ragscience.models import maxsim
from tests.pdf_factory import make_pdf


def test_sides_run_by_turns_and_the_first_round_does_not_count():
    ran = []
    results = by_turns({"a": lambda: ran.append("a") or len(ran), "b": lambda: ran.append("b") or len(ran)}, 2)
    assert ran == ["a", "b", "b", "a", "a", "b"]
    assert results == {"a": [4, 5], "b": [3, 6]}


def test_cold_sides_have_no_warm_round():
    assert by_turns({"a": lambda: 1}, 2, warm=False) == {"a": [1, 1]}


def test_the_middle_of_the_runs_counts():
    assert medians({"a": [9.0, 1.0, 2.0], "b": [1.0, 2.0]}) == {"a": 2.0, "b": 1.5}


def test_a_clock_calls_once_and_gives_seconds():
    calls = []
    assert clock(lambda: calls.append(1))() >= 0
    assert calls == [1]


QUESTION = {
    "evidence": [{"file": "a.pdf", "page": 3}, {"file": "b.pdf", "page": 7}],
    "alternatives": [{"file": "c.pdf", "page": 1, "for": 1}],
}


@pytest.mark.parametrize(
    ("places", "any_at_1", "full_at_1", "any_at_4", "full_at_4"),
    [
        ([], 0, 0, 0, 0),
        ([Place("a.pdf", 2, 3)], 1, 0, 1, 0),
        ([Place("a.pdf", 4, 5), Place("a.pdf", 3, 3)], 0, 0, 1, 0),
        ([Place("a.pdf", 3, 3), Place("b.pdf", 6, 8)], 1, 0, 1, 1),
        ([Place("c.pdf", 1, 1), Place("a.pdf", 3, 4)], 1, 0, 1, 1),
        ([Place("b.pdf", 3, 3), Place("a.pdf", 7, 7)], 0, 0, 0, 0),
        ([Place("x.pdf", 1, 1)] * 4 + [Place("a.pdf", 3, 3)], 0, 0, 0, 0),
    ],
)
def test_evidence_counts_by_page_and_alternatives_stand_in(places, any_at_1, full_at_1, any_at_4, full_at_4):
    values = _evidence([QUESTION], [places])
    assert [int(values[name][0]) for name in ("any@1", "full@1", "any@4", "full@4")] == [
        any_at_1,
        full_at_1,
        any_at_4,
        full_at_4,
    ]


def test_a_page_costs_what_the_paper_costs_divided_by_its_pages():
    def busy(path):
        sum(range(200_000 if path == "long" else 10))

    long, short = milliseconds_a_page(busy, ["long", "short"], [2, 2])
    assert long > short >= 0


def test_plain_text_is_text_and_pages_alone(tmp_path):
    path = make_pdf(tmp_path / "a.pdf", ["First page.", "Second page."], title="A Title")
    assert plain_document(path) == Document("First page.\n\nSecond page.", (Page(1, 0, 11), Page(2, 13, 25)))


@pytest.mark.parametrize(
    ("headings", "found"),
    [
        ([("1 introduction", 1), ("Methods", 3)], 2),
        ([("1 Introduction", 1)], 1),
        ([("Introduction", 1), ("2 Methods", 5)], 1),
        ([], 0),
    ],
)
def test_headings_of_an_outline_count_once_and_near_their_page(headings, found):
    assert listed_headings([("Introduction", 1), ("2 Methods", 2)], headings) == found
    assert listed_headings([("Introduction", 1), ("Introduction", 1)], headings[:1]) == len(headings[:1])


def test_metadata_count_where_they_are_printed():
    gold = [
        {
            "file": "a.pdf",
            "title": "A  Title",
            "first_author": "Łódz",
            "authors": "2",
            "year": "2020",
            "identifier": "",
        },
        {"file": "b.pdf", "title": "B", "first_author": "Bee", "authors": "1", "year": "", "identifier": "arXiv:1.2v3"},
    ]
    documents = {
        "a.pdf": Document("", (), metadata=Metadata("a title", ("Jan Łódz", "B C"), 2019)),
        "b.pdf": Document("", (), metadata=Metadata("C", (), None, arxiv_id="1.2v3")),
    }
    assert metadata_scores(gold, documents) == {
        "title": (1, 2),
        "first author": (1, 2),
        "number of authors": (1, 2),
        "year": (0, 1),
        "identifier": (1, 1),
    }


def test_two_readers_are_compared_by_type_and_broken_papers_apart():
    questions = [
        {"type": "fact", "evidence": [{"file": "a.pdf"}]},
        {"type": "table", "evidence": [{"file": "b.pdf"}]},
        {"type": "table", "evidence": [{"file": "pagerank_1998.pdf"}]},
    ]
    sides = {"plain": [1.0, 0.0, 0.0], "structure": [1.0, 1.0, 0.0]}
    found = {
        name: {measure: np.array(values) for measure in ("any@1", "any@4", "full@4")} for name, values in sides.items()
    }
    table = compared("Both", questions, found)
    assert table.columns[:4] == ["questions", "number", "any@1, plain", "any@1, structure"]
    rows = {row[0]: (row[1], *(cell.split(" ")[0] for cell in row[2:4])) for row in table.rows}
    assert rows == {
        "all": ("3", "0.333", "0.667"),
        "fact": ("1", "1.000", "1.000"),
        "table": ("2", "0.000", "0.500"),
        "broken text layers": ("1", "0.000", "0.000"),
        "all others": ("2", "0.500", "1.000"),
    }


def test_trust_is_told_where_a_side_refuses_nothing(library, tmp_path):
    lines = [
        {"id": "a", "question": "How fast do bees fly in fog?", "must_contain": ["3.7"], "type": "number",
         "evidence": [{"file": "bees.pdf", "page": 2}]},
        {"id": "b", "question": "Who conducts the Vienna orchestra?", "answerable": False, "type": "unanswerable"},
    ]  # fmt: skip
    asked = tmp_path / "set.jsonl"
    asked.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    told = trust.report(library, list(read_known_questions(asked, 2000)))
    measures = {row[0]: row for row in told.tables[0].rows}
    assert measures["refusal precision"][1:3] == ["1.000 (1.00–1.00)", "–"]
    assert [row[0] for row in told.tables[1].rows] == ["number", "unanswerable"]
    assert told.figures["nothing refused"].keys() < told.figures["default"].keys()


def test_calibration_tells_levels_and_what_was_held(library, tmp_path):
    lines = [
        {"id": "a", "question": "How fast do bees fly in fog?", "must_contain": ["3.7"], "type": "number",
         "evidence": [{"file": "bees.pdf", "page": 2}]},
        {"id": "b", "question": "How fast do bees fly at 5,000 metres?", "answerable": False, "type": "unanswerable"},
    ]  # fmt: skip
    file = tmp_path / "near.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    asked = calibration.ask_all(library, "near", file)
    assert [each.holds for each in asked] == [True, False]
    assert asked[1].level == "low"
    assert asked[0].paper == "bees.pdf"
    levels, _ = calibration.report(asked).tables
    ((name, questions, *counts),) = levels.rows
    assert (name, questions) == ("near", "2")
    assert sum(int(count.split()[0]) for count in counts) == 2
    assert sum(int(count.split("(")[1][:-1]) for count in counts) == 1


def test_calibration_judges_a_paper_by_the_others():
    """Of two papers that contradict each other, each is judged as the other one says."""
    from types import SimpleNamespace

    asked = [
        SimpleNamespace(paper=paper, signs={"lead": float(lead)}, holds=bool(lead) is (paper == "a.pdf"))
        for paper in ("a.pdf", "b.pdf")
        for lead in (0, 1) * 10
    ]
    likely = calibration.unseen(asked)
    assert all((value > 0.5) is not each.holds for value, each in zip(likely, asked, strict=True))


def test_the_page_keeps_the_sections_of_suites_that_were_not_run(tmp_path, monkeypatch):
    page, results = tmp_path / "benchmarks.md", tmp_path / "results"
    page.write_text(
        "# Old head\n\n## Serving\n\n`python -m benchmarks serving --full`, 2026-11-23: x.\n\nKept.\n\n"
        "## Ingest\n\n`python -m benchmarks ingest`, 2026-11-22: x.\n\nReplaced.\n"
    )
    monkeypatch.setattr(report, "RESULTS", results)
    report.save(report.Report("ingest", "Ingest", [report.Table("One", ["a"], [["new"]])]), {"cpu": "one"})
    report.write_page(("ingest", "graph", "serving"), page)
    text = page.read_text()
    assert [line for line in text.splitlines() if line.startswith("## ")] == ["## Ingest", "## Serving"]
    assert "| new |" in text and "Kept." in text and "Replaced." not in text


def test_embeddings_are_kept_until_the_model_gives_others(tmp_path, monkeypatch):
    model, asked, factor = object(), [], 1.0

    def embed(embedder, source, texts):
        asked.append(list(texts))
        codes = [np.full((len(text), 28), len(text), np.uint8) for text in texts]
        return np.array([[factor * len(text), 0] for text in texts], np.float32), codes

    def opened():
        monkeypatch.setattr(maxsim, "embed_batch", embed)
        keep_embeddings("tests")

    saves = []
    monkeypatch.setattr(atexit, "register", saves.append)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    opened()
    first = maxsim.embed_batch(model, model, ["one", "three"])
    saves[0]()
    opened()
    again = maxsim.embed_batch(model, model, ["three", "one", "seventy"])
    assert asked == [["one", "three"], ["three", "one"], ["seventy"]]  # the second: whether they are still right
    assert again[0][:2].tolist() == first[0][::-1].tolist()
    assert [each.shape for each in again[1]] == [(5, 28), (3, 28), (7, 28)]
    factor = 2.0
    opened()
    assert maxsim.embed_batch(model, model, ["one"])[0].tolist() == [[6, 0]]
