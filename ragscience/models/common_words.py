"""The words that the embedded model's word pieces hold whole: some 20,000 common English ones, spelled right."""

from __future__ import annotations

from functools import cache

from ragscience.core.errors import ModelProblem
from ragscience.models.minilm import find_minilm

__all__ = ["common_words"]


@cache
def common_words() -> frozenset[str]:
    """Lower-cased words; none where the model's files are not there."""
    try:
        lines = (find_minilm() / "vocab.txt").read_text(encoding="utf-8").splitlines()
    except (ModelProblem, OSError, UnicodeDecodeError):
        return frozenset()
    return frozenset(line for line in lines if line.isalpha())
