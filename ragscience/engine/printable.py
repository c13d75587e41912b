"""What is printed: the JSON of `--json` (docs/json-schema.json), text made safe for a terminal, numbers of things."""

import json
import math
import platform
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ragscience.core import LICENCE, __version__
from ragscience.core.errors import RagScienceError
from ragscience.core.records import Answer, Found, Paper, PathStep, title_of
from ragscience.core.sentences import formulas_named, split_sentences
from ragscience.core.serialization import select
from ragscience.core.tokenizing import counted as counted
from ragscience.core.tokenizing import some_of as some_of
from ragscience.core.tokenizing import tokenize
from ragscience.library.atomic_files import Home, check_place, disk_errors, write_atomically
from ragscience.library.database import SCHEMA_VERSION
from ragscience.library.history_database import Conversation, KeptAnswer

_NEW_LINES = re.compile("[\v\f\x85\u2028\u2029]")
_ESCAPES = re.compile("[\x1b\x9b]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_UNSEEN = re.compile(
    "["
    "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\r"  # controls that are neither a line's end nor an escape
    "\u00ad\u061c\u180e"  # soft hyphen, Arabic letter mark, Mongolian vowel separator
    "\u200b-\u200f"  # zero width space, joiners, direction marks
    "\u202a-\u202e\u2066-\u206f"  # direction embeddings, overrides and isolates; deprecated shapes
    "\u2060-\u2065\ufeff\ufff9-\ufffb"  # word joiner, invisible operators, byte order mark, annotations
    "\U000e0000-\U000e0fff"  # tags and variation selectors that no font shows
    "]"
)


def plain(text: str) -> str:
    r"""`text` without anything that moves the cursor, changes colours, hides or reorders what is read.

    The escape character becomes "␛", so that what followed it stays readable and powerless; other controls and
    invisible format characters go, new lines and tabs stay, a lone surrogate becomes "\ufffd". Right-to-left text and
    combining marks are kept as they are. Each character is treated by itself: `plain(a + b) == plain(a) + plain(b)`,
    so that a stream can be cleaned piece by piece.
    """
    text = _ESCAPES.sub("␛", _NEW_LINES.sub("\n", text))
    return _SURROGATES.sub("\ufffd", _UNSEEN.sub("", text))


def one_line(text: str) -> str:
    """`text` safe to show, in one line: a file's name with a line break in it cannot look like a line of ours."""
    return plain(text).replace("\n", " ")


def shortened(text: str, chars: int) -> str:
    """`text` on one line and safe to show, or what fits of it into `chars`, to a sentence's or a word's end, and " …".

    A script without spaces is cut between characters.
    """
    flat = " ".join(plain(text).split())
    if len(flat) <= chars:
        return flat
    part = flat[: chars - 2]
    sentence = max(part.rfind(stop) for stop in (". ", "? ", "! ", "。")) + 1
    if sentence * 2 > chars:
        return part[:sentence] + " …"
    words = part if flat[len(part)] == " " else part.rpartition(" ")[0]
    return (words if len(words) * 2 > chars else part).rstrip(" ,;:") + " …"


def rounded_time(seconds: float) -> str:
    """A time as exact as it can be known: to 10 s, to a minute from two minutes on, to 10 minutes from two hours on."""
    if seconds < 115:
        return f"{max(10, round(seconds / 10) * 10)} s"
    if seconds < 115 * 60:
        return f"{round(seconds / 60)} min"
    hours, tens = divmod(round(seconds / 600), 6)
    return f"{hours} h {tens}0 min" if tens else f"{hours} h"


@lru_cache(maxsize=64)
def asked_terms(question: str) -> frozenset[str]:
    """The content words of the question as terms, without "list", "paper" and the like, and without single letters.

    Of a script without spaces: its pairs of characters.
    """
    from ragscience.search.first_pass import asked_terms as content_terms

    return frozenset(term for term in content_terms(question) if len(term) > 1)


def excerpt(question: str, text: str, chars: int) -> str:
    """`text` on one line, or from its first sentence with the most of the question's words what fits into `chars`.

    What is left out before and after is "…".
    """
    flat = " ".join(text.split())
    if len(flat) <= chars:
        return flat
    asked = asked_terms(question)
    starts = [span.start for span in split_sentences(flat)]
    start = max(starts, key=lambda start: len(asked & set(tokenize(flat[start : start + chars]))), default=0)
    return f"… {shortened(flat[start:], chars - 2)}" if start else shortened(flat, chars)


