"""What a language model adds: the same questions answered in quotes, by the model, by its grades and by the agent.

The model is the one that the settings name (RAG_LLM, RAG_LLM_URL, Ollama); so are its limits and the passages. A small
model takes minutes for an answer, so each result is a line of a file as soon as it is there, and a later run goes on:

    python -m benchmarks language_model --answers FOLDER [--ways llm,agent] [--minutes 60]

Several runs may share a folder where each has ways of its own. A line belongs to the settings, the prompts, the model
and the questions that it was made with; others are kept and not counted.

The sample: the questions of each kind are shuffled (seed SEED); each round takes one of each kind that has an answer,
and UNANSWERABLE of those that have none, as refusals are rarer than answers. So the first questions of the sample,
where time allows no more, are as varied as all of them.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.corpora import cache_folder, data_folder
from benchmarks.libraries import papers_home
from benchmarks.report import Report, Table, cell
from benchmarks.running import Options
from benchmarks.significance import p_of, shown_p
from ragscience.ask.prompts import ANSWER_REQUEST, ANSWER_RULES, CONDENSE
from ragscience.core.records import PASSAGES
from ragscience.core.settings import load_settings
from ragscience.engine import Engine
from ragscience.engine.eval_runs import EvalRequest
from ragscience.evaluation.answer_metrics import COSTS, MEASURES, estimate
from ragscience.evaluation.eval_report import Outcome, paired, shown, shown_difference
from ragscience.evaluation.question_file import KnownQuestion, read_known_questions

TITLE = "What a language model adds"
SEED = 20_260_101
ROUNDS = 2
UNANSWERABLE = 3
"""Questions without an answer in a round."""
LONGEST_QUESTION = 8000
ADDRESSES = ("llm_url", "ollama_url", "embed_url")
"""Settings that say where the model is, not what it is."""
PAIRED = "The difference and its 95 % bootstrap interval, with its p-value: McNemar's exact test, or sign flips."
COMPARED = ("answer", "cited", "cited share", "refused", "rightly refused", "seconds")


@dataclass(frozen=True, slots=True)
class Way:
    """One way of answering."""

    mode: str
    """As `query.py eval --mode` has it."""
    settings: Mapping[str, str]
    against: str
    """The way that differs from it by one thing alone."""

    @property
    def has_model(self) -> bool:
        """Whether a language model takes part."""
        return "llm" in self.settings.values()


QUOTES = {"answerer": "extractive"}
WORDS = {"answerer": "llm"}
WAYS = {
    "extractive": Way("ask", QUOTES, ""),
    "corrective by rules": Way("corrective", QUOTES, "extractive"),
    "agent by rules": Way("agent", QUOTES, "extractive"),
    "llm": Way("ask", WORDS, "extractive"),
    "llm reranker": Way("ask", {**QUOTES, "rerank": "llm"}, "extractive"),
    "corrective": Way("corrective", WORDS, "llm"),
    "agent": Way("agent", WORDS, "agent by rules"),
}
"""The cheap ones first. With the reranker the answer is made of quotes, so that the order alone differs."""


def run(options: Options) -> Report:
    """Ask what is not answered yet, within `options.minutes`, and report all that is there."""
    data = data_folder()
    if data is None:
        return Report("language_model", TITLE, [])
    lines = read_known_questions(data / "qa" / "dev.jsonl", LONGEST_QUESTION)
    questions = sample([line for line in lines if isinstance(line, KnownQuestion)], ROUNDS)
    folder = options.answers or cache_folder("language-model")
    folder.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + 60 * options.minutes if options.minutes else float("inf")
    home, results = papers_home(), {}
    for name in WAYS:
        ask = not options.ways or name in options.ways
        results[name] = answered(home, name, questions, folder, end if ask else 0.0)
    return Report("language_model", TITLE, tables(results), figures(results))


def sample(questions: Sequence[KnownQuestion], rounds: int) -> list[KnownQuestion]:
    """The first `rounds` rounds of the sample, as this module's docstring says."""
    kinds: dict[str, list[KnownQuestion]] = {}
    for question in sorted(questions, key=lambda each: each.question_id):
        kinds.setdefault(question.kind, []).append(question)
    chooser = random.Random(SEED)
    for kind in sorted(kinds):
        chooser.shuffle(kinds[kind])
    taken = []
    for turn in range(rounds):
        for kind in sorted(kinds):
            count = 1 if kinds[kind][0].answerable else UNANSWERABLE
            taken += kinds[kind][turn * count : (turn + 1) * count]
    return taken


