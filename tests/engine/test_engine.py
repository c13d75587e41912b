"""The engine itself: what it gives, warns of, keeps and ends."""

import cProfile
import gc
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event, Thread

import pytest

import ragscience
from ragscience import AskRequest, Engine, SearchRequest
from ragscience.core.errors import Cancelled, RagScienceError
from ragscience.core.settings import default_settings, load_settings
from ragscience.engine import Searched, Warned
from ragscience.search.profiles import profile_of
from tests.ollama_server import OllamaServer, chat_model
from tests.pdf_factory import make_pdf

ROOT = Path(__file__).resolve().parents[2]
SPEED = "How fast do bees fly in fog?"


def test_every_name_that_the_package_offers_is_there():
    assert all(getattr(ragscience, name) is not None for name in ragscience.__all__)
    assert all(getattr(ragscience.engine, name) is not None for name in ragscience.engine.__all__)


def test_the_package_and_the_engine_load_nothing_heavy():
    script = "import sys, ragscience.engine\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not {"numpy", "faiss", "onnxruntime", "rich", "typer", "pydantic"} & set(done.stdout.split())


def test_a_warning_belongs_to_its_own_question_alone(engine):
    events = []
    warned = engine.ask(AskRequest(SPEED, graph=True), on_event=events.append)
    after = engine.ask(AskRequest(SPEED))
    (warning,) = [text for text in warned.warnings if "no knowledge graph" in text]
    assert Warned(warning) in events
    assert warning not in after.warnings
    assert warning not in engine.history.audit_record(after.answer_id)["warnings"]


@pytest.mark.parametrize("plain", [False, True])
def test_of_a_long_question_beginning_and_end_are_searched_for(engine, plain):
    events, filler = [], "1,2-3 " * 1000
    said = engine.ask(AskRequest(f"Bees. {filler} {SPEED}", plain=plain), on_event=events.append)
    searches = [event.query for event in events if isinstance(event, Searched)]
    assert searches and all(len(text) <= 2000 for text in searches)
    assert searches[0].startswith("Bees. ") and searches[0].endswith(SPEED)
    assert any("first and the last 1,000 characters" in warning for warning in said.warnings)
    assert len(said.question) > 6000


def test_a_question_that_is_cancelled_ends_before_its_search(engine):
    cancel = Event()
    cancel.set()
    with pytest.raises(Cancelled):
        engine.ask(AskRequest(SPEED), cancel=cancel)
    assert engine.history.conversations() == []


@pytest.mark.parametrize("agent", [False, True])
def test_a_question_is_cancelled_while_the_model_is_silent(own_home, agent):
    with OllamaServer(models={"llama3.1:8b": chat_model()}) as server:
        silence, cancel, asked, ended = Event(), Event(), Event(), []
        server.fault("/api/chat", until=silence, times=None)
        settings = load_settings(home=own_home, ollama_url=server.url, embedder="embedded")

        def ask(engine):
            with pytest.raises(Cancelled):
                engine.ask(AskRequest(SPEED, agent=agent), cancel=cancel)
            ended.append(silence.is_set())

        with Engine.open(own_home, settings) as engine:
            thread = Thread(target=ask, args=(engine,))
            thread.start()
            while not server.of("/api/chat") and thread.is_alive():
                asked.wait(0.05)
            cancel.set()
            thread.join(120)
            assert ended == [False], "it waited for the model"
            silence.set()


def test_close_releases_the_telemetry_although_the_library_fails(engine, tmp_path):
    class Closing:
        def close(self):
            raise RagScienceError("It does not close.", "")

    class Recording:
        closed = False

        def close(self):
            self.closed = True

    other, telemetry = Engine.open(tmp_path), Recording()
    other._made |= {"library": Closing(), "telemetry": telemetry}
    with pytest.raises(RagScienceError):
        other.close()
    assert telemetry.closed


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="open files are read from /proc")
def test_a_closed_engine_keeps_no_file_open(own_home):
    """Opened and closed again and again, as in a notebook, it would run out of descriptors otherwise."""

    def opened() -> set[str]:
        entries = [entry for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink()]
        return {path for path in map(os.path.realpath, entries) if Path(path).is_relative_to(own_home)}

    with Engine.open(own_home, load_settings(home=own_home, offline=True)) as engine:
        engine.ask(AskRequest(SPEED))
        assert opened()
    gc.collect()
    assert opened() == set()


