"""Tool calls by rules, without an LLM: a question that names a paper, page, section, sum or the library."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ragscience.agent.calculator import calculate
from ragscience.agent.tool_results import ToolCall
from ragscience.ask.paper_mentions import named_papers
from ragscience.core.errors import UsageError
from ragscience.core.records import Paper

__all__ = ["MOST_PLANNED", "expressions", "planned_calls"]

MOST_PLANNED = 4
"""Calls that one question gives."""

_LIST = re.compile(
    r"\b(?:which|what|how many|list|show|name)\b(?:\s+\w+){0,3}?\s+(?:papers|pdfs|documents|articles)\b"
    r"(?=.{0,40}\b(?:do i have|have i|are there|are in|in (?:my|the|this) (?:library|collection|folder)|you have"
    r"|i have|available)\b)"
    r"|^\s*(?:please\s+)?list\s+(?:all\s+)?(?:of\s+)?(?:my|the)?\s*(?:papers|pdfs|documents)\s*[.?!]*\s*$"
    r"|\bwhat(?:'s| is) in my (?:library|collection)\b",
    re.IGNORECASE,
)
_CITE = re.compile(
    r"\bbib\s?-?tex\b|\b(?:how (?:do|should|can|to) (?:i |we |one )?cite|cite this|citation (?:for|of|entry|key)"
    r"|reference entry|bibliograph\w+ (?:entry|of|for))\b|^\s*(?:please\s+)?cite\b",
    re.IGNORECASE,
)
_PAGE = re.compile(r"\b(?:pages?|pp?\.)\s*(\d{1,4})\b", re.IGNORECASE)
_NUMBERED = re.compile(r"(?:\bsec(?:tion|\.)|§|\bappendix)\s*((?:\d{1,2}|[A-Z])(?:\.\d{1,2})*)\b", re.IGNORECASE)
_NAMED = re.compile(
    r"\b(?:the|its|their)\s+(abstract|introduction|conclusions?|discussion|related work|background|acknowledge?ments?"
    r"|limitations)\b(?!\s+(?:of|that)\s+(?:a|an)\b)"
    r"|\b(?:the|its|their)\s+(?!same\b|first\b|second\b|last\b|next\b|other\b)([^\W\d]+(?:\s+[^\W\d]+)?)\s+section\b",
    re.IGNORECASE,
)
_NUMBER = r"(?:(?:\d[\d,]*\.?\d*|\.\d+)(?:e[+-]?\d+)?)"
_CALL = r"(?:sqrt|abs|min|max|round|floor|ceil|exp|log2|log10|log)\s*\("
_SUM = re.compile(
    rf"(?<![\w.])(?:[-(\s]|{_CALL})*{_NUMBER}\s*%?(?:\s*(?:\*\*|//|of\b|[-+*/×÷^%,()−·]|{_CALL}|{_NUMBER})\s*%?)*"
)
_ASKED_TO = re.compile(
    r"(?:\b(?:calculate|compute|evaluate|work out|how much (?:is|are)|what(?:'s| is| are)|result of|equals?)\s*:?|^)"
    r"\s*$",
    re.IGNORECASE,
)
_CLEAR = re.compile(r"\d\s*(?:\*\*?|\+|×|÷|\^|%\s*of\b)\s*[(\d.]|\d\s+[-−/]\s+[(\d]|sqrt\s*\(|log(?:2|10)?\s*\(")


def planned_calls(question: str, papers: Sequence[Paper]) -> list[ToolCall]:
    """The tool calls that the question names, in this order: calculations, the list, then those of each named paper.

    For a named paper: its BibTeX entry, pages or sections, if the question names them, else a search
    within it. A page or section without a paper is one of the library's only paper, where there is just one.
    """
    calls = [ToolCall("calculate", {"expression": each}) for each in expressions(question)]
    if _LIST.search(question):
        calls.append(ToolCall("list_papers"))
    named = named_papers(question, papers)
    about = named or (list(papers) if len(papers) == 1 else [])
    places = _places(question)
    for paper in about:
        if _CITE.search(question):
            calls.append(ToolCall("cite", {"paper": paper.file}))
        else:
            calls += [ToolCall(tool, {"paper": paper.file, key: value}) for tool, key, value in places]
        if named and not places and not _CITE.search(question):
            calls.append(ToolCall("search", {"query": question, "paper": paper.file}))
    return calls[:MOST_PLANNED]


def expressions(question: str) -> list[str]:
    """The arithmetic in a question; years, ranges and versions do not count.

    An explicit request ("Compute 9**9**9") counts even if it has no value, so that the answer can say so.
    """
    found = []
    for match in _SUM.finditer(question):
        text = match.group().strip(" ,=")
        while text.count("(") > text.count(")") and text.startswith("("):
            text = text[1:].lstrip()
        while text.count(")") > text.count("(") and text.endswith(")"):
            text = text[:-1].rstrip()
        behind = question[match.end() : match.end() + 1]
        asked = _ASKED_TO.search(question[: match.start()]) and not (behind.isalpha() or behind == "_")
        if not re.search(r"\d", text) or not (_CLEAR.search(text) or (asked and re.search(r"[-/]", text))):
            continue
        if asked or _has_value(text):
            found.append(text)
    return list(dict.fromkeys(found))


def _has_value(text: str) -> bool:
    try:
        calculate(text)
    except UsageError:
        return False
    return True


def _places(question: str) -> list[tuple[str, str, str | int]]:
    """(tool, argument, value) for each page and section that is named."""
    pages: list[tuple[str, str, str | int]] = [
        ("read_page", "page", int(number)) for number in dict.fromkeys(_PAGE.findall(question))
    ]
    return pages + [("read_section", "section", name) for name in dict.fromkeys(_sections(question))]


def _sections(question: str) -> Iterator[str]:
    yield from _NUMBERED.findall(question)
    for match in _NAMED.finditer(question):
        yield match.group(1) or match.group(2)
