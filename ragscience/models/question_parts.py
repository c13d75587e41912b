"""Takes a question apart into the things that it asks, each in the question's own words.

MiniLM with an adapter reads a question, behind those before it in a conversation, and says of each word to which parts
it belongs: "layers of A and of B" has "layers of A" and "layers of B". As each part is words of the question in their
order, nothing is made up. Choosing the words of earlier questions that are still meant is term classification
(Voskarides and others 2020, SIGIR). tools/fit_parts.py trains it, and says on what; figures: docs/choices.md.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragscience.core.serialization import storable
from ragscience.models.bert_session import Adapter, BertSession
from ragscience.models.minilm import WEIGHTS_SHA256, find_minilm

PARTS = Adapter(
    Path(__file__).with_name("question_parts.safetensors"),
    "e9883cf476caaefa86491938d1ee950c5c9c567c5a8b8819bb85622b9da7773b",
    in_integers=True,
)
MOST_PARTS = 3
ROW_TOKENS = 160
BELONGS = 0.5
"""Probability from which on a word belongs to a part."""
OWN = 0.5
"""Each of several parts has a word that belongs to it so much more likely than to the others."""
RECENT_QUESTIONS = 64
"""Whose parts are kept: the readings of a turn are taken apart one after the other."""
_WORD = re.compile(r"\S+")


class QuestionParts:
    """Thread-safe; the model is found and opened with the first question."""

    def __init__(self, adapter: Adapter = PARTS, **how: Any) -> None:
        """`how` it runs, as `BertSession` takes it."""
        self._adapter = adapter
        self._session = BertSession(find_minilm, expected_sha256=WEIGHTS_SHA256, adapter=adapter, **how)
        self._parts = lru_cache(RECENT_QUESTIONS)(self._taken_apart)

    def __call__(self, question: str, before: Sequence[str] = ()) -> tuple[str, ...]:
        """What the question asks, a part each, with what it needs of the questions `before`. Raises ModelProblem.

        One that is longer than those of the training, with the others, stays whole.
        """
        return self._parts((*before, question))

    def _taken_apart(self, texts: tuple[str, ...]) -> tuple[str, ...]:
        row = row_of(self._session.tokenizer, texts)
        if len(row.ids) > ROW_TOKENS:
            return texts[-1:]
        likely = self.probabilities(row)
        others = np.stack([np.delete(likely, part, axis=1).max(axis=1) for part in range(MOST_PARTS)], axis=1)
        several = (likely - others).max(axis=0, initial=0.0) >= OWN
        belongs = (likely[:, several] if several.sum() > 1 else likely.max(axis=1, keepdims=True)) >= BELONGS
        words = [word for text in texts for word in _WORD.findall(text)]
        parts = (" ".join(word for word, is_in in zip(words, part, strict=True) if is_in) for part in belongs.T)
        return tuple(dict.fromkeys(filter(None, parts))) or texts[-1:]

    def probabilities(self, row: QuestionRow) -> NDArray[np.float32]:
        """How likely each of the row's n words belongs to each part, by the mean of its pieces: (n, MOST_PARTS).

        Raises ModelProblem.
        """
        ((_, states),) = self._session.run([row.ids], [row.types])
        head, bias = (self._adapter.tensors[f"head.{name}"] for name in ("weight", "bias"))
        word_of = np.array(row.word_of)
        each, of_word = 1 / (1 + np.exp(-(states[0] @ head.T + bias)))[word_of >= 0], word_of[word_of >= 0]
        sums, counts = np.zeros((row.words, MOST_PARTS), np.float32), np.bincount(of_word, minlength=row.words)
        np.add.at(sums, of_word, each)
        return np.asarray(sums / np.maximum(counts, 1)[:, None], np.float32)


@dataclass(frozen=True, slots=True)
class QuestionRow:
    """Questions as the model reads them."""

    ids: list[int]
    """The word pieces: every question ends in [SEP]."""
    types: list[int]
    """1 for those of the last question, which is the one that is asked, 0 for others."""
    word_of: list[int]
    """The number of the word that each is of; -1: of none."""
    words: int


def row_of(tokenizer: Any, texts: Sequence[str]) -> QuestionRow:
    """Questions as a row, the one that is asked last."""
    first, last = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
    ids, types, word_of, count = [first], [0], [-1], 0
    for number, text in enumerate(texts):
        encoded = tokenizer.encode(storable(text), add_special_tokens=False)
        places = [match.span() for match in _WORD.finditer(text)]
        own = [next((i for i, (a, b) in enumerate(places) if a <= at < b), -1) for at, _ in encoded.offsets]
        ids += [*encoded.ids, last]
        types += [int(number == len(texts) - 1)] * (len(own) + 1)
        word_of += [*(count + i if i >= 0 else -1 for i in own), -1]
        count += len(places)
    return QuestionRow(ids, types, word_of, count)
