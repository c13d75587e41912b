"""One code for one outcome, whatever the command: what is not there is 4, what cannot be meant is 2."""

import os
import subprocess
import sys

import pytest

from ragscience.core.errors import EXIT_CODES
from tests.conftest import ROOT, Commands, copied
from tests.warm_processes import run_warm

QUESTION = "How fast do bees fly in fog?"

NOT_THERE = [
    ("ingest.py", "show", "nosuch"),
    ("ingest.py", "show", "bees.pdf", "--page", "900"),
    ("ingest.py", "remove", "nosuch"),
    ("query.py", "related", "nosuch"),
    ("query.py", "bib", "nosuch"),
    ("query.py", "graph", "nosuch"),
    ("query.py", "path", "bees", "nosuch"),
    ("query.py", "open", "1", "--answer", "nosuch"),
    ("query.py", "history", "search", "nosuch"),
    ("query.py", "history", "delete", "nosuch"),
    *(
        ("query.py", command, QUESTION, *filters)
        for command in ("ask", "search")
        for filters in (
            ("--paper", "nosuch"),
            ("--section", "nosuch"),
            ("--author", "nosuch"),
            ("--year", "1950"),
            ("--pages", "900"),
        )
    ),
    ("query.py", "ask", "Who won the chess olympiad of 1974?", "--strict"),
]
MEANT_WRONGLY = [
    ("ingest.py", "show", "*s*"),
    ("ingest.py", "remove", "*"),
    ("query.py", "related", "*"),
    ("query.py", "bib", "bees.pdf", "--cited", "last"),
    ("query.py", "ask", QUESTION, "--highlight", "marked.txt"),
    ("query.py", "search", QUESTION, "--year", "soon"),
    ("query.py", "search", QUESTION, "--kind", "nosuch"),
    ("query.py", "map", "map.pdf"),
]
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


@pytest.mark.parametrize("words", NOT_THERE, ids=" ".join)
def test_what_is_not_there_is_4(commands, words):
    ran = commands.run(*words)
    assert ran.code == 4, ran.err
    assert ran.err.strip()


@pytest.mark.parametrize("words", MEANT_WRONGLY, ids=" ".join)
def test_what_cannot_be_meant_is_2_and_nothing_is_done(commands, words):
    before = sorted(commands.home.rglob("*.*")), len(commands.ingest("list").out.splitlines())
    ran = commands.run(*words)
    assert (ran.code, ran.out) == (2, ""), ran.err
    assert ran.err.startswith("error: ")
    assert (sorted(commands.home.rglob("*.*")), len(commands.ingest("list").out.splitlines())) == before


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


def test_the_table_has_every_code():
    assert set(EXIT_CODES) == {0, 1, 2, 3, 4, 5, 130}


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
