"""`query.py serve` as a process of its own, to be stopped and killed."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.conftest import ROOT
from tests.warm_processes import WarmProcess

RUN = """
import runpy, sys
from ragscience.serving import server_app
server_app.GRACE_S = float(sys.argv.pop(1))
runpy.run_path("query.py", run_name="__main__")
"""


@contextlib.contextmanager
def server_process(
    home: Path, environment: Mapping[str, str] | None = None, *options: str, grace: float = 60
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process and its address; killed behind, where it still runs."""
    command = [sys.executable, "-c", RUN, str(grace), "serve", "--port", "0", "--home", str(home), *options]
    with WarmProcess(
        command, stderr=subprocess.PIPE, text=True, cwd=ROOT, env={**os.environ, **(environment or {})}
    ) as process:
        try:
            lines = []
            for line in process.stderr:
                lines.append(line)
                if found := re.match(r"Serving (https?://\S+)/ ", line):
                    yield process, found[1]
                    break
            else:
                raise AssertionError("".join(lines))
        finally:
            process.kill()
