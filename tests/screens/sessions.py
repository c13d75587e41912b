"""Sessions in a terminal: every command line of the README, then every command of the chat, and what each shows."""

import json
import os
import re
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from ragscience.models.minilm import find_minilm
from tests.screens.emulator import Terminal
from tests.test_docs import ROOT, SAMPLE, commands_of, shell_environment
from tests.warm_processes import start_line

RECORDED = 80
"""The columns of the screens that are kept."""
NARROW = 60
"""The columns of the session without colours."""
WIDTHS = (NARROW, RECORDED)
CHAT = "python query.py chat"
FURTHER = (
    "python ingest.py show ragscience.pdf",
    "python ingest.py sync --dry-run",
    "python ingest.py doctor",
    "python query.py how are the two lists of passages joined",
    'python query.py ask --brief "How long is a chunk?"',
    'python query.py ask --agent "How long is a chunk, and how much of it do neighbours share?"',
    'python query.py search "reciprocal rank fusion" -k 3',
    'python query.py "Which papers mention BM25?"',
    'python query.py "Summarize ragscience.pdf"',
    'python query.py "What does Table 1 of ragscience.pdf report?"',
    'python query.py "What is my library about?"',
    'python query.py ask "And the overlap?" --chat thesis',
    "python query.py history list",
    'python query.py "What is kept in the ledger?" --highlight cited.pdf',
    "python query.py bib --cited last",
    "python query.py audit",
    "python ingest.py graph",
    "python query.py graph BM25",
    "python query.py related ragscience.pdf",
    "python query.py map papers.html",
    'python query.py search "late interaction" --json --quiet > hits.json',
    "python query.py models",
    "python query.py config set top_k 6",
    "python query.py config top_k",
    "python ingest.py show ragscience.pdf --page 3",
    "python ingest.py duplicates",
    "python ingest.py add nowhere.pdf",
    "python query.py --help",
    'python query.py "How tall is the Eiffel tower?"',
    'python query.py search "How many candidates are there?" --section chunking --section settings',
    "python query.py search bananas --paper nowhere",
    "python query.py path BM25 FAISS",
    "python query.py history search overlap",
    "python query.py profiles",
    "python config.py",
)
"""What a person reads and the README does not have; some of them fail."""
TYPED = (
    "/sources",
    "/help",
    "/help show",
    "How long is a chunk?",
    "/sources",
    "/show 1",
    "/show 99",
    "/open 1",
    "/why",
    "/paper ragscience",
    "/paper",
    "/focus ragscience",
    "/focus none",
    "/more",
    "/model",
    "/model quotes",
    "/profile",
    "/profile rrf",
    "/history",
    "/agent on",
    "/agent off",
    "/rename lengths",
    "/save notes.md",
    "/chat",
    "/chat thesis",
    "/clear",
    "/nosuch",
    "/quit",
)
"""What is typed in the chat, line by line: every command of /help, and what can go wrong with one."""
PROMPT_BEGINS = b"\x1b[?2004h"
"""prompt_toolkit asks for bracketed paste whenever it begins to read a line."""


@dataclass(frozen=True)
class Step:
    """A command line, or a line typed in the chat, and its screen."""

    line: str
    shown: list[str]
    broken: list[str]
    """The rows that the terminal broke, each with the first character that had no place."""
    written: str
    """All that was written, with its escape codes."""
    code: int | None = None
    """The exit code; None for a line of the chat."""

    @property
    def in_chat(self):
        return self.code is None


