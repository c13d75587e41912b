"""The commands with everything on: one question's JSON, log line and spans agree."""

import importlib.util
import json
import os
import re
import subprocess
import sys

import pytest

from ragscience.upkeep.otel_spans import span_tree
from ragscience.upkeep.telemetry import log_line
from tests.conftest import ROOT
from tests.ollama_server import OllamaServer, chat_model
from tests.output_schemas import check_output
from tests.upkeep.test_log_line import fields

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


@pytest.fixture(scope="module")
def page():
    spec = importlib.util.spec_from_file_location("telemetry_page", ROOT / "tools" / "telemetry_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_one_answer_has_one_trace_id_everywhere_and_looks_as_the_page_shows(asked, tmp_path, page):
    pytest.importorskip("opentelemetry.sdk.trace")
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
    assert shape(line) == shape(log_line(page.example()))
    shown = span_tree(page.example(), with_questions=False)
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


def test_nothing_of_telemetry_is_loaded_or_written_unless_it_is_asked_for(library, tmp_path):
    code = (
        "import runpy, sys\nsys.argv = ['query.py', 'search', 'fog', '--quiet']\n"
        "names = ('opentelemetry', 'prometheus_client', 'ragscience.upkeep.otel_spans')\n"
        "try: runpy.run_path('query.py', run_name='__main__')\n"
        "finally: print(sorted(name for name in sys.modules if name.startswith(names)), file=sys.stderr)\n"
    )
    home = {**os.environ, "RAG_HOME": str(library), "OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector.example"}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, env=home)
    assert done.stderr.splitlines()[-1] == "[]"
