"""An answer as a person sees it: its blocks, where it comes from, how much of it holds; or all of it in one line."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import takewhile

from rich.cells import cell_len
from rich.console import Console
from rich.style import Style
from rich.table import Table
from rich.text import Text

from ragscience.cli.output import PROSE, can_encode, flat, link_style, put, sign_of
from ragscience.core.answer_records import PASSAGES
from ragscience.core.paper_records import place_label
from ragscience.core.records import UNCITED, Answer, Block, Citation, Sentence
from ragscience.core.sentences import BETWEEN_CELLS, below_of, first_line, formulas_named, leading_of
from ragscience.engine import printable
from ragscience.engine.places import Cite, Source, by_author, by_file, cited_label, section_of, sources_of
from ragscience.engine.printable import asked_terms, counted, excerpt, plain, shortened

SENTENCE_CHARS = 100
_MOST_NEAR = 3
"""Passages that are shown under a refusal."""
_MOST_ROWS = 4
"""Rows that are shown of a large table round those that were asked for."""
_CAPTION_CHARS = 160
_BRIEF_CHARS = 240
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_NO_PAGE_CITED = f"{UNCITED} The passages that the model was given:"
_VERDICTS = {"supported": ("✓", "+", "green"), "weak": ("~", "~", "yellow"), "unsupported": ("✗", "x", "red")}
"""The sign of each verdict, its ASCII replacement and its colour."""
_CONFIDENCE = {
    "high": ("high", "green"),
    "medium": ("medium (read the pages)", "dim"),
    "low": ("low (these passages may not answer it)", "yellow"),
}


def answer_view(answer: Answer, out: Console, *, every: bool = False, cite: Cite | None = None) -> None:
    """The first line and the blocks that carry it, or `every` block; before them the text of a language model.

    In that text doubtful sentences have a colour, and each citation is a link; `cite` says how pages are cited.
    """
    understood = flat(answer.found.understood)
    if understood.rstrip(" ?.!") != flat(answer.question).rstrip(" ?.!"):
        put(out, f"{'about' if answer.found.about else 'understood as'}: {understood}\n", style="dim")
    is_worded = answer.mode == "llm"
    if answer.blocks and not is_worded and (out.is_terminal or every):
        _blocks(answer, out, every=every, cite=cite)
        return
    text = Text(plain(answer.text))
    at = 0
    for sentence in answer.sentences:
        words = plain(sentence.text)
        found = text.plain.find(words, at)
        if found < 0:
            continue
        at = found + len(words)
        if sentence.verdict in ("weak", "unsupported"):
            text.stylize(_VERDICTS[sentence.verdict][2], found, at)
    for source in sources_of(answer):
        label = re.escape((cite or by_file)(source.citations[0]))
        text.highlight_regex(label, link_style(source.path, source.page, out))
    put(out, text, width=PROSE)
    if is_worded:
        quotes_below(answer, out, every=every, cite=cite)


def quotes_below(answer: Answer, out: Console, *, every: bool = False, cite: Cite | None = None) -> None:
    """The quotes below a language model's words, if there are any: a model never hides what was found."""
    if answer.blocks:
        put(out, f"\n{_in_the_papers(answer)}\n", style="dim")
        _blocks(answer, out, every=every, cite=cite)


def _in_the_papers(answer: Answer) -> str:
    """What goes between a model's words and the quotes: which value of the best quote the words do not have, if one."""
    key = next((block.key for block in leading_of(answer.blocks)), "")
    numbers, said = (set(_NUMBER.findall(text)) for text in (key, answer.text))
    is_said = key in answer.text or (numbers and numbers <= said)  # "340M", "340 million"
    says = "" if is_said else f", which say “{flat(key)}” and not the above"
    return f"In the papers{says}:"


