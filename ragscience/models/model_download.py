"""The models that are known, model files on this machine, and their download on the user's request.

This is the only code that downloads weights. How a known model is used is in known_models.toml, beside this file.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from ragscience.core.errors import ModelProblem, install_line, shown_address
from ragscience.models.model_http import one_line, said_by, status_of
from ragscience.models.model_servers import Ollama

HUB = "https://huggingface.co"
REACH_SECONDS = 10.0
NEEDED_FILES = ("config.json", "tokenizer.json", "model.safetensors")
OPTIONAL_FILES = ("modules.json", "config_sentence_transformers.json", "tokenizer_config.json")
"""What sentence-transformers reads besides: its layers, the activation over their output, the tokenizer's class."""
LAYER_FILES = ("config.json", "model.safetensors")
"""What a layer of modules.json may have in its folder."""


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A row of known_models.toml, whose head explains the fields."""

    name: str
    """The hub's: OWNER/NAME."""
    setting: Literal["embedding_model", "reranker"]
    architecture: str
    tokens: int
    source: str
    pooling: Literal["cls", "mean", ""] = ""
    """Empty for a reranker, as are the next three."""
    dimension: int = 0
    question: str = ""
    passage: str = ""

    def digest(self, weights: str) -> str:
        """The sha256, in hexadecimal, of all that decides its vectors: weights, pooling, prefixes, length."""
        decides = (weights, self.pooling, self.question, self.passage, self.tokens)
        return hashlib.sha256(repr(decides).encode()).hexdigest()


@cache
def known_models() -> dict[str, KnownModel]:
    """The rows by the last part of their names, in lower case."""
    text = Path(__file__).with_name("known_models.toml").read_text(encoding="utf-8")
    rows = [KnownModel(**row) for row in tomllib.loads(text)["model"]]
    return {row.name.rpartition("/")[2].lower(): row for row in rows}


def known_model(name_or_folder: str) -> KnownModel | None:
    """The row of that name, with or without its owner, or of a folder called so; None for any other model."""
    return known_models().get(Path(name_or_folder).name.lower())


def hub_name(name: str) -> str:
    """The name with its owner, where it is a known one; a folder, or another name, unchanged."""
    row = known_model(name)
    return row.name if row is not None and name.lower() in known_models() and not Path(name).is_dir() else name


@dataclass(frozen=True, slots=True)
class PullProgress:
    """The progress of a download."""

    item: str
    """A file, or Ollama's status message."""
    done_bytes: int
    total_bytes: int | None
    """None if unknown."""


