"""Token vectors as product codes, and their cosines with a question's tokens, taken from the codes.

Product quantization (Jégou, Douze and Schmid 2011, IEEE TPAMI 33(1), sections 2 and 3): a vector of 64 numbers is cut
into 28 parts, and each part is kept as the number, 0 to 255, of the nearest of that part's 256 centroids: 28 bytes.
A question's inner products with all centroids are a table; its inner product with a vector is the sum of 28 entries.
The first 40 numbers, which are the axes of the projection along which vectors vary most, are cut into pairs, the last
24 into threes.

The centroids are one fixed file that belongs to the program (tools/make_token_centroids.py makes it): the codes of each
library mean the same, and a paper is added without training anything.
"""

from __future__ import annotations

import hashlib
import io
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ragscience.core.errors import ModelProblem

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CENTROIDS", "CODE_BYTES", "DIMENSION", "cosines", "encode", "parts_of"]

DIMENSION = 64
CODE_BYTES = 28
"""Parts of a vector, each a byte."""
CENTROIDS = Path(__file__).with_name("token_centroids.npy")
CENTROIDS_SHA256 = "5208fa8a4159bfd0927e4572843f5692b592d4b51227dcb5481326382c7cd185"
MEAN_COSINE = 0.9926
"""Of a vector with the one that its code stands for, over the text that the centroids are from."""
_PAIRS, _BLANK = 20, DIMENSION
_PLACES = np.array(
    [(first, first + 1, _BLANK) for first in range(0, 2 * _PAIRS, 2)]
    + [(first, first + 1, first + 2) for first in range(2 * _PAIRS, DIMENSION, 3)]
)
"""The numbers of each part, shape (28, 3); a pair has a zero for its third."""
_BLOCK = 256
"""Vectors that are encoded at a time: a product so small that OpenBLAS uses one thread."""


def encode(vectors: NDArray[np.float32]) -> NDArray[np.uint8]:
    """The codes, shape (n, 28), of vectors of shape (n, 64): of each part the nearest centroid."""
    centroids = _centroids()
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
    return np.pad(vectors, ((0, 0), (0, 1)))[:, _PLACES].transpose(1, 0, 2)


def cosines(codes: NDArray[np.uint8], tokens: NDArray[np.float32]) -> NDArray[np.float32]:
    """Of each coded vector with each of `tokens`, unit rows of shape (q, 64): shape (n, q) for codes of shape (n, 28).

    They are estimates, 1 at most. The inner product is divided by the length of the vector that the code stands for,
    which as a mean of vectors is shorter than these, and by MEAN_COSINE: what a code is off its vector points anywhere,
    and so takes that share from each cosine in the mean.
    """
    centroids = _centroids()
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
def _centroids() -> NDArray[np.float32]:
    """Shape (28, 256, 3), float32. Raises ModelProblem if the file is damaged."""
    content = CENTROIDS.read_bytes()
    if hashlib.sha256(content).hexdigest() != CENTROIDS_SHA256:
        raise ModelProblem(f"{CENTROIDS.name} is not the one that belongs here.", "Download the project's files again.")
    centroids: NDArray[np.float32] = np.load(io.BytesIO(content))
    return centroids
