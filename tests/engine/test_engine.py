"""The engine itself: what it gives, warns of, keeps and ends."""

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
from ragscience.core.errors import Cancelled, RagScienceError, UsageError
from ragscience.core.settings import load_settings
from ragscience.engine import Warned
from tests.ollama_server import OllamaServer, chat_model

ROOT = Path(__file__).resolve().parents[2]
SPEED = "How fast do bees fly in fog?"


def test_every_name_that_the_package_offers_is_there():
    assert all(getattr(ragscience, name) is not None for name in ragscience.__all__)
    assert all(getattr(ragscience.engine, name) is not None for name in ragscience.engine.__all__)


def test_the_package_and_the_engine_load_nothing_heavy():
    script = "import sys, ragscience.engine\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not {"numpy", "faiss", "onnxruntime", "rich", "typer", "pydantic"} & set(done.stdout.split())


def test_settings_of_the_home_hold_and_those_that_nobody_allowed_are_a_warning(own_home, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user"))
    (own_home / "config.toml").write_text('top_k = 6\npdf_viewer = "steal {file}"\n')
    events = []
    with Engine.open(own_home, on_event=events.append) as opened:
        assert (opened.settings.top_k, opened.settings.pdf_viewer) == (6, "")
    assert "sets pdf_viewer: ignored" in next(event.text for event in events if isinstance(event, Warned))


def test_a_warning_belongs_to_its_own_question_alone(engine):
    events = []
    warned = engine.ask(AskRequest(SPEED, graph=True), on_event=events.append)
    after = engine.ask(AskRequest(SPEED))
    (warning,) = [text for text in warned.warnings if "no knowledge graph" in text]
    assert Warned(warning) in events
    assert warning not in after.warnings
    assert warning not in engine.history.audit_record(after.answer_id)["warnings"]


def test_settings_of_a_request_hold_for_it_alone(engine):
    assert engine.search(SearchRequest(SPEED, profile="rrf", top_k=2)).profile == "rrf"
    assert len(engine.search(SearchRequest(SPEED, top_k=2)).hits) == 2
    assert engine.search(SearchRequest(SPEED)).profile == "default"
    with pytest.raises(UsageError, match="profile"):
        engine.search(SearchRequest(SPEED, profile="nosuch"))


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
    found = []
    threads = [Thread(target=lambda: found.append(engine.models.embedder(*_embedder_of(engine)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(model) for model in found}) == 1
    assert len(found) == 4


def test_a_warning_of_one_thread_is_in_no_answer_of_another(engine):
    def search(number):
        is_odd = number % 2 == 1
        found = engine.search(SearchRequest(f"How fast do {number} bees fly?", graph=is_odd))
        return any("knowledge graph" in warning for warning in found.warnings) is is_odd

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(search, range(50)))


def _embedder_of(engine):
    return engine.settings, engine.library.about.embedder
