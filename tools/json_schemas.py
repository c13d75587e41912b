"""The JSON Schema of what each command prints with --json, made from the types; for docs, tests and other programs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

from typing_extensions import TypedDict

from ragscience.core.serialization import Output
from ragscience.engine import outputs
from ragscience.evaluation.eval_report import EvalOutput
from ragscience.models.model_choice import ModelRow
from ragscience.upkeep.findings import DoctorOutput

__all__ = ["OUTPUTS", "json_schemas", "schemas"]


class ModelsOutput(Output):
    """`models`."""

    models: list[ModelRow]


class TokenOutput(TypedDict):
    """Who may use a served library; the token itself is kept nowhere."""

    name: str
    role: Literal["reader", "writer"]
    created_at: str
    """ISO 8601, UTC."""


class TokensOutput(Output):
    """`serve token list`."""

    tokens: list[TokenOutput]


OUTPUTS = {
    "search": outputs.SearchOutput,
    "ask": outputs.AnswerOutput,
    "error": outputs.ErrorOutput,
    "list": outputs.ListOutput,
    "list --failed": outputs.SkippedFilesOutput,
    "show": outputs.OutlineOutput,
    "show --page": outputs.PageTextOutput,
    "duplicates": outputs.DuplicatesOutput,
    "fetch": outputs.FetchOutput,
    "watch": outputs.WatchOutput,
    "doctor": DoctorOutput,
    "graph": outputs.GraphOutput,
    "path": outputs.GraphPathOutput,
    "related": outputs.RelatedOutput,
    "history list": outputs.HistoryOutput,
    "history show": outputs.TurnsOutput,
    "models": ModelsOutput,
    "profiles": outputs.ProfilesOutput,
    "serve token list": TokensOutput,
    "eval": EvalOutput,
}
"""The type of each command's JSON; "error" takes the place of a failed question."""


@cache
def schemas() -> dict[str, dict[str, Any]]:
    """JSON Schema (draft 2020-12) of each command, with the definitions that all share under "$defs"."""
    found, shared = json_schemas(OUTPUTS)
    return {name: {**schema, "$defs": shared} for name, schema in found.items()}


def json_schemas(kinds: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """(the JSON Schema, draft 2020-12, of each type by its name here, the definitions that they share).

    All fields are required and no others allowed; attribute docstrings are the descriptions.
    """
    from pydantic import ConfigDict, TypeAdapter
    from pydantic.json_schema import GenerateJsonSchema

    class Plain(GenerateJsonSchema):
        def field_title_should_be_set(self, _schema: Any) -> bool:
            return False

        def field_is_required(self, *_: Any, **__: Any) -> bool:
            return True

    config = ConfigDict(use_attribute_docstrings=True, extra="forbid")
    # A record takes no configuration itself; what holds it does.
    held = [(name, "serialization", TypeAdapter(list[kind], config=config)) for name, kind in kinds.items()]  # type: ignore[valid-type]
    schemas, shared = TypeAdapter.json_schemas(held, schema_generator=Plain)  # type: ignore[arg-type]
    return {name: schemas[name, "serialization"]["items"] for name in kinds}, shared["$defs"]
