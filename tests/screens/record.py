"""Write the kept screens anew: PYTHONPATH=. .venv/bin/python -m tests.screens.record"""

import os
import tempfile
from itertools import takewhile
from pathlib import Path

from tests.screens.rules import settled
from tests.screens.sessions import CHAT, RECORDED, make_steps


def snapshot(steps):
    """The session as one text: each command line behind `$`, as a person sees it."""
    lines = []
    for step in steps:
        failed = f"   (exit code {step.code})" if step.code else ""
        head = [] if step.in_chat and step.line != CHAT else [f"$ {step.line}{failed}"]
        rows = settled(step.shown)
        if "--json" in step.line:  # its form is kept by tests/golden
            rows = [*takewhile(lambda row: not row.startswith("{"), rows), "{…}"]
        lines += [*head, *rows, ""]
    return "\n".join(lines)


def main():
    with tempfile.TemporaryDirectory() as cache:
        os.environ.setdefault("RAG_CACHE_FOLDER", cache)
        path = Path(__file__).parent / f"{RECORDED}.txt"
        path.write_text(snapshot(make_steps(RECORDED)), encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
