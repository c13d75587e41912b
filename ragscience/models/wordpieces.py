"""Word pieces of a text, as the model's own tokenizer.json cuts it, and windows over them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from ragscience.errors import ModelProblem

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["load_tokenizer", "sendable", "split_windows"]


def load_tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer of the model in `folder`, without the truncation and padding that its file may preset.

    Raises ModelProblem when tokenizer.json is not there or not one.
    """
    from tokenizers import Tokenizer

    path = folder / "tokenizer.json"
    try:
        text = path.read_text(encoding="utf-8")
        whole = isinstance(json.loads(text)["model"], dict)
    except OSError:
        raise ModelProblem(
            f"The model folder {folder} has no tokenizer.json.",
            "Copy it from where the model is from, or name another model.",
        ) from None
    except (ValueError, KeyError, TypeError):
        whole = False
    if not whole:
        raise ModelProblem(f"{path} is not a tokenizer.", "Copy it again from where the model is from.")
    tokenizer = Tokenizer.from_str(text)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def sendable(text: str) -> str:
    """The text with each lone surrogate, which UTF-8 cannot hold, replaced by U+FFFD; positions stay."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def split_windows(count: int, size: int, overlap: int) -> list[tuple[int, int]]:
    """Windows of at most `size` over `count` items, as few as can share `overlap` with each neighbour, all as long.

    Gives (start, end) pairs; the first starts at 0 and the last ends at `count`.
    """
    if count <= size:
        return [(0, count)]
    number = -((overlap - count) // (size - overlap))
    length = -(-(count + (number - 1) * overlap) // number)
    return [((start := index * (count - length) // (number - 1)), start + length) for index in range(number)]