def _blocks(answer: Answer, out: Console, *, every: bool, cite: Cite | None) -> None:
    numbers = {(source.file, source.page): source.number for source in sources_of(answer)}
    labels = partial(_labels, out=out, numbers=numbers, cite=cite or by_author)
    before = None
    for block in leading_of(answer.blocks):
        put(out, _keyed(*first_line(block)) + Text(" ") + labels(block.citations[:1]), width=PROSE)
        before = "line"
    for block in answer.blocks if every else below_of(answer.blocks):
        if before is not None and not before == block.kind == "item":
            out.print()
        _block(block, answer, out, labels)
        before = block.kind
    more = sum(block.is_brief for block in answer.blocks)
    if more and not every:
        put(out, f"\n{counted(more, 'more quote')}: --all, in a chat /more", style="dim")


def _keyed(line: str, key: str) -> Text:
    """The line, the words that were asked for in bold."""
    text, asked = Text(flat(line)), flat(key)
    at = text.plain.find(asked) if asked else -1
    if at >= 0:
        text.stylize("bold", at, at + len(asked))
    return text


def _block(block: Block, answer: Answer, out: Console, labels_of: Callable[[tuple[Citation, ...]], Text]) -> None:
    """One block: a heading, table, formula, item of a list, text, or a quote."""
    if block.citations:
        block = replace(block, text=formulas_named(block.text, block.citations[0].page))
    labels = labels_of(block.citations)
    after = Text(" ").append_text(labels) if labels else Text()
    bullet = f"{sign_of('•', '-', out)} "
    if block.kind == "heading":
        put(out, Text(plain(block.text), "bold") + after, width=PROSE)
    elif block.kind == "table":
        put(out, Text(shortened(block.lead, _CAPTION_CHARS)) + after if block.lead else labels, width=PROSE)
        _table(printable.read_table(plain(block.text)), block, answer, out)
    elif block.kind == "item":
        lead = Text(f"{flat(block.lead)}: ", "dim") if block.lead else Text()
        put(out, lead + Text(flat(block.text)) + after, bullet, width=PROSE)
    elif block.kind == "text":
        put(out, plain(block.text), width=PROSE)
        if labels:
            put(out, labels, width=PROSE)
    else:
        if block.lead:
            put(out, flat(block.lead), style="dim", width=PROSE)
        if block.kind == "formula":
            put(out, Text(flat(block.text)) + after, "   ", width=PROSE)
        else:
            put(out, Text("“") + _keyed(block.text, block.key) + Text("”") + after, width=PROSE)


def _question(answer: Answer) -> str:
    return f"{answer.question} {answer.found.question}"


def _labels(citations: tuple[Citation, ...], out: Console, numbers: dict[tuple[str, int], int], cite: Cite) -> Text:
    """`(Vaswani 2017, p.3) [1] (a.pdf, p.4) [2]`, each a link where there can be links."""
    pages = {(cited.file, cited.page): cited for cited in citations}
    line = Text()
    for place, cited in pages.items():
        label = cite(cited)
        label += f" [{numbers[place]}]" if place in numbers else ""
        line.append(" " if line else "").append(label, link_style(cited.path, cited.page, out) + Style(dim=True))
    return line


def _table(table: printable.CellTable, block: Block, answer: Answer, out: Console) -> None:
    """A table with the rows that were asked for marked; columns that do not fit without broken words are left out."""
    if not table.rows:
        put(out, flat(block.text), width=PROSE)
        return
    asked, question = _rows_of(block, answer, table), _question(answer)
    is_whole = answer.route == "element" or not asked
    rows = printable.shown_rows(len(table.rows), asked, len(table.rows) if is_whole else _MOST_ROWS)
    mark = sign_of("▸", ">", out)
    least = [
        max((cell_len(word) for line in (table.header, *table.rows) for word in line[column].split()), default=1)
        for column in range(len(table.header))
    ]
    columns, left = [0], out.width - least[0] - 2 * bool(asked)
    for column in (*printable.asked_columns(question, table), *range(len(least))):
        if column not in columns and left >= least[column] + 2:
            columns.append(column)
            left -= least[column] + 2
    columns.sort()
    shown = Table(box=None, pad_edge=False, show_header=any(table.header), header_style="bold")
    for name in ([""] if asked else []) + [table.header[column] for column in columns]:
        shown.add_column(Text(name), overflow="fold")
    before = -1
    for row in (*rows, len(table.rows)):
        sign = ([mark] if row in asked else [""]) if asked else []
        if row - before > 1:
            shown.add_row(*[""] * bool(asked), Text(f"… {counted(row - before - 1, 'row')} left out", "dim"))
        if row < len(table.rows):
            cells = (Text(table.rows[row][column]) for column in columns)
            shown.add_row(*sign, *cells, style="bold" if row in asked else "")
        before = row
    out.print(shown)
    gone = [table.header[column] for column in range(len(least)) if column not in columns]
    if gone:
        names = ", ".join(filter(None, gone))
        wide = f"{counted(len(gone), 'column')} left out, too wide for this terminal: {names}"
        put(out, wide.rstrip(": "), style="dim")


