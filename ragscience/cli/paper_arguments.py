"""The question before a command takes several papers for one name."""

from __future__ import annotations

from collections.abc import Sequence

from ragscience.cli.cli import confirm
from ragscience.engine.library_engine import Engine
from ragscience.engine.printable import counted

__all__ = ["confirm_several"]

_LISTED = 20


def confirm_several(engine: Engine, patterns: Sequence[str], act: str, *, yes: bool) -> None:
    """Ask before `act` ("Remove") is done to more than one paper for a name; not with `yes`.

    Raises typer.Abort where the answer is no, UsageError where nobody can be asked.
    """
    for pattern in patterns if not yes else ():
        found = engine.papers.matching(pattern)
        if len(found) > 1:
            files = ", ".join(paper.file for paper in found[:_LISTED])
            more = f" and {len(found) - _LISTED:,} more" if len(found) > _LISTED else ""
            what = f"{counted(len(found), 'paper')} match {pattern!r}: {files}{more}."
            confirm(what, yes=False, question=f"{act} all {len(found):,}?")
