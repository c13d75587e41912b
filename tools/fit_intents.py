"""`python tools/fit_intents.py`: fit ragscience/ask/intents.npy to the examples of intents.toml and help.toml."""

from __future__ import annotations

import random
import sys
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from numpy.typing import NDArray

from ragscience.ask.intents import PASSAGES, WEIGHTS, kinds, probabilities, softmax, with_one
from ragscience.core.settings import load_settings
from ragscience.models.minilm import MiniLM

_THINGS = (
    "dropout", "contrastive learning", "ImageNet", "kidney failure", "a consensus protocol", "beta blockers", "SQuAD",
    "gradient clipping", "web search", "word embeddings", "X1", "machine translation", "LSTM", "protein folding",
    "query expansion", "BM25", "climate models", "causal inference", "depression", "SGD", "Monte Carlo methods",
    "label smoothing", "CIFAR-10", "speech recognition", "solar cells", "batch normalization", "PageRank", "GPT-4",
    "honey", "sea ice", "bees", "old maps", "child labour", "wheat prices", "REST APIs", "mosquito nets",
)  # fmt: skip
_PLACES = (
    "Google", "Stanford", "MIT", "the University of Geneva", "Microsoft", "DeepMind", "Bosch", "Oxford", "IBM Research",
    "ETH Zurich", "Tsinghua University", "NASA", "Amazon", "Imperial College London", "INRIA", "Siemens", "Uppsala",
    "the Karolinska Institute", "Princeton University", "Meta AI",
)  # fmt: skip
_GROUP = 64
_EACH = 12
"""Texts that are made of an example with THING or PLACE."""
_STEPS, _RATE, _MOMENTUM, _DECAY = 1_000, 20.0, 0.95, 1e-5


def _texts(example: str) -> list[str]:
    """The example as questions: PAPER as `X1`, `X2`; several where it has a THING."""
    made = []
    for number in range(_EACH if "THING" in example or "PLACE" in example else 1):
        chosen = random.Random(zlib.crc32(example.encode()) + number)  # the same ones each time
        text = example.replace("PAPER", "X1", 1).replace("PAPER", "X2")
        text = text.replace("NAME", "Smith").replace("YEAR", "2018").replace("VENUE", "ICML")
        while "THING" in text:
            text = text.replace("THING", chosen.choice(_THINGS), 1)
        text = text.replace("PLACE", chosen.choice(_PLACES))
        made.append(text)
    if "PAPER" in example and "the PAPER" not in example:
        made += [made[0].replace("X1", "the X1 paper"), made[0].replace("X1", "the X1 study")]
    return made


def examples_as_asked() -> tuple[list[tuple[list[str], int]], int]:
    """(Each example as questions, with the number of its kind; the number of the kind for the passages)."""
    made = [(_texts(example), number) for number, kind in enumerate(kinds()) for example in kind.examples]
    return made, [kind.name for kind in kinds()].index(PASSAGES)


def fit(embed: Callable[[Sequence[str]], NDArray[np.float32]]) -> NDArray[np.float16]:
    """[dimension + 1, kinds]: softmax regression on the examples, by gradient descent with momentum."""
    made, _ = examples_as_asked()
    texts = [text for each, _ in made for text in each]
    labels = [number for each, number in made for _ in each]
    rows = with_one(embed(texts))
    wanted = np.eye(len(kinds()), dtype=np.float32)[labels]
    weights: NDArray[np.float32] = np.zeros((rows.shape[1], wanted.shape[1]), np.float32)
    speed = weights.copy()
    for _ in range(_STEPS):
        slope = rows.T @ (softmax(rows @ weights) - wanted) / len(rows) + _DECAY * weights
        speed = np.asarray(_MOMENTUM * speed - _RATE * slope, np.float32)
        weights = weights + speed
    return weights.astype(np.float16)


def main() -> int:
    """Fit, and say how many examples are taken for what they are."""
    embedder = MiniLM(cache_folder=Path(load_settings().cache_folder), on_warning=print)

    def read(texts: Sequence[str]) -> NDArray[np.float32]:
        groups = (texts[first : first + _GROUP] for first in range(0, len(texts), _GROUP))
        return np.stack([each.vector for group in groups for each in embedder.questions(group)])

    weights = fit(read)
    np.save(WEIGHTS, weights)
    texts = [_texts(text)[0] for kind in kinds() for text in kind.examples]
    owners = [number for number, kind in enumerate(kinds()) for _ in kind.examples]
    guessed = probabilities(weights, read(texts)).argmax(axis=1)
    print(f"{len(texts)} examples of {len(kinds())} kinds; {np.mean(guessed == owners):.1%} are taken for theirs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