def _rows_of(block: Block, answer: Answer, table: printable.CellTable) -> list[int]:
    """Numbers of the rows that are asked for: those of the block's line, else those with the question's words.

    Of these, the ones with what the answer says in bold, if any has it.
    """
    lines = block.line.split(BETWEEN_CELLS)
    named = ([at for at, row in enumerate(table.rows) if row[0] and line.startswith(row[0])] for line in lines)
    told = [min(each, key=lambda at: block.key not in table.rows[at]) for each in named if each]
    asked = printable.asked_rows(_question(answer), table)
    keys = [one.key for one in leading_of(answer.blocks) if one.key]
    holding = [row for row in asked if any(f" {key} " in f" {' '.join(table.rows[row])} " for key in keys)]
    return told or holding or asked


def _block_words(block: Block, question: str) -> str:
    """The block's words; of a table the row that was asked for, "Adam: Rate 0.001; Steps 100", or the caption."""
    if block.kind != "table":
        return plain(block.text)
    table = printable.read_table(plain(block.text))
    rows = printable.asked_rows(question, table)
    if not rows:
        return plain(block.lead or block.text)
    label, *cells = table.rows[rows[0]]
    named = (f"{name} {cell}".strip() for name, cell in zip(table.header[1:], cells, strict=True) if cell)
    return f"{label}: {'; '.join(named)}"


def brief_line(answer: Answer, cite: Cite | None = None) -> str:
    """The best quote, or what a route begins with, with its pages; then the confidence. A refusal says that it is one.

    Of a table it is the row that was asked for.
    """
    question, blocks, cite = _question(answer), list(answer.blocks), cite or by_file
    sure = [f"[confidence: {answer.confidence}]"] if answer.confidence else []
    if answer.mode == "llm":
        return excerpt(question, plain(answer.text), _BRIEF_CHARS)
    if leading := leading_of(blocks):
        cited = [(first_line(block)[0], block.citations[0]) for block in leading]
        return " ".join([*(f"{plain(line)} {cite(one)}" for line, one in cited), *sure])
    left_out = ("text", "heading") if answer.route == PASSAGES else ("heading",)
    blocks = [block for block in blocks if block.kind not in left_out]
    if not blocks:
        return excerpt(question, plain(answer.text), _BRIEF_CHARS)
    first = blocks[0]
    items = [*takewhile(lambda block: block.kind == "item", blocks[1:])] if first.kind in ("text", "item") else []
    words = excerpt(question, _block_words(first, question), _BRIEF_CHARS)
    if items:
        listed = "; ".join(block.text for block in items)
        words = excerpt("", f"{words}{'; ' if first.kind == 'item' else ' '}{plain(listed)}", _BRIEF_CHARS)
    pages = dict.fromkeys(cite(one) for block in (first, *items[:1]) for one in block.citations)
    return " ".join([f"“{words}”" if first.kind == "quote" else words, *pages, *sure])


# Under an answer


