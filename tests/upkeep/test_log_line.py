"""The log line: its fields, and that nothing in it can be forged."""

import json
import re
import subprocess
import sys

import pytest

from ragscience.upkeep.otel_spans import span_tree
from ragscience.upkeep.telemetry import log_line
from tests.conftest import ROOT
from tests.ollama_server import OllamaServer, chat_model
from tests.output_schemas import check_output
from tests.upkeep.asked_made import TRACE, asked, asked_of_a_model

VALUE = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|\S+)')


def fields(line):
    return {name: json.loads(value) if value[0] == '"' else value for name, value in VALUE.findall(line)}


def test_the_line_has_what_the_production_notes_ask_for():
    line = log_line(asked_of_a_model())
    assert line.startswith(f'2026-01-01T00:00:00.000+00:00 [INFO] trace_id={TRACE} ask query="How fast?" answer_id=')
    assert fields(line) == {
        "trace_id": TRACE,
        "query": "How fast?",
        "answer_id": TRACE[:12],
        "search_ms": "20.0",
        "retrieval_ms": "10.0",
        "embed_ms": "3.0",
        "dense_ms": "1.0",
        "bm25_ms": "2.0",
        "llm_ms": "70.0",
        "check_ms": "9.0",
        "total_ms": "100.0",
        "passages": "1",
        "profile": "default",
        "tokens": "940",
        "mode": "llm",
        "refused": "no",
        "supported": "1",
        "unsupported": "0",
        "llm": "llama3.1:8b",
    }


@pytest.mark.parametrize(
    "question",
    [
        'a\n2026-01-01 [INFO] trace_id=1 ask query="forged"',
        "a\r\x85\u2028\u2029b",
        '" refused=yes',
        "\x1b[31mred",
        "\\",
    ],
)
def test_a_question_forges_neither_a_line_nor_a_field(question):
    line = log_line(asked(question=question))
    assert line.isprintable()
    assert len(line.splitlines()) == 1
    assert fields(line)["query"] == question
    assert "refused" not in fields(line)


def test_processes_that_share_a_log_tear_no_line(tmp_path):
    code = (
        "import sys\nfrom pathlib import Path\nfrom tests.upkeep.asked_made import asked\n"
        "from ragscience.upkeep.telemetry import LogFile\nlog = LogFile(Path(sys.argv[1]))\n"
        "for n in range(200): log.record(asked('ask', sys.argv[2] * 150, trace_id=sys.argv[2] * 32))\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "q.log")]
    running = [subprocess.Popen([*command, each], cwd=ROOT) for each in "abc"]
    assert [each.wait(60) for each in running] == [0, 0, 0]
    lines = (tmp_path / "q.log").read_text().splitlines()
    assert len(lines) == 600
    assert {fields(line)["query"] for line in lines} == {each * 150 for each in "abc"}
    assert all(set(fields(line)["query"]) == set(fields(line)["trace_id"]) for line in lines)


ANSWER = "Bees fly at 3.7 metres per second in fog (bees.pdf, p.2)."
QUESTION = "How fast do bees fly in fog?"


def spans_of(text):
    """What the console exporter wrote: one JSON object after the other, among other lines."""
    decoder, found, at = json.JSONDecoder(), [], text.find("{\n")
    while at >= 0:
        span, end = decoder.raw_decode(text, at)
        found.append(span)
        at = text.find("{\n", end)
    return found


def shape(text):
    """A line with its numbers and ids taken out."""
    return re.sub(r"=(\"[^\"]*\"|\S+)", "=", re.sub(r"^\S+", "", text.strip()))


def test_one_answer_has_one_trace_id_everywhere_and_looks_as_the_page_shows(asked, tmp_path):
    pytest.importorskip("opentelemetry.sdk.trace")
    from tools.telemetry_page import example

    log = tmp_path / "q.log"
    with OllamaServer(models={"llama3.1:8b": chat_model()}) as server:
        server.script(ANSWER, prompt_eval_count=700, eval_count=20)
        ran = asked.query(
            *("ask", QUESTION, "--json", "--log", log),
            RAG_OLLAMA_URL=server.url,
            RAG_RERANK="late-interaction",
            OTEL_TRACES_EXPORTER="console",
        )
    assert ran.code == 0, ran.err
    answer = json.loads(ran.out)
    check_output(answer, "ask")
    (line,) = log.read_text().splitlines()
    logged = fields(line)
    spans = spans_of(ran.err)
    assert {int(span["context"]["trace_id"], 16) for span in spans} == {int(answer["trace_id"], 16)}
    assert (logged["trace_id"], logged["answer_id"]) == (answer["trace_id"], answer["answer_id"])
    # One timing, written twice.
    for name, taken in answer["timings_ms"].items():
        if name == "first_token_ms":
            continue
        assert logged[name] == f"{taken:.1f}"
    # docs/telemetry.md shows such a question.
    assert shape(line) == shape(log_line(example()))
    shown = span_tree(example(), with_questions=False)
    ids = {span["context"]["span_id"]: span["name"] for span in spans}
    assert {(span["name"], ids.get(span["parent_id"]), *sorted(span["attributes"])) for span in spans} == {
        (span.name, None if span.parent is None else shown[span.parent].name, *sorted(span.attributes))
        for span in shown
    }


@pytest.mark.parametrize("command", ["ask", "search", "chat"])
def test_a_log_that_cannot_be_written_is_said_before_the_work(commands, command):
    words = [command] if command == "chat" else [command, QUESTION]
    ran = commands.query(*words, "--log", commands.home / "none" / "file", stdin=b"fog?\n")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("error:") == 1
    assert "cannot be written" in ran.err


def test_nothing_of_telemetry_is_loaded_unless_it_is_asked_for(asked, monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector.example")
    modules = asked.imported_by("query.py", "search", "fog", "--quiet")
    assert "ragscience.upkeep.telemetry" in modules
    assert not {"opentelemetry", "prometheus_client", "ragscience.upkeep.otel_spans"} & modules
