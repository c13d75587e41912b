"""The JSON Schema of what each command prints with --json, made from the types; for docs, tests and other programs."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

from typing_extensions import TypedDict

from ragscience.core.serialization import json_schemas
from ragscience.engine import json_output
from ragscience.evaluation.eval_report import EvalOutput
from ragscience.models.model_choice import ModelRow
from ragscience.upkeep.findings import DoctorOutput

__all__ = ["OUTPUTS", "schemas"]


class ModelsOutput(json_output.Output):
    """`models`."""

    models: list[ModelRow]


class TokenOutput(TypedDict):
    """Who may use a served library; the token itself is kept nowhere."""

    name: str
    role: Literal["reader", "editor", "owner"]
    created_at: str
    """ISO 8601, UTC."""


class TokensOutput(json_output.Output):
    """`serve token list`."""

    tokens: list[TokenOutput]


OUTPUTS = {
    "search": json_output.SearchOutput,
    "ask": json_output.AnswerOutput,
    "error": json_output.ErrorOutput,
    "list": json_output.ListOutput,
    "list --failed": json_output.SkippedFilesOutput,
    "show": json_output.OutlineOutput,
    "show --page": json_output.PageTextOutput,
    "duplicates": json_output.DuplicatesOutput,
    "fetch": json_output.FetchOutput,
    "watch": json_output.WatchOutput,
    "doctor": DoctorOutput,
    "graph": json_output.GraphOutput,
    "path": json_output.GraphPathOutput,
    "related": json_output.RelatedOutput,
    "history list": json_output.HistoryOutput,
    "history show": json_output.TurnsOutput,
    "models": ModelsOutput,
    "profiles": json_output.ProfilesOutput,
    "serve token list": TokensOutput,
    "eval": EvalOutput,
}
"""The type of each command's JSON; "error" takes the place of a failed question."""


@cache
def schemas() -> dict[str, dict[str, Any]]:
    """JSON Schema (draft 2020-12) of each command, with the definitions that all share under "$defs"."""
    found, shared = json_schemas(OUTPUTS)
    return {name: {**schema, "$defs": shared} for name, schema in found.items()}
