"""Explains an answer: a quote in its context (`/show`), and the search and steps behind it (`/why`)."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ragscience.engine.printable import plain
from ragscience.engine.source_list import Span, Surroundings, cited_label, page_label
from ragscience.errors import UsageError
from ragscience.records import Answer, Hit
from ragscience.terminal.links import can_encode, link_style
from ragscience.terminal.screen import cost_line, step_lines
from ragscience.terminal.views import verdicts_view

__all__ = ["source_number", "surroundings_view", "why_view"]

QUOTED = "bold black on yellow"


def source_number(text: str, *, command: str) -> int:
    """The number that was typed behind a command; 1 for none. Raises UsageError."""
    try:
        return int(text or "1")
    except ValueError:
        raise UsageError(f"{text!r} is not a source number.", f"Type {command} 1, say.") from None


def surroundings_view(shown: Surroundings, console: Console) -> None:
    """The page of a source around what is quoted of it, with the quotes emphasised."""
    source, text = shown.source, shown.text
    style = link_style(source.path, source.page, console.file)
    head = Text(f"[{source.number}] ", "dim").append(cited_label(source.file, source.page), style)
    console.print(head, soft_wrap=True)
    for place, window in enumerate(shown.windows):
        if place or window[0] > 0:
            console.print(Text(_gap(console), "dim"))
        console.print(_emphasised(text, window, shown.quotes, console), soft_wrap=not console.is_terminal)
    if shown.windows[-1][1] < len(text):
        console.print(Text(_gap(console), "dim"))
    if not shown.quotes:
        console.print(Text("The quote was not found on the page as the library has it.", "yellow"))


def _emphasised(text: str, window: Span, quotes: tuple[Span, ...], console: Console) -> Text:
    """A part of the text with the quotes in colour, or between marks where there are no colours."""
    colours = console.color_system is not None and not console.no_color
    opens, closes = ("", "") if colours else ("»", "«") if can_encode("»«", console.file) else (">>", "<<")
    shown, at = Text(), window[0]
    for start, end in quotes:
        if window[0] <= start and end <= window[1]:
            shown.append(plain(text[at:start]))
            shown.append(f"{opens}{plain(text[start:end])}{closes}", QUOTED)
            at = end
    return shown.append(plain(text[at : window[1]]))


def _gap(console: Console) -> str:
    return "…" if can_encode("…", console.file) else "..."


def why_view(answer: Answer, console: Console, *, debug: bool = False) -> None:
    """Explains an answer: the query, the passages with their scores, and the citation check."""
    for line in _course(answer):
        console.print(Text(line), soft_wrap=True)
    for step in answer.trace:
        for line in step_lines(step):
            console.print(Text(line), soft_wrap=True)
    if answer.trace:
        console.print(Text(cost_line(answer.trace), "dim"), soft_wrap=True)
    if answer.found.hits:
        console.print(_passages(answer))
    else:
        console.print("No passage was found.")
    if answer.found.paths:
        from ragscience.terminal.graph_views import paths_view

        paths_view(answer.found, console)
    verdicts_view(answer, console, every=True)
    for warning in dict.fromkeys((*answer.found.warnings, *answer.warnings)):
        console.print(Text(f"warning: {plain(warning)}", "yellow"), soft_wrap=True)
    if answer.timings_ms:
        times = ", ".join(f"{plain(name.removesuffix('_ms'))} {value:.0f}" for name, value in answer.timings_ms.items())
        console.print(Text(f"milliseconds: {times}", "dim"), soft_wrap=True)


def _course(answer: Answer) -> list[str]:
    """The question, the query and the decisions, a line each."""
    found = answer.found
    lines = [f"asked: {_flat(answer.question)}"]
    if _flat(found.question) != _flat(answer.question):
        lines.append(f"searched for: {_flat(found.question)}")
    models = ", ".join(f"{part} {_flat(name)}" for part, name in answer.models.items() if name)
    lines.append(f"answered: {answer.mode}, profile {found.profile}{'; ' if models else ''}{models}")
    judged = "refused" if answer.refused else "answered"
    if answer.answerability is not None:
        lines.append(f"answerability: {answer.answerability:.2f}, so it was {judged}")
    if found.signals:
        signals = ", ".join(f"{_flat(name)} {value:.2f}" for name, value in sorted(found.signals.items()))
        lines.append(f"signals: {signals}")
    if answer.tokens:
        lines.append("tokens: " + ", ".join(f"{_flat(name)} {count}" for name, count in answer.tokens.items()))
    if answer.prompt_cut:
        lines.append("The server cut the prompt: the model did not see all of it.")
    return lines


def _passages(answer: Answer) -> Table:
    """The passages with their scores, and which of them the answer cites."""
    names = [
        name
        for name in ("dense", "bm25", "graph", "gear", "fused", "rerank")
        if any(_score(hit, name) for hit in answer.found.hits)
    ]
    table = Table(box=None, pad_edge=False)
    table.add_column("", justify="right", style="dim")
    table.add_column("passage", overflow="fold")
    for name in names:
        table.add_column(name, justify="right")
    table.add_column("found by")
    table.add_column("cited")
    for hit in answer.found.hits:
        chunk = hit.chunk
        where = f"{plain(chunk.file)}, {page_label(chunk.page_start, chunk.page_end)}"
        scores = [_score(hit, name) for name in names]
        table.add_row(
            str(hit.rank), Text(where), *scores, " + ".join(hit.found_by), "yes" if _cites(answer, hit) else "no"
        )
    return table


def _score(hit: Hit, name: str) -> str:
    value = hit.scores.get(name)
    return "" if value is None else f"{value:.3f}"


def _cites(answer: Answer, hit: Hit) -> bool:
    """Whether a citation is of words in the passage; of its pages, where the words are not placed."""
    chunk = hit.chunk
    for citation in answer.citations:
        if citation.file == chunk.file and chunk.page_start <= citation.page <= chunk.page_end:
            inside = citation.start < chunk.end and chunk.start < citation.end
            if inside or not citation.end:
                return True
    return False


def _flat(text: str) -> str:
    return " ".join(plain(text).split())
