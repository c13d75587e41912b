"""What the sentences of a paper say of it: its question, method, data sets, limits and so on, by a small linear model.

The weights are of words, pairs of words, words of the headings and the place in the paper; tools/fit_aspects.py fits
them to sentences that were labelled by reading.
"""

import math
import re
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ragscience.ask.paper_text import PaperSentence
from ragscience.core.tokenizing import tokenize

WEIGHTS = Path(__file__).with_name("aspects.npz")
"""`features`: the names of n features, one a line, as UTF-8 bytes; `weights`: float16 [n + 1, aspects], the last row a
constant."""
ASPECTS = (
    "method", "question", "data_sets", "results", "limits", "contributions", "baselines", "tasks", "metrics",
    "hyperparameters",
)  # fmt: skip
"""In the order of the columns of the weights; the first five are a summary's, in its order."""
_TENTHS = 10
_WORD = re.compile(r"[^\W\d_]+|\d+")


def features_of(sentence: PaperSentence, place: float) -> frozenset[str]:
    """What the model sees of a sentence; `place` is that in the paper, 0 to 1."""
    words, names = _words(sentence.text), sentence.section.split(" › ")
    pairs = (f"{one} {other}" for one, other in pairwise(words))
    heading = (f"§{word}" for word in _words(names[-1]))
    above = (f"§§{word}" for word in _words(names[0]))
    return frozenset((*words, *pairs, *heading, *above, f"@{int(place * _TENTHS)}", f"={sentence.kind}"))


def chances(sentences: Sequence[PaperSentence]) -> NDArray[np.float32]:
    """[n, aspects]: how likely a reader would quote each of a paper's sentences for each of ASPECTS."""
    rows, weights = _model()
    found = np.empty((len(sentences), len(ASPECTS)), np.float32)
    for at, sentence in enumerate(sentences):
        known = [rows[one] for one in features_of(sentence, at / len(sentences)) if one in rows]
        found[at] = weights[known].sum(axis=0) / math.sqrt(max(len(known), 1)) + weights[-1]
    return np.asarray(1 / (1 + np.exp(-found)), np.float32)


@cache
def _model() -> tuple[dict[str, int], NDArray[np.float32]]:
    with np.load(WEIGHTS, allow_pickle=False) as kept:
        names = kept["features"].tobytes().decode("utf-8").split("\n")
        return {name: row for row, name in enumerate(names)}, kept["weights"].astype(np.float32)


def _words(text: str) -> list[str]:
    return [_stem(word) for word in _WORD.findall(text.casefold())]


@lru_cache(maxsize=1 << 15)
def _stem(word: str) -> str:
    """Of a word its stem, of a number "#"; what asks or joins as it is."""
    return "#" if word.isdigit() else next(iter(tokenize(word)), word)