def test_a_model_is_loaded_once_for_several_threads(engine):
    with ThreadPoolExecutor(4) as pool:
        asked = (engine.settings, engine.library.about.embedder)
        found = list(pool.map(lambda _: engine.models.embedder(*asked), range(4)))
    assert len({id(model) for model in found}) == 1


def test_a_warning_of_one_thread_is_in_no_answer_of_another(engine):
    def search(number):
        is_odd = number % 2 == 1
        found = engine.search(SearchRequest(f"How fast do {number} bees fly?", graph=is_odd))
        return any("knowledge graph" in warning for warning in found.warnings) is is_odd

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(search, range(50)))


@pytest.mark.parametrize(
    ("profile", "flags", "requested", "of_search", "of_answer"),
    [
        ("default", {}, None, 4, 8),
        ("rrf", {}, None, 5, 8),
        ("deep", {}, None, 12, 12),
        ("default", {"top_k": 2}, None, 2, 2),
        ("default", {"top_k": 4}, None, 4, 4),
        ("default", {"top_k": 11}, None, 11, 11),
        ("rrf", {"top_k": 2}, None, 2, 2),
        ("deep", {"top_k": 6}, None, 6, 6),
        ("default", {"answer_passages": 3}, None, 4, 3),
        ("default", {"answer_passages": 8}, None, 4, 8),
        ("deep", {"answer_passages": 8}, None, 12, 8),
        ("default", {"top_k": 2, "answer_passages": 9}, None, 2, 9),
        ("default", {"top_k": 2, "answer_passages": 9}, 5, 5, 5),
        ("default", {}, 1, 1, 1),
    ],
)
def test_what_somebody_set_wins(tmp_path, profile, flags, requested, of_search, of_answer):
    settings = default_settings(tmp_path, profile=profile, **flags)
    assert profile_of(settings, requested).top_k == of_search
    assert profile_of(settings, requested, for_answer=True).top_k == of_answer


def test_the_environment_sets_and_a_request_changes_nothing_of_it(library, monkeypatch):
    monkeypatch.setenv("RAG_TOP_K", "2")
    with Engine.open(library, load_settings(home=library, offline=True, history=False)) as engine:
        assert [one.top_k for one in engine.profiles()] == [2] * 6
        assert len(engine.search(SearchRequest(SPEED, rerank="off")).hits) == 2
        assert len(engine.ask(AskRequest(SPEED, profile="rrf")).found.hits) == 2


@pytest.fixture(scope="module")
def with_bees(tmp_path_factory, model_cache):
    home = tmp_path_factory.mktemp("long")
    make_pdf(home / "papers" / "bees.pdf", ["Bees fly at 12 km/h in fog [1]. Table 1 lists 7 of 10^20."])
    with Engine.open(home) as engine:
        engine.ingest.add()
        yield engine


def calls_of(work):
    """How often a function was called meanwhile, in this thread."""
    profile = cProfile.Profile()
    profile.runcall(work)
    return sum(entry.callcount for entry in profile.getstats())


@pytest.mark.parametrize("piece", ["10^20 ", "[1] ", "1. ", '"x" ', "3.4.5 ", "GPT-2 "])
def test_four_times_the_length_costs_about_four_times_as_much(with_bees, piece):
    with_bees.ask(AskRequest("How fast do bees fly?"))  # what is made once
    short, long = (AskRequest(f"bees {piece * 2000}"[:length]) for length in (1900, 7600))
    assert calls_of(lambda: with_bees.ask(long)) < 6 * calls_of(lambda: with_bees.ask(short))
