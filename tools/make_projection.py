"""Makes ragscience/models/projection.npy, the 384 x 64 matrix that token vectors are projected with.

It is the first 64 principal axes (uncentred) of MiniLM's token vectors of two texts, each weighing half: prose
of ours about this program (an early sample paper, kept next to this script and not to be edited), and lines of words
drawn from MiniLM's vocabulary. Run it only to change the form of token vectors; the hash it
prints belongs into ragscience/models/maxsim.py, and every library's token vectors have to be made anew.
"""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from config import load_settings  # noqa: E402  # after the path is set
from ragscience.models.maxsim import DIMENSION, PROJECTION, carries_meaning  # noqa: E402
from ragscience.models.minilm import MiniLM, find_minilm  # noqa: E402

LINES, WORDS_IN_A_LINE = 500, 60


def prose_texts() -> list[str]:
    """The prose, a paragraph each."""
    return [
        part
        for part in (ROOT / "tools" / "projection_text.txt").read_text(encoding="utf-8").split("\n\n")
        if part.strip()
    ]


def vocabulary_texts() -> list[str]:
    """Lines of whole words of MiniLM's vocabulary, drawn with a fixed seed."""
    vocabulary = (find_minilm() / "vocab.txt").read_text(encoding="utf-8").splitlines()
    words = [word for word in vocabulary if re.fullmatch("[a-z]{3,}", word)]
    dice = np.random.default_rng(0)
    return [" ".join(dice.choice(words, WORDS_IN_A_LINE)) + "." for _ in range(LINES)]


def covariance(model: MiniLM, texts: list[str]) -> np.ndarray:
    """Mean outer product of the kept tokens' unit vectors, shape (384, 384), float64."""
    total, count = np.zeros((384, 384)), 0
    for first in range(0, len(texts), 64):
        for text in model.embed_with_tokens(texts[first : first + 64]):
            vectors = text.token_vectors[carries_meaning(text.pieces)].astype(np.float64)
            unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
            total += unit.T @ unit
            count += len(unit)
    return total / count


def main() -> None:
    """Embed, decompose, write and print the hash."""
    model = MiniLM(cache_folder=load_settings().cache_folder, on_warning=print)
    both = covariance(model, prose_texts()) + covariance(model, vocabulary_texts())
    _, axes = np.linalg.eigh(both)
    np.save(PROJECTION, np.ascontiguousarray(axes[:, ::-1][:, :DIMENSION].astype(np.float32)))
    print(f"sha256 {hashlib.sha256(PROJECTION.read_bytes()).hexdigest()}")


if __name__ == "__main__":
    main()
