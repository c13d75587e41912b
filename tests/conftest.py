"""What every test gets: no settings and no services from outside, and the commands over a home of its own."""

import contextlib
import fcntl
import functools
import io
import json
import os
import runpy
import shutil
import signal
import subprocess
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest
import typer.main
from hypothesis import HealthCheck, settings

from tests.ollama_server import OllamaServer
from tests.output_schemas import check_output
from tests.warm_processes import WarmProcess, run_warm

settings.register_profile("ci", deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
settings.register_profile("dev", settings.get_profile("ci"), max_examples=15, derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # of a run in the background, which its processes would inherit
    signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ.setdefault("OMP_NUM_THREADS", "1")  # the tests have a process for each core already
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # with it, each process would compile all that it imports
sys.dont_write_bytecode = False
# A process of the program's own describes its commands once.
typer.main.get_command = functools.lru_cache(typer.main.get_command)

ROOT = Path(__file__).resolve().parent.parent
NOBODY = "http://127.0.0.1:9"
"""Where nothing listens (the discard port)."""


def pytest_collection_modifyitems(items):
    """Properties do not count for coverage, which slows hundreds of examples down to show what the first one shows."""
    for item in items:
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker("no_cover")


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory):
    """One folder for all processes of a run."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@pytest.fixture(scope="session")
def model_cache(shared_folder):
    """Where the tests' converted models are: made once a run, for all its processes, never in the user's own cache."""
    models = shared_folder / "models"
    models.mkdir(exist_ok=True)
    return models


@pytest.fixture(scope="session", autouse=True)
def nothing_from_outside(model_cache, tmp_path_factory):
    """Neither settings nor services of whoever runs the tests; what a test sets in the environment is its own."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.upper().startswith(("RAG_", "OTEL_", "OLLAMA_", "SSL_CERT_")) or name.lower().endswith("_proxy"):
                patch.delenv(name)
        for name in ("COLUMNS", "LINES"):  # readline, which pytest imports, sets them for the processes of xdist
            patch.delenv(name, raising=False)
        patch.setenv("RAG_OLLAMA_URL", NOBODY)
        patch.setenv("RAG_CACHE_FOLDER", str(model_cache))
        patch.setenv("HF_HUB_OFFLINE", "1")
        # Nobody's certificates, which each client of httpx reads anew: all that a system has take 50 ms.
        patch.setenv("SSL_CERT_DIR", str(tmp_path_factory.mktemp("certificates")))
        from ragscience.models import bert_session
        from ragscience.models.model_servers import Ollama
        from ragscience.reading import reader_process

        patch.setattr(Ollama, "connect_seconds", 30.0)  # however busy the machine is
        load = functools.lru_cache(bert_session.load_tokenizer)  # takes 50 ms
        patch.setattr(bert_session, "load_tokenizer", load)
        with_warm_readers = SimpleNamespace(**vars(subprocess) | {"Popen": WarmProcess})
        patch.setattr(reader_process, "subprocess", with_warm_readers)
        yield


@pytest.fixture(scope="session")
def made_once(shared_folder):
    """`made_once(name, make)`: the folder that `make(folder)` fills, made by the first process of a run that needs it.

    It belongs to all processes: no test may change what is in it.
    """

    def folder_of(name, make):
        folder = shared_folder / "made-once" / name
        folder.parent.mkdir(exist_ok=True)
        with folder.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            whole = folder.with_suffix(".whole")
            if not whole.exists():
                shutil.rmtree(folder, ignore_errors=True)  # what was begun and failed, or was killed
                folder.mkdir()
                make(folder)
                whole.touch()
        return folder

    return folder_of


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


class Commands:
    """Runs ingest.py and query.py over one home, as a person would, in this process: the imports are paid for once."""

    def __init__(self, home):
        self.home = home

    def ingest(self, *args, **more):
        return self.run("ingest.py", *args, **more)

    def query(self, *args, **more):
        return self.run("query.py", *args, **more)

    def json(self, script, *args, shape="", **more):
        """What a command that ends well says with --json, as the schema of that name has it."""
        ran = self.run(script, *args, "--json", **more)
        assert ran.code == 0, ran.err
        value = json.loads(ran.out)
        if shape:
            check_output(value, shape)
        return value

    def papers(self):
        """What `list` has of each paper, by its file."""
        return {paper["file"]: paper for paper in self.json("ingest.py", "list", shape="list")["papers"]}

    def run(self, script, *args, stdin=b"", **env):
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", errors) for errors in ("strict", "backslashreplace"))
        code = 0
        with (
            mock.patch.dict(os.environ, {"RAG_HOME": str(self.home), **env}),
            mock.patch.object(sys, "argv", [str(ROOT / script), *map(str, args)]),
            mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), "utf-8")),
            mock.patch.object(sys, "stdout", out),
            mock.patch.object(sys, "stderr", err),
            contextlib.chdir(self.home),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            try:
                runpy.run_path(str(ROOT / script), run_name="__main__")
            except SystemExit as ended:
                code = ended.code or 0
            out.flush()
            err.flush()
        return Ran(code, out.buffer.getvalue().decode(), err.buffer.getvalue().decode())

    def imported_by(self, script, *args):
        """The names of all modules that are there when the script with these arguments has ended well."""
        code = (
            "import sys, runpy\n"
            f"sys.argv = {[script, *args]!r}\n"
            "try:\n    runpy.run_path(sys.argv[0], run_name='__main__')\n"
            "except SystemExit as done:\n    assert not done.code\n"
            "print('\\nMODULES', *sys.modules)"
        )
        env = {**os.environ, "RAG_HOME": str(self.home)}
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT, env=env, timeout=300
        )
        return set(done.stdout.rpartition("MODULES")[2].split())


