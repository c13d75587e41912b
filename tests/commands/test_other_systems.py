"""Windows and macOS, as far as Linux can show them: modules, separators, line ends and encodings."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from ragscience.core.paper_records import Paper
from ragscience.core.serialization import slashed
from ragscience.library.filter_selection import papers_fitting
from ragscience.library.paper_rows import path_from, path_within, short_names
from tests.conftest import ROOT
from tests.pdf_factory import make_pdf

WITHOUT_POSIX = str(ROOT / "tests" / "without_posix")


def with_a_paper(folder):
    make_pdf(folder / "papers" / "bees.pdf", ["Bees fly at 12 km/h in fog.", "Honey is sweet in any weather."])
    return folder


@pytest.fixture
def home(tmp_path):
    return with_a_paper(tmp_path)


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A home whose paper is read."""
    home = with_a_paper(tmp_path_factory.mktemp("home"))
    assert run(home, "ingest.py").returncode == 0
    return home


def run(home, script, *words, stdin=b"", **how):
    env = os.environ | {"RAG_HOME": str(home), "PYTHONPATH": WITHOUT_POSIX} | how.pop("env", {})
    command = [sys.executable, str(ROOT / script), *map(str, words)]
    return subprocess.run(command, input=stdin, capture_output=True, env=env, timeout=120, **how)


def test_papers_are_read_and_asked_without_what_only_posix_has(home):
    steps = [
        ("ingest.py", "--workers", "2"),
        ("query.py", "How fast do bees fly in fog?", "--log", home / "log"),
        ("query.py", "serve", "token", "add", "ann"),
        ("query.py", "serve", "token", "list"),
        ("ingest.py", "rebuild"),
        ("ingest.py", "doctor"),
    ]
    ran = [run(home, *step) for step in steps]
    assert [one.returncode for one in ran] == [0] * len(steps), [one.stderr for one in ran]
    assert b"(bees.pdf, p.1)" in ran[1].stdout
    assert b"ann" in ran[3].stdout
    assert b"no limit on the memory" in ran[5].stdout


def test_one_process_at_a_time_writes(filled):
    lock = (
        "from filelock import FileLock; import sys; l = FileLock(sys.argv[1]); l.acquire(); print(flush=True); input()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", lock, str(filled / "vectorstore" / "writer.lock")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with holder:
        holder.stdout.readline()
        busy = run(filled, "ingest.py", "rebuild")
        holder.communicate(b"\n")
    assert busy.returncode == 5, busy
    assert b"is being written by process" in busy.stderr
    assert run(filled, "ingest.py", "rebuild").returncode == 0


def test_paths_with_another_separator(monkeypatch):
    monkeypatch.setattr(os, "sep", "\\")
    paths = ["C:\\papers\\2017\\bees.pdf", "C:\\papers\\2018\\bees.pdf", "C:\\papers\\fog.pdf"]
    assert sorted(short_names(paths).values()) == ["2017/bees.pdf", "2018/bees.pdf", "fog.pdf"]
    assert slashed(paths[0]) == "C:/papers/2017/bees.pdf"
    names = short_names(paths)
    papers = [
        Paper(n, names[path], path, f"{n:032}", 1, 0, 1, 1, "", "2026-01-01T00:00:00Z") for n, path in enumerate(paths)
    ]
    assert [paper.path for paper in papers_fitting(papers, "2018\\bees.pdf")] == [paths[1]]
    assert [paper.path for paper in papers_fitting(papers, "2018/bees.pdf")] == [paths[1]]


@pytest.mark.parametrize("path", ["/home/ann/papers/a/b.pdf", "/elsewhere/c.pdf", "/home/annex/d.pdf"])
def test_a_path_is_kept_within_its_home_and_comes_back(path):
    stored = path_within("/home/ann", path)
    assert path_from("/home/ann", stored) == path
    assert path_from("/moved", stored) == path.replace("/home/ann/", "/moved/")


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "ascii"])
def test_what_an_encoding_lacks_is_replaced_and_json_is_utf_8(filled, encoding):
    env = {"PYTHONIOENCODING": encoding}
    shown = run(filled, "query.py", "Is honey “sweet” → or not?", env=env)
    assert (shown.returncode, b"Unexpected" in shown.stderr) == (0, False)
    machine = run(filled, "query.py", "Is honey “sweet” → or not?", "--json", env=env)
    assert json.loads(machine.stdout.decode("utf-8"))["question"] == "Is honey “sweet” → or not?"


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_no_error_and_the_work_is_done(home, closed):
    command = f'exec "{sys.executable}" "{ROOT / "ingest.py"}" {closed}'
    ran = subprocess.run([shutil.which("sh"), "-c", command], env=os.environ | {"RAG_HOME": str(home)}, timeout=120)
    assert ran.returncode == 0
    assert "bees.pdf" in (home / "ingested.json").read_text()
