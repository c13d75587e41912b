"""Metrics of an answer, and confidence intervals of their means.

Of a question that has an answer:

any@k, full@k       a page of some evidence, or of each, among the first k passages
evidence            the share of its evidence that has a page among all passages the answer was made from: its recall
all evidence        whether that is all of it
answer              all that must be said is in the answer's words, its citations and file names left out
first quote         it is in the first quote, table, formula or item; not defined for an answer without blocks
passages            it is in the passages that the answer was made from
cited               one of the answer's citations, at least, is on a page of the evidence
cited share         the share of its citations that are on such a page, their precision; not defined for
                    answers without citations
refused             the answer was refused, though there is one
doubted             it was refused or its confidence is low, though there is one

For a question without an answer, "rightly refused": the answer was refused; the mean is the recall of refusals; and
"rightly doubted": it was refused or its confidence is low. For each answer of high confidence, "sure and right": it
holds what must be said. For each refused question, "refusal precision": it has no answer. For each other one,
"unsupported": the share of its claims that no page supports, by the citation check. And the cost of each: COSTS. A
failed question counts as one with no passages, no answer and no refusal.
Whether a text contains the required phrases is tested in three ways, from strict to loose, since PDFs break lines and
words: with blanks collapsed, with words joined across line ends, and without blanks and hyphens (for equations, and
for text layers that split words).
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ragscience.ask.answer_blocks import as_text
from ragscience.core.paper_records import page_label
from ragscience.core.records import Answer, Hit
from ragscience.evaluation.question_file import KnownQuestion, Place

_SHORTEST_TIGHT = 4
"""Shorter strings are not looked for without blanks: they would be found by chance."""
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
_QUOTES = {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u223c": "~", "\u02dc": "~"}
_ONE_FORM = str.maketrans({**dict.fromkeys(_DASHES, "-"), **_QUOTES})
_BROKEN_WORD = re.compile(r"(\w)-[ \t]*\n\s*(\w)")
_BLANKS = re.compile(r"\s+")
_LOOSE = re.compile(r"[\s\-\x00-\x1f]+")


@lru_cache(maxsize=4096)
def readings(text: str) -> tuple[str, str, str]:
    """The text read in three ways; case, dashes, quotation marks and ligatures are folded in each.

    With single blanks, with words joined across line ends, and without blanks and hyphens.
    """
    folded = unicodedata.normalize("NFKC", text.replace("\u00ad", "-\n")).translate(_ONE_FORM).lower()
    joined = _BROKEN_WORD.sub(r"\1\2", folded)
    return _BLANKS.sub(" ", folded).strip(), _BLANKS.sub(" ", joined).strip(), _LOOSE.sub("", folded)


def holds(text: str, wanted: str) -> bool:
    """Whether `wanted` occurs in `text`; a number only as a whole: 8 is not in 28.4, nor 28.4 in 128.4 or 28.41."""
    own, (spaced, _, tight) = readings(text), readings(wanted)
    if not spaced:
        return False
    pattern = _whole(spaced)
    if pattern.search(own[0]) or pattern.search(own[1]):
        return True
    return len(tight) >= _SHORTEST_TIGHT and bool(_whole(tight).search(own[2]))


def holds_all(text: str, wanted: Iterable[str | tuple[str, ...]]) -> bool:
    """Whether each of `wanted` occurs in `text`, of a tuple any."""
    return all(any(holds(text, one) for one in ((each,) if isinstance(each, str) else each)) for each in wanted)


@lru_cache(maxsize=4096)
def _whole(wanted: str) -> re.Pattern[str]:
    before = r"(?<!\d)(?<!\d[.,])" if wanted[0].isdigit() else ""
    after = r"(?!\d)(?![.,]\d)" if wanted[-1].isdigit() else ""
    return re.compile(before + re.escape(wanted) + after)


DEPTHS = (1, 4)
_QUOTED = ("quote", "table", "formula", "item")
"""The kinds of blocks whose words are the papers'."""
RESAMPLES = 2000
SEED = 20_260_101
COSTS = ("searches", "LLM calls", "tokens", "seconds")
"""Tokens are those of prompts and replies together, as the server counted them."""
MEASURES = {
    "any@1": "a page with evidence is touched by the first passage",
    "full@1": "the first passage touches a page of each evidence",
    "any@4": "a page with evidence is touched by one of the first 4 passages",
    "full@4": "a page of each evidence is touched by one of the first 4 passages",
    "evidence": "share of the evidence that has a page among all passages given",
    "all evidence": "whether that is all of it",
    "answer": "all that a right answer must hold is in the answer's own words",
    "first quote": "it is in the first quote alone",
    "passages": "it is in the passages that the answer was made from",
    "cited": "at least one citation is on a page with evidence",
    "cited share": "share of an answer's citations that are on such a page",
    "unsupported": "share of claims that no cited page supports",
    "refused": "refused, though the papers answer it",
    "doubted": "refused, or of low confidence, though the papers answer it",
    "rightly refused": "refused, as the papers do not answer it: the recall of refusals",
    "rightly doubted": "refused, or of low confidence, as the papers do not answer it",
    "refusal precision": "of what was refused, the papers do not answer it",
    "sure and right": "of the answers of high confidence: it holds what a right answer must",
    "searches": "for one question",
    "LLM calls": "for one question",
    "tokens": "of prompts and replies together",
    "seconds": "from question to answer",
}
"""What each says, in the order in which they are shown."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over questions, with its 95 % bootstrap interval."""

    mean: float
    low: float
    high: float
    questions: int


