"""Logs, metrics and traces of each question: what is recorded of it, a line in a log, and where it is written to.

Nothing here times anything: the answer carries each stage's time (`Stage`), and is written as a line here, as counts
for Prometheus and as OpenTelemetry's spans beside this module. Nothing leaves the machine unless the standard OTEL_
variables name an exporter.
"""

from __future__ import annotations

import errno
import json
import os
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ragscience.core.errors import RagScienceError, UsageError
from ragscience.core.records import Answer, Found, Stage

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry


class StageName(NamedTuple):
    """A stage that is timed; its time is `<name>_ms` in the JSON and in the log line."""

    name: str
    inside: str
    """The stage that it is a part of; empty for a part of the whole question, or of a step of the agent."""
    about: str


STAGES = (
    StageName("search", "", "Everything until the passages are there; models that are loaded for it included."),
    StageName("retrieval", "search", "The first pass: candidates of every source, fused."),
    StageName("embed", "retrieval", "The question becomes a vector."),
    StageName("names", "retrieval", "Which papers the question names."),
    StageName("dense", "retrieval", "Search by meaning, in FAISS."),
    StageName("bm25", "retrieval", "Search by words."),
    StageName("graph", "retrieval", "Passages that the knowledge graph has near the question."),
    StageName("gear", "retrieval", "Passages on the graph's best paths."),
    StageName("late", "search", "Late interaction over the stored token vectors."),
    StageName("rerank", "search", "Question and passages read together, by a cross-encoder or an LLM."),
    StageName("presence", "", "Words of the question looked for in the papers that it is about."),
    StageName("llm", "", "The chat model: a follow-up made to stand alone, and the answer."),
    StageName("quotes", "", "Sentences of the passages chosen as an answer."),
    StageName("check", "", "Each sentence of the answer held against the pages that it cites."),
)
"""The parts of a question, each after what it is inside."""
TOTAL = "total"
_RANK = {stage.name: rank for rank, stage in enumerate(STAGES)}


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question with its answer, and what is measured of it."""

    how: str
    """ "ask", "agent" or "search"."""
    answer: Answer
    """Without an `answer_id` for a search and for a failure."""
    error: str = ""
    """The kind of error that came instead of an answer, as "ModelProblem"."""

    @property
    def stages(self) -> tuple[Stage, ...]:
        """In order of their start; a nested one follows its parent."""
        found = (stage for stage in (*self.answer.found.stages, *self.answer.stages) if stage.name != TOTAL)
        return tuple(sorted(found, key=lambda stage: (stage.started, _RANK.get(stage.name, len(_RANK)))))

    def _parts(self) -> list[tuple[float, float]]:
        """(start, milliseconds) of each stage and of each step of the agent."""
        parts = [(stage.started, stage.ms) for stage in (*self.answer.found.stages, *self.answer.stages)]
        return parts + [(step.started, step.seconds * 1000) for step in self.answer.trace if step.started]

    @property
    def started(self) -> float:
        """Seconds since 1970; 0 where nothing was timed."""
        return min((began for began, _ in self._parts()), default=0.0)

    @property
    def total_ms(self) -> float:
        """As the answer says, else until its last part ended.

        A run of the agent that was interrupted took less than the time between its first part and its last.
        """
        ends = [(began - self.started) * 1000 + ms for began, ms in self._parts()]
        return self.answer.timings_ms.get("total_ms", 0.0) or round(max(ends, default=0.0), 3)

    @property
    def timings_ms(self) -> dict[str, float]:
        """As in the JSON."""
        return {**self.answer.found.timings_ms, **self.answer.timings_ms, "total_ms": self.total_ms}

    @property
    def citations(self) -> dict[str, int]:
        """How many by verdict."""
        supported = sum(citation.supported for citation in self.answer.citations)
        return {"supported": supported, "unsupported": len(self.answer.citations) - supported}


def of_answer(answer: Answer) -> AskedQuestion:
    """What is recorded of an answer; one by the agent has the steps of its trace."""
    answer = replace(answer, trace_id=answer.trace_id or uuid.uuid4().hex)
    return AskedQuestion("agent" if answer.trace else "ask", answer)


def of_search(found: Found, models: Mapping[str, str | None]) -> AskedQuestion:
    """What is recorded of a search; `models` as `Answer.models`."""
    total = {"total_ms": found.timings_ms.get("search_ms", 0.0)}
    return AskedQuestion("search", _nothing(found, models, timings_ms=total))


def of_failure(how: str, question: str, error: str, *, started: float, total_ms: float) -> AskedQuestion:
    """What is recorded of a question that ended with an error; `started` in seconds since 1970."""
    whole = {"total_ms": total_ms}
    stages = (Stage(TOTAL, started, total_ms),)
    return AskedQuestion(how, _nothing(Found(question, "", ()), {}, timings_ms=whole, stages=stages), error)


def _nothing(found: Found, models: Mapping[str, str | None], **more: Any) -> Answer:
    """An answer of no words."""
    more |= {"found": found, "models": {**models, "llm": None}, "trace_id": uuid.uuid4().hex}
    return Answer(answer_id="", question=found.question, text="", mode="", refused=False, citations=(), **more)


class Sink(Protocol):
    """One place to write to."""

    def record(self, asked: AskedQuestion) -> None:
        """Write one question. Raises OSError or RagScienceError."""

    def close(self) -> None:
        """Write what is pending. Raises OSError or RagScienceError."""


class Telemetry:
    """All sinks of a run; safe for several threads. A sink's error goes to `on_problem`, and no answer is lost."""

    def __init__(self, sinks: Sequence[Sink], on_problem: Callable[[str], None]) -> None:
        self.sinks = tuple(sinks)
        self._on_problem = on_problem
        self._lock = Lock()

    def count_in(self, registry: CollectorRegistry) -> None:
        """Count the questions from now on in a registry of Prometheus, too: a server's own."""
        self.sinks = (*self.sinks, QuestionCounts(registry))

    def record(self, asked: AskedQuestion) -> None:
        """Write one question to all sinks."""
        self._each([partial(sink.record, asked) for sink in self.sinks])

    def close(self) -> None:
        """Let all sinks write what is pending."""
        self._each([sink.close for sink in self.sinks])

    def _each(self, writes: Sequence[Callable[[], None]]) -> None:
        problems = []
        with self._lock:
            for write in writes:
                try:
                    write()
                except (OSError, RagScienceError) as error:
                    problems.append(f"Not everything was logged or counted: {error}")
        for problem in problems:
            self._on_problem(problem)


