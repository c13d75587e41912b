"""The commands of `query.py`: questions, passages, conversations, measures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ragscience.cli import options as opt
from ragscience.cli.config_commands import config_app, list_profiles, models_app
from ragscience.cli.graph_commands import draw_map, related, show_graph, show_path
from ragscience.cli.groups import App, make_app, with_version
from ragscience.cli.history_commands import audit, export_notes, history_app
from ragscience.cli.output import console, flat, print_json, print_table, put
from ragscience.cli.review_commands import check, quote
from ragscience.cli.running import SOME_FAILED, opened, say
from ragscience.cli.screen import Screen
from ragscience.cli.serve_commands import mcp, serve_app
from ragscience.cli.status_line import STATUS
from ragscience.cli.table_command import table
from ragscience.core.errors import UsageError
from ragscience.engine.events import Event, Noted, Progressed
from ragscience.engine.printable import counted, plain

if TYPE_CHECKING:
    from rich.console import Console

    from ragscience.engine.library_engine import Engine
    from ragscience.evaluation.eval_report import Evaluation, Paired


HELP = (
    "Ask questions about your papers, and see the page behind each fact.\n\n"
    "The first word is one of the commands below, or anything else is a question, with or without quotes: "
    '`python query.py "What is Adam?"`. Without a question a chat opens. '
    "`python ingest.py` reads papers into the library."
)
START, QUESTIONS, CONNECTIONS = "Start here", "Questions and passages", "Connections"
EARLIER, PROGRAMS, SETUP = "Earlier answers", "Other programs", "Setup and checks"
"""Headings of the commands in the help."""


def ask(
    narrow: opt.Narrow,
    how: opt.How,
    talk: opt.Talk,
    run: opt.LoggedRun,
    question: list[str] | None = opt.QUESTION,
    source: str | None = opt.FROM_FILE,
    pages: str | None = opt.PAGES,
    json: bool = opt.JSON_EACH,
    strict: bool = opt.STRICT,
    agent: bool = opt.BY_AGENT,
    corrective: bool | None = opt.CORRECTIVE,
    plain: bool = opt.PLAIN,
    brief: bool = opt.BRIEF,
    every: bool = opt.ALL_QUOTES,
    cite: opt.Cites = opt.CITE,
    highlight: Path | None = opt.HIGHLIGHT,
) -> int:
    """Answer a question, with the page behind each fact.

    A question without a command does the same. With --continue or --chat and no question, the chat opens.
    """
    from ragscience.engine.requests import AskRequest

    for is_given, name in ((brief, "--brief"), (cite != "file", "--cite")):
        if is_given and json:
            raise UsageError(f"{name} and --json exclude each other.", "Give one of them.")
    if highlight is not None:
        from ragscience.engine.page_files import check_target

        check_target(highlight)
    filters = narrow.filters(pages)
    request = AskRequest("", filters, top_k=narrow.k, strict=strict, agent=agent, plain=plain)
    request = replace(request, corrective=corrective, graph_filter=how.graph_filter)
    screen = Screen(quiet=run.quiet, brief=brief, every=every)
    with _opened(screen, how, run, talk) as engine:
        screen.cite = engine.papers.citing(cite)
        continues = talk.go_on or talk.name is not None
        named = engine.dialogue(name=talk.name, continue_last=talk.go_on) if continues else None
        if named and not (question or source is not None or json or strict or pages or highlight):
            from ragscience.cli.chat import run_chat
            from ragscience.cli.chat_commands import ChatState

            return run_chat(ChatState(engine, request, named, screen))
        from ragscience.cli.ask_command import ask_all

        asked = opt.one_of("ask", question, source)
        return ask_all(engine, asked, request, screen=screen, as_json=json, dialogue=named, highlight=highlight)


def search(
    narrow: opt.Narrow,
    how: opt.How,
    run: opt.LoggedRun,
    question: list[str] | None = opt.QUESTION,
    source: str | None = opt.FROM_FILE,
    pages: str | None = opt.PAGES,
    json: bool = opt.JSON_EACH,
) -> int:
    """List the passages found for a question, best first."""
    from ragscience.cli.ask_command import search_all
    from ragscience.engine.requests import SearchRequest

    filters = narrow.filters(pages)
    screen = Screen(quiet=run.quiet)
    with _opened(screen, how, run) as engine:
        request = SearchRequest("", filters, top_k=narrow.k, graph_filter=how.graph_filter)
        return search_all(engine, opt.one_of("search", question, source), request, screen=screen, as_json=json)


@contextmanager
def _opened(screen: Screen, how: opt.Ranking, run: opt.Run, talk: opt.Talk | None = None) -> Iterator[Engine]:
    """The engine of a command that asks; each choice of a model is said once for a library."""
    history = False if talk and talk.no_history else None
    with opened(screen, **how.flags(), **run.flags(), history=history) as engine:
        screen.told = engine.home.told
        yield engine


def chat(
    narrow: opt.Narrow,
    how: opt.How,
    talk: opt.Talk,
    run: opt.LoggedRun,
    agent: bool = opt.BY_AGENT,
    plain: bool = opt.PLAIN,
    brief: bool = opt.BRIEF,
    every: bool = opt.ALL_QUOTES,
    cite: opt.Cites = opt.CITE,
) -> int:
    """Open a chat: ask one question after the other.

    /help lists the chat's commands. Ctrl-C stops an answer, Ctrl-D leaves.
    """
    from ragscience.cli.chat import run_chat
    from ragscience.cli.chat_commands import ChatState
    from ragscience.engine.requests import AskRequest

    filters = narrow.filters()
    screen = Screen(quiet=run.quiet, brief=brief, every=every)
    with _opened(screen, how, run, talk) as engine:
        screen.cite = engine.papers.citing(cite)
        request = AskRequest("", filters, top_k=narrow.k, agent=agent, plain=plain, graph_filter=how.graph_filter)
        dialogue = engine.dialogue(name=talk.name, continue_last=talk.go_on)
        return run_chat(ChatState(engine, request, dialogue, screen))


def open_page(
    run: opt.Run,
    number: int = opt.argument("N", "The source's number, as listed under the answer.", 1),
    answer: str = opt.option("--answer ID", "The answer that has the source (the start of its id), or last.", "last"),
) -> None:
    """Open a source of the last answer in a PDF viewer, at its page."""
    from ragscience.cli.source_views import open_source

    with opened(**run.flags()) as engine:
        open_source(engine, engine.history.answer(answer).answer, number)


def bib(
    run: opt.Run,
    papers: list[str] | None = opt.ANY_PAPERS,
    cited: str | None = opt.option("--cited ID", "Only papers that this answer cites: the start of its id, or last."),
    csl: bool = opt.flag("--csl", "Write CSL-JSON, for Zotero, pandoc and others."),
    output: Path | None = opt.OUTPUT_FILE,
) -> None:
    """Write papers as BibTeX.

    If something about a paper is uncertain, its note field says so.
    """
    from ragscience.cli.source_views import show_bib

    with opened(**run.flags()) as engine:
        show_bib(engine, papers or [], cited=cited, csl=csl, target=output)


# Evaluation

MOST_FAILED = 20
"""How many failed questions are listed for one reason."""
IN_THE_TABLE = ("any@4", "all evidence", "answer", "cited", "refused", "rightly refused")
"""The measures shown by question type; --json has all of them."""


def evaluate(
    narrow: opt.Narrow,
    ranking: opt.Ranking,
    run: opt.Run,
    file: Path = opt.argument("FILE", "Questions with known answers, one JSON object per line."),
    mode: str = opt.option("--mode MODE", "How to answer: ask, agent, corrective, graph, or a profile (deep).", "ask"),
    against: str | None = opt.option("--against MODE", "Also run this mode, and compare the two question by question."),
    json: bool = opt.JSON,
) -> int:
    """Evaluate answers to questions whose answers are known.

    --against compares two modes.
    """
    from ragscience.engine.eval_runs import EvalRequest, check_modes, read_questions
    from ragscience.evaluation.eval_report import Paired, eval_output

    check_modes(mode, against)
    filters, modes = narrow.filters(), [mode, against] if against else [mode]
    screen = EvalScreen(quiet=run.quiet)
    with _opened(screen, ranking, run, opt.Talk(no_history=True)) as engine:
        questions, bad = read_questions(engine, file, on_event=screen)
        request = EvalRequest(questions, file.name, bad, filters=filters, top_k=narrow.k)
        evaluations = [engine.evaluate(replace(request, mode=one), on_event=screen) for one in modes]
    STATUS.hide()
    out = console()
    if json:
        print_json(eval_output(*evaluations))
    elif against:
        show_paired(Paired(*evaluations), out)
    else:
        show_evaluation(evaluations[0], out)
    return SOME_FAILED if bad or any(each.error for one in evaluations for each in one.outcomes) else 0


class EvalScreen(Screen):
    """Shows warnings and what failed, and counts the questions where a person watches."""

    def __call__(self, event: Event) -> None:
        """Show it."""
        if isinstance(event, Noted):
            say(event.line)
        elif isinstance(event, Progressed):
            number = min(event.done + 1, event.total or 0)
            self.task = f"{event.what}, question {number} of {event.total}: "
        else:
            super().__call__(event)


def show_evaluation(evaluation: Evaluation, out: Console) -> None:
    """Each measure, the types of question side by side, and the questions that failed."""
    from rich.text import Text

    from ragscience.evaluation.answer_metrics import MEASURES
    from ragscience.evaluation.eval_report import FAILURES, failed_questions, pages_of, shown

    _head(evaluation, out)
    rows = [(name, shown(found), str(found.questions), MEASURES[name]) for name, found in evaluation.overall.items()]
    print_table(("measure", "value (95 %)", "of", "meaning"), rows, out, wraps=("meaning",))
    out.print()
    kinds = [
        (kind, str(means["seconds"].questions),
         *(f"{means[name].mean:.2f}" if name in means else "–" for name in IN_THE_TABLE))
        for kind, means in evaluation.by_kind.items()
    ]  # fmt: skip
    print_table(("type", "questions", *IN_THE_TABLE), kinds, out, wraps=IN_THE_TABLE)
    for why, outcomes in failed_questions(evaluation.outcomes).items():
        put(out, f"\n{FAILURES[why]}: {len(outcomes):,}", style="bold")
        for outcome in outcomes[:MOST_FAILED]:
            known, pages = outcome.question, pages_of(outcome)
            line = Text(flat(known.question)).append(f"  ({plain(pages)})" if pages else "", "dim")
            put(out, line, f"  {plain(known.question_id)}  ")
        if len(outcomes) > MOST_FAILED:
            put(out, f"  and {len(outcomes) - MOST_FAILED:,} more: --json has every question with its values")


def show_paired(paired: Paired, out: Console) -> None:
    """Each measure of both ways, with the difference and how sure it is."""
    from ragscience.evaluation.eval_report import shown_difference

    _head(paired.first, out)
    _head(paired.second, out)
    rows = [
        (name, f"{found.first:.3f}", f"{found.second:.3f}", shown_difference(found), f"{found.higher}/{found.lower}",
         str(found.difference.questions))
        for name, found in paired.overall.items()
    ]  # fmt: skip
    heads = ("measure", *paired.names, "difference (95 %)", "higher/lower", "of")
    print_table(heads, rows, out, wraps=("difference (95 %)",))


def _head(evaluation: Evaluation, out: Console) -> None:
    conditions = ", ".join(f"{name} {value}" for name, value in evaluation.conditions.items())
    put(out, plain(f"{evaluation.source}: {counted(len(evaluation.outcomes), 'question')}"), style="bold")
    put(out, plain(conditions), style="dim")


def add_query_commands(app: App) -> None:
    """Add the commands to the app, in the order of the help."""
    app.command(panel=START, example='python query.py ask "How long is a chunk?" --paper ragscience')(ask)
    app.command(panel=START, example="python query.py chat --chat thesis")(chat)
    app.command("open", panel=START, example="python query.py open 2")(open_page)
    app.command(panel=QUESTIONS, example='python query.py search "reciprocal rank fusion" -k 3')(search)
    app.command(panel=QUESTIONS, example='python query.py quote "reciprocal rank fusion"')(quote)
    app.command(panel=QUESTIONS, example="python query.py check thesis.md --suggest")(check)
    app.command(panel=QUESTIONS, example="python query.py table questions.yaml --csv papers.csv")(table)
    app.command("profiles", panel=QUESTIONS)(list_profiles)
    app.command("graph", panel=CONNECTIONS, example='python query.py graph "deep learning" --together')(show_graph)
    app.command("path", panel=CONNECTIONS, example='python query.py path "deep learning" BM25')(show_path)
    app.command(panel=CONNECTIONS, example="python query.py related ragscience.pdf -k 3")(related)
    app.command("map", panel=CONNECTIONS, example="python query.py map papers.html")(draw_map)
    app.add_typer(history_app, name="history", rich_help_panel=EARLIER)
    app.command(panel=EARLIER, example="python query.py audit last")(audit)
    app.command(panel=EARLIER, example="python query.py bib --cited last -o papers.bib")(bib)
    app.command("export", panel=EARLIER, example="python query.py export --obsidian ~/vault")(export_notes)
    app.add_typer(serve_app, name="serve", rich_help_panel=PROGRAMS)
    app.command(panel=PROGRAMS)(mcp)
    app.add_typer(models_app, name="models", rich_help_panel=SETUP)
    app.add_typer(config_app, name="config", rich_help_panel=SETUP)
    app.command("eval", panel=SETUP, example="python query.py eval questions.jsonl --against deep")(evaluate)


app = with_version(make_app(HELP, default="ask", bare="chat"))
add_query_commands(app)
