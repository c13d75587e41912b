"""A conversation as Markdown, and text files that are written wholly or not at all."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ragscience.core.errors import RagScienceError
from ragscience.core.records import UNCITED, Answer, Citation, Sentence
from ragscience.engine.printable import plain
from ragscience.engine.source_list import Source, sources_of
from ragscience.library.atomic_files import disk_errors, write_atomically
from ragscience.library.history import KeptAnswer

__all__ = ["as_markdown", "write_out"]

MARKS = {"supported": "✓", "weak": "~", "unsupported": "✗"}
_TAG = re.compile(r"<(?=[A-Za-z/!?])")


def as_markdown(title: str, turns: Sequence[KeptAnswer]) -> str:
    """Questions, answers with the mark of each checked sentence, and under each answer its pages with their quotes.

    The text of papers and models is made inert: no HTML, no pictures that a viewer would fetch.
    """
    parts = [f"# {_line(title)}\n"]
    for number, kept in enumerate(turns, start=1):
        answer = kept.answer
        parts.append(f"## {number}. {_line(answer.question)}\n")
        marked_text = _marked(answer.text, answer.sentences) if answer.citations else answer.text
        parts.append(_inert(marked_text) + "\n")
        if answer.citations:
            parts.append("Sources:\n")
            marked = not _is_quotes(answer)
            parts += [_source(source, marked=marked) for source in sources_of(answer)]
            parts.append("")
        if answer.sentences:
            parts.append(f"{_summary(answer)}\n")
        day, _, clock = kept.created_at.partition("T")
        parts.append(f"*{day} {clock[:5]} UTC, answer {_line(answer.answer_id)}*\n")
    return "\n".join(parts)


def write_out(target: Path, text: str) -> None:
    """Write the file, wholly or not at all. Raises RagScienceError where it cannot be."""
    path, content = target.expanduser().resolve(), text.encode("utf-8", "replace")
    if path.is_dir() or not path.parent.is_dir():
        what = f"{target} is a folder" if path.is_dir() else f"There is no folder {path.parent}"
        raise RagScienceError(f"{what}.", "Name a file, in a folder that is there.")
    with disk_errors(path):
        if path.exists() and not path.is_file():  # a pipe or a device is written to, never replaced
            path.write_bytes(content)
        else:
            write_atomically(path, content)


def _marked(text: str, sentences: Sequence[Sentence]) -> str:
    """The answer with a mark behind each sentence that was checked; one that is not found in it stays unmarked."""
    done, rest = "", text
    for sentence in sentences:
        mark = MARKS.get(sentence.verdict)
        before, found, after = rest.partition(sentence.text) if sentence.text else (rest, "", "")
        if mark and found:
            done, rest = f"{done}{before}{found} {mark}", after
    return done + rest


def _summary(answer: Answer) -> str:
    if not answer.citations:
        return UNCITED
    claims = [sentence.verdict for sentence in answer.sentences if sentence.verdict in MARKS]
    if _is_quotes(answer):
        sure = f" Confidence: {answer.confidence}." if answer.confidence else ""
        return " ".join([f"Quotes, word for word.{sure}", *map(_line, answer.missing)])
    counts = ", ".join(
        f"{claims.count(verdict)} {verdict} ({mark})" for verdict, mark in MARKS.items() if verdict in claims
    )
    return f"Checked: {counts}." if counts else "Checked: nothing in it could be checked."


def _is_quotes(answer: Answer) -> bool:
    """Whether there are quotes and nothing that a model worded."""
    verdicts = {sentence.verdict for sentence in answer.sentences}
    return "quote" in verdicts and not verdicts & MARKS.keys()


def _source(source: Source, *, marked: bool) -> str:
    """`1. file.pdf, p.3: “quote” ✓ “another quote” ✓`, with the number that it has under the answer."""
    quotes = " ".join(_quote(citation, marked=marked) for citation in dict.fromkeys(source.citations)).strip()
    says = f": {quotes}" if "“" in quotes else f" {quotes}" if quotes else ""
    return f"{source.number}. {_line(source.file)}, p.{source.page}{says}"


def _quote(citation: Citation, *, marked: bool) -> str:
    quote = " ".join(citation.quote.split())
    said = f"“{_inert(quote)}”" if quote else ""
    mark = MARKS["supported" if citation.supported else "unsupported"] if marked else ""
    return f"{said} {mark}".strip()


def _inert(text: str) -> str:
    return _TAG.sub("&lt;", plain(text)).replace("![", r"!\[")


def _line(text: str) -> str:
    return " ".join(_inert(text).split())
