"""Logs, metrics and traces of each question: a line in a log, counts for Prometheus, and OpenTelemetry's spans.

Nothing here times anything: the records carry each stage's time (`Stage`), and one `QuestionEvent` is written in three
forms. Nothing leaves the machine unless the standard OTEL_ variables name an exporter.
"""

from ragscience.upkeep.question_event import STAGES, QuestionEvent, of_answer, of_failure, of_search
from ragscience.upkeep.sinks import Telemetry, open_telemetry

__all__ = ["STAGES", "QuestionEvent", "Telemetry", "of_answer", "of_failure", "of_search", "open_telemetry"]
