"""Counts for Prometheus, in a file that the node exporter's textfile collector reads.

A process that answers one question and ends has nothing that could be scraped. So its counts are added to those in the
file, under a lock, and the file is replaced in one step. Every sample is a counter or a part of a histogram: adding up
is all that is needed.

Format: https://prometheus.io/docs/instrumenting/exposition_formats/ (text, version 0.0.4); names:
https://prometheus.io/docs/practices/naming/.
"""

from __future__ import annotations

import fcntl
import os
import re
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from ragscience.errors import UsageError
from ragscience.telemetry.question_event import QuestionEvent

__all__ = ["FAMILIES", "Family", "MetricsFile", "Tally", "counted", "parse", "render"]

Key = tuple[str, tuple[tuple[str, str], ...]]
"""Name of a sample, and its labels: `le` last."""

BUCKETS = ("0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "5", "10", "30",
           "60", "+Inf")  # fmt: skip
"""Upper bounds in seconds: from a search in memory to a local chat model's long answer."""


LOCK_SECONDS = 5.0
"""After this the counts wait for the next question: a process that was stopped must not stop this one."""


PAUSE_SECONDS = 10.0
"""Between two writes of one process, which take milliseconds; a collector scrapes every 15 s or more seldom. A process
that is killed loses the counts of so many seconds."""


@dataclass(frozen=True, slots=True)
class Family:
    """One metric."""

    name: str
    kind: str
    """ "counter" or "histogram"."""
    about: str
    label: str = ""
    always: tuple[str, ...] = ()
    """Values of the label that are there from the beginning, at 0, so that the first count is seen as a rise."""


FAMILIES = (
    Family("ragscience_questions_total", "counter", "Questions asked.", "how", ("ask", "agent", "search")),
    Family("ragscience_answers_total", "counter", "Answers, refusals among them.", "mode", ("llm", "extractive")),
    Family("ragscience_refusals_total", "counter", "Answers that refuse.", "mode", ("llm", "extractive")),
    Family("ragscience_failures_total", "counter", "Questions that ended with an error.", "error"),
    Family(
        "ragscience_citations_total", "counter", "Citations checked.", "verdict", ("supported", "unsupported")
    ),
    Family(
        "ragscience_sentences_total",
        "counter",
        "Sentences of answers checked.",
        "verdict",
        ("supported", "weak", "unsupported", "no-claim"),
    ),
    Family("ragscience_passages_total", "counter", "Passages found."),
    Family("ragscience_tokens_total", "counter", "Tokens that the chat model took.", "kind", ("prompt", "answer")),
    Family("ragscience_question_duration_seconds", "histogram", "Time of a whole question.", "how"),
    Family("ragscience_stage_duration_seconds", "histogram", "Time of one run of a stage.", "stage"),
)  # fmt: skip

_SAMPLE = re.compile(r"([a-z_]+)(?:\{(.*)\})? ([0-9.e+-]+)")
_LABEL = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"(?:,|$)')
_ESCAPED = {"\\": r"\\", '"': r"\"", "\n": r"\n"}
_PARTS = ("_bucket", "_sum", "_count")


class Tally:
    """Counts that grow cheaply, a question at a time."""

    def __init__(self) -> None:
        self._counters: defaultdict[Key, float] = defaultdict(float)
        self._histograms: dict[tuple[str, tuple[str, str]], list[float]] = {}
        """For each bucket what falls into it and into no smaller one; last the sum."""

    def add(self, event: QuestionEvent) -> None:
        """Count one question."""
        self._add("ragscience_questions_total", "how", event.how)
        self._add("ragscience_passages_total", "", "", event.passages)
        if event.answer_id:
            self._add("ragscience_answers_total", "mode", event.mode)
            self._add("ragscience_refusals_total", "mode", event.mode, event.refused)
            for verdict, count in event.citations.items():
                self._add("ragscience_citations_total", "verdict", verdict, count)
            for verdict, count in event.sentences.items():
                self._add("ragscience_sentences_total", "verdict", verdict, count)
            for kind in ("prompt", "answer"):
                self._add("ragscience_tokens_total", "kind", kind, event.tokens.get(kind, 0))
        if event.error:
            self._add("ragscience_failures_total", "error", event.error)
        self._observe("ragscience_question_duration_seconds", ("how", event.how), event.total_ms / 1000)
        for stage in event.stages:
            self._observe("ragscience_stage_duration_seconds", ("stage", stage.name), stage.ms / 1000)

    def counts(self) -> dict[Key, float]:
        """All samples; a histogram's buckets hold all that is below their bound, as the format has it."""
        counts: dict[Key, float] = dict(self._counters)
        for (name, label), (*slots, total) in self._histograms.items():
            below = list(accumulate(slots))
            counts |= {
                (f"{name}_bucket", (label, ("le", bound))): count for bound, count in zip(BUCKETS, below, strict=True)
            }
            counts[f"{name}_sum", (label,)] = total
            counts[f"{name}_count", (label,)] = below[-1]
        return counts

    def _add(self, name: str, label: str, value: str, by: float = 1) -> None:
        self._counters[name, ((label, value),) if label else ()] += by

    def _observe(self, name: str, label: tuple[str, str], seconds: float) -> None:
        slots = self._histograms.setdefault((name, label), [0.0] * (len(BUCKETS) + 1))
        slots[bisect_left(_EDGES, seconds)] += 1
        slots[-1] += seconds


_EDGES = [float(bound) for bound in BUCKETS]


