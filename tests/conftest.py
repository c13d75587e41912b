"""What every test gets: no settings and no services from outside, and the doors as real processes."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

ROOT = Path(__file__).resolve().parent.parent
NOBODY = "http://127.0.0.1:9"
"""Where nothing listens (the discard port)."""


@pytest.fixture(scope="session")
def model_cache(tmp_path_factory):
    """Where the tests' converted models are: made once a run, for all its processes, never in the user's own cache."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    models = folder / "models"
    models.mkdir(exist_ok=True)
    return models


@pytest.fixture(autouse=True)
def nothing_from_outside(monkeypatch, model_cache):
    for name in list(os.environ):
        if name.upper().startswith(("RAG_", "OTEL_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("RAG_OLLAMA_URL", NOBODY)
    monkeypatch.setenv("RAG_CACHE_FOLDER", str(model_cache))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


class Doors:
    """Runs ingest.py and query.py over one home, as a person would."""

    def __init__(self, home):
        self.home = home

    def run(self, door, *args, stdin=b"", **env):
        command = [sys.executable, str(ROOT / door), *map(str, args)]
        done = subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            timeout=300,
            env={**os.environ, "RAG_HOME": str(self.home), **env},
            cwd=self.home,
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    def ingest(self, *args, **more):
        return self.run("ingest.py", *args, **more)

    def query(self, *args, **more):
        return self.run("query.py", *args, **more)


@pytest.fixture
def doors(tmp_path):
    home = tmp_path / "home"
    (home / "papers").mkdir(parents=True)
    return Doors(home)
