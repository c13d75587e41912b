"""The log line: its fields, and that nothing in it can be forged."""

import json
import re
import subprocess
import sys

import pytest

from ragscience.upkeep.telemetry import log_line
from tests.conftest import ROOT
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
