"""What the engine can be asked: plain records, checked when they are used."""

from __future__ import annotations

from dataclasses import dataclass, field

from ragscience.core.errors import UsageError
from ragscience.core.records import Filters, Turn

__all__ = ["LONGEST_QUESTION", "NO_LLM", "AskRequest", "SearchRequest", "check_question"]

LONGEST_QUESTION = 8000
"""Characters; a longer one is a pasted text, and no model reads it with its passages."""
NO_LLM = "none"
"""In place of a language model's name."""


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A question to find passages for. None: as the settings say."""

    question: str
    filters: Filters = field(default_factory=Filters)
    history: tuple[Turn, ...] = ()
    """Earlier turns that the question is understood by; without any, those of the conversation."""
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
        switches = {"graph": self.graph}
        given = {"profile": self.profile, "rerank": self.rerank}
        given |= {name: None if value is None else "on" if value else "off" for name, value in switches.items()}
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
        raise UsageError(
            f"The question has {len(stripped):,} characters; {LONGEST_QUESTION:,} are allowed.",
            "Shorten it.",
        )
    if "\x00" in stripped or any("\ud800" <= char <= "\udfff" for char in stripped):
        raise UsageError("The question is not text (it has NUL or undecodable bytes).", "Give it as UTF-8.")
    return stripped
