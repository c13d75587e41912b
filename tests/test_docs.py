"""The docs tell the truth: generated pages are in step, shown commands run, links lead somewhere."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.warm_processes import run_line

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "papers" / "sample"
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"(?P<mark><!-- not run: \S[^\n]*-->\n+)?```(?P<language>\w+)\n(?P<body>.*?)^```$", re.S | re.M)
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
COMMAND_SECONDS = 300
NAMES = {path: path.relative_to(ROOT).as_posix() for path in DOCUMENTS}


def commands_of(text):
    """What a document shows after `$ ` in its console blocks, but for blocks marked as not run."""
    blocks = [match for match in BLOCK.finditer(text) if match["language"] == "console" and not match["mark"]]
    return [line[2:] for match in blocks for line in match["body"].splitlines() if line.startswith("$ ")]


def python_of(text):
    """The Python blocks of a document that are not marked as not run, as one script."""
    return "\n".join(m["body"] for m in BLOCK.finditer(text) if m["language"] == "python" and not m["mark"])


def shell_environment(home):
    """Where `python` is the one that runs the tests, and a home of its own, with nobody's settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RAG_")}
    path = os.pathsep.join([str(Path(sys.executable).parent), kept.get("PATH", "")])
    # Port 9 is "discard": nothing answers there, so that no document depends on an Ollama that happens to run.
    return kept | {"PATH": path, "PYTHONPATH": str(ROOT), "RAG_HOME": str(home), "RAG_OLLAMA_URL": "http://127.0.0.1:9"}


@pytest.fixture(scope="module")
def prepared_home(tmp_path_factory):
    """A folder like a fresh clone, with the sample ingested."""
    home = tmp_path_factory.mktemp("prepared")
    shutil.copytree(SAMPLE, home / "papers" / "sample")
    for name in ("ingest.py", "query.py", "config.py"):
        (home / name).symlink_to(ROOT / name)
    printed = home.with_name("printed")
    assert run_line("python ingest.py", home, shell_environment(home), printed) == 0, printed.read_text()
    return home


@pytest.fixture
def home(prepared_home, tmp_path):
    """The prepared home, to be changed by one document alone."""
    return Path(shutil.copytree(prepared_home, tmp_path / "home", symlinks=True))


OF_PAGES = [page for page in DOCUMENTS if commands_of(page.read_text("utf-8")) and page.name != "README.md"]
"""Those of the README are run by tests/screens."""


@pytest.mark.parametrize("path", OF_PAGES, ids=NAMES.get)
def test_every_command_shown_runs(path, home):
    printed = home / "printed"
    for command in commands_of(path.read_text(encoding="utf-8")):
        code = run_line(command, home, shell_environment(home), printed)
        assert code == 0, f"$ {command}\n{printed.read_text(errors='replace')[-4000:]}"


@pytest.mark.parametrize("path", [p for p in DOCUMENTS if python_of(p.read_text("utf-8"))], ids=NAMES.get)
def test_python_shown_runs(path, home):
    script = python_of(path.read_text(encoding="utf-8"))
    done = subprocess.run(
        [sys.executable, "-"], input=script, cwd=home, env=shell_environment(home), capture_output=True, text=True,
        timeout=COMMAND_SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]


def test_there_is_something_to_run():
    assert python_of((ROOT / "docs" / "notebook.md").read_text(encoding="utf-8"))
    shown = " ".join(commands_of((ROOT / "README.md").read_text(encoding="utf-8")))
    for word in ("ingest.py", "query.py", "ingest.py list", "--paper", "--chat"):
        assert word in shown


@pytest.mark.parametrize("path", DOCUMENTS, ids=NAMES.get)
def test_no_command_hides_in_a_block_that_is_not_run(path):
    text = path.read_text(encoding="utf-8")
    assert not {match["language"] for match in BLOCK.finditer(text)} & {"sh", "bash", "shell", "zsh"}


@pytest.mark.parametrize("path", [*DOCUMENTS, ROOT / "CHANGELOG.md"], ids=lambda path: path.name)
def test_links_lead_to_files_that_are_there(path):
    targets = LINK.findall(path.read_text(encoding="utf-8"))
    assert [target for target in targets if not (path.parent / target).exists()] == []


def test_generated_pages_are_in_step():
    command = [sys.executable, str(ROOT / "tools" / "make_docs.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_command_setting_and_exit_code_has_its_place():
    from config import Settings
    from ragscience.core.errors import EXIT_CODES
    from tools import make_docs

    pages = make_docs.pages()
    for name in ("ingest.py add", "ingest.py sync", "query.py ask", "query.py models pull"):
        assert f"### {name}\n" in pages["cli.md"]
    assert all(f"| `{name}` |" in pages["config.md"] for name in Settings.model_fields)
    assert all(f"| {code} | {meaning} |" in pages["cli.md"] for code, meaning in EXIT_CODES.items())


def test_the_schemas_are_schemas():
    from jsonschema import Draft202012Validator

    from tools.json_schemas import schemas

    Draft202012Validator.check_schema(schemas()["ask"])
    for schema in schemas().values():  # the definitions are the same for all
        Draft202012Validator.check_schema({**schema, "$defs": {}})


def test_the_architecture_names_files_that_are_there():
    text = (ROOT / "docs" / "architecture.md").read_text()
    named = set(re.findall(r"(?<![\w/.])((?:[a-z_]+/)+[a-z_]+\.py)\b", text))
    assert len(named) > 30
    assert [
        name for name in sorted(named) if not any((ROOT / base / name).exists() for base in ("", "ragscience"))
    ] == []


def test_the_way_of_a_question_is_at_most_twelve_files():
    text = (ROOT / "docs" / "architecture.md").read_text()
    listed = re.findall(r"^ ?\d+  ([a-z_/]+\.py)", text, re.M)
    assert 8 <= len(listed) <= 12
    for one in listed:
        assert (ROOT / "ragscience" / one).is_file(), one
