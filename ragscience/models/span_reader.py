"""Reads passages for the answer to a question: all-MiniLM-L6-v2 with an adapter that was trained to find spans.

The model reads the question and a passage together and scores each word piece as the beginning and as the end of the
answer (Devlin and others 2019, 4.2); the first token stands for "it is not here" (4.3). `tools/fit_reader.py` trains
the adapter, and says on what; figures: docs/benchmarks.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ragscience.core.errors import ModelProblem
from ragscience.core.serialization import storable
from ragscience.models.bert_graph import read_tensors
from ragscience.models.bert_session import BertSession
from ragscience.models.minilm import WEIGHTS_SHA256, find_minilm
from ragscience.models.token_counting import load_tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray


QUESTION_TOKENS, ROW_TOKENS = 40, 176
"""What is read of a question, and of both together: as in training."""
LONGEST_SPAN = 30
"""In word pieces."""
_SOFTER = 4.0
"""By which scores are divided; of 1, 2, 4 and none the one that orders the sentences of papers best."""


@dataclass(frozen=True, slots=True)
class PairStates:
    """What a head with n outputs makes of two texts that are read together."""

    number: int
    """Which of the second texts it is."""
    whole: NDArray[np.float32]
    """Of both texts together, shape (n,)."""
    pieces: NDArray[np.float32]
    """Of the word pieces of the second text, shape (pieces, n)."""
    offsets: Sequence[tuple[int, int]]
    """Where each piece begins and ends, in characters of the second text."""


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


class PairReader:
    """MiniLM with an adapter, which reads two texts together, thread-safe; its files are loaded with the first pair."""

    adapter: ClassVar[Path]
    adapter_sha256: ClassVar[str]

    def __init__(
        self, *, cache_folder: Path, on_warning: Callable[[str], None], packed: bool = False, cores: int = 0
    ) -> None:
        """As `MiniLM`."""
        self._options: dict[str, Any] = {
            "cache_folder": cache_folder,
            "on_warning": on_warning,
            "packed": packed,
            "cores": cores,
        }
        self._loading = Lock()

    def _states(self, one: str, others: Sequence[str]) -> Iterator[PairStates]:
        """What the adapter's head makes of `one` with each of `others`, in any order. Raises ModelProblem."""
        with self._loading:
            tokenizer, session, head, bias = self._loaded
        asked = tokenizer.encode(storable(one), add_special_tokens=False).ids[:QUESTION_TOKENS]
        texts = [tokenizer.encode(storable(other), add_special_tokens=False) for other in others]
        first, last = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
        begin = len(asked) + 2
        rows = [[first, *asked, last, *text.ids[: ROW_TOKENS - begin - 1], last] for text in texts]
        types = [[0] * begin + [1] * (len(row) - begin) for row in rows]
        for numbers, states in session.run(rows, types):
            for number, logits in zip(numbers, states @ head.T + bias, strict=True):
                offsets = texts[number].offsets[: len(rows[number]) - begin - 1]
                yield PairStates(number, logits[0], logits[begin:-1], offsets)

    @cached_property
    def _loaded(self) -> tuple[Any, BertSession, NDArray[np.float32], NDArray[np.float32]]:
        folder, file = find_minilm(), self.adapter
        if not file.is_file() or hashlib.sha256(file.read_bytes()).hexdigest() != self.adapter_sha256:
            raise ModelProblem(f"The reader's file {file} is missing or damaged.", "Install RAG Science again.")
        adapter = read_tensors(file)
        session = BertSession(folder, expected_sha256=WEIGHTS_SHA256, **self._options).adapted(file)
        head, bias = (adapter[f"head.{name}"].astype(np.float32) for name in ("weight", "bias"))
        return load_tokenizer(folder), session, head, bias


class SpanReader(PairReader):
    """Finds where passages answer a question."""

    adapter = Path(__file__).with_name("span_reader.safetensors")
    adapter_sha256 = "6798841e988ada2383ce3873f5c79871068b43f28d291dc3e35acbfcac1c6d28"

    def read(self, question: str, passages: Sequence[str]) -> list[AnswerSpan]:
        """The best span of each passage. Raises ModelProblem."""
        spans = [AnswerSpan(-np.inf, 0, 0)] * len(passages)
        for pair in self._states(question, passages):
            if pair.offsets:
                spans[pair.number] = best_span(pair.whole, pair.pieces, pair.offsets)
        return spans


def best_span(none: NDArray[np.float32], logits: NDArray[np.float32], offsets: Sequence[tuple[int, int]]) -> AnswerSpan:
    """The span with the highest sum of logits, at most `LONGEST_SPAN` pieces, over that of `none`.

    `none`, shape (2,), are those of "not here"; `logits`, shape (n, 2), those of beginning and end; `offsets` has where
    each of the n pieces begins and ends.
    """
    sums = logits[:, 0, None] + logits[None, :, 1]
    sums[~(np.tri(len(logits), dtype=bool).T & np.tri(len(logits), k=LONGEST_SPAN - 1, dtype=bool))] = -np.inf
    start, end = divmod(int(np.argmax(sums)), len(logits))
    return AnswerSpan(float(sums[start, end] - none.sum()), offsets[start][0], offsets[end][1])