class Processes:
    """Commands over one home, each in a process and on a terminal of its own."""

    def __init__(self, home, **environment):
        self._home = home
        kept = {name: value for name, value in shell_environment(home).items() if not name.startswith("PYTEST_")}
        unset = ("DISPLAY", "WAYLAND_DISPLAY", "COLUMNS", "LINES", "NO_COLOR", "LESS", "FORCE_COLOR")
        self._environment = {name: value for name, value in kept.items() if name not in unset} | {
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "PAGER": "cat",
            "OMP_NUM_THREADS": "1",
            "HF_HUB_OFFLINE": "1",
            "RAG_CACHE_FOLDER": str(home / "cache"),
            "PYTHONPATH": f"{home / 'lib'}{os.pathsep}{ROOT}",
            **environment,
        }
        self.ended = None
        """The exit code of the last process, None while it runs."""

    def start(self, line, terminal):
        self.ended = None
        self._process = start_line(line, self._home, self._environment, terminal.streams())

    def read_until(self, is_done, terminal):
        """Read what the process shows until `is_done()`, or its end."""

        def stops():
            self.ended = self._process.poll()
            return self.ended is not None or is_done()

        terminal.read_until(stops, self._process)
        if self.ended is not None:
            terminal.read_rest()

    def run(self, line, terminal):
        """Run the command line to its end."""
        self.start(line, terminal)
        self.read_until(lambda: False, terminal)
        return self.ended


def link_scripts(home):
    """Put the scripts into the home, as in a clone, and what else is seen on a screen with its folder."""
    for name in ("ingest.py", "query.py", "config.py"):
        (home / name).symlink_to(ROOT / name)
    (home / "cache").symlink_to(os.environ["RAG_CACHE_FOLDER"])
    (home / "lib").mkdir()
    for part in find_minilm().parents[1].glob(f"{find_minilm().parent.name}*"):
        (home / "lib" / part.name).symlink_to(part)


@contextmanager
def home_folder():
    """A folder like a fresh clone, whose path always has the same length: it is seen on the screens."""
    home = Path(tempfile.mkdtemp(prefix="home-", dir="/tmp"))
    try:
        shutil.copytree(SAMPLE, home / "papers" / "sample")
        link_scripts(home)
        yield home
    finally:
        shutil.rmtree(home)


def make_steps(columns, **environment):
    """The whole session at that width."""
    with home_folder() as home:
        processes = Processes(home, **environment)
        lines = (*commands_of((ROOT / "README.md").read_text(encoding="utf-8")), *FURTHER)
        return [*(_run(line, columns, processes) for line in lines), *_chat(columns, processes)]


def _run(line, columns, processes):
    with Terminal(columns) as terminal:
        code = processes.run(line, terminal)
        shown, broken = terminal.emulator.shown, [text for _, text in terminal.emulator.broken]
        return Step(line, _without_blank_ends(shown), broken, terminal.written.decode(), code)


def _chat(columns, processes):
    """Each line once the prompt for it is there; its screen ends where the next prompt begins."""
    steps = []
    with Terminal(columns) as terminal:
        screen = terminal.emulator
        processes.start(CHAT, terminal)
        begins = [0]
        for number, line in enumerate((CHAT, *TYPED), start=1):
            if number > 1:
                written = len(terminal.written)
                terminal.type(line + "\r")
            else:
                written = 0
            processes.read_until(lambda n=number: _is_at_prompt(terminal, n), terminal)
            begins.append(screen.row if processes.ended is None else len(screen.shown))
            rows = range(begins[-2], begins[-1])
            broken = [text for row, text in screen.broken if row in rows]
            shown = _without_blank_ends(screen.shown[rows.start : rows.stop])
            steps.append(Step(line, shown, broken, terminal.written[written:].decode("utf-8", "replace")))
        if processes.ended is None:
            processes.read_until(lambda: False, terminal)
        assert processes.ended == 0, "\n".join(screen.shown)
    return steps


def _is_at_prompt(terminal, number):
    """Whether that many prompts began, and the last one waits for a line."""
    return terminal.written.count(PROMPT_BEGINS) >= number and re.fullmatch(r"> ?", terminal.emulator.shown[-1])


def _without_blank_ends(rows):
    text = "\n".join(rows).strip("\n")
    return text.split("\n") if text else []


def kept_steps(path):
    """The steps that are kept in a file."""
    return [Step(**step) for step in json.loads(path.read_text(encoding="utf-8"))]


def keep_steps(steps, path):
    path.write_text(json.dumps([asdict(step) for step in steps]), encoding="utf-8")
