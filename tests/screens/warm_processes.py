"""Each command as a process of its own on a terminal of its own, without paying for its imports each time.

    python -m tests.screens.warm_processes     reads one JSON object a line, writes one exit code a line

A command of ours runs in a process forked from this one, which has imported the libraries and done nothing with them;
any other command line runs in bash.
"""

import fcntl
import gc
import importlib
import json
import os
import pkgutil
import runpy
import shlex
import sys
import termios
from pathlib import Path

SCRIPTS = ("ingest.py", "query.py", "config.py")
LIBRARIES = (
    "faiss", "networkx", "numpy", "prompt_toolkit", "pydantic", "rich.console", "rich.markdown",
    "rich.progress", "rich.table", "tokenizers", "typer",
)  # fmt: skip
SHELL = set("|&;<>()$`\\*?[#~=%!{")


def import_everything():
    import ragscience

    for name in LIBRARIES:
        importlib.import_module(name)
    for module in pkgutil.walk_packages(ragscience.__path__, "ragscience."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    gc.collect()
    gc.freeze()


def words_of(line):
    """The script and its arguments, or nothing where the line needs a shell."""
    words = shlex.split(line)
    if words[0] != "python" or words[1] not in SCRIPTS or any(SHELL & set(bare) for bare in _unquoted(line)):
        return []
    return words[1:]


def _unquoted(line):
    return line.split('"')[::2]


def become(job):
    """Make the terminal this process's own, and the environment that of the job."""
    os.setsid()
    terminal = os.open(job["terminal"], os.O_RDWR)
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
    for number in range(3):
        os.dup2(terminal, number)
    os.close(terminal)
    os.chdir(job["folder"])
    os.environ.clear()
    os.environ.update(job["environment"])
    sys.path[:0] = job["environment"]["PYTHONPATH"].split(os.pathsep)


def run(job):
    words = words_of(job["line"])
    if not words:
        os.execvp("bash", ["bash", "-o", "pipefail", "-c", job["line"]])
    sys.stdin = open(0, encoding="utf-8")  # noqa: SIM115 - for the life of the process
    sys.stdout = open(1, "w", encoding="utf-8", buffering=1)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", buffering=1, errors="backslashreplace")  # noqa: SIM115
    sys.argv = words
    runpy.run_path(str(Path(words[0]).resolve()), run_name="__main__")


def main():
    import_everything()
    print("ready", flush=True)
    while line := sys.stdin.readline():
        job = json.loads(line)
        child = os.fork()
        if not child:
            become(job)
            run(job)
            return
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