LONGEST_QUESTION = 200
"""Characters of a question that are logged; the answer's JSON and the history have all of it."""


def log_line(asked: AskedQuestion) -> str:
    """The line of one question, without a newline: `<time> [INFO] trace_id=… ask query="…" retrieval_ms=12.3 …`.

    The time is when the question began, ISO 8601 in UTC. Stages that did not run are left out. A value in quotes is a
    JSON string in which every character that is not printable is escaped.
    """
    answer, times = asked.answer, asked.timings_ms
    when = datetime.fromtimestamp(asked.started, UTC).isoformat(timespec="milliseconds")
    pairs: list[str] = [f"trace_id={answer.trace_id}", asked.how, f"query={_quoted(answer.question)}"]
    pairs += [f"answer_id={_safe(answer.answer_id)}"] if answer.answer_id else []
    names = [*(f"{stage.name}_ms" for stage in STAGES), "total_ms"]
    pairs += [f"{name}={times[name]:.1f}" for name in names if name in times]
    if asked.error:
        return " ".join([when, "[ERROR]", *pairs, f"error={_safe(asked.error)}"])
    pairs += [f"passages={len(answer.found.hits)}", f"profile={_safe(answer.found.profile)}"]
    if answer.answer_id:
        tokens = answer.tokens.get("prompt", 0) + answer.tokens.get("answer", 0)
        pairs += [f"tokens={tokens}", f"mode={_safe(answer.mode)}", f"refused={'yes' if answer.refused else 'no'}"]
        pairs += [f"{verdict}={count}" for verdict, count in asked.citations.items()]
        pairs.append(f"llm={_safe(answer.models.get('llm') or '-')}")
    return " ".join([when, "[INFO]", *pairs])