def measure(question: KnownQuestion, answer: Answer | None, cost: Mapping[str, float]) -> dict[str, float]:
    """What can be said of one answer, by the names of MEASURES, and its `cost`; all but the cost are 0 to 1.

    `answer` is None for a question that failed.
    """
    values = dict(cost)
    refused = float(answer is not None and answer.refused)
    if refused:
        values["refusal precision"] = float(not question.answerable)
    elif answer is not None:
        values |= _unsupported(answer)
    doubted = float(bool(refused) or (answer is not None and answer.confidence == "low"))
    says_it = answer is not None and not refused and holds_all(_words(answer, answer.text), question.must_contain)
    if answer is not None and answer.confidence == "high":
        values["sure and right"] = float(question.answerable and says_it)
    if not question.answerable:
        return values | {"rightly refused": refused, "rightly doubted": doubted}
    hits: Sequence[Hit] = answer.found.hits if answer else ()
    for k in DEPTHS:
        covered = [any(_touches(hit, pages) for hit in hits[:k]) for pages in question.evidence]
        values |= {f"any@{k}": float(any(covered)), f"full@{k}": float(all(covered))}
    covered = [any(_touches(hit, pages) for hit in hits) for pages in question.evidence]
    passages = "\n\n".join(hit.chunk.text for hit in hits)
    right = frozenset[Place]().union(*question.evidence)
    on_right = [(citation.file, citation.page) in right for citation in answer.citations] if answer else []
    values |= {
        "evidence": sum(covered) / len(covered) if covered else 0.0,
        "all evidence": float(all(covered)),
        "answer": float(says_it),
        "passages": float(holds_all(passages, question.must_contain)),
        "cited": float(any(on_right)),
        "refused": refused,
        "doubted": doubted,
    }
    first = next((block for block in answer.blocks if block.kind in _QUOTED), None) if answer else None
    if answer is not None and first is not None:
        values["first quote"] = float(holds_all(_words(answer, as_text([first])), question.must_contain))
    if on_right:
        values["cited share"] = sum(on_right) / len(on_right)
    return values


def estimate(values: Sequence[float]) -> Estimate:
    """The mean of `values`, one a question and at least one, and its percentile bootstrap interval.

    Efron and Tibshirani, An Introduction to the Bootstrap, 1993, section 13.3; the questions are resampled RESAMPLES
    times with a fixed seed, so that the same values have the same interval.
    """
    sample = np.asarray(values, np.float64)
    draws = np.random.default_rng(SEED).integers(0, len(sample), (RESAMPLES, len(sample)))
    low, high = np.quantile(sample[draws].mean(axis=1), [0.025, 0.975])
    return Estimate(float(sample.mean()), float(low), float(high), len(sample))


def summary(measured: Sequence[Mapping[str, float]]) -> dict[str, Estimate]:
    """An estimate of each measure that some question has, in the order of MEASURES."""
    columns = {name: [values[name] for values in measured if name in values] for name in MEASURES}
    return {name: estimate(values) for name, values in columns.items() if values}


def _unsupported(answer: Answer) -> dict[str, float]:
    claims = [sentence.verdict for sentence in answer.sentences if sentence.verdict not in ("no-claim", "quote")]
    return {"unsupported": claims.count("unsupported") / len(claims)} if claims else {}


def _touches(hit: Hit, pages: frozenset[Place]) -> bool:
    chunk = hit.chunk
    return any((chunk.file, page) in pages for page in range(chunk.page_start, chunk.page_end + 1))


def _words(answer: Answer, text: str) -> str:
    """The answer's `text` without its citations and the names of files: "p.8" is no 8, bert.pdf does not say BERT."""
    for citation in answer.citations:
        text = text.replace(page_label(citation.file, citation.page), " ")
    files = {hit.chunk.file for hit in answer.found.hits} | {citation.file for citation in answer.citations}
    for file in sorted(files, key=lambda name: (-len(name), name)):
        text = text.replace(file, " ")
    return text
