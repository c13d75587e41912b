"""Trains the adapter of ragscience/models/question_parts.py, and says how often it takes questions apart rightly.

python tools/fit_parts.py OUT.safetensors [--epochs N] [--from OLD.safetensors]

benchmarks/questions/parts.jsonl has 6,925 questions of ours, 1,800 of them turns behind one or two earlier questions:
what each asks is words of it in their order, one text for each part. Every ninth is kept for the figures. MiniLM's
weights stay as they are; each projection gets a low-rank change, as in tools/fit_reader.py, and three outputs say of
each word piece to which parts its word belongs (binary cross-entropy). Needs torch and transformers.

The adapter in the repository was trained four times, each time from the one before, the first time from the reader's:
6 and 12 epochs over the first 3,810 questions, 6.5 over 5,450, and 2.3 over 6,410, of which the last 960 counted twice;
rates of 6e-4, the first time 5e-4; other questions than every ninth were kept. An hour of two processor cores. Of 400
kept ones as many parts are found as are wanted in .938, and F1 of the words is .932.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "tools"))

from fit_reader import make_model, save  # noqa: E402

from ragscience.models.minilm import find_minilm  # noqa: E402
from ragscience.models.question_parts import BELONGS, MOST_PARTS, QuestionParts, row_of  # noqa: E402
from ragscience.models.token_counting import load_tokenizer  # noqa: E402

QUESTIONS = ROOT / "benchmarks" / "questions" / "parts.jsonl"
A_STEP, RATE, WARM_STEPS, FAR = 32, 5e-4, 60, 10**9
MARKS = ".,;:?!()\"“”'’"


@dataclass(frozen=True)
class Asked:
    """A question behind others, and to which parts each of their words belongs, shape (n, MOST_PARTS)."""

    texts: tuple[str, ...]
    belongs: NDArray[np.float32]


def questions() -> Iterator[Asked]:
    """Those of the file; the part whose own words come first is the first."""
    for line in QUESTIONS.read_text(encoding="utf-8").splitlines():
        asked = json.loads(line)
        texts = (*asked.get("before", ()), asked["question"])
        words = [_bare(word) for text in texts for word in text.split()]
        places = [set(placed(words, list(filter(None, map(_bare, part.split()))))) for part in asked["parts"]]
        shared = set.intersection(*places) if len(places) > 1 else set()
        belongs = np.zeros((len(words), MOST_PARTS), np.float32)
        for number, own in enumerate(sorted(places, key=lambda own: min(own - shared, default=FAR))[:MOST_PARTS]):
            belongs[list(own), number] = 1
        yield Asked(texts, belongs)


def _bare(word: str) -> str:
    return word.strip(MARKS).lower()


def placed(words: Sequence[str], part: Sequence[str]) -> list[int]:
    """Where the words of a part are among all, in their order, with as few gaps as can be. Raises ValueError."""
    best: list[dict[int, tuple[int, list[int]]]] = [{-1: (0, [])}]
    for wanted in part:
        now = dict[int, tuple[int, list[int]]]()
        for at, word in enumerate(words):
            before = [(gaps + (at > last + 1), way) for last, (gaps, way) in best[-1].items() if last < at]
            if word == wanted and before:
                gaps, way = min(before)
                now[at] = (gaps, [*way, at])
        if not now:
            raise ValueError(f"{wanted!r} of {' '.join(part)!r} is not there in its order")
        best.append(now)
    return min(best[-1].values())[1]


def loss_of(model: Any, tokenizer: Any, batch: Sequence[Asked]) -> Any:
    """The mean over all word pieces that are of a word, summed over the parts."""
    import torch

    rows = [row_of(tokenizer, asked.texts) for asked in batch]
    shape = len(rows), max(len(row.ids) for row in rows)
    ids, types, mask = (torch.zeros(shape, dtype=torch.long) for _ in range(3))
    wanted, counts = torch.zeros((*shape, MOST_PARTS)), torch.zeros(shape)
    for number, (row, asked) in enumerate(zip(rows, batch, strict=True)):
        size = len(row.ids)
        ids[number, :size], types[number, :size] = torch.tensor(row.ids), torch.tensor(row.types)
        mask[number, :size] = 1
        for at, word in enumerate(row.word_of):
            if word >= 0:
                wanted[number, at], counts[number, at] = torch.from_numpy(asked.belongs[word]), 1
    states = model["bert"](input_ids=ids, token_type_ids=types, attention_mask=mask).last_hidden_state
    losses = torch.nn.functional.binary_cross_entropy_with_logits(model["head"](states), wanted, reduction="none")
    return (losses * counts[:, :, None]).sum() / counts.sum()


def train(model: Any, asked: Sequence[Asked], epochs: float) -> None:
    """Some epochs, questions of like length together."""
    import torch

    tokenizer, rng = load_tokenizer(find_minilm()), random.Random(0)
    changed = [each for each in model.parameters() if each.requires_grad]
    optimizer = torch.optim.AdamW(changed, lr=RATE, weight_decay=0.01, betas=(0.9, 0.98))
    steps, waiting = int(len(asked) * epochs / A_STEP), list[Sequence[Asked]]()
    model.train()
    for step in range(steps):
        if not waiting:
            order = sorted(asked, key=lambda each: (len(each.belongs) // 8, rng.random()))
            waiting = [order[at : at + A_STEP] for at in range(0, len(order), A_STEP)]
            rng.shuffle(waiting)
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1, step / WARM_STEPS) * (1 + math.cos(math.pi * step / steps)) / 2
        loss = loss_of(model, tokenizer, waiting.pop())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(changed, 1.0)
        optimizer.step()
        if step % 100 == 99:
            print(f"step {step + 1} of {steps}, loss {float(loss.detach()):.3f}", flush=True)


def report(target: Path, asked: Sequence[Asked]) -> str:
    """How it does through the program: the number of parts, and F1 of their words."""
    from ragscience.core.settings import Settings
    from ragscience.models.bert_session import Adapter

    digest = hashlib.sha256(target.read_bytes()).hexdigest()
    adapter = Adapter(target, digest, in_integers=True)
    split = QuestionParts(adapter, cache_folder=Settings().cache_folder, on_warning=print)
    tokenizer, counts, overlaps = load_tokenizer(find_minilm()), [], []
    for each in asked:
        found, wanted = split.probabilities(row_of(tokenizer, each.texts)) >= BELONGS, each.belongs > 0
        counts.append(len(split(each.texts[-1], each.texts[:-1])) == wanted.any(axis=0).sum())
        overlaps.append(2 * (found & wanted).sum() / max(1, found.sum() + wanted.sum()))
    return f"sha256 {digest}\n{len(asked)}: as many parts {np.mean(counts):.3f}, F1 of words {np.mean(overlaps):.3f}"


def main(target: Path, epochs: float, old: Path | None) -> None:
    """Train, write, and print the figures."""
    import torch

    torch.manual_seed(0)
    every = list(questions())
    model = make_model(old, outputs=MOST_PARTS)
    train(model, [each for number, each in enumerate(every) if number % 9], epochs)
    save(model, target)
    print(report(target, every[::9]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", type=Path)
    parser.add_argument("--epochs", type=float, default=12)
    parser.add_argument("--from", dest="old", type=Path)
    given = parser.parse_args()
    main(given.target, given.epochs, given.old)
