"""Trains the question encoder of ragscience/models/minilm.py, and says what it is worth on papers that it has not seen.

python tools/fit_questions.py HOME QUESTIONS.jsonl … OUT.safetensors

HOME is the home of a library that was made with the embedded embedder. Each line of the files is a question on a paper
of it, `{"file": …, "question": …, "answer": …}`, or a conversation, `{"file": …, "turns": […]}` with a question and an
answer in each turn: each answer stands word for word in the paper. A turn is read behind the questions before it. A
sentence that says the same as one of the paper is a question, too, with that one for its answer. Every sixth paper is
kept for the figures. Needs torch and transformers (requirements-torch.txt). `python tools/fit_intents.py` comes after
it, as the weights of the kinds of questions belong to the encoder.

The encoder in the repository was trained twice on texts of open licences (PLOS, Distill, Dive into Deep Learning, the
Hugging Face course and the System Design Primer, as tools/fit_reader.py names them) and on the examples of intents.toml
and help.toml: on 3,644 questions and 2,584 sentences of ours about 214 texts, five epochs with passages of one other
paper to tell apart; and from there with 3,018 turns of conversations of ours, four epochs, 13 minutes of two processor
cores, with the passages of all other papers that are nearest. Of what came of it a part is kept (KEPT_CHANGE,
KEPT_WEIGHTS: Wortsman and others 2022, CVPR): the whole finds more in these papers' like, and less in SciFact.

Passages stay as they are embedded and stored. Of questions MiniLM's projections get a low-rank change (LoRA: Hu and
others 2021), so that, of a paper's passages and of its sentences, those with the answer are the ones with the highest
weighted MaxSim (Khattab and Zaharia 2020), and those with the highest cosine among all passages; and so that a
linear layer tells the kinds of questions apart. Each is a softmax with a scale that is trained, too.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

import torch  # noqa: E402
from torch import Tensor  # noqa: E402
from torch.nn import functional  # noqa: E402

EPOCHS, RATE, HEAD_RATE, WARM_STEPS, QUESTIONS_A_STEP, EXAMPLES_A_STEP = 4, 4e-4, 1e-2, 20, 16, 24
SENTENCES, DENSE, KINDS = 0.5, 0.5, 0.7
"""Weights of the losses beside the one of passages."""
KEPT_CHANGE, KEPT_WEIGHTS = 0.7, 0.5
SHARPNESS, BONUS, MOST_PLACES, LONGEST = 20.0, 2.0, 4, 64
NEAREST, OTHERS = 12, 2
"""Passages of other papers that are nearest to a question, and those of them that a step compares it with."""
KEPT = slice(None, None, 6)
UNMARKED = re.compile(r"[*_`]+")


@dataclass(frozen=True)
class Texts:
    """A paper's passages and sentences, as token vectors."""

    tokens: Tensor
    """Unit rows, shape (n, 64)."""
    passage_of: Tensor
    """The passage of each token, shape (n,)."""
    in_sentences: Tensor
    """The tokens that sentences have, shape (m,);"""
    sentence_of: Tensor
    """the sentence of each, shape (m,)."""
    vectors: Tensor
    """Unit rows, shape (passages, 384)."""
    sentences: tuple[tuple[int, str], ...]
    """The passage and the words of each."""
    passages: tuple[str, ...]


@dataclass(frozen=True)
class Question:
    """A question, with the passages and the sentences of its paper that answer."""

    text: str
    passages: list[int]
    sentences: list[int]
    nearest: list[tuple[str, int]] = field(default_factory=list)
    """Files and passages elsewhere that are alike."""


def plain(text: str) -> str:
    """The text without the marks of Markdown, on one line."""
    return " ".join(UNMARKED.sub("", text).split()).strip(" .,;:")


def papers(home: Path, wanted: set[str]) -> dict[str, Texts]:
    """The papers of a library that are wanted, by their file."""
    from ragscience.core.records import Filters
    from ragscience.core.settings import load_settings
    from ragscience.library.store import Home, Library
    from ragscience.models.minilm import MiniLM

    model = MiniLM(cache_folder=load_settings().cache_folder, on_warning=print)
    found = {}
    with Library.open(Home(home)) as library:
        for paper in (paper for paper in library.papers() if paper.file in wanted):
            ids = library.select(Filters(paper_ids=(paper.paper_id,)))
            stored = library.tokens.of(ids.tolist()) if ids is not None else {}
            chunks = [chunk for chunk in library.chunks(list(stored)) if len(stored[chunk.chunk_id])]
            if chunks:
                found[paper.file] = texts_of(model, chunks, [stored[chunk.chunk_id] for chunk in chunks])
    return found


