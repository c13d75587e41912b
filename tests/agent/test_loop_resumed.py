"""A run that is interrupted, by Ctrl-C or a kill, goes on where it stopped; one that is done leaves nothing behind."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

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


def kept(path):
    return sorted(path.iterdir()) if path.exists() else []


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
    path = tmp_path / "agent"
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
    assert (answer.text, nodes_of(answer)) == (undisturbed.text, nodes_of(undisturbed))
    assert [hit.chunk for hit in answer.found.hits] == [hit.chunk for hit in undisturbed.found.hits]
    assert sum(step.searches for step in answer.trace) == sum(step.searches for step in undisturbed.trace)
    assert kept(path) == []


@pytest.mark.parametrize("node", ["decompose_query", "retrieve", "reflect", "generate_answer"])
def test_run_that_was_stopped_at_any_node_ends_as_if_it_was_not(tmp_path, node):
    path = tmp_path / "agent"
    interrupted(path, node=node)
    answer = run(TWO_PARTS, Library(), checkpoints=path)
    assert answer.text == run(TWO_PARTS, Library()).text
    assert kept(path) == []


def test_finished_run_leaves_nothing(tmp_path):
    path = tmp_path / "agent"
    run(ANSWERED, Library(), checkpoints=path)
    assert kept(path) == []


def test_only_its_owner_can_read_an_interrupted_run(tmp_path):
    path = tmp_path / "agent"
    interrupted(path)
    assert [stat.S_IMODE(each.stat().st_mode) for each in (path, *kept(path))] == [0o700, 0o600]


def test_where_nothing_can_be_kept_a_run_is_done_all_the_same(tmp_path):
    path = tmp_path / "agent"
    path.write_text("in the way")
    assert run(ANSWERED, Library(), checkpoints=path).text


def test_of_many_interrupted_runs_the_last_are_kept(tmp_path):
    path = tmp_path / "agent"
    for number in range(25):
        interrupted(path, run_id=f"run{number}")
    assert len(kept(path)) == 20


@pytest.mark.parametrize("value", [b"{", b"[]", b'{"steps": 3}', b'{"question": "a"}', b"\xff\x00" * 99])
def test_damaged_run_is_begun_anew(tmp_path, value):
    path = tmp_path / "agent"
    interrupted(path)
    (file,) = kept(path)
    file.write_bytes(value)
    resumed = []
    assert run(TWO_PARTS, Library(), checkpoints=path, on_resume=resumed.append).text
    assert resumed == []
    assert kept(path) == []
