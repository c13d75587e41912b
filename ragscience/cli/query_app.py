"""The commands of `query.py`: questions, passages, conversations, measures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ragscience.cli import options as opt
from ragscience.cli.config_commands import config_app, list_profiles, models_app
from ragscience.cli.evaluation_command import evaluate
from ragscience.cli.graph_commands import draw_map, related, show_graph, show_path
from ragscience.cli.groups import App, make_app, with_version
from ragscience.cli.history_commands import audit, history_app
from ragscience.cli.running import opened
from ragscience.cli.serve_commands import mcp, serve_app
from ragscience.core.errors import UsageError

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
    highlight: Path | None = opt.HIGHLIGHT,
) -> int:
    """Answer a question, with the page behind each fact.

    A question without a command does the same. With --continue or --chat and no question, the chat opens.
    """
    from ragscience.cli.screen import Screen
    from ragscience.engine.requests import AskRequest

    if brief and json:
        raise UsageError("--brief and --json exclude each other.", "Give one of them.")
    if highlight is not None:
        from ragscience.engine.page_files import check_target

        check_target(highlight)
    filters = narrow.filters(pages)
    request = AskRequest("", filters, top_k=narrow.k, strict=strict, agent=agent, plain=plain)
    request = replace(request, corrective=corrective, graph_filter=how.graph_filter)
    screen = Screen(quiet=run.quiet, brief=brief, every=every)
    flags = how.flags() | run.flags() | {"history": False if talk.no_history else None}
    with opened(screen, **flags) as engine:
        screen.keep_choices_in(engine.home.told)
        continues = talk.go_on or talk.name is not None
        named = engine.dialogue(name=talk.name, continue_last=talk.go_on) if continues else None
        if named and not (question or source is not None or json or strict or pages or highlight):
            from ragscience.cli.chat import Chat

            return Chat(engine, request, named, screen).run()
        from ragscience.cli.ask_command import ask_all

        asked = _one_of("ask", question, source)
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
    from ragscience.cli.screen import Screen
    from ragscience.engine.requests import SearchRequest

    filters = narrow.filters(pages)
    screen = Screen(quiet=run.quiet)
    with opened(screen, **how.flags(), **run.flags()) as engine:
        screen.keep_choices_in(engine.home.told)
        request = SearchRequest("", filters, top_k=narrow.k, graph_filter=how.graph_filter)
        return search_all(engine, _one_of("search", question, source), request, screen=screen, as_json=json)


def _one_of(command: str, question: list[str] | None, source: str | None) -> tuple[str | None, str | None]:
    if bool(question) == (source is not None):
        raise UsageError("Give either a question or --from.", f'For example: `python query.py {command} "chunk size"`.')
    return " ".join(question) if question else None, source


def chat(
    narrow: opt.Narrow,
    how: opt.How,
    talk: opt.Talk,
    run: opt.LoggedRun,
    agent: bool = opt.BY_AGENT,
    plain: bool = opt.PLAIN,
    brief: bool = opt.BRIEF,
    every: bool = opt.ALL_QUOTES,
) -> int:
    """Open a chat: ask one question after the other.

    /help lists the chat's commands. Ctrl-C stops an answer, Ctrl-D leaves.
    """
    from ragscience.cli.chat import Chat
    from ragscience.cli.screen import Screen
    from ragscience.engine.requests import AskRequest

    filters = narrow.filters()
    screen = Screen(quiet=run.quiet, brief=brief, every=every)
    flags = how.flags() | run.flags() | {"history": False if talk.no_history else None}
    with opened(screen, **flags) as engine:
        screen.keep_choices_in(engine.home.told)
        request = AskRequest("", filters, top_k=narrow.k, agent=agent, plain=plain, graph_filter=how.graph_filter)
        return Chat(engine, request, engine.dialogue(name=talk.name, continue_last=talk.go_on), screen).run()


def open_page(
    run: opt.Run,
    number: int = opt.argument("N", "The source's number, as listed under the answer.", 1),
    answer: str = opt.option("--answer ID", "The answer that has the source (the start of its id), or last.", "last"),
) -> int:
    """Open a source of the last answer in a PDF viewer, at its page."""
    from ragscience.cli.source_views import open_source

    with opened(**run.flags()) as engine:
        open_source(engine, engine.history.answer(answer).answer, number)
    return 0


def bib(
    run: opt.Run,
    papers: list[str] | None = opt.ANY_PAPERS,
    cited: str | None = opt.option("--cited ID", "Only papers that this answer cites: the start of its id, or last."),
    csl: bool = opt.flag("--csl", "Write CSL-JSON, for Zotero, pandoc and others."),
    output: Path | None = opt.OUTPUT_FILE,
) -> int:
    """Write papers as BibTeX.

    If something about a paper is uncertain, its note field says so.
    """
    from ragscience.cli.source_views import show_bib

    with opened(**run.flags()) as engine:
        return show_bib(engine, papers or [], cited=cited, csl=csl, target=output)


def add_query_commands(app: App) -> None:
    """Add the commands to the app, in the order of the help."""
    app.command(panel=START, example='python query.py ask "How long is a chunk?" --paper ragscience')(ask)
    app.command(panel=START, example="python query.py chat --chat thesis")(chat)
    app.command("open", panel=START, example="python query.py open 2")(open_page)
    app.command(panel=QUESTIONS, example='python query.py search "reciprocal rank fusion" -k 3')(search)
    app.command("profiles", panel=QUESTIONS)(list_profiles)
    app.command("graph", panel=CONNECTIONS, example='python query.py graph "deep learning" --together')(show_graph)
    app.command("path", panel=CONNECTIONS, example='python query.py path "deep learning" BM25')(show_path)
    app.command(panel=CONNECTIONS, example="python query.py related ragscience.pdf -k 3")(related)
    app.command("map", panel=CONNECTIONS, example="python query.py map papers.html")(draw_map)
    app.add_typer(history_app, name="history", rich_help_panel=EARLIER)
    app.command(panel=EARLIER, example="python query.py audit last")(audit)
    app.command(panel=EARLIER, example="python query.py bib --cited last -o papers.bib")(bib)
    app.add_typer(serve_app, name="serve", rich_help_panel=PROGRAMS)
    app.command(panel=PROGRAMS)(mcp)
    app.add_typer(models_app, name="models", rich_help_panel=SETUP)
    app.add_typer(config_app, name="config", rich_help_panel=SETUP)
    app.command("eval", panel=SETUP, example="python query.py eval questions.jsonl --against deep")(evaluate)


app = with_version(make_app(HELP, default="ask", bare="chat"))
add_query_commands(app)
