"""`query.py serve token`: who may use the served library."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragscience.cli.cli import say, settings_of
from ragscience.cli.command_groups import make_app
from ragscience.cli.options import Json
from ragscience.cli.run_options import Debug, HomeFolder
from ragscience.cli.screen import print_json
from ragscience.core.errors import UsageError
from ragscience.core.serialization import SCHEMA_VERSION

if TYPE_CHECKING:
    from ragscience.engine.access_tokens import AccessTokens

__all__ = ["token_app"]

token_app = make_app(
    "Say who may use the served library: a token for each person.\n\nOnly hashes of them are kept, in "
    "serve_tokens.json.",
    default="list",
    bare="list",
)
Name = Annotated[str, typer.Argument(metavar="NAME", help="The person: a-z, 0-9, _ and -.", show_default=False)]


def _tokens(home: Path | None) -> AccessTokens:
    from ragscience.engine.access_tokens import AccessTokens

    return AccessTokens.of_home(settings_of(home=home).home)


@token_app.command("add")
def add_token(
    name: Name,
    role: Annotated[
        str,
        typer.Option(
            "--role",
            metavar="ROLE",
            help="What the person may do: reader (read and ask), editor (also add papers, build the graph) or owner "
            "(also remove papers).",
        ),
    ] = "reader",
    home: HomeFolder = None,
    debug: Debug = False,
) -> int:
    """Make a token for a person and print it, this once.

    The person signs in with it; programs send it as `Authorization: Bearer TOKEN`.
    """
    from ragscience.engine.access_tokens import ROLES

    wanted = next((each for each in ROLES if each == role), None)
    if wanted is None:
        raise UsageError(f"There is no role {role!r}.", f"Give one of {', '.join(ROLES)}.")
    token = _tokens(home).add(name, wanted)
    sys.stdout.write(f"{token}\n")
    say(f"{name} is {wanted}. Give them the token safely: it is not shown again.")
    return 0


@token_app.command("list")
def list_tokens(home: HomeFolder = None, json: Json = False, debug: Debug = False) -> int:
    """List who has a token, with role and date; not the tokens."""
    found = _tokens(home).all()
    if json:
        rows = [{"name": each.name, "role": each.role, "created_at": each.created_at} for each in found]
        print_json({"schema": SCHEMA_VERSION, "tokens": rows})
        return 0
    for token in found:
        sys.stdout.write(f"{token.name:32}  {token.role:6}  {token.created_at[:10]}\n")
    if not found:
        say("Nobody has a token: `python query.py serve token add NAME` makes one.")
    return 0


@token_app.command("revoke")
def revoke_token(name: Name, home: HomeFolder = None, debug: Debug = False) -> int:
    """End a person's token, also on a running server.

    What is kept of their conversations stays, for a later token of the same name.
    """
    _tokens(home).revoke(name)
    say(f"The token of {name} is revoked.")
    return 0
