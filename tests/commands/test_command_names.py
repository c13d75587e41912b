"""Which command a line runs: joined words, options in front, mistyped names, a word that begins a question."""

import os
import select
import shutil
import subprocess

import pytest

from tests.installed_command import installed_environment


@pytest.mark.parametrize(
    "words",
    [
        ["how", "fast", "do", "bees", "fly", "in", "fog"],
        ["how", "fast", "--paper", "bees", "do", "bees", "fly", "in", "fog"],
        ["ask", "how", "fast", "do", "bees", "fly", "in", "fog"],
        ["--paper", "bees", "ask", "how fast do bees", "fly in fog"],
        ["models of how fast bees fly in fog"],
    ],
)
def test_words_are_one_question(asked, words):
    ran = asked.query(*words, "--no-history")
    assert ran.code == 0, ran
    assert "3.7 metres per second" in ran.out.replace("**", "")


SHELLS = {
    "bash": (["bash", "--norc", "-i"], 'eval "$(ragscience --show-completion)"\n'),
    "zsh": (["zsh", "-f", "-i"], 'autoload -U compinit; compinit -u; eval "$(ragscience --show-completion)"\n'),
}


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_completes_commands_options_and_papers(shell, library, tmp_path):
    command, setup = SHELLS[shell]
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    own = {"HOME": str(tmp_path), "RAG_HOME": str(library), "TERM": "xterm", "PS1": "$ ", "COLUMNS": "200"}
    environment = installed_environment(tmp_path) | own
    terminal, other = os.openpty()
    streams = {"stdin": other, "stdout": other, "stderr": other}
    with subprocess.Popen(command, env=environment, start_new_session=True, **streams) as process:
        os.close(other)

        def typed(keys, awaited):
            os.write(terminal, keys)
            shown = b""
            while awaited not in shown:
                assert select.select([terminal], [], [], 60)[0], shown
                shown += os.read(terminal, 4096)
            return shown

        try:
            typed(f"{setup}echo re''ady\n".encode(), b"ready\r\n")
            line = typed(b"ragscience sear\t", b"ch") + typed(b"--pap\t", b"er") + typed(b"bee\t", b"s.pdf")
            assert b"starting" not in line
        finally:
            process.kill()
            os.close(terminal)
