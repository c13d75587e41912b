"""Trains the adapter of ragscience/models/minilm.py, and says what it is worth on articles that it has not seen.

python tools/fit_reader.py OUT.safetensors QUESTIONS.json …

The files are in SQuAD's format (Rajpurkar and others 2016, 2018); the adapter in the repository was trained on the
development sets of SQuAD 1.1 and 2.0 (CC BY-SA 4.0): 10,570 questions with answers and 5,945 without, of 48 articles.
Every ninth article is kept for the figures. Needs torch and transformers (requirements-torch.txt).

MiniLM's weights stay as they are; each projection gets a low-rank change (LoRA: Hu and others 2021).
A question comes with the run of sentences that has its answer and with two others of the article that share words with
it. Beginning and end are chosen among the tokens of each run, or its first token where the answer is not there (Devlin
and others 2019), and again among the tokens of all three (Clark and Gardner 2018: shared normalisation), so that scores
compare between runs.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from ragscience.core.tokenizing import STOP_WORDS  # noqa: E402

RANK, EPOCHS, QUESTIONS_A_STEP, RATE, WARM_STEPS = 32, 1.4, 16, 1e-3, 100
RUN_CHARS, OTHER_RUNS, NEAREST = 450, 2, 10
BATCH_ROWS, REPORT_STEPS = 16, 50
FAR = -1e4
KEPT = slice(3, None, 9)
"""The articles that are kept for the figures, in the order of their names."""
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9\"'(])")
WORD = re.compile(r"\w+")
Run = tuple[str, str, frozenset[str]]
"""A paragraph, some sentences of it, and their words."""


@dataclass(frozen=True)
class Question:
    """A question with its paragraph; without answers: the paragraph has none."""

    article: str
    paragraph: str
    text: str
    answers: tuple[str, ...]


def questions_of(files: Sequence[str]) -> Iterator[Question]:
    """All questions of the files; of SQuAD 2.0 those without an answer, as the others are SQuAD 1.1's."""
    for file in files:
        whole = json.loads(Path(file).read_text(encoding="utf-8"))
        has_answers = not str(whole.get("version", "")).removeprefix("v").startswith("2")
        for article in whole["data"]:
            for paragraph in article["paragraphs"]:
                for each in paragraph["qas"]:
                    answers = tuple(answer["text"] for answer in each["answers"])
                    if bool(answers) == has_answers:
                        yield Question(article["title"], paragraph["context"], each["question"], answers)


def words_of(text: str) -> frozenset[str]:
    """The beginnings of its words, without stop words."""
    return frozenset(word[:6] for word in WORD.findall(text.lower()) if word not in STOP_WORDS)


def sentences_of(paragraph: str) -> list[str]:
    """Its sentences, by their marks."""
    return SENTENCE.split(paragraph)


class Articles:
    """The paragraphs of each article, cut into runs of one to three sentences, in four ways."""

    def __init__(self, questions: Sequence[Question]) -> None:
        self.of: dict[str, list[Question]] = {}
        for question in questions:
            self.of.setdefault(question.article, []).append(question)
        self.runs = lru_cache(None)(self._runs)

    def _runs(self, article: str, seed: int) -> list[Run]:
        rng = random.Random(seed)
        paragraphs = sorted({question.paragraph for question in self.of[article]})
        return [(p, run, words_of(run)) for p in paragraphs for run in cut(p, rng)]

    def group(self, question: Question, rng: random.Random, others: int) -> list[tuple[str, set[tuple[int, int]]]]:
        """Runs with the spans of the answer in each: the one that has it, if any, then others that look alike."""
        asked, answers = words_of(question.text), question.answers
        good, other = [], []
        for paragraph, run, words in self.runs(question.article, rng.randrange(4)):
            has = any(answer in run for answer in answers)
            is_own = paragraph == question.paragraph
            if is_own and has:
                good.append((len(words & asked) + 0.1 * rng.random(), run))
            elif not has or len(answers[0]) <= 4:
                other.append((len(words & asked) + 0.5 * is_own + 0.4 * rng.random(), run))
        nearest = sorted(other, reverse=True)[:NEAREST]
        rng.shuffle(nearest)
        found: list[tuple[str, set[tuple[int, int]]]] = [(run, set()) for _, run in nearest[:others]]
        if not answers:
            return found
        if not good:
            return []
        run = max(good)[1]
        counts = Counter(answer for answer in answers if answer in run)
        best = min((answer for answer in counts if counts[answer] == max(counts.values())), key=len)
        return [(run, {match.span() for match in re.finditer(re.escape(best), run)}), *found]


def cut(paragraph: str, rng: random.Random) -> Iterator[str]:
    """The paragraph in runs of one to three sentences."""
    left = sentences_of(paragraph)
    while left:
        count = rng.choice((1, 1, 2, 2, 3))
        while count > 1 and len(" ".join(left[:count])) > RUN_CHARS:
            count -= 1
        yield " ".join(left[:count])
        del left[:count]


