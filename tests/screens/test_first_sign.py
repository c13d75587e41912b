"""A sign is seen before anything is waited for: before the libraries are imported, while a model says nothing."""

import os
import re
import subprocess
import sys
import threading

import pytest

from tests.conftest import ROOT, copied
from tests.ollama_server import OllamaServer, chat_model
from tests.screens.emulator import Terminal
from tests.screens.sessions import Processes, link_scripts

WAITS_AT_AN_IMPORT = """
import os, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["WAITS_AT"]:
            os.read(int(os.environ["WAITS_FOR"]), 1)

sys.meta_path.insert(0, Finder())
"""
ENGINE = "ragscience.engine.library_engine"


@pytest.mark.parametrize(
    ("command", "module"),
    [
        ("query.py search fog", "typer"),
        ("ingest.py", "typer"),
        ("-m ragscience list", "typer"),
        ("query.py what is fog", ENGINE),
        ("query.py ask --agent fog", ENGINE),
        ("query.py chat", ENGINE),
        ("query.py eval questions.jsonl", ENGINE),
        ("query.py map map.html", ENGINE),
        ("query.py related bees.pdf", ENGINE),
        ("ingest.py add papers", ENGINE),
        ("ingest.py sync", ENGINE),
        ("ingest.py rebuild", ENGINE),
        ("ingest.py graph", ENGINE),
        ("ingest.py duplicates", ENGINE),
        ("ingest.py doctor", ENGINE),
    ],
)
def test_a_command_gives_a_sign_before_it_imports_what_takes_long(three_papers, tmp_path, command, module):
    (tmp_path / "sitecustomize.py").write_text(WAITS_AT_AN_IMPORT)
    waits, lets_go = os.pipe()
    environment = {
        **os.environ,
        "RAG_HOME": str(three_papers),
        "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}",
        "TERM": "xterm",
        "WAITS_AT": module,
        "WAITS_FOR": str(waits),
    }
    with Terminal(80) as terminal:
        process = subprocess.Popen(
            [sys.executable, *command.split()], cwd=ROOT, env=environment, pass_fds=[waits], **terminal.streams()
        )
        try:
            terminal.read_until(lambda: process.poll() is not None or terminal.emulator.shown[-1])
            assert process.poll() is None, "it ended before it got there"
            assert terminal.emulator.shown == ["starting…"]
        finally:
            process.kill()
            process.wait()
            os.close(waits)
            os.close(lets_go)


@pytest.fixture
def silent_server():
    """A server with a model that takes questions and never says a word."""
    with OllamaServer(models={"llama3.1:8b": chat_model()}) as server:
        server.fault("/api/chat", until=threading.Event(), cut_after=0, times=None)
        yield server


@pytest.fixture
def processes(silent_server, three_papers, tmp_path):
    home = copied(three_papers, tmp_path / "home")
    link_scripts(home)
    return Processes(home, RAG_OLLAMA_URL=silent_server.url, RAG_EMBEDDER="embedded")


def test_a_model_that_says_nothing_is_waited_for_in_sight(silent_server, processes):
    with Terminal(80) as terminal:
        screen = terminal.emulator

        def seconds():
            return re.search(r"… (\d+) s, Ctrl-C stops$", screen.shown[-1])

        processes.start('python query.py ask --no-history "How fast do bees fly in fog?"', terminal)
        for second in (1, 2):
            processes.read_until(
                lambda n=second: silent_server.of("/api/chat") and seconds() and int(seconds()[1]) >= n, terminal
            )
            assert processes.ended is None, "\n".join(screen.shown)
        terminal.type("\x03")
        processes.read_until(lambda: False, terminal)
        assert (processes.ended, screen.shown[-2:]) == (130, ["stopped.", ""])
