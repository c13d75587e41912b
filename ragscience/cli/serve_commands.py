"""`query.py serve` and `query.py mcp`: the library for browsers, other programs and assistants."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragscience.cli.cli import opened, say
from ragscience.cli.command_groups import HELP, App, OwnAndMore
from ragscience.cli.run_options import Debug, HomeFolder, Offline
from ragscience.cli.status_line import STATUS
from ragscience.cli.token_commands import token_app
from ragscience.core.errors import UsageError

if TYPE_CHECKING:
    from ragscience.engine.access_tokens import AccessTokens
    from ragscience.engine.library_engine import Engine
    from ragscience.serving.server_state import ServerOptions

__all__ = ["add_serve_commands"]

PORT = 8765
LOOPBACK = "127.0.0.1"
EVERY_ADDRESS = ("0.0.0.0", "::")  # noqa: S104

serve_app = App(
    cls=OwnAndMore,
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings=HELP,
)
serve_app.add_typer(token_app, name="token")


def add_serve_commands(app: typer.Typer) -> None:
    """Add both to the app."""
    app.add_typer(serve_app, name="serve")
    app.command("mcp")(mcp)


@serve_app.callback()
def serve(
    ctx: typer.Context,
    host: Annotated[
        str,
        typer.Option(
            "--host", metavar="ADDRESS", help="Address to listen on; one of this machine alone, or see above."
        ),
    ] = LOOPBACK,
    port: Annotated[
        int, typer.Option("--port", metavar="PORT", help="Port to listen on; 0 takes a free one.", min=0, max=65535)
    ] = PORT,
    name: Annotated[
        list[str] | None,
        typer.Option(
            "--name", metavar="HOST", help="Host name by which people reach it; several times for several names."
        ),
    ] = None,
    tls_cert: Annotated[
        Path | None, typer.Option("--tls-cert", metavar="FILE", help="Certificate with its chain (PEM).")
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option("--tls-key", metavar="FILE", help="Key of the certificate, not encrypted (PEM).")
    ] = None,
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="A proxy in front speaks TLS, and says who asks.")
    ] = False,
    proxy: Annotated[
        list[str] | None,
        typer.Option("--proxy", metavar="ADDRESS", help="Address of that proxy, where it is another machine."),
    ] = None,
    home: HomeFolder = None,
    offline: Offline = None,
    debug: Debug = False,
) -> int:
    """Serve the library to a browser and to other programs, until Ctrl-C.

    On this machine alone it needs nothing. For other machines (another --host) it needs tokens for its people
    (`serve token add`), a --name, and TLS: its own files or --behind-proxy. docs/lab.md shows all of it.
    """
    if ctx.invoked_subcommand is not None:
        if home is not None:  # it would be another one's
            raise UsageError(
                "--home belongs behind the command.",
                f"Write it at the end: serve {ctx.invoked_subcommand} … --home DIR",
            )
        return 0
    check_installed()
    from ragscience.serving.server_state import ServerOptions

    if proxy and not behind_proxy:
        raise UsageError("--proxy is the address of a proxy in front.", "Add --behind-proxy.")
    options = ServerOptions(
        host=host,
        port=port,
        names=tuple(name or ()),
        is_shared=behind_proxy or not is_loopback(host),
        proxies=(LOOPBACK, "::1", *(proxy or ())) if behind_proxy else (),
        tls=tls_files(tls_cert, tls_key),
    )
    with opened(None, False, True, home=home, offline=offline) as engine:
        _serve(engine, options)
    return 0


def _serve(engine: Engine, options: ServerOptions) -> None:
    """Serve with the limits of the settings, until Ctrl-C. Raises UsageError for a server that is shared unsafely."""
    from ragscience.engine.access_tokens import AccessTokens
    from ragscience.serving.web_server import run_server

    settings = engine.settings
    options = replace(
        options,
        max_body=settings.serve_body_kb << 10,
        max_upload=settings.serve_upload_mb << 20,
        answers=settings.serve_answers,
    )
    if options.is_shared:
        _check_shared(options, AccessTokens(engine.home.serve_tokens))
    run_server(engine, options, _listening)


def _check_shared(options: ServerOptions, tokens: AccessTokens) -> None:
    """Raise UsageError for a server that others reach without tokens, without TLS, or without a name."""
    host = options.host
    if not options.tls and not options.proxies:
        raise UsageError(
            f"{host} can be reached from other machines, and nothing encrypts what is sent.",
            "Give --tls-cert FILE and --tls-key FILE, or --behind-proxy where a proxy does it: see docs/lab.md.",
        )
    if not tokens.all():
        raise UsageError(
            "Others can reach this server, and nobody has a token.", "python query.py serve token add NAME"
        )
    if not options.names and (options.proxies or host in EVERY_ADDRESS):
        raise UsageError(
            "By which host name do people reach this server? It refuses all others.", "Give it: --name papers.lab"
        )


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine alone."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def tls_files(cert: Path | None, key: Path | None) -> tuple[Path, Path] | None:
    """Both files, after a look at them; None for none. Raises UsageError."""
    if cert is None and key is None:
        return None
    if cert is None or key is None:
        raise UsageError("A certificate and its key go together.", "Give both --tls-cert FILE and --tls-key FILE.")
    import ssl

    for path in (cert, key):
        if not path.is_file():
            raise UsageError(f"There is no file {path}.", "Give --tls-cert and --tls-key files in PEM form.")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert, key, password="")
    except OSError as error:  # of which ssl.SSLError is one
        raise UsageError(
            f"{cert} and {key} are not a certificate and its key: {error.strerror or error}.",
            "Give both in PEM form, the key without a password, and readable by this user.",
        ) from error
    return cert, key


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
    check_installed()
    from ragscience.serving.mcp_server import run_stdio

    with opened(None, False, True, home=home, offline=offline) as engine:
        run_stdio(engine)
    return 0


def check_installed() -> None:
    """Raise UsageError where the packages of the server are missing."""
    missing = [name for name in ("fastapi", "uvicorn", "sse_starlette", "mcp") if find_spec(name) is None]
    if missing:
        raise UsageError(
            f"The packages of the server are not installed ({missing[0]} is missing).",
            "python -m pip install -r requirements-serve.txt",
        )
