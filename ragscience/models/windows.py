"""Texts that are longer than a model reads: in windows, whose vectors are pooled."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ragscience.core.errors import ModelProblem

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["byte_windows", "embed_in_windows", "sendable", "split_windows", "unit_rows"]


def sendable(text: str) -> str:
    """The text with each lone surrogate, which UTF-8 cannot encode, replaced by U+FFFD; offsets stay."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def split_windows(count: int, size: int, overlap: int) -> list[tuple[int, int]]:
    """Windows of at most `size` over `count` items: the fewest that share `overlap` with each neighbour, equally long.

    Gives (start, end) pairs; the first starts at 0 and the last ends at `count`.
    """
    if count <= size:
        return [(0, count)]
    number = -((overlap - count) // (size - overlap))
    length = -(-(count + (number - 1) * overlap) // number)
    return [((start := index * (count - length) // (number - 1)), start + length) for index in range(number)]


def byte_windows(text: str, most_bytes: int) -> list[str]:
    """The text in pieces of at most `most_bytes` of UTF-8 that overlap by an eighth; unchanged if it fits."""
    if len(text.encode()) <= most_bytes:
        return [text]
    points = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    widths = 1 + (points > 0x7F) + (points > 0x7FF) + (points > 0xFFFF).astype(np.int64)
    ends = np.cumsum(widths)
    starts = ends - widths
    pieces = []
    for first, last in split_windows(int(ends[-1]), most_bytes, most_bytes // 8):
        pieces.append(text[np.searchsorted(starts, first) : np.searchsorted(ends, last, side="right")])
    return pieces


def embed_in_windows(
    texts: Sequence[str],
    cut: Callable[[str], list[str]],
    embed: Callable[[list[str]], NDArray[np.float32]],
    name: str,
) -> NDArray[np.float32]:
    """Unit rows, shape (len(texts), dimension), float32: of each text the mean of its windows, weighted by length.

    `cut` gives the windows of a text, `embed` unit rows for windows. Raises ModelProblem as `unit_rows`.
    """
    pieces = [(number, window) for number, text in enumerate(texts) for window in cut(sendable(text))]
    vectors = embed([window for _, window in pieces])
    totals = np.zeros((len(texts), vectors.shape[1]), dtype=np.float32)
    weights = np.array([max(1, len(window)) for _, window in pieces], dtype=np.float32)
    np.add.at(totals, [number for number, _ in pieces], vectors.astype(np.float32) * weights[:, None])
    return unit_rows(totals, name)


def unit_rows(rows: NDArray[np.float32], name: str) -> NDArray[np.float32]:
    """The rows at length 1, float32. Raises ModelProblem for one that is zero or not finite."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.all(np.isfinite(norms)) or not np.all(norms > 0):
        raise ModelProblem(f"{name} gave a vector that is zero or not a number.", "Pull the model again.")
    unit: NDArray[np.float32] = (rows / norms).astype(np.float32)
    return unit
