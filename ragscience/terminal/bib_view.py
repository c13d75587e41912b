"""`query.py bib` and `/bib`: papers as BibTeX or CSL-JSON, for the text that one writes about them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from ragscience.bibliography import Entry, as_bibtex, as_csl, entries_cited, entries_of
from ragscience.errors import UsageError
from ragscience.records import Answer
from ragscience.store import Home, Library
from ragscience.terminal.cli import say
from ragscience.terminal.keeping import kept_answer
from ragscience.terminal.markdown_export import hand_over

__all__ = ["LAST", "cited_text", "show_bib"]

LAST = "last"
"""Stands for the id of the last answer."""


def show_bib(home: Home, papers: Sequence[str], *, cited: str | None, csl: bool, target: Path | None) -> int:
    """The papers that are named, those that the answer `cited` cites, or all of the library; an exit code.

    `cited` is the beginning of an answer's id, or LAST. The text goes to `target`, or to stdout. Raises UsageError for
    both at once, RagScienceError for a paper, NothingFound for an answer that is not there.
    """
    if papers and cited is not None:
        raise UsageError("Papers and --cited are two ways to say which.", "Give one of them.")
    if cited is not None:
        answer = kept_answer(home, None if cited == LAST else cited).answer
        hand_over(cited_text([answer], home, csl=csl), target)
        return 0
    from ragscience.ingestion import papers_named

    with Library.open(home) as library:
        every = library.papers()
        wanted = papers_named(library, papers) if papers else every
    if not every:
        say("The library has no papers.")
    hand_over(_text(entries_of(wanted, every), csl), target)
    return 0


def cited_text(answers: Iterable[Answer], home: Home, *, csl: bool) -> str:
    """The papers that the answers cite, each once; where they cite none, that is said and nothing is in it."""
    with Library.open(home) as library:
        entries = entries_cited(answers, library.papers())
    if not entries:
        say("It cites no paper.")
    return _text(entries, csl)


def _text(entries: Sequence[Entry], csl: bool) -> str:
    return as_csl(entries) if csl else as_bibtex(entries)
