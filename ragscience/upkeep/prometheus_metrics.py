"""Counts for Prometheus, in a text file that the node exporter's textfile collector reads.

A process that answers one question and ends cannot be scraped. Its counts are added to those in the file, under a
lock, and the file is replaced in one step. Metric names: https://prometheus.io/docs/practices/naming/.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from filelock import FileLock
from prometheus_client import Metric, generate_latest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from ragscience.core.errors import UsageError
from ragscience.library.atomic_files import write_atomically
from ragscience.upkeep.asked import AskedQuestion

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, float("inf"))
"""Upper bounds in seconds: from a search in memory to a local chat model's long answer."""


class Family(NamedTuple):
    """One metric."""

    kind: Literal["counter", "histogram"]
    name: str
    help: str
    label: str = ""
    initial: tuple[str, ...] = ()
    """Values of the label that are in the file from the beginning, at 0, so that the first count shows as a rise."""


FAMILIES = (
    Family("counter", "ragscience_questions_total", "Questions asked.", "how", ("ask", "agent", "search")),
    Family("counter", "ragscience_answers_total", "Answers, refusals among them.", "mode", ("llm", "extractive")),
    Family("counter", "ragscience_refusals_total", "Answers that refuse.", "mode", ("llm", "extractive")),
    Family("counter", "ragscience_failures_total", "Questions that ended with an error.", "error"),
    Family("counter", "ragscience_citations_total", "Citations checked.", "verdict", ("supported", "unsupported")),
    Family("counter", "ragscience_sentences_total", "Sentences of answers checked.", "verdict",
           ("supported", "weak", "unsupported", "no-claim", "quote")),
    Family("counter", "ragscience_passages_total", "Passages found."),
    Family("counter", "ragscience_tokens_total", "Tokens that the chat model took.", "kind", ("prompt", "answer")),
    Family("histogram", "ragscience_question_duration_seconds", "Time of a whole question.", "how"),
    Family("histogram", "ragscience_stage_duration_seconds", "Time of one run of a stage.", "stage"),
)  # fmt: skip

_FAMILY = {family.name: family for family in FAMILIES}
_Key = tuple[str, tuple[tuple[str, str], ...]]
_Samples = dict[_Key, float]
"""Values by the sample's name and its sorted labels."""


class QuestionCounts(Collector):
    """The metrics of questions, added to the samples that a file has already; a sink of telemetry, too."""

    def __init__(self, questions: Iterable[AskedQuestion] = (), before: Mapping[_Key, float] | None = None) -> None:
        self._samples = dict(before or {})
        for family in FAMILIES:
            for value in family.initial or ([""] if family.kind == "counter" and not family.label else []):
                self._add(family, value, 0)
        for asked in questions:
            self.record(asked)

    def record(self, asked: AskedQuestion) -> None:
        """Count one question."""
        for name, label, number in _numbers(asked):
            self._add(_FAMILY[f"ragscience_{name}"], label, number)

    def close(self) -> None:
        """Nothing is pending."""

    def _add(self, family: Family, value: str, number: float) -> None:
        """Increase a counter by the number, or observe it in a histogram."""
        labels = {family.label: value} if family.label else {}
        if family.kind == "counter":
            self._increase(family.name, labels, number)
            return
        for bound in BUCKETS:
            self._increase(f"{family.name}_bucket", {**labels, "le": floatToGoString(bound)}, number <= bound)  # type: ignore[no-untyped-call]
        self._increase(f"{family.name}_count", labels, 1)
        self._increase(f"{family.name}_sum", labels, number)

    def _increase(self, name: str, labels: dict[str, str], number: float) -> None:
        key = name, tuple(sorted(labels.items()))
        self._samples[key] = self._samples.get(key, 0.0) + number

    def collect(self) -> Iterator[Metric]:
        """The families with all their samples."""
        for family in FAMILIES:
            metric = Metric(family.name.removesuffix("_total"), family.help, family.kind)
            for (name, labels), value in tuple(self._samples.items()):
                if _family_of(name) == metric.name:
                    metric.add_sample(name, dict(labels), value)
            yield metric


def _numbers(asked: AskedQuestion) -> Iterator[tuple[str, str, float]]:
    """(metric, label's value, number to add or seconds to observe) of one question."""
    answer = asked.answer
    yield "questions_total", asked.how, 1
    yield "passages_total", "", len(answer.found.hits)
    if answer.answer_id:
        yield "answers_total", answer.mode, 1
        yield "refusals_total", answer.mode, answer.refused
        yield from (("citations_total", verdict, count) for verdict, count in asked.citations.items())
        yield from (("sentences_total", sentence.verdict, 1) for sentence in answer.sentences)
        yield from (("tokens_total", kind, answer.tokens.get(kind, 0)) for kind in ("prompt", "answer"))
    if asked.error:
        yield "failures_total", asked.error, 1
    yield "question_duration_seconds", asked.how, asked.total_ms / 1000
    yield from (("stage_duration_seconds", stage.name, stage.ms / 1000) for stage in asked.stages)


def _family_of(sample: str) -> str:
    """`x` of a sample `x_total`, `x_bucket`, `x_sum` or `x_count`."""
    return sample.rpartition("_")[0]


def _parsed(text: str) -> _Samples:
    """The samples of a metrics file. Raises ValueError or IndexError if it is not a metrics file of this program."""
    known = {family.name.removesuffix("_total") for family in FAMILIES}
    samples: _Samples = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if _family_of(sample.name) not in known:
                raise ValueError(sample.name)
            samples[sample.name, tuple(sorted(sample.labels.items()))] = sample.value
    return samples


class MetricsFile:
    """A metrics file that this process adds to, question by question."""

    def __init__(self, path: Path) -> None:
        """Read what is there. Raises UsageError where the file cannot be used, or is not a metrics file of ours."""
        self._path = Path(os.path.realpath(path))
        self._pending: list[AskedQuestion] = []
        try:
            if self._path.exists() and not self._path.is_file():
                raise IsADirectoryError(0, "it is not a file")
            if not self._path.parent.is_dir():
                raise NotADirectoryError(0, "its folder is not there")
            self.close()
        except OSError as error:
            raise UsageError(
                f"The metrics file {path} cannot be written: {error.strerror}.",
                "Use another file for --metrics (RAG_METRICS_FILE).",
            ) from error

    def record(self, asked: AskedQuestion) -> None:
        """Count one question. Raises OSError or UsageError; counts that were not written are kept for later."""
        self._pending.append(asked)
        self.close()

    def close(self) -> None:
        """Add the pending counts to those of the file, under a lock that other processes keep, too.

        Raises OSError or UsageError.
        """
        with FileLock(f"{self._path}.lock"):
            write_atomically(self._path, generate_latest(QuestionCounts(self._pending, self._read())))
            self._pending = []

    def _read(self) -> _Samples:
        try:
            return _parsed(self._path.read_bytes().decode())
        except FileNotFoundError:
            return {}
        except (ValueError, IndexError) as error:
            raise UsageError(
                f"{self._path} is not a metrics file of this program.",
                "Give --metrics (RAG_METRICS_FILE) the name of a new file, or delete this one.",
            ) from error