# The model


def lora(linear: Any) -> Any:
    """A projection with a low-rank change beside its weights."""
    import torch

    class Lora(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = linear
            self.a = torch.nn.Parameter(torch.randn(RANK, linear.in_features) / math.sqrt(linear.in_features))
            self.b = torch.nn.Parameter(torch.zeros(linear.out_features, RANK))

        def forward(self, values: Any) -> Any:
            weight = linear.weight + (self.b @ self.a).to(linear.weight.dtype)
            return torch.nn.functional.linear(values, weight, linear.bias)

    return Lora()


def make_model() -> Any:
    """MiniLM with changes of its projections, and a head for beginning and end."""
    import torch
    from transformers import BertModel

    from ragscience.models.minilm import find_minilm

    how = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "attn_implementation": "sdpa"}
    bert = BertModel.from_pretrained(str(find_minilm()), add_pooling_layer=False, dtype=torch.float32, **how)
    bert.requires_grad_(False)
    for layer in bert.encoder.layer:
        own = layer.attention.self
        own.query, own.key, own.value = lora(own.query), lora(own.key), lora(own.value)
        for part in (layer.attention.output, layer.intermediate, layer.output):
            part.dense = lora(part.dense)
    head = torch.nn.Linear(384, 2)
    torch.nn.init.normal_(head.weight, std=0.02)
    torch.nn.init.zeros_(head.bias)
    return torch.nn.ModuleDict({"bert": bert, "head": head})


class Encoded:
    """Rows of a question and a run each, padded to one length."""

    def __init__(self, tokenizer: Any, pairs: Sequence[tuple[str, str]]) -> None:
        import torch

        from ragscience.models.minilm import QUESTION_TOKENS, ROW_TOKENS

        asked = [tokenizer.encode(text, add_special_tokens=False).ids[:QUESTION_TOKENS] for text, _ in pairs]
        runs = [tokenizer.encode(run, add_special_tokens=False) for _, run in pairs]
        self.begins = [len(ids) + 2 for ids in asked]
        self.offsets = [run.offsets[: ROW_TOKENS - at - 1] for run, at in zip(runs, self.begins, strict=True)]
        first, last = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
        rows = [
            [first, *ids, last, *run.ids[: len(offsets)], last]
            for ids, run, offsets in zip(asked, runs, self.offsets, strict=True)
        ]
        shape = len(rows), max(map(len, rows))
        self.ids, self.types, self.mask = (torch.zeros(shape, dtype=torch.long) for _ in range(3))
        self.in_run = torch.zeros(shape, dtype=torch.bool)
        for i, (row, at) in enumerate(zip(rows, self.begins, strict=True)):
            self.ids[i, : len(row)], self.mask[i, : len(row)] = torch.tensor(row), 1
            self.types[i, at : len(row)], self.in_run[i, at : len(row) - 1] = 1, True

    def logits(self, model: Any) -> Any:
        """Of beginning and end, shape (rows, tokens, 2); rows of like length go through the model together."""
        import torch

        order = sorted(range(len(self.ids)), key=lambda i: int(self.mask[i].sum()))
        found: list[Any] = [None] * len(order)
        for at in range(0, len(order), BATCH_ROWS):
            part = order[at : at + BATCH_ROWS]
            long = int(self.mask[part].sum(1).max())
            what = {"input_ids": self.ids, "token_type_ids": self.types, "attention_mask": self.mask}
            states = model["bert"](**{name: each[part, :long] for name, each in what.items()}).last_hidden_state
            logits = torch.nn.functional.pad(model["head"](states.float()), (0, 0, 0, self.ids.shape[1] - long))
            for i, row in zip(part, logits, strict=True):
                found[i] = row
        return torch.stack(found)

    def tokens(self, row: int, spans: set[tuple[int, int]]) -> list[set[int]]:
        """The tokens that spans of characters begin and end with; without any the first token of all."""
        ends = [set[int](), set[int]()]
        for start, end in spans:
            inside = [i for i, (a, b) in enumerate(self.offsets[row]) if a < end and b > start]
            if inside and self.offsets[row][inside[-1]][1] >= end:
                ends[0].add(self.begins[row] + inside[0])
                ends[1].add(self.begins[row] + inside[-1])
        return ends if ends[0] else [{0}, {0}]


