"""`ingest.py doctor` as a process: its lines, its table, its JSON, its exit code."""

import json
import os
import pty
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace

import pytest

from ragscience.core.records import EmbedderIdentity
from ragscience.library.sealed_rows import read_state, write_state
from ragscience.library.store import Home, Library
from tests.conftest import NOBODY, ROOT
from tests.library.making import add, numbered_paper
from tests.ollama_server import OllamaServer, chat_model
from tests.output_schemas import check_output
from tests.warm_processes import run_warm


@pytest.fixture
def findings(commands):
    """(exit code, findings by area) of a doctor in the home."""

    def look(*args, **env):
        ran = commands.ingest("doctor", "--json", *args, **env)
        assert ran.err == ""
        shown = json.loads(ran.out)
        check_output(shown, "doctor")
        by_area = {}
        for one in shown["findings"]:
            by_area.setdefault(one["area"], []).append(one)
        return ran.code, by_area

    return look


def test_models_are_looked_for_and_the_network_only_on_demand(findings):
    with OllamaServer(models={"llama3.1:8b": chat_model()}) as server:
        code, quiet = findings(RAG_OLLAMA_URL=server.url)
        assert (code, "network" in quiet) == (0, False)
        assert [one["message"].split(":")[0] for one in quiet["models"]] == ["embedder", "reranker", "answer"]
        assert "llama3.1:8b" in quiet["models"][2]["message"]
        arxiv = f"{server.url}/api/version"
        code, asked = findings("--network", RAG_OLLAMA_URL=server.url, RAG_ARXIV_URL=arxiv)
        assert len(asked["network"]) == 2
        code, offline = findings("--network", RAG_OFFLINE="1", RAG_ARXIV_URL=f"{NOBODY}/api/query")
        assert [one["severity"] for one in offline["network"]] == ["info"]


def test_wrong_settings_are_findings_and_the_rest_is_looked_at(findings):
    code, found = findings(RAG_TOPK="5", RAG_COLOUR="red")
    assert code == 0
    assert {one["severity"] for one in found["settings"]} == {"warning"}
    assert [one["message"].split(";")[0] for one in found["settings"]] == [
        "There is no setting RAG_COLOUR",
        "There is no setting RAG_TOPK",
    ]
    assert "disk" in found
    code, found = findings(RAG_TOP_K="many")
    assert code == 1
    assert "RAG_TOP_K is 'many'" in found["settings"][0]["message"]
    assert "disk" in found


def test_a_library_of_another_embedder_is_an_error(commands, findings, tmp_path):
    home = Home(commands.home)
    with Library.open_for_writing(home) as library:
        add(library, numbered_paper(1))
    code, found = findings()
    assert code == 1
    assert "not what this library was made with" in found["models"][0]["message"]
    assert "rebuild --embeddings" in found["models"][0]["remedy"]
    with closing(sqlite3.connect(home.database)) as db, db:
        other = EmbedderIdentity("sentence-transformers", "some/model", "", 12)
        write_state(db, replace(read_state(db), embedder=other))
    code, found = findings(HF_HUB_CACHE=str(tmp_path))
    assert next((one["severity"], one["message"]) for one in found["models"]) == (
        "error",
        "embedder: The embedding model some/model is not on this machine.",
    )


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["doctor", "--json"], ["checking contents…", "checking indexes…"]),
        (["doctor", "--json", "--fast"], ["checking indexes…"]),
        (["duplicates", "--json"], ["checking pairs of papers, 1 of 1…"]),
        (["duplicates", "--json", "--quiet"], []),
    ],
)
def test_a_check_says_on_the_terminal_what_it_looks_at_and_leaves_stdout_alone(commands, command, said):
    with Library.open_for_writing(Home(commands.home)) as library:
        add(library, numbered_paper(1))
    ours, theirs = pty.openpty()
    try:
        ran = run_warm(
            [sys.executable, str(ROOT / "ingest.py"), *command],
            stdout=subprocess.PIPE,
            stderr=theirs,
            env={**os.environ, "RAG_HOME": str(commands.home)},
        )
        os.set_blocking(ours, False)
        try:
            shown = os.read(ours, 65536).decode()
        except BlockingIOError:
            shown = ""
    finally:
        os.close(theirs)
        os.close(ours)
    json.loads(ran.stdout)
    assert [line for line in said if line not in shown] == []
    assert ("contents" in shown) == ("--json" in command and "doctor" in command and "--fast" not in command)
    assert shown.endswith("\r\x1b[K") if said else shown == ""
