"""What the engine can be asked: plain records, checked when they are used."""

import difflib
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ragscience.core.errors import NothingFound, UsageError
from ragscience.core.records import PASSAGE_KINDS, Filters, Turn
from ragscience.library.filter_selection import did_you_mean, fold, is_in_section, papers_fitting
from ragscience.library.store import Store
from ragscience.search.paper_lookup import papers_matching

_YEAR = re.compile(r"(\d{4})?(?:\s*([-–])\s*(\d{4})?)?")
_FIRST, _LAST = 1, 9999
LISTS = {
    "paper": "papers", "section": "sections", "kind": "kinds", "author": "authors", "collection": "collections",
    "tag": "tags", "item_type": "item_types",
}  # fmt: skip
"""The field of `Filters` for each name of which there may be several."""


def filters_of(
    *, pages: tuple[int, int] | None = None, years: str | None = None, **lists: Sequence[str] | None
) -> Filters:
    """The filters; `lists` by their field. Raises UsageError for an unknown kind, an invalid year, or blanks only."""
    named = {field: name.replace("_", "-") for name, field in LISTS.items()}
    given: dict[str, Any] = {
        field: tuple(_value(text, named[field]) for text in texts or ()) for field, texts in lists.items()
    }
    return Filters(pages=pages, years=None if years is None else year_range(years), **given)


def _value(text: str, name: str) -> str:
    """One value of a filter, checked."""
    if name in ("kind", "paper"):
        return _kind(text) if name == "kind" else text
    if not text.strip():
        raise UsageError(f"The {name} to keep to is empty.", f"Give a part of its name, or leave --{name} out.")
    return text.strip()


