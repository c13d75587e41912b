"""The models that are known, model files on this machine, and their download on the user's request.

This is the only code that downloads weights. How a known model is used is in known_models.toml, beside this file.
"""

import hashlib
import importlib.metadata
import os
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from ragscience.core.errors import ModelProblem, install_line, shown_address

HUB = "https://huggingface.co"


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


def pull_model(name: str) -> Path:
    """Download a model's files from the hub (HF_ENDPOINT, by default huggingface.co) into its cache; their folder.

    Existing files are not downloaded again, and an interrupted download resumes; the hub's own bars show how far it is.
    Raises ModelProblem: no network, no such model, no such file.
    """
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
        raise ModelProblem(f"{name} was not fetched: HF_HUB_OFFLINE is set.", "Unset it and run the command again.")
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    endpoint, name = os.environ.get("HF_ENDPOINT", HUB).rstrip("/"), hub_name(name)
    try:
        wanted = ["*.json", "*model.safetensors"]
        snapshot_download(name, cache_dir=hub_cache(), endpoint=endpoint, allow_patterns=wanted)
    except LocalEntryNotFoundError as error:
        fix = "Check the network, or copy the model's folder here and name it in RAG_RERANKER or RAG_EMBEDDING_MODEL."
        raise ModelProblem(f"{name} could not be fetched: {shown_address(endpoint)} cannot be reached.", fix) from error
    except (HfHubHTTPError, HFValidationError, OSError) as error:
        why = (str(error).splitlines() or [type(error).__name__])[0][:300].rstrip(".")
        fix = "Check the name, and the disk; try again."
        raise ModelProblem(f"{name} could not be fetched: {why}.", fix) from error
    folder = find_on_this_machine(name)
    if folder is None:
        raise ModelProblem(f"{name} has no model.safetensors at {shown_address(endpoint)}.", "Name another model.")
    return folder


def how_to_use(name: str) -> str:
    """What a known model is, and the command that names it in its setting; empty for any other."""
    if (row := known_model(name)) is None:
        return ""
    package = "no PyTorch" if row.architecture == "bert" else f"`{install_line('torch')}`"
    return f"It reads {row.tokens} tokens and needs {package}: `python query.py config set {row.setting} {name}`."
