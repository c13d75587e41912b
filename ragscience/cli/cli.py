"""What all commands share: the command line, its settings, and how an error becomes one line and an exit code."""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.exceptions import TyperException

from ragscience.cli.interrupt import CANCELLED, catch_interrupts
from ragscience.cli.run_options import default_home, set_default_home
from ragscience.cli.status_line import STATUS
from ragscience.core.errors import RagScienceError, UsageError
from ragscience.engine.printable import one_line

if TYPE_CHECKING:
    from ragscience.core.settings import Settings
    from ragscience.engine.events import Event
    from ragscience.engine.library_engine import Engine

__all__ = [
    "CANCELLED",
    "as_called",
    "confirm",
    "opened",
    "page_range",
    "run_app",
    "run_installed",
    "say",
    "say_error",
    "settings_of",
]

_is_installed: ContextVar[bool] = ContextVar("is_installed", default=False)
_warned: set[str] = set()
_SCRIPT = re.compile(r"\b(?:python )?(ingest|query)\.py\b")
_ERROR = "error: "
_EXTRA = re.compile(r"-r requirements-(\w+)\.txt")


def as_called(text: str) -> str:
    """A message with the commands as they are called: `python ingest.py list` is `ragscience ingest list` installed."""
    if not _is_installed.get():
        return text
    text = _SCRIPT.sub(lambda found: "ragscience ingest" if found[1] == "ingest" else "ragscience", text)
    return _EXTRA.sub(r"'ragscience[\1]'", text)


def say(text: str, *, lead: str = "") -> None:
    """One line on stderr, safe to show, behind `lead`; on a terminal in lines that end between words."""
    lines = [" " * len(lead) + one_line(as_called(text)).rstrip()]
    if sys.stderr.isatty():
        from ragscience.cli.line_wrap import width_of, wrapped_words

        lines = wrapped_words(lines[0], width_of(sys.stderr))
    lines[0] = lead + lines[0][len(lead) :]
    sys.stderr.write("".join(f"{line}\n" for line in lines))
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
    sys.stderr.write(f"{one_line(what)} {question} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise typer.Abort


def settings_of(**flags: object) -> Settings:
    """The settings of a command from its flags. Raises UsageError."""
    from ragscience.core.settings import load_settings

    return load_settings(default_home=default_home(), on_warning=_warn_once, **flags)


def _warn_once(text: str) -> None:
    if text not in _warned:
        _warned.add(text)
        say(text)


def opened(
    screen: Callable[[Event], None] | None = None, create: bool = False, stays: bool = False, /, **flags: object
) -> Engine:
    """The engine of a command from its flags; `screen` receives what belongs to no single question.

    Without one, warnings are lines on stderr. Raises UsageError, also for a home that is not there unless `create`.
    """
    from ragscience.engine.library_engine import Engine

    settings = settings_of(**flags)
    environment = {name: value for name, value in os.environ.items() if name.startswith("OTEL_")}
    return Engine.open(
        settings.home,
        settings,
        environment=environment,
        on_event=screen or _say_warnings,
        create=create,
        stays=stays,
    )


def _say_warnings(event: Event) -> None:
    from ragscience.engine.events import Warned

    if isinstance(event, Warned):
        say(event.text)


def page_range(text: str | None) -> tuple[int, int] | None:
    """`3-9`, `3-` or `3` as first and last page, inclusive. Raises UsageError."""
    if text is None:
        return None
    first, dash, last = text.partition("-")
    try:
        low = int(first)
        high = (int(last) if last else sys.maxsize // 2) if dash else low
    except ValueError:
        low = high = 0
    if not 1 <= low <= high:
        raise UsageError(f"--pages {text!r} is not a page range.", "Write `--pages 3` or `--pages 3-9`.")
    return low, high


def run_installed(app: typer.Typer) -> None:
    """Run the app as the command `ragscience`, whose home is the current folder where nothing names another."""
    _is_installed.set(True)
    run_app(app)


def run_app(app: Callable[..., Any], *, default_home: Path | None = None) -> None:
    """Run the app; the only place where an error becomes a line on stderr and an exit code."""
    set_default_home(default_home)
    _warned.clear()
    debug = "--debug" in sys.argv
    called = "ragscience" if _is_installed.get() else f"python {Path(sys.argv[0]).name}"
    if "_RAGSCIENCE_COMPLETE" in os.environ:
        from ragscience.cli.completion import answer_shell

        answer_shell(app, called)
    try:
        catch_interrupts()
        result = app(standalone_mode=False, prog_name=called)
        code = result if isinstance(result, int) else 0
        sys.stdout.flush()
    except RagScienceError as error:
        if debug:
            traceback.print_exc()
        say_error(error)
        code = error.exit_code
    except TyperException as error:
        from ragscience.cli.usage_errors import in_plain_words

        say_error(in_plain_words(error))
        code = 2
    except (KeyboardInterrupt, typer.Abort):
        code = CANCELLED
    except BrokenPipeError:
        code = _reader_is_gone()
    except SystemExit as ended:
        # Typer and Rich exit with 1 where the reader of a pipe has read enough (`| head -1`), which is no failure.
        if not isinstance(ended.__context__, BrokenPipeError):
            raise
        code = _reader_is_gone()
    except OSError as error:
        if debug:
            traceback.print_exc()
        where = f" ({error.filename})" if error.filename else ""
        what = f"{error.strerror or error}{where}."
        say_error(RagScienceError(what, "Check the path, its permissions and the free disk space."))
        code = 1
    except Exception as error:  # the last line of defence: no traceback without --debug
        if debug:
            traceback.print_exc()
        what = f"Unexpected error (please report it): {type(error).__name__}: {error}."
        say_error(RagScienceError(what, "--debug shows the traceback."))
        code = 1
    finally:
        STATUS.end()
    if code == CANCELLED:
        say("stopped.")
    sys.exit(code)


def _reader_is_gone() -> int:
    """The exit code where nobody reads stdout any more; what is still to be written there goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
