"""What a person sees while the engine works: warnings, steps and tokens as they come, each warning once."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import IO, TYPE_CHECKING

from ragscience.cli.cli import say
from ragscience.cli.line_wrap import LONGEST_LINE, StreamedLines, width_of
from ragscience.cli.status_line import STATUS
from ragscience.cli.step_words import step_lines
from ragscience.core.serialization import to_json
from ragscience.engine.events import (
    Event,
    ModelAsked,
    ModelChosen,
    Reranking,
    Searched,
    StepDone,
    Thinking,
    Token,
    Warned,
)
from ragscience.engine.printable import counted, plain

if TYPE_CHECKING:
    from rich.console import Console

    from ragscience.engine.told_choices import ToldChoices

__all__ = ["Screen", "console", "hand_over", "print_json"]


class Screen:
    """Shows events: call it with each. Warnings go to stderr unless `quiet`, tokens to stdout with `shows_tokens`.

    The first token is shown with the second: what comes in one piece (quotes, a refusal) is shown from the answer.
    """

    def __init__(self, *, quiet: bool, brief: bool = False, shows_tokens: bool = False) -> None:
        self.quiet = quiet
        self.brief = brief
        """Whether an answer is one line."""
        self.shows_steps = False
        self.shows_tokens = shows_tokens
        self.streamed = ""
        """The tokens of this answer that are on the screen."""
        self.task = ""
        """What the status line begins with."""
        self.told_choices: ToldChoices | None = None
        """The choices of models that need not be said again; None: each is said."""
        self._model = ""
        """The language model that was asked last for this answer."""
        self._held: str | None = None
        self._lines: StreamedLines | None = None
        self._shown: set[str] = set()

    def keep_choices_in(self, file: Path) -> None:
        """Say each choice of a model once for a library; the file keeps what was said."""
        from ragscience.engine.told_choices import ToldChoices

        self.told_choices = ToldChoices(file)

    def __call__(self, event: Event) -> None:
        """Show the event, if it is one to show."""
        if isinstance(event, Warned):
            self.warn(event.text)
        elif isinstance(event, ModelChosen):
            self._tell(event)
        elif isinstance(event, StepDone) and self.shows_steps:
            for line in step_lines(event.step):
                say(line)
        elif isinstance(event, Token) and self.shows_tokens:
            self._stream(event.text)
        else:
            self._show_doing(event)

    def doing(self, what: str) -> None:
        """Say on the status line what is being done."""
        STATUS.show(f"{self.task}{what}")

    def _show_doing(self, event: Event) -> None:
        match event:
            case Searched():
                self._model = ""
                self.doing("searching")
            case Reranking(passages):
                self.doing(f"reading {counted(passages, 'passage')}")
            case ModelAsked(model, passages):
                self._model = model
                reads = f"{model} reads {counted(passages, 'passage')}"
                self.doing(reads if passages else f"waiting for {model}")
            case Thinking(model):
                self.doing(f"{model} is thinking")
            case Token() if self._model:
                self.doing(f"{self._model} is writing")

    def begin_answer(self, *, shows_tokens: bool) -> None:
        """Get ready for the events of another answer."""
        self.shows_tokens, self.shows_steps = shows_tokens and not self.brief, not (self.quiet or self.brief)
        self.streamed, self._held, self._lines = "", None, None

    def end_stream(self) -> None:
        """Show the word that waits for its end, and end the line; nothing where nothing was streamed."""
        if self._lines is not None:
            sys.stdout.write(self._lines.finish() + "\n")
            sys.stdout.flush()
        self._lines = None

    def _stream(self, text: str) -> None:
        if self._held is None:
            self._held = text
            return
        text = text if self.streamed else self._held + text
        self.streamed += text
        if self._lines is None:
            self._lines = StreamedLines(min(width_of(sys.stdout), LONGEST_LINE))
        sys.stdout.write(self._lines.feed(plain(text)))
        sys.stdout.flush()

    def _tell(self, chosen: ModelChosen) -> None:
        if (
            self.quiet
            or not chosen.part
            or self.told_choices is None
            or self.told_choices.is_new(chosen.part, chosen.text)
        ):
            self.warn(chosen.text)
        self._shown.add(chosen.text)

    def warn(self, text: str) -> None:
        """Show it on stderr, once."""
        if text and text not in self._shown and not self.quiet:
            say(text)
        self._shown.add(text)

    def warn_all(self, texts: Iterable[str]) -> None:
        """Show each, once."""
        for text in texts:
            self.warn(text)


def print_json(value: object) -> None:
    """One line on stdout, seen by a pipe at once."""
    sys.stdout.write(to_json(value) + "\n")
    sys.stdout.flush()


def console(stream: IO[str] | None = None) -> Console:
    """A stream (stdout) for people: no markup is read out of texts, and nothing is wrapped or coloured in a pipe."""
    from rich.console import Console

    is_watched = (stream or sys.stdout).isatty()
    return Console(
        file=stream,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=not is_watched,
        force_terminal=is_watched,
        width=width_of(sys.stdout) if is_watched else None,
    )


def hand_over(text: str, target: Path | None) -> None:
    """Write it to the file and say so, or to stdout without one."""
    if target is None:
        sys.stdout.write(text.encode("utf-8", "replace").decode())
        return
    from ragscience.engine.markdown_export import write_out

    write_out(target, text)
    say(f"Written to {target}.")
