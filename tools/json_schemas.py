"""The JSON Schema of what each command prints with --json: docs/json-schema.json, which is kept by hand."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent.parent / "docs" / "json-schema.json"


@cache
def schemas() -> dict[str, dict[str, Any]]:
    """JSON Schema (draft 2020-12) of each command, with the definitions that all share under "$defs"."""
    whole = json.loads(FILE.read_text(encoding="utf-8"))
    return {name: {**schema, "$defs": whole["$defs"]} for name, schema in whole["commands"].items()}
