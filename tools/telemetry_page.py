"""docs/telemetry.md: the log line, spans and metrics of one example answer with fixed times, written by the code."""

from __future__ import annotations

from collections.abc import Sequence

from prometheus_client import CollectorRegistry, generate_latest

from ragscience.core.records import Answer, Citation, Found, Hit, Sentence, Stage, StoredChunk
from ragscience.upkeep.otel_spans import SpanRecord, span_tree
from ragscience.upkeep.telemetry import AskedQuestion, QuestionCounts, log_line, of_answer

__all__ = ["example", "example_page", "tree_text"]

BEGAN = 1767225600.0
"""The first second of 2026, UTC."""
TIMES = (
    ("search", 0, 42.1),
    ("retrieval", 0.4, 14.5),
    ("embed", 0.5, 6.2),
    ("names", 6.7, 0.3),
    ("dense", 7.0, 0.7),
    ("bm25", 7.8, 1.4),
    ("late", 15.0, 24.8),
    ("presence", 42.2, 11.0),
    ("llm", 53.3, 8120.4),
    ("quotes", 8174.0, 12.6),
    ("check", 8186.9, 95.2),
    ("total", 0, 8282.5),
)
"""Stage, when it began and how long it took, in milliseconds."""
OF_ANSWER = ("search", "presence", "llm", "quotes", "check", "total")


CHUNK = StoredChunk(1, 1, "attention.pdf", "attention.pdf", 0, "…", 0, 1, 7, 7, "", "text", ((0, 7),))


def example() -> AskedQuestion:
    """A question that a chat model answers."""
    stages = [Stage(name, BEGAN + began / 1000, ms) for name, began, ms in TIMES]
    of_search = [
        stage for stage in stages if stage.name not in ("search", "presence", "llm", "quotes", "check", "total")
    ]
    own = [stage for stage in stages if stage not in of_search]
    cited = Citation("attention.pdf", 7, "We trained the base models for 100,000 steps or 12 hours.", True)
    hits = tuple(Hit(rank, CHUNK, 1.0, {}, ()) for rank in range(1, 9))
    found = Found("How long did training take?", "default", hits, stages=tuple(of_search), timings_ms=_named(of_search))
    answer = Answer(
        answer_id="4f1c2a9e7b30",
        question=found.question,
        text="…",
        mode="llm",
        refused=False,
        citations=(cited, cited),
        found=found,
        models={"embedder": "all-MiniLM-L6-v2", "reranker": "late interaction", "llm": "llama3.1:8b"},
        timings_ms=_named(own),
        sentences=(Sentence("…", "supported", 0.9, cited),),
        tokens={"prompt": 2210, "answer": 96, "window": 8192},
        trace_id="4f1c2a9e7b304c5d8e6fa0b1c2d3e4f5",
        stages=tuple(own),
    )
    return of_answer(answer)


def _named(stages: Sequence[Stage]) -> dict[str, float]:
    return {f"{stage.name}_ms": stage.ms for stage in stages}


def tree_text(spans: Sequence[SpanRecord]) -> str:
    """Spans as lines, children indented under their parents: name, first and last millisecond."""
    lines: list[str] = []

    def add(number: int, depth: int) -> None:
        span = spans[number]
        began = (span.started - spans[0].started) * 1000
        lines.append(f"{'  ' * depth + span.name:<16}{began:8.1f} …{began + span.ms:8.1f} ms")
        for other, each in enumerate(spans):
            if each.parent == number:
                add(other, depth + 1)

    add(0, 0)
    return "\n".join(lines) + "\n"


def example_page(made: str, table: str) -> str:
    """The page. `made` is the line that names its source, `table` the table of the stages."""
    asked = example()
    spans = span_tree(asked, with_questions=False)
    attributes = [
        f"{span.name}: {', '.join(f'{key} = {value}' for key, value in span.attributes.items())}"
        for span in spans
        if span.attributes
    ]
    counts = CollectorRegistry()
    QuestionCounts(counts).record(asked)
    metrics = generate_latest(counts).decode()
    lines = [
        line for line in metrics.splitlines() if not any(word in line for word in ("bucket", "# TYPE", "_created"))
    ]
    samples = [line for before, line in zip(["", *lines], lines, strict=False) if "#" in line or "#" in before]
    return PAGE.format(
        made=made,
        line=log_line(asked),
        stages=table,
        tree=tree_text(spans),
        attributes="\n".join(attributes),
        metrics="\n".join(samples),
    )


PAGE = """\
{made}
# Logs and metrics

Every stage is timed once. These times go into the answer's JSON, a line in a log, metrics for Prometheus and spans for
OpenTelemetry. All but the JSON are off by default, and nothing leaves the machine by itself. The examples below are
written by the code from one answer with fixed times.

```console
$ python query.py search "How long did training take?" --log questions.log
$ grep -c retrieval_ms questions.log
```

`--log` is an option of `ask`, `search` and `chat`; `RAG_LOG_FILE` sets it for every run. A file that cannot be written
is an error before the work begins. It is written after the answer, in less than a millisecond; spans are sent by a
thread of their own. What goes wrong is a warning and costs no answer.

## The stages

They are in `timings_ms` of the JSON, and have the same names in the log line. A stage that did not run is left out;
the times of one that ran twice, as in an answer by the agent, are added. `total_ms` is the whole question,
`first_token_ms` (JSON alone) the time from the call of the chat model to its first word. Tokens are in `tokens`.

{stages}
## The log line

```text
{line}
```

One line per question, appended in one write, so that several processes can share a file. The time is when the question
began. A value in quotes is a JSON string in which every character that is not printable is escaped: no question can
forge a line. A question is cut after 200 characters. A question that ends with an error has `[ERROR]` and the kind of
error. `trace_id` is the same in the answer's JSON, the audit log and the spans; its first 12 digits are the
`answer_id`. A rotated log is created again.

## The spans

```text
{tree}```

With `--agent` the steps of its trace are between the question and the stages. Attributes follow OpenTelemetry's
conventions for generative AI where they fit:

```text
{attributes}
```

No span contains the words of the question unless `RAG_TRACE_QUESTIONS=true`. Spans are sent where the standard
variables say: `OTEL_TRACES_EXPORTER=otlp` with `OTEL_EXPORTER_OTLP_ENDPOINT`, or `OTEL_TRACES_EXPORTER=console`, which
writes to stderr, because stdout is for the answer. Without `OTEL_TRACES_EXPORTER` OpenTelemetry is not even imported.
It is an extra: `pip install -r requirements-telemetry.txt`. With `--offline` only a collector on this machine is
allowed.

<!-- not run: needs a collector -->
```console
$ export OTEL_TRACES_EXPORTER=otlp OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318
$ python query.py "How long did training take?"
```

## The metrics

A server counts its questions at `/metrics`, beside its jobs and papers. Times are in seconds; each histogram has its
`_bucket` series, too. Of each of the metrics of questions, what it is and one sample:

```text
{metrics}
```
"""
