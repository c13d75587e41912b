"""What can be said on the command line of more than one command of `query.py`, for Typer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "Authors",
    "Budget",
    "ByAgent",
    "ChatName",
    "Corrective",
    "From",
    "GoOn",
    "Graph",
    "GraphFilter",
    "Highlight",
    "Json",
    "Kinds",
    "Limit",
    "LogTo",
    "MetricsTo",
    "NoHistory",
    "Output",
    "Pages",
    "Papers",
    "ProfileName",
    "Rerank",
    "Reranker",
    "Sections",
    "Text",
    "Wanted",
    "Which",
    "Years",
]

Text = Annotated[str | None, typer.Argument(help="The question, in quotes.", show_default=False)]
From = Annotated[
    str | None, typer.Option("--from", help="Questions, one a line (text or JSON), from a file or - for stdin.")
]
Wanted = Annotated[int | None, typer.Option("-k", help="How many passages.", min=1, max=1000)]
Papers = Annotated[
    list[str] | None, typer.Option("--paper", help="Only papers of this name (part or pattern); repeatable.")
]
Pages = Annotated[str | None, typer.Option("--pages", help="Only these pages: 3 or 3-9.")]
Sections = Annotated[
    list[str] | None,
    typer.Option("--section", metavar="TEXT", help="Only under headings with this in their name; repeatable."),
]
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        metavar="KIND",
        help="Only passages of this kind: text, abstract, table, caption, equation, footnote, reference or all;"
        " repeatable. References are found with reference or all alone.",
    ),
]
Years = Annotated[
    str | None, typer.Option("--year", metavar="YEAR", help="Only papers of this year, or of these: 2015-2020.")
]
Authors = Annotated[
    list[str] | None,
    typer.Option("--author", metavar="NAME", help="Only papers by someone of this name (a part will do); repeatable."),
]
ProfileName = Annotated[
    str | None, typer.Option("--profile", metavar="NAME", help="How to search; `profiles` lists the ways.")
]
Rerank = Annotated[bool, typer.Option("--no-rerank", help="Keep the order of the first pass.")]
Reranker = Annotated[
    str | None,
    typer.Option(
        "--reranker",
        metavar="WHO",
        help="Who reads the passages again: auto, cross-encoder, late-interaction, llm (the chat model) or off.",
    ),
]
Budget = Annotated[
    int | None, typer.Option("--rerank-budget-ms", help="Time that the cross-encoder may take; 0: no limit.", min=0)
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object a question on stdout; see docs/json.md.")]

GoOn = Annotated[bool, typer.Option("--continue", "-c", help="Go on with the last conversation.")]
ChatName = Annotated[
    str | None, typer.Option("--chat", metavar="NAME", help="Go on with the conversation of this name, or begin it.")
]
NoHistory = Annotated[bool, typer.Option("--no-history", help="Keep nothing of this.")]
ByAgent = Annotated[
    bool,
    typer.Option("--agent", help="Answer in several steps: sub-queries, drafts, a second look; shown as they come."),
]
Corrective = Annotated[
    bool | None,
    typer.Option(
        "--corrective/--no-corrective",
        help="Judge what was found, and search again in other words where it is doubtful; on in the profile even.",
        show_default=False,
    ),
]
Graph = Annotated[
    bool | None,
    typer.Option(
        "--graph/--no-graph",
        help="Ask the knowledge graph, too (`ingest.py graph` makes it); the profile deep does where there is one.",
        show_default=False,
    ),
]
GraphFilter = Annotated[
    bool, typer.Option("--graph-filter", help="Only papers that mention what the graph has near the question.")
]
Highlight = Annotated[
    Path | None,
    typer.Option("--highlight", metavar="OUT.pdf", help="Write the cited pages to this file, the quotes marked."),
]
Output = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write to this file, not to stdout.")
]
LogTo = Annotated[
    Path | None, typer.Option("--log", metavar="FILE", help="Append a line about each question to this file.")
]
MetricsTo = Annotated[
    Path | None,
    typer.Option("--metrics", metavar="FILE", help="Add what is counted and timed to this file, for Prometheus."),
]
Limit = Annotated[int | None, typer.Option("-n", help="How many lines.", min=1, show_default=False)]
Which = Annotated[
    str | None,
    typer.Argument(
        metavar="[ID]", help="A conversation's id or name, or the beginning of an answer's id.", show_default=False
    ),
]
