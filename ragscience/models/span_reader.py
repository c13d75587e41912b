"""Reads passages for the answer to a question: all-MiniLM-L6-v2 with an adapter that was trained to find spans.

The model reads the question and a passage together and scores each word piece as the beginning and as the end of the
answer (Devlin and others 2019, 4.2); the first token stands for "it is not here" (4.3). `tools/fit_reader.py` trains
the adapter, and says on what; figures: docs/choices.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragscience.core.errors import ModelProblem
from ragscience.core.serialization import storable
from ragscience.models.bert_graph import read_tensors
from ragscience.models.bert_session import BertSession
from ragscience.models.minilm import WEIGHTS_SHA256, find_minilm

QUESTION_TOKENS, ROW_TOKENS = 40, 176
"""What is read of a question, and of both together: as in training."""
LONGEST_SPAN = 30
"""In word pieces."""
_SOFTER = 4.0
"""By which scores are divided; of 1, 2, 4 and none the one that orders the sentences of papers best."""


@dataclass(frozen=True, slots=True)
class AnswerSpan:
    """Where a passage answers best."""

    score: float
    """Log-odds that the answer is here; comparable between passages and questions."""
    start: int
    end: int
    """In characters of the passage."""

    @property
    def probability(self) -> float:
        """The score between 0 and 1, less sure than the model is: it was trained on other texts (`_SOFTER`)."""
        return float(0.5 * (1.0 + np.tanh(0.5 * self.score / _SOFTER)))


class SpanReader:
    """Finds the answer to a question in passages. Thread-safe; the model is found and opened with the first passage."""

    adapter = Path(__file__).with_name("span_reader.safetensors")
    adapter_sha256 = "043ffd19faa5bb727c936c20505eb47e7258506e6518d7fb6af2587d1ca00faf"

    def __init__(self, **how: Any) -> None:
        """`how` it runs, as `BertSession` takes it."""
        self._session = BertSession(find_minilm, expected_sha256=WEIGHTS_SHA256, adapter=self.adapter, **how)

    def read(self, question: str, passages: Sequence[str]) -> list[AnswerSpan]:
        """The best span of each passage, in their order. Raises ModelProblem."""
        spans = [AnswerSpan(-np.inf, 0, 0)] * len(passages)
        head, bias = self._head
        tokenizer: Any = self._session.tokenizer
        asked = tokenizer.encode(storable(question), add_special_tokens=False).ids[:QUESTION_TOKENS]
        texts = [tokenizer.encode(storable(passage), add_special_tokens=False) for passage in passages]
        first, last = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
        begin = len(asked) + 2
        rows = [[first, *asked, last, *text.ids[: ROW_TOKENS - begin - 1], last] for text in texts]
        types = [[0] * begin + [1] * (len(row) - begin) for row in rows]
        for numbers, states in self._session.run(rows, types):
            for number, logits in zip(numbers, states @ head.T + bias, strict=True):
                if offsets := texts[number].offsets[: len(rows[number]) - begin - 1]:
                    spans[number] = best_span(logits[0], logits[begin:-1], offsets)
        return spans

    @cached_property
    def _head(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """What makes two scores of a token's vector: the one of a span's beginning, the other of its end."""
        file = self.adapter
        if not file.is_file() or hashlib.sha256(file.read_bytes()).hexdigest() != self.adapter_sha256:
            raise ModelProblem(f"The reader's file {file} is missing or damaged.", "Install RAG Science again.")
        adapter = read_tensors(file)
        return adapter["head.weight"].astype(np.float32), adapter["head.bias"].astype(np.float32)


def best_span(none: NDArray[np.float32], logits: NDArray[np.float32], offsets: Sequence[tuple[int, int]]) -> AnswerSpan:
    """The span with the highest sum of logits, at most `LONGEST_SPAN` pieces, over that of `none`.

    `none`, shape (2,), are those of "not here"; `logits`, shape (n, 2), those of beginning and end; `offsets` has where
    each of the n pieces begins and ends.
    """
    sums = logits[:, 0, None] + logits[None, :, 1]
    sums[~(np.tri(len(logits), dtype=bool).T & np.tri(len(logits), k=LONGEST_SPAN - 1, dtype=bool))] = -np.inf
    start, end = divmod(int(np.argmax(sums)), len(logits))
    return AnswerSpan(float(sums[start, end] - none.sum()), offsets[start][0], offsets[end][1])