def hub_cache() -> Path:
    """The cache folder of huggingface_hub, found without importing it.

    HF_HUB_CACHE, else HF_HOME/hub, else XDG_CACHE_HOME/huggingface/hub: "Environment variables" in its documentation.
    """
    if named := os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE"):
        return Path(named).expanduser()
    home = os.environ.get("HF_HOME")
    if not home:
        home = str(Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface")
    return Path(home).expanduser() / "hub"


def find_on_this_machine(name_or_folder: str) -> Path | None:
    """The folder with the model's files: that folder, the hub's snapshot of that name, or an installed package's.

    None if missing. Raises ModelProblem for a path that does not exist.
    """
    folder = Path(name_or_folder).expanduser()
    if folder.is_dir():
        return folder
    if name_or_folder.startswith(("/", ".", "~")):
        raise ModelProblem(f"There is no model folder {folder}.", "Name a folder that exists, or a model of the hub.")
    name = hub_name(name_or_folder)
    repository = hub_cache() / ("models--" + name.replace("/", "--"))
    try:
        revision = (repository / "refs" / "main").read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return _in_a_package(name.rpartition("/")[2])
    snapshot = repository / "snapshots" / revision
    has_weights = any(snapshot.glob("*.safetensors")) or (snapshot / "pytorch_model.bin").is_file()
    return snapshot if (snapshot / "config.json").is_file() and has_weights else None


def _in_a_package(name: str) -> Path | None:
    """The folder of a model's files in an installed package that is called like it; None if there is none."""
    for package in (name, f"gt-{name}", f"{name}-model"):
        try:
            files = importlib.metadata.files(package) or []
        except (importlib.metadata.PackageNotFoundError, ValueError):
            continue
        for file in files:
            if file.name == "model.safetensors" and Path(str(file.locate())).is_file():
                return Path(str(file.locate())).parent
    return None


def pull_model(name: str, on_progress: Callable[[PullProgress], None]) -> Path:
    """Download a model's files from the hub (HF_ENDPOINT, by default huggingface.co) into its cache.

    Returns the folder with the files. Existing files are not downloaded again, and an interrupted download
    resumes. Raises ModelProblem: no network, no such model, no such file.
    """
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
        raise ModelProblem(f"{name} was not fetched: HF_HUB_OFFLINE is set.", "Unset it and run the command again.")
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    endpoint, name = os.environ.get("HF_ENDPOINT", HUB).rstrip("/"), hub_name(name)
    shown, file = shown_address(endpoint), ""
    unreachable = ModelProblem(
        f"{name} could not be fetched: {shown} cannot be reached.",
        "Check the network, or copy the model's folder here and name it in RAG_RERANKER or RAG_EMBEDDING_MODEL.",
    )
    if find_on_this_machine(name) is None and not _reachable(endpoint):
        raise unreachable

    def fetch(file: str) -> Path:
        reporting = _reporting(file, on_progress)
        return Path(hf_hub_download(name, file, cache_dir=hub_cache(), endpoint=endpoint, tqdm_class=reporting))

    files = [*OPTIONAL_FILES]
    try:
        for file in files:
            try:
                path = fetch(file)
            except EntryNotFoundError as error:
                if isinstance(error, LocalEntryNotFoundError):
                    raise
            else:
                layers = re.findall(r'"path": *"([^"]+)"', path.read_text("utf-8")) if file == "modules.json" else []
                files += [f"{layer}/{part}" for layer in layers for part in LAYER_FILES]
        for file in NEEDED_FILES:  # the weights last: with them the model counts as there
            on_progress(PullProgress(file, 0, None))
            path = fetch(file)
    except LocalEntryNotFoundError as error:
        raise unreachable from error
    except (HfHubHTTPError, HFValidationError, OSError) as error:
        what = f" has no {file} at {shown}" if isinstance(error, EntryNotFoundError) else " could not be fetched"
        raise ModelProblem(
            f"{name}{what}: {_first_line(error)}.", "Check the name, and the disk, then try again."
        ) from error
    return path.parent


def _reachable(endpoint: str) -> bool:
    """False if nothing answers at all: huggingface_hub retries for 23 seconds before it says so."""
    import httpx

    try:
        httpx.head(endpoint, timeout=REACH_SECONDS)
    except (httpx.ConnectError, httpx.TimeoutException) as error:
        return "CERTIFICATE" in str(error)  # of which only its own store may know
    except (httpx.HTTPError, httpx.InvalidURL):
        return True
    return True


def _reporting(file: str, on_progress: Callable[[PullProgress], None]) -> type[Any]:
    """A progress bar with tqdm's interface, as huggingface_hub needs, that reports instead of drawing."""
    from tqdm import tqdm  # type: ignore[import-untyped]  # tqdm has no types

    class Reporting(tqdm):  # type: ignore[misc]  # for the same reason
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            kwargs.pop("name", None)
            super().__init__(*args, **kwargs | {"disable": True})
            self.expected: int | None = kwargs.get("total")
            self.seen = int(kwargs.get("initial") or 0)

        def update(self, n: float | None = 1) -> bool | None:
            self.seen += int(n or 0)
            on_progress(PullProgress(file, self.seen, self.expected))
            return None

    return Reporting


def pull_ollama(ollama: Ollama, name: str, on_progress: Callable[[PullProgress], None]) -> None:
    """Let Ollama fetch a model, with its progress. Raises ModelProblem."""
    import httpx
    from ollama import Client

    if ollama.is_forbidden:
        raise ModelProblem(f"{ollama.status.why}.", "Leave out --offline.")
    options = ollama.client_options(ollama.timeout_seconds, None, 2**30)
    last = ""
    try:
        for line in Client(host=ollama.url, **options).pull(name, stream=True):
            last = str(line.status or "")
            on_progress(PullProgress(last, line.completed or 0, line.total))
    except ollama.reply_errors() as error:
        code = status_of(error)
        if isinstance(error, ConnectionError | httpx.ConnectError):
            raise ollama.problem(error, name) from error
        if code is not None:
            http = f" (HTTP {code})" if code > 0 else ""
            said = f"Ollama could not fetch {name}{http}: {one_line(said_by(error))}."
            raise ModelProblem(said, "Check the name and the network.") from error
        last = "cut"
    if last != "success":
        raise ModelProblem(
            f"The download of {name} ended before it was complete.", "Run it again: it goes on where it stopped."
        )


def _first_line(error: object) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:300].rstrip(".")


def how_to_use(name: str) -> str:
    """What a known model is, and the command that names it in its setting; empty for any other."""
    if (row := known_model(name)) is None:
        return ""
    package = "no PyTorch" if row.architecture == "bert" else f"`{install_line('torch')}`"
    return f"It reads {row.tokens} tokens and needs {package}: `python query.py config set {row.setting} {name}`."
