"""What a writer holds against the papers: quotes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragscience.cli import options as opt
from ragscience.cli.output import console, flat, print_json, put
from ragscience.cli.running import NOTHING_FOUND, opened
from ragscience.cli.screen import Screen
from ragscience.engine.printable import quote_output, shortened

if TYPE_CHECKING:
    from rich.console import Console

    from ragscience.engine.requests import SearchRequest
    from ragscience.review.quotes import Difference, QuotePlace

_SHOWN = 500
"""Characters of the printed words."""


def quote(
    run: opt.Run,
    words: list[str] | None = opt.argument("QUOTE", "The words, in quotes.", None),
    source: str | None = opt.option("--from FILE", "A file of quotes, one per line; - for stdin."),
    paper: list[str] | None = opt.option(
        "--paper PAPER", "Only papers with this name; repeatable.", panel=opt.LIBRARY, autocompletion=opt.papers
    ),
    json: bool = opt.JSON_EACH,
) -> int:
    """Find where a quote stands in the papers: its page, and how it differs from what is printed.

    Line ends, hyphens and case do not matter. Exit code 4: a quote is nowhere.
    """
    from ragscience.cli.ask_command import each_asked

    asked = opt.one_of("quote", words, source)
    screen = Screen(quiet=run.quiet)
    with opened(screen, **run.flags()) as engine:

        def one(quote_id: str | None, question: SearchRequest) -> int:
            places = engine.review.quote(question.question, [*(paper or []), *question.filters.papers])
            if json:
                print_json(quote_output(question.question, places, quote_id))
            else:
                _show(places, console())
            return 0 if places else NOTHING_FOUND

        return each_asked(asked, one, screen, as_json=json)


def _show(places: list[QuotePlace], out: Console) -> None:
    from ragscience.engine.places import cited_label

    if not places:
        put(out, "Not found in the papers.")
    for place in places:
        where = " ".join(cited_label(one.file, one.page) for one in place.citations)
        put(out, f"{where}  {'differs' if place.differences else 'exact'}", style="bold")
        put(out, shortened(" ".join(one.quote for one in place.citations), _SHOWN), "  ")
        for one in place.differences:
            put(out, _difference(one), "  - ")


def _difference(one: Difference) -> str:
    quoted, printed = flat(one.quoted), flat(one.printed)
    if not (quoted or printed):
        return one.kind
    if quoted and printed:
        return f"{one.kind}: “{quoted}” is printed “{printed}”"
    return f"added: “{quoted}” is not printed" if quoted else f"left out: “{printed}”"
