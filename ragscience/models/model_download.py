"""Downloads models on the user's request: the only code that downloads weights."""

from __future__ import annotations

import os
import socket
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any

from ragscience.core.addresses import shown_address
from ragscience.core.errors import ModelProblem
from ragscience.models.cross_encoder import NEEDED_FILES, OPTIONAL_FILES, find_on_this_machine, hub_cache
from ragscience.models.ollama_api import Ollama
from ragscience.models.reply_limits import UnusableReply

__all__ = ["PullProgress", "pull_cross_encoder", "pull_ollama"]

HUB = "https://huggingface.co"
REACH_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class PullProgress:
    """The progress of a download."""

    item: str
    """A file, or Ollama's status message."""
    done_bytes: int
    total_bytes: int | None
    """None if unknown."""


def pull_cross_encoder(name: str, on_progress: Callable[[PullProgress], None]) -> Path:
    """Download a cross-encoder's files from the hub (HF_ENDPOINT, by default huggingface.co) into its cache.

    Returns the folder with the files. Existing files are not downloaded again, and an interrupted download
    resumes. Raises ModelProblem: no network, no such model, no such file.
    """
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
        raise ModelProblem(f"{name} was not fetched: HF_HUB_OFFLINE is set.", "Unset it and run the command again.")
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    endpoint = os.environ.get("HF_ENDPOINT", HUB).rstrip("/")
    folder = hub_cache()
    if find_on_this_machine(name) is None and not _reachable(endpoint):
        raise _unreachable(name, endpoint)
    try:
        for file in (*OPTIONAL_FILES, *NEEDED_FILES):  # the weights last: with them the model counts as there
            if file in NEEDED_FILES:
                on_progress(PullProgress(file, 0, None))
            reporting = _reporting(file, on_progress)
            try:
                path = hf_hub_download(name, file, cache_dir=hub_cache(), endpoint=endpoint, tqdm_class=reporting)
            except EntryNotFoundError as error:
                if file in NEEDED_FILES or isinstance(error, LocalEntryNotFoundError):
                    raise
            else:
                folder = Path(path).parent
    except LocalEntryNotFoundError as error:
        raise _unreachable(name, endpoint) from error
    except EntryNotFoundError as error:
        raise ModelProblem(
            f"{name} has no {file} at {shown_address(endpoint)}.", "Choose another cross-encoder."
        ) from error
    except HfHubHTTPError as error:
        raise ModelProblem(
            f"{shown_address(endpoint)} refused {name}: {_first_line(error)}.", "Check the name in RAG_RERANKER."
        ) from error
    except HFValidationError as error:
        raise ModelProblem(f"{name!r} is not the name of a model on the hub.", "It looks like owner/model.") from error
    except OSError as error:
        raise ModelProblem(
            f"{name} could not be fetched: {_first_line(error)}.", "Check the disk, then try again."
        ) from error
    return folder


def _reachable(endpoint: str) -> bool:
    """False if nothing answers at all: huggingface_hub retries for 23 seconds before it says so.

    Any other failure (a status, a certificate that only its own store knows) is left to huggingface_hub.
    """
    if not endpoint.startswith(("http://", "https://")):
        return True
    request = urllib.request.Request(endpoint, method="HEAD")  # noqa: S310  # the scheme is checked above
    try:
        with urllib.request.urlopen(request, timeout=REACH_SECONDS):  # noqa: S310  # for the same reason
            return True
    except urllib.error.HTTPError as answered:
        answered.close()
        return True
    except (OSError, HTTPException, ValueError) as error:
        reason = getattr(error, "reason", error)
        return not isinstance(reason, ConnectionRefusedError | socket.gaierror | TimeoutError)


def _unreachable(name: str, endpoint: str) -> ModelProblem:
    return ModelProblem(
        f"{name} could not be fetched: {shown_address(endpoint)} cannot be reached.",
        "Check the network, or copy the model's folder here and name it in RAG_RERANKER.",
    )


def _reporting(file: str, on_progress: Callable[[PullProgress], None]) -> type[Any]:
    """A progress bar with tqdm's interface, as huggingface_hub needs, that reports instead of drawing."""
    from tqdm import tqdm  # type: ignore[import-untyped]  # tqdm has no types

    class Reporting(tqdm):  # type: ignore[misc]  # for the same reason
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            kwargs.pop("name", None)
            kwargs["disable"] = True
            super().__init__(*args, **kwargs)
            self.expected: int | None = kwargs.get("total")
            self.seen = int(kwargs.get("initial") or 0)

        def update(self, n: float | None = 1) -> bool | None:
            self.seen += int(n or 0)
            on_progress(PullProgress(file, self.seen, self.expected))
            return None

    return Reporting


def pull_ollama(ollama: Ollama, name: str, on_progress: Callable[[PullProgress], None]) -> None:
    """Let Ollama download a model (POST /api/pull). Raises ModelProblem: not running, no such model, interrupted."""
    if ollama.is_forbidden:
        raise ModelProblem(f"Offline, and Ollama at {ollama.shown} is another machine.", "Leave out --offline.")
    last = ""
    try:
        for line in ollama.pulled(name):
            if "error" in line:
                raise ModelProblem(
                    f"Ollama could not fetch {name}: {_first_line(line['error'])}.", "Check the name and the network."
                )
            last = str(line.get("status", ""))
            on_progress(PullProgress(last, _bytes(line.get("completed")) or 0, _bytes(line.get("total"))))
    except urllib.error.HTTPError as error:
        message = _first_line(error.read(1000).decode(errors="replace"))
        error.close()
        raise ModelProblem(
            f"Ollama could not fetch {name} (HTTP {error.code}): {message}.", "Check the name in the settings."
        ) from None
    except urllib.error.URLError:
        raise ModelProblem(f"Ollama does not answer at {ollama.shown}.", "Start it with `ollama serve`.") from None
    except UnusableReply as error:
        raise ModelProblem(f"Ollama's progress with {name} could not be read: {error}.", "Update Ollama.") from None
    except (OSError, HTTPException, ValueError):
        last = "cut"
    if last != "success":
        raise ModelProblem(
            f"The download of {name} ended before it was complete.", "Run it again: it goes on where it stopped."
        )


def _bytes(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _first_line(error: object) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:300].rstrip(".")
