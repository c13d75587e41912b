"""Word pieces of a text by the model's own tokenizer.json, and windows over them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from ragscience.core.errors import ModelProblem

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["load_tokenizer", "sendable", "split_windows"]


def load_tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer of the model in `folder`, without the truncation and padding that its file may preset.

    Raises ModelProblem when tokenizer.json is missing, invalid, or adds no special tokens at a text's begin and end.
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
    except (ValueError, KeyError, TypeError, RecursionError):
        whole = False
    if not whole:
        raise _no_tokenizer(path, "it is no JSON object with a model")
    with _TokenizersErrors(path):
        tokenizer = Tokenizer.from_str(text)
    if tokenizer.num_special_tokens_to_add(is_pair=False) != 2:
        raise _no_tokenizer(path, "it does not mark where a text begins and ends")
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


class _TokenizersErrors:
    """Converts exceptions of the tokenizers library to ModelProblem.

    The library raises bare `Exception`. An except clause for that would catch every programming
    error as well; this passes on all but that exact type.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Raises ModelProblem in place of a bare Exception."""
        if kind is Exception:
            raise _no_tokenizer(self._path, " ".join(str(error).split())[:200]) from error


def _no_tokenizer(path: Path, reason: str) -> ModelProblem:
    return ModelProblem(f"{path} is not a tokenizer: {reason}.", "Copy it again from where the model is from.")


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
