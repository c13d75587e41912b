"""What is measured on: real papers where they are, drawn ones where not, and judged sets in BEIR's layout."""

from __future__ import annotations

import json
import os
import random
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.report import REPOSITORY

__all__ = [
    "JudgedSet",
    "cache_folder",
    "data_folder",
    "dev_questions",
    "draw_paper",
    "judged_set",
    "made_up_words",
    "papers_folder",
    "zipf_words",
]


_NAMED = os.environ.pop("RAG_TEST_DATA", "")  # taken out: the doors refuse a RAG_ variable that is no setting


@dataclass(frozen=True)
class JudgedSet:
    """A BEIR set: documents in order, the judged queries, and grades per query and document."""

    name: str
    document_ids: list[str]
    texts: list[str]
    queries: dict[str, str]
    qrels: dict[str, dict[str, int]]


def data_folder() -> Path | None:
    """The folder of real papers and judgements: RAG_TEST_DATA, else ../shared/data; None if absent."""
    folder = Path(_NAMED or REPOSITORY.parent / "shared" / "data")
    return folder if folder.is_dir() else None


def cache_folder(name: str) -> Path:
    """A folder that keeps what is costly to make between runs; safe to delete."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ragscience" / "benchmarks" / name
    base.mkdir(parents=True, exist_ok=True)
    return base


def papers_folder() -> Path:
    """The 24 real papers where they are, else 24 papers drawn once from a fixed seed."""
    data = data_folder()
    if data is not None and (data / "papers").is_dir():
        return data / "papers"
    folder = cache_folder("papers")
    if len(list(folder.glob("*.pdf"))) < 24:
        for number in range(24):
            draw_paper(folder / f"drawn_{number:02d}.pdf", number)
    return folder


def zipf_words(count: int, vocabulary: int, seed: int) -> list[str]:
    """`count` words of a made-up vocabulary whose frequencies fall as 1/rank, from a fixed seed."""
    import numpy as np

    generator = np.random.default_rng(seed)
    weights = 1.0 / np.arange(1, vocabulary + 1)
    ranks = np.searchsorted(np.cumsum(weights / weights.sum()), generator.random(count))
    names = made_up_words(vocabulary)
    return [names[min(rank, vocabulary - 1)] for rank in ranks]


@cache
def made_up_words(count: int) -> list[str]:
    """So many different words of letters; the n-th is always the same."""
    syllables = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
    base = len(syllables)
    return [
        syllables[n % base] + syllables[n // base % base] + syllables[n // base**2 % base] + "x" * (n % 2)
        for n in range(count)
    ]


def draw_paper(path: Path, seed: int) -> None:
    import pymupdf

    chooser = random.Random(seed)
    words = zipf_words(9000, 6000, seed)
    with pymupdf.open() as document:
        for first in range(0, len(words), 600):
            page = document.new_page()
            lines = []
            for start in range(first, min(first + 600, len(words)), 12):
                line = words[start : start + 12]
                if chooser.random() < 0.3:
                    line[-1] += "."
                lines.append(" ".join(line))
            page.insert_text((56, 60), "\n".join(lines), fontsize=9)
        document.save(path)


def dev_questions() -> list[dict[str, Any]]:
    """The answerable questions of qa/dev.jsonl; empty where the data is not there."""
    data = data_folder()
    if data is None:
        return []
    lines = (data / "qa" / "dev.jsonl").read_text(encoding="utf-8").splitlines()
    return [item for item in map(json.loads, filter(str.strip, lines)) if item["answerable"]]


def judged_set(name: str) -> JudgedSet | None:
    """The set `name` of ir/, only the queries that its test judgements name; None where the data is not there.

    Negative grades count as 0. A document is its title, a line break and its text.
    """
    data = data_folder()
    if data is None:
        return None
    folder = data / "ir" / name
    documents = [json.loads(line) for line in (folder / "corpus.jsonl").open(encoding="utf-8")]
    queries = {item["_id"]: item["text"] for item in map(json.loads, (folder / "queries.jsonl").open(encoding="utf-8"))}
    qrels: dict[str, dict[str, int]] = {}
    for line in (folder / "qrels" / "test.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")
        qrels.setdefault(query, {})[document] = max(0, int(grade))
    return JudgedSet(
        name,
        [item["_id"] for item in documents],
        [f"{item['title']}\n{item['text']}".strip() for item in documents],
        {query: queries[query] for query in qrels},
        qrels,
    )
