import json
import signal

import pytest

from tests.conftest import started
from tests.ollama_server import OllamaServer, chat_model

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


def test_a_quote_is_shown_with_its_page_and_what_differs(asked):
    ran = asked.query("quote", "In dense fog they fly faster than any other insect")
    assert ran.code == 4
    assert ran.out == "Not found in the papers.\n"
    ran = asked.query("quote", "The", "mean flight speed in fog was 4.7 metres per second")
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "(bees.pdf, p.2)  differs",
        "  The mean flight speed in fog was 3.7 metres per second",
        "  - number: “4.7” is printed “3.7”",
    ]


def test_quotes_of_a_file_are_found_line_by_line(asked, tmp_path):
    (tmp_path / "quotes.txt").write_text('Cobalt oxide gives the blue colour\n{"id": "q", "question": "not there"}\n')
    ran = asked.query("quote", "--from", tmp_path / "quotes.txt", "--json")
    assert ran.code == 4
    first, second = map(json.loads, ran.out.splitlines())
    (cited,) = first["places"][0]["citations"]
    assert (cited["file"], cited["page"], cited["quote"]) == ("kilns.pdf", 1, "Cobalt oxide gives the blue colour")
    assert len(cited["boxes"]) == 1
    assert first["places"][0]["differences"] == []
    assert (second["id"], second["places"]) == ("q", [])


def test_only_named_papers_are_looked_at(asked):
    assert asked.query("quote", "Cobalt oxide gives the blue colour", "--paper", "bees").code == 4
    assert asked.query("quote", "Cobalt oxide gives the blue colour", "--paper", "no such").code == 4
    assert asked.query("quote").code == 2


def test_a_language_model_is_a_second_opinion_and_changes_no_verdict(asked, draft, monkeypatch):
    with OllamaServer(models={"llama3.1:8b": chat_model()}) as server:
        monkeypatch.setenv("RAG_OLLAMA_URL", server.url)
        server.script('{"answers": "no"}')
        (line, _) = asked.query("check", draft, "--llm").out.splitlines()
        assert line.split("\t")[2] == (
            "partly: number: “1380” is printed “1280”; llama3.1:8b: the passages do not say so (kilns.pdf, p.1)"
        )
        (request,) = (one for one in server.requests if one.path == "/api/chat")
        said = request.body["messages"][-1]["content"]
        assert "1280" in said
        assert said.endswith("Sentence: The glaze matures at 1380 degrees Celsius.")
        server.script('{"answers": "no"}')
        draft.write_text(f"{DRAFT}\nThe glaze matures at 1480 degrees Celsius in a kiln.\n")
        asked.query("check", draft, "--llm", "--suggest")  # what cites nothing is not asked about
        assert len([one for one in server.requests if one.path == "/api/chat"]) == 2
        draft.write_text(DRAFT)
        server.script("I cannot say.", "Still not.")
        ran = asked.query("check", draft, "--llm")
        assert "llama3.1" not in ran.out
        assert "No second opinion: llama3.1:8b gave no usable JSON" in ran.err
    monkeypatch.setenv("RAG_OLLAMA_URL", "http://127.0.0.1:1")
    ran = asked.query("check", draft, "--llm")
    assert (ran.code, len(ran.err.splitlines())) == (1, 2), ran.err


def test_watch_checks_again_when_the_draft_changes(asked, draft):
    with started(asked.home, "query.py", "check", draft, "--watch", "--format", "lines", "-q") as process:
        assert process.stdout.readline().startswith(f"{draft}:2:1: partly")
        assert process.stdout.readline().startswith(f"{draft}:4:1: not in the library")
        draft.with_suffix(".new").write_text("The glaze matures at 1480 degrees Celsius (kilns.pdf, p.1).\n")
        draft.with_suffix(".new").replace(draft)
        assert "“1480” is printed “1280”" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.communicate()
    assert process.returncode == 130
