"""What a writer holds against the papers: quotes and drafts."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ragscience.cli import options as opt
from ragscience.cli.output import console, flat, print_json, print_table, put
from ragscience.cli.running import NOTHING_FOUND, SOME_FAILED, opened, say
from ragscience.cli.screen import IngestScreen, Screen
from ragscience.cli.status_line import STATUS
from ragscience.core.records import Citation
from ragscience.engine.printable import counted, shortened

if TYPE_CHECKING:
    from rich.console import Console

    from ragscience.engine.library_engine import Engine
    from ragscience.engine.requests import SearchRequest
    from ragscience.review.quotes import QuotePlace
    from ragscience.review.reports import DraftReport

_SHOWN, _NEAR = 500, 200
"""Characters of the printed words, and of a passage in a table."""
_LOOK_S = 0.5


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
    from ragscience.engine.review_runs import quote_output

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
    from ragscience.review.reports import difference_line

    if not places:
        put(out, "Not found in the papers.")
    for place in places:
        where = " ".join(cited_label(one.file, one.page) for one in place.citations)
        put(out, f"{where}  {'differs' if place.differences else 'exact'}", style="bold")
        put(out, shortened(" ".join(one.quote for one in place.citations), _SHOWN), "  ")
        for one in place.differences:
            put(out, flat(difference_line(one)), "  - ")


Formats = Literal["table", "json", "lines", "sarif"]


def check(
    run: opt.Run,
    draft: Path = opt.argument("DRAFT", "A draft that ends in .md, .tex, .docx or .txt."),
    suggest: bool = opt.flag("--suggest", "Also list the papers that say what a sentence without citation says."),
    llm: bool = opt.flag("--llm", "Also ask the language model about sentences that are unclear or partly held."),
    form: Formats = opt.option(
        "--format FORM", "How to print: table, json, lines (file:line:col: message) or sarif.", "table", opt.OUTPUT
    ),
    json: bool = opt.flag("--json", "The same as --format json (docs/json.md).", opt.OUTPUT),
    annotate: Path | None = opt.option(
        "--annotate DIR", "Write the pages of each paper here as a PDF, the passages marked.", panel=opt.OUTPUT
    ),
    watch: bool = opt.flag("--watch", "Check again whenever the draft changes, until Ctrl-C."),
) -> int:
    """Hold each sentence of a draft that cites a paper of the library against that paper.

    It is held, partly held (a number, name or denial differs), not held, or unclear: said in other words, to be read.
    Exit code 3: a paper does not hold a sentence; 4: no sentence cites a paper of the library.
    """
    from ragscience.engine.review_runs import DraftChecks

    screen = IngestScreen(quiet=run.quiet)
    with opened(screen, **run.flags()) as engine:
        while True:
            started = _changed_at(draft)
            report = engine.review.check(draft, DraftChecks(suggest, llm), on_event=screen)
            STATUS.hide()
            for warning in report.warnings:
                say(warning, lead="warning: ")
            _print_report(report, "json" if json else form)
            if annotate is not None:
                _annotate(engine, report, annotate)
            if not watch:
                break
            while _changed_at(draft) in (0, started):
                time.sleep(_LOOK_S)
    if report.is_flagged:
        return SOME_FAILED
    return NOTHING_FOUND if not any(one.evidence for one in report.sentences) else 0


def _changed_at(draft: Path) -> int:
    """0 where it is not there, as while an editor replaces it."""
    return draft.stat().st_mtime_ns if draft.is_file() else 0


def _print_report(report: DraftReport, form: str) -> None:
    from ragscience.engine.review_runs import draft_output
    from ragscience.review.reports import as_sarif, message_of, place_of, to_show

    if form in ("json", "sarif"):
        print_json(draft_output(report) if form == "json" else as_sarif(report))
        return
    out, shown = console(), to_show(report.sentences)
    if form == "lines":
        for one in shown:
            put(out, flat(f"{place_of(one, report.draft)}: {message_of(one)}"))
        return
    rows = []
    for one in shown:
        nearest = f"“{shortened(one.evidence[0].quote, _NEAR)}”" if one.evidence else ""
        rows.append((f"{one.file}:{one.line}", shortened(one.text, _NEAR), message_of(one), nearest))
    print_table(
        ("where", "sentence", "found", "nearest passage"), rows, out, wraps=("sentence", "found", "nearest passage")
    )
    counts = ", ".join(f"{many} {verdict}" for verdict, many in report.counts.items())
    say(f"{counted(len(report.sentences), 'sentence')}: {counts}." if counts else "No sentence cites a paper.")


def _annotate(engine: Engine, report: DraftReport, folder: Path) -> None:
    """Write a PDF for each paper with its pages that hold sentences, or come nearest."""
    folder.mkdir(parents=True, exist_ok=True)
    cited: dict[str, list[Citation]] = {}
    for sentence in report.sentences:
        for one in sentence.evidence[:1]:
            cited.setdefault(one.file, []).append(one)
    for file, citations in cited.items():
        target = folder / f"{Path(file).stem}.pdf"
        pages = engine.papers.write_marked_pages(citations, target, on_event=IngestScreen(quiet=False))
        say(f"{counted(pages, 'page')} with marked passages: {target}")
