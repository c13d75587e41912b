"""Checks of models and servers: which models are there, without loading one, and what the network can reach."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from ragscience.core.errors import LibraryUnavailable, ModelProblem
from ragscience.core.tokenizing import counted
from ragscience.models.model_choice import ModelChoice
from ragscience.models.model_servers import Ollama, OpenAIServer
from ragscience.upkeep.findings import DoctorFinding

__all__ = ["models", "network", "torch_model"]

_SECONDS = 10.0
_NO_OLLAMA = "Start it with `ollama serve`, or set RAG_OLLAMA_URL; without it, answers are made of quotes."


def models(parts: Mapping[str, Callable[[], ModelChoice[Any]]], needed: Collection[str]) -> Iterator[DoctorFinding]:
    """A finding for each part ("embedder", "reranker", "answer"), made of its choice.

    A model that is missing is an error for the parts of `needed`, else an info.
    """
    for part, choose in parts.items():
        try:
            choice = choose()
        except (ModelProblem, LibraryUnavailable) as problem:
            yield DoctorFinding(
                "models", "error" if part in needed else "info", f"{part}: {problem.message}", problem.fix
            )
            continue
        if choice.model is None:
            yield DoctorFinding("models", "info", f"{part}: no model, {choice.why}.", choice.warning)
            continue
        name = choice.model.identity.model if part == "embedder" else choice.model.name
        yield DoctorFinding("models", "ok", f"{part}: {name} ({choice.why}).", choice.warning)


def torch_model(name: str) -> DoctorFinding:
    """Whether the files of the embedder of sentence-transformers are there. Raises ModelProblem."""
    from ragscience.models.model_download import find_on_this_machine

    folder = find_on_this_machine(name)
    if folder is None:
        remedy = "Name its folder in RAG_EMBEDDING_MODEL."
        return DoctorFinding("models", "error", f"embedder: {name} is not on this machine.", remedy)
    return DoctorFinding("models", "ok", f"embedder: {name} (its files are in {folder}).")


def network(arxiv_url: str, ollama: Ollama, servers: Iterable[OpenAIServer]) -> Iterator[DoctorFinding]:
    """Whether arXiv's API, Ollama and the servers with OpenAI's API answer, by one small request each."""
    yield _arxiv(arxiv_url)
    for server in (*servers, ollama):
        status, is_ollama = server.status, server is ollama
        if status.running:
            name = f"Ollama {status.version}" if is_ollama else "The server"
            models = counted(len(status.models), "model")
            yield DoctorFinding("network", "ok", f"{name} at {server.shown} answers and has {models}.")
        else:
            why = f"{status.why[:1].upper()}{status.why[1:]}."
            yield DoctorFinding(
                "network", *(("info", why, _NO_OLLAMA) if is_ollama else ("warning", why, server.remedy))
            )


def _arxiv(url: str) -> DoctorFinding:
    import httpx

    host = urlsplit(url).netloc
    remedy = f"`curl -I {url}` shows more; until then `python ingest.py fetch` cannot be used."
    headers = {"User-Agent": "ragscience-doctor"}
    try:
        code = httpx.head(url, headers=headers, timeout=_SECONDS, follow_redirects=True).status_code
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        return DoctorFinding("network", "warning", f"{host} cannot be reached: {error}.", remedy)
    # A request without a query may be refused: the server still responds.
    if code >= 500 or code in (403, 429):
        return DoctorFinding("network", "warning", f"{host} answers with HTTP {code}.", "Try again in a few minutes.")
    return DoctorFinding("network", "ok", f"{host} can be reached.")
