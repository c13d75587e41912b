"""One code for one outcome, whatever the command: what is not there is 4, what cannot be meant is 2."""

import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT, Commands, copied
from tests.warm_processes import run_warm

QUESTION = "How fast do bees fly in fog?"

LISTINGS = [
    ("ingest.py", "list"),
    ("query.py", "search", QUESTION),
    ("query.py", "ask", QUESTION),
    ("query.py", "bib"),
    ("query.py", "models"),
]


@pytest.fixture(scope="module")
def commands(three_papers, tmp_path_factory):
    return Commands(copied(three_papers, tmp_path_factory.mktemp("codes") / "home"))


@pytest.mark.parametrize("words", LISTINGS, ids=" ".join)
def test_a_reader_that_has_read_enough_is_no_failure(commands, words):
    read_end, write_end = os.pipe()
    os.close(read_end)  # as after `| head -1`, but at once
    env = {**os.environ, "RAG_HOME": str(commands.home), "RAG_AUDIT": "false", "RAG_HISTORY": "false"}
    try:
        done = run_warm(
            [sys.executable, ROOT / words[0], *words[1:]], stdout=write_end, stderr=subprocess.PIPE, env=env
        )
    finally:
        os.close(write_end)
    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stderr


INTERRUPTS_ITSELF = """
import os, signal, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["INTERRUPTED_AT"]:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
"""


@pytest.mark.parametrize(
    ("command", "module"),
    [
        ("query.py list", "ragscience.cli.running"),
        ("query.py search fog", "typer"),
        ("query.py search fog", "ragscience.engine.library_engine"),
        ("query.py search fog", "numpy"),
        ("ingest.py list", "typer"),
        ("config.py", "pydantic"),
        ("-m ragscience list", "typer"),
    ],
)
def test_an_interrupt_while_a_command_starts_is_one_line(three_papers, tmp_path, command, module):
    (tmp_path / "sitecustomize.py").write_text(INTERRUPTS_ITSELF)
    environment = {
        **os.environ,
        "RAG_HOME": str(three_papers),
        "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}",
        "INTERRUPTED_AT": module,
    }
    ran = subprocess.run(
        [sys.executable, *command.split()], cwd=ROOT, env=environment, capture_output=True, timeout=100, check=False
    )
    assert (ran.returncode, ran.stderr.decode()) == (130, "stopped.\n")
