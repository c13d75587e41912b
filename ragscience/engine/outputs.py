"""What `--json` prints, from records; docs/json-schema.json describes each object and field."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ragscience.core.errors import RagScienceError
from ragscience.core.records import Answer, Found, Paper, PathStep, title_of
from ragscience.core.serialization import select

if TYPE_CHECKING:
    from ragscience.library.history import Conversation, KeptAnswer

_SEARCH = "schema id question profile hits warnings timings_ms concepts paths"
_ANSWER = (
    f"{_SEARCH} answer_id trace_id answer mode refused citations models searched conversation created_at sentences "
    "answerability verdict prompt_cut tokens trace confidence missing route route_note blocks"
)
_HIT = "rank file path md5 page_start page_end section kind text chunk_id score scores found_by"
_PAPER = "file path md5 title pages chunks added_at warnings metadata"
_OUTLINE = f"schema {_PAPER} bibtex_key names outline tables figures references page_warnings"


def search_output(found: Found, question_id: str | None, warnings: Iterable[str] = ()) -> dict[str, Any]:
    """What `search --json` prints for one question."""
    return select(_SEARCH, found, id=question_id, warnings=[*found.warnings, *warnings], **_shown(found))


def answer_output(
    answer: Answer,
    question_id: str | None = None,
    warnings: Iterable[str] = (),
    *,
    conversation: int | None = None,
    created_at: str | None = None,
) -> dict[str, Any]:
    """What `ask --json` prints for one question; `conversation` and `created_at` are None where nothing was kept."""
    found = answer.found
    return select(
        _ANSWER,
        answer,
        found,
        **_shown(found),
        id=question_id,
        answer=answer.text,
        warnings=list(dict.fromkeys([*found.warnings, *answer.warnings, *warnings])),
        timings_ms={**found.timings_ms, **answer.timings_ms},
        searched=found.question,
        verdict=found.verdict or None,
        conversation=conversation,
        created_at=created_at,
    )


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
    return select(
        "schema conversation turns",
        conversation=conversation_output(conversation),
        turns=[
            answer_output(kept.answer, conversation=kept.conversation_id, created_at=kept.created_at) for kept in turns
        ],
    )


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
