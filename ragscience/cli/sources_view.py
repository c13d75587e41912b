"""`/sources`: what an answer cites, and what it was given besides, with the numbers that `/show` and `/open` take."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from ragscience.cli.line_wrap import FIXED_BLANK, LONGEST_LINE, put
from ragscience.cli.links import can_encode, link_style
from ragscience.core.records import Answer
from ragscience.engine.printable import plain
from ragscience.engine.source_list import section_of, sources_given, sources_of

__all__ = ["sources_view"]


def sources_view(answer: Answer, console: Console) -> None:
    """Each source with its page and its quotes; behind the cited ones the passages that were given and not cited."""
    sources = sources_given(answer)
    cited = len(sources_of(answer)) if answer.citations else 0
    if not sources:
        console.print("The answer has no sources.")
    for source in sources:
        if source.number == cited + 1:
            put(
                console,
                "Also read, not cited:" if cited else "The answer cites nothing. Passages that were read:",
                style="dim",
            )
            console.print()
        section = " ".join(plain(section_of(answer, source)).split())
        line = Text(f"{plain(source.file)},{FIXED_BLANK}p.{source.page}", "bold")
        line.stylize(link_style(source.path, source.page, console.file))
        line.append(f" {'·' if can_encode('·', console.file) else '-'} {section}" if section else "", "not bold dim")
        sign = f"[{source.number}] "
        put(console, line, Text(sign, "bold"))
        for citation in dict.fromkeys(source.citations):
            put(console, plain(citation.quote).strip(), " " * len(sign), width=LONGEST_LINE)
        console.print()