def answer_footer(answer: Answer, out: Console, *, every: bool = False) -> None:
    """Under an answer: where it comes from, how it was found, what of it holds; under a refusal: what is nearest."""
    sources = sources_of(answer)
    cites = bool(answer.citations) and not answer.refused
    if answer.refused:
        sources = [source for source in sources if _is_near(answer.question, source)][:_MOST_NEAR]
    if answer.blocks and cites and not every and answer.mode != "llm":  # those of the quotes that are shown
        shown = {(one.file, one.page) for block in answer.blocks if not block.is_brief for one in block.citations}
        sources = [source for source in sources if not shown or (source.file, source.page) in shown]
    if sources:
        title = "Sources:" if cites else "The nearest passages:" if answer.refused else _NO_PAGE_CITED
        put(out, f"\n{title}", style="dim")
    for source in sources:
        line = source_line(answer, source, out)
        if not cites:
            line.append(f": {excerpt(answer.question, plain(source.citations[0].quote), SENTENCE_CHARS)}")
        put(out, line, Text(f"  [{source.number}] ", "dim"))
    says_how_sure = answer.confidence is not None or answer.missing or (cites and _claims(answer))
    has_verdicts = bool(sources) and not answer.refused and bool(says_how_sure)
    if answer.route_note or has_verdicts:
        out.print()
    if answer.route_note:
        put(out, plain(answer.route_note), style="dim")
    if has_verdicts:
        verdicts_view(answer, out)


def source_line(answer: Answer, source: Source, out: Console, style: str = "") -> Text:
    """`a.pdf, p.3 · 3.2 Attention`, a link where there can be links."""
    line = Text(f"{plain(source.file)}, {place_label(source.file, source.page)}", style)
    line.stylize(link_style(source.path, source.page, out))
    if cited_as := next((one.cited_as for one in source.citations if one.cited_as), ""):
        line.append(f" · {plain(cited_as)}" if can_encode("·", out.file) else f" - {plain(cited_as)}", "not bold dim")
    return line.append(under(section_of(answer, source), out), "not bold dim")


def under(section: str, out: Console) -> str:
    """` · 3.2 Attention`, for what follows a page; empty without a section."""
    name = flat(section)
    if not name:
        return ""
    return f" · {name}" if can_encode("·›", out.file) else f" - {name.replace('›', '>')}"


def _is_near(question: str, source: Source) -> bool:
    """Whether a passage has two of the question's content words, or its only one."""
    asked = asked_terms(question)
    return len(asked & asked_terms(source.citations[0].quote)) >= min(2, max(len(asked), 1))


def verdicts_view(answer: Answer, out: Console, *, every: bool = False) -> None:
    """Of sentences that a model worded, how many its pages hold; then those in doubt, or `every` one, with its page.

    Quotes are the pages' own words: for them it says how sure they are the answer, and what is missing unless the
    text itself does.
    """
    if answer.refused:
        return
    if answer.confidence is not None:
        says, colour = _CONFIDENCE[answer.confidence]
        put(out, f"Confidence: {says}", style=colour)
    for missing in (each for each in answer.missing if each not in answer.text):
        put(out, plain(missing), style="yellow")
    claims = _claims(answer) if every or answer.citations else []
    if not claims:
        return
    supported = sum(sentence.verdict == "supported" for sentence in claims)
    worst = "supported" if supported == len(claims) else "weak" if supported else "unsupported"
    symbol, ascii_sign, colour = _VERDICTS[worst]
    sign = f"{sign_of(symbol, ascii_sign, out)} "
    put(out, f"{supported} of {counted(len(claims), 'sentence')} supported", sign, style=colour)
    for sentence in claims:
        doubtful, evidence = sentence.verdict != "supported", sentence.evidence
        if not (every or doubtful):
            continue
        symbol, ascii_sign, colour = _VERDICTS[sentence.verdict]
        line = Text(sentence.verdict, colour).append(f": {shortened(sentence.text, SENTENCE_CHARS)}", "default")
        if evidence is not None:
            line.append("  nearest: " if doubtful else "  ", "dim")
            style = link_style(evidence.path, evidence.page, out)
            line.append(cited_label(evidence.file, evidence.page), style)
        put(out, line, Text(f"  {sign_of(symbol, ascii_sign, out)} ", colour))


def _claims(answer: Answer) -> list[Sentence]:
    return [sentence for sentence in answer.sentences if sentence.verdict in _VERDICTS]