def texts_of(model: Any, chunks: Sequence[Any], codes: Sequence[Any]) -> Texts:
    """The passages of a paper, given as `StoredChunk`s and their codes."""
    from ragscience.core.sentences import split_sentences

    owners, places, numbers, sentences = [], [], [], []
    first = 0
    for number, (chunk, code) in enumerate(zip(chunks, codes, strict=True)):
        spans = model.kept_places(chunk.searched) - (len(chunk.searched) - len(chunk.text))
        for sentence in split_sentences(chunk.text) if len(spans) == len(code) else ():
            start = int(spans[:, 0].searchsorted(sentence.start))
            end = int(spans[:, 1].searchsorted(sentence.end, side="right"))
            if end > start:
                places += range(first + start, first + end)
                numbers += [len(sentences)] * (end - start)
                sentences.append((number, plain(chunk.text[sentence.start : sentence.end])))
        owners += [number] * len(code)
        first += len(code)
    return Texts(
        tokens=torch.tensor(decoded(np.concatenate(codes))),
        passage_of=torch.tensor(owners),
        in_sentences=torch.tensor(places),
        sentence_of=torch.tensor(numbers),
        vectors=torch.tensor(model.embed_documents([chunk.searched for chunk in chunks])),
        sentences=tuple(sentences),
        passages=tuple(plain(chunk.text) for chunk in chunks),
    )


def decoded(codes: Any) -> Any:
    """The unit vectors, shape (n, 64), that codes of shape (n, 28) stand for."""
    from ragscience.models import maxsim

    centroids = np.load(maxsim.CENTROIDS)
    vectors = np.zeros((len(codes), maxsim.DIMENSION + 1), np.float32)
    for part, where in enumerate(maxsim.PLACES):
        own = [place for place in where if place < maxsim.DIMENSION]
        vectors[:, own] = centroids[part][codes[:, part]][:, : len(own)]
    vectors = vectors[:, : maxsim.DIMENSION]
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def lines_of(file: Path) -> Iterator[dict[str, str]]:
    """The questions of a file; those of a conversation as they are searched for, behind the ones before them."""
    from ragscience.ask.conversation import BETWEEN_TURNS

    for line in map(json.loads, filter(None, file.read_text("utf-8").splitlines())):
        asked: list[str] = []
        for turn in line.get("turns", [line]):
            asked.append(turn["question"])
            yield {"file": line["file"], "question": BETWEEN_TURNS.join(asked), "answer": turn["answer"]}


def asked_of(texts: Texts, lines: Sequence[dict[str, str]]) -> Iterator[Question]:
    """The questions on a paper whose answer stands in some of its passages, and not in many."""
    for line in lines:
        answer = plain(line["answer"])
        before, behind = (r"(?<![\w.,])" * answer[:1].isalnum(), r"(?!\w|[.,]\d)" * answer[-1:].isalnum())
        pattern = re.compile(before + re.escape(answer) + behind)
        where = [number for number, passage in enumerate(texts.passages) if answer and pattern.search(passage)]
        if 0 < len(where) <= MOST_PLACES:
            said = [
                number
                for number, (passage, words) in enumerate(texts.sentences)
                if passage in where and (pattern.search(words) or (len(words) > LONGEST and words[:LONGEST] in answer))
            ]
            yield Question(line["question"], where, said)


