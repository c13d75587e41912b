"""Trains the adapter of ragscience/models/minilm.py, and says what it is worth on articles that it has not seen.

python tools/fit_reader.py OUT.safetensors FILE[:SHARE[:PARAGRAPHS]] … [--from OLD.safetensors]

The files are in SQuAD's format (Rajpurkar and others 2016, 2018). SHARE is how often a question of the file is asked in
an epoch; of a file without articles PARAGRAPHS that follow each other count as one. Every ninth article of each file is
kept for the figures. `--from` goes on from an adapter. Needs torch and transformers (requirements-torch.txt); one H200
took 5 minutes.

The adapter in the repository was trained twice: on the development sets of SQuAD 1.1 and 2.0 (CC BY-SA 4.0; 16,515
questions of 48 articles; two other runs, no dropout, 1.4 epochs at a rate of 1e-3), and from there, with the constants
below, on SQuADShifts (Miller and others 2020, CC BY 4.0: new_wiki, reddit:.7:40 and amazon_reviews:.5:40), COVID-QA
(Moeller and others 2020, Apache 2.0, :2) and 10,797 questions of SQuAD 2.0, some 4,700 of its training set.

The third training was on 944 questions that we wrote about 151 texts of open licences, each with 4 of the 20 runs that
the program ranks first for it instead of 7 drawn here: 2.5 epochs, 12 questions a step, rates of 3e-4 and 2.5e-4; .4 of
the adapter before it and .6 of what came of it were kept. The fourth went on from there: 3,122 questions of ours, a
quarter of them on reasons, steps and definitions, about 100 articles of PLOS (CC BY), 6 of Distill (CC BY 4.0), 55
pages of Dive into Deep Learning (CC BY-SA 4.0), 31 of the Hugging Face course (Apache 2.0) and the System Design Primer
(CC BY 4.0), each with 3 such runs, 1.75 epochs at a rate of 3e-4, the two lower layers as they were: 20 minutes of two
processor cores. The fifth was on runs with their neighbours, up to 600 characters, as the program reads them now: twice
2,600 questions about the same texts, nine tenths of them trained on, 3,100 of them turns of conversations behind the
questions before them, each with 2 other runs, at rates of 3e-4 and 2.5e-4, 12 minutes each; of the adapter before it
.2, of those after the first and the second pass .4 each were kept.

MiniLM's weights stay as they are; each projection gets a low-rank change (LoRA: Hu and others 2021).
A question comes with the run of sentences that has its answer and with seven others of the article that share words
with it. Beginning and end are chosen among the tokens of each run, or its first token where the answer is not there
(Devlin and others 2019), and again among those of all runs (Clark and Gardner 2018: shared normalisation), so that
scores compare between runs. Some questions are asked without their small words, as people type them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import multiprocessing
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

RANK, EPOCHS, QUESTIONS_A_STEP, RATE, WARM_STEPS, DROPOUT = 32, 3, 24, 5e-4, 150, 0.05
RUN_CHARS, OTHER_RUNS, NEAREST, BARE = 450, 7, 10, 0.15
QUESTIONS_A_JOB, REPORT_STEPS = 256, 500
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
    share: float
    """How often it is asked in an epoch."""


def questions_of(files: Sequence[str]) -> Iterator[Question]:
    """All questions of the files, as they are named on the command line."""
    for named in files:
        file, share, paragraphs = (*named.split(":"), "", "")[:3]
        for at, article, paragraph in _paragraphs(json.loads(Path(file).read_text(encoding="utf-8"))):
            name = f"{Path(file).stem} {at // int(paragraphs) if paragraphs else article}"
            for each in paragraph["qas"]:
                answers = tuple(answer["text"] for answer in each["answers"])
                yield Question(name, paragraph["context"], each["question"], answers, float(share or 1))


def _paragraphs(whole: dict[str, Any]) -> Iterator[tuple[int, str, dict[str, Any]]]:
    pairs = [(article, paragraph) for article in whole["data"] for paragraph in article["paragraphs"]]
    for at, (article, paragraph) in enumerate(pairs):
        yield at, article.get("title") or paragraph["context"][:40], paragraph


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
        nearest = sorted(other, reverse=True)[: max(NEAREST, others)]
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


def make_model(old: Path | None, outputs: int = 2) -> Any:
    """MiniLM with changes of its projections, and a head; `old` is an adapter to go on from."""
    import torch
    from safetensors.torch import load_file
    from transformers import BertModel

    from ragscience.models.minilm import find_minilm

    how = {"hidden_dropout_prob": DROPOUT, "attention_probs_dropout_prob": DROPOUT, "attn_implementation": "sdpa"}
    bert = BertModel.from_pretrained(str(find_minilm()), add_pooling_layer=False, dtype=torch.float32, **how)
    bert.requires_grad_(False)
    for layer in bert.encoder.layer:
        own = layer.attention.self
        own.query, own.key, own.value = lora(own.query), lora(own.key), lora(own.value)
        for part in (layer.attention.output, layer.intermediate, layer.output):
            part.dense = lora(part.dense)
    head = torch.nn.Linear(384, outputs)
    torch.nn.init.normal_(head.weight, std=0.02)
    torch.nn.init.zeros_(head.bias)
    model = torch.nn.ModuleDict({"bert": bert, "head": head})
    if old is not None:
        parts = dict(model.named_parameters())
        with torch.no_grad():
            for name, value in load_file(old).items():
                part = parts[name if name.startswith("head.") else f"bert.{name}"]
                if part.shape == value.shape:  # else another head
                    part.copy_(value)
    return model


@dataclass(frozen=True)
class Row:
    """A question and a run as tokens, with the tokens that the answer begins and ends with; 0: it is not there."""

    ids: list[int]
    begin: int
    """Where the run begins."""
    starts: list[int]
    ends: list[int]


def row_of(tokenizer: Any, question: str, run: str, spans: set[tuple[int, int]]) -> Row:
    """The row that the model reads."""
    from ragscience.models.minilm import QUESTION_TOKENS, ROW_TOKENS

    asked = tokenizer.encode(question, add_special_tokens=False).ids[-QUESTION_TOKENS:]
    said, begin = tokenizer.encode(run, add_special_tokens=False), len(asked) + 2
    offsets = said.offsets[: ROW_TOKENS - begin - 1]
    starts, ends = [], []
    for start, end in spans:
        inside = [i for i, (a, b) in enumerate(offsets) if a < end and b > start]
        if inside and offsets[inside[-1]][1] >= end:
            starts.append(begin + inside[0])
            ends.append(begin + inside[-1])
    first, last = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
    return Row([first, *asked, last, *said.ids[: len(offsets)], last], begin, starts or [0], ends or [0])


class Maker:
    """Makes the rows of questions, in processes of their own."""

    def __init__(self, articles: Articles) -> None:
        from ragscience.models.minilm import find_minilm
        from ragscience.models.token_counting import load_tokenizer

        self.articles, self.tokenizer = articles, load_tokenizer(find_minilm())

    def rows(self, job: tuple[list[Question], int]) -> list[list[Row]]:
        """For each question of a job the rows of its runs; nothing for one that has none."""
        rng, found = random.Random(job[1]), []
        for question in job[0]:
            runs = self.articles.group(question, rng, OTHER_RUNS)
            text = question.text
            if rng.random() < BARE:
                text = " ".join(w for w in text.rstrip("?").split() if w.lower() not in STOP_WORDS) or text
            found += [[row_of(self.tokenizer, text, run, spans) for run, spans in runs]] if runs else []
        return found


_maker: Maker | None = None
"""That of the processes, which are forked when it is there."""


def _rows(job: tuple[list[Question], int]) -> list[list[Row]]:
    return _maker.rows(job) if _maker is not None else []


def loss_of(model: Any, groups: Sequence[Sequence[Row]], device: str) -> Any:
    """The mean of both losses over beginning and end."""
    import torch

    rows = [row for group in groups for row in group]
    shape = len(rows), max(len(row.ids) for row in rows)
    ids, types, mask = (torch.zeros(shape, dtype=torch.long) for _ in range(3))
    in_run, is_it = torch.zeros(shape, dtype=torch.bool), torch.zeros((2, *shape), dtype=torch.bool)
    for i, row in enumerate(rows):
        size = len(row.ids)
        ids[i, :size], mask[i, :size], types[i, row.begin : size] = torch.tensor(row.ids), 1, 1
        in_run[i, row.begin : size - 1], is_it[0, i, row.starts], is_it[1, i, row.ends] = True, True, True
    ids, types, mask, in_run, is_it = (each.to(device) for each in (ids, types, mask, in_run, is_it))
    with torch.autocast(device, dtype=torch.bfloat16, enabled=device != "cpu"):
        states = model["bert"](input_ids=ids, token_type_ids=types, attention_mask=mask).last_hidden_state
    logits, may_be = model["head"](states.float()), in_run.clone()
    may_be[:, 0] = True
    sizes = torch.tensor([len(group) for group in groups], device=device)
    group_of, loss = torch.repeat_interleave(torch.arange(len(groups), device=device), sizes), logits.new_zeros(())
    for side in (0, 1):
        log = torch.log_softmax(logits[:, :, side].masked_fill(~may_be, FAR), 1)
        loss = loss - torch.logsumexp(log.masked_fill(~is_it[side], FAR), 1).mean()
        values, good = logits[:, :, side].masked_fill(~in_run, FAR), is_it[side] & in_run
        of_all, of_good = (torch.logsumexp(each, 1) for each in (values, values.masked_fill(~good, FAR)))
        most = logits.new_full((len(groups),), FAR).scatter_reduce(0, group_of, of_all, "amax")
        summed = [
            logits.new_zeros(len(groups)).scatter_add(0, group_of, torch.exp(each - most[group_of]))
            for each in (of_all, of_good)
        ]
        has = logits.new_zeros(len(groups)).scatter_add(0, group_of, good.any(1).float()) > 0
        if has.any():
            loss = loss + (torch.log(summed[0]) - torch.log(summed[1] + 1e-12))[has].mean()
    return loss / 2


def save(model: Any, target: Path) -> None:
    """The changes and the head, as float16."""
    from safetensors.numpy import save_file

    kept = {name: value for name, value in model.named_parameters() if value.requires_grad}
    halves = {name: value.detach().cpu().numpy().astype(np.float16) for name, value in kept.items()}
    save_file({name.removeprefix("bert."): value for name, value in halves.items()}, target)


def report(target: Path, articles: Articles, kept: Sequence[Question]) -> str:
    """What the adapter is worth, through the reader itself: each question with the run of its answer and seven more."""
    from ragscience.core.settings import Settings
    from ragscience.models.minilm import Adapter, SpanReader

    digest = hashlib.sha256(target.read_bytes()).hexdigest()
    reader = SpanReader(Adapter(target, digest), cache_folder=Settings().cache_folder, on_warning=print)
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


def train(model: Any, articles: Articles, trained: Sequence[Question], device: str) -> None:
    """Some epochs over the questions, each in an order of its own."""
    import torch

    global _maker
    _maker = Maker(articles)
    asked: list[Question] = []
    for epoch in range(EPOCHS):
        rng = random.Random(epoch)
        own = [each for each in trained for _ in range(int(each.share) + (rng.random() < each.share % 1))]
        asked += rng.sample(own, len(own))
    jobs = [(asked[at : at + QUESTIONS_A_JOB], at) for at in range(0, len(asked), QUESTIONS_A_JOB)]
    steps, step, waiting, total = len(asked) // QUESTIONS_A_STEP, 0, list[list[Row]](), 0.0
    with multiprocessing.get_context("fork").Pool() as pool:
        model.to(device).train()
        changed = [each for each in model.parameters() if each.requires_grad]
        optimizer = torch.optim.AdamW(changed, lr=RATE, weight_decay=0.01, betas=(0.9, 0.98))
        for made in pool.imap(_rows, jobs):
            waiting += made
            while len(waiting) >= QUESTIONS_A_STEP:
                groups, waiting = waiting[:QUESTIONS_A_STEP], waiting[QUESTIONS_A_STEP:]
                for each in optimizer.param_groups:
                    each["lr"] = RATE * min(1, step / WARM_STEPS) * (1 + math.cos(math.pi * step / steps)) / 2
                loss = loss_of(model, groups, device)
                optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(changed, 1.0)
                optimizer.step()
                step, total = step + 1, total + float(loss.detach())
                if step % REPORT_STEPS == 0:
                    print(f"step {step} of {steps}, loss {total / REPORT_STEPS:.3f}", flush=True)
                    total = 0.0


def main(target: Path, files: Sequence[str], old: Path | None) -> None:
    """Train, write, and print the figures."""
    import torch

    torch.manual_seed(0)
    questions = list(questions_of(files))
    articles = Articles(questions)
    for_figures = frozenset(sorted(articles.of)[KEPT])
    trained = [question for question in questions if question.article not in for_figures]
    model = make_model(old)
    train(model, articles, trained, "cuda" if torch.cuda.is_available() else "cpu")
    save(model, target)
    print(report(target, articles, [question for question in questions if question.article in for_figures]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", type=Path)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--from", dest="old", type=Path)
    asked_for = parser.parse_args()
    main(asked_for.target, asked_for.files, asked_for.old)
