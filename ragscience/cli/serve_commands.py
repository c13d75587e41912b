"""`query.py serve` and `mcp`: the library for a browser and for other programs; `serve token`: who may use it."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer
from typer.core import TyperGroup

from ragscience.cli import options as opt
from ragscience.cli.groups import HELP, App, grouped, make_app
from ragscience.cli.output import console, local_time, print_json, print_table
from ragscience.cli.running import opened, say, settings_of
from ragscience.cli.status_line import STATUS
from ragscience.core.errors import UsageError, missing_package
from ragscience.core.serialization import SCHEMA_VERSION

if TYPE_CHECKING:
    from ragscience.engine.access_tokens import AccessTokens
    from ragscience.engine.library_engine import Engine
    from ragscience.serving.access import ServerOptions


PORT = 8765
LOOPBACK = "127.0.0.1"
EVERY_ADDRESS = ("0.0.0.0", "::")  # noqa: S104

serve_app = App(cls=TyperGroup, invoke_without_command=True, pretty_exceptions_enable=False, context_settings=HELP)


@serve_app.callback()
@grouped
def serve(
    ctx: typer.Context,
    run: opt.Run,
    host: str = opt.option("--host ADDRESS", "Address to listen on.", LOOPBACK),
    port: int = opt.option("--port PORT", "Port to listen on; 0 takes a free one.", PORT, min=0, max=65535),
    name: list[str] | None = opt.option("--name HOST", "Host name by which people reach it; repeatable."),
    tls_cert: Path | None = opt.option("--tls-cert FILE", "Certificate with its chain (PEM)."),
    tls_key: Path | None = opt.option("--tls-key FILE", "Key of the certificate, not encrypted (PEM)."),
    behind_proxy: bool = opt.flag("--behind-proxy", "A proxy in front speaks TLS, and says who asks."),
    proxy: list[str] | None = opt.option("--proxy ADDRESS", "Address of that proxy, where it is another machine."),
) -> None:
    """Serve the library to a browser and to other programs, until Ctrl-C.

    On this machine alone it needs nothing. For other machines (another --host) it needs tokens for its people
    (`serve token add`), a --name, and TLS: its own files or --behind-proxy. docs/lab.md shows all of it.
    """
    if ctx.invoked_subcommand is not None:
        if run.home is not None:  # it would be another one's
            fix = f"Write it at the end: serve {ctx.invoked_subcommand} … --home DIR"
            raise UsageError("--home belongs after the command.", fix)
        return
    _check_installed()
    from ragscience.serving.access import ServerOptions
    from ragscience.serving.server_app import run_server

    if proxy and not behind_proxy:
        raise UsageError("--proxy is the address of a proxy in front.", "Add --behind-proxy.")
    tls = _tls_files(tls_cert, tls_key)
    with opened(**run.flags()) as engine:
        options = ServerOptions(
            host=host,
            port=port,
            names=tuple(name or ()),
            is_shared=behind_proxy or not is_loopback(host),
            proxies=(LOOPBACK, "::1", *(proxy or ())) if behind_proxy else (),
            tls=tls,
        )
        if options.is_shared:
            _check_shared(options, engine)
        run_server(engine, options, _listening)


def _listening(address: str) -> None:
    STATUS.hide()
    say(f"Serving {address} (Ctrl-C ends)")


def _check_shared(options: ServerOptions, engine: Engine) -> None:
    """Raise UsageError for a server that others reach without tokens, without TLS, or without a name."""
    from ragscience.engine.access_tokens import AccessTokens

    host = options.host
    if not options.tls and not options.proxies:
        fix = "Give --tls-cert FILE and --tls-key FILE, or --behind-proxy where a proxy does it: see docs/lab.md."
        raise UsageError(f"{host} can be reached from other machines, and nothing encrypts what is sent.", fix)
    if not AccessTokens(engine.home.serve_tokens).all():
        what = "Others can reach this server, and nobody has a token."
        raise UsageError(what, "python query.py serve token add NAME")
    if not options.names and (options.proxies or host in EVERY_ADDRESS):
        what = "By which host name do people reach this server? It refuses all others."
        raise UsageError(what, "Give it: --name papers.lab")


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine alone."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _tls_files(cert: Path | None, key: Path | None) -> tuple[Path, Path] | None:
    """Both files, after a look at them; None for none. Raises UsageError."""
    if cert is None and key is None:
        return None
    if cert is None or key is None:
        raise UsageError("A certificate and its key go together.", "Give both --tls-cert FILE and --tls-key FILE.")
    import ssl

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert, key, password="")
    except OSError as error:  # of which ssl.SSLError is one
        raise UsageError(
            f"{cert} and {key} are not a certificate and its key: {error.strerror or error}.",
            "Give both in PEM form, the key without a password, and readable by this user.",
        ) from error
    return cert, key


def mcp(run: opt.Run) -> None:
    """Give an assistant tools to search and read the papers (MCP over stdin and stdout).

    The assistant's program starts it: name `python` as the command, and the path of query.py and `mcp` as arguments.
    """
    _check_installed()
    from ragscience.serving.mcp_server import run_stdio

    with opened(**run.flags()) as engine:
        run_stdio(engine)


def _check_installed() -> None:
    """Raise UsageError where the packages of the server are missing."""
    missing = [name for name in ("fastapi", "uvicorn", "sse_starlette", "mcp") if find_spec(name) is None]
    if missing:
        raise missing_package("The server", missing[0].replace("_", "-"), "serve", UsageError)


# Who may use it

token_app = make_app(
    "Say who may use the served library: a token for each person.\n\nOnly hashes of them are kept, in "
    "serve_tokens.json.",
    default="list",
    bare="list",
)
serve_app.add_typer(token_app, name="token")
PERSON = opt.argument("NAME", "The person: a-z, 0-9, _ and -.")


def _tokens(run: opt.Run) -> AccessTokens:
    from ragscience.engine.access_tokens import AccessTokens

    return AccessTokens.of_home(settings_of(**run.flags()).home)


@token_app.command("add", example="python query.py serve token add ben --role writer")
def add_token(
    run: opt.Run,
    name: str = PERSON,
    role: Literal["reader", "writer"] = opt.option(
        "--role ROLE", "reader (may read and ask) or writer (also add and remove papers, build the graph).", "reader"
    ),
) -> None:
    """Make a token for a person and print it, this once.

    The person signs in with it; programs send it as `Authorization: Bearer TOKEN`.
    """
    sys.stdout.write(f"{_tokens(run).add(name, role)}\n")
    say(f"{name} is {role}. Give them the token safely: it is not shown again.")


@token_app.command("list")
def list_tokens(run: opt.Run, json: bool = opt.JSON) -> int:
    """List who has a token, with role and date; not the tokens."""
    found = _tokens(run).all()
    if json:
        rows = [{"name": each.name, "role": each.role, "created_at": each.created_at} for each in found]
        return print_json({"schema": SCHEMA_VERSION, "tokens": rows})
    cells = [(each.name, each.role, local_time(each.created_at)) for each in found]
    print_table(("name", "role", "made"), cells, console(), wraps=())
    if not found:
        say("Nobody has a token: `python query.py serve token add NAME` makes one.")
    return 0


@token_app.command("revoke")
def revoke_token(run: opt.Run, name: str = PERSON) -> None:
    """End a person's token, also on a running server.

    Their conversations are kept for a later token of the same name.
    """
    _tokens(run).revoke(name)
    say(f"The token of {name} is revoked.")
