"""Requests that schemathesis makes up from the server's OpenAPI document, and what is wrong with the replies."""

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass

from tests.conftest import ROOT

DOCUMENT = "/api/v1/openapi.json"
WRITES = ("--exclude-method=DELETE", "--exclude-name=POST /api/v1/graph")
"""Options that leave out the operations which remove something or take long to write."""
NOT_MEANT = "positive_data_acceptance"
"""The one check that is left out: a filter that no paper fits is refused, though its form is right."""
SETTINGS = """
[checks]
not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", "502", "503"]
negative_data_rejection.expected-statuses = ["400", "401", "403", "404", "405", "413", "415", "422", "428", "5xx"]

[[operations]]
include-path = "/api/v1/uploads"
checks.negative_data_rejection.enabled = false
"""
"""No model runs, and the library may be busy: only that may end with 5xx. What is too large is refused as such. An
upload of bytes counts as a wrong one with schemathesis, whatever they are."""


@dataclass(frozen=True)
class Fuzzed:
    """A run."""

    requests: int
    passed: bool
    report: str
    """What schemathesis printed."""


def settings(known):
    """schemathesis.toml, with values for half of the requests that have a parameter (`path.md5`, `body.question`)."""
    lists = "".join(
        f"[dictionaries.known{number}]\nvalues = {json.dumps(values)}\n" for number, values in enumerate(known.values())
    )
    rows = "".join(
        f'"{name}" = {{ dictionary = "known{number}", probability = 0.5 }}\n' for number, name in enumerate(known)
    )
    return f"{SETTINGS}\n{lists}\n[parameters]\n{rows}" if known else SETTINGS


def fuzz(address, folder, *, examples, seed=None, known=None, more=()):
    """Send up to so many requests to each operation; `more` options of `st run`. Without a seed always the same."""
    chance = ("--generation-deterministic",) if seed is None else ("--generation-database=none", f"--seed={seed}")
    command = [
        sys.executable, "-m", "schemathesis.cli", "run", f"{address}{DOCUMENT}", f"--max-examples={examples}",
        *chance, "--no-color", "--continue-on-failure", f"--exclude-checks={NOT_MEANT}", "--warnings=off",
        "--request-timeout=120", "--wait-for-schema=120", "--suppress-health-check=all", *more,
    ]  # fmt: skip
    (folder / "schemathesis.toml").write_text(settings(known or {}))
    # Without the caller's PYTHONWARNINGS.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONWARNINGS"}
    environment |= {"SCHEMATHESIS_HOOKS": "tests.serving.fuzzed_uploads", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    made = re.search(r"(\d+) generated", done.stdout)
    return Fuzzed(int(made[1]) if made else 0, done.returncode == 0, done.stdout + done.stderr)