def answered(
    home: Path, name: str, questions: Sequence[KnownQuestion], folder: Path, end: float
) -> list[dict[str, Any]]:
    """The results of one way: those of its file, and until `end` (monotonic seconds) those that it lacks."""
    way = WAYS[name]
    settings = load_settings(home=home, history=False, audit=False, **way.settings)
    file = folder / f"{name.replace(' ', '_')}.jsonl"
    with Engine.open(home, settings) as engine:
        key = _key(engine, name)
    found = {each["question"]: each for each in _kept(file) if each["key"] == key}
    for question in questions:
        if question.question_id in found or time.monotonic() >= end:
            continue
        with Engine.open(home, settings) as engine:  # anew, so that a server that has gone is an error
            result = _asked(engine, way, question)
        found[question.question_id] = {"key": key, "way": name, **result}
        with file.open("a", encoding="utf-8") as out:  # the line before may have been cut, so it is ended here
            out.write(f"\n{json.dumps(found[question.question_id], ensure_ascii=False)}\n")
        print(f"  {name}: {len(found)} of {len(questions)}, {result['values']['seconds']:.0f} s", flush=True)
    return [found[question.question_id] for question in questions if question.question_id in found]


def _kept(file: Path) -> Iterator[dict[str, Any]]:
    """The whole lines of a file of results."""
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines() if file.exists() else ():
        try:
            yield json.loads(line)
        except ValueError:
            continue


def _key(engine: Engine, name: str) -> str:
    """Of all that decides the answers of a way, 12 hexadecimal digits."""
    way, settings = WAYS[name], engine.settings
    decides = {key: value for key, value in settings.deciding_values().items() if key not in ADDRESSES}
    decides |= {"answer_passages": settings.chosen("answer_passages"), "top_k": settings.chosen("top_k")}
    parts: dict[str, Any] = {"way": [way.mode, *sorted(way.settings.items())], "settings": decides}
    if way.has_model:
        llm = engine.models.llm_choice(settings, "llm").model
        parts["model"] = llm and [llm.name, llm.digest]
        parts["prompts"] = [ANSWER_RULES, ANSWER_REQUEST, CONDENSE]
    else:
        decides.pop("llm")
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]


def _asked(engine: Engine, way: Way, question: KnownQuestion) -> dict[str, Any]:
    """One question's result. Raises RuntimeError where the model was needed and said nothing."""
    evaluation = engine.evaluate(EvalRequest([question], "dev.jsonl", mode=way.mode))
    (outcome,) = evaluation.outcomes
    answer = outcome.answer
    if answer is None:
        raise RuntimeError(f"{question.question_id}: {outcome.error}")
    had_no_model = answer.mode != "llm" and not outcome.values["tokens"]
    if way.settings == WORDS and had_no_model and not answer.refused and answer.route == PASSAGES:
        raise RuntimeError(f"{question.question_id}: the model said nothing. {' '.join(answer.warnings)}")
    return {
        "question": question.question_id,
        "kind": question.kind,
        "asked": question.question,
        "values": {**outcome.values, **_own(outcome)},
        "text": answer.text,
        "mode": answer.mode,
        "verdicts": [sentence.verdict for sentence in answer.sentences],
        "citations": [[each.file, each.page, each.supported, each.added] for each in answer.citations],
        "models": dict(answer.models),
        "tokens": dict(answer.tokens),
        "steps": [[step.node, step.by, step.summary, list(step.notes)] for step in answer.trace],
        "timings_ms": dict(answer.timings_ms),
        "warnings": list(answer.warnings),
        "load": round(os.getloadavg()[0], 1),
    }


