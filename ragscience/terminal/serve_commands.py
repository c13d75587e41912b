"""`query.py serve` and `query.py mcp`: the library for browsers, other programs and assistants."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Annotated

import typer

from ragscience.errors import UsageError
from ragscience.terminal.cli import opened, say
from ragscience.terminal.run_options import Debug, HomeFolder, Offline
from ragscience.terminal.status_line import STATUS

__all__ = ["add_serve_commands"]

PORT = 8765
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def add_serve_commands(app: typer.Typer) -> None:
    """Add both to the app."""
    app.command("serve")(serve)
    app.command("mcp")(mcp)


def serve(
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="Address to listen on; of this machine alone.")
    ] = _LOOPBACK[0],
    port: Annotated[
        int, typer.Option("--port", metavar="PORT", help="Port to listen on; 0 takes a free one.", min=0, max=65535)
    ] = PORT,
    home: HomeFolder = None,
    offline: Offline = None,
    debug: Debug = False,
) -> int:
    """Serve the library to other programs on this machine, until Ctrl-C.

    The API is described at /api/v1/openapi.json. Chat programs find a model in OpenAI's form at /v1, assistants find
    tools (MCP) at /mcp.
    """
    _check_installed()
    if host not in _LOOPBACK:
        raise UsageError(
            f"{host} can be reached from other machines.", "Only this machine can be served: --host 127.0.0.1 or ::1."
        )
    from ragscience.serving.server_state import ServerOptions
    from ragscience.serving.web_server import run_server

    with opened(home=home, offline=offline) as engine:
        run_server(engine, ServerOptions(host=host, port=port), _listening)
    return 0


def _listening(address: str) -> None:
    STATUS.hide()
    say(f"Serving {address} (Ctrl-C ends)")


def mcp(
    home: HomeFolder = None,
    offline: Offline = None,
    debug: Debug = False,
) -> int:
    """Give an assistant tools to search and read the papers (MCP over stdin and stdout).

    The assistant's program starts it: name `python` as the command, and the path of query.py and `mcp` as arguments.
    """
    _check_installed()
    from ragscience.serving.mcp_server import run_stdio

    with opened(home=home, offline=offline) as engine:
        run_stdio(engine)
    return 0


def _check_installed() -> None:
    missing = [name for name in ("fastapi", "uvicorn", "sse_starlette", "mcp") if find_spec(name) is None]
    if missing:
        raise UsageError(
            f"The packages of the server are not installed ({missing[0]} is missing).",
            "python -m pip install -r requirements-serve.txt",
        )
