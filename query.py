"""Answers out: `python query.py "question"` answers once, `python query.py` alone is a chat."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragscience.errors import UsageError
from ragscience.terminal.door import Debug, HomeFolder, Offline, Quiet, make_app, page_range, run_door

if TYPE_CHECKING:
    from config import Settings
    from ragscience.terminal.session import Session

app = make_app(
    "Ask questions of your papers. A question alone is answered once; nothing at all opens the chat.",
    default="ask",
    bare="chat",
)
models_app = make_app("What each part would use, and where it is.", default="list", bare="list")
app.add_typer(models_app, name="models")

Text = Annotated[str | None, typer.Argument(help="The question, in quotes.", show_default=False)]
From = Annotated[
    str | None, typer.Option("--from", help="Questions, one a line (text or JSON), from a file or - for stdin.")
]
Wanted = Annotated[int | None, typer.Option("-k", help="How many passages.", min=1, max=1000)]
Papers = Annotated[
    list[str] | None, typer.Option("--paper", help="Only papers of this name (part or pattern); repeatable.")
]
Pages = Annotated[str | None, typer.Option("--pages", help="Only these pages: 3 or 3-9.")]
ProfileName = Annotated[str | None, typer.Option("--profile", help="How to search: default, rrf or balanced.")]
Rerank = Annotated[bool, typer.Option("--no-rerank", help="Keep the order of the first pass.")]
Budget = Annotated[
    int | None, typer.Option("--rerank-budget-ms", help="Time that the cross-encoder may take; 0: no limit.", min=0)
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object a question on stdout; see docs/json.md.")]


@app.command()
def ask(
    question: Text = None,
    source: From = None,
    k: Wanted = None,
    paper: Papers = None,
    pages: Pages = None,
    profile: ProfileName = None,
    no_rerank: Rerank = False,
    rerank_budget_ms: Budget = None,
    json: Json = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 4 when nothing was found.")] = False,
    home: HomeFolder = None,
    offline: Offline = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> int:
    """Answer a question from the papers, with a page behind each fact (the default command)."""
    from ragscience.terminal.asking import ask_all

    with _session(home, offline, quiet, k, profile, no_rerank, rerank_budget_ms) as session:
        return ask_all(
            session,
            _one_of(question, source),
            papers=tuple(paper or ()),
            pages=page_range(pages),
            as_json=json,
            strict=strict,
        )


@app.command()
def search(
    question: Text = None,
    source: From = None,
    k: Wanted = None,
    paper: Papers = None,
    pages: Pages = None,
    profile: ProfileName = None,
    no_rerank: Rerank = False,
    rerank_budget_ms: Budget = None,
    json: Json = False,
    home: HomeFolder = None,
    offline: Offline = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> int:
    """Show the ranked passages for a question, without an LLM."""
    from ragscience.terminal.asking import search_all

    with _session(home, offline, quiet, k, profile, no_rerank, rerank_budget_ms) as session:
        return search_all(
            session, _one_of(question, source), papers=tuple(paper or ()), pages=page_range(pages), as_json=json
        )


@app.command()
def chat(
    k: Wanted = None,
    paper: Papers = None,
    profile: ProfileName = None,
    no_rerank: Rerank = False,
    rerank_budget_ms: Budget = None,
    home: HomeFolder = None,
    offline: Offline = None,
    quiet: Quiet = False,
    debug: Debug = False,
) -> int:
    """Talk with the papers; /help lists what else can be typed. Ctrl-C stops an answer, Ctrl-D leaves."""
    from ragscience.terminal.chat import Chat

    with _session(home, offline, quiet, k, profile, no_rerank, rerank_budget_ms) as session:
        return Chat(session, papers=tuple(paper or ())).run()


@models_app.command("list")
def list_models(home: HomeFolder = None, offline: Offline = None, json: Json = False, debug: Debug = False) -> int:
    """Show what each part would use, where its files are and why."""
    from ragscience.terminal.models_of import show_models

    return show_models(_settings(home=home, offline=offline), as_json=json)


@models_app.command()
def pull(home: HomeFolder = None, offline: Offline = None, quiet: Quiet = False, debug: Debug = False) -> int:
    """Fetch what is missing: the cross-encoder from the hub, Ollama's models through Ollama."""
    from ragscience.terminal.models_of import pull_models

    return pull_models(_settings(home=home, offline=offline), quiet=quiet)


def _session(
    home: Path | None,
    offline: bool | None,
    quiet: bool,
    k: int | None,
    profile: str | None,
    no_rerank: bool,
    rerank_budget_ms: int | None,
) -> Session:
    from ragscience.terminal.session import Session

    settings = _settings(
        home=home,
        offline=offline,
        profile=profile,
        rerank="off" if no_rerank else None,
        rerank_budget_ms=rerank_budget_ms,
    )
    return Session(settings, quiet=quiet, wanted=k)


def _one_of(question: str | None, source: str | None) -> tuple[str | None, str | None]:
    if (question is None) == (source is None):
        raise UsageError(
            "Give either a question or --from.", 'For one: python query.py "…"; for a chat: python query.py'
        )
    return question, source


def _settings(**flags: object) -> Settings:
    from config import load_settings

    return load_settings(**flags)


if __name__ == "__main__":
    run_door(app)
