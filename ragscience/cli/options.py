"""The arguments and options that several commands of `query.py` share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ragscience.cli.completion import chats, kinds, papers, profiles, rerankers

LIBRARY, SEARCH, TALK, OUTPUT = "Which part of the library", "How to search", "Conversation", "Output"
"""Headings of options in the help; RUN is another."""

Text = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="QUESTION",
        help="The question. Put quotes around it if it contains a ? * ' or (.",
        show_default=False,
    ),
]
From = Annotated[
    str | None,
    typer.Option("--from", metavar="FILE", help="A file of questions, one per line (text or JSON); - for stdin."),
]
Wanted = Annotated[
    int | None,
    typer.Option("-k", metavar="N", help="How many passages to use.", min=1, max=1000, rich_help_panel=LIBRARY),
]
Papers = Annotated[
    list[str] | None,
    typer.Option(
        "--paper",
        metavar="PAPER",
        help="Only papers with this name (a part of it or a pattern); repeatable.",
        autocompletion=papers,
        rich_help_panel=LIBRARY,
    ),
]
Pages = Annotated[
    str | None,
    typer.Option("--pages", metavar="PAGES", help="Only these pages: 3 or 3-9.", rich_help_panel=LIBRARY),
]
Sections = Annotated[
    list[str] | None,
    typer.Option(
        "--section",
        metavar="TEXT",
        help="Only sections with this text in their heading; repeatable.",
        rich_help_panel=LIBRARY,
    ),
]
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        metavar="KIND",
        help="Only passages of this kind: text, abstract, table, caption, equation, footnote, reference or all;"
        " repeatable. References are searched only with reference or all.",
        autocompletion=kinds,
        rich_help_panel=LIBRARY,
    ),
]
Years = Annotated[
    str | None,
    typer.Option(
        "--year",
        metavar="YEAR",
        help="Only papers from this year (2017) or range (2015-2020).",
        rich_help_panel=LIBRARY,
    ),
]
Authors = Annotated[
    list[str] | None,
    typer.Option(
        "--author",
        metavar="NAME",
        help="Only papers by this author (part of the name is enough); repeatable.",
        rich_help_panel=LIBRARY,
    ),
]
ProfileName = Annotated[
    str | None,
    typer.Option(
        "--profile",
        metavar="NAME",
        help="How to search: default, rrf, even, deep or balanced. `python query.py profiles` explains them.",
        autocompletion=profiles,
        rich_help_panel=SEARCH,
    ),
]
Rerank = Annotated[bool, typer.Option("--no-rerank", help="Do not rerank.", rich_help_panel=SEARCH)]
Reranker = Annotated[
    str | None,
    typer.Option(
        "--reranker",
        metavar="WHO",
        help="Reranker: auto, cross-encoder, late-interaction, llm (the chat model) or off.",
        autocompletion=rerankers,
        rich_help_panel=SEARCH,
    ),
]
Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object; docs/json.md describes it.", rich_help_panel=OUTPUT)
]
JsonEach = Annotated[
    bool,
    typer.Option(
        "--json", help="Print one JSON object for each question; docs/json.md describes it.", rich_help_panel=OUTPUT
    ),
]

_PAPER: dict[str, Any] = {"metavar": "PAPER", "show_default": False, "autocompletion": papers}
_NAMED = "Part of the file name or title, a pattern with *, the name of the paper's method, a path or an MD5."
OnePaper = Annotated[str, typer.Argument(help=_NAMED, **_PAPER)]
SomePapers = Annotated[list[str], typer.Argument(help=_NAMED, **_PAPER)]
AnyPapers = Annotated[list[str] | None, typer.Argument(help=f"{_NAMED} Default: all papers.", **_PAPER)]

GoOn = Annotated[bool, typer.Option("--continue", "-c", help="Continue the last conversation.", rich_help_panel=TALK)]
ChatName = Annotated[
    str | None,
    typer.Option(
        "--chat",
        metavar="NAME",
        help="Continue the conversation with this name, or start it.",
        autocompletion=chats,
        rich_help_panel=TALK,
    ),
]
NoHistory = Annotated[bool, typer.Option("--no-history", help="Do not save this conversation.", rich_help_panel=TALK)]
ByAgent = Annotated[
    bool,
    typer.Option(
        "--agent",
        help="Answer in several steps, shown as they happen: sub-questions, drafts, a check of each draft.",
        rich_help_panel=SEARCH,
    ),
]
Corrective = Annotated[
    bool | None,
    typer.Option(
        "--corrective/--no-corrective",
        help="Judge the passages found, and search again in other words if they are doubtful. On in profile even.",
        show_default=False,
        rich_help_panel=SEARCH,
    ),
]
Plain = Annotated[
    bool,
    typer.Option(
        "--plain",
        help="Always search once and answer from the passages found: no summaries, lists or counts.",
        rich_help_panel=SEARCH,
    ),
]
Strict = Annotated[
    bool, typer.Option("--strict", help="Exit with code 4 if nothing was found.", rich_help_panel=OUTPUT)
]
Brief = Annotated[
    bool,
    typer.Option(
        "--brief",
        help="Answer in one line: the best quote, its page and the confidence.",
        rich_help_panel=OUTPUT,
    ),
]
Graph = Annotated[
    bool | None,
    typer.Option(
        "--graph/--no-graph",
        help="Also search the knowledge graph (`python ingest.py graph` makes it). On in profile deep.",
        show_default=False,
        rich_help_panel=SEARCH,
    ),
]
GraphFilter = Annotated[
    bool,
    typer.Option(
        "--graph-filter",
        help="Only papers that mention entities near the question in the knowledge graph.",
        rich_help_panel=LIBRARY,
    ),
]
Highlight = Annotated[
    Path | None,
    typer.Option(
        "--highlight",
        metavar="OUT.pdf",
        help="Write the cited pages to this PDF, with the quotes marked.",
        rich_help_panel=OUTPUT,
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "-o", "--output", metavar="FILE", help="Write to this file instead of stdout.", rich_help_panel=OUTPUT
    ),
]
LogTo = Annotated[
    Path | None,
    typer.Option("--log", metavar="FILE", help="Append one line per question to this file.", rich_help_panel=OUTPUT),
]
MetricsTo = Annotated[
    Path | None,
    typer.Option(
        "--metrics",
        metavar="FILE",
        help="Add counts and times to this file, for Prometheus.",
        rich_help_panel=OUTPUT,
    ),
]
Limit = Annotated[
    int | None, typer.Option("-n", metavar="N", help="How many lines to show.", min=1, show_default=False)
]
Which = Annotated[
    str | None,
    typer.Argument(
        metavar="ID",
        help="A conversation's number or name, or the start of an answer's id.",
        show_default=False,
        autocompletion=chats,
    ),
]
