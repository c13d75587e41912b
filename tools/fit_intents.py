"""`python tools/fit_intents.py`: fit ragscience/ask/intents.npy to the examples of intents.toml and help.toml."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from ragscience.ask.intents import WEIGHTS, fit, kinds, probabilities
from ragscience.core.settings import load_settings
from ragscience.models.minilm import MiniLM


def main() -> int:
    """Fit, and say how many examples are taken for what they are."""
    embedder = MiniLM(cache_folder=Path(load_settings().cache_folder), on_warning=print)
    weights = fit(embedder.embed_documents)
    np.save(WEIGHTS, weights)
    texts = [text.replace("PAPER", "X1").replace("THING", "dropout") for kind in kinds() for text in kind.examples]
    owners = [number for number, kind in enumerate(kinds()) for _ in kind.examples]
    guessed = probabilities(weights, embedder.embed_documents(texts)).argmax(axis=1)
    print(f"{len(texts)} examples of {len(kinds())} kinds; {np.mean(guessed == owners):.1%} are taken for theirs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
