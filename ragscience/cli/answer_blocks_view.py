"""The blocks of an answer on a terminal: quotes, lists, formulas and tables, each as it reads best."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from rich.cells import cell_len
from rich.console import Console
from rich.style import Style
from rich.text import Text

from ragscience.cli.brief_view import block_words
from ragscience.cli.line_wrap import FIXED_BLANK, LONGEST_LINE, put
from ragscience.cli.links import can_encode, link_style
from ragscience.cli.table_view import table_lines
from ragscience.core.records import Answer, Block, Citation
from ragscience.engine.asked_words import asked_words, excerpt
from ragscience.engine.markdown_tables import read_table
from ragscience.engine.printable import plain
from ragscience.engine.source_list import cited_label, sources_of

__all__ = ["blocks_view"]


def blocks_view(answer: Answer, console: Console) -> None:
    """The answer's blocks with an empty line between two; none between short quotes and between items of a list."""
    page = _Page(answer, console)
    before = None
    for block in answer.blocks:
        dense = "brief" if block.is_brief else block.kind
        if before is not None and not (dense == before and dense in ("brief", "item")):
            console.print()
        page.show(block)
        before = dense


class _Page:
    """One answer on its way to a terminal."""

    def __init__(self, answer: Answer, console: Console) -> None:
        self._answer = answer
        self._question = f"{answer.question} {answer.found.question}"
        self._console = console
        self._width = min(console.width, LONGEST_LINE)
        self._emphasis = Style.null() if console.no_color else Style(bold=True)
        self._numbers = {(source.file, source.page): source.number for source in sources_of(answer)}

    def show(self, block: Block) -> None:
        shows: dict[str, Callable[[Block], None]] = {
            "heading": self._heading,
            "table": self._table,
            "formula": self._formula,
            "item": partial(self._item, bullet="•"),
            "text": self._text,
        }
        if block.is_brief:
            self._brief(block)
        else:
            shows.get(block.kind, self._quote)(block)

    def _heading(self, block: Block) -> None:
        self._wrapped(Text(plain(block.text), Style(bold=True)).append_text(self._behind(block)))

    def _text(self, block: Block) -> None:
        for paragraph in plain(block.text).split("\n"):
            self._wrapped(Text(paragraph))
        if block.citations:
            self._wrapped(self._labels(block))

    def _quote(self, block: Block) -> None:
        self._lead(block)
        self._wrapped(Text("“").append_text(self._marked(block.text)).append("”").append_text(self._behind(block)))

    def _item(self, block: Block, *, bullet: str) -> None:
        sign = bullet if can_encode(bullet, self._console.file) else "-"
        words = Text(f"{_flat(block.lead)}: ", "dim") if block.lead else Text()
        self._wrapped(words.append_text(self._marked(block.text)).append_text(self._behind(block)), sign)

    def _brief(self, block: Block) -> None:
        """One line: the words that were asked for with those around them, and the number of their source."""
        sign = "•" if can_encode("•", self._console.file) else "-"
        where = self._short_labels(block)
        quotes = ("“", "”") if block.kind == "quote" else ("", "")
        left = max(self._width - cell_len(sign) - cell_len(where.plain) - 4, 8)
        text = block_words(block, self._question)
        parts = (excerpt(self._question, text, chars) for chars in range(left, 2, -1))
        words = next((part for part in parts if cell_len(part) <= left), "")  # some characters are two columns wide
        line = Text(f"{sign} {quotes[0]}").append_text(self._marked(words)).append(f"{quotes[1]} ")
        put(self._console, line.append_text(where))

    def _formula(self, block: Block) -> None:
        self._lead(block)
        self._wrapped(Text(_flat(block.text)).append_text(self._behind(block)), "   ")

    def _table(self, block: Block) -> None:
        caption = self._marked(block.lead)
        self._wrapped(caption.append_text(self._behind(block)) if block.lead else self._labels(block))
        table = read_table(plain(block.text))
        if not table.rows:
            self._wrapped(self._marked(block.text))
            return
        marks = ("▸", "─") if can_encode("▸─", self._console.file) else (">", "-")
        whole = self._answer.route == "element"
        for line in table_lines(table, self._question, room=self._console.width, marks=marks, whole=whole):
            put(self._console, line)

    def _lead(self, block: Block) -> None:
        if block.lead:
            self._wrapped(Text(_flat(block.lead), "dim"))

    def _marked(self, text: str) -> Text:
        """The text on one line, the words of the question in bold."""
        flat = _flat(text)
        marked = Text(flat)
        if self._emphasis:
            for start, end in asked_words(self._question, flat):
                marked.stylize(self._emphasis, start, end)
        return marked

    def _behind(self, block: Block) -> Text:
        return Text(" ").append_text(self._labels(block)) if block.citations else Text()

    def _labels(self, block: Block) -> Text:
        """`(a.pdf, p.3) (a.pdf, p.4)`, each a link where there can be links."""
        line = Text()
        for citation in _pages(block):
            style = link_style(citation.path, citation.page, self._console.file) + Style(dim=True)
            label = cited_label(citation.file, citation.page).replace(" ", FIXED_BLANK)
            line.append(" " if line else "").append(label, style)
        return line

    def _short_labels(self, block: Block) -> Text:
        """`p.3 [1]`, with the number of the source in the list under the answer; without one as `_labels`."""
        if any((citation.file, citation.page) not in self._numbers for citation in _pages(block)):
            return self._labels(block)
        line = Text()
        for citation in _pages(block):
            style = link_style(citation.path, citation.page, self._console.file) + Style(dim=True)
            number = self._numbers[citation.file, citation.page]
            line.append(" " if line else "").append(f"p.{citation.page} [{number}]", style)
        return line

    def _wrapped(self, text: Text, sign: str = "") -> None:
        """The text in lines of the page's width, those after the first indented as much as the sign takes."""
        put(self._console, text, f"{sign} " if sign else "", width=self._width)


def _pages(block: Block) -> list[Citation]:
    return list({(citation.file, citation.page): citation for citation in block.citations}.values())


def _flat(text: str) -> str:
    return " ".join(plain(text).split())
