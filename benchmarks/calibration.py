"""How far `confidence` can be believed: levels by question set, and the model's probabilities against what was held.

The questions are asked of the library of all papers without an LLM. The probabilities are of questions whose paper a
fit has not seen: for each paper the model of ask/confidence.py is fitted to the questions on the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.corpora import data_folder
from benchmarks.libraries import papers_home
from benchmarks.report import Report, Table
from benchmarks.running import Options
from ragscience.ask.answer_blocks import as_text
from ragscience.ask.confidence import probability
from ragscience.core.records import Answer
from ragscience.evaluation.answer_metrics import holds_all
from ragscience.evaluation.question_file import KnownQuestion, read_known_questions

__all__ = ["Asked", "ask_all", "fit", "report", "run", "unseen"]

TITLE = "Confidence: how sure an answer of quotes says it is"
LONGEST_QUESTION = 8000
QUESTIONS = Path(__file__).resolve().parent / "questions"
SETS = ("own_words", "names", "near", "off_topic")
LEVELS = ("high", "medium", "low", "refused")
PENALTY = 3.0
"""L2, on standardised signs, not on the intercept: few questions, and others will be asked."""
NEWTON_STEPS = 60
BINS = 5
BAR = 20


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, its answer, and the signs that its confidence is made of."""

    name: str
    """Of its set."""
    question: KnownQuestion
    answer: Answer
    signs: dict[str, float]
    holds: bool
    """Whether the quotes hold what a right answer must; never where the papers have none."""

    @property
    def level(self) -> str:
        """One of LEVELS."""
        return "refused" if self.answer.refused else self.answer.confidence or "medium"

    @property
    def paper(self) -> str:
        """Which paper it is on: that of its evidence, else that of its first passage."""
        pages = [file for places in self.question.evidence for file, _ in places]
        return min(pages, default=self.answer.found.hits[0].chunk.file if self.answer.found.hits else "")


def run(options: Options) -> Report:
    """The development questions and those of benchmarks/questions/ that have a part in this."""
    del options
    data = data_folder()
    if data is None:
        return Report("calibration", TITLE, [])
    files = {"dev": data / "qa" / "dev.jsonl"} | {name: QUESTIONS / f"{name}.jsonl" for name in SETS}
    return report([each for name, file in files.items() for each in ask_all(papers_home(), name, file)])


def ask_all(home: Path, name: str, file: Path) -> list[Asked]:
    """Each question of a file, asked as `query.py ask --plain` does."""
    from ragscience.ask.confidence import look_for, signs
    from ragscience.ask.extractive import MOST_UNITS, extract_parts
    from ragscience.core.settings import load_settings
    from ragscience.engine import AskRequest, Engine, SearchRequest
    from ragscience.engine.question_run import QuestionRun

    settings = load_settings(home=home, offline=True, embedder="embedded", answerer="extractive")
    asked = []
    with Engine.open(home, settings) as engine:
        context = QuestionRun(engine, SearchRequest("calibration")).answer_context
        assert context.presence is not None
        assert context.names is not None
        for line in read_known_questions(file, LONGEST_QUESTION):
            if isinstance(line, KnownQuestion):
                answer = engine.ask(AskRequest(line.question, history=line.history, plain=True))
                looked = look_for(answer.found, context.presence, context.names)
                text = as_text(answer.blocks)
                holds = line.answerable and not answer.refused and holds_all(text, line.must_contain)
                units = extract_parts(answer.found, readers=context.readers, limit=MOST_UNITS).units
                seen = signs(answer.found, looked, units[0] if units else None)
                asked.append(Asked(name, line, answer, seen, holds))
    return asked


