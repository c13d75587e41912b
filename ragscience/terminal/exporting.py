"""A conversation for other programs: Markdown to read on, BibTeX for the papers that it cites."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath

from ragscience.history import KeptAnswer
from ragscience.records import Answer, Citation, Paper, Sentence
from ragscience.terminal.plain import plain

__all__ = ["as_bibtex", "as_markdown"]

MARKS = {"supported": "✓", "weak": "~", "unsupported": "✗"}
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_LATEX = {
    "\\": r"{\textbackslash}",
    "{": r"{\textbraceleft}",
    "}": r"{\textbraceright}",
    "~": r"{\textasciitilde}",
    "^": r"{\textasciicircum}",
    **{char: f"\\{char}" for char in "&%$#_"},
}


def as_markdown(title: str, turns: Sequence[KeptAnswer]) -> str:
    """Questions, answers with the mark of each checked sentence, and under each answer its pages with their quotes.

    The text of papers and models is made inert: no HTML, no pictures that a viewer would fetch.
    """
    parts = [f"# {_line(title)}\n"]
    for number, kept in enumerate(turns, start=1):
        answer = kept.answer
        parts.append(f"## {number}. {_line(answer.question)}\n")
        parts.append(_inert(_marked(answer.text, answer.sentences)) + "\n")
        if answer.citations:
            parts.append("Sources:\n")
            parts += [f"- {_source(citation)}" for citation in dict.fromkeys(answer.citations)]
            parts.append("")
        if answer.sentences:
            parts.append(f"{_summary(answer)}\n")
        day, _, clock = kept.created_at.partition("T")
        parts.append(f"*{day} {clock[:5]} UTC, answer {_line(answer.answer_id)}*\n")
    return "\n".join(parts)


def as_bibtex(turns: Iterable[KeptAnswer], papers: Mapping[str, Paper]) -> str:
    """A @misc entry for each cited paper: its title where the library knows one, and its file. Nothing is made up.

    `papers` has the library's papers by their path; one that has left it is given by its file alone.
    """
    cited = {citation.path or citation.file: citation for kept in turns for citation in kept.answer.citations}
    by_name = {paper.file: paper for paper in papers.values()}
    entries, keys = [], set[str]()
    for citation in cited.values():
        paper = papers.get(citation.path) or (None if citation.path else by_name.get(citation.file))
        stem = _key(PurePath(citation.file).stem)
        key = next(name for name in _numbered(stem) if name not in keys)
        keys.add(key)
        fields = {"file": _file(citation.path or citation.file)}
        title = _latex(paper.title) if paper else ""
        if title:
            fields = {"title": f"{{{title}}}"} | fields
        body = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
        entries.append(f"@misc{{{key},\n{body}}}\n")
    return "\n".join(entries)


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
    claims = [sentence.verdict for sentence in answer.sentences if sentence.verdict in MARKS]
    counts = ", ".join(
        f"{claims.count(verdict)} {verdict} ({mark})" for verdict, mark in MARKS.items() if verdict in claims
    )
    return f"Checked: {counts}." if counts else "Checked: nothing in it could be checked."


def _source(citation: Citation) -> str:
    quote = " ".join(citation.quote.split())
    said = f": “{_inert(quote)}”" if quote else ""
    return (
        f"{_line(citation.file)}, p.{citation.page}{said} {MARKS['supported' if citation.supported else 'unsupported']}"
    )


def _inert(text: str) -> str:
    return _TAG.sub("&lt;", plain(text)).replace("![", r"!\[")


def _line(text: str) -> str:
    return " ".join(_inert(text).split())


def _latex(text: str) -> str:
    return "".join(_LATEX.get(char, char) for char in " ".join(plain(text).split()))


def _file(path: str) -> str:
    """A path is read as it stands, but for braces: a lone one would break the whole file."""
    return plain(path).replace("{", "%7B").replace("}", "%7D").replace("\n", " ")


def _key(stem: str) -> str:
    ascii_only = unicodedata.normalize("NFKD", stem).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9]+", "-", ascii_only).strip("-").lower() or "paper"


def _numbered(stem: str) -> Iterable[str]:
    yield stem
    number = 2
    while True:
        yield f"{stem}-{number}"
        number += 1
