"""The language models that a conversation can choose from, and the one that it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragscience.core.settings import changed_settings
from ragscience.engine.requests import NO_LLM, SearchRequest

if TYPE_CHECKING:
    from ragscience.engine.shared_parts import SharedParts

__all__ = ["chat_model", "chat_models"]


def chat_models(shared: SharedParts) -> tuple[list[str], str]:
    """The models that the server has, without the embedding model, and why there are none; asks the server once."""
    settings = shared.settings
    status = shared.models.llm_status(settings)
    if not status.running:
        return [], status.why
    embedding = status.find(settings.embedding_model)
    return sorted(name for name in status.models if name != embedding), "it has no chat model"


def chat_model(shared: SharedParts, request: SearchRequest) -> str:
    """The language model that a question would be answered by; NO_LLM for quotes. Raises ModelProblem."""
    choice = shared.models.llm_choice(changed_settings(shared.settings, request.overrides()))
    return choice.model.name if choice.model is not None else NO_LLM
