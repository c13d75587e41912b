"""What a person sees while the engine works: warnings, steps, tokens, papers read; each warning once."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event as Flag
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ragscience.cli.output import PROSE, WordStream, console, write_now
from ragscience.cli.running import SOME_FAILED, say
from ragscience.cli.status_line import STATUS, first_interrupt
from ragscience.core.paper_records import counted_places
from ragscience.core.records import Step
from ragscience.engine import events
from ragscience.engine.printable import counted, one_line, plain, rounded_time, shortened

if TYPE_CHECKING:
    from ragscience.engine.places import Cite

# The steps of the agent

_STEPS = {
    "decompose_query": "Splitting the question:",
    "retrieve": "Searching:",
    "reason": "Drafting an answer:",
    "reflect": "How well the draft answers the question:",
    "generate_answer": "The answer:",
}
_LONGEST = 160
"""Characters of a sub-query, a note or a missing thing."""


def step_lines(step: Step) -> Iterator[str]:
    """A step of the agent in one line; below it its queries, notes and what is missing, a line each."""
    again = f" (pass {step.iteration})" if step.iteration > 1 else ""
    name, cost = _STEPS.get(step.node, f"{step.node}:"), [*_counts([step])[:3], f"{step.seconds:.1f} s"]
    yield f"{name[:-1]}{again}{name[-1]} {shortened(step.summary, _LONGEST)} [{', '.join(cost)}]"
    if step.node == "decompose_query":
        yield from (f"    ? {shortened(query, _LONGEST)}" for query in step.queries)
    yield from (f"    - {shortened(note, _LONGEST)}" for note in step.notes)
    if step.missing:
        yield f"    missing: {'; '.join(shortened(each, _LONGEST) for each in step.missing)}"


def cost_line(trace: Sequence[Step]) -> str:
    """What all steps cost together."""
    passes, tokens = max((step.iteration for step in trace), default=0), sum(step.tokens for step in trace)
    parts = [counted(passes, "pass", "passes")] * bool(passes) + _counts(trace)
    parts += [counted(tokens, "token")] * bool(tokens)
    return f"Together: {', '.join(parts)}, {sum(step.seconds for step in trace):.1f} s"


def _counts(steps: Sequence[Step]) -> list[str]:
    """The searches and calls of the steps, without those that there were none of."""
    searches, tools = sum(step.searches for step in steps), sum(step.tool_calls for step in steps)
    calls = sum(step.llm_calls for step in steps)
    named = ((searches, "search", "searches"), (tools, "tool call", "tool calls"), (calls, "model call", "model calls"))
    return [counted(number, one, many) for number, one, many in named if number]


class Screen:
    """Shows events: call it with each. Warnings go to stderr unless `quiet`, tokens to stdout with `shows_tokens`.

    The first token is shown with the second: what comes in one piece (quotes, a refusal) is shown from the answer.
    """

    def __init__(self, *, quiet: bool, brief: bool = False, every: bool = False) -> None:
        self.quiet = quiet
        self.brief = brief
        """Whether an answer is one line."""
        self.every = every
        """Whether every quote is shown."""
        self.cite: Cite | None = None
        """Says how a page is cited; None: by its file."""
        self.streamed = ""
        """The tokens of this answer that are on the screen."""
        self.task = ""
        """What the status line begins with."""
        self.told: Path | None = None
        """Keeps which choices of a model were said, so that each is said once for a library; None: said always."""
        self._shows_steps = self._shows_tokens = False
        self._model = ""
        """The language model that was asked last for this answer."""
        self._held: str | None = None
        self._lines: WordStream | None = None
        self._shown: set[str] = set()

    def __call__(self, event: events.Event) -> None:
        """Show the event, if it is one to show."""
        match event:
            case events.Warned(text):
                self.warn(text)
            case events.ModelChosen():
                self._tell(event)
            case events.StepDone(step) if self._shows_steps:
                for line in step_lines(step):
                    say(line)
            case events.Token(text) if self._shows_tokens:
                self._stream(text)
            case events.Searched():
                self._model = ""
                self.doing("searching")
            case events.Reranking(passages):
                self.doing(f"reading {counted(passages, 'passage')}")
            case events.ModelAsked(model, passages):
                self._model = model
                self.doing(f"{model} reads {counted(passages, 'passage')}" if passages else f"waiting for {model}")
            case events.Thinking(model):
                self.doing(f"{model} is thinking")
            case events.Token() if self._model:
                self.doing(f"{self._model} is writing")

    def doing(self, what: str) -> None:
        """Say on the status line what is being done."""
        STATUS.show(f"{self.task}{what}")

    def begin_answer(self, *, shows_tokens: bool) -> None:
        """Get ready for the events of another answer."""
        self._shows_tokens = shows_tokens and not self.brief and self.cite is None
        self._shows_steps = not (self.quiet or self.brief)
        self.streamed, self._held, self._lines = "", None, None

    def end_stream(self) -> None:
        """Show the word that waits for its end, and end the line; nothing where nothing was streamed."""
        if self._lines is not None:
            write_now(self._lines.finish() + "\n")
        self._lines = None

    def _stream(self, text: str) -> None:
        if self._held is None:
            self._held = text
            return

        text = text if self.streamed else self._held + text
        self.streamed += text
        if self._lines is None:
            self._lines = WordStream(min(console().width, PROSE))
        write_now(self._lines.feed(plain(text)))

    def _tell(self, chosen: events.ModelChosen) -> None:
        from ragscience.engine.shared_parts import is_new_choice

        part, told = chosen.part, self.told
        if self.quiet or not part or told is None or is_new_choice(told, part, chosen.text):
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


# Ingest and watch: events as lines, on a terminal how far they are; nothing but failures when quiet

LEAVES = "Ctrl-C again stops at once"


class IngestScreen:
    """Shows the events of an ingest on stderr; a context manager. The first Ctrl-C stops, the second leaves at once."""

    def __init__(self, *, quiet: bool, goes_on: str = "the same command continues with the rest") -> None:
        """`goes_on` is what is said after Ctrl-C of the papers that are not in."""
        self.quiet = quiet
        self._goes_on = goes_on
        self._papers = self._done = self._stored = 0
        self._read = ""
        """What is said after Ctrl-C of passages that were read for the graph."""
        self._began = time.monotonic()
        self._two_interrupts = ExitStack()

    def __enter__(self) -> Self:

        def stop() -> None:
            STATUS.show_in_handler("stopping", stops=LEAVES)
            raise KeyboardInterrupt

        self._two_interrupts.enter_context(first_interrupt(stop, signal.SIGINT))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        STATUS.hide()
        self._two_interrupts.close()
        if kind is KeyboardInterrupt and self._read:
            self.tell(self._read)
        elif kind is KeyboardInterrupt and self._papers:
            are = "is" if self._stored == 1 else "are"
            self.tell(f"{self._stored} of {counted(self._papers, 'paper')} {are} in; {self._goes_on}.")

    def __call__(self, event: events.Event) -> None:
        """Show the event."""
        match event:
            case events.PassagesRead(done, total) if done:
                left = (time.monotonic() - self._began) / done * (total - done)
                STATUS.show(f"reading passage {done:,} of {total:,}, about {rounded_time(left)} left", keeps_time=True)
                self._read = f"{done} of {counted(total, 'passage')} saved; the same command continues from there."
            case events.PlanMade(papers):
                self._papers, self._done, self._stored = papers, 0, 0
            case events.PaperStored() | events.PaperFailed():
                self._done += 1
                self._stored += isinstance(event, events.PaperStored)
                place = f"[{self._done}/{self._papers}] " if self._done <= self._papers else ""
                if isinstance(event, events.PaperFailed) or not self.quiet:
                    say(place + event_line(event))
            case _:
                if not show_progress(event):
                    self.tell(event_line(event))

    def tell(self, line: str) -> None:
        """A line on stderr; none when quiet."""
        if line and not self.quiet:
            say(line)


def show_progress(event: events.Event) -> bool:
    """Show how far a run is in the terminal's last line, and what Ctrl-C does; whether the event is about that."""
    match event:
        case events.Progressed(what, done, total):
            at = f", {done:,} of {total:,}" if total else f", {done:,} found" if done else ""
            STATUS.show(plain(what) + at, keeps_time=True)
        case events.PlanMade():
            pass
        case _:
            return False
    return True


