"""The arguments and options that several commands share; groups of them are dataclasses (see `groups.App`)."""

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

import typer

from ragscience.cli.running import default_home
from ragscience.core.errors import UsageError
from ragscience.core.paper_records import PASSAGE_KINDS
from ragscience.core.records import Filters
from ragscience.engine.printable import conversation_names, paper_names

LIBRARY, SEARCH, TALK, OUTPUT, RUN = "Which part of the library", "How to search", "Conversation", "Output", "Run"
"""Headings of options in the help."""


def option(names: str, help_text: str, default: Any = None, panel: str | None = None, **more: Any) -> Any:
    """An option for a default value: its spellings, and a word for its value, as in "-o --output FILE"."""
    words = names.split()
    spellings = [word for word in words if word.startswith("-")]
    shows = default not in (None, False, "")
    value = " ".join(words[len(spellings) :]) or None
    return typer.Option(
        default, *spellings, metavar=value, help=help_text, rich_help_panel=panel, show_default=shows, **more
    )


def flag(names: str, help_text: str, panel: str | None = None, **more: Any) -> Any:
    """An option without a value, False unless it is given."""
    return option(names, help_text, False, panel, **more)


_part, _how = partial(option, panel=LIBRARY), partial(option, panel=SEARCH)


def argument(name: str, help_text: str, default: Any = ..., **more: Any) -> Any:
    """An argument for a default value; without a default it is required."""
    return typer.Argument(default, metavar=name or None, help=help_text, show_default=False, **more)


# What <Tab> offers. Nothing is opened or written for it; what cannot be read is not offered.


def _offering(words: Callable[[Path], Iterable[str]]) -> Callable[[typer.Context, str], list[str]]:
    def offered(ctx: typer.Context, incomplete: str) -> list[str]:
        home = Path(ctx.params.get("home") or os.environ.get("RAG_HOME") or default_home()).expanduser()
        with suppress(Exception):
            return sorted({word for word in words(home) if word.startswith(incomplete)})
        return []

    return offered


def _allowed(setting: str) -> Callable[[Path], Iterable[str]]:
    def values(_: Path) -> Iterable[str]:
        from ragscience.core.settings import Settings

        return get_args(Settings.model_fields[setting].annotation) if setting else Settings.model_fields

    return values


papers, chats, settings_names = _offering(paper_names), _offering(conversation_names), _offering(_allowed(""))

# Arguments and options of single commands

_NAMED = "Part of the file name or title, a pattern with *, the name of the paper's method, a path or an MD5."
ONE_PAPER = SOME_PAPERS = argument("PAPER", _NAMED, autocompletion=papers)
ANY_PAPERS = argument("PAPER", f"{_NAMED} Default: all papers.", None, autocompletion=papers)
QUESTION = argument("QUESTION", "The question. Put quotes around it if it contains a ? * ' or (.", None)
WHICH = argument("ID", "A conversation's number or name, an answer's id, or last.", None, autocompletion=chats)
MODEL = argument("NAME", "A known model (docs/models.md), OWNER/NAME of the Hugging Face Hub, or a model's folder.", "")
FROM_FILE = option("--from FILE", "A file of questions, one per line (text or JSON); - for stdin.")
JSON = flag("--json", "Print one JSON object; docs/json.md describes it.", OUTPUT)
JSON_EACH = flag("--json", "Print one JSON object for each question (docs/json.md).", OUTPUT)
STRICT = flag("--strict", "Exit with code 4 if nothing was found.", OUTPUT)
BRIEF = flag("--brief", "Answer in one line: the best quote, its page and the confidence.", OUTPUT)
ALL_QUOTES = flag("--all", "Show every quote, not only those that carry the answer.", OUTPUT)
CITE = option("--cite STYLE", "How the answer cites: file, pandoc ([@key, p. 3]) or latex (\\cite).", "file", OUTPUT)
Cites = Literal["file", "pandoc", "latex"]
HIGHLIGHT = option("--highlight OUT.pdf", "Write the cited pages to this PDF, with the quotes marked.", panel=OUTPUT)
OUTPUT_FILE = option("-o --output FILE", "Write to this file instead of stdout.", panel=OUTPUT)
LIMIT = option("-n N", "How many lines to show.", panel=OUTPUT, min=1)
PAGES = _part("--pages PAGES", "Only these pages: 3 or 3-9.")
BY_AGENT = flag("--agent", "Answer in several steps, shown as they happen: sub-questions, drafts, a check.", SEARCH)
CORRECTIVE = _how(
    "--corrective/--no-corrective",
    "Judge the passages found, and search again in other words if they are doubtful. On in profile even.",
)
PLAIN = flag("--plain", "Always search once and answer from the passages: no summaries, lists or counts.", SEARCH)
YES = flag("--yes -y", "Do not ask for confirmation.", RUN)

# Groups of options


@dataclass(frozen=True)
class Run:
    """What holds for a whole run; every command has it."""

    home: Path | None = option("--home DIR", "Folder with papers/ and vectorstore/. Default: RAG_HOME.", panel=RUN)
    offline: bool | None = option("--offline", "Refuse everything that needs another machine.", panel=RUN)
    quiet: bool = flag("--quiet -q", "Show no progress and no warnings.", RUN)
    debug: bool = flag("--debug", "Show the full traceback of an error.", RUN)

    def flags(self) -> dict[str, object]:
        """The settings that these options replace."""
        return {"home": self.home, "offline": self.offline}


