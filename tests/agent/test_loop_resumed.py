"""A run that is interrupted, by Ctrl-C or a kill, goes on where it stopped; one that is done leaves nothing behind."""

import os
import signal
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ragscience.agent.loop import kept_runs
from tests.agent.agent_runs import ANSWERED, TWO_PARTS, Library, nodes_of, run

ROOT = Path(__file__).resolve().parents[2]
KILLED = """
import sys
from pathlib import Path
from tests.agent.agent_runs import TWO_PARTS, Library, run
def on_step(step):
    print(step.node, flush=True)
    if step.node == "reason":
        sys.stdin.readline()
run(TWO_PARTS, Library(), checkpoints=Path(sys.argv[1]), on_step=on_step)
"""


def rows(path):
    with sqlite3.connect(path) as db:
        counts = [db.execute(f"SELECT COUNT(*) FROM {name}").fetchone()[0] for name in ("checkpoints", "writes")]
    db.close()
    return counts


def interrupt_at(node):
    def on_step(step):
        if step.node == node:
            raise KeyboardInterrupt

    return on_step


def interrupted(path, question=TWO_PARTS, node="reason", **how):
    with pytest.raises(KeyboardInterrupt):
        run(question, Library(), checkpoints=path, on_step=interrupt_at(node), **how)


@pytest.mark.kill
def test_killed_run_goes_on(tmp_path):
    path = tmp_path / "agent.sqlite"
    command = [sys.executable, "-c", KILLED, str(path)]
    child = subprocess.Popen(
        command, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with child:
        done = [child.stdout.readline().strip() for _ in range(3)]
        child.send_signal(signal.SIGKILL)
    assert done == [b"decompose_query", b"retrieve", b"reason"]
    library, resumed = Library(), []
    answer = run(TWO_PARTS, library, checkpoints=path, on_resume=resumed.append)
    undisturbed = run(TWO_PARTS, Library())
    assert resumed == [2]
    assert TWO_PARTS not in [query for query, _ in library.asked]
    assert library.read_again
    assert (answer.text, nodes_of(answer)) == (undisturbed.text, nodes_of(undisturbed))
    assert [hit.chunk for hit in answer.found.hits] == [hit.chunk for hit in undisturbed.found.hits]
    assert sum(step.searches for step in answer.trace) == sum(step.searches for step in undisturbed.trace)
    assert rows(path) == [0, 0]


@pytest.mark.parametrize("node", ["decompose_query", "retrieve", "reflect", "generate_answer"])
def test_run_that_was_stopped_at_any_node_ends_as_if_it_was_not(tmp_path, node):
    path = tmp_path / "agent.sqlite"
    interrupted(path, node=node)
    answer = run(TWO_PARTS, Library(), checkpoints=path)
    assert answer.text == run(TWO_PARTS, Library()).text
    assert rows(path) == [0, 0]


def test_finished_run_leaves_nothing_and_keeps_nobody_else_from_reading(tmp_path):
    path = tmp_path / "agent.sqlite"
    run(ANSWERED, Library(), checkpoints=path)
    assert rows(path) == [0, 0]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_second_run_at_the_same_time_goes_without_checkpoints(tmp_path):
    path = tmp_path / "agent.sqlite"
    with kept_runs(path) as first, kept_runs(path) as second:
        assert first is not None
        assert second is None
    with kept_runs(path) as again:
        assert again is not None


@pytest.mark.parametrize(
    "content",
    [b"this is no database at all, but quite long enough to be one" * 50, b"SQLite format 3\0" + b"\xff" * 4000],
)
def test_damaged_file_is_made_anew(tmp_path, content):
    path = tmp_path / "agent.sqlite"
    path.write_bytes(content)
    assert run(ANSWERED, Library(), checkpoints=path).text
    assert rows(path) == [0, 0]


@pytest.mark.parametrize("value", [b"{", b"[]", b'{"channel_values": 3}', b'{"channel_values": {"spent": {"a": 1}}}'])
def test_damaged_checkpoint_is_begun_anew(tmp_path, value):
    path = tmp_path / "agent.sqlite"
    interrupted(path)
    db = sqlite3.connect(path)
    db.execute("UPDATE checkpoints SET checkpoint = ?", (value,))
    db.commit()
    db.close()
    resumed = []
    assert run(TWO_PARTS, Library(), checkpoints=path, on_resume=resumed.append).text
    assert resumed == []


def test_what_lies_on_disk_is_json_alone(tmp_path):
    path = tmp_path / "agent.sqlite"
    interrupted(path)
    db = sqlite3.connect(path)
    kinds = {kind for (kind,) in db.execute("SELECT type FROM checkpoints UNION SELECT type FROM writes")}
    stored = b"".join(value for (value,) in db.execute("SELECT checkpoint FROM checkpoints"))
    db.close()
    assert kinds == {"json"}
    assert b"took 3.5 days" not in stored
