"""The metrics file, read back by Prometheus's own parser."""

import bisect
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import generate_latest, parser
from prometheus_client.utils import floatToGoString

from ragscience.core.errors import UsageError
from ragscience.upkeep.prometheus_metrics import BUCKETS, MetricsFile, QuestionCounts
from tests.conftest import ROOT
from tests.upkeep.asked_made import asked, stage


def read(text):
    """{(sample, labels): value} by Prometheus's parser."""
    families = list(parser.text_string_to_metric_families(text))
    return {(s.name, tuple(sorted(s.labels.items()))): s.value for family in families for s in family.samples}


def value(text, name, **labels):
    return read(text)[name, tuple(sorted(labels.items()))]


@given(st.lists(st.floats(0, 100_000), min_size=1, max_size=8))
def test_a_histogram_has_in_each_bucket_what_is_below_it(times):
    one = asked(stages=tuple(stage("dense", 0, ms) for ms in times))
    samples = read(generate_latest(QuestionCounts([one])).decode())
    name, labels = "ragscience_stage_duration_seconds", ("stage", "dense")
    seconds = sorted(ms / 1000 for ms in times)
    for bound in BUCKETS:
        below = bisect.bisect_right(seconds, bound)
        assert samples[f"{name}_bucket", (("le", floatToGoString(bound)), labels)] == below
    assert samples[f"{name}_sum", (labels,)] == pytest.approx(sum(seconds), rel=1e-9, abs=1e-9)
    assert samples[f"{name}_count", (labels,)] == len(times)


def test_processes_at_once_lose_no_count(tmp_path):
    code = (
        "import sys\nfrom pathlib import Path\nfrom tests.upkeep.asked_made import asked\n"
        "from ragscience.upkeep.prometheus_metrics import MetricsFile\n"
        "for n in range(25):\n"
        "    one = MetricsFile(Path(sys.argv[1]))\n    one.record(asked('ask'))\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "r.prom")], cwd=ROOT) for _ in range(3)]
    assert [each.wait(60) for each in running] == [0, 0, 0]
    assert value((tmp_path / "r.prom").read_text(), "ragscience_questions_total", how="ask") == 75


@pytest.mark.parametrize(
    "content",
    [b"node_load1 0.5\n", b"my notes\n", b"\xff\xfe\n", b'ragscience_answers_total{mode="llm"} many\n', b"PK\x03\x04"],
)
def test_a_file_that_is_not_ours_is_left_alone(tmp_path, content):
    path = tmp_path / "r.prom"
    path.write_bytes(content)
    with pytest.raises(UsageError, match="is not a metrics file of this program"):
        MetricsFile(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("name", ["folder", "no/such/folder.prom", "device"])
def test_what_cannot_be_a_file_is_said_before_the_work(tmp_path, name):
    (tmp_path / "folder").mkdir()
    (tmp_path / "device").symlink_to(os.devnull)
    with pytest.raises(UsageError, match="cannot be written"):
        MetricsFile(tmp_path / name)
    assert (tmp_path / "device").is_symlink()