@dataclass(frozen=True)
class LoggedRun(Run):
    """What holds for a whole run whose questions can be logged."""

    log: Path | None = option("--log FILE", "Append one line per question to this file.", panel=OUTPUT)

    def flags(self) -> dict[str, object]:
        """The settings that these options replace."""
        return {**super().flags(), "log_file": None if self.log is None else str(self.log)}


@dataclass(frozen=True)
class Narrow:
    """How many passages, and from which part of the library."""

    k: int | None = _part("-k N", "How many passages to use.", min=1, max=1000)
    paper: list[str] | None = _part(
        "--paper PAPER", "Only papers with this name (a part of it or a pattern); repeatable.", autocompletion=papers
    )
    section: list[str] | None = _part("--section TEXT", "Only sections with this text in their heading; repeatable.")
    kind: list[str] | None = _part(
        "--kind KIND",
        "Only passages of this kind: text, abstract, table, caption, equation, footnote, reference, figure, note or "
        "all; repeatable. References, the words in figures and your notes are searched only with these or all.",
        autocompletion=_offering(lambda _: PASSAGE_KINDS),
    )
    year: str | None = _part("--year YEAR", "Only papers from this year (2017) or range (2015-2020).")
    author: list[str] | None = _part("--author NAME", "Only papers by this author (part of the name); repeatable.")
    collection: list[str] | None = _part(
        "--collection NAME", "Only papers of this collection of Zotero or folder of papers/; repeatable."
    )
    tag: list[str] | None = _part("--tag TAG", "Only papers with this tag; repeatable.")
    item_type: list[str] | None = _part(
        "--item-type TYPE", "Only papers of this type in Zotero, as journalArticle; repeatable."
    )

    def filters(self, pages: str | None = None) -> Filters:
        """The part of the library. Raises UsageError."""
        from ragscience.engine.requests import LISTS, filters_of

        lists = {field: getattr(self, name) for name, field in LISTS.items()}
        return filters_of(pages=_page_range(pages), years=self.year, **lists)


def _page_range(text: str | None) -> tuple[int, int] | None:
    """`3-9`, `3-` or `3` as first and last page, inclusive. Raises UsageError."""
    if text is None:
        return None
    first, dash, last = text.partition("-")
    try:
        low = int(first)
        high = (int(last) if last else 1 << 62) if dash else low
    except ValueError:
        low = high = 0
    if not 1 <= low <= high:
        raise UsageError(f"--pages {text!r} is not a page range.", "Write `--pages 3` or `--pages 3-9`.")
    return low, high


@dataclass(frozen=True)
class Ranking:
    """How passages are ranked."""

    profile: str | None = _how(
        "--profile NAME",
        "How to search: default, rrf, even, deep, balanced or guide. The command `profiles` explains them.",
        autocompletion=_offering(_allowed("profile")),
    )
    reranker: str | None = _how(
        "--reranker WHO",
        "Reranker: auto, cross-encoder, late-interaction, llm (the chat model) or off.",
        autocompletion=_offering(_allowed("rerank")),
    )

    def flags(self) -> dict[str, object]:
        """The settings that these options replace."""
        return {"profile": self.profile, "rerank": self.reranker}


@dataclass(frozen=True)
class How(Ranking):
    """How a question is searched for."""

    graph: bool | None = _how(
        "--graph/--no-graph", "Also search the knowledge graph, once it is built. On in profile deep."
    )
    graph_filter: bool = flag("--graph-filter", "Only papers that mention entities near the question.", LIBRARY)

    def flags(self) -> dict[str, object]:
        """The settings that these options replace. Raises UsageError."""
        return {**super().flags(), "graph": None if self.graph is None else "on" if self.graph else "off"}


@dataclass(frozen=True)
class Talk:
    """Which conversation a question belongs to."""

    go_on: bool = flag("--continue -c", "Continue the last conversation.", TALK)
    name: str | None = option(
        "--chat NAME", "Continue the conversation with this name, or start it.", panel=TALK, autocompletion=chats
    )
    no_history: bool = flag("--no-history", "Do not save this conversation.", TALK)


@dataclass(frozen=True)
class Reading(Run):
    """How papers are read."""

    ocr: bool = flag("--ocr", "Read pages without a text layer by OCR; needs Tesseract.")

    def flags(self) -> dict[str, object]:
        """The settings that these options replace."""
        return {**super().flags(), "ocr": self.ocr or None}


@dataclass(frozen=True)
class Workers:
    """Who reads papers."""

    workers: int = option(
        "--workers N", "Read in N processes of one core and about 0.4 GB each. Default: one.", 0, min=0, max=256
    )
    ray: str = option("--ray HOST:PORT", "Read on the machines of this Ray cluster (docs/scale.md).", "")

    def chosen(self) -> int | str:
        """What `engine.ingest.add` takes. Raises UsageError."""
        if self.workers and self.ray:
            raise UsageError("--workers is for this machine, --ray for a cluster.", "Leave one of them out.")
        return self.ray or self.workers


def one_of(command: str, words: list[str] | None, source: str | None) -> tuple[str | None, str | None]:
    """(The words on one line, or the file's name). Raises UsageError unless one of them is given."""
    if bool(words) == (source is not None):
        raise UsageError("Give either a question or --from.", f'For example: `python query.py {command} "chunk size"`.')
    return " ".join(words) if words else None, source
