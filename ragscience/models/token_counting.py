"""Texts and what a model reads of them: tokenizers, estimated token counts, windows of long texts, pooled vectors.

A server's tokens are estimated where there is no local tokenizer, and the estimate is corrected by what it counts.

The estimate is the number of pieces of which a byte-pair tokenizer makes about one token each. On 1500-character pieces
of papers it is 1.02 to 1.09 times a sum that was fitted to Qwen2.5's tokenizer, whose counts were 0.93 to 1.16 times
that sum. Other tokenizers differ by a factor, which is learned from each reply's `prompt_eval_count`.
"""

from __future__ import annotations

import math
import re
from collections import deque
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ragscience.core.errors import ModelProblem

if TYPE_CHECKING:
    from tokenizers import Tokenizer


PER_MESSAGE = 12
"""Tokens that a chat template adds to a message: role, separators, beginning of text."""
UNSEEN_MARGIN = 1.15
"""Safety factor before the server has counted a first prompt."""
SEEN_MARGIN = 1.06
"""Safety factor on the largest of the last ratios afterwards."""
REMEMBERED = 8
"""Ratios of counted to estimated tokens that are kept."""
LOWEST_RATIO, HIGHEST_RATIO = 0.6, 3.0
"""Plausible range of counted / estimated for a prompt that was read whole, if most of it is ASCII."""
LOWEST_RATIO_FOREIGN = 0.35
"""The same for other scripts, which some tokenizers encode by word and others by byte."""
LOWEST_OF_SEEN = 0.75
"""Share of the smallest ratio seen so far below which a prompt was not read whole."""
LEAST_KEPT = 0.45
"""Share of its window that a server keeps of a prompt that it truncates, at least."""
SMALLEST_WINDOW = 256
"""Tokens: no server truncates a prompt to fewer; a smaller count excludes what its prompt cache held."""
_PIECES = re.compile(
    r"[A-Z]?[a-z]{1,8}|[A-Z]{1,2}|[0-9]|\n+|([!-/:-@\[-`{-~])\1{0,15}"
    r"|[\x80-\u024f\u0400-\u08ff]{1,2}|[^\x00-\x7f]|(?<=[ \t])[ \t]{1,16}|[ \t](?=[0-9])"
)
"""Part of a word, a digit, lines, a repeated mark, two letters of another alphabet or a sign of a script, blanks."""


def base_tokens(text: str) -> int:
    """Tokens of the text before correction: a byte-pair tokenizer makes about one of each piece."""
    return sum(1 for _ in _PIECES.finditer(text))


class TokenCounter:
    """Estimates tokens for one model, and learns from each count that its server gives; lives for one run.

    Threads may share one: what belongs to a prompt comes with the call.
    """

    def __init__(self) -> None:
        self._ratios: deque[float] = deque(maxlen=REMEMBERED)

    @property
    def factor(self) -> float:
        """The factor of `base_tokens`."""
        ratios = tuple(self._ratios)  # other threads may add to it
        return SEEN_MARGIN * max(ratios) if ratios else UNSEEN_MARGIN

    def count(self, text: str) -> int:
        """Tokens of the text, an overestimate rather than an underestimate."""
        return math.ceil(self.factor * base_tokens(text))

    def was_cut(self, prompt: str, messages: int, counted: int | None, *, window: int, is_told: bool = False) -> bool:
        """Whether the server truncated the prompt, judged by the tokens it `counted`; else learn from them.

        `prompt` is the text of all `messages` together; the server has said that its window is `window` where
        `is_told`. Ollama counts after truncation: it keeps the whole window, or about half of it
        (`runner/llamarunner`), silently. A count at the window's end means truncation. So does one below the plausible
        range, unless it is too small for half of a known window: some versions (early ones, and 0.30.0) left out what
        their prompt cache held. No count means unknown.
        """
        if not counted or counted < min(SMALLEST_WINDOW, window // 2):
            return False
        if counted >= window:
            return True
        ratio = max(0.0, counted - PER_MESSAGE * messages / 2) / max(base_tokens(prompt), 1.0)
        ascii_share = len(prompt.encode("ascii", "ignore")) / max(1, len(prompt))
        lowest = LOWEST_RATIO if ascii_share > 0.9 else LOWEST_RATIO_FOREIGN
        if self._ratios:
            lowest = LOWEST_OF_SEEN * min(tuple(self._ratios))
        if ratio < lowest:
            return not is_told or counted > LEAST_KEPT * window
        self._ratios.append(min(ratio, HIGHEST_RATIO))
        return False


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
    content = text.encode()
    if len(content) <= most_bytes:
        return [text]
    windows = split_windows(len(content), most_bytes, most_bytes // 8)
    return [content[first:last].decode("utf-8", "ignore") for first, last in windows]  # without halves of characters


def unit_rows(rows: NDArray[np.float32], name: str) -> NDArray[np.float32]:
    """The rows at length 1, float32. Raises ModelProblem for one that is zero or not finite."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.all(np.isfinite(norms)) or not np.all(norms > 0):
        raise ModelProblem(f"{name} gave a vector that is zero or not a number.", "Pull the model again.")
    unit: NDArray[np.float32] = (rows / norms).astype(np.float32)
    return unit


# Tokenizers


def load_tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer of the model in `folder`, without the truncation and padding that its file may preset.

    Raises ModelProblem when tokenizer.json is missing, invalid, or adds no special tokens at a text's begin and end.
    """
    from tokenizers import Tokenizer

    path = folder / "tokenizer.json"
    with _TokenizersErrors(path):
        tokenizer = Tokenizer.from_file(str(path))
    if tokenizer.num_special_tokens_to_add(is_pair=False) != 2:
        raise _no_tokenizer(path, "it does not mark where a text begins and ends")
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


class _TokenizersErrors(AbstractContextManager[None]):
    """ModelProblem in place of the bare `Exception` that the tokenizers library raises; all else passes."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if kind is Exception:
            raise _no_tokenizer(self._path, " ".join(str(error).split())[:200]) from error


def _no_tokenizer(path: Path, reason: str) -> ModelProblem:
    fix = "Copy it again from where the model is from, or name another model."
    return ModelProblem(f"{path} is not a tokenizer: {reason}.", fix)
