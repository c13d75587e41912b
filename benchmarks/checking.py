"""`python -m benchmarks.checking`: whether false sentences get a tick, and true ones a warning.

Each line of questions/checking.jsonl holds two true sentences in our own words about a page of a paper, and what spoils
the first: what is replaced by what. The check gets a sentence with its page cited, and the passages of that page and of
those before and behind it. Rules are made by looking at the open half; the closed one says what they are worth.

mark         the new number is on the page only as that of a reference, section, equation, figure or page
other        it is there as that of something else
factor       a factor, quantifier or comparator is another
unit         the unit is another
name         the name is another
reversed     what is said is denied or turned round
true         flagged: true sentences that are not "supported"; of the others, those that are

Rates stand with their Wilson intervals of 95 %.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import re
from collections.abc import Iterator
from typing import Any

from benchmarks.asking import library_home
from benchmarks.corpora import data_folder
from benchmarks.report import REPOSITORY

SENTENCES = REPOSITORY / "benchmarks" / "questions" / "checking.jsonl"
KINDS = ("mark", "other", "factor", "unit", "name", "reversed")
Case = dict[str, Any]


def main() -> int:
    """Check the sentences, and print the rates."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.checking", description=__doc__)
    parser.add_argument("--half", choices=("open", "closed", "both"), default="open")
    parser.add_argument("--misses", action="store_true", help="name the sentences that were judged wrongly")
    asked = parser.parse_args()
    if data_folder() is None:
        print("checking: skipped, as ../shared/data is not on this machine")
        return 0
    judged = [case for case in _judged() if asked.half in ("both", case["half"])]
    for kind in ("true", *KINDS, "false"):
        mine = [case for case in judged if case["kind"] == kind or (kind == "false" and case["kind"] != "true")]
        wrong = [case for case in mine if case["wrong"]]
        low, high = wilson(len(wrong), len(mine))
        print(f"{kind:9} {len(wrong):4} of {len(mine):4}  {len(wrong) / max(1, len(mine)):.3f} [{low:.3f}, {high:.3f}]")
        if asked.misses and kind != "false":
            print(*(f"    {case['file']} p.{case['page']}  {case['text']}" for case in wrong), sep="\n")
    return 0


def cases() -> Iterator[Case]:
    """Each sentence with its kind, file, page and half; a fact is in one half with all that is made of it."""
    for line in SENTENCES.read_text(encoding="utf-8").splitlines():
        fact = json.loads(line)
        half = "open" if hashlib.sha256(fact["says"][0].encode()).digest()[0] % 2 else "closed"
        where = {"file": fact["file"], "page": fact["page"], "half": half}
        yield from ({**where, "kind": "true", "text": said} for said in fact["says"])
        for kind, old, new in fact["spoilt"]:
            yield {
                **where,
                "kind": kind,
                "text": re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", new, fact["says"][0], count=1),
            }


def wilson(hits: int, of: int, z: float = 1.96) -> tuple[float, float]:
    """The Wilson score interval of a share (E. B. Wilson, JASA 22, 1927)."""
    if not of:
        return 0.0, 1.0
    share, extra = hits / of, z * z / of
    middle, half = share + extra / 2, z * math.sqrt((share * (1 - share) + extra / 4) / of)
    return (middle - half) / (1 + extra), (middle + half) / (1 + extra)


def _judged() -> Iterator[Case]:
    from ragscience.ask.check import check
    from ragscience.core.records import Hit
    from ragscience.library.store import Home, Library

    for folder in ("papers", "papers2"):
        with Library.open(Home(library_home(folder, fresh=False))) as library:
            chunks = {paper.file: library.paper_chunks(paper.paper_id) for paper in library.papers()}
        for case in cases():
            near = range(case["page"] - 1, case["page"] + 2)
            given = [c for c in chunks.get(case["file"], ()) if c.page_start in near or c.page_end in near]
            hits = [Hit(rank, chunk, 0.5, {}, ("dense",)) for rank, chunk in enumerate(given, start=1)]
            if hits:
                said = f"{case['text'].removesuffix('.')} ({case['file']}, p.{case['page']})."
                verdict = check(said, hits, scorer=None).sentences[0].verdict
                yield {**case, "wrong": (verdict == "supported") != (case["kind"] == "true")}


if __name__ == "__main__":
    raise SystemExit(main())
