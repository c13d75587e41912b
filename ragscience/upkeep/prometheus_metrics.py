"""Counts of questions for Prometheus, which a server gives at /metrics.

Metric names: https://prometheus.io/docs/practices/naming/.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Histogram, Metric
from prometheus_client.registry import Collector

from ragscience.upkeep.telemetry import AskedQuestion

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
"""Upper bounds in seconds: from a search in memory to a local chat model's long answer."""


class QuestionCounts(Collector):
    """The metrics of questions; a sink of telemetry."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        counter = partial(Counter, registry=self._registry)
        seconds = partial(Histogram, registry=self._registry, buckets=BUCKETS)
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

    def collect(self) -> Iterable[Metric]:
        """All that was counted."""
        return self._registry.collect()
