"""A language model from a GGUF file: a process that starts, crashes, hangs, is killed and never outlives its parent.

llama.cpp itself is not needed: a module of its name serves the scripted server from the real worker process.
"""

import os
import re
import signal
import subprocess
import sys
import textwrap

import psutil
import pytest

from ragscience.ask.generation import Generation
from ragscience.core.errors import ModelProblem
from ragscience.models import gguf_server
from ragscience.models.gguf_server import GgufLLM, GgufServer, check_gguf
from ragscience.models.model_choice import choose_llm
from ragscience.models.ollama_api import Ollama
from ragscience.models.served_llm import ChatOptions
from tests.conftest import ROOT

FAKE = '''
"""In place of llama.cpp: what the real module offers, over the scripted server."""
import os, socket, sys, threading, time
from types import SimpleNamespace
from tests.openai_server import OpenAIServer

class CommonParams:
    def __init__(self):
        self.model = SimpleNamespace(path="")

class Server:
    def __init__(self, params):
        text = open(params.model.path, "rb").read()
        print("noise of llama.cpp on stdout", flush=True)
        if b"broken" in text:
            raise RuntimeError("failed to load model")
        if b"dies" in text:
            print("error: illegal instruction", file=sys.stderr, flush=True)
            os._exit(9)
        if b"hungry" in text:
            bytearray(64 * 2**30)
        if b"hangs" in text:
            time.sleep(600)
        if b"leaves" in text:
            listening = socket.create_server(("127.0.0.1", params.port))
            self.listening_address = "http://127.0.0.1:%d" % listening.getsockname()[1]
            if b"port" in text:
                listening.close()
            else:
                threading.Thread(target=lambda: listening.accept() and os._exit(7)).start()
            return
        (name,), (key,) = params.model_alias, params.api_keys
        assert params.hostnames == ["127.0.0.1"] and params.offline
        self.server = OpenAIServer(models=(name,), context=min(params.n_ctx, 2048), key=key, port=params.port)
        self.server.default = f"The process is {os.getpid()}."
        self.server.__enter__()
        self.listening_address = self.server.url.removesuffix("/v1")
'''
HI = [("user", "hi")]


@pytest.fixture
def fake(tmp_path, monkeypatch):
    folder = tmp_path / "modules"
    folder.mkdir()
    (folder / "xllamacpp.py").write_text(textwrap.dedent(FAKE))
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), str(ROOT)]))


@pytest.fixture
def make(fake, tmp_path):
    made = []

    def make(content=b"GGUF", **how):
        path = tmp_path / "tiny-model.gguf"
        path.write_bytes(content)
        limits = {"context": 4096, "memory_mb": 2048, "start_seconds": 60.0, "timeout_seconds": 20.0} | how
        server = GgufServer(path, **limits)
        made.append(GgufLLM(server, options=ChatOptions(0.0, 4096, 64)))
        return made[-1], server

    yield make
    for llm in made:
        llm._gguf.close()
        if llm._chat_model is not None:
            llm._chat_model.http_client.close()


def said(llm):
    generation = Generation(llm, None, 60.0)
    generation.run(HI, 64)
    return generation


def test_it_answers_from_a_process_of_its_own_with_a_key_of_its_own(make):
    llm, server = make()
    assert server.pid is None
    answer = said(llm)
    assert (answer.text, answer.failure, answer.warnings) == (f"The process is {server.pid}.", None, ())
    assert server.pid != os.getpid()
    assert (llm.name, llm.window, llm.where) == ("tiny-model", 2048, str(server.path))
    key = server.key.get_secret_value()
    assert len(key) >= 32
    assert key not in " ".join(psutil.Process(server.pid).cmdline())
    assert key not in " ".join(psutil.Process(server.pid).environ().values())
    assert make()[1].key.get_secret_value() != key


def test_a_process_that_was_killed_is_started_again(make):
    llm, server = make()
    first = said(llm).text
    os.kill(server.pid, signal.SIGKILL)
    server._process.wait()
    second = said(llm)
    assert (second.text, second.failure) == (f"The process is {server.pid}.", None)
    assert second.text != first


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"GGUF broken", "tiny-model.gguf cannot be loaded: failed to load model"),
        (b"GGUF dies", "exit code 9 .error: illegal instruction"),
        (b"GGUF hungry", "cannot be loaded: MemoryError"),
    ],
)
def test_a_file_that_cannot_be_loaded_is_one_failure(make, content, told):
    llm, server = make(content)
    answer = said(llm)
    assert answer.text == ""
    assert answer.failure is not None
    with pytest.raises(ModelProblem, match=told):
        server.start()
    assert str(answer.failure).startswith("tiny-model.gguf")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"GGUF leaves", r"The process that runs tiny-model.gguf has ended \(exit code 7\)\. Ask again"),
        (b"GGUF leaves its port", r"The process that runs tiny-model.gguf broke the connection\. Ask again\."),
    ],
)
def test_a_process_that_is_lost_after_its_start_is_no_server_that_a_person_starts(make, content, told, monkeypatch):
    monkeypatch.setattr(gguf_server, "_END_SECONDS", 20.0 if content.endswith(b"leaves") else 0.1)
    llm, _ = make(content)
    llm.sleep = lambda _: None
    assert re.match(told, str(said(llm).failure))


def test_a_model_that_is_never_loaded_ends_in_time(make):
    llm, server = make(b"GGUF hangs", start_seconds=1.5)
    with pytest.raises(ModelProblem, match=r"not loaded within 1\.5 s"):
        llm.load()
    assert server.pid is None


@pytest.mark.parametrize("end", ["return", "os._exit(1)", "os.kill(os.getpid(), 9)"])
def test_it_never_outlives_its_parent(fake, tmp_path, end):
    model = tmp_path / "tiny-model.gguf"
    model.write_bytes(b"GGUF")
    script = f"""
import os, pathlib
from ragscience.models import gguf_server
from ragscience.models.gguf_server import GgufServer
server = GgufServer(pathlib.Path({str(model)!r}), context=512, memory_mb=2048, start_seconds=60, timeout_seconds=20)
server.start()
print(server.pid, flush=True)
{"" if end == "return" else end}
"""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([os.environ["PYTHONPATH"], str(ROOT)])}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=env, check=False)
    pid = int(done.stdout)
    gone = not psutil.pid_exists(pid)
    if not gone:  # it reads the end of its stdin
        gone = not psutil.wait_procs([psutil.Process(pid)], timeout=30)[1]
    assert gone


def test_what_is_no_model_is_told_before_anything_starts(fake, tmp_path):
    with pytest.raises(ModelProblem, match="cannot be read"):
        check_gguf(tmp_path / "none.gguf")
    (tmp_path / "page.gguf").write_bytes(b"<html>")
    with pytest.raises(ModelProblem, match="is not a GGUF file"):
        check_gguf(tmp_path / "page.gguf")
    ollama = Ollama("http://127.0.0.1:9", connect_seconds=1, timeout_seconds=1, offline=True)
    server = GgufServer(tmp_path / "page.gguf", context=512, memory_mb=0, start_seconds=1, timeout_seconds=1)
    choice = choose_llm("auto", "page.gguf", ollama=ollama, options=ChatOptions(0.0, 512, 64), server=server)
    assert choice.model is None
    assert "is not a GGUF file" in choice.warning