class Encoder(torch.nn.Module):
    """The question encoder in training."""

    def __init__(self) -> None:
        """It begins as MiniLM is."""
        from fit_reader import make_model

        from ragscience.ask.intents import kinds
        from ragscience.models import maxsim
        from ragscience.models.minilm import find_minilm
        from ragscience.models.token_counting import load_tokenizer

        super().__init__()
        self.tokenizer: Any = load_tokenizer(find_minilm())
        self.bert = make_model(None)["bert"]
        self.matrix = torch.nn.Parameter(torch.tensor(np.load(maxsim.PROJECTION)))
        self.weights = torch.nn.Parameter(torch.zeros(384))
        self.bonus = torch.nn.Parameter(torch.tensor([BONUS]))
        self.scales = torch.nn.Parameter(torch.full((3,), 3.0))
        self.kinds = torch.nn.Linear(384, len(kinds()))
        torch.nn.init.zeros_(self.kinds.weight)

    def read(self, texts: Sequence[str]) -> tuple[Tensor, Tensor, list[Any]]:
        """(Token vectors, unit vectors of the texts, their encodings)."""
        encodings = [self.tokenizer.encode(text) for text in texts]
        rows = [torch.tensor(each.ids[:LONGEST]) for each in encodings]
        ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
        there = torch.nn.utils.rnn.pad_sequence([torch.ones_like(row) for row in rows], batch_first=True)
        states = self.bert(input_ids=ids, attention_mask=there).last_hidden_state
        total = (states * there[..., None]).sum(1)
        return states, functional.normalize(total, dim=1), encodings

    def questions(self, texts: Sequence[str]) -> tuple[list[Tensor], list[Tensor], Tensor]:
        """(Unit rows, shape (tokens, 64), and weights of each text; unit vectors, shape (texts, 384))."""
        from ragscience.models.maxsim import carries_meaning

        states, vectors, encodings = self.read(texts)
        tokens, weights = [], []
        for state, encoding in zip(states, encodings, strict=True):
            pieces = encoding.tokens[1 : LONGEST - 1] if len(encoding.tokens) > LONGEST else encoding.tokens[1:-1]
            unit = functional.normalize(state[1 : 1 + len(pieces)], dim=1)
            meaning = torch.tensor(carries_meaning(pieces).astype(np.float32))
            weights.append(torch.softmax(SHARPNESS * (unit @ self.weights) + self.bonus * meaning, 0))
            tokens.append(functional.normalize(unit @ self.matrix, dim=1))
        return tokens, weights, vectors

    def saved(self) -> dict[str, Any]:
        """The arrays of the adapter, float16."""
        lora = {name: value for name, value in self.bert.named_parameters() if name.endswith((".a", ".b"))}
        changes = {name: value * (KEPT_CHANGE if name.endswith(".b") else 1) for name, value in lora.items()}
        own = {"matrix": self.matrix, "weights": KEPT_WEIGHTS * SHARPNESS * self.weights, "bonus": self.bonus}
        every = changes | {f"tokens.{name}": value for name, value in own.items()}
        return {name: value.detach().numpy().astype(np.float16) for name, value in every.items()}


def maxsims(tokens: Sequence[Tensor], weights: Sequence[Tensor], texts: Texts) -> tuple[Tensor, Tensor]:
    """The weighted MaxSim of each question with each passage and each sentence of a paper."""
    products = texts.tokens @ torch.cat(list(tokens)).T
    both = (
        (products, texts.passage_of, len(texts.passages)),
        (products[texts.in_sentences], texts.sentence_of, len(texts.sentences)),
    )
    scores = []
    for values, owners, count in both:
        lengths = torch.bincount(owners, minlength=count).tolist()
        best = torch.stack([own.amax(0) for own in values.split(lengths)]) if count else values[:0]
        parts = best.split([len(each) for each in tokens], dim=1)
        scores.append(torch.stack([part @ weight for part, weight in zip(parts, weights, strict=True)]))
    return scores[0], scores[1]


def of_others(known: dict[str, tuple[Texts, list[Question]]], places: Sequence[tuple[str, int]]) -> Texts:
    """Passages of several papers as those of one, without sentences."""
    tokens = [known[file][0].tokens[known[file][0].passage_of == place] for file, place in places]
    lengths = torch.tensor([len(each) for each in tokens])
    none = torch.zeros(0, dtype=torch.long)
    vectors = torch.stack([known[file][0].vectors[place] for file, place in places])
    owners = torch.repeat_interleave(torch.arange(len(places)), lengths)
    return Texts(torch.cat(tokens), owners, none, none, vectors, (), ("",) * len(places))


def find_nearest(model: Encoder, known: dict[str, tuple[Texts, list[Question]]]) -> None:
    """Note for each question the passages of other papers that are nearest to it."""
    places = [(file, place) for file, (texts, _) in known.items() for place in range(len(texts.passages))]
    everything = torch.cat([texts.vectors for texts, _ in known.values()])
    model.eval()
    with torch.no_grad():
        for file, (_, questions) in known.items():
            _, vectors, _ = model.read([question.text for question in questions])
            own = torch.tensor([other == file for other, _ in places])
            near = (vectors @ everything.T).masked_fill(own, -1.0).topk(NEAREST).indices
            for question, row in zip(questions, near.tolist(), strict=True):
                question.nearest.extend(places[number] for number in row)
    model.train()


def missed(logits: Tensor, right: Sequence[Sequence[int]]) -> Tensor:
    """The mean of -log of the probability that the right ones have together, of the rows that have any."""
    chances = torch.log_softmax(logits, 1)
    losses = [-torch.logsumexp(chances[row, list(which)], 0) for row, which in enumerate(right) if which]
    return torch.stack(losses).mean() if losses else logits.sum() * 0


