"""Ctrl-C while a process of a command starts."""

import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT

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
