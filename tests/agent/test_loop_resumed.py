"""A run that is interrupted, by Ctrl-C or a kill, goes on where it stopped; one that is done leaves nothing behind."""

import stat

import pytest

from tests.agent.agent_runs import ANSWERED, TWO_PARTS, Library, run


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
