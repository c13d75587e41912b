"""Writes docs/answers.md: every second question of benchmarks/questions/kinds*.jsonl, with answers and judgements.

python tools/make_answers_page.py HOME     HOME holds the papers that the questions are asked of

The judgements are in benchmarks/questions/judged.json: for each question's id "useful", "partly" or "useless", and why.
A long answer is cut for the page; what was judged is the whole of it.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

QUESTIONS = ROOT / "benchmarks" / "questions"
PAGE = ROOT / "docs" / "answers.md"
LONGEST = 430
"""Characters of an answer on the page; the rest of a long one is left out."""


def questions() -> list[dict[str, Any]]:
    """Every second question, in the order of the files: 30 of all kinds."""
    paths = sorted(QUESTIONS.glob("kinds*.jsonl"))
    lines = [line for path in paths for line in path.read_text(encoding="utf-8").splitlines() if line]
    return [json.loads(line) for line in lines[::2]]


def judgements() -> dict[str, tuple[str, str]]:
    """Verdict and reason by the question's id."""
    path = QUESTIONS / "judged.json"
    return {key: tuple(value) for key, value in json.loads(path.read_text(encoding="utf-8")).items()}


def asked(home: Path, items: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], Any]]:
    """Each question with its answer by the program as it is."""
    from ragscience import AskRequest, Engine
    from ragscience.core.settings import load_settings

    settings = load_settings(home=home, offline=True, embedder="embedded", answerer="extractive", history=False)
    with Engine.open(home, settings) as engine:
        for item in items:
            yield item, engine.ask(AskRequest(item["question"]))


def page(answers: Iterable[tuple[Mapping[str, Any], Any]], judged: Mapping[str, tuple[str, str]]) -> str:
    """The page in Markdown."""
    parts: list[str] = []
    counts: Counter[str] = Counter()
    for item, answer in answers:
        verdict, why = judged.get(item["id"], ("not judged", ""))
        counts[verdict] += 1
        said = answer.text if len(answer.text) <= LONGEST else f"{answer.text[:LONGEST].rsplit(None, 1)[0]} […]"
        notes = [answer.route_note, *answer.missing, f"Confidence: {answer.confidence}." if answer.confidence else ""]
        parts += [
            f"## {item['question']}",
            f"**{verdict}**{f': {why}' if why else ''} ({item['type']})",
            "\n".join(f"> {line}".rstrip() for line in said.splitlines()),
            " ".join(filter(None, notes)),
        ]
    return "\n\n".join([HEAD, ", ".join(f"{number} {name}" for name, number in counts.most_common()), *parts]) + "\n"


HEAD = """# Answers of each kind

<!-- Made by tools/make_answers_page.py. -->

Questions that were written before the ways to answer them, asked of 24 papers without a language model, with the
answers as they are printed. One person read each answer with its pages and judged: "useful" says what was asked,
"partly" says some of it or hides it, "useless" does not say it. The questions are in benchmarks/questions/."""


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    PAGE.write_text(page(asked(Path(sys.argv[1]), questions()), judgements()), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