def train(model: Encoder, known: dict[str, tuple[Texts, list[Question]]]) -> None:
    """Some epochs over the papers, each in an order of its own."""
    from fit_intents import examples_as_asked

    files = list(known)
    begins, total = {}, 0
    for file, (texts, _) in known.items():
        begins[file], total = total, total + len(texts.passages)
    everything = torch.cat([texts.vectors for texts, _ in known.values()])
    find_nearest(model, known)
    examples, passages = examples_as_asked()
    queue: list[tuple[list[str], int]] = []
    own = [value for name, value in model.named_parameters() if value.requires_grad and not name.startswith("kinds")]
    groups = [{"params": own, "lr": RATE}, {"params": model.kinds.parameters(), "lr": HEAD_RATE}]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.01)
    steps, rates, order = EPOCHS * len(files), (RATE, HEAD_RATE), list[str]()
    for step in range(steps):
        order = order or random.sample(files, len(files))
        file = order.pop()
        texts, questions = known[file]
        chosen = random.sample(questions, min(QUESTIONS_A_STEP, len(questions)))
        tokens, weights, vectors = model.questions([question.text for question in chosen])
        of_passages, of_sentences = maxsims(tokens, weights, texts)
        others = {place for each in chosen for place in random.sample(each.nearest, min(OTHERS, len(each.nearest)))}
        elsewhere = maxsims(tokens, weights, of_others(known, sorted(others)))[0]
        where = [question.passages for question in chosen]
        late, said, near = model.scales.exp()
        loss = missed(late * torch.cat([of_passages, elsewhere], 1), where)
        loss = loss + SENTENCES * missed(said * of_sentences, [question.sentences for question in chosen])
        among_all = missed(
            near * (vectors @ everything.T), [[begins[file] + place for place in each] for each in where]
        )
        loss = loss + DENSE * (among_all + missed(near * (vectors @ texts.vectors.T), where)) / 2
        if len(queue) < EXAMPLES_A_STEP:
            queue += random.sample(examples, len(examples))
        kinds = [(random.choice(made), kind) for made, kind in islice(iter(queue.pop, None), EXAMPLES_A_STEP)]
        kinds += [(question.text, passages) for question in chosen[:3]]
        guessed = SHARPNESS * model.kinds(model.read([text for text, _ in kinds])[1])
        labels = torch.tensor([kind for _, kind in kinds])
        loss = loss + KINDS * functional.cross_entropy(guessed, labels, label_smoothing=0.05)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(own, 1.0)
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["lr"] = rate * min(1, (step + 1) / WARM_STEPS) * max(0.05, 1 - step / steps)
        optimizer.step()


def report(model: Encoder, kept: dict[str, tuple[Texts, list[Question]]], label: str) -> None:
    """How often the first passage, and one of the first eight, of its paper has the answer; the same of sentences."""
    ranks: dict[str, list[int]] = {"passages": [], "sentences": []}
    model.eval()
    with torch.no_grad():
        for texts, questions in kept.values():
            tokens, weights, _ = model.questions([question.text for question in questions])
            for name, scores in zip(ranks, maxsims(tokens, weights, texts), strict=True):
                for row, question in zip(scores, questions, strict=True):
                    if right := getattr(question, name):
                        ranks[name].append(int((row > row[right].max()).sum()))
    model.train()
    for name, found in ranks.items():
        first, eight = np.mean([rank == 0 for rank in found]), np.mean([rank < 8 for rank in found])
        print(f"{label}: {name} of {len(found)} questions: first {first:.3f}, among eight {eight:.3f}")


def main(home: str, *files: str) -> None:
    """Train, save and report."""
    import hashlib

    from safetensors.numpy import save_file

    *questions, target = map(Path, files)
    lines = [line for file in questions for line in lines_of(file)]
    known = {}
    for file, texts in papers(Path(home), {line["file"] for line in lines}).items():
        asked = list(asked_of(texts, [line for line in lines if line["file"] == file]))
        if asked:
            known[file] = (texts, asked)
    kept = set(sorted(known)[KEPT])
    torch.manual_seed(0)
    random.seed(0)
    model = Encoder()
    apart = {file: known[file] for file in kept}
    report(model, apart, "before")
    train(model, {file: each for file, each in known.items() if file not in kept})
    report(model, apart, "after")
    save_file(model.saved(), target)
    print(f"sha256 = {hashlib.sha256(target.read_bytes()).hexdigest()}")


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
