"""What kind of question it is, by its meaning: a classifier over the embedder's vectors, fitted to examples.

The examples are in intents.toml and help.toml. The weights for the embedded MiniLM come with the program
(tools/fit_intents.py writes them); for any other embedder they are fitted once and kept beside the library.
"""

from __future__ import annotations

import random
import re
import tomllib
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


WEIGHTS = Path(__file__).with_name("intents.npy")
"""float16 [dimension + 1, kinds], for the embedded MiniLM."""
PASSAGES = "passages"
"""The kind of all questions that the passages answer."""
_THINGS = (
    "dropout", "contrastive learning", "ImageNet", "kidney failure", "a consensus protocol", "beta blockers", "SQuAD",
    "gradient clipping", "web search", "word embeddings", "X1", "machine translation", "LSTM", "protein folding",
    "query expansion", "BM25", "climate models", "causal inference", "depression", "SGD", "Monte Carlo methods",
    "label smoothing", "CIFAR-10", "speech recognition", "solar cells", "batch normalization", "PageRank", "GPT-4",
    "honey", "sea ice", "bees", "old maps", "child labour", "wheat prices", "REST APIs", "mosquito nets",
)  # fmt: skip
_EACH = 6
"""Texts that are made of an example with THING."""
_STEPS, _RATE, _MOMENTUM, _DECAY = 1_000, 20.0, 0.95, 1e-5


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of question."""

    name: str
    """That of a topic of help.toml begins with "help "."""
    needs: str
    """ "paper", "two papers", "library" (and no paper), "thing"; "" for nothing."""
    examples: tuple[str, ...]


def help_topics() -> dict[str, Any]:
    """help.toml: text, commands and examples of each topic."""
    return tomllib.loads(Path(__file__).with_name("help.toml").read_text("utf-8"))


@cache
def kinds() -> tuple[Kind, ...]:
    """All kinds, in the order of the columns of the weights."""
    asked = tomllib.loads(Path(__file__).with_name("intents.toml").read_text("utf-8"))
    found = [Kind(name, one["needs"], tuple(one["examples"])) for name, one in asked.items()]
    return (*found, *(Kind(f"help {name}", "", tuple(one["examples"])) for name, one in help_topics().items()))


@cache
def frame_words(needs: tuple[str, ...]) -> frozenset[str]:
    """The words that ask in the kinds with these `needs`, in lower case, without those that are asked for."""
    marks = ("PAPER", "THING", "NAME", "YEAR", "VENUE")
    texts = " ".join(text for kind in kinds() if kind.needs in needs for text in kind.examples)
    for mark in marks:
        texts = texts.replace(mark, " ")
    return frozenset(re.findall(r"[^\W_][\w-]*", texts.casefold()))


def _texts(example: str) -> list[str]:
    """The example as questions: PAPER as `X1`, `X2`; several where it has a THING."""
    made = []
    for number in range(_EACH if "THING" in example else 1):
        chosen = random.Random(zlib.crc32(example.encode()) + number)  # noqa: S311  # the same ones each time
        text = example.replace("PAPER", "X1", 1).replace("PAPER", "X2")
        text = text.replace("NAME", "Smith").replace("YEAR", "2018").replace("VENUE", "ICML")
        while "THING" in text:
            text = text.replace("THING", chosen.choice(_THINGS), 1)
        made.append(text)
    if "PAPER" in example and "the PAPER" not in example:
        made += [made[0].replace("X1", "the X1 paper"), made[0].replace("X1", "the X1 study")]
    return made


def fit(embed: Callable[[Sequence[str]], NDArray[np.float32]]) -> NDArray[np.float16]:
    """[dimension + 1, kinds]: softmax regression on the examples, by gradient descent with momentum."""
    import numpy as np

    texts, labels = [], []
    for number, kind in enumerate(kinds()):
        for example in kind.examples:
            made = _texts(example)
            texts += made
            labels += [number] * len(made)
    rows = _with_one(embed(texts))
    wanted = np.eye(len(kinds()), dtype=np.float32)[labels]
    weights: NDArray[np.float32] = np.zeros((rows.shape[1], wanted.shape[1]), np.float32)
    speed = weights.copy()
    for _ in range(_STEPS):
        slope = rows.T @ (_softmax(rows @ weights) - wanted) / len(rows) + _DECAY * weights
        speed = np.asarray(_MOMENTUM * speed - _RATE * slope, np.float32)
        weights = weights + speed
    return weights.astype(np.float16)


@cache
def weights() -> NDArray[np.float16]:
    """[dimension + 1, kinds], as they come with the program."""
    import numpy as np

    return np.asarray(np.load(WEIGHTS, allow_pickle=False))


def probabilities(weights: NDArray[np.float16], vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """[n, kinds] of n unit vectors of the embedded MiniLM."""
    return _softmax(_with_one(vectors) @ weights.astype("float32"))


def _with_one(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    import numpy as np

    return np.hstack([vectors, np.ones((len(vectors), 1), np.float32)])


def _softmax(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    import numpy as np

    rows = np.exp(rows - rows.max(axis=1, keepdims=True))
    return np.asarray(rows / rows.sum(axis=1, keepdims=True), np.float32)
