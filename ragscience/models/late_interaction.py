"""Token vectors small enough to keep: projected, pruned, quantised; and how a question is compared with them.

A pass of MiniLM gives a vector for each word piece of a passage. Kept are those of words that carry meaning, projected
to 64 dimensions by one fixed matrix, made unit and rounded to int8: about 16 KB a passage of 1,500 characters.

MaxSim is the mean over the question's tokens of the inner product with the best-matching passage token (ColBERT:
Khattab and Zaharia 2020, SIGIR, section 3.3). The span score is the cosine of the whole question's vector with the
mean of the best run of neighbouring passage tokens: it sees that words stand together, which MaxSim does not.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ragscience.errors import ModelProblem
from ragscience.tokenizing import STOP_WORDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ragscience.models.minilm import TokenVectors

__all__ = ["TOKEN_DIMENSION", "QuestionTokens", "compress", "question_tokens", "token_scores"]

TOKEN_DIMENSION = 64
SCALE = 127.0
SPAN_TOKENS = 24
SPAN_STRIDE = 4
PROJECTION = Path(__file__).with_name("projection.npy")
PROJECTION_SHA256 = "?"


@dataclass(frozen=True, slots=True)
class QuestionTokens:
    """A question, ready to be compared."""

    tokens: NDArray[np.float32]
    """Unit rows, shape (tokens, 64): those that carry meaning, or all where none does."""
    whole: NDArray[np.float32]
    """Unit, shape (64,): the mean of the question's tokens, stop words included."""


def compress(text: TokenVectors) -> NDArray[np.int8]:
    """What is kept of a passage: shape (tokens kept, 64), int8, each row a unit vector times 127."""
    kept = text.token_vectors[_carries_meaning(text.pieces)]
    rounded: NDArray[np.int8] = np.rint(_projected(kept) * SCALE).astype(np.int8)
    return rounded


def question_tokens(text: TokenVectors) -> QuestionTokens:
    """What of a question is compared with passages. Raises ModelProblem for a text without any token."""
    if not len(text.pieces):
        raise ModelProblem("The question has no word that the embedded model knows.", "Ask it in other words.")
    keep = _carries_meaning(text.pieces)
    tokens = text.token_vectors[keep] if keep.any() else text.token_vectors
    return QuestionTokens(_projected(tokens), _projected(text.vector[np.newaxis])[0])


def token_scores(
    question: QuestionTokens, passages: Sequence[NDArray[np.int8]]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """MaxSim and span score of each passage, shape (len(passages),) each, float32; -1 for a passage without tokens."""
    maxsim = np.full(len(passages), -1.0, np.float32)
    spans = np.full(len(passages), -1.0, np.float32)
    queries = np.vstack([question.tokens, question.whole[np.newaxis]]).T / SCALE
    for row, passage in enumerate(passages):
        if not len(passage):
            continue
        tokens = passage.astype(np.float32)
        maxsim[row] = (tokens @ queries[:, :-1]).max(axis=0).mean()
        spans[row] = _best_span(tokens, question.whole)
    return maxsim, spans


def _best_span(tokens: NDArray[np.float32], whole: NDArray[np.float32]) -> float:
    sums = np.vstack([np.zeros((1, tokens.shape[1]), np.float32), np.cumsum(tokens, axis=0)])
    ends = np.minimum(
        np.arange(0, max(1, len(tokens) - SPAN_TOKENS + SPAN_STRIDE), SPAN_STRIDE) + SPAN_TOKENS, len(tokens)
    )
    means = sums[ends] - sums[np.maximum(0, ends - SPAN_TOKENS)]
    return float((means @ whole / np.maximum(np.linalg.norm(means, axis=1), 1e-6)).max())


def _carries_meaning(pieces: Sequence[str]) -> NDArray[np.bool_]:
    """Which word pieces are kept, shape (len(pieces),): no punctuation, and no stop word that stands alone."""
    return np.array(
        [
            any(character.isalnum() for character in piece) and (piece not in STOP_WORDS or following.startswith("##"))
            for piece, following in zip(pieces, [*pieces[1:], ""], strict=True)
        ],
        dtype=np.bool_,
    )


def _projected(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Unit rows, shape (n, 64), of vectors of shape (n, 384): made unit, projected, made unit again."""
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-6)
    low = unit @ _projection()
    made: NDArray[np.float32] = low / np.maximum(np.linalg.norm(low, axis=1, keepdims=True), 1e-6)
    return made


@cache
def _projection() -> NDArray[np.float32]:
    """The matrix, shape (384, 64), float32; tools/make_projection.py makes it. Raises ModelProblem where it is damaged."""
    content = PROJECTION.read_bytes()
    if hashlib.sha256(content).hexdigest() != PROJECTION_SHA256:
        raise ModelProblem(f"{PROJECTION.name} is not the one that belongs here.", "Get the project's files anew.")
    matrix: NDArray[np.float32] = np.load(io.BytesIO(content))
    return matrix
