"""The benchmarks measure what they say: the order of the runs, and the rules by which evidence counts."""

import atexit

import numpy as np
import pytest

from benchmarks import report
from benchmarks.embedding_cache import keep_embeddings
from benchmarks.quality import Place, _evidence
from benchmarks.running import by_turns, medians
from ragscience.models import maxsim


def test_sides_run_by_turns_and_the_first_round_does_not_count():
    ran = []
    results = by_turns({"a": lambda: ran.append("a") or len(ran), "b": lambda: ran.append("b") or len(ran)}, 2)
    assert ran == ["a", "b", "b", "a", "a", "b"]
    assert results == {"a": [4, 5], "b": [3, 6]}


def test_the_middle_of_the_runs_counts():
    assert medians({"a": [9.0, 1.0, 2.0], "b": [1.0, 2.0]}) == {"a": 2.0, "b": 1.5}


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


def test_the_page_keeps_the_sections_of_suites_that_were_not_run(tmp_path, monkeypatch):
    page, results = tmp_path / "benchmarks.md", tmp_path / "results"
    page.write_text(
        "# Old head\n\n## Serving\n\n`python -m benchmarks serving --full`, 2026-11-23: x.\n\nKept.\n\n"
        "## Ingest\n\n`python -m benchmarks ingest`, 2026-11-22: x.\n\nReplaced.\n"
    )
    monkeypatch.setattr(report, "RESULTS", results)
    for suite in ("ingest", "serving"):
        tables = [report.Table("One", ["a"], [["new"]]), report.Table("Two", ["a"], [["left out"]], detail=True)]
        report.save(report.Report(suite, suite.title(), tables), {"cpu": "one"})
    report.write_page(("ingest", "graph", "serving"), ["ingest"], page)
    text = page.read_text()
    assert "left out" not in text
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
