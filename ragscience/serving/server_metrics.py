"""What the server counts for Prometheus: requests, their times, questions, jobs, the library and the process."""

from __future__ import annotations

import time
from collections import Counter as Tally
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

from ragscience.core.errors import RagScienceError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from ragscience.serving.server_state import ServerState

__all__ = ["MeasuredRequests", "ServerMetrics"]

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
"""Upper bounds in seconds: from a page's file to the end of a streamed answer."""
JOB_STATES = ("waiting", "running", "done", "failed")
_PREFIXES = ("/api/v1", "/api", "/v1")
_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))


class ServerMetrics:
    """The metrics of one server. No label has a word of a client: a route is named by its template."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        labels = ("method", "route")
        self._requests = Counter(
            "ragscience_http_requests", "Requests answered.", (*labels, "status"), registry=self.registry
        )
        self._seconds = Histogram(
            "ragscience_http_request_duration_seconds", "From a request to the end of its reply.", labels,
            buckets=BUCKETS, registry=self.registry,
        )  # fmt: skip
        self._questions = Gauge("ragscience_questions", "Questions by state.", ["state"], registry=self.registry)
        self._jobs = Gauge("ragscience_jobs", "Remembered changes of the library.", ["state"], registry=self.registry)
        self._papers = Gauge("ragscience_papers", "Papers in the library.", registry=self.registry)
        self._passages = Gauge("ragscience_passages", "Passages in the library.", registry=self.registry)
        ProcessCollector(registry=self.registry)

    def record(self, scope: Scope, status: int, seconds: float) -> None:
        """Count one request."""
        method = scope["method"] if scope["method"] in _METHODS else "other"
        route = _template(scope)
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)

    def text(self, state: ServerState) -> bytes:
        """All metrics in Prometheus' text form; those of the library as they last were where it cannot be read."""
        asked = state.answers.statistics()
        self._questions.labels("running").set(asked.borrowed_tokens)
        self._questions.labels("waiting").set(asked.tasks_waiting)
        tally = Tally[str](job.state for job in state.queue.jobs())
        for name in JOB_STATES:
            self._jobs.labels(name).set(tally[name])
        with suppress(RagScienceError):
            about = state.engine.library.about
            self._papers.set(about.papers)
            self._passages.set(about.chunks)
        return generate_latest(self.registry)


class MeasuredRequests:
    """ASGI middleware that counts each request and its reply."""

    def __init__(self, app: ASGIApp, *, metrics: ServerMetrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, sent)
        finally:
            self._metrics.record(scope, status, time.perf_counter() - began)


def _template(scope: Any) -> str:
    """The template of the route that a request has taken, with its router's prefix; "other" where none was."""
    path = getattr(scope.get("route"), "path", None)
    if path is None:
        return "other"
    return next((prefix for prefix in _PREFIXES if scope["path"].startswith(f"{prefix}/")), "") + str(path)
