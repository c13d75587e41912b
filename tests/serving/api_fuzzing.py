"""Requests that schemathesis makes up from the server's OpenAPI document, and what is wrong with the replies."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass

DOCUMENT = "/api/v1/openapi.json"
WRITES = r"/papers/\{md5\}$|/graph$"
"""Routes that remove papers or take long to write."""
NOT_MEANT = "positive_data_acceptance"
"""The one check that is left out: a filter that no paper fits is refused, though its form is right."""


@dataclass(frozen=True)
class Fuzzed:
    """A run."""

    requests: int
    passed: bool
    report: str
    """What schemathesis printed."""


SETTINGS = """
[checks]
not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", "502", "503"]
negative_data_rejection.expected-statuses = ["400", "401", "403", "404", "405", "413", "415", "422", "428", "5xx"]
"""
"""No model runs, and the library may be busy: only that may end with 5xx. What is too large is refused as such."""


def fuzz(address, folder, *, examples, seed=None, more=()):
    """Send up to so many requests to each operation; `more` options of `st run`. Without a seed always the same."""
    chance = ("--generation-deterministic",) if seed is None else ("--generation-database=none", f"--seed={seed}")
    command = [
        sys.executable, "-m", "schemathesis.cli", "run", f"{address}{DOCUMENT}", f"--max-examples={examples}",
        *chance, "--no-color", "--continue-on-failure", f"--exclude-checks={NOT_MEANT}", "--warnings=off",
        "--request-timeout=120", "--wait-for-schema=120", "--suppress-health-check=all", *more,
    ]  # fmt: skip
    (folder / "schemathesis.toml").write_text(SETTINGS)
    # Without the caller's PYTHONWARNINGS.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONWARNINGS"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    made = re.search(r"(\d+) generated", done.stdout)
    return Fuzzed(int(made[1]) if made else 0, done.returncode == 0, done.stdout + done.stderr)
