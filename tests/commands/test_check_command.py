import json

import pytest

DRAFT = """Cobalt oxide gives the blue colour of the glaze (kilns.pdf).
The glaze matures at 1380 degrees Celsius (kilns.pdf, p.1).

It is known for long (gone.pdf).
"""


@pytest.fixture
def draft(tmp_path):
    (tmp_path / "draft.md").write_text(DRAFT)
    return tmp_path / "draft.md"


def test_a_draft_is_shown_sentence_by_sentence(asked, draft):
    ran = asked.query("check", draft)
    assert ran.code == 3
    assert [line.split("\t")[0::2] for line in ran.out.splitlines()] == [
        ["draft.md:2", "partly: number: “1380” is printed “1280” (kilns.pdf, p.1)"],
        ["draft.md:4", "not in the library: gone.pdf"],
    ]
    assert ran.err.splitlines()[-1] == "3 sentences: 1 held, 1 partly, 1 not in the library."


def test_editors_and_programs_read_it(asked, draft):
    lines = asked.query("check", draft, "--format", "lines").out.splitlines()
    assert lines[0] == f"{draft}:2:1: partly: number: “1380” is printed “1280” (kilns.pdf, p.1)"
    found = json.loads(asked.query("check", draft, "--json").out)
    assert found["counts"] == {"held": 1, "partly": 1, "not in the library": 1}
    assert [(one["line"], one["verdict"]) for one in found["sentences"]] == [
        (1, "held"),
        (2, "partly"),
        (4, "not in the library"),
    ]
    sarif = json.loads(asked.query("check", draft, "--format", "sarif").out)
    assert sarif["version"] == "2.1.0"
    first = sarif["runs"][0]["results"][0]
    assert (first["ruleId"], first["level"]) == ("partly", "warning")
    assert first["locations"][0]["physicalLocation"]["region"] == {"startLine": 2, "startColumn": 1}
    assert {one["id"] for one in sarif["runs"][0]["tool"]["driver"]["rules"]} >= {"partly", "not held", "suggested"}


def test_the_cited_pages_are_written_with_marks(asked, draft, tmp_path):
    import pymupdf

    assert asked.query("check", draft, "--annotate", tmp_path / "marked").code == 3
    with pymupdf.open(tmp_path / "marked" / "kilns.pdf") as marked:
        assert len(marked) == 1
        assert len(list(marked[0].annots())) >= 2


def test_exit_codes_are_for_scripts(asked, tmp_path):
    (tmp_path / "good.txt").write_text("Cobalt oxide gives the blue colour of the glaze (kilns.pdf).")
    (tmp_path / "none.txt").write_text("Nothing is cited here.")
    assert asked.query("check", tmp_path / "good.txt").code == 0
    assert asked.query("check", tmp_path / "none.txt").code == 4
    assert asked.query("check", tmp_path / "gone.txt").code == 2
