"""Tools for language models, the agent's own and other programs': schemas, arguments, and the Toolbox that runs them.

A result is a text to read and passages to cite. A wrong call raises nothing: its result says what is wrong. Text from
papers is sanitized and fenced as in the answer's prompt, and no result is longer than `most_chars`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ragscience.agent.calculator import calculate
from ragscience.ask.numbered_elements import section as section_parts
from ragscience.ask.paper_text import NO_SCORES, PaperText
from ragscience.ask.prompts import PASSAGE, fenced_text, passage_text, prompt_name
from ragscience.core.errors import NothingFound, RagScienceError, UsageError
from ragscience.core.paper_records import page_label
from ragscience.core.prompt_templates import sanitize, sendable
from ragscience.core.records import PASSAGE_KINDS, Filters, Found, Hit, Paper, StoredChunk
from ragscience.core.tokenizing import counted, joined_lines
from ragscience.search.paper_lookup import find_paper, find_papers
from ragscience.sources.bib_entries import entries_of
from ragscience.sources.bib_formats import as_bibtex

if TYPE_CHECKING:
    from ragscience.library.store import Store


MOST_HITS = 12
"""Passages that one result gives to cite: a section may have a hundred."""
_NUMBER = re.compile(r"(?:section|sec\.?|§|appendix)?\s*((?:\d+|[A-Z])(?:\.\d+)*)\.?", re.IGNORECASE)
_SECTION_NOUN = re.compile(r"(?<!\s)\s++section$|^(?:the|section)\s+")
_HEADINGS_IN_ERRORS = 12
_LEAST_SHOWN = 80
"""Characters of a passage below which it is left out and not cut."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that is to be used."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool gave."""

    text: str
    """For the model; text of papers is fenced and sanitized."""
    hits: tuple[Hit, ...] = ()
    """The passages to cite, the best or first ones; `text` may not contain all of them."""
    error: bool = False
    """Whether the text says what was wrong with the call."""


def looked_up(chunks: Sequence[StoredChunk], by: str) -> tuple[Hit, ...]:
    """Passages of a place in a paper, in its order, as hits of score 1 without search scores."""
    return tuple(Hit(rank, chunk, 1.0, NO_SCORES, (by,)) for rank, chunk in enumerate(chunks, start=1))


def shown(hits: Sequence[Hit], most_chars: int) -> ToolResult:
    """The passages as a model reads them, as many as fit into `most_chars`, with a note on those left out.

    The first `MOST_HITS` are returned as hits, whether they fit into the text or not.
    """
    texts: list[str] = []
    left = most_chars
    for hit in hits:
        text = passage_text(hit, fenced_text(hit.chunk))
        if len(text) > left and texts:
            break
        if len(text) > left:
            fence = len(text) - len(fenced_text(hit.chunk))
            text = passage_text(hit, fenced_text(hit.chunk)[: max(left - fence, _LEAST_SHOWN)] + " […]")
        texts.append(text)
        left -= len(text)
    missing = len(hits) - len(texts)
    if missing:
        said = "1 passage was" if missing == 1 else f"{missing} passages were"
        texts.append(f"({said} left out: a result has at most {most_chars} characters. Ask for less.)")
    return ToolResult("\n".join(texts), tuple(hits[:MOST_HITS]))


def page_text(file: str, page: int, text: str, most_chars: int) -> str:
    """A page's text as a model reads it, cut to `most_chars`."""
    harmless = sanitize(text)
    cut = harmless[:most_chars]
    fenced = PASSAGE.format(number=1, source=page_label(prompt_name(file), page), page_content=cut)
    left_out = len(harmless) - len(cut)
    return f"{fenced}\n({left_out} characters of the page were left out.)" if left_out else fenced


def paper_list(papers: Sequence[Paper], most_chars: int) -> str:
    """A line a paper: file, title, first author, year, pages; as many as fit, and how many are left out."""
    if not papers:
        return "The library has no papers."
    lines = [f"{len(papers)} papers:" if len(papers) > 1 else "1 paper:"]
    used = len(lines[0])
    for number, paper in enumerate(papers):
        line = _line(paper)
        used += len(line) + 1
        if used > most_chars:
            lines.append(f"({len(papers) - number} more are left out.)")
            break
        lines.append(line)
    return "\n".join(lines)


def _line(paper: Paper) -> str:
    known = paper.metadata
    others = " et al." if len(known.authors) > 1 else ""
    parts = [known.title or paper.title, f"{known.authors[0]}{others}" if known.authors else "", str(known.year or "")]
    said = ", ".join(" ".join(sanitize(part).split()) for part in parts if part)
    return f"{prompt_name(paper.file)}: {said or 'title not known'} ({counted(paper.pages, 'page')})"


