"""Every regular expression takes linear time, whatever a PDF, a model or a server sends.

`PYTHONPATH=. python -m tests.test_patterns 10000` tries so many texts; docs/reliability.md has the figures.
"""

import random
import re
import sys
from typing import Any

import pytest

from ragscience.ask.citations import _Forms
from ragscience.ask.phrase_search import Phrase
from ragscience.engine import places
from ragscience.evaluation import answer_metrics
from ragscience.graph import extraction, local_extraction
from ragscience.review import values
from tests.ask.passages import SAMPLING, TRAINING, hit
from tests.cpu_limit import cpu_limit
from tests.pattern_texts import Pattern, all_patterns, hostile_texts, use

SEED = 18
LENGTH = 40_000
CPU_SECONDS = 0.6
"""Of one text; linear patterns take a quarter at most, a quadratic one takes this and more."""


def citations() -> list[re.Pattern[Any]]:
    forms = _Forms([TRAINING, SAMPLING, hit("Words.", file="12.pdf", rank=3)])
    return [forms._token, forms._all]


MADE = {
    "ragscience.ask.citations:__init__": citations,
    "ragscience.engine.places:_pattern": lambda: [places._pattern("some words of a quote")],
    "ragscience.evaluation.answer_metrics:_whole": lambda: [answer_metrics._whole("3.5 days")],
    "ragscience.graph.extraction:_pattern": lambda: [
        extraction._pattern(["beam", "search"], extraction._BETWEEN.pattern)
    ],
    "ragscience.graph.paper_map:_stands": lambda: [re.compile(r"(?<!\w)beam[\s-]*search", re.IGNORECASE)],
    "ragscience.graph.local_extraction:_pattern": lambda: [
        local_extraction._pattern({"beam search": {"beam search"}, "bert": {"BERT"}}, {"beam search"})
    ],
    "ragscience.ask.phrase_search:__init__": lambda: [
        Phrase(text).pattern for text in ("label smoothing", "GPT-3", "Transformers")
    ],
    "ragscience.review.values:_called": lambda: [values._called("data sets")],
    "ragscience.library.history:search": lambda: [re.compile(r"\bbeam"), re.compile("束")],
    "ragscience.agent.corrective:expansions": lambda: [re.compile(r"(?<!\w)BLEU"), re.compile(r"(?<!\w)BLEUs?(?!\w)")],
}
"""Patterns that are made when the program runs: examples, as made from names and words that stand in papers."""

QUESTION = (1_000, "reads a question, of the person or rewritten, which has 600 characters at most")
SENTENCE = (700, "reads one sentence of a paper, which is cut at 600 characters")
TYPED = (200, "reads what a person types")
READ_SHORT = {
    "ragscience.ask.conversation:": QUESTION,
    "ragscience.ask.element_route:": QUESTION,
    "ragscience.ask.slots:": QUESTION,
    "ragscience.ask.paper_facts:": QUESTION,
    "ragscience.ask.aspect_route:": SENTENCE,
    "ragscience.ask.citations:_PATH": (100, "reads a name of at most 83 characters"),
    "ragscience.core.sentences:_LAST_WORD": (40, "reads the 40 characters before a full stop"),
    "ragscience.graph.local_extraction:": SENTENCE,
    "ragscience.ask.library_route:": QUESTION,
    "ragscience.ask.mentions_route:": QUESTION,
    "ragscience.cli.fetch_command:": TYPED,
}
"""By the beginning of a place: how many characters its texts have, and why."""


def length_of(pattern: Pattern) -> int:
    return next((short for place, (short, _) in READ_SHORT.items() if pattern.where.startswith(place)), LENGTH)


def try_all(patterns: list[Pattern], texts_each: int) -> list[str]:
    """The places of those that take too long, each with the beginning of the text."""
    slow = []
    for pattern in patterns:
        rng = random.Random(f"{SEED} {pattern.where} {pattern.compiled.pattern!r}")
        for text in hostile_texts(pattern.compiled, texts_each, length_of(pattern), rng):
            try:
                with cpu_limit(CPU_SECONDS, pattern.where):
                    use(pattern, text)
            except AssertionError:
                slow.append(f"{pattern.where} {pattern.compiled.pattern[:80]!r} on {text[:40]!r}…")
                break
    return slow


@pytest.fixture(scope="module")
def patterns():
    return all_patterns(MADE)


def test_no_pattern_takes_more_than_linear_time(patterns):
    assert try_all(patterns, 2) == []


def test_every_pattern_is_found(patterns):
    found = {pattern.where for pattern in patterns}
    assert {"ragscience.core.sentences:_STOP", "ragscience.sources.arxiv:_candidate", *MADE} <= found
    assert all(any(where.startswith(place) for where in found) for place in READ_SHORT)


@pytest.mark.parametrize(
    "slow", [r"(?:a+)+$", r"(?:\s*(?:,|and)\s*(?:p\.)?\s*\d+)*!", r"\s+$", r"\d+(?:\s*,\s*\d+)*[.]"]
)
def test_a_slow_pattern_is_caught(slow, monkeypatch):
    monkeypatch.setattr("tests.test_patterns.CPU_SECONDS", 0.5)
    assert try_all([Pattern("x", re.compile(slow), frozenset({"search"}))], 12)


if __name__ == "__main__":
    LENGTH, CPU_SECONDS = 100_000, 3.0
    everything = all_patterns(MADE)
    each = -(-int(sys.argv[1]) // len(everything))
    print(f"{len(everything)} patterns, {each * len(everything)} texts, seed {SEED}")
    print("\n".join(try_all(everything, each)) or "none took longer")
