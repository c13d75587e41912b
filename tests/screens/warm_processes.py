"""Each command as a process of its own on a terminal of its own, without paying for its imports each time.

    python -m tests.screens.warm_processes     reads one JSON object a line, writes one exit code a line

A command of ours runs in a process forked from this one, which has imported the libraries and done nothing with them;
any other command line runs in bash.
"""

import fcntl
import functools
import gc
import importlib
import json
import os
import pkgutil
import runpy
import shlex
import subprocess
import sys
import termios
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPTS = ("ingest.py", "query.py", "config.py")
LIBRARIES = (
    "faiss", "networkx", "numpy", "prompt_toolkit", "pydantic", "rich.console", "rich.markdown",
    "rich.progress", "rich.table", "tokenizers", "typer.main",
)  # fmt: skip
SHELL = set("|&;<>()$`\\*?[#~=%!{")


class WarmServer:
    """The process that all commands are forked from."""

    def __enter__(self):
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.screens.warm_processes"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)},
        )
        self.replies = self._process.stdout
        assert self.replies.readline() == b"ready\n"
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        self._process.wait(60)
        self.replies.close()

    def send(self, job):
        self._process.stdin.write(json.dumps(job).encode() + b"\n")
        self._process.stdin.flush()

    def run(self, line, folder, environment, file):
        """Run the command line without a terminal, and write to `file` what it prints; its exit code."""
        self.send({"line": line, "folder": str(folder), "environment": environment, "file": str(file)})
        return int(self.replies.readline())


def import_everything():
    import ragscience

    for name in LIBRARIES:
        importlib.import_module(name)
    for module in pkgutil.walk_packages(ragscience.__path__, "ragscience."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    main = sys.modules["typer.main"]
    main.get_command = functools.lru_cache(main.get_command)
    for name in ("ingest_app", "query_app"):  # each command describes itself to typer
        main.get_command(sys.modules[f"ragscience.cli.{name}"].app)
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
    """Make the terminal this process's own, or write to its file; and make the environment that of the job."""
    os.setsid()
    if "terminal" in job:
        terminal = os.open(job["terminal"], os.O_RDWR)
        fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
        streams = [terminal] * 3
    else:
        written = os.open(job["file"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        streams = [os.open(os.devnull, os.O_RDONLY), written, written]
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    for stream in set(streams):
        os.close(stream)
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