class LogFile:
    """A file to which several processes may append lines at once."""

    def __init__(self, path: Path) -> None:
        """Create the file if it does not exist. Raises UsageError where it cannot be written."""
        self._path = path
        try:
            self._append(b"")
        except OSError as error:
            fix = "Use another file for --log (RAG_LOG_FILE)."
            raise UsageError(f"The log {path} cannot be written: {error.strerror}.", fix) from error

    def record(self, asked: AskedQuestion) -> None:
        """Append the line of one question. Raises OSError."""
        self._append(f"{log_line(asked)}\n".encode())

    def close(self) -> None:
        """Do nothing: each line is written at once."""

    def _append(self, line: bytes) -> None:
        # Opened each time, so that a rotated log is created again. One write in append mode is not torn by another
        # process. A pipe without a reader is an error, not a wait.
        how = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0)
        handle = os.open(self._path, how, 0o666)
        try:
            if os.write(handle, line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        finally:
            os.close(handle)


def _quoted(text: str) -> str:
    short = text if len(text) <= LONGEST_QUESTION else f"{text[:LONGEST_QUESTION]}…"
    line = json.dumps(short, ensure_ascii=False)
    if line.isprintable():
        return line
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in line)


def _safe(value: str) -> str:
    """The value, quoted unless it is one plain word."""
    plain = value.isascii() and value.isprintable() and not set(value) & set(' "=\\')
    return value if value and plain else _quoted(value)


BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
"""Upper bounds in seconds: from a search in memory to a local chat model's long answer."""


class QuestionCounts:
    """Counts of questions for Prometheus, which a server gives at /metrics; a sink.

    Metric names: https://prometheus.io/docs/practices/naming/.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        from prometheus_client import Counter, Histogram

        counter = partial(Counter, registry=registry)
        seconds = partial(Histogram, registry=registry, buckets=BUCKETS)
        self._questions = counter("ragscience_questions", "Questions asked.", ["how"])
        self._answers = counter("ragscience_answers", "Answers, refusals among them.", ["mode"])
        self._refusals = counter("ragscience_refusals", "Answers that refuse.", ["mode"])
        self._failures = counter("ragscience_failures", "Questions that ended with an error.", ["error"])
        self._citations = counter("ragscience_citations", "Citations checked.", ["verdict"])
        self._sentences = counter("ragscience_sentences", "Sentences of answers checked.", ["verdict"])
        self._passages = counter("ragscience_passages", "Passages found.")
        self._tokens = counter("ragscience_tokens", "Tokens that the chat model took.", ["kind"])
        self._seconds = seconds("ragscience_question_duration_seconds", "Time of a whole question.", ["how"])
        self._stages = seconds("ragscience_stage_duration_seconds", "Time of one run of a stage.", ["stage"])
        for how in ("ask", "agent", "search"):  # at 0 from the beginning, so that the first count shows as a rise
            self._questions.labels(how)
        for mode in ("llm", "extractive"):
            self._answers.labels(mode), self._refusals.labels(mode)

    def record(self, asked: AskedQuestion) -> None:
        """Count one question."""
        answer = asked.answer
        self._questions.labels(asked.how).inc()
        self._passages.inc(len(answer.found.hits))
        if answer.answer_id:
            self._answers.labels(answer.mode).inc()
            self._refusals.labels(answer.mode).inc(answer.refused)
            for verdict, count in asked.citations.items():
                self._citations.labels(verdict).inc(count)
            for sentence in answer.sentences:
                self._sentences.labels(sentence.verdict).inc()
            for kind in ("prompt", "answer"):
                self._tokens.labels(kind).inc(answer.tokens.get(kind, 0))
        if asked.error:
            self._failures.labels(asked.error).inc()
        self._seconds.labels(asked.how).observe(asked.total_ms / 1000)
        for stage in asked.stages:
            self._stages.labels(stage.name).observe(stage.ms / 1000)

    def close(self) -> None:
        """Do nothing: all is counted at once."""