class ProcessCommands(Commands):
    """The same with a process for each run: for how a command begins and ends, and for what it needs of the system.

    With `start=subprocess.run` it imports all by itself.
    """

    def __init__(self, home, start=run_warm):
        super().__init__(home)
        self._start = start

    def run(self, script, *args, stdin=b"", **env):
        command = [sys.executable, str(ROOT / script), *map(str, args)]
        done = self._start(
            command,
            input=stdin,
            capture_output=True,
            env={**os.environ, "RAG_HOME": str(self.home), **env},
            cwd=self.home,
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def started(home, script, *args, env=None, **how):
    """A process of a script over that home, which goes on; its output comes through pipes, as text."""
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | how
    environment = {**os.environ, "RAG_HOME": str(home), **(env or {})}
    return WarmProcess([sys.executable, str(ROOT / script), *map(str, args)], env=environment, **streams)


@pytest.fixture
def commands(tmp_path):
    home = tmp_path / "home"
    (home / "papers").mkdir(parents=True)
    return Commands(home)


@pytest.fixture
def server():
    """A server that speaks Ollama's API, with one chat model."""
    with OllamaServer(models=["llama3.1:8b"]) as running:
        yield running


@pytest.fixture(scope="module")
def browser():
    """The system's Chromium, driven by playwright; where one of them is missing, the test says so and is skipped."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not chromium:
        pytest.skip("Chromium is not installed (apt-get install chromium)")
    driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with driver.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="session")
def three_papers(made_once):
    """A home with three papers that we made up in its library; no test may change it."""
    from tests.commands.papers import fill

    def make(home):
        fill(home / "papers")
        ran = Commands(home).ingest(RAG_EMBEDDER="embedded")
        assert ran.code == 0, ran.err

    return made_once("three-papers", make)


@pytest.fixture(scope="module")
def library(three_papers, tmp_path_factory):
    """The same in a home that the tests of one file share."""
    return copied(three_papers, tmp_path_factory.mktemp("home"))


@pytest.fixture
def asked(library):
    return Commands(library)


@pytest.fixture
def own_home(three_papers, tmp_path):
    """The same in a home of the test's own, so that its history and log begin empty."""
    return copied(three_papers, tmp_path / "home")


@pytest.fixture
def own(own_home):
    return Commands(own_home)


def copied(home, target):
    """A home in another place, whose library knows its papers there."""
    from ragscience.library.store import Home, Library

    shutil.copytree(home, target, dirs_exist_ok=True)
    (target / "vectorstore" / "told.json").unlink(missing_ok=True)  # nothing was told of the new place yet
    with Library.open_for_writing(Home(target)) as library:
        library.rename_papers(
            [
                (paper.paper_id, paper.path.replace(str(home), str(target), 1), paper.modified_ns)
                for paper in library.papers()
            ]
        )
    return target
