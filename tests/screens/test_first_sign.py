"""A sign is seen before anything is waited for: before the libraries are imported, while a model says nothing."""

import os
import re
import subprocess
import sys
import threading

import pytest

from tests.conftest import ROOT
from tests.ollama_server import OllamaServer, chat_model
from tests.screens.emulator import CommandTerminal, Terminal

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
        ("query.py search fog", "typer"), ("ingest.py", "typer"), ("-m ragscience list", "typer"),
        ("query.py what is fog", ENGINE), ("query.py ask --agent fog", ENGINE), ("query.py chat", ENGINE),
        ("query.py eval questions.jsonl", ENGINE), ("query.py map map.html", ENGINE),
        ("query.py related bees.pdf", ENGINE), ("ingest.py add papers", ENGINE), ("ingest.py sync", ENGINE),
        ("ingest.py rebuild", ENGINE), ("ingest.py graph", ENGINE), ("ingest.py duplicates", ENGINE),
        ("ingest.py doctor", ENGINE),
    ],
)  # fmt: skip
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


def test_a_model_that_says_nothing_is_waited_for_in_sight(library):
    with OllamaServer(models={"llama3.1:8b": chat_model()}) as server:
        server.fault("/api/chat", until=threading.Event(), cut_after=0, times=None)
        environment = {"RAG_OLLAMA_URL": server.url, "RAG_EMBEDDER": "embedded"}
        with CommandTerminal(library, "query.py", "ask", "How fast do bees fly?", **environment) as terminal:
            for second in (1, 2):
                said = re.compile(rf"… [{second}-9] s, Ctrl-C stops$")
                terminal.read_until(lambda: server.of("/api/chat") and said.search(terminal.emulator.shown[-1]))  # noqa: B023
            terminal.type("\x03")
            assert terminal.end() == 130
        assert terminal.emulator.shown[-2:] == ["stopped.", ""]
