"""The light core is enough: commands run in processes that find no package but those of requirements-core.lock."""

import os
import subprocess
import sys
from importlib.metadata import packages_distributions

import pytest
from packaging.utils import canonicalize_name

from tests.conftest import ROOT
from tests.test_locks import entries

QUESTION = "Why does keyword search receive a weight of 0.3?"
HIDE = """
from importlib.machinery import PathFinder

found, hidden = PathFinder.find_spec, frozenset({names!r}.split())
PathFinder.find_spec = lambda name, *rest: None if name.partition(".")[0] in hidden else found(name, *rest)
"""
"""Read at the start of each process: for it these modules are not installed."""


def not_in_the_core():
    """The modules that are installed here, and are in no package of the core's lock."""
    core = {"ragscience", *entries("requirements-core"), *entries("requirements-model")}
    modules = packages_distributions().items()
    return {name for name, packages in modules if core.isdisjoint(map(canonicalize_name, packages))}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("core")
    (folder / "papers").mkdir()
    (folder / "papers" / "sample.pdf").write_bytes((ROOT / "papers" / "sample" / "ragscience.pdf").read_bytes())
    (folder / "sitecustomize.py").write_text(HIDE.format(names=" ".join(sorted(not_in_the_core()))))
    env = os.environ | {"PYTHONPATH": str(folder), "RAG_HOME": str(folder), "RAG_OLLAMA_URL": "http://127.0.0.1:9"}

    def run(script, *args, **more):
        command = [sys.executable, str(ROOT / script), *args]
        return subprocess.run(command, env=env | more, capture_output=True, text=True, timeout=120, check=False)

    assert run("ingest.py").returncode == 0
    return run


def test_what_is_hidden_is_what_only_the_complete_list_brings():
    hidden = not_in_the_core()
    assert {"torch", "transformers", "sentence_transformers", "sklearn", "scipy", "langchain_community"} <= hidden
    assert not hidden & {"typer", "rich", "pymupdf", "faiss", "rank_bm25", "langchain_core", "langchain_ollama"}


@pytest.mark.parametrize("options", [[], ["--profile", "guide"], ["--agent"]], ids=["plain", "guide", "agent"])
def test_a_question_is_answered_with_its_page(run, options):
    done = run("query.py", "ask", QUESTION, *options)
    assert (done.returncode, "(sample.pdf, p.3)" in done.stdout) == (0, True), done.stderr


def test_the_graph_the_map_and_the_doctor_work(run, tmp_path):
    for command in (["ingest.py", "graph"], ["query.py", "map", str(tmp_path / "map.html")], ["ingest.py", "doctor"]):
        assert run(*command).returncode == 0, command


@pytest.mark.parametrize(
    ("command", "more", "package", "extra"),
    [
        (["query.py", "serve"], {}, "fastapi", "serve"),
        (["ingest.py"], {"RAG_LIBRARY": "lance:///x"}, "lancedb", "lab"),
        (["ingest.py"], {"RAG_PAPERS": "s3://papers/of-us"}, "botocore", "lab"),
        (["query.py", QUESTION], {"OTEL_TRACES_EXPORTER": "console"}, "opentelemetry-sdk", "telemetry"),
        (["query.py", QUESTION], {"RAG_LLM_URL": "http://127.0.0.1:9/v1", "RAG_ANSWERER": "llm"}, "langchain-openai",
         "llm-server"),
    ],
)  # fmt: skip
def test_a_package_of_an_extra_is_named_with_the_line_that_installs_it(run, command, more, package, extra):
    done = run(*command, **more)
    assert done.returncode != 0
    assert f" needs the package {package}, which is not installed." in done.stderr
    assert f"Run `python -m pip install -r requirements-{extra}.txt`." in done.stderr
    assert "Traceback" not in done.stderr