def section_of(library: Store, paper: Paper, section: str) -> list[StoredChunk]:
    """The passages of a section, given by number or words of its heading, with its subsections.

    Raises NothingFound, naming the paper's headings, if no section matches.
    """
    text, number = PaperText(library, paper), _NUMBER.fullmatch(section.strip())
    name = _SECTION_NOUN.sub("", " ".join(section.casefold().split()).strip(" .:\"'"))
    parts = section_parts(text, number[1] if number else name)
    chunks = library.paper_chunks(paper.paper_id)
    found = [each for each in chunks if any(each.start < part.end and part.start < each.end for part in parts)]
    if found:
        return found
    names = [joined_lines(part.text) for part in text.parts if part.kind == "heading"]
    known = "; ".join(names[:_HEADINGS_IN_ERRORS]) + ("; …" if len(names) > _HEADINGS_IN_ERRORS else "")
    fix = f"Its headings: {known}." if names else "Its sections are not known: use search or read_page."
    raise NothingFound(f"{paper.file} has no section {section!r}.", fix)


_INTEGER = re.compile(r"-?[0-9]{1,9}(?:\.0)?")
LONGEST = 1000
"""Characters of an argument."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """An argument of a tool."""

    description: str
    kind: str = "string"
    """ "string" or "integer"."""
    required: bool = True
    among: tuple[str, ...] = ()
    """What it may be; empty for anything."""


AGENT, ASSISTANT = "agent", "assistant"
"""Who uses a tool: the agent of `ask --agent`; an assistant, which is another program, through MCP."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool, as the model sees it."""

    description: str
    parameters: Mapping[str, Parameter]
    users: frozenset[str] = frozenset((AGENT, ASSISTANT))


_PAPER = "A paper: its file name, or a part of its name or title."
_SECTION = 'A heading or a part of one, or its number: "Results", "3.2", "abstract".'
TOOLS: Mapping[str, Tool] = {
    "search": Tool(
        "Find the passages of the papers that fit a query best. Words that may stand in the text are better than a"
        " long question.",
        {
            "query": Parameter("What to look for."),
            "paper": Parameter(f"Only in this paper. {_PAPER}", required=False),
            "section": Parameter("Only under headings with this in their name.", required=False),
            "kind": Parameter("Only passages of this kind.", required=False, among=PASSAGE_KINDS),
        },
    ),
    "read_page": Tool(
        "Read one page of a paper.",
        {"paper": Parameter(_PAPER), "page": Parameter("The page's number, from 1.", "integer")},
    ),
    "read_section": Tool(
        "Read one section of a paper, with its subsections.",
        {"paper": Parameter(_PAPER), "section": Parameter(_SECTION)},
        frozenset((AGENT,)),
    ),
    "calculate": Tool(
        "Work out an arithmetic expression, such as (28.4 - 26.3) / 26.3 or 15% of 80.",
        {"expression": Parameter("Numbers, + - * / // % **, parentheses, sqrt, min, max, round, abs, log, exp.")},
        frozenset((AGENT,)),
    ),
    "list_papers": Tool("List the papers: file, title, first author, year, pages.", {}),
    "cite": Tool("Give the BibTeX entry of a paper.", {"paper": Parameter(_PAPER)}),
    "fetch": Tool(
        "Read a passage that `search` found, whole, by its id.",
        {"id": Parameter("The id of the passage, as `search` gave it.")},
        frozenset((ASSISTANT,)),
    ),
    "ask": Tool(
        "Get an answer from the papers, with the page behind each fact. Prefer `search` where you word it yourself.",
        {
            "question": Parameter("A whole question."),
            "paper": Parameter(f"Only from this paper. {_PAPER}", required=False),
        },
        frozenset((ASSISTANT,)),
    ),
    "check_quote": Tool(
        "Whether words stand in the papers as they are quoted, and on which pages.",
        {
            "quote": Parameter("The words; […] where some are left out."),
            "paper": Parameter(f"Only in this paper. {_PAPER}", required=False),
        },
        frozenset((ASSISTANT,)),
    ),
}


def schemas() -> list[dict[str, Any]]:
    """The agent's tools in the form that `bind_tools` takes: JSON schemas of functions, as of OpenAI and Ollama."""
    return [
        {
            "type": "function",
            "function": {"name": name, "description": tool.description, "parameters": parameters_schema(tool)},
        }
        for name, tool in TOOLS.items()
        if AGENT in tool.users
    ]


def parameters_schema(tool: Tool) -> dict[str, Any]:
    """The JSON schema of a tool's arguments."""
    properties = {
        name: {"type": each.kind, "description": each.description} | ({"enum": list(each.among)} if each.among else {})
        for name, each in tool.parameters.items()
    }
    required = [name for name, each in tool.parameters.items() if each.required]
    return {"type": "object", "properties": properties, "required": required}


