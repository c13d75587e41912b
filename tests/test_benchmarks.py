"""The benchmarks measure what they say: the order of the runs, and the rules by which evidence counts."""

from benchmarks import libraries, report


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


def test_a_kept_library_is_known_by_parts_of_the_code_that_are_there():
    assert [part for part in libraries.FORM if not (libraries.REPOSITORY / "ragscience" / part).exists()] == []
    assert len(libraries.fingerprint()) == 12
