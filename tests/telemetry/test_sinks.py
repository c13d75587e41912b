"""All sinks of a run together: errors at the beginning are raised, later ones are reported."""

import subprocess
import sys
import threading

import pytest

from ragscience.core.errors import UsageError
from ragscience.upkeep.telemetry import Telemetry, open_telemetry
from tests.conftest import ROOT
from tests.telemetry.making import bare_event


def opened(said, **more):
    nothing = {"log_file": None, "metrics_file": None, "environment": {}, "with_questions": False, "offline": False}
    return open_telemetry(**{**nothing, **more}, on_problem=said.append)


def test_nothing_is_recorded_by_default():
    telemetry = opened([])
    assert not telemetry.is_on
    telemetry.record(bare_event())
    telemetry.close()


def test_a_log_and_metrics_are_written(tmp_path):
    said = []
    telemetry = opened(said, log_file=tmp_path / "q.log", metrics_file=tmp_path / "q.prom")
    assert telemetry.is_on
    telemetry.record(bare_event())
    telemetry.close()
    assert "query=" in (tmp_path / "q.log").read_text()
    assert 'ragscience_questions_total{how="search"} 1' in (tmp_path / "q.prom").read_text()
    assert said == []


def test_a_file_that_cannot_be_written_is_said_when_it_is_opened(tmp_path):
    with pytest.raises(UsageError):
        opened([], log_file=tmp_path / "none" / "q.log")


def test_one_sink_that_fails_later_leaves_the_others_alone(tmp_path):
    said = []
    telemetry = opened(said, log_file=tmp_path / "q.log", metrics_file=tmp_path / "q.prom")
    (tmp_path / "q.log").unlink()
    (tmp_path / "q.log").mkdir()
    telemetry.record(bare_event())
    telemetry.wait()
    assert len(said) == 1
    assert "q.log" in said[0]
    assert 'ragscience_questions_total{how="search"} 1' in (tmp_path / "q.prom").read_text()


def test_a_metrics_file_that_became_another_ones_is_left_alone(tmp_path):
    said = []
    telemetry = opened(said, metrics_file=tmp_path / "q.prom")
    (tmp_path / "q.prom").write_text("node_load1 0.5\n")
    telemetry.record(bare_event())
    telemetry.close()
    assert "is not a metrics file" in said[0]
    assert (tmp_path / "q.prom").read_text() == "node_load1 0.5\n"


class Slow:
    """A sink that blocks until `may` is set."""

    def __init__(self):
        self.may, self.took, self.thread = threading.Event(), [], None

    def record(self, account):
        assert self.may.wait(60)
        self.took.append(account)
        self.thread = threading.current_thread()

    def close(self):
        self.took.append("closed")


def test_who_asks_waits_for_no_sink_and_the_end_for_all():
    sink = Slow()
    telemetry = Telemetry([sink], on_problem=print)
    accounts = [bare_event(), bare_event()]
    for account in accounts:
        telemetry.record(account)
    assert sink.took == []
    sink.may.set()
    telemetry.close()
    assert sink.took == [*accounts, "closed"]
    assert sink.thread is not threading.current_thread()


@pytest.mark.parametrize("exporter", ["", "none", "console"])
def test_opentelemetry_is_imported_only_where_an_exporter_is_named(tmp_path, exporter):
    pytest.importorskip("opentelemetry.sdk.trace")
    code = (
        "import os, sys\nfrom pathlib import Path\n"
        "from ragscience.upkeep.telemetry import QuestionEvent, open_telemetry\n"
        "one = open_telemetry(log_file=Path(sys.argv[1]), metrics_file=None, environment=os.environ, offline=False,\n"
        "                     with_questions=False, on_problem=print)\n"
        "one.record(QuestionEvent('ask', '1' * 32, 'fog?', 1.0, 1.0))\none.close()\n"
        "print(len([name for name in sys.modules if name.split('.')[0] == 'opentelemetry']))\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "q.log")]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True, env={"OTEL_TRACES_EXPORTER": exporter}
    )
    assert (int(done.stdout) > 0) == (exporter == "console")
    assert ("fog?" in done.stderr) is False
    assert ('"name": "ask"' in done.stderr) == (exporter == "console")
