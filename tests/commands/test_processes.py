"""Commands as processes of their own: those that no document shows (tests/test_docs.py runs the others)."""

import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT, ProcessCommands


@pytest.mark.parametrize(
    ("command", "code", "shown"),
    [
        ("ingest.py remove bees.pdf", 0, "bees.pdf"),
        ("ingest.py rebuild --indexes", 0, "index"),
        ("ingest.py fetch http://127.0.0.1:9/a.pdf --no-ingest", 3, "127.0.0.1:9"),
        ("query.py profiles", 0, "rrf"),
        ("query.py path bees tides", 4, "graph"),
        ("query.py eval nowhere.jsonl", 2, "nowhere.jsonl"),
        ("query.py history show", 4, "saved"),
        ("query.py history delete nowhere", 4, "nowhere"),
        ("query.py models list", 0, "embedder"),
        ("query.py --help", 0, "search"),
        ("query.py", 0, ""),
    ],
)
def test_a_command_begins_and_ends(own_home, command, code, shown):
    ran = ProcessCommands(own_home).run(*command.split())
    assert ran.code == code, ran
    assert shown in ran.out + ran.err
    assert "Traceback" not in ran.err


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
