"""Compact token vectors (projected, pruned, coded) and the MaxSim score of a question.

A pass of MiniLM gives a vector for each word piece of a passage. Those of words that carry meaning are kept, projected
to 64 dimensions by one fixed matrix, normalised and coded in 28 bytes each (token_codes.py): about 4.7 KB for a passage
of 1,500 characters.

MaxSim is the mean over the question's tokens of the inner product with the best-matching passage token (ColBERT:
Khattab and Zaharia 2020, SIGIR, section 3.3).
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ragscience.core.errors import ModelProblem
from ragscience.core.tokenizing import STOP_WORDS
from ragscience.models.token_codes import cosines, encode

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ragscience.models.model_protocols import Embedder, TokenEmbedder, TokenVectors

__all__ = [
    "EMBEDDING_BATCH",
    "MOST_TOKEN_BYTES",
    "QuestionTokens",
    "carries_meaning",
    "compress",
    "embed_batch",
    "maxsim",
    "projected_tokens",
    "question_tokens",
]

_BLOCK = 1 << 18
"""Multiplications up to which OpenBLAS uses one thread."""
EMBEDDING_BATCH = 64
"""Passages that are embedded in one call; more are no faster, and are lost together where a call fails."""
MOST_TOKEN_BYTES = 2 * 2**30
"""Disk space for token vectors of a library (about 5 KiB a passage): 400,000 passages; those of more are made when a
search needs them."""
PROJECTION = Path(__file__).with_name("projection.npy")
PROJECTION_SHA256 = "4f58777f81233e816d5c5da4740acee055dba85b33b18f7136bb4b9aa336a435"


@dataclass(frozen=True, slots=True)
class QuestionTokens:
    """A question's token vectors."""

    tokens: NDArray[np.float32]
    """Unit rows, shape (tokens, 64): those that carry meaning, or the whole question's vector if none does."""


def embed_batch(
    embedder: Embedder, source: TokenEmbedder | None, texts: Sequence[str]
) -> tuple[NDArray[np.float32], list[NDArray[np.uint8]]]:
    """Unit rows, shape (len(texts), dimension), float32, and the stored token vectors of each text.

    No token vectors without a `source`; where that is the embedder itself, one model pass gives both.
    """
    if source is None:
        return embedder.embed_documents(texts), []
    passes = source.embed_with_tokens(texts)
    compressed = [compress(each) for each in passes]
    if source is embedder:
        return np.stack([each.vector for each in passes]), compressed
    return embedder.embed_documents(texts), compressed


def compress(text: TokenVectors) -> NDArray[np.uint8]:
    """The stored token vectors of a passage: their codes, shape (tokens kept, 28)."""
    return encode(projected_tokens(text))


def projected_tokens(text: TokenVectors) -> NDArray[np.float32]:
    """Unit rows, shape (tokens kept, 64): the vectors of the word pieces that carry meaning."""
    return _projected(text.token_vectors[carries_meaning(text.pieces)])


def question_tokens(text: TokenVectors) -> QuestionTokens:
    """The token vectors of a question for comparison with passages."""
    keep = carries_meaning(text.pieces)
    tokens = text.token_vectors[keep] if keep.any() else text.vector[np.newaxis]
    return QuestionTokens(_projected(tokens))


def maxsim(question: QuestionTokens, passages: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
    """MaxSim, -1 to 1, of each passage, given by its codes: shape (len(passages),), float32; -1 without tokens."""
    scores = np.full(len(passages), -1.0, np.float32)
    having = [row for row, passage in enumerate(passages) if len(passage)]
    if not having:
        return scores
    lengths = [len(passages[row]) for row in having]
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    products = cosines(np.concatenate([passages[row] for row in having]), question.tokens)
    scores[having] = np.maximum.reduceat(products, starts, axis=0).mean(axis=1)
    return scores


def product_on_one_core(left: NDArray[np.float32], right: NDArray[np.float32]) -> NDArray[np.float32]:
    """`left @ right`, the same numbers, in blocks of rows small enough that BLAS uses one thread.

    For such small products threads only wait for each other: on a busy machine they take 100 times as long.
    """
    rows, inner, columns = left.shape[0], left.shape[1], right.shape[1]
    blocks = -(-rows * inner * columns // _BLOCK)
    product = np.empty((rows, columns), np.float32)
    for block in range(blocks):
        first, last = rows * block // blocks, rows * (block + 1) // blocks
        np.matmul(left[first:last], right, out=product[first:last])
    return product


def carries_meaning(pieces: Sequence[str]) -> NDArray[np.bool_]:
    """Which word pieces are kept, shape (len(pieces),): no punctuation, and no whole stop word."""
    return np.array(
        [
            _has_letters(piece) and (piece not in STOP_WORDS or following.startswith("##"))
            for piece, following in zip(pieces, [*pieces[1:], ""], strict=False)
        ],
        dtype=np.bool_,
    )


@lru_cache(maxsize=1 << 15)
def _has_letters(piece: str) -> bool:
    """Or figures."""
    return any(character.isalnum() for character in piece)


def _projected(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Unit rows, shape (n, 64), of vectors of shape (n, 384): normalised, projected, normalised again."""
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-6)
    low = product_on_one_core(unit, _projection())
    made: NDArray[np.float32] = low / np.maximum(np.linalg.norm(low, axis=1, keepdims=True), 1e-6)
    return made


@cache
def _projection() -> NDArray[np.float32]:
    """The matrix, shape (384, 64), float32, of tools/make_projection.py. Raises ModelProblem if it is damaged."""
    content = PROJECTION.read_bytes()
    if hashlib.sha256(content).hexdigest() != PROJECTION_SHA256:
        raise ModelProblem(
            f"{PROJECTION.name} is not the one that belongs here.", "Download the project's files again."
        )
    matrix: NDArray[np.float32] = np.load(io.BytesIO(content))
    return matrix
