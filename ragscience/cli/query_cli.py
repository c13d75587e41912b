"""The commands of `query.py`: questions, passages, conversations, measures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ragscience.cli.cli import confirm, opened
from ragscience.cli.command_groups import make_app, with_version
from ragscience.cli.completion import print_script
from ragscience.cli.config_commands import config_app
from ragscience.cli.graph_commands import graph_app
from ragscience.cli.history_commands import history_app, models_app
from ragscience.cli.option_groups import How, LoggedRun, Narrow, Ranking, Run, grouped
from ragscience.cli.options import (
    AnyPapers,
    Brief,
    ByAgent,
    ChatName,
    Corrective,
    From,
    GoOn,
    Highlight,
    Json,
    JsonEach,
    Limit,
    NoHistory,
    Output,
    Pages,
    Plain,
    Strict,
    Text,
)  # fmt: skip
from ragscience.cli.run_options import Debug, HomeFolder, Offline, Quiet, Yes
from ragscience.cli.serve_commands import add_serve_commands
from ragscience.core.errors import UsageError

HELP = (
    "Ask questions about your papers, and see the page behind each fact.\n\n"
    "If the first word is one of the commands below, that command runs; anything else is a question, with or without "
    "quotes. `python query.py ask` in front always makes it a question."
)
app = with_version(make_app(HELP, default="ask", bare="chat"))
app.add_typer(graph_app)
app.add_typer(models_app, name="models")
app.add_typer(history_app, name="history")
app.add_typer(config_app, name="config")
app.command("completion")(print_script)
add_serve_commands(app)


@app.command()
@grouped
def ask(
    *,
    question: Text = None,
    source: From = None,
    narrow: Narrow,
    pages: Pages = None,
    how: How,
    json: JsonEach = False,
    strict: Strict = False,
    go_on: GoOn = False,
    name: ChatName = None,
    no_history: NoHistory = False,
    agent: ByAgent = False,
    corrective: Corrective = None,
    plain: Plain = False,
    brief: Brief = False,
    highlight: Highlight = None,
    run: LoggedRun,
) -> int:
    """Answer a question, with the page behind each fact.

    A question without a command does the same. With --continue or --chat and no question, the chat opens.
    """
    from ragscience.cli.screen import Screen
    from ragscience.engine.requests import AskRequest

    if brief and json:
        raise UsageError("--brief and --json exclude each other.", "Give one of them.")
    if highlight is not None:
        from ragscience.engine.marked_pages import check_target

        check_target(highlight)
    filters = narrow.filters(pages)
    request = AskRequest(
        "",
        filters,
        top_k=narrow.k,
        strict=strict,
        corrective=corrective,
        agent=agent,
        plain=plain,
        graph_filter=how.graph_filter,
    )
    screen = Screen(quiet=run.quiet, brief=brief)
    flags = how.flags() | run.flags() | {"history": False if no_history else None}
    with opened(screen, **flags) as engine:
        screen.keep_choices_in(engine.home.told)
        named = engine.dialogue(name=name, continue_last=go_on) if go_on or name is not None else None
        is_talk = named is not None and not question and source is None
        if is_talk and not (json or strict or pages or highlight):
            from ragscience.cli.chat import Chat

            return Chat(engine, request, named or engine.dialogue(), screen).run()
        from ragscience.cli.ask_command import ask_all

        asked = _one_of(question, source)
        return ask_all(engine, asked, request, screen=screen, as_json=json, dialogue=named, highlight=highlight)


@app.command()
@grouped
def search(
    *,
    question: Text = None,
    source: From = None,
    narrow: Narrow,
    pages: Pages = None,
    how: How,
    json: JsonEach = False,
    run: LoggedRun,
) -> int:
    """List the passages found for a question, best first."""
    from ragscience.cli.ask_command import search_all
    from ragscience.cli.screen import Screen
    from ragscience.engine.requests import SearchRequest

    filters = narrow.filters(pages)
    screen = Screen(quiet=run.quiet)
    flags = how.flags() | run.flags()
    with opened(screen, **flags) as engine:
        screen.keep_choices_in(engine.home.told)
        request = SearchRequest("", filters, top_k=narrow.k, graph_filter=how.graph_filter)
        return search_all(engine, _one_of(question, source), request, screen=screen, as_json=json)


@app.command()
@grouped
def chat(
    *,
    narrow: Narrow,
    how: How,
    go_on: GoOn = False,
    name: ChatName = None,
    no_history: NoHistory = False,
    agent: ByAgent = False,
    plain: Plain = False,
    brief: Brief = False,
    run: LoggedRun,
) -> int:
    """Open a chat: ask one question after the other.

    /help lists the chat's commands. Ctrl-C stops an answer, Ctrl-D leaves.
    """
    from ragscience.cli.chat import Chat
    from ragscience.cli.screen import Screen
    from ragscience.engine.requests import AskRequest

    filters = narrow.filters()
    screen = Screen(quiet=run.quiet, brief=brief)
    flags = how.flags() | run.flags() | {"history": False if no_history else None}
    with opened(screen, **flags) as engine:
        screen.keep_choices_in(engine.home.told)
        request = AskRequest("", filters, top_k=narrow.k, agent=agent, plain=plain, graph_filter=how.graph_filter)
        return Chat(engine, request, engine.dialogue(name=name, continue_last=go_on), screen).run()


@app.command("open")
def open_page(
    number: Annotated[int, typer.Argument(metavar="N", help="The source's number, as listed under the answer.")] = 1,
    answer: Annotated[
        str | None,
        typer.Option(
            "--answer", metavar="ID", help="The answer that has the source (the start of its id); default: the last."
        ),
    ] = None,
    link: Annotated[
        bool, typer.Option("--link", help="Print a link to it, for 15 minutes: of papers in a bucket (RAG_PAPERS).")
    ] = False,
    home: HomeFolder = None,
    debug: Debug = False,
) -> int:
    """Open a source of the last answer in a PDF viewer, at its page."""
    from ragscience.cli.open_command import open_source

    with opened(home=home) as engine:
        open_source(engine, engine.history.answer(answer or "").answer, number, link=link)
    return 0


@app.command("bib")
def write_bib(
    papers: AnyPapers = None,
    cited: Annotated[
        str | None,
        typer.Option("--cited", metavar="ID", help="Only papers that this answer cites: the start of its id, or last."),
    ] = None,
    csl: Annotated[bool, typer.Option("--csl", help="Write CSL-JSON, for Zotero, pandoc and others.")] = False,
    output: Output = None,
    home: HomeFolder = None,
    debug: Debug = False,
) -> int:
    """Write papers as BibTeX.

    If something about a paper is uncertain, its note field says so.
    """
    from ragscience.cli.open_command import show_bib
    from ragscience.engine.output_files import BIBTEX, CSL, check_form

    check_form(output, CSL if csl else BIBTEX)
    with opened(home=home) as engine:
        return show_bib(engine, papers or [], cited=cited, csl=csl, target=output)


@app.command("audit")
def audit_log(
    which: Annotated[
        str | None, typer.Argument(metavar="ID", help="The start of an answer's id.", show_default=False)
    ] = None,
    replay: Annotated[
        bool,
        typer.Option(
            "--replay", help="Ask it again with the same settings and show what differs; exit code 6 if anything does."
        ),
    ] = False,
    delete_all: Annotated[bool, typer.Option("--delete-all", help="Delete the whole log; asks first.")] = False,
    yes: Yes = False,
    limit: Limit = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object for each answer; docs/audit.md describes it.")
    ] = False,
    home: HomeFolder = None,
    offline: Offline = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> int:
    """Show how earlier answers were made.

    Without an id, the last answers are listed. `history delete` does not change this
    log; --delete-all deletes it. RAG_AUDIT=false turns it off.
    """
    from ragscience.cli import audit_view
    from ragscience.cli.screen import Screen

    if replay and which is None:
        raise UsageError("--replay needs the id of an answer.", "`python query.py audit` shows the last ones.")
    if delete_all and (replay or json or which is not None):
        raise UsageError("--delete-all deletes the whole log and shows nothing.", "Use it without other options.")
    with opened(None if quiet else Screen(quiet=False), home=home, offline=offline) as engine:
        if replay:
            return audit_view.replay_answer(engine, which or "", as_json=json)
        if delete_all:
            confirm("Deleting the whole audit log cannot be undone.", yes=yes)
            return audit_view.delete_all(engine)
        if which is not None:
            return audit_view.show_answer(engine, which, as_json=json)
        return audit_view.list_answers(engine, limit=limit, as_json=json)


@app.command("eval")
@grouped
def evaluate(
    *,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE", help="Questions with known answers, one JSON object per line.", show_default=False
        ),
    ] = None,
    mode: Annotated[
        str,
        typer.Option(
            "--mode",
            metavar="MODE",
            help="How to answer: ask, agent, corrective, graph, a profile (deep), or both (agent+deep).",
        ),
    ] = "ask",
    against: Annotated[
        str | None,
        typer.Option("--against", metavar="MODE", help="Also run this mode, and compare the two question by question."),
    ] = None,
    judge: Annotated[
        bool, typer.Option("--judge", help="Also let the chat model judge the answers (with ragas); slow.")
    ] = False,
    make: Annotated[
        int | None,
        typer.Option(
            "--make",
            metavar="N",
            help="Draft N questions from the papers instead of running an evaluation.",
            min=1,
            max=1000,
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Where --make writes; default: stdout.")
    ] = None,
    narrow: Narrow,
    ranking: Ranking,
    json: Json = False,
    md: Annotated[
        Path | None, typer.Option("--md", metavar="OUT.md", help="Write the results to this file, as Markdown.")
    ] = None,
    run: Run,
) -> int:
    """Evaluate answers to questions whose answers are known.

    --against compares two modes; --make drafts questions.
    """
    from ragscience.cli.evaluation_view import EvalOutput, EvalScreen, run_drafting, run_eval
    from ragscience.engine.eval_runs import EvalRequest, modes_of
    from ragscience.engine.output_files import JSON_LINES, MARKDOWN, check_form

    if (file is None) == (make is None):
        raise UsageError(
            "Give either a file of questions or --make.", "To draft questions: `python query.py eval --make 20`."
        )
    if file is None and (against or judge or json or md):
        raise UsageError(
            "--against, --judge, --json and --md need a file of questions.", "Use --make alone, or with --out."
        )
    if file is not None and out is not None:
        raise UsageError("--out is only for --make.", "To save the results, use --md OUT.md or --json.")
    check_form(md, MARKDOWN)
    check_form(out, JSON_LINES)
    filters, modes = narrow.filters(), modes_of(mode, against)
    screen = EvalScreen(quiet=run.quiet)
    with opened(screen, **ranking.flags(), **run.flags(), history=False) as engine:
        screen.keep_choices_in(engine.home.told)
        if file is None:
            return run_drafting(engine, make or 0, filters.papers, out, screen)
        request = EvalRequest(filters=filters, top_k=narrow.k, judge=judge)
        return run_eval(engine, file, modes, request, EvalOutput(screen, as_json=json, markdown=md))


@app.command("profiles")
def list_profiles(
    home: HomeFolder = None,
    json: Json = False,
    debug: Debug = False,
) -> int:
    """List the search profiles, for --profile."""
    from ragscience.cli.model_views import show_profiles

    with opened(home=home) as engine:
        return show_profiles(engine, as_json=json)


def _one_of(question: list[str] | None, source: str | None) -> tuple[str | None, str | None]:
    if bool(question) == (source is not None):
        raise UsageError(
            "Give either a question or --from.",
            'To ask one question: `python query.py "…"`. To chat: `python query.py`.',
        )
    return " ".join(question) if question else None, source
