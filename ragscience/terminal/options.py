"""The arguments and options that several commands of `query.py` share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ragscience.terminal.completion import chats, kinds, papers, profiles, rerankers

LIBRARY, SEARCH, TALK, OUTPUT = "Which part of the library", "How to search", "Conversation", "Output"
"""Headings of options in the help; RUN is another."""

Text = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="QUESTION",
        help="The question. Quotes around it are needed where it has one of ? * ' ( in it.",
        show_default=False,
    ),
]
From = Annotated[
    str | None,
    typer.Option("--from", metavar="FILE", help="Questions, one a line (text or JSON), from a file or - for stdin."),
]
Wanted = Annotated[
    int | None, typer.Option("-k", metavar="N", help="How many passages.", min=1, max=1000, rich_help_panel=LIBRARY)
]
Papers = Annotated[
    list[str] | None,
    typer.Option(
        "--paper",
        metavar="PAPER",
        help="Only papers of this name (a part or a pattern); repeatable.",
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
        help="Only under headings with this in their name; repeatable.",
        rich_help_panel=LIBRARY,
    ),
]
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        metavar="KIND",
        help="Only passages of this kind: text, abstract, table, caption, equation, footnote, reference or all;"
        " repeatable. References are found with reference or all alone.",
        autocompletion=kinds,
        rich_help_panel=LIBRARY,
    ),
]
Years = Annotated[
    str | None,
    typer.Option(
        "--year", metavar="YEAR", help="Only papers of this year, or of these: 2015-2020.", rich_help_panel=LIBRARY
    ),
]
Authors = Annotated[
    list[str] | None,
    typer.Option(
        "--author",
        metavar="NAME",
        help="Only papers by someone of this name (a part will do); repeatable.",
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
Rerank = Annotated[bool, typer.Option("--no-rerank", help="Keep the order of the first pass.", rich_help_panel=SEARCH)]
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
Budget = Annotated[
    int | None,
    typer.Option(
        "--rerank-budget-ms",
        metavar="MS",
        help="Milliseconds that the cross-encoder may take; 0 is no limit.",
        min=0,
        rich_help_panel=SEARCH,
    ),
]
Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object; docs/json.md shows it.", rich_help_panel=OUTPUT)
]
JsonEach = Annotated[
    bool,
    typer.Option(
        "--json", help="Print one JSON object for each question; docs/json.md shows it.", rich_help_panel=OUTPUT
    ),
]

_PAPER: dict[str, Any] = {"metavar": "PAPER", "show_default": False, "autocompletion": papers}
_NAMED = "Part of the file's name or the title, a pattern with *, what the paper calls itself, a path or an MD5."
OnePaper = Annotated[str, typer.Argument(help=_NAMED, **_PAPER)]
SomePapers = Annotated[list[str], typer.Argument(help=_NAMED, **_PAPER)]
AnyPapers = Annotated[list[str] | None, typer.Argument(help=f"{_NAMED} Without one: all papers.", **_PAPER)]

GoOn = Annotated[bool, typer.Option("--continue", "-c", help="Continue the last conversation.", rich_help_panel=TALK)]
ChatName = Annotated[
    str | None,
    typer.Option(
        "--chat",
        metavar="NAME",
        help="Continue the conversation of this name, or begin it.",
        autocompletion=chats,
        rich_help_panel=TALK,
    ),
]
NoHistory = Annotated[bool, typer.Option("--no-history", help="Do not save this conversation.", rich_help_panel=TALK)]
ByAgent = Annotated[
    bool,
    typer.Option(
        "--agent",
        help="Answer in several steps: sub-queries, drafts, a second look. They are shown as they come.",
        rich_help_panel=SEARCH,
    ),
]
Corrective = Annotated[
    bool | None,
    typer.Option(
        "--corrective/--no-corrective",
        help="Judge what was found, and search again in other words where it is doubtful. On in the profile even.",
        show_default=False,
        rich_help_panel=SEARCH,
    ),
]
Plain = Annotated[
    bool,
    typer.Option(
        "--plain",
        help="Make one search and quote from it, whatever is asked: no summaries, lists or counts.",
        rich_help_panel=SEARCH,
    ),
]
Strict = Annotated[bool, typer.Option("--strict", help="Exit with 4 when nothing was found.", rich_help_panel=OUTPUT)]
Brief = Annotated[
    bool,
    typer.Option(
        "--brief",
        help="Answer in one line: the best quote, its page, how sure it is.",
        rich_help_panel=OUTPUT,
    ),
]
Graph = Annotated[
    bool | None,
    typer.Option(
        "--graph/--no-graph",
        help="Ask the knowledge graph, too (`python ingest.py graph` makes it). On in the profile deep.",
        show_default=False,
        rich_help_panel=SEARCH,
    ),
]
GraphFilter = Annotated[
    bool,
    typer.Option(
        "--graph-filter",
        help="Only papers that mention what the graph has near the question.",
        rich_help_panel=LIBRARY,
    ),
]
Highlight = Annotated[
    Path | None,
    typer.Option(
        "--highlight",
        metavar="OUT.pdf",
        help="Write the cited pages to this file, the quotes marked.",
        rich_help_panel=OUTPUT,
    ),
]
Output = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="FILE", help="Write to this file, not to stdout.", rich_help_panel=OUTPUT),
]
LogTo = Annotated[
    Path | None,
    typer.Option(
        "--log", metavar="FILE", help="Append a line about each question to this file.", rich_help_panel=OUTPUT
    ),
]
MetricsTo = Annotated[
    Path | None,
    typer.Option(
        "--metrics",
        metavar="FILE",
        help="Add what is counted and timed to this file, for Prometheus.",
        rich_help_panel=OUTPUT,
    ),
]
Limit = Annotated[int | None, typer.Option("-n", metavar="N", help="How many lines.", min=1, show_default=False)]
Which = Annotated[
    str | None,
    typer.Argument(
        metavar="ID",
        help="A conversation's number or name, or the beginning of an answer's id.",
        show_default=False,
        autocompletion=chats,
    ),
]
