"""What kind of question it is, by its meaning: a classifier over the embedder's vectors, fitted to examples.

The examples are in intents.toml and help.toml. The weights for the embedded MiniLM come with the program
(tools/fit_intents.py writes them), whatever the library's embedder is.
"""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

WEIGHTS = Path(__file__).with_name("intents.npy")
"""float16 [dimension + 1, kinds], for the embedded MiniLM."""
PASSAGES = "passages"
"""The kind of all questions that the passages answer."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of question."""

    name: str
    """That of a topic of help.toml begins with "help "."""
    needs: str
    """ "paper", "two papers", "library" (and no paper), "thing", "reader" (who says "I"); "" for nothing."""
    by: str
    """The module whose `answer` answers it; "" for the passages."""
    examples: tuple[str, ...]


def help_topics() -> dict[str, Any]:
    """help.toml: text, commands and examples of each topic."""
    return tomllib.loads(Path(__file__).with_name("help.toml").read_text("utf-8"))


@cache
def kinds() -> tuple[Kind, ...]:
    """All kinds, in the order of the columns of the weights."""
    asked = tomllib.loads(Path(__file__).with_name("intents.toml").read_text("utf-8"))
    found = [Kind(name, one["needs"], one.get("by", ""), tuple(one["examples"])) for name, one in asked.items()]
    return (
        *found,
        *(Kind(f"help {name}", "", "library_route", tuple(one["examples"])) for name, one in help_topics().items()),
    )


@cache
def frame_words(needs: tuple[str, ...]) -> frozenset[str]:
    """The words that ask in the kinds with these `needs`, in lower case, without those that are asked for."""
    marks = ("PAPER", "THING", "NAME", "YEAR", "VENUE", "PLACE")
    texts = " ".join(text for kind in kinds() if kind.needs in needs for text in kind.examples)
    for mark in marks:
        texts = texts.replace(mark, " ")
    return frozenset(re.findall(r"[^\W_][\w-]*", texts.casefold()))


@cache
def weights() -> NDArray[np.float16]:
    """[dimension + 1, kinds], as they come with the program."""
    return np.asarray(np.load(WEIGHTS, allow_pickle=False))


def probabilities(weights: NDArray[np.float16], vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """[n, kinds] of n unit vectors of the embedded MiniLM."""
    return softmax(with_one(vectors) @ weights.astype("float32"))


def with_one(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """[n, dimension + 1]: the vectors with a column of ones."""
    return np.hstack([vectors, np.ones((len(vectors), 1), np.float32)])


def softmax(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """[n, kinds]: each row as probabilities."""
    rows = np.exp(rows - rows.max(axis=1, keepdims=True))
    return np.asarray(rows / rows.sum(axis=1, keepdims=True), np.float32)
