"""Which role a route needs, and which limit of a person it counts for: one row for each route."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ragscience.engine.access_tokens import Role

if TYPE_CHECKING:
    from re import Pattern

__all__ = ["RULES", "Rule", "rule_of"]


@dataclass(frozen=True, slots=True)
class Rule:
    """What a route needs."""

    method: str
    path: str
    """With its parameters in braces, as the route has it."""
    role: Role | None
    """None: open to everybody, without a token."""
    counts_as: Literal["", "answer", "change"] = ""
    """How many answers (work for the processor) and changes of the library one person has under way is limited."""


RULES: tuple[Rule, ...] = (
    Rule("GET", "/", None),
    Rule("GET", "/page/{name:path}", None),
    Rule("GET", "/healthz", None),
    Rule("GET", "/api/v1/session", None),
    Rule("POST", "/api/v1/session", None),
    Rule("DELETE", "/api/v1/session", None),
    Rule("GET", "/readyz", "reader"),
    Rule("GET", "/metrics", "reader"),
    Rule("GET", "/api/v1/openapi.json", "reader"),
    Rule("POST", "/api/v1/search", "reader", "answer"),
    Rule("POST", "/api/v1/ask", "reader", "answer"),
    Rule("POST", "/api/v1/ask/events", "reader", "answer"),
    Rule("GET", "/api/v1/answers/{answer_id}", "reader"),
    Rule("GET", "/api/v1/conversations", "reader"),
    Rule("GET", "/api/v1/conversations/{number}", "reader"),
    Rule("DELETE", "/api/v1/conversations/{number}", "reader"),
    Rule("GET", "/api/v1/papers", "reader"),
    Rule("GET", "/api/v1/papers/{md5}", "reader"),
    Rule("GET", "/api/v1/papers/{md5}/outline", "reader"),
    Rule("GET", "/api/v1/papers/{md5}/pages/{number}", "reader"),
    Rule("GET", "/api/v1/papers/{md5}/file", "reader"),
    Rule("GET", "/api/v1/papers/{md5}/pages/{number}/geometry", "reader"),
    Rule("GET", "/api/v1/papers/{md5}/pages/{number}/image", "reader"),
    Rule("POST", "/api/v1/papers/{md5}/places", "reader"),
    Rule("GET", "/api/v1/passages/{chunk_id}", "reader"),
    Rule("GET", "/api/v1/answers/{answer_id}/sources", "reader"),
    Rule("GET", "/api/v1/bibliography", "reader"),
    Rule("GET", "/api/v1/profiles", "reader"),
    Rule("GET", "/api/v1/jobs", "reader"),
    Rule("GET", "/api/v1/jobs/{job_id}", "reader"),
    Rule("POST", "/api/v1/uploads", "editor", "change"),
    Rule("DELETE", "/api/v1/papers/{md5}", "owner"),
    Rule("GET", "/map", "reader"),
    Rule("GET", "/api/v1/map", "reader"),
    Rule("GET", "/api/v1/graph", "reader"),
    Rule("POST", "/api/v1/graph", "editor", "change"),
    Rule("GET", "/api/v1/graph/concepts", "reader"),
    Rule("GET", "/api/v1/graph/concepts/{name:path}", "reader"),
    Rule("GET", "/api/v1/graph/path", "reader"),
    Rule("GET", "/api/v1/graph/similar/{md5}", "reader"),
    Rule("POST", "/api/build_graph", "editor", "change"),
    Rule("POST", "/api/agent_action", "reader", "answer"),
    Rule("GET", "/v1/models", "reader"),
    Rule("GET", "/v1/models/{name:path}", "reader"),
    Rule("POST", "/v1/chat/completions", "reader", "answer"),
    Rule("POST", "/v1/embeddings", "reader", "answer"),
    Rule("POST", "/mcp", "reader", "answer"),
)
_patterns: list[tuple[Pattern[str], Rule]] = []


def rule_of(method: str, path: str) -> Rule | None:
    """The row of a request; None where there is no such route. HEAD is as GET."""
    from starlette.routing import compile_path

    if not _patterns:
        _patterns.extend((compile_path(rule.path)[0], rule) for rule in RULES)
    wanted = "GET" if method == "HEAD" else method
    return next((rule for pattern, rule in _patterns if rule.method == wanted and pattern.match(path)), None)
