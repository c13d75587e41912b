"""<Tab> in a real bash: commands, options and their values, papers, chats, settings."""

import shutil
import subprocess
import sys

import pytest

from tests.conftest import ROOT, Commands, copied

BASH = shutil.which("bash")
needs_bash = pytest.mark.skipif(BASH is None, reason="bash is not installed")


@pytest.fixture(scope="module")
def home(three_papers, tmp_path_factory):
    folder = copied(three_papers, tmp_path_factory.mktemp("home"))
    Commands(folder).query("ask", "How fast do bees fly?", "--chat", "field work")
    ledger = folder / "ingested.json"
    ledger.write_text(ledger.read_text().replace('"file": "kilns.pdf"', '"file": "kiln fires [1].pdf"'))
    return folder


@pytest.fixture(scope="module")
def completed(home):
    script = Commands(home).query("completion", "bash", "--name", "rag").out
    assert script.startswith("rag() {")

    def what_tab_gives(line):
        """The words that bash would put in the place of the last one."""
        asking = f"""
            cd {home}
            {script}
            COMP_LINE={line!r}; COMP_POINT=${{#COMP_LINE}}
            COMP_WORDS=({line} {"''" if line.endswith(" ") else ""}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
            _rag_completion rag "${{COMP_WORDS[COMP_CWORD]}}"
            printf '%s\\n' "${{COMPREPLY[@]}}"
        """
        done = subprocess.run(
            [BASH, "--norc", "-c", asking], capture_output=True, text=True, timeout=100, check=True,
            env={"RAG_HOME": str(home), "PATH": "/usr/bin:/bin"},
        )  # fmt: skip
        assert done.stderr == ""
        return done.stdout.split("\n")[:-1]

    return what_tab_gives


@needs_bash
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("rag se", {"search", "serve"}),
        ("rag history ex", {"export"}),
        ("rag search --pap", {"--paper"}),
        ("rag what is fog --pap", {"--paper"}),
        ("rag --pap", {"--paper"}),
        ("rag search fog --paper be", {"bees.pdf"}),
        ("rag search fog --paper ki", {r"kiln\ fires\ \[1\].pdf"}),
        ("rag related ti", {"tides.pdf"}),
        ("rag search fog --kind ta", {"table"}),
        ("rag search fog --profile de", {"deep", "default"}),
        ("rag ask --chat f", {r"field\ work"}),
        ("rag config set top", {"top_k", "top_k_candidates"}),
        ("rag config top_k_", {"top_k_candidates"}),
        ("rag completion z", {"zsh"}),
    ],
)
def test_tab_completes(completed, line, words):
    assert set(completed(line)) == words


@needs_bash
def test_all_commands_are_offered_and_a_home_that_is_not_there_offers_nothing(completed, home):
    before = sorted(home.rglob("*"))
    assert {"ask", "search", "chat", "history", "config"} <= set(completed("rag "))
    assert completed("rag search fog --home /nosuch --paper be") == [""]
    assert completed("rag search fog --colour x --paper be") in (["bees.pdf"], [""])
    assert sorted(home.rglob("*")) == before


def test_completion_imports_nothing_heavy(home):
    script = (
        "import os, sys, runpy\nsys.argv = ['query.py']\n"
        "os.environ['_RAGSCIENCE_COMPLETE'] = 'complete_bash'\n"
        "os.environ.update(COMP_WORDS='rag\\nsearch\\n--paper\\nb', COMP_CWORD='3')\n"
        "try:\n    runpy.run_path('query.py', run_name='__main__')\nexcept SystemExit:\n    pass\n"
        "print('MODULES', *sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT, timeout=100,
        env={"RAG_HOME": str(home), "PATH": "/usr/bin"},
    )  # fmt: skip
    assert done.stdout.startswith("bees.pdf\n")
    assert not set(done.stdout.split()) & {"numpy", "torch", "faiss", "pymupdf", "langchain_core", "rich"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_is_printed_for_each_shell(home, shell):
    ran = Commands(home).query("completion", shell, "--name", "rag")
    assert (ran.code, ran.err) == (0, "")
    assert f"_RAGSCIENCE_COMPLETE=complete_{shell}" in ran.out
    assert ran.out.count(str(ROOT / "query.py")) >= 2
    if shutil.which(shell):
        assert subprocess.run([shell, "-n"], input=ran.out, text=True, check=False).returncode == 0


def test_another_shell_or_a_name_that_is_none_is_refused(home):
    assert Commands(home).query("completion", "tcsh").code == 2
    assert Commands(home).query("completion", "bash", "--name", "a b").code == 2
