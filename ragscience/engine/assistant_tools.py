"""The tools that other programs' assistants call: their schemas, and what a call gives."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from ragscience.agent.tools import ASSISTANT, TOOLS, Toolbox, ToolResult, checked_arguments, parameters_schema
from ragscience.core.errors import NothingFound, RagScienceError, UsageError
from ragscience.core.paper_records import page_label
from ragscience.core.prompt_templates import sanitize
from ragscience.core.records import Filters, Found, Paper, StoredChunk
from ragscience.engine.asking import ask, search
from ragscience.engine.dialogue import Dialogue
from ragscience.engine.places import find_quote, sources_of
from ragscience.engine.requests import AskRequest, SearchRequest
from ragscience.search.paper_lookup import find_papers

if TYPE_CHECKING:
    from threading import Event as Flag

    from ragscience.engine.shared_parts import SharedParts


TOKENS = 4000
"""Of a result, where the caller sets none."""
MOST_TOKENS = 50_000
_CHARS = 4
"""Characters that count as a token."""
_ID = re.compile(r"([0-9a-f]{12})#(\d{1,7})")
_TEXTS = frozenset(("search", "fetch", "ask", "read_page", "list_papers"))
"""Tools whose results can be long."""
_QUOTES_SHOWN = 20


@dataclass(frozen=True, slots=True)
class AssistantTool:
    """A tool as another program sees it."""

    name: str
    description: str
    schema: Mapping[str, Any]
    """Of its arguments, JSON Schema; others are refused."""


@dataclass(frozen=True, slots=True)
class ToolReply:
    """What a call gave."""

    text: str
    """For a model to read."""
    value: Mapping[str, Any] = field(default_factory=dict)
    """The same for programs; empty where there is only text."""
    is_error: bool = False


class AssistantTools:
    """The tools over one library; safe for several threads."""

    def __init__(self, shared: SharedParts) -> None:
        self._shared = shared

    @staticmethod
    def tools() -> list[AssistantTool]:
        """The tools, as many as an assistant is told of."""
        made = []
        for name, tool in TOOLS.items():
            if ASSISTANT in tool.users:
                schema = {**parameters_schema(tool), "additionalProperties": False}
                if name in _TEXTS:
                    tokens = {"type": "integer", "minimum": 100, "maximum": MOST_TOKENS, "default": TOKENS}
                    schema["properties"] = {**schema["properties"], "max_tokens": tokens}
                made.append(AssistantTool(name, tool.description, schema))
        return made

    def call(
        self, name: str, arguments: Mapping[str, Any], *, cancel: Flag | None = None, person: str = ""
    ) -> ToolReply:
        """What the tool gives; an expected failure is a reply with `is_error`, never an empty result.

        An answer is kept among those of that person; empty: of the library's own user.
        """
        try:
            if name not in TOOLS or ASSISTANT not in TOOLS[name].users:
                known = ", ".join(tool.name for tool in self.tools())
                raise UsageError(f"There is no tool {name[:80]!r}.", f"There are {known}.")
            given, chars = dict(arguments), TOKENS * _CHARS
            if name in _TEXTS and "max_tokens" in given:
                chars = _tokens(given.pop("max_tokens")) * _CHARS
            checked = checked_arguments(name, given)
            own: Mapping[str, Callable[..., ToolReply]] = {
                "search": self._search, "fetch": self._fetch, "ask": partial(self._ask, person),
                "check_quote": self._check_quote,
            }  # fmt: skip
            if name in own:
                return own[name](chars, cancel, **checked)
            box = Toolbox(self._shared.library, search=_no_search, most_chars=chars)
            result: ToolResult = box.call(name, checked)
            return ToolReply(result.text, is_error=result.error)
        except RagScienceError as error:
            return ToolReply(f"Error: {sanitize(str(error))}", is_error=True)

    def _papers(self, name: str) -> list[Paper]:
        """The papers that a name means; none without one. Raises NothingFound."""
        return find_papers(self._shared.library, [name]) if name else []

    def _search(self, chars: int, cancel: Flag | None, query: str, **where: str) -> ToolReply:
        papers = tuple(paper.paper_id for paper in self._papers(where.get("paper", "")))
        filters = Filters(
            paper_ids=papers,
            sections=(where["section"],) if "section" in where else (),
            kinds=(where["kind"],) if "kind" in where else (),
        )
        found = search(self._shared, SearchRequest(query, filters, top_k=8), cancel=cancel)
        library = self._shared.library
        papers_of = {path: library.paper(path=path) for path in dict.fromkeys(hit.chunk.path for hit in found.hits)}
        # A paper may have left the library since the search.
        there = [(hit.chunk, paper) for hit in found.hits if (paper := papers_of[hit.chunk.path]) is not None]
        if not there:
            raise NothingFound("Nothing was found.", "Try other words, or leave out paper, section or kind.")
        results: list[dict[str, Any]] = []
        left = chars
        for chunk, paper in there:
            result = _result(chunk, paper)
            text = sanitize(chunk.text)
            room = left - len(str(result)) - 40
            if room < 200 and results:
                break
            results.append({**result, "text": _cut(text, max(room, 200))})
            left = room - len(text)
        more = {"left_out": len(there) - len(results)} if len(results) < len(there) else {}
        return _as_json({"results": results, "warnings": list(found.warnings), **more})

    def _fetch(self, chars: int, _cancel: Flag | None, id: str) -> ToolReply:
        chunk, paper = self._passage(id)
        text = _cut(sanitize(chunk.text), chars)
        metadata = {"section": chunk.section, "kind": chunk.kind}
        return _as_json({**_result(chunk, paper), "text": text, "metadata": metadata})

    def _ask(self, person: str, chars: int, cancel: Flag | None, question: str, paper: str = "") -> ToolReply:
        papers = tuple(each.paper_id for each in self._papers(paper))
        request = AskRequest(question, Filters(paper_ids=papers))
        shared = self._shared
        dialogue = Dialogue(shared.home, shared.settings, name=None, continue_last=False, person=person)
        answer = ask(self._shared, request, dialogue=dialogue, cancel=cancel)
        sources = [{"number": one.number, "file": one.file, "page": one.page} for one in sources_of(answer)]
        text = _cut(answer.text, chars)
        value = {
            "answer": text,
            "refused": answer.refused,
            "confidence": answer.confidence,
            "missing": list(answer.missing),
            "sources": [] if answer.refused else sources,
            "warnings": list(answer.warnings),
        }
        return _as_json(value)

    def _check_quote(self, _chars: int, cancel: Flag | None, quote: str, paper: str = "") -> ToolReply:
        library = self._shared.library
        papers = {each.paper_id: each for each in self._papers(paper) or library.papers()}
        if paper:
            pages = [(number, page) for number, one in papers.items() for page in range(1, one.pages + 1)]
        else:
            pages = self._pages_like(quote, cancel)
        held = [(number, page) for number, page in pages if find_quote(quote, library.contents(number).text(page))]
        places = [{"file": papers[number].file, "page": page} for number, page in held[:_QUOTES_SHOWN]]
        where = "every page of it was read" if paper else "the pages that are most like it were read"
        return _as_json({"found": bool(places), "places": places, "how": where})

    def _pages_like(self, quote: str, cancel: Flag | None) -> list[tuple[int, int]]:
        """(id of the paper, page) of the passages that are nearest to the words."""
        found: Found = search(
            self._shared, SearchRequest(quote, Filters(kinds=("all",)), top_k=40, rerank="off"), cancel=cancel
        )
        chunks = [hit.chunk for hit in found.hits]
        pages = ((one.paper_id, page) for one in chunks for page in range(one.page_start, one.page_end + 1))
        return list(dict.fromkeys(pages))

    def _passage(self, id_: str) -> tuple[StoredChunk, Paper]:
        """The passage that `search` gave this id, with its paper. Raises NothingFound."""
        match = _ID.fullmatch(id_.strip())
        if match:
            for paper in self._shared.library.papers():
                if paper.md5.startswith(match[1]):
                    for chunk in self._shared.library.paper_chunks(paper.paper_id):
                        if chunk.ordinal == int(match[2]):
                            return chunk, paper
        raise NothingFound(f"There is no passage {id_[:80]!r}.", "Take an id that `search` gave.")


def _result(chunk: StoredChunk, paper: Paper) -> dict[str, Any]:
    """A passage without its text: `id`, `title` and `url`, as assistants expect, with file and pages."""
    title = sanitize(paper.metadata.title or paper.title or paper.file)
    return {
        "id": f"{paper.md5[:12]}#{chunk.ordinal}",
        "title": f"{title} {page_label(chunk.file, chunk.page_start)}",
        "url": f"paper://{paper.md5}/{chunk.page_start}",
        "file": chunk.file,
        "page": chunk.page_start,
    }


def _no_search(query: str, filters: Filters) -> Found:
    raise NotImplementedError  # AssistantTools searches by itself


def _tokens(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 100 <= value <= MOST_TOKENS:
        raise UsageError("max_tokens is not a number of tokens.", f"Give 100 to {MOST_TOKENS}.")
    return value


def _cut(text: str, chars: int) -> str:
    return text if len(text) <= chars else f"{text[:chars]} […]"


def _as_json(value: Mapping[str, Any]) -> ToolReply:
    from ragscience.core.serialization import to_json

    return ToolReply(to_json(value), value)