def _own(outcome: Outcome) -> dict[str, float]:
    """Measures of this suite alone: when the first word came, and whether the model itself cited anything."""
    values, answer = {}, outcome.answer
    if answer is not None and "first_token_ms" in answer.timings_ms:
        values["first token"] = answer.timings_ms["first_token_ms"] / 1000
    if answer is not None and answer.mode == "llm" and not answer.refused:
        values["cites by itself"] = float(any(not each.added for each in answer.citations))
    return values


# What is shown


def tables(results: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[Table]:
    """Each way by itself, then paired with the extractive answers, and with another that differs by one thing."""
    present = {name: each for name, each in results.items() if each}
    if not present:
        return []
    shares = ("answer", "cited", "cited share", "unsupported", "cites by itself", "refused", "rightly refused")
    costs = ("first token", "seconds", "tokens", "LLM calls")
    rows = []
    for name, each in present.items():
        shares_shown = [shown(estimate(column)) if (column := _column(each, share)) else "–" for share in shares]
        rows.append([name, str(len(each)), *shares_shown, *(_middle(each, cost) for cost in costs)])
    loads = [line["load"] for each in present.values() for line in each]
    models = sorted({line["models"]["llm"] for each in present.values() for line in each if line["models"]["llm"]})
    note = (
        f"Model: {', '.join(models) or 'none'}. In brackets: 95 % bootstrap interval over the questions; the costs are "
        f"medians, times in seconds under a load of {min(loads):.0f} to {max(loads):.0f}."
    )
    head = "Each way" if len({len(each) for each in present.values()}) > 1 else f"{len(rows[0])} questions"
    made = [Table(head, ["way", "questions", *shares, *costs], rows, note=note)]
    for heading, others in (
        ("Paired with extractive answers", dict.fromkeys(present, "extractive")),
        (
            "Paired with the way that differs by one thing",
            {name: WAYS[name].against for name in present if WAYS[name].against not in ("", "extractive")},
        ),
    ):
        compared = [
            [name if heading.endswith("answers") else f"{name} – {other}", *_compared(present[other], present[name])]
            for name, other in others.items()
            if other in present and other != name
        ]
        if compared:
            made.append(
                Table(
                    heading,
                    ["way", "questions", *COMPARED],
                    compared,
                    note=PAIRED,
                    detail=not heading.endswith("answers"),
                )
            )
    return made


def _compared(first: Sequence[Mapping[str, Any]], second: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    others = {line["question"]: line["values"] for line in first}
    both = [(others[line["question"]], line["values"]) for line in second if line["question"] in others]
    yield str(len(both))
    for name in COMPARED:
        pairs = [(one[name], other[name]) for one, other in both if name in one and name in other]
        found = paired(pairs) if pairs else None
        yield cell(None) if found is None else f"{shown_difference(found)}, p {shown_p(p_of(pairs))}"


def figures(results: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, object]:
    """The mean of each measure of each way."""
    return {
        name: {measure: statistics.fmean(column) for measure in MEASURES if (column := _column(lines, measure))}
        for name, lines in results.items()
        if lines
    }


def _column(lines: Sequence[Mapping[str, Any]], name: str) -> list[float]:
    return [line["values"][name] for line in lines if name in line["values"]]


def _middle(lines: Sequence[Mapping[str, Any]], name: str) -> str:
    column = _column(lines, name)
    digits = 0 if name in ("tokens", "LLM calls") else 1
    return cell(statistics.median(column) if column and (name in COSTS or name == "first token") else None, digits)
