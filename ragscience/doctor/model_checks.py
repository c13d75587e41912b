"""Which models are there, by their files and by what Ollama says of itself: nothing is loaded."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from ragscience.doctor.findings import Finding
from ragscience.errors import LibraryUnavailable, ModelProblem
from ragscience.models.model_choice import Choice
from ragscience.models.ollama_api import Ollama

__all__ = ["models", "torch_model"]


def models(
    parts: Mapping[str, Callable[[], Choice[Any]]], needed: Collection[str], ollama: Ollama
) -> Iterator[Finding]:
    """A finding for each part ("embedder", "reranker", "answer"), made of its choice.

    What is lacking is an error for the parts of `needed`, for others it only says what is done without.
    """
    for part, choose in parts.items():
        try:
            choice = choose()
        except (ModelProblem, LibraryUnavailable) as problem:
            yield Finding("models", "error" if part in needed else "info", f"{part}: {problem.message}", problem.fix)
            continue
        if choice.model is None:
            yield Finding("models", "info", f"{part}: no model, {choice.why}.", choice.notice)
            continue
        name = choice.model.identity.model if part == "embedder" else choice.model.name
        window = _window(part, choice.model, ollama)
        reads = f"; it reads {window} tokens at once" if window else ""
        yield Finding("models", "ok", f"{part}: {name} ({choice.why}){reads}.", choice.notice)


def torch_model(name: str) -> Finding:
    """The embedder that sentence-transformers would load: whether its files are there. Raises ModelProblem."""
    from ragscience.models.cross_encoder import find_on_this_machine

    folder = find_on_this_machine(name)
    if folder is None:
        remedy = "Name its folder in RAG_EMBEDDING_MODEL."
        return Finding("models", "error", f"embedder: {name} is not on this machine.", remedy)
    return Finding("models", "ok", f"embedder: {name} (its files are in {folder}).")


def _window(part: str, model: Any, ollama: Ollama) -> int | None:
    """Tokens; None where it is not known without loading the model."""
    from ragscience.models.cross_encoder import PAIR_TOKENS, OnnxCrossEncoder
    from ragscience.models.minilm import WINDOW_TOKENS

    if part == "embedder":
        if model.identity.provider == "embedded":
            return WINDOW_TOKENS + 2  # with the two special tokens
        try:
            return ollama.show(model.identity.model).context_length
        except ModelProblem:
            return None
    if part == "answer":
        return int(model.window)
    return PAIR_TOKENS if isinstance(model, OnnxCrossEncoder) else None