def _kind(text: str) -> str:
    kind = text.strip().casefold()
    if kind not in PASSAGE_KINDS:
        near = difflib.get_close_matches(kind, PASSAGE_KINDS, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise UsageError(f"There is no kind {text!r}.{hint}", f"The kinds are {', '.join(PASSAGE_KINDS)}.")
    return kind


def year_range(text: str) -> tuple[int, int]:
    """`2017`, `2015-2020`, `2015-` or `-2020` as first and last year, inclusive. Raises UsageError."""
    match = _YEAR.fullmatch(text.strip())
    first, dash, last = match.groups() if match else (None, None, None)
    if first or last:
        low = int(first) if first else _FIRST
        high = (int(last) if last else _LAST) if dash else low
        if low <= high:
            return low, high
    raise UsageError(f"{text!r} is no year and no range of years.", "Write `--year 2017` or `--year 2015-2020`.")


def joined(general: Filters, own: Filters) -> Filters:
    """The filters of a whole run with those of one question of it: lists together, its own pages and years first."""
    lists = {name: (*getattr(general, name), *getattr(own, name)) for name in LISTS.values()}
    return replace(general, **lists, pages=own.pages or general.pages, years=own.years or general.years)


def described(filters: Filters) -> str:
    """The filters by name: `section=method year=2015-2020`; empty without filters."""
    lists = {name.replace("_", "-"): getattr(filters, field) for name, field in LISTS.items()}
    parts = [f"{name}={shlex.quote(value)}" for name, values in lists.items() for value in values]
    if filters.pages:
        first, last = filters.pages
        parts.append(f"pages={first}" if first == last else f"pages={first}-{last}")
    if filters.years:
        parts.append(f"year={_years(*filters.years)}")
    return " ".join(parts)


def _years(first: int, last: int) -> str:
    return str(first) if first == last else f"{first if first > _FIRST else ''}-{last if last < _LAST else ''}"


_HEADING_NUMBER = "0123456789. "
"""What a heading may begin with."""
_HEADINGS = "`python ingest.py show PAPER` lists a paper's headings."


def filters_by_name(library: Store, filters: Filters) -> Filters:
    """The same filters, with the files of papers that only their own names lead to beside the patterns or for them."""
    if not filters.papers:
        return filters
    papers, patterns = library.papers(), list[str]()
    for pattern in filters.papers:
        plain = papers_fitting(papers, pattern)
        named = [paper for paper in papers_matching(library, pattern, papers) if paper not in plain]
        patterns += [pattern] if plain or not named else []
        patterns += [paper.file for paper in named]
    return replace(filters, papers=tuple(dict.fromkeys(patterns)))


def check_filters(library: Store, filters: Filters) -> None:
    """Raise NothingFound where filters leave no passage, or have a paper, author, year or heading that is not there.

    `filters` as `filters_by_name` gives them. Nothing is checked of an empty library.
    """
    if filters == Filters() or not library.about.chunks:
        return
    if filters.sections:
        _check_sections(library.section_names(), filters.sections)
    allowed = library.select(filters)
    if allowed is None or allowed.size:
        return
    hint = "Give fewer filters, or others."
    if not filters.kinds:
        references = library.select(replace(filters, kinds=("reference",)))
        if references is not None and references.size:
            hint = "Only references match; --kind reference searches them."
    raise NothingFound(f"No passage fits the filters: {described(filters)}.", hint)


def _check_sections(names: Sequence[str], parts: Sequence[str]) -> None:
    """Raise NothingFound where none of the parts is in a heading."""
    if any(is_in_section(fold(part), fold(name)) for part in parts for name in names):
        return
    headings = {fold(heading.lstrip(_HEADING_NUMBER)) for name in names for heading in name.split(" › ")}
    hint = did_you_mean(parts[0], {heading: heading for heading in sorted(headings)})
    said = " or ".join(map(repr, parts))
    raise NothingFound(f"No heading has {said}.", f"{hint} {_HEADINGS}".strip())


LONGEST_QUESTION = 8000
"""Characters; a longer one is a pasted text, and no model reads it with its passages."""
SEARCHED_CHARS = 2000
"""Characters of a question that are searched for: each of its words is compared with each of the passages'."""
NO_LLM = "none"
"""In place of a language model's name."""


def shortened(question: str) -> str:
    """The question; of one longer than `SEARCHED_CHARS` its beginning and its end, half of them each."""
    half = SEARCHED_CHARS // 2
    return question if len(question) <= SEARCHED_CHARS else f"{question[: half - 1]} {question[-half:]}"


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A question to find passages for. None: as the settings say."""

    question: str
    filters: Filters = field(default_factory=Filters)
    history: tuple[Turn, ...] = ()
    """Earlier turns that the question is understood by; without any, those of the conversation."""
    focus: tuple[str, ...] | None = None
    """The papers (files) that the conversation is about; None: those that its turns are about."""
    top_k: int | None = None
    """How many passages."""
    profile: str | None = None
    rerank: str | None = None
    """The reranker: "auto", "cross-encoder", "late-interaction", "llm" or "off"."""
    graph: bool | None = None
    """Whether the knowledge graph names candidates, too."""
    graph_filter: bool = False
    """Whether only papers that mention what the graph has near the question are searched."""
    llm: str | None = None
    """The language model, by its name in Ollama; NO_LLM: none, answers are quotes."""

    def overrides(self) -> dict[str, object]:
        """The settings that this request replaces, by name."""
        graph = None if self.graph is None else "on" if self.graph else "off"
        given = {"profile": self.profile, "rerank": self.rerank, "graph": graph}
        if self.llm is not None:
            given |= {"answerer": "extractive"} if self.llm == NO_LLM else {"answerer": "auto", "llm": self.llm}
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True, slots=True)
class AskRequest(SearchRequest):
    """A question to answer."""

    strict: bool = False
    """Refuse an answer that no cited page holds."""
    agent: bool = False
    """Answer in several steps: sub-questions, drafts, a second look."""
    corrective: bool | None = None
    """Grade the results, and search again, reworded, if they are doubtful; None: by the profile."""
    plain: bool = False
    """Answer every question from one search, also one that a route of its own would answer."""


def check_question(text: str) -> str:
    """The question without white space around it. Raises UsageError for nothing, for too much and for no text."""
    stripped = text.strip()
    if not stripped:
        raise UsageError("The question is empty.", 'Ask something: python query.py "…"')
    if len(stripped) > LONGEST_QUESTION:
        fix = "Shorten it."
        raise UsageError(f"The question has {len(stripped):,} characters; {LONGEST_QUESTION:,} are allowed.", fix)
    if "\x00" in stripped or any("\ud800" <= char <= "\udfff" for char in stripped):
        raise UsageError("The question is not text (it has NUL or undecodable bytes).", "Give it as UTF-8.")
    return stripped