def checked_arguments(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as the tool takes them, without those that are empty and need not be there.

    A number may come as a text and a text as a number. Raises UsageError for what is missing, unknown or of a wrong
    kind.
    """
    parameters = TOOLS[name].parameters
    unknown = sorted(str(key) for key in arguments if key not in parameters)
    if unknown:
        takes = ", ".join(parameters) or "no arguments"
        raise UsageError(f"{name} has no argument {unknown[0][:80]!r}.", f"It takes {takes}.")
    checked: dict[str, Any] = {}
    for key, parameter in parameters.items():
        value = arguments.get(key)
        if value is None or (isinstance(value, str) and not sendable(value).strip()):
            if parameter.required:
                raise UsageError(f"{name} needs {key}.", parameter.description)
            continue
        checked[key] = _checked(name, key, parameter, value)
    return checked


def _checked(name: str, key: str, parameter: Parameter, value: Any) -> str | int:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        kinds = {bool: "true or false", list: "a list", dict: "an object"}
        found = kinds.get(type(value), "nothing of that kind")
        raise UsageError(f"{key} of {name} is to be a {parameter.kind}, not {found}.", parameter.description)
    text = " ".join(sendable(str(value)).split())
    if len(text) > LONGEST:
        raise UsageError(f"{key} of {name} has {len(text)} characters.", f"At most {LONGEST}.")
    if parameter.kind == "integer":
        if not _INTEGER.fullmatch(text):
            raise UsageError(f"{key} of {name} is to be an integer, not {text[:80]!r}.", parameter.description)
        return int(text.removesuffix(".0"))
    if parameter.among and text.casefold() not in parameter.among:
        raise UsageError(f"There is no {key} {text[:80]!r}.", f"It is one of {', '.join(parameter.among)}.")
    return text.casefold() if parameter.among else text


class Toolbox:
    """The tools over one library; `search` finds passages within filters, `most_chars` bounds each result's text."""

    def __init__(self, library: Store, *, search: Callable[[str, Filters], Found], most_chars: int) -> None:
        self._library = library
        self._search = search
        self._most_chars = most_chars

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """What the tool gives; whatever is wrong with the call, or goes wrong in it, is a text that begins "Error:"."""
        try:
            agents = [each for each, tool in TOOLS.items() if AGENT in tool.users]
            if name not in agents:
                raise UsageError(f"There is no tool {str(name)[:80]!r}.", f"The tools are {', '.join(agents)}.")
            made: ToolResult = getattr(self, name)(**checked_arguments(name, arguments))
            return made
        except RagScienceError as error:
            said = str(error).replace("`python ingest.py list` shows all papers.", "list_papers gives all of them.")
            return ToolResult(self._capped(f"Error: {sanitize(said)}"), error=True)

    def search(self, query: str, paper: str = "", section: str = "", kind: str = "") -> ToolResult:
        """The best passages for a query. Raises RagScienceError, as all tools here do."""
        papers = tuple(each.paper_id for each in find_papers(self._library, [paper])) if paper else ()
        where = Filters(paper_ids=papers, sections=(section,) if section else (), kinds=(kind,) if kind else ())
        found = self._search(query, where)
        if not found.hits:
            return ToolResult("Nothing was found. Try other words, or leave out paper, section or kind.")
        return shown(found.hits, self._most_chars)

    def read_page(self, paper: str, page: int) -> ToolResult:
        """A page as it was read, with the passages on it."""
        which = find_paper(self._library, paper)
        if not 1 <= page <= which.pages:
            raise NothingFound(f"{which.file} has no page {page}.", f"Its pages are 1 to {which.pages}.")
        text = self._library.contents(which.paper_id).text(page)
        if not text.strip():
            return ToolResult(f"Page {page} of {sanitize(which.file)} has no text.")
        chunks = self._library.paper_chunks(which.paper_id)
        hits = looked_up([chunk for chunk in chunks if chunk.page_start <= page <= chunk.page_end], "page")
        return ToolResult(page_text(which.file, page, text, self._most_chars), hits)

    def read_section(self, paper: str, section: str) -> ToolResult:
        """The passages of a section in their order, those of its subsections with them."""
        which = find_paper(self._library, paper)
        chunks = section_of(self._library, which, section)
        return shown(looked_up(chunks, "section"), self._most_chars)

    def calculate(self, expression: str) -> ToolResult:
        """The value of an arithmetic expression."""
        return ToolResult(f"{' '.join(expression.split())} = {calculate(expression)}")

    def list_papers(self) -> ToolResult:
        """All papers of the library, a line each."""
        return ToolResult(paper_list(self._library.papers(), self._most_chars))

    def cite(self, paper: str) -> ToolResult:
        """A BibTeX entry."""
        entries = entries_of([find_paper(self._library, paper)], self._library.papers())
        return ToolResult(self._capped(sanitize(as_bibtex(entries).rstrip())))

    def _capped(self, text: str) -> str:
        return text if len(text) <= self._most_chars else text[: self._most_chars] + " […]"
