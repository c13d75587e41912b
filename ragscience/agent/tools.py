"""Tools for language models, the agent's own and other programs': methods whose signatures are their schemas.

A result is a text to read and passages to cite. A wrong call raises nothing: its result says what is wrong. Text from
papers is sanitized and fenced as in the answer's prompt, and no result is longer than `most_chars`.
"""

import inspect
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, create_model

from ragscience.agent.calculator import calculate
from ragscience.ask.numbered_elements import section as section_parts
from ragscience.ask.paper_text import NO_SCORES, PaperText
from ragscience.ask.prompts import PASSAGE, fenced_text, passage_text, prompt_name
from ragscience.core.errors import NothingFound, RagScienceError, UsageError
from ragscience.core.paper_records import counted_places, has_pages, page_label
from ragscience.core.prompt_templates import sanitize, sendable
from ragscience.core.records import PASSAGE_KINDS, Filters, Found, Hit, Paper, StoredChunk
from ragscience.core.tokenizing import counted, joined_lines
from ragscience.library.store import Store
from ragscience.search.paper_lookup import find_paper, find_papers
from ragscience.sources.bib_entries import entries_of
from ragscience.sources.bib_formats import as_bibtex

MOST_HITS = 12
"""Passages that one result gives to cite: a section may have a hundred."""
_NUMBER = re.compile(r"(?:section|sec\.?|§|appendix)?\s*((?:\d+|[A-Z])(?:\.\d+)*)\.?", re.IGNORECASE)
_HEADINGS_IN_ERRORS = 12
_LONGEST_ARGUMENT = 80
"""Characters of an argument, as a call is shown."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """One call of a tool, and what came back."""

    call: str
    """As displayed: `calculate(expression="2+2")`."""
    text: str
    """For the model; text of papers is fenced and sanitized."""
    hits: tuple[Hit, ...] = ()
    """The passages to cite, the best or first ones; `text` may not contain all of them."""
    error: bool = False
    """Whether the text says what was wrong with the call."""


@dataclass(frozen=True, slots=True)
class ToolsUsed:
    """The tools that were called in one pass, and what choosing them cost."""

    results: tuple[ToolResult, ...] = ()
    llm_calls: int = 0
    tokens: Mapping[str, int] = field(default_factory=dict)
    """`prompt` and `answer`, of all replies."""


def _words(text: str) -> str:
    words = " ".join(sendable(text).split())
    if not words:
        raise ValueError("it is empty")
    return words


def _kind(text: str) -> str:
    if text.casefold() not in PASSAGE_KINDS:
        raise ValueError(f"there is no kind {text[:80]!r}")
    return text.casefold()


Words = Annotated[str, Field(max_length=1000), AfterValidator(_words)]
Query = Annotated[Words, Field(description="What to look for.")]
PaperName = Annotated[Words, Field(description="A paper: its file name, or a part of its name or title.")]
InPaper = Annotated[Words, Field(description="Only in this paper: its file name, or a part of its name or title.")]
UnderHeading = Annotated[Words, Field(description="Only under headings with this in their name.")]
OfKind = Annotated[
    Words,
    AfterValidator(_kind),
    Field(description="Only passages of this kind.", json_schema_extra={"enum": [*PASSAGE_KINDS]}),
]


@cache
def arguments_of(tool: Callable[..., Any]) -> type[BaseModel]:
    """The record of a tool's arguments, made from the signature of its method; its docstring says what it does."""
    _, *parameters = inspect.signature(tool, eval_str=True).parameters.values()
    fields: dict[str, Any] = {
        each.name: (each.annotation, ... if each.default is each.empty else each.default) for each in parameters
    }
    config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)
    return create_model(tool.__name__, __config__=config, __doc__=inspect.getdoc(tool), **fields)