def loss_of(model: Any, tokenizer: Any, groups: Sequence[tuple[str, list[tuple[str, set[tuple[int, int]]]]]]) -> Any:
    """The mean of both losses over beginning and end."""
    import torch

    flat = [(text, run, spans, g) for g, (text, runs) in enumerate(groups) for run, spans in runs]
    rows = Encoded(tokenizer, [(text, run) for text, run, _, _ in flat])
    logits, losses = rows.logits(model), []
    may_be = rows.in_run.clone()
    may_be[:, 0] = True
    wanted = [rows.tokens(i, spans) for i, (_, _, spans, _) in enumerate(flat)]
    for side in (0, 1):
        is_it = torch.zeros_like(may_be)
        for i, ends in enumerate(wanted):
            is_it[i, list(ends[side])] = True
        log = torch.log_softmax(logits[:, :, side].masked_fill(~may_be, FAR), 1)
        losses.append(-torch.logsumexp(log.masked_fill(~is_it, FAR), 1).mean())
        of_all = []
        for g in range(len(groups)):
            mine = [i for i, each in enumerate(flat) if each[3] == g]
            values = logits[mine, :, side].masked_fill(~rows.in_run[mine], FAR)
            good = is_it[mine] & rows.in_run[mine]
            if good.any():
                right = torch.logsumexp(values.masked_fill(~good, FAR).flatten(), 0)
                of_all.append(torch.logsumexp(values.flatten(), 0) - right)
        losses += [torch.stack(of_all).mean()] if of_all else []
    return sum(losses) / 2


def save(model: Any, target: Path) -> None:
    """The changes and the head, as float16."""
    from safetensors.numpy import save_file

    kept = {name: value for name, value in model.named_parameters() if value.requires_grad}
    save_file(
        {name.removeprefix("bert."): value.detach().numpy().astype(np.float16) for name, value in kept.items()}, target
    )


def report(target: Path, articles: Articles, kept: Sequence[Question]) -> str:
    """What the adapter is worth, through the reader itself: each question with the run of its answer and seven more."""
    from ragscience.core.settings import Settings
    from ragscience.models.minilm import SpanReader

    digest = hashlib.sha256(target.read_bytes()).hexdigest()
    SpanReader.adapter, SpanReader.adapter_sha256 = target, digest
    reader = SpanReader(cache_folder=Settings().cache_folder, on_warning=print)
    rng = random.Random(5)
    first, overlap, good, bad = [], [], [], list[float]()
    for question in rng.sample(list(kept), min(400, len(kept))):
        runs = articles.group(question, rng, 7)
        spans = reader.read(question.text, [run for run, _ in runs])
        scores = [span.score for span in spans]
        bad += scores[bool(question.answers) :]
        if question.answers and runs:
            first.append(scores[0] == max(scores))
            good.append(scores[0])
            said = runs[0][0][spans[0].start : spans[0].end]
            overlap.append(max(f1(said, answer) for answer in question.answers))
    apart = np.mean([np.mean(np.array(bad) < score) for score in good])
    return (
        f"adapter_sha256 = {digest!r}\n"
        f"{len(first)} questions: right run first {np.mean(first):.3f}, F1 of the span in it {np.mean(overlap):.3f}; "
        f"runs with and without an answer told apart (AUC) {apart:.3f}"
    )


def f1(said: str, wanted: str) -> float:
    """SQuAD's F1 over words."""
    one, other = (Counter(w for w in WORD.findall(t.lower()) if w not in ("a", "an", "the")) for t in (said, wanted))
    shared = sum((one & other).values())
    return 2 * shared / (one.total() + other.total()) if shared else 0.0


def main(target: str, *files: str) -> None:
    """Train, write, and print the figures."""
    import torch

    from ragscience.models.minilm import find_minilm
    from ragscience.models.token_counting import load_tokenizer

    torch.manual_seed(0)
    questions = list(questions_of(files))
    articles = Articles(questions)
    for_figures = frozenset(sorted(articles.of)[KEPT])
    trained = [question for question in questions if question.article not in for_figures]
    tokenizer, model = load_tokenizer(find_minilm()), make_model()
    changed = [each for each in model.parameters() if each.requires_grad]
    optimizer = torch.optim.AdamW(changed, lr=RATE, weight_decay=0.01, betas=(0.9, 0.98))
    steps = int(len(trained) * EPOCHS / QUESTIONS_A_STEP)
    rng, waiting, total = random.Random(1), list[Question](), 0.0
    for step in range(steps):
        groups: list[tuple[str, list[tuple[str, set[tuple[int, int]]]]]] = []
        while len(groups) < QUESTIONS_A_STEP:
            waiting = waiting or rng.sample(trained, len(trained))
            question = waiting.pop()
            runs = articles.group(question, rng, OTHER_RUNS)
            groups += [(question.text, runs)] if runs else []
        for each in optimizer.param_groups:
            each["lr"] = RATE * min(1, step / WARM_STEPS) * (1 + math.cos(math.pi * step / steps)) / 2
        loss = loss_of(model, tokenizer, groups)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(changed, 1.0)
        optimizer.step()
        total += float(loss.detach())
        if step % REPORT_STEPS == REPORT_STEPS - 1:
            print(f"step {step + 1} of {steps}, loss {total / REPORT_STEPS:.3f}", flush=True)
            total = 0.0
    save(model, Path(target))
    print(report(Path(target), articles, [question for question in questions if question.article in for_figures]))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
