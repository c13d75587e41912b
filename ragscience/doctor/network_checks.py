"""Whether what is fetched from can be reached: one small request each, and only when that is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from http.client import HTTPException
from urllib.parse import urlsplit

from ragscience.doctor.findings import Finding
from ragscience.models.ollama_api import Ollama

__all__ = ["network"]

_SECONDS = 10.0
_NO_OLLAMA = "Start it with `ollama serve`, or set RAG_OLLAMA_URL; without it, answers are made of quotes."


def network(arxiv_url: str, ollama: Ollama) -> Iterator[Finding]:
    """Ask arXiv's API for nothing, and Ollama for its version."""
    yield _arxiv(arxiv_url)
    if ollama.status.running:
        yield Finding("network", "ok", f"Ollama {ollama.status.version} answers at {ollama.url}.")
    else:
        why = ollama.status.why
        yield Finding("network", "info", f"{why[:1].upper()}{why[1:]}.", _NO_OLLAMA)


def _arxiv(url: str) -> Finding:
    import urllib.error
    import urllib.request

    host = urlsplit(url).netloc
    remedy = f"`curl -I {url}` tells more; until then `python ingest.py fetch` cannot be used."
    request = urllib.request.Request(url, method="HEAD", headers={"User-Agent": "ragscience-doctor"})  # noqa: S310  # the setting's pattern lets http and https pass alone
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as response:  # noqa: S310  # as above
            code = int(response.status)
    except urllib.error.HTTPError as error:
        error.close()
        code = error.code
    except (OSError, HTTPException, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        return Finding("network", "warning", f"{host} cannot be reached: {reason}.", remedy)
    # A request without a question may be refused as one; that it is refused means that someone is there.
    if code >= 500 or code in (403, 429):
        return Finding("network", "warning", f"{host} answers with HTTP {code}.", "Try again in a few minutes.")
    return Finding("network", "ok", f"{host} can be reached.")