def event_line(event: events.Event) -> str:
    """The event in words; "" for one that is no line."""
    match event:
        case events.Warned(text) | events.ModelChosen(text) | events.Noted(text):
            return text
        case events.PaperStored(paper, is_update):
            warnings = f", {'; '.join(paper.warnings)}" if paper.warnings else ""
            verb = "updated" if is_update else "added"
            return f"{verb} {paper.file}: {counted_places([paper])}, {counted(paper.chunks, 'passage')}{warnings}"
        case events.PaperRemoved(paper, why):
            return f"removed {paper.file}: {why}"
        case events.PaperFailed(path, problem):
            return f"not read: {problem if path.name in problem.message else f'{path}: {problem}'}"
    return ""


def show_result(result: events.IngestResult, screen: IngestScreen) -> int:
    """A summary; an exit code."""
    counts = {
        "added": len(result.added),
        "updated": len(result.updated),
        "known already": result.known,
        "not read": len(result.failures),
    }
    again = counted(result.still_skipped, "file is", "files are") if result.still_skipped else ""
    done = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    done = done or ("nothing new" if again else "no PDFs found")
    held = f"{counted(result.papers, 'paper')}, {counted(result.passages, 'passage')}"
    screen.tell(f"{done}; the library has {held}.")
    if again:
        screen.tell(f"{again} still skipped: `python ingest.py list --failed`")
    return SOME_FAILED if result.failures else 0


class WatchScreen:
    """A line on stdout for each event of a watch, flushed at once; all else on stderr, nothing of it when quiet."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet

    def __call__(self, event: events.Event) -> None:
        """Show the event."""
        if isinstance(event, events.Warned | events.ModelChosen):
            if not self._quiet:
                say(event_line(event))
        elif not show_progress(event):
            write_now(one_line(event_line(event)) + "\n")


@contextmanager
def cancelled_by_signals() -> Iterator[Flag]:
    """A flag that the first SIGINT or SIGTERM sets; the second one ends the process."""
    cancel = Flag()

    def stop() -> None:
        cancel.set()
        STATUS.show_in_handler("stopping after this paper", stops=LEAVES)

    with first_interrupt(stop, signal.SIGINT, signal.SIGTERM):
        yield cancel
