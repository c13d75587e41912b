"""Expected errors, with their exit codes, and addresses as a message may show them.

RagScienceError                 exit 1
├── UsageError                  exit 2   a wrong option, setting or argument
├── FileProblem                 exit 3   one file could not be read; the others go on
├── LibraryDamaged              exit 1   what was read is not what was written
├── HistoryDamaged              exit 1   the same of the conversations
├── DiskProblem                 exit 1   a file of the home could not be read or written
├── NothingFound                exit 4   the library has no answer
├── LibraryUnavailable          exit 5   busy, out of reach, of another embedder, of a newer schema
│   └── LibraryBusy             exit 5   another process writes it: waiting helps
├── ModelProblem                exit 1   a model is missing, not running, or has changed
├── SourceError                 exit 1   a paper or a list of papers could not be fetched
└── Cancelled                   exit 130 the question was cancelled
"""

import re
from typing import ClassVar, TypeVar

from ragscience.core import PACKAGE_ROOT

EXIT_CODES: dict[int, str] = {
    0: "done",
    1: "failed",
    2: "wrong use: a wrong option, setting or argument, or a name that several papers have where one is wanted",
    3: "some of several inputs failed, and the others are done; or a paper does not hold a sentence (`check`)",
    4: "nothing found: no paper, page, heading, author, answer or conversation of that name, no passage for a search; "
    "or refused (`ask --strict`)",
    5: "the library is busy or out of reach, or was made by another embedder or a newer version",
    130: "stopped: by Ctrl-C, or because a question was answered with no",
}


class RagScienceError(Exception):
    """An expected failure: `message` says what happened, with the value seen; `fix` says what to do about it."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, fix: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.message} {self.fix}".strip()


class UsageError(RagScienceError):
    """A wrong option, setting or argument."""

    exit_code = 2


class FileProblem(RagScienceError):
    """One file could not be read; `reason` is a stable word for it ("encrypted", "not-a-pdf", "no-text", …)."""

    exit_code = 3

    def __init__(self, message: str, fix: str = "", *, reason: str = "unreadable") -> None:
        super().__init__(message, fix)
        self.reason = reason


class LibraryDamaged(RagScienceError):
    """What was read from disk is not what was written there."""


class HistoryDamaged(RagScienceError):
    """The file of the conversations is not what was written there."""


class DiskProblem(RagScienceError):
    """A file of the home could not be read or written: the disk is full or fails, or this user may not."""


class NothingFound(RagScienceError):
    """The library has no answer."""

    exit_code = 4


class LibraryUnavailable(RagScienceError):
    """The library is busy or out of reach, belongs to another embedder, or has a newer schema."""

    exit_code = 5


class LibraryBusy(LibraryUnavailable):
    """Another process is writing the library: try again when it is done."""


class ModelProblem(RagScienceError):
    """A model is missing, does not answer, or is not the one that the library was made with."""


class SourceError(RagScienceError):
    """Something could not be fetched; `reason` is a stable word for it ("refused-address", "not-a-pdf", …)."""

    def __init__(self, message: str, fix: str = "", *, reason: str = "network") -> None:
        super().__init__(message, fix)
        self.reason = reason


class Cancelled(RagScienceError):
    """The question was cancelled before its answer was there."""

    exit_code = 130

    def __init__(self, message: str = "The question was cancelled.", fix: str = "") -> None:
        super().__init__(message, fix)


_Kind = TypeVar("_Kind", bound=RagScienceError)


def install_line(extra: str) -> str:
    """The command that installs an extra: from its requirements file in a clone, else by its name."""
    file = f"requirements-{extra}.txt"
    if (PACKAGE_ROOT / file).is_file():
        return f"python -m pip install -r {file}"
    return f'python -m pip install "ragscience[{extra}]"'


def missing_package(needs: str, package: str, extra: str, kind: type[_Kind]) -> _Kind:
    """The error where a package of an extra is not installed: what needs it, and the command that installs it."""
    return kind(f"{needs} needs the package {package}, which is not installed.", f"Run `{install_line(extra)}`.")


_LONGEST_SHOWN = 120


def shown_address(text: str) -> str:
    """A URL as a message may show it: on one line, not too long, without credentials and without its query."""
    start = re.split(r"[?#]", text, maxsplit=1)[0]
    if "@" in start:
        scheme, _, _ = start.partition("://")
        start = f"{scheme if len(scheme) < 10 else ''}://…/{start.rpartition('@')[2]}"
    plain = "".join(character if character.isprintable() else "\ufffd" for character in start.strip())
    return plain if len(plain) <= _LONGEST_SHOWN else f"{plain[:_LONGEST_SHOWN]}…"