def counted(event: QuestionEvent) -> dict[Key, float]:
    """What one question adds."""
    tally = Tally()
    tally.add(event)
    return tally.counts()


def render(counts: Mapping[Key, float]) -> str:
    """The text of a metrics file. Only samples of FAMILIES are written."""
    by_family: dict[str, list[Key]] = {}
    for key in counts:
        by_family.setdefault(_family_of(key[0]), []).append(key)
    return "".join(_family_text(family, by_family.get(family.name, []), counts) for family in FAMILIES)


def _family_text(family: Family, keys: list[Key], counts: Mapping[Key, float]) -> str:
    values = {key: counts[key] for key in keys}
    if family.kind == "counter":
        always: list[tuple[tuple[str, str], ...]] = [((family.label, value),) for value in family.always]
        values = {(family.name, labels): 0.0 for labels in always or ([] if family.label else [()])} | values
    lines = [f"# HELP {family.name} {family.about}", f"# TYPE {family.name} {family.kind}"]
    lines += [_sample(key, values[key]) for key in (values if family.kind == "counter" else sorted(values, key=_place))]
    return "\n".join(lines) + "\n"


def _place(key: Key) -> tuple[object, ...]:
    """Of a histogram's sample: its buckets in order, then sum and count."""
    name, labels = key
    bound = float(labels[-1][1]) if labels[-1][0] == "le" else 0.0
    return (labels[0], next(number for number, part in enumerate(_PARTS) if name.endswith(part)), bound)


def _sample(key: Key, value: float) -> str:
    name, labels = key
    inside = ",".join(f'{label}="{"".join(_ESCAPED.get(char, char) for char in text)}"' for label, text in labels)
    return f"{name}{{{inside}}} {value:.12g}" if inside else f"{name} {value:.12g}"


def parse(text: str) -> dict[Key, float]:
    """What `render` wrote. Raises ValueError that names the line for anything else."""
    counts: dict[Key, float] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if line.startswith("#") or not line:
            continue
        match = _SAMPLE.fullmatch(line)
        if match is None or _family_of(match[1]) not in _NAMES:
            raise ValueError(f"line {number}")
        counts[match[1], tuple(_labels(match[2] or ""))] = float(match[3])
    return counts


_NAMES = {family.name for family in FAMILIES}
_HISTOGRAMS = {family.name for family in FAMILIES if family.kind == "histogram"}


def _family_of(sample: str) -> str:
    base = next((sample.removesuffix(part) for part in _PARTS if sample.endswith(part)), sample)
    return base if base in _HISTOGRAMS else sample


def _labels(text: str) -> Iterator[tuple[str, str]]:
    for name, value in _LABEL.findall(text):
        yield name, re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], value)


def _sum(counts: Mapping[Key, float], more: Mapping[Key, float]) -> dict[Key, float]:
    return {key: counts.get(key, 0) + more.get(key, 0) for key in {**counts, **more}}


def _lock(handle: int) -> None:
    """Wait until this process alone adds up, which takes another one milliseconds. Raises BlockingIOError."""
    late = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > late:
                raise
        time.sleep(0.005)


class MetricsFile:
    """A metrics file that this process adds to: at once, then every PAUSE_SECONDS at most, and at the end."""

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Read what is there; `clock` gives seconds.

        Raises UsageError where the file cannot be read or written, or is no metrics file of ours.
        """
        self._clock = clock
        self._written: float | None = None
        self._path = Path(os.path.realpath(path))
        if self._path.exists() and not self._path.is_file():
            raise UsageError(f"{path} is no file.", "Give --metrics (RAG_METRICS_FILE) the name of a file.")
        self._pending: Tally | None = None
        """What is not in the file yet."""
        try:
            self._add_up()
        except OSError as error:
            raise UsageError(
                f"The metrics file {path} cannot be written: {error.strerror}.",
                "Give --metrics (RAG_METRICS_FILE) another file.",
            ) from error

    def record(self, event: QuestionEvent) -> None:
        """Add what one question adds. Raises OSError or UsageError; what was not written is kept for later."""
        self._pending = self._pending or Tally()
        self._pending.add(event)
        if self._written is None or self._clock() - self._written >= PAUSE_SECONDS:
            self.close()

    def close(self) -> None:
        """Write what waits. Raises OSError or UsageError."""
        if self._pending is not None:
            # An attempt counts: a file that cannot be written is not tried at every question.
            self._written = self._clock()
            self._add_up()

    def _add_up(self) -> None:
        """Add what is pending to what the file has, under a lock that other processes keep, too."""
        handle = os.open(f"{self._path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            _lock(handle)
            pending = self._pending.counts() if self._pending is not None else {}
            self._replace(render(_sum(self._read(), pending)))
            self._pending = None
        finally:
            os.close(handle)

    def _read(self) -> dict[Key, float]:
        try:
            return parse(self._path.read_bytes().decode())
        except FileNotFoundError:
            return {}
        except ValueError as error:  # not UTF-8, or a line that is not ours
            where = "it is not text" if isinstance(error, UnicodeDecodeError) else f"see {error}"
            raise UsageError(
                f"{self._path} is not a metrics file of this program: {where}.",
                "Give --metrics (RAG_METRICS_FILE) the name of a new file, or delete this one.",
            ) from error

    def _replace(self, text: str) -> None:
        # Open to all as far as the umask lets it: another user's collector reads it. The collector takes *.prom only.
        temporary = self._path.with_name(f".{self._path.name}.{os.getpid()}.tmp")
        try:
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
            with os.fdopen(handle, "wb") as file:
                file.write(text.encode())
            temporary.replace(self._path)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
