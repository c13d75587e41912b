"""`query.py eval --make N`: questions drafted from the library's own papers, for a person to correct."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragscience.errors import NothingFound, UsageError
from ragscience.evaluation.question_drafts import SCHEMA, Ask, Draft, Part, Source, as_line, drafts, worded
from ragscience.records import Paper, title_of
from ragscience.store import Library
from ragscience.store.filter_selection import match_papers
from ragscience.terminal.session import Session

if TYPE_CHECKING:
    from ragscience.models.ollama_llm import OllamaLLM

__all__ = ["make_questions"]

PROBLEMS = 2
"""Failures of the server after which the model is not asked any more."""


def make_questions(session: Session, count: int, *, papers: tuple[str, ...], target: Path | None) -> int:
    """Write `count` drafts to `target`, or to stdout for None, a JSON object a line; an exit code.

    The language model words them, where there is one; what it does not give is drafted by rules. Raises UsageError
    where `target` is there already, and NothingFound where no paper gives a question.
    """
    if target is not None and target.exists():
        raise UsageError(f"{target} is there already.", "Name another file: nothing that you corrected is overwritten.")
    if target is not None and not target.absolute().parent.is_dir():
        raise UsageError(f"{target.parent} is no folder.", "Name a file in a folder that is there.")
    sources = [_source(session.library, paper) for paper in _wanted(session, papers)]
    made = [*_worded(session, sources, count)]
    made += _others(sources, count - len(made), made)
    if not made:
        raise NothingFound(
            "No paper gives a question: none has a definition, a table's caption or a heading that can be used.",
            "Add papers with `python ingest.py`, or write the questions yourself.",
        )
    lines = "".join(f"{as_line(draft, number)}\n" for number, draft in enumerate(made, start=1))
    if target is None:
        sys.stdout.write(lines)
    else:
        target.write_text(lines, encoding="utf-8")
    if len(made) < count:
        session.warning(f"Only {len(made)} of {count} questions could be drafted.")
    drafted = f"{len(made)} draft{'' if len(made) == 1 else 's'}{f' in {target}' if target is not None else ''}"
    session.warning(f'{drafted}: correct what is wrong, take "draft" out of what is right, then run eval on the file.')
    return 0


def _wanted(session: Session, papers: tuple[str, ...]) -> list[Paper]:
    every = session.library.papers()
    if not papers:
        return every
    ids = match_papers(every, papers)
    return [paper for paper in every if paper.paper_id in ids]


def _source(library: Library, paper: Paper) -> Source:
    starts = {page.number: page.start for page in library.pages(paper.paper_id)}
    texts = {number: library.page_text(paper.paper_id, number) for number in starts}
    parts = tuple(
        Part(each.kind, each.page, texts[each.page][each.start - starts[each.page] : each.end - starts[each.page]])
        for each in library.elements(paper.paper_id)
        if each.page in starts
    )
    return Source(paper.file, title_of(paper), texts, parts)


def _worded(session: Session, sources: Sequence[Source], count: int) -> list[Draft]:
    """Up to `count` drafts of the language model, the papers in turns; none without one."""
    llm = session.llm
    if llm is None:
        return []
    ask = _asking(session, llm)
    turns = [worded(source, ask, llm.name) for source in sources]
    made: list[Draft] = []
    while turns and len(made) < count:
        for turn in list(turns):
            draft = next(turn, None)
            if draft is None:
                turns.remove(turn)
            elif len(made) < count and draft.question.casefold() not in {each.question.casefold() for each in made}:
                made.append(draft)
            if len(made) == count:
                break
    return made


def _asking(session: Session, llm: OllamaLLM) -> Ask:
    from ragscience.models.structured_output import ask_structured

    problems = 0

    def ask(messages: Sequence[tuple[str, str]], read: Callable[[Any], Draft]) -> Draft | None:
        nonlocal problems
        if problems >= PROBLEMS:
            return None
        said = ask_structured(
            llm,
            messages,
            schema=SCHEMA,
            read=read,
            max_tokens=llm.num_predict,
            seconds=session.settings.answer_seconds,
        )
        if said.problem is not None:
            problems += 1
            session.warning(f"Drafting by rules instead. {said.problem}")
        return said.value

    return ask


def _others(sources: Sequence[Source], count: int, made: Sequence[Draft]) -> list[Draft]:
    """Up to `count` drafts by rules that ask for nothing of `made`."""
    asked = {draft.question.casefold() for draft in made}
    by_rules = drafts(sources, count + len(made))
    return [draft for draft in by_rules if draft.question.casefold() not in asked][:count]
