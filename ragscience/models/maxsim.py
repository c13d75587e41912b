"""Compact token vectors (projected, pruned, coded) and the MaxSim score of a question.

A pass of MiniLM gives a vector for each word piece of a passage. Those of words that carry meaning are kept, projected
to 64 dimensions by one fixed matrix, normalised and coded in 28 bytes each (below): about 4.7 KB for a passage
of 1,500 characters.

They are product codes (product quantization: Jégou, Douze and Schmid 2011, IEEE TPAMI 33(1), sections 2 and 3): a
vector of 64 numbers is cut into 28 parts, and each part is kept as the number, 0 to 255, of the nearest of that part's
256 centroids. A question's inner products with all centroids are a table; its inner product with a vector is the sum
of 28 entries. The first 40 numbers, which are the axes of the projection along which vectors vary most, are cut into
pairs, the last 24 into threes. The centroids are one fixed file that belongs to the program
(tools/make_token_centroids.py makes it): the codes of each library mean the same, and a paper is added without training
anything.

MaxSim is the weighted mean over the question's tokens of the inner product with the best-matching passage token
(ColBERT: Khattab and Zaharia 2020, SIGIR, section 3.3). The question's tokens and their weights come from an encoder
that was trained for it (models/minilm.py).
"""

import hashlib
import io
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ragscience.core.errors import ModelProblem
from ragscience.core.tokenizing import STOP_WORDS
from ragscience.models.model_protocols import Embedder, QuestionVectors, TokenEmbedder, TokenVectors

DIMENSION = 64
CODE_BYTES = 28
"""Parts of a vector, each a byte."""
CENTROIDS = Path(__file__).with_name("token_centroids.npy")
"""Shape (28, 256, 3)."""
CENTROIDS_SHA256 = "5208fa8a4159bfd0927e4572843f5692b592d4b51227dcb5481326382c7cd185"
MEAN_COSINE = 0.9926
"""Of a vector with the one that its code stands for, over the text that the centroids are from."""
_PAIRS, _BLANK = 20, DIMENSION
PLACES = np.array(
    [(first, first + 1, _BLANK) for first in range(0, 2 * _PAIRS, 2)]
    + [(first, first + 1, first + 2) for first in range(2 * _PAIRS, DIMENSION, 3)]
)
"""The numbers of each part, shape (28, 3); a pair has a zero for its third."""
_BLOCK = 256
"""Vectors that are encoded at a time: a product so small that OpenBLAS uses one thread."""


def encode(vectors: NDArray[np.float32]) -> NDArray[np.uint8]:
    """The codes, shape (n, 28), of vectors of shape (n, 64): of each part the nearest centroid."""
    centroids = _matrix(CENTROIDS, CENTROIDS_SHA256)
    codes = np.empty((len(vectors), CODE_BYTES), np.uint8)
    # |x - c|² is least where x·c - |c|²/2 is greatest.
    halves = np.square(centroids).sum(axis=2) / 2
    for first in range(0, len(vectors), _BLOCK):
        for part, rows in enumerate(parts_of(vectors[first : first + _BLOCK])):
            nearness = rows @ centroids[part].T - halves[part]
            codes[first : first + _BLOCK, part] = nearness.argmax(axis=1)
    return codes


def parts_of(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """The parts, shape (28, n, 3), of vectors of shape (n, 64)."""
    return np.pad(vectors, ((0, 0), (0, 1)))[:, PLACES].transpose(1, 0, 2)


def cosines(codes: NDArray[np.uint8], tokens: NDArray[np.float32]) -> NDArray[np.float32]:
    """Of each coded vector with each of `tokens`, unit rows of shape (q, 64): shape (n, q) for codes of shape (n, 28).

    They are estimates, 1 at most. The inner product is divided by the length of the vector that the code stands for,
    which as a mean of vectors is shorter than these, and by MEAN_COSINE: what a code is off its vector points anywhere,
    and so takes that share from each cosine in the mean.
    """
    centroids = _matrix(CENTROIDS, CENTROIDS_SHA256)
    products = np.matmul(centroids, parts_of(tokens).transpose(0, 2, 1))
    table = np.concatenate([products, np.square(centroids).sum(axis=2, keepdims=True)], axis=2)
    columns = np.ascontiguousarray(codes.T)
    sums = table[0].take(columns[0], axis=0)
    summand = np.empty_like(sums)
    for part in range(1, CODE_BYTES):
        table[part].take(columns[part], axis=0, out=summand, mode="clip")
        sums += summand
    found: NDArray[np.float32] = sums[:, :-1] / (np.float32(MEAN_COSINE) * np.sqrt(sums[:, -1:]))
    np.minimum(found, 1, out=found)
    return found


@cache
def _matrix(file: Path, sha256: str) -> NDArray[np.float32]:
    """What `file` holds, float32. Raises ModelProblem if it is damaged."""
    content = file.read_bytes()
    if hashlib.sha256(content).hexdigest() != sha256:
        raise ModelProblem(f"{file.name} is not the one that belongs here.", "Download the project's files again.")
    matrix: NDArray[np.float32] = np.load(io.BytesIO(content))
    return matrix


_MOST_PRODUCTS = 1 << 18
"""Multiplications up to which OpenBLAS uses one thread."""
EMBEDDING_BATCH = 64
"""Passages that are embedded in one call; more are no faster, and are lost together where a call fails."""
MOST_TOKEN_BYTES = 2 * 2**30
"""Disk space for token vectors of a library (about 5 KiB a passage): 400,000 passages; those of more are made when a
search needs them."""
PROJECTION = Path(__file__).with_name("projection.npy")
"""Shape (384, 64), made by tools/make_projection.py."""
PROJECTION_SHA256 = "4f58777f81233e816d5c5da4740acee055dba85b33b18f7136bb4b9aa336a435"


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
    return projected(text.token_vectors[carries_meaning(text.pieces)], _matrix(PROJECTION, PROJECTION_SHA256))


def maxsim(question: QuestionVectors, passages: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
    """MaxSim, -1 to 1, of each passage, given by its codes: shape (len(passages),), float32; -1 without tokens."""
    scores = np.full(len(passages), -1.0, np.float32)
    having = [row for row, passage in enumerate(passages) if len(passage)]
    if not having:
        return scores
    lengths = [len(passages[row]) for row in having]
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    products = cosines(np.concatenate([passages[row] for row in having]), question.tokens)
    scores[having] = np.maximum.reduceat(products, starts, axis=0) @ question.weights
    return scores


def product_on_one_core(left: NDArray[np.float32], right: NDArray[np.float32]) -> NDArray[np.float32]:
    """`left @ right`, the same numbers, in blocks of rows small enough that BLAS uses one thread.

    For such small products threads only wait for each other: on a busy machine they take 100 times as long.
    """
    rows, inner, columns = left.shape[0], left.shape[1], right.shape[1]
    blocks = -(-rows * inner * columns // _MOST_PRODUCTS)
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


def projected(vectors: NDArray[np.float32], matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    """Unit rows, shape (n, 64), of vectors of shape (n, 384): normalised, times `matrix`, normalised again."""
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-6)
    low = product_on_one_core(unit, matrix)
    made: NDArray[np.float32] = low / np.maximum(np.linalg.norm(low, axis=1, keepdims=True), 1e-6)
    return made
