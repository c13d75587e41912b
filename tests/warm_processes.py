"""Processes of our own without their imports: each is forked from one that has imported the libraries.

    python -m tests.warm_processes SOCKET     takes a job with its streams from the socket, and forks a process for it

What begins is a process like another: with its own streams, session, terminal, exit code and signals.
"""

import atexit
import contextlib
import fcntl
import functools
import gc
import importlib
import json
import os
import pkgutil
import runpy
import shlex
import signal
import socket
import subprocess
import sys
import termios
import threading
from pathlib import Path
from select import select

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = ("ingest.py", "query.py", "config.py")
LIBRARIES = (
    "faiss", "fastapi", "networkx", "numpy", "prompt_toolkit", "pydantic", "pymupdf", "rich.console",
    "rich.markdown", "rich.progress", "rich.table", "tokenizers", "typer.main", "uvicorn",
)  # fmt: skip
SHELL = set("|&;<>()$`\\*?[#~=%!{")
LONGEST_JOB = 1 << 20


class WarmProcess(subprocess.Popen):
    """What subprocess.Popen gives for `[sys.executable, …]`, forked from the warm process of this run.

    The first argument is a script, -c or -m. A process with a session of its own has its stdin as its terminal. What
    is not Python is begun in place of the forked process.
    """

    def _execute_child(
        self, args, executable, preexec_fn, close_fds, pass_fds, cwd, env, startupinfo, creationflags, shell,
        p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite, restore_signals, gid, gids, uid, umask,
        start_new_session, process_group,
    ):  # fmt: skip
        assert (preexec_fn, pass_fds, shell) == (None, (), False)
        words = [str(word) for word in (args[1:] if args[0] == sys.executable else args)]
        job = {"words": words, "cwd": str(cwd or Path.cwd()), "own_session": start_new_session}
        job["env"] = dict(os.environ if env is None else env)
        given = [0 if p2cread == -1 else p2cread, 1 if c2pwrite == -1 else c2pwrite, 2 if errwrite == -1 else errwrite]
        reply, theirs = socket.socketpair()
        with theirs:
            message = json.dumps(job).encode()
            socket.send_fds(_warm_socket(), [message], [theirs.fileno(), *given])
        self._told = reply.makefile("r")
        reply.close()
        self.pid = int(self._told.readline())
        self._child_created = True
        self._close_pipe_fds(p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite)

    def fileno(self):
        """Has something to read when the process has ended."""
        return self._told.fileno()

    def _internal_poll(self, **_):
        with self._waitpid_lock:
            if self.returncode is None and select([self], [], [], 0)[0]:
                self.returncode = int(self._told.readline())
                self._told.close()
        return self.returncode

    def _wait(self, timeout):
        if self.returncode is None and not select([self], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired(self.args, timeout)
        return self.poll()


def run_warm(command, *, input=None, capture_output=False, timeout=300, check=False, **how):
    """What subprocess.run does, with a warm process."""
    if capture_output:
        how |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    if input is not None:
        how["stdin"] = subprocess.PIPE
    with WarmProcess(command, **how) as process:
        try:
            out, err = process.communicate(input, timeout=timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(command, process.returncode, out, err)
    if check:
        done.check_returncode()
    return done


_starting = threading.Lock()


def _warm_socket():
    with _starting:
        return _started()


@functools.cache
def _started():
    """The socket of the warm process, which is started by the first who needs it and ends with this process."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.warm_processes", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            cwd=ROOT,
            env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)},
        )
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, LONGEST_JOB)

    def end():
        ours.close()
        process.wait(60)

    atexit.register(end)
    return ours


def start_line(line, folder, environment, streams):
    """The process of a command line: a warm one for one of our scripts, bash for another."""
    words = words_of(line)
    command = [sys.executable, *words] if words else ["bash", "-o", "pipefail", "-c", line]
    return WarmProcess(command, cwd=folder, env=environment, **{"start_new_session": True, **streams})


def run_line(line, folder, environment, file):
    """Run the command line without a terminal, and write to `file` what it prints; its exit code."""
    with file.open("wb") as written:
        streams = {"stdin": subprocess.DEVNULL, "stdout": written, "stderr": written}
        with start_line(line, folder, environment, streams) as process:
            return process.wait(300)


def words_of(line):
    """The script and its arguments, or nothing where the line needs a shell."""
    words = shlex.split(line)
    if words[0] != "python" or words[1] not in SCRIPTS or any(SHELL & set(bare) for bare in line.split('"')[::2]):
        return []
    return words[1:]


def import_everything():
    import ragscience
    from ragscience.reading.pdf_file import load_pymupdf

    load_pymupdf()  # as the processes of readers do: ONNX Runtime has threads, which no fork survives
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


def become(job, streams):
    """Take the streams, the session and the environment of the job."""
    if job["own_session"]:
        os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    for stream in streams:
        os.close(stream)
    if job["own_session"] and os.isatty(0):
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.chdir(job["cwd"])
    os.environ.clear()
    os.environ.update(job["env"])
    sys.path[:0] = filter(None, job["env"].get("PYTHONPATH", "").split(os.pathsep))
    sys.stdin = open(0, encoding="utf-8")  # noqa: SIM115 - for the life of the process
    sys.stdout = open(1, "w", encoding="utf-8", buffering=1 if os.isatty(1) else -1)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", buffering=1, errors="backslashreplace")  # noqa: SIM115


def run(words):
    if words[0] == "bash":
        os.execvp("bash", words)
    words = words[words[0] == "-P" :]
    if words[0] == "-c":
        sys.argv = ["-c", *words[2:]]
        sys.path.insert(0, "")
        exec(compile(words[1], "<string>", "exec"), {"__name__": "__main__"})
    elif words[0] == "-m":
        sys.argv = words[1:]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = words
        runpy.run_path(str(Path(words[0]).resolve()), run_name="__main__")


def attend(job, reply, streams):
    """Fork the process, and say its id and how it ended."""
    child = os.fork()
    if not child:
        os.close(reply)
        become(job, streams)
        return True
    try:
        for stream in streams:
            os.close(stream)
        os.write(reply, f"{child}\n".encode())
        _, status = os.waitpid(child, 0)
        os.write(reply, f"{os.waitstatus_to_exitcode(status)}\n".encode())
    finally:
        os._exit(0)


class Leaving:
    """The end of a forked process, behind all else at its end: taking apart what it has imported takes long."""

    def __init__(self):
        self.code = None
        atexit.register(self)

    def __call__(self):
        if isinstance(self.code, int):
            with contextlib.suppress(OSError, ValueError, AttributeError):  # and Python itself says so
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(self.code & 0xFF)

    def run(self, words):
        try:
            run(words)
            self.code = 0
        except SystemExit as ended:
            self.code = ended.code or 0
            raise


def main():
    leaving = Leaving()  # what is registered first comes last
    import_everything()
    jobs = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    while True:
        message, descriptors, _, _ = socket.recv_fds(jobs, LONGEST_JOB, 4)
        if not message:
            return
        job, (reply, *streams) = json.loads(message), descriptors
        if not os.fork():
            jobs.close()
            if attend(job, reply, streams):
                leaving.run(job["words"])
                return
        for descriptor in descriptors:
            os.close(descriptor)
        with contextlib.suppress(ChildProcessError):  # of earlier jobs
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


if __name__ == "__main__":
    main()
