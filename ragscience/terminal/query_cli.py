"""The commands of `query.py`: questions, passages, conversations, measures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragscience.errors import UsageError
from ragscience.terminal.cli import Debug, HomeFolder, Offline, Quiet, make_app, opened, page_range, settings_of
from ragscience.terminal.config_commands import config_app
from ragscience.terminal.graph_commands import graph_app
from ragscience.terminal.history_commands import history_app, models_app
from ragscience.terminal.options import (
    Authors,
    Budget,
    ByAgent,
    ChatName,
    Corrective,
    From,
    GoOn,
    Graph,
    GraphFilter,
    Highlight,
    Json,
    Kinds,
    Limit,
    LogTo,
    MetricsTo,
    NoHistory,
    Output,
    Pages,
    Papers,
    ProfileName,
    Rerank,
    Reranker,
    Sections,
    Text,
    Wanted,
    Years,
)

if TYPE_CHECKING:
    from ragscience.records import Filters
    from ragscience.terminal.session import Session

app = make_app(
    "Ask questions of your papers. A question alone is answered once; nothing at all opens the chat.",
    default="ask",
    bare="chat",
)
app.add_typer(graph_app)
app.add_typer(models_app, name="models")
app.add_typer(history_app, name="history")
app.add_typer(config_app, name="config")


@app.command()
def ask(
    question: Text = None,
    source: From = None,
    k: Wanted = None,
    paper: Papers = None,
    pages: Pages = None,
    section: Sections = None,
    kind: Kinds = None,
    year: Years = None,
    author: Authors = None,
    profile: ProfileName = None,
    no_rerank: Rerank = False,
    reranker: Reranker = None,
    rerank_budget_ms: Budget = None,
    json: Json = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 4 when nothing was found.")] = False,
    go_on: GoOn = False,
    name: ChatName = None,
    no_history: NoHistory = False,
    agent: ByAgent = False,
    corrective: Corrective = None,
    graph: Graph = None,
    graph_filter: GraphFilter = False,
    highlight: Highlight = None,
    log: LogTo = None,
    metrics: MetricsTo = None,
    home: HomeFolder = None,
    offline: Offline = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> int:
    """Answer a question from the papers, with a page behind each fact (the default command).

    With --continue or --chat and no question it is the chat.
    """
    from ragscience.engine.requests import AskRequest
    from ragscience.terminal.screen import Screen

    filters = _filters(paper, pages, section, kind, year, author)
    request = AskRequest("", filters, top_k=k, strict=strict, agent=agent)
    screen = Screen(quiet=quiet)
    flags = _search_flags(profile, _rerank(no_rerank, reranker), rerank_budget_ms, graph, graph_filter)
    flags |= _run_flags(home, offline, no_history, log, metrics)
    with opened(screen, corrective=_switch(corrective), **flags) as engine:
        named = engine.dialogue(name=name, continue_last=go_on) if go_on or name is not None else None
        is_talk = named is not None and question is None and source is None
        if is_talk and not (json or strict or pages or highlight):
            from ragscience.terminal.chat import Chat

            return Chat(engine, request, named or engine.dialogue(), screen).run()
        from ragscience.terminal.ask_command import ask_all

        asked = _one_of(question, source)
        return ask_all(engine, asked, request, screen=screen, as_json=json, dialogue=named, highlight=highlight)


@app.command()
def search(
    question: Text = None,
    source: From = None,
    k: Wanted = None,
    paper: Papers = None,
    pages: Pages = None,
    section: Sections = None,
    kind: Kinds = None,
    year: Years = None,
    author: Authors = None,
    profile: ProfileName = None,
    no_rerank: Rerank = False,
    reranker: Reranker = None,
    rerank_budget_ms: Budget = None,
    graph: Graph = None,
    graph_filter: GraphFilter = False,
    json: Json = False,
    log: LogTo = None,
    metrics: MetricsTo = None,
    home: HomeFolder = None,
    offline: Offline = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> int:
    """Show the ranked passages for a question, without an LLM."""
    from ragscience.engine.requests import SearchRequest
    from ragscience.terminal.ask_command import search_all
    from ragscience.terminal.screen import Screen

    filters = _filters(paper, pages, section, kind, year, author)
    screen = Screen(quiet=quiet)
    flags = _search_flags(profile, _rerank(no_rerank, reranker), rerank_budget_ms, graph, graph_filter)
    flags |= _run_flags(home, offline, False, log, metrics)
    with opened(screen, **flags) as engine:
        request = SearchRequest("", filters, top_k=k)
        return search_all(engine, _one_of(question, source), request, screen=screen, as_json=json)


@app.command()
def chat(
    k: Wanted = None,
    paper: Papers = None,
    section: Sections = None,
    kind: Kinds = None,
    year: Years = None,
    author: Authors = None,
    profile: ProfileName = None,
    no_rerank: Rerank = False,
    reranker: Reranker = None,
    rerank_budget_ms: Budget = None,
    go_on: GoOn = False,
    name: ChatName = None,
    no_history: NoHistory = False,
    agent: ByAgent = False,
    graph: Graph = None,
    graph_filter: GraphFilter = False,
    log: LogTo = None,
    metrics: MetricsTo = None,
    home: HomeFolder = None,
    offline: Offline = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> int:
    """Talk with the papers; /help lists what else can be typed. Ctrl-C stops an answer, Ctrl-D leaves."""
    from ragscience.engine.requests import AskRequest
    from ragscience.terminal.chat import Chat
    from ragscience.terminal.screen import Screen

    filters = _filters(paper, None, section, kind, year, author)
    screen = Screen(quiet=quiet)
    flags = _search_flags(profile, _rerank(no_rerank, reranker), rerank_budget_ms, graph, graph_filter)
    flags |= _run_flags(home, offline, no_history, log, metrics)
    with opened(screen, **flags) as engine:
        request = AskRequest("", filters, top_k=k, agent=agent)
        return Chat(engine, request, engine.dialogue(name=name, continue_last=go_on), screen).run()


@app.command("open")
def open_page(
    number: Annotated[int, typer.Argument(metavar="[N]", help="Of the source, as it is listed under the answer.")] = 1,
    answer: Annotated[
        str | None,
        typer.Option("--answer", metavar="ID", help="Of this answer (the beginning of its id), not the last."),
    ] = None,
    home: HomeFolder = None,
    debug: Debug = False,
) -> int:
    """Open the PDF behind a source of the last answer, at its page."""
    from ragscience.terminal.open_command import open_source

    with opened(home=home) as engine:
        open_source(engine.history.answer(answer or "").answer, number, viewer=engine.settings.pdf_viewer)
    return 0


@app.command("bib")
def write_bib(
    papers: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PAPER]...",
            help="By the name that `ingest.py list` shows, the path or the MD5; all papers without one.",
            show_default=False,
        ),
    ] = None,
    cited: Annotated[
        str | None,
        typer.Option("--cited", metavar="ID", help="Those that this answer cites (the beginning of its id), or last."),
    ] = None,
    csl: Annotated[bool, typer.Option("--csl", help="As CSL-JSON, for Zotero, pandoc and the like.")] = False,
    output: Output = None,
    home: HomeFolder = None,
    debug: Debug = False,
) -> int:
    """Write papers as BibTeX; what is uncertain about one is said in its note."""
    from ragscience.terminal.open_command import show_bib

    with opened(home=home) as engine:
        return show_bib(engine, papers or [], cited=cited, csl=csl, target=output)


@app.command("audit")
def audit_log(
    which: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="The beginning of an answer's id.", show_default=False)
    ] = None,
    replay: Annotated[
        bool, typer.Option("--replay", help="Ask it again in the same way, and say what differs; exit 6 if it does.")
    ] = False,
    delete_all: Annotated[
        bool, typer.Option("--delete-all", help="Delete the whole log; it cannot be brought back.")
    ] = False,
    limit: Limit = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout; see docs/audit.md.")] = False,
    home: HomeFolder = None,
    offline: Offline = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> int:
    """Show the last answers of vectorstore/audit.jsonl, or all that one of them was made from.

    `history delete` takes nothing out of this log: --delete-all does. RAG_AUDIT=false keeps none.
    """
    from ragscience.terminal import audit_view
    from ragscience.terminal.screen import Screen

    if replay and which is None:
        raise UsageError("--replay needs the id of an answer.", "`python query.py audit` shows the last ones.")
    if delete_all and (replay or json or which is not None):
        raise UsageError("--delete-all deletes the whole log and shows nothing.", "Give it alone.")
    with opened(None if quiet else Screen(quiet=False), home=home, offline=offline) as engine:
        if replay:
            return audit_view.replay_answer(engine, which or "", as_json=json)
        if delete_all:
            return audit_view.delete_all(engine)
        if which is not None:
            return audit_view.show_answer(engine, which, as_json=json)
        return audit_view.list_answers(engine, limit=limit, as_json=json)


@app.command("eval")
def evaluate(
    file: Annotated[
        Path | None,
        typer.Argument(help="Questions with known answers, one JSON object a line.", show_default=False),
    ] = None,
    mode: Annotated[
        str,
        typer.Option(
            "--mode",
            metavar="MODE",
            help="How to ask: ask, agent, corrective, graph, a profile (deep), or both (agent+deep).",
        ),
    ] = "ask",
    against: Annotated[
        str | None,
        typer.Option("--against", metavar="MODE", help="Ask in this mode too, and compare question by question."),
    ] = None,
    judge: Annotated[
        bool, typer.Option("--judge", help="Let the chat model judge the answers, through ragas; slow.")
    ] = False,
    make: Annotated[
        int | None,
        typer.Option("--make", metavar="N", help="Draft N questions from the papers instead.", min=1, max=1000),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Where --make writes; stdout without it.")
    ] = None,
    k: Wanted = None,
    paper: Papers = None,
    section: Sections = None,
    kind: Kinds = None,
    year: Years = None,
    author: Authors = None,
    profile: ProfileName = None,
    no_rerank: Rerank = False,
    reranker: Reranker = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout; see docs/json.md.")] = False,
    md: Annotated[
        Path | None, typer.Option("--md", metavar="OUT.md", help="Write the measures to this file, as Markdown.")
    ] = None,
    home: HomeFolder = None,
    offline: Offline = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> int:
    """Ask questions whose answers are known, and show how many are found, answered and cited right.

    With --against a second way of asking is compared with the first; with --make questions are drafted.
    """
    from ragscience.terminal.modes import Mode, modes_of

    rerank, papers = _rerank(no_rerank, reranker), tuple(paper or ())
    filters = _filters(paper, None, section, kind, year, author)

    def opened(mode: Mode | None) -> Session:
        named = mode.profile if mode is not None else None
        graph = True if mode is not None and mode.way == "graph" else None
        return _session(home, offline, quiet, k, named or profile, rerank, None, no_history=True, graph=graph)

    if (file is None) == (make is None):
        raise UsageError("Give either a file of questions or --make.", "To draft some: query.py eval --make 20")
    if file is None:
        if against or judge or json or md:
            raise UsageError("--against, --judge, --json and --md measure a file.", "Take --make alone, or with --out.")
        from ragscience.terminal.draft_command import make_questions

        with opened(None) as session:
            return make_questions(session, make or 0, papers=papers, target=out)
    if out is not None:
        raise UsageError("--out is where --make writes.", "For the measures take --md OUT.md, or --json.")
    from ragscience.terminal.evaluating import evaluate_all

    modes = modes_of(mode, against)
    return evaluate_all(
        opened, file, modes=modes, filters=filters, as_one_json=json, markdown=md, judge=judge, quiet=quiet
    )


@app.command("profiles")
def list_profiles(
    home: HomeFolder = None,
    json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
    debug: Debug = False,
) -> int:
    """Show the ways to search (--profile), and what each does."""
    from ragscience.terminal.model_views import show_profiles

    with opened(home=home) as engine:
        return show_profiles(engine, as_json=json)


def _session(
    home: Path | None,
    offline: bool | None,
    quiet: bool,
    k: int | None,
    profile: str | None,
    rerank: str | None,
    rerank_budget_ms: int | None,
    no_history: bool = False,
    corrective: bool | None = None,
    graph: bool | None = None,
    graph_filter: bool = False,
    log: Path | None = None,
    metrics: Path | None = None,
) -> Session:
    from ragscience.terminal.session import Session

    settings = settings_of(
        home=home,
        offline=offline,
        profile=profile,
        rerank=rerank,
        rerank_budget_ms=rerank_budget_ms,
        history=False if no_history else None,
        corrective=None if corrective is None else "on" if corrective else "off",
        graph=None if graph is None else "on" if graph else "off",
        graph_filter=graph_filter or None,
        log_file=None if log is None else str(log),
        metrics_file=None if metrics is None else str(metrics),
    )
    return Session(settings, quiet=quiet, wanted=k)


def _search_flags(
    profile: str | None, rerank: str | None, budget_ms: int | None, graph: bool | None, graph_filter: bool
) -> dict[str, object]:
    """The settings that the options of a search replace."""
    return {
        "profile": profile,
        "rerank": rerank,
        "rerank_budget_ms": budget_ms,
        "graph": _switch(graph),
        "graph_filter": graph_filter or None,
    }


def _run_flags(
    home: Path | None, offline: bool | None, no_history: bool, log: Path | None, metrics: Path | None
) -> dict[str, object]:
    """The settings that the other options of a question replace."""
    return {
        "home": home,
        "offline": offline,
        "history": False if no_history else None,
        "log_file": None if log is None else str(log),
        "metrics_file": None if metrics is None else str(metrics),
    }


def _switch(value: bool | None) -> str | None:
    return None if value is None else "on" if value else "off"


def _rerank(no_rerank: bool, reranker: str | None) -> str | None:
    if no_rerank and reranker not in (None, "off"):
        raise UsageError(f"--no-rerank and --reranker {reranker} contradict each other.", "Give one of them.")
    return "off" if no_rerank else reranker


def _filters(
    papers: list[str] | None,
    pages: str | None,
    sections: list[str] | None,
    kinds: list[str] | None,
    years: str | None,
    authors: list[str] | None,
) -> Filters:
    from ragscience.engine.filter_words import filters_of

    return filters_of(
        papers=papers, pages=page_range(pages), sections=sections, kinds=kinds, years=years, authors=authors
    )


def _one_of(question: str | None, source: str | None) -> tuple[str | None, str | None]:
    if (question is None) == (source is None):
        raise UsageError(
            "Give either a question or --from.", 'For one: python query.py "…"; for a chat: python query.py'
        )
    return question, source
