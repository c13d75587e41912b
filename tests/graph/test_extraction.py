"""Passages become rows, a few at a time: what was read is not read again, and a run can be cut anywhere."""

import json
import shutil
import signal
import subprocess
import threading

import pytest

from ragscience.graph.graph_model import load_graph
from ragscience.library.store import Home, Library
from tests.conftest import NOBODY, Commands, started
from tests.graph.test_llm_extraction import MODEL, reply
from tests.ollama_server import OllamaServer, chat_model
from tests.pdf_factory import make_pdf


@pytest.fixture
def server():
    with OllamaServer(models={MODEL: chat_model()}) as running:
        running.default_reply = lambda _: reply([("LSTM", "METHOD"), ("Unseen", "METHOD")])
        yield running


TEXT = [
    "Seeing in fog\n\nWe propose FogNet, a new model. FogNet uses dropout.\nFogNet outperforms LSTM on SQuAD.",
    "Long short-term memory (LSTM) is older. FogNet is evaluated on MNIST.\nFogNet has a layer, and FogNet is small.",
]


@pytest.fixture(scope="module")
def ingested(tmp_path_factory, model_cache):
    """A home with three papers that were ingested, to copy."""
    home = tmp_path_factory.mktemp("ingested")
    for number in range(3):
        make_pdf(home / "papers" / f"fog{number}.pdf", [text.replace("small", f"small {number}") for text in TEXT])
    ran = Commands(home).ingest(RAG_OLLAMA_URL=NOBODY, RAG_CACHE_FOLDER=str(model_cache))
    assert ran.code == 0, ran.err
    return home


@pytest.fixture
def filled(ingested, tmp_path):
    shutil.copytree(ingested, tmp_path / "home")
    return Commands(tmp_path / "home")


def entities(home):
    with Library.open(Home(home)) as library:
        return [(entity.key, entity.mentions) for entity in load_graph(library).entities()]


def test_the_command_reads_says_so_and_reads_only_what_is_new(filled):
    ran = filled.ingest("graph")
    assert ran.code == 0, ran.err
    assert "of 3 papers: the graph has" in ran.err
    assert "After new papers, `python ingest.py graph` updates it." in ran.err
    assert "METHOD:fognet" in dict(entities(filled.home))
    assert "no new passages to read" in filled.ingest("graph").err
    before = entities(filled.home)
    assert "read " in filled.ingest("graph", "--again").err
    assert entities(filled.home) == before
    quiet = filled.ingest("graph", "-q")
    assert (quiet.code, quiet.err, quiet.out) == (0, "", "")


def test_the_graph_goes_out_and_comes_in(filled, tmp_path):
    assert filled.ingest("graph", "-q").code == 0
    ran = filled.ingest("graph", "--export", tmp_path / "out", "--graphml", tmp_path / "graph.xml")
    assert ran.code == 0, ran.err
    assert ran.err.count("entities and") == 2
    assert (tmp_path / "graph.xml").stat().st_size
    assert json.loads((tmp_path / "out" / "nodes.jsonl").read_text().splitlines()[0])["node_id"]
    came = filled.ingest("graph", "--import", tmp_path / "out")
    assert "imported" in came.err


def test_an_llm_reads_through_the_command(filled, server):
    with_llm = {"RAG_OLLAMA_URL": server.url, "RAG_LLM": MODEL}
    server.script("no JSON", "still none")
    ran = filled.ingest("graph", "--llm", **with_llm)
    assert ran.code == 3, ran.err
    assert "gave no usable JSON" in ran.err
    assert "1 failed" in ran.err
    again = filled.ingest("graph", "--llm", "--depth", "full", **with_llm)
    assert again.code == 0, again.err
    assert "`python ingest.py graph --llm --depth full`" in again.err
    assert "METHOD:lstm" in {key.replace("long short term memory", "lstm") for key, _ in entities(filled.home)}


def kept(home):
    with Library.open(Home(home)) as library:
        return len(library.graph.rows())


@pytest.mark.kill
@pytest.mark.parametrize(("how", "code"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)])
def test_a_run_that_is_cut_has_kept_each_reply_and_the_next_one_goes_on(filled, server, how, code):
    """The third reply never comes: the process is ended while it waits for it."""
    hold = server.fault("/api/chat", after=2, until=threading.Event(), times=None)
    env = {"RAG_OLLAMA_URL": server.url, "RAG_LLM": MODEL}
    with started(filled.home, "ingest.py", "graph", "--llm", env=env) as process:
        while len(server.of("/api/chat")) < 3:
            assert process.poll() is None, process.stderr.read()
            try:
                process.wait(timeout=0.02)
            except subprocess.TimeoutExpired:
                continue
        process.send_signal(how)
        hold.until.set()
        err = process.stderr.read()
        assert process.wait(timeout=60) == code
    assert kept(filled.home) == 2
    if how == signal.SIGINT:
        assert "2 of 3 passages saved; the same command continues from there." in err
    server.clear_faults()
    before = len(server.of("/api/chat"))
    assert filled.ingest("graph", "--llm", **env).code == 0
    assert len(server.of("/api/chat")) == before + 1
    assert kept(filled.home) == 3


@pytest.mark.kill
def test_a_local_run_killed_at_any_time_ends_as_an_undisturbed_one(ingested, tmp_path):
    for name in ("calm", "killed"):
        shutil.copytree(ingested, tmp_path / name)
    calm, killed = Commands(tmp_path / "calm"), Commands(tmp_path / "killed")
    for patience in (0.3, 0.4, 0.5):
        with started(killed.home, "ingest.py", "graph") as process:
            try:
                process.wait(timeout=patience)
            except subprocess.TimeoutExpired:
                process.kill()
    assert calm.ingest("graph").code == killed.ingest("graph").code == 0
    assert entities(calm.home) == entities(killed.home)
    assert entities(calm.home)