def paper_names(home: Path) -> list[str]:
    """The papers' file names, from ingested.json; OSError, ValueError or KeyError where that cannot be read."""
    known = json.loads(Home(home).ledger.read_text(encoding="utf-8"))
    return [str(paper["file"]) for paper in known["files"].values()]


def conversation_names(home: Path) -> list[str]:
    """The conversations' names; those of a running chat may be missing. sqlite3.Error where they cannot be read."""
    address = f"file:{quote(str(Home(home).history.absolute()))}?mode=ro&immutable=1"
    with closing(sqlite3.connect(address, uri=True)) as connection:
        return [str(name) for (name,) in connection.execute("SELECT name FROM conversations WHERE name IS NOT NULL")]


def version_output() -> dict[str, Any]:
    """What `--version --json` prints: the versions of the program, of Python and of the library's schema."""
    versions = {"version": __version__, "python": platform.python_version(), "library_schema": SCHEMA_VERSION}
    return select("schema version python library_schema licence", licence=LICENCE, **versions)


def version_line() -> str:
    """The same, but for the licence, in one line."""
    return "RAG Science {version} (Python {python}, library schema {library_schema})".format(**version_output())


_SEARCH = "schema id question profile hits warnings timings_ms concepts paths"
_ANSWER = (
    f"{_SEARCH} answer_id trace_id answer mode refused citations models searched conversation created_at sentences "
    "answerability verdict prompt_cut tokens trace confidence missing route route_note blocks"
)
_HIT = "rank file path md5 page_start page_end section kind text chunk_id score scores found_by"
_PAPER = "file path md5 title pages chunks added_at warnings metadata"
_OUTLINE = f"schema {_PAPER} bibtex_key names outline tables figures references page_warnings"


def search_output(found: Found, question_id: str | None) -> dict[str, Any]:
    """What `search --json` prints for one question."""
    return with_formulas_named(select(_SEARCH, found, id=question_id, **_shown(found)))  # type: ignore[no-any-return]


def answer_output(
    answer: Answer, question_id: str | None = None, *, conversation: int | None = None, created_at: str | None = None
) -> dict[str, Any]:
    """What `ask --json` prints for one question; `conversation` and `created_at` are None where nothing was kept."""
    found = answer.found
    shown = select(
        _ANSWER,
        answer,
        found,
        **_shown(found),
        id=question_id,
        answer=answer.text,
        warnings=list(dict.fromkeys([*found.warnings, *answer.warnings])),
        timings_ms={**found.timings_ms, **answer.timings_ms},
        searched=found.understood,
        verdict=found.verdict or None,
        conversation=conversation,
        created_at=created_at,
    )
    return with_formulas_named(shown)  # type: ignore[no-any-return]


def with_formulas_named(value: Any, page: int = 0) -> Any:
    """The JSON value with "[formula, p.5]" in place of each formula that was not understood; `page` is its record's."""
    if isinstance(value, str):
        return formulas_named(value, page)
    if hasattr(value, "__dataclass_fields__"):
        value = {name: getattr(value, name) for name in value.__dataclass_fields__}
    if isinstance(value, dict):
        cited = value.get("citation") or next(iter(value.get("citations") or ()), None)
        own: Any = value.get("page") or value.get("page_start")
        page = own or getattr(cited, "page", page)
        return {name: with_formulas_named(each, page) for name, each in value.items()}
    return [with_formulas_named(each, page) for each in value] if isinstance(value, list | tuple) else value


def _shown(found: Found) -> dict[str, Any]:
    return {
        "hits": [select(_HIT, hit, hit.chunk) for hit in found.hits],
        "paths": [{"score": path.score, "steps": [step_output(step) for step in path.steps]} for path in found.paths],
    }


def step_output(step: PathStep) -> dict[str, Any]:
    """A relation and the pages that state it."""
    return select("source relation target pages", step, pages=page_outputs(step.pages))


def page_outputs(pages: Iterable[tuple[str, int]]) -> list[dict[str, Any]]:
    """(file, page) pairs as JSON objects."""
    return [{"file": file, "page": page} for file, page in pages]


def error_output(error: RagScienceError, question_id: str | None, question: str | None) -> dict[str, Any]:
    """What a failed question leaves in its place."""
    return select(
        "schema id question error", id=question_id, question=question, error=select("message fix exit_code", error)
    )


def paper_output(paper: Paper) -> dict[str, Any]:
    """What `list --json` prints for one paper."""
    return select(_PAPER, paper, title=title_of(paper))


def conversation_output(conversation: Conversation) -> dict[str, Any]:
    """What `history list --json` prints for one conversation."""
    number, name = conversation.conversation_id, conversation.name or None
    return select("conversation name title turns started_at changed_at", conversation, conversation=number, name=name)


