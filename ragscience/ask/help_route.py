"""Questions of the program itself: how to do something with it, and the command that does it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragscience.ask.intents import help_topics
from ragscience.ask.route_records import RouteContext, Routed
from ragscience.core.records import Block

if TYPE_CHECKING:
    from ragscience.ask.slots import Slots


def answer(kind: str, _: Slots, __: RouteContext) -> Routed | None:
    """What to do, and the commands for it; `kind` is "help " and the topic."""
    topic = help_topics()[kind.removeprefix("help ")]
    blocks = [Block("text", topic["text"]), *(Block("item", f"`{typed}`: {does}") for typed, does in topic["commands"])]
    return Routed("help", "Looked up how the program does it.", tuple(blocks))
