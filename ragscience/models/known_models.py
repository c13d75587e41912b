"""The embedders and rerankers whose use is known from their model cards: known_models.toml, beside this file."""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A row of known_models.toml, whose head explains the fields."""

    name: str
    """The hub's: OWNER/NAME."""
    part: Literal["embedder", "reranker"]
    architecture: str
    tokens: int
    source: str
    pooling: Literal["cls", "mean", ""] = ""
    """Empty for a reranker, as are the next three."""
    dimension: int = 0
    question: str = ""
    passage: str = ""

    @property
    def setting(self) -> str:
        """The setting that names it."""
        return "embedding_model" if self.part == "embedder" else "reranker"

    def digest(self, weights: str) -> str:
        """The sha256, in hexadecimal, of all that decides its vectors: the weights' digest, pooling, prefixes, length."""
        decides = (weights, self.pooling, self.question, self.passage, self.tokens)
        return hashlib.sha256(repr(decides).encode()).hexdigest()


@cache
def known_models() -> dict[str, KnownModel]:
    """The rows by the last part of their names, in lower case."""
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    rows = [KnownModel(**row) for row in tomllib.loads(text)["model"]]
    return {row.name.rpartition("/")[2].lower(): row for row in rows}


def known_model(name_or_folder: str) -> KnownModel | None:
    """The row of that name, with or without its owner, or of a folder called so; None for any other model."""
    return known_models().get(Path(name_or_folder).name.lower())


def hub_name(name: str) -> str:
    """The name with its owner, where it is a known one; a folder, or another name, unchanged."""
    row = known_model(name)
    return row.name if row is not None and name.lower() in known_models() and not Path(name).is_dir() else name
