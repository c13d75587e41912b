"""A process that runs a language model from a GGUF file: llama.cpp's own server, on a loopback port of its own.

    parent  {"model", "name", "context", "port", "key", "memory_bytes"}, one line of JSON on stdin
    worker  {"url": …} on stdout once the model is loaded, or {"problem": …}

It ends when its stdin is closed, so never outlives its parent. Python's own stdout is kept for these lines: what
llama.cpp writes goes to stderr.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

__all__ = ["main"]


def main() -> int:
    """Run until stdin is closed; an exit code."""
    lines = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    asked: dict[str, Any] = json.loads(sys.stdin.readline())
    _limit_memory(asked["memory_bytes"])
    try:
        server, url = _serve(asked)
    except (ImportError, RuntimeError, ValueError, OSError, MemoryError) as error:
        lines.write(json.dumps({"problem": str(error) or type(error).__name__}) + "\n")
        lines.flush()
        return 1
    lines.write(json.dumps({"url": url}) + "\n")
    lines.flush()
    sys.stdin.read()
    del server
    os._exit(0)  # llama.cpp's threads may be in the middle of an answer


def _serve(asked: dict[str, Any]) -> tuple[object, str]:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path, params.model_alias = asked["model"], {asked["name"]}
    params.n_ctx, params.n_parallel = asked["context"], 1
    params.hostnames, params.port, params.api_keys = ["127.0.0.1"], asked["port"], [asked["key"]]
    params.offline, params.ui = True, False
    server = xllamacpp.Server(params)
    return server, server.listening_address


def _limit_memory(most_bytes: int) -> None:
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (most_bytes, most_bytes))
    except (ImportError, ValueError, OSError):
        return  # a system without that limit


if __name__ == "__main__":
    sys.exit(main())
