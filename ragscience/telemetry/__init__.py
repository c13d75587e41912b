"""What is told of each question that was asked: a line in a log, spans, and counts for Prometheus.

Nothing here times anything. The records carry what was timed once (`Stage`), `told` makes one account of it, and the
log line, the spans and the metrics are three ways to write that account down. Nothing leaves the machine unless the
standard OTEL_ variables name an exporter.
"""

from ragscience.telemetry.question_event import STAGES, QuestionEvent, new_trace_id, of_answer, of_failure, of_search
from ragscience.telemetry.sinks import Telemetry, open_telemetry

__all__ = [
    "STAGES",
    "QuestionEvent",
    "Telemetry",
    "new_trace_id",
    "of_answer",
    "of_failure",
    "of_search",
    "open_telemetry",
]
