"""What all commands share: their settings, and how an error becomes one line on stderr and an exit code."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
import traceback
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.exceptions import TyperException

from ragscience.cli.status_line import CANCELLED, STATUS, catch_interrupts
from ragscience.core.errors import RagScienceError, UsageError
from ragscience.engine.printable import one_line

if TYPE_CHECKING:
    from ragscience.core.settings import Settings
    from ragscience.engine.events import Event
    from ragscience.engine.library_engine import Engine


SOME_FAILED = 3
NOTHING_FOUND = 4
_is_installed: ContextVar[bool] = ContextVar("is_installed", default=False)
_default_home: ContextVar[Path | None] = ContextVar("default_home", default=None)
_warned: set[str] = set()
_SCRIPT = re.compile(r"\b(?:python )?(ingest|query)\.py\b")
_ERROR = "error: "


def as_called(text: str) -> str:
    """A message with the commands as they are called: `python ingest.py list` is `ragscience ingest list` installed."""
    if not _is_installed.get():
        return text
    return _SCRIPT.sub(lambda found: "ragscience ingest" if found[1] == "ingest" else "ragscience", text)


def say(text: str, *, lead: str = "") -> None:
    """One line on stderr, safe to show; on a terminal in lines that end between words, indented as `lead` is long."""
    line = lead + one_line(as_called(text)).rstrip()
    if sys.stderr.isatty():
        width, indent = shutil.get_terminal_size().columns, " " * len(lead)
        line = textwrap.fill(
            line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False, tabsize=4
        )
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def say_error(error: RagScienceError) -> None:
    """An error on stderr: what happened, and on a line of its own what to do about it."""
    say(error.message, lead=_ERROR)
    if error.fix:
        say(error.fix, lead=" " * len(_ERROR))


def confirm(what: str, *, yes: bool, question: str = "Continue?") -> None:
    """Say `what` and ask a person the question, unless `yes`.

    Raises typer.Abort for anything but y or yes, UsageError where nobody can be asked.
    """
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(what, "Add --yes to confirm.")
    STATUS.hide()
    typer.confirm(f"{one_line(what)} {question}", abort=True, err=True)


def default_home() -> Path:
    """The home where no flag and no variable names one: a script's own folder, else the current one."""
    return _default_home.get() or Path.cwd()


def settings_of(**flags: object) -> Settings:
    """The settings of a command from its flags. Raises UsageError."""
    from ragscience.core.settings import load_settings

    return load_settings(default_home=default_home(), on_warning=_warn_once, **flags)


def _warn_once(text: str) -> None:
    if text not in _warned:
        _warned.add(text)
        say(text)


def opened(screen: Callable[[Event], None] | None = None, create: bool = False, /, **flags: object) -> Engine:
    """The engine of a command from its flags; `screen` receives what belongs to no single question.

    Without one, warnings are lines on stderr. Raises UsageError, also for a home that is not there unless `create`.
    """
    from ragscience.engine.library_engine import Engine

    settings = settings_of(**flags)
    environment = {name: value for name, value in os.environ.items() if name.startswith("OTEL_")}
    heard = screen or _say_warnings
    return Engine.open(settings.home, settings, environment=environment, on_event=heard, create=create)


def _say_warnings(event: Event) -> None:
    from ragscience.engine.events import Warned

    if isinstance(event, Warned):
        say(event.text)


def run_app(app: Callable[..., Any], *, home: Path | None = None) -> None:
    """Run the app, and end the process; the only place where an error becomes a line on stderr and an exit code.

    `home` is the folder of a script; None: it is the command `ragscience`, whose home is the current folder.
    """
    _default_home.set(home)
    _is_installed.set(home is None)
    _warned.clear()
    name = "ragscience" if home is None else f"python {Path(sys.argv[0]).name}"
    code, debug = 1, "--debug" in sys.argv
    try:
        catch_interrupts()
        result = app(standalone_mode=False, prog_name=name)
        sys.stdout.flush()
        code = result if isinstance(result, int) else 0
    except (KeyboardInterrupt, typer.Abort):
        code = CANCELLED
    except BrokenPipeError:
        code = _reader_is_gone()
    except SystemExit as ended:
        # Typer and Rich exit with 1 where the reader of a pipe has read enough (`| head -1`), which is no failure.
        if not isinstance(ended.__context__, BrokenPipeError):
            raise
        code = _reader_is_gone()
    except Exception as error:  # the last line of defence: no traceback without --debug
        if debug:
            traceback.print_exc()
        shown = _for_people(error)
        say_error(shown)
        code = shown.exit_code
    finally:
        STATUS.end()
    if code == CANCELLED:
        say("stopped.")
    sys.exit(code)


def _for_people(error: Exception) -> RagScienceError:
    """The error with what to do about it."""
    if isinstance(error, RagScienceError):
        return error
    if isinstance(error, TyperException):
        context = getattr(error, "ctx", None)
        see = f"`{context.command_path} --help` shows the usage." if context else ""
        message = error.format_message().replace("\n", " ").replace("Value error, ", "").rstrip(".")
        of_words = "argument" in message or getattr(getattr(error, "param", None), "param_type_name", "") == "argument"
        root = context.find_root() if context and of_words else None
        asks = getattr(root and root.command, "default_command", "") == "ask"
        see += f" `{root.info_name} ask …` always asks a question." if root and asks else ""
        return UsageError(f"{message}.", see)
    if isinstance(error, OSError):
        where = f" ({error.filename})" if error.filename else ""
        what = f"{error.strerror or error}{where}."
        return RagScienceError(what, "Check the path, its permissions and the free disk space.")
    what = f"Unexpected error (please report it): {type(error).__name__}: {error}."
    return RagScienceError(what, "--debug shows the traceback.")


def _reader_is_gone() -> int:
    """The exit code where nobody reads stdout any more; what is still to be written there goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
