"""What to do about a failure, in words for somebody in a browser, who has no terminal on the server's machine."""

from __future__ import annotations

import re

__all__ = ["fix_over_http"]

_SAME_HERE = {
    "`python query.py history list`": "GET /api/v1/conversations",
    "`python ingest.py list`": "GET /api/v1/papers",
    "`python ingest.py show PAPER`": "GET /api/v1/papers/MD5/outline",
    "`python ingest.py graph`": "POST /api/v1/graph",
    "`python query.py map OUT.html`": "GET /api/v1/graph",
    'Ask something: python query.py "…"': "Ask something.",
}
"""Commands, and what gives the same over HTTP."""
_COMMAND = re.compile(r"\b(?:ingest|query|config)\.py\b|\bapt-get\b|\bRAG_[A-Z]|--[a-z]")


def fix_over_http(fix: str) -> str:
    """The fix with the address that does what its command does; one that needs a terminal says whose it is."""
    for command, address in _SAME_HERE.items():
        fix = fix.replace(command, address)
    return f"For who runs the server: {fix}" if _COMMAND.search(fix) else fix