def turns_output(conversation: Conversation, turns: Iterable[KeptAnswer]) -> dict[str, Any]:
    """What `history show --json` prints."""
    given = [answer_output(one.answer, conversation=one.conversation_id, created_at=one.created_at) for one in turns]
    return select("schema conversation turns", conversation=conversation_output(conversation), turns=given)


def outline_output(outline: Any) -> dict[str, Any]:
    """What `show --json` prints for a paper."""
    return select(
        _OUTLINE,
        outline.paper,
        outline,
        title=title_of(outline.paper),
        names=[{"name": name.name, "how": name.how, "page": name.page} for name in outline.names],
        outline=[{"level": entry.level, "heading": entry.text, "page": entry.page} for entry in outline.headings],
        tables=[{"caption": entry.text, "page": entry.page} for entry in outline.tables],
        figures=[{"caption": entry.text, "page": entry.page} for entry in outline.figures],
        page_warnings=[{"page": page.number, "warning": page.warning} for page in outline.pages if page.warning],
    )


def page_output(shown: Any) -> dict[str, Any]:
    """What `show --page N --json` prints."""
    page, text = shown.page, shown.text
    elements = [
        select("kind level section text box", element, text=text[element.start - page.start : element.end - page.start])
        for element in shown.elements
    ]
    return select(
        "schema file path page text elements furniture warning",
        page,
        shown.paper,
        page=page.number,
        text=text,
        elements=elements,
    )


_MOST_ASKED = 3
"""More rows than this with the same share of the question's terms are none that it asks for."""
_FIRST_ROWS = 2
"""Rows under the header that are always shown: often they go on with it."""


@dataclass(frozen=True, slots=True)
class CellTable:
    """A table; each row has as many cells as the header."""

    header: tuple[str, ...]
    """Empty texts where the table has no header."""
    rows: tuple[tuple[str, ...], ...]


def read_table(markdown: str) -> CellTable:
    """The cells of a Markdown table; rows without a line of dashes below the first have no header."""
    from ragscience.ask.cells import cells_of

    lines = [cells_of(line) for line in markdown.split("\n") if line.strip()]
    width = max(map(len, lines), default=0)
    rows = [(*cells, *[""] * (width - len(cells))) for cells in lines]
    has_header = len(lines) > 1 and all(cell and not cell.strip("-:") for cell in lines[1])
    return CellTable(rows[0], tuple(rows[2:])) if has_header else CellTable(("",) * width, tuple(rows))


def asked_rows(question: str, table: CellTable) -> list[int]:
    """Numbers of the rows whose cells have the most of the question's terms, rare ones counting more; none if many."""
    asked = asked_terms(question)
    held = [asked.intersection(tokenize(" ".join(row))) for row in table.rows]
    frequency = Counter(term for terms in held for term in terms)
    weights = [sum(math.log(len(held) / frequency[term]) for term in sorted(terms)) for terms in held]
    best = max(weights, default=0.0)
    rows = [number for number, weight in enumerate(weights) if 0 < best <= weight + 1e-9]
    return rows if len(rows) <= _MOST_ASKED else []


def asked_columns(question: str, table: CellTable) -> list[int]:
    """Numbers of the columns whose header has a term of the question."""
    asked = asked_terms(question)
    return [number for number, name in enumerate(table.header) if not asked.isdisjoint(tokenize(name))]


def shown_rows(count: int, asked: Sequence[int], most: int) -> list[int]:
    """Numbers of the rows that are shown of `count`: all, or about `most`: the first ones and those round the asked.

    A single row is never left out.
    """
    if count <= most + 2:
        return list(range(count))
    chosen = set(range(_FIRST_ROWS if asked else most)) | set(asked)
    distance = 1
    while asked and len(chosen) < most:
        near = {row + step for row in asked for step in (-distance, distance)}
        chosen |= {row for row in near if 0 <= row < count}
        distance += 1
    return [row for row in range(count) if row in chosen or {row - 1, row + 1} <= chosen]


def write_out(target: Path, made: str | bytes) -> None:
    """Write the file, wholly or not at all. Raises UsageError or RagScienceError where it cannot be."""
    path = target.expanduser().resolve()
    content = made.encode("utf-8", "replace") if isinstance(made, str) else made
    check_place(path)
    with disk_errors(path):
        if path.exists() and not path.is_file():  # a pipe or a device is written to, never replaced
            path.write_bytes(content)
        else:
            write_atomically(path, content)