def checked_arguments(tool: Callable[..., Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as the tool takes them, without those that are empty. Raises UsageError for wrong ones."""
    kind = arguments_of(tool)
    given = {key: value for key, value in arguments.items() if value is not None and str(value).strip()}
    try:
        return kind.model_validate(given).model_dump(exclude_unset=True)
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_context=False)[0]
        what = f"{tool.__name__}: {'.'.join(map(str, wrong['loc']))[:80]}: {wrong['msg']}."
        raise UsageError(what, f"It takes {', '.join(kind.model_fields) or 'no arguments'}.") from None


def what_is_wrong(error: RagScienceError) -> str:
    """The error as a model reads it."""
    said = str(error).replace("`python ingest.py list` shows all papers.", "list_papers gives all of them.")
    return f"Error: {sanitize(said)}"


def looked_up(chunks: Sequence[StoredChunk], by: str) -> tuple[Hit, ...]:
    """Passages of a place in a paper, in its order, as hits of score 1 without search scores."""
    return tuple(Hit(rank, chunk, 1.0, NO_SCORES, (by,)) for rank, chunk in enumerate(chunks, start=1))


def shown(hits: Sequence[Hit], most_chars: int) -> str:
    """The passages as a model reads them, as many as fit into `most_chars`, with a note on those left out."""
    texts: list[str] = []
    left = most_chars
    for hit in hits:
        text = fenced_text(hit.chunk)
        if texts and len(text) > left:
            texts.append(f"({counted(len(hits) - len(texts), 'passage')} left out: ask for less.)")
            break
        texts.append(passage_text(hit, text if len(text) <= left else f"{text[:left]} […]"))
        left -= len(texts[-1])
    return "\n".join(texts)


def page_text(file: str, page: int, text: str, most_chars: int) -> str:
    """A page's text as a model reads it, cut to `most_chars`."""
    cut = _cut(sanitize(text), most_chars)
    return PASSAGE.format(number=1, source=page_label(prompt_name(file), page), page_content=cut)


def _cut(text: str, chars: int) -> str:
    return text if len(text) <= chars else f"{text[:chars]} […]"


def _line(paper: Paper) -> str:
    """File, title, first author, year, pages."""
    known = paper.metadata
    others = " et al." if len(known.authors) > 1 else ""
    parts = [known.title or paper.title, f"{known.authors[0]}{others}" if known.authors else "", str(known.year or "")]
    said = ", ".join(" ".join(sanitize(part).split()) for part in parts if part)
    return f"{prompt_name(paper.file)}: {said or 'title not known'} ({counted_places([paper])})"


def section_of(library: Store, paper: Paper, section: str) -> list[StoredChunk]:
    """The passages of a section, given by number or words of its heading, with its subsections.

    Raises NothingFound, naming the paper's headings, if no section matches.
    """
    text, number = PaperText(library, paper), _NUMBER.fullmatch(section.strip())
    name = " ".join(word for word in section.casefold().split() if word not in ("the", "section"))
    parts = section_parts(text, number[1] if number else name)
    chunks = library.paper_chunks(paper.paper_id)
    found = [each for each in chunks if any(each.start < part.end and part.start < each.end for part in parts)]
    if found:
        return found
    names = [joined_lines(part.text) for part in text.parts if part.kind == "heading"]
    known = "; ".join(names[:_HEADINGS_IN_ERRORS]) + ("; …" if len(names) > _HEADINGS_IN_ERRORS else "")
    fix = f"Its headings: {known}." if names else "Its sections are not known: use search or read_page."
    raise NothingFound(f"{paper.file} has no section {section!r}.", fix)


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The tools over one library, by name."""

    names: ClassVar[Sequence[str]] = ("search", "read_page", "read_section", "calculate", "list_papers", "cite")
    library: Store
    finds: Callable[[str, Filters], Found]
    """Finds passages within filters."""
    most_chars: int
    """Of each result's text."""
    allowed: Callable[[Hit], bool] = lambda _: True
    """Whether a passage may be given; others are left out, with what was said of them."""

    @classmethod
    def schemas(cls) -> list[dict[str, Any]]:
        """The tools in the form that `bind_tools` takes: functions, as of OpenAI and Ollama."""
        models = [arguments_of(getattr(cls, name)).model_json_schema() for name in cls.names]
        return [
            {
                "type": "function",
                "function": {"name": name, "description": model.pop("description"), "parameters": model},
            }
            for name, model in zip(cls.names, models, strict=True)
        ]

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """What the tool gives; whatever is wrong with the call, or goes wrong in it, is a text that begins "Error:"."""
        values = {key: _cut(json.dumps(each, ensure_ascii=False, default=str), _LONGEST_ARGUMENT)
                  for key, each in arguments.items()}  # fmt: skip
        call = f"{name}({', '.join(f'{key}={value}' for key, value in values.items())})"
        try:
            if name not in self.names:
                raise UsageError(f"There is no tool {str(name)[:80]!r}.", f"The tools are {', '.join(self.names)}.")
            text, given = getattr(self, name)(**checked_arguments(getattr(type(self), name), arguments))
        except RagScienceError as error:
            return ToolResult(call, _cut(what_is_wrong(error), self.most_chars), error=True)
        hits = tuple(hit for hit in given if self.allowed(hit))
        if len(hits) < len(given):
            text = "Passages outside of the filters were left out."
        return ToolResult(call, text, hits[:MOST_HITS], error=len(hits) < len(given) and not hits)

    def search(
        self, query: Query, paper: InPaper = "", section: UnderHeading = "", kind: OfKind = ""
    ) -> tuple[str, Sequence[Hit]]:
        """Find the passages of the papers that fit a query best.

        Words that may stand in the text are better than a long question.
        """
        papers = tuple(each.paper_id for each in find_papers(self.library, [paper])) if paper else ()
        where = Filters(paper_ids=papers, sections=(section,) if section else (), kinds=(kind,) if kind else ())
        found = self.finds(query, where).hits
        if not found:
            return "Nothing was found. Try other words, or leave out paper, section or kind.", ()
        return shown(found, self.most_chars), found

    def read_page(
        self, paper: PaperName, page: Annotated[int, Field(description="The page's number, from 1.")]
    ) -> tuple[str, Sequence[Hit]]:
        """Read one page of a paper."""
        which = find_paper(self.library, paper)
        if not 1 <= page <= which.pages:
            place = "page" if has_pages(which.file) else "paragraph"
            raise NothingFound(f"{which.file} has no {place} {page}.", f"Its {place}s are 1 to {which.pages}.")
        text = self.library.contents(which.paper_id).text(page)
        if not text.strip():
            return f"Page {page} of {sanitize(which.file)} has no text.", ()
        chunks = self.library.paper_chunks(which.paper_id)
        hits = looked_up([chunk for chunk in chunks if chunk.page_start <= page <= chunk.page_end], "page")
        return page_text(which.file, page, text, self.most_chars), hits

    def read_section(
        self,
        paper: PaperName,
        section: Annotated[
            Words, Field(description='A heading or a part of one, or its number: "Results", "3.2", "abstract".')
        ],
    ) -> tuple[str, Sequence[Hit]]:
        """Read one section of a paper, with its subsections."""
        hits = looked_up(section_of(self.library, find_paper(self.library, paper), section), "section")
        return shown(hits, self.most_chars), hits

    def calculate(
        self,
        expression: Annotated[
            Words, Field(description="Numbers, + - * / // **, parentheses, sqrt, min, max, round, abs, log, exp.")
        ],
    ) -> tuple[str, Sequence[Hit]]:
        """Work out an arithmetic expression, such as (28.4 - 26.3) / 26.3 or 0.15 * 80."""
        return f"{expression} = {calculate(expression)}", ()

    def list_papers(self) -> tuple[str, Sequence[Hit]]:
        """List the papers: file, title, first author, year, pages."""
        papers = self.library.papers()
        lines = "\n".join([f"{counted(len(papers), 'paper')}:", *map(_line, papers)])
        return _cut(lines, self.most_chars) if papers else "The library has no papers.", ()

    def cite(self, paper: PaperName) -> tuple[str, Sequence[Hit]]:
        """Give the BibTeX entry of a paper."""
        entries = entries_of([find_paper(self.library, paper)], self.library.papers())
        return _cut(sanitize(as_bibtex(entries).rstrip()), self.most_chars), ()
