"""Two Ray nodes make the library that one process makes, to the bit, though a node and the run itself are killed."""

import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys

import psutil
import pytest

from tests.conftest import ROOT
from tests.library.workers.papers import contents, start, wait_for

needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="Ray is not installed: pip install -r requirements-lab.txt"
)


@pytest.fixture
def cluster(monkeypatch):
    """The address of a cluster of two nodes, and their processes."""
    monkeypatch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    nodes = subprocess.Popen(
        [sys.executable, "-m", "tests.library.workers.ray_nodes"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with nodes:
        told = json.loads(nodes.stdout.readline())
        try:
            yield told["address"], [psutil.Process(pid) for pid in told["nodes"]]
        finally:
            nodes.stdin.close()


def kill(node):
    """SIGKILL for a node with its workers and their readers."""
    for process in (node, *node.children(recursive=True)):
        process.kill()


@needs_ray
@pytest.mark.ray
def test_two_nodes_make_the_library_of_one_process_though_one_is_killed_and_the_run_too(
    cluster, papers, by_one_process, tmp_path
):
    (address, nodes), home, count = cluster, tmp_path / "home", by_one_process[0]
    with start(home, papers, "--ray", address) as process:
        wait_for(f"2 workers of the Ray cluster at {address}\n", process)
        wait_for(" added ", process)
        process.kill()
    some, _ = contents(home)
    assert 1 <= some < count
    with start(home, papers, "--ray", address) as process:
        wait_for(" added ", process)
        os.killpg(process.pid, signal.SIGINT)
        said = process.stderr.read()
    assert process.returncode == 130
    assert f"of {count + 1 - some} papers" in said
    assert "Traceback" not in said
    with start(home, papers, "--ray", address) as process:
        wait_for(" added ", process)
        kill(nodes[0])
        said = process.stderr.read()
    assert f"the library has {count} papers" in said
    assert contents(home) == by_one_process


@pytest.fixture
def listener():
    """The address of something that listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def failed(home, papers, *options):
    """What a run says that fails."""
    with start(home, papers, *options) as process:
        said = process.stderr.read()
    assert process.returncode in (1, 2), said
    assert "Traceback" not in said
    assert contents(home)[0] == 0
    return said


def test_a_cluster_that_is_not_there_is_said_at_once(tmp_path, papers):
    said = failed(tmp_path / "home", papers, "--ray", "127.0.0.1:9")
    assert "No Ray cluster answers at 127.0.0.1:9: " in said
    assert "`ray start --head --port=6379` starts one; see docs/scale.md." in said


def test_without_ray_it_is_said_how_to_install_it(tmp_path, papers, listener, monkeypatch):
    (tmp_path / "ray.py").write_text("raise ImportError('as if it were not there')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    said = failed(tmp_path / "home", papers, "--ray", listener)
    assert "--ray needs the package ray, which is not installed." in said
    assert "pip install -r requirements-lab.txt" in said


def test_another_version_is_said_with_both(tmp_path, papers, listener, monkeypatch):
    mismatch = (
        "Version mismatch: The cluster was started with:\n    Ray: 2.9.0\n    Python: 3.11.7\n"
        "This process on here was started with:\n    Ray: 2.60.0\n    Python: 3.11.7\n"
    )
    raising = f"def init(*_, **__):\n    raise RuntimeError({mismatch!r})\n"
    (tmp_path / "ray.py").write_text(f"__version__ = '2.60.0'\n{raising}")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    said = failed(tmp_path / "home", papers, "--ray", listener)
    assert f"The Ray cluster at {listener} cannot be used: Version mismatch: " in said
    assert "Ray: 2.9.0 Python: 3.11.7" in said
    assert "`pip install ray==2.60.0` is ours." in said