def report(asked: Sequence[Asked]) -> Report:
    """Levels by set; then calibration and AUC over all but the off-topic questions."""
    near = [each for each in asked if each.name != "off_topic"]
    likely = unseen(near)
    answerable = [each.question.answerable for each in near]
    right = [value for value, is_answerable in zip(likely, answerable, strict=True) if is_answerable]
    wrong = [value for value, is_answerable in zip(likely, answerable, strict=True) if not is_answerable]
    tables = [
        Table(
            "Level by set: questions (of these, quotes that hold the answer)",
            ["set", "questions", *LEVELS],
            [_levels(name, [each for each in asked if _set(each) == name]) for name in dict.fromkeys(map(_set, asked))],
        ),
        Table(
            "Calibration, questions on papers that the fit has not seen",
            ["probability", "questions", "mean", "held", ""],
            [
                row
                for edge in range(BINS)
                if (row := _bin(edge / BINS, (edge + 1) / BINS, likely, [each.holds for each in near]))
            ],
            note=f"AUC of questions that the papers answer over those that they do not: {auc(right, wrong):.3f} "
            f"({len(right)} and {len(wrong)}). Bars: the share held, a full one is 1.",
        ),
    ]
    return Report("calibration", TITLE, tables, {"auc": round(auc(right, wrong), 4)})


def fit(values: NDArray[np.float64], wanted: NDArray[np.float64]) -> NDArray[np.float64]:
    """Intercept and weights, shape (1 + signs,), of a penalised logistic regression, by Newton's method."""
    mean, spread = values.mean(axis=0), np.maximum(values.std(axis=0), 1e-9)
    rows = np.column_stack([np.ones(len(values)), (values - mean) / spread])
    penalty = np.diag([0.0, *[PENALTY] * values.shape[1]])
    weights = np.zeros(rows.shape[1])
    for _ in range(NEWTON_STEPS):
        likely = 1 / (1 + np.exp(-rows @ weights))
        slope = rows.T @ (likely - wanted) + penalty @ weights
        weights -= np.linalg.solve((rows.T * (likely * (1 - likely))) @ rows + penalty, slope)
    scaled = weights[1:] / spread
    return np.array([weights[0] - scaled @ mean, *scaled])


def auc(with_answer: Sequence[float], without: Sequence[float]) -> float:
    """How often a score of `with_answer` is above one of `without`, a tie counting half; 0.5 where either is empty.

    By ranks: U / (m n), Mann and Whitney 1947, "On a test of whether one of two random variables is stochastically
    larger than the other".
    """
    if not with_answer or not without:
        return 0.5
    scores = np.array([*with_answer, *without])
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]
    first = len(with_answer)
    above = float(ranks[:first].sum()) - first * (first + 1) / 2
    return above / (first * len(without))


def unseen(asked: Sequence[Asked]) -> list[float]:
    """The probability of each question by a fit without those on its paper; of a lone paper, by the model as it is."""
    values = np.array([list(each.signs.values()) for each in asked])
    holds = np.array([each.holds for each in asked], np.float64)
    papers = np.array([each.paper for each in asked])
    likely = np.zeros(len(asked))
    for paper in set(papers.tolist()):
        own = papers == paper
        if own.all():
            return [probability(each.signs) for each in asked]
        weights = fit(values[~own], holds[~own])
        likely[own] = 1 / (1 + np.exp(-(weights[0] + values[own] @ weights[1:])))
    found: list[float] = likely.tolist()
    return found


def _set(each: Asked) -> str:
    return each.name if each.question.answerable or each.name in SETS else f"{each.name}, unanswerable"


def _levels(name: str, part: Sequence[Asked]) -> list[str]:
    counts, held = Counter(each.level for each in part), Counter(each.level for each in part if each.holds)
    return [name, str(len(part)), *(f"{counts[level]} ({held[level]})" for level in LEVELS)]


def _bin(low: float, high: float, likely: Sequence[float], holds: Sequence[bool]) -> list[str]:
    inside = [
        (value, held) for value, held in zip(likely, holds, strict=True) if low <= value < high or value == high == 1.0
    ]
    if not inside:
        return []
    mean, held = np.mean([value for value, _ in inside]), np.mean([held for _, held in inside])
    bar = "█" * round(BAR * float(held))
    return [f"{low:.1f}–{high:.1f}", str(len(inside)), f"{mean:.2f}", f"{held:.2f}", bar]
