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
true         what is true

number       the number is another
wrong paper  what is true of another paper
overclaim    what is true, of all cases

Those of `--set second` and `third` were written by somebody else, from the papers alone, and are longer. Those of the
second about `papers` are its open half; of the third, which has as a kind "detail" (another condition, part or reason),
no rule was made by looking at any.

With `--draft` they are the sentences of a draft that cites the papers without a page, as `query.py check` holds them.
supported: ticked, the mistake of all kinds but "true"; unsupported: warned of, the mistake of "true". What is weak is
neither. Rates stand with their Wilson intervals of 95 %.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import random
import re
import time
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.asking import library_home
from benchmarks.corpora import data_folder
from benchmarks.report import REPOSITORY

SENTENCES = REPOSITORY / "benchmarks" / "questions" / "checking.jsonl"
KINDS = ("mark", "other", "number", "factor", "unit", "name", "reversed", "overclaim", "detail")
Case = dict[str, Any]


def main() -> int:
    """Check the sentences, and print the rates."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.checking", description=__doc__)
    parser.add_argument("--half", choices=("open", "closed", "both"), default="open")
    parser.add_argument("--misses", action="store_true", help="name the sentences that were judged wrongly")
    parser.add_argument("--draft", action="store_true", help="as sentences of a draft")
    parser.add_argument("--set", choices=("first", "second", "third"), default="first", help="which sentences")
    parser.add_argument("--seed", type=int, default=1, help="of the wrong papers and the overclaims")
    asked = parser.parse_args()
    if data_folder() is None:
        print("checking: skipped, as ../shared/data is not on this machine")
        return 0
    every = list(cases() if asked.set == "first" else whole_cases(asked.set))
    every = [case for case in every if asked.half in ("both", case["half"])]
    if asked.draft:
        return draft(every, asked.seed, misses=asked.misses)
    judged = list(_judged(every))
    for kind in ("true", *KINDS, "false"):
        mine = [case for case in judged if case["kind"] == kind or (kind == "false" and case["kind"] != "true")]
        if not mine:
            continue
        shares = []
        for verdict in ("supported", "unsupported"):
            count = sum(case["verdict"] == verdict for case in mine)
            low, high = wilson(count, len(mine))
            shares.append(f"{verdict} {count:4}  {count / max(1, len(mine)):.3f} [{low:.3f}, {high:.3f}]")
        print(f"{kind:9} of {len(mine):4}: {'; '.join(shares)}")
        wrong = [case for case in mine if case["verdict"] == ("unsupported" if kind == "true" else "supported")]
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


def whole_cases(name: str) -> Iterator[Case]:
    """Those of a set whose spoilt sentences are whole."""
    for line in SENTENCES.with_name(f"checking_{name}.jsonl").read_text(encoding="utf-8").splitlines():
        fact = json.loads(line)
        where = {"file": fact["file"], "page": fact["page"], "half": fact.get("half", "closed")}
        for kind, text in (*(("true", said) for said in fact["says"]), *fact["spoilt"]):
            yield {**where, "kind": kind, "text": text}


def wilson(hits: int, of: int, z: float = 1.96) -> tuple[float, float]:
    """The Wilson score interval of a share (E. B. Wilson, JASA 22, 1927)."""
    if not of:
        return 0.0, 1.0
    share, extra = hits / of, z * z / of
    middle, half = share + extra / 2, z * math.sqrt((share * (1 - share) + extra / 4) / of)
    return (middle - half) / (1 + extra), (middle + half) / (1 + extra)


def draft(every: Sequence[Case], seed: int, *, misses: bool) -> int:
    """Check a draft that is made of the sentences, and print what is held, flagged and on the right page."""
    from ragscience.core.settings import Settings
    from ragscience.library.store import Home, Library
    from ragscience.models.minilm import SpanReader
    from ragscience.review.draft_check import FLAGGED, DraftChecker
    from ragscience.review.drafts import draft_of

    read = SpanReader(cache_folder=Settings().cache_folder, on_warning=print).read
    judged, pick, took = list[Case](), random.Random(seed), 0.0
    for folder in ("papers", "papers2"):
        with Library.open(Home(library_home(folder, fresh=False))) as library:
            files = [paper.file for paper in library.papers()]
            mine = [case for case in every if case["file"] in files]
            true = [case for case in mine if case["kind"] == "true"]
            for case in pick.sample(true, len(true) // 4):
                other = pick.choice([file for file in files if file != case["file"]])
                mine.append({**case, "kind": "wrong paper", "file": other})
            has_overclaims = any(case["kind"] == "overclaim" for case in mine)
            for case in () if has_overclaims else pick.sample(true, len(true) // 4):
                more = pick.choice(["in all cases", "on every task", "without exception", "as is proven"])
                mine.append({**case, "kind": "overclaim", "text": f"{case['text'].removesuffix('.')} {more}."})
            text = "\n\n".join(f"{case['text'].removesuffix('.')} ({case['file']})." for case in mine)
            started = time.process_time()
            found = list(DraftChecker(library, read).check(draft_of(text, "draft.md")))
            took += time.process_time() - started
            by_line = {one.line: one for one in found}
            judged += [{**case, "found": by_line.get(2 * at + 1)} for at, case in enumerate(mine)]
    for kind in dict.fromkeys(case["kind"] for case in judged):
        mine = [case for case in judged if case["kind"] == kind]
        _print_draft(kind, mine, FLAGGED)
        wrong = [
            case
            for case in mine
            if (case["found"].verdict in FLAGGED if kind == "true" else case["found"].verdict == "held")
        ]
        for case in wrong if misses else ():
            shown = [(one.kind, one.quoted, one.printed) for one in case["found"].differences]
            print(f"    {case['file']} p.{case['page']}  {case['text']}  {case['found'].verdict} {shown}")
    _print_draft("false", [case for case in judged if case["kind"] != "true"], FLAGGED)
    print(f"{took / len(judged) * 1000:.0f} s for 1,000 sentences")
    return 0


def _print_draft(kind: str, mine: list[Case], flags: Sequence[str]) -> None:
    held = [case for case in mine if case["found"].verdict == "held"]
    shown = []
    for name, hits, of in (
        ("held", len(held), mine),
        ("flagged", sum(case["found"].verdict in flags for case in mine), mine),
        ("page of those held", sum(case["page"] == case["found"].evidence[0].page for case in held), held),
        (
            "page among those shown",
            sum(case["page"] in [one.page for one in case["found"].evidence] for case in mine),
            mine,
        ),
    ):
        low, high = wilson(hits, len(of))
        shown.append(f"{name} {hits:4}  {hits / max(1, len(of)):.3f} [{low:.3f}, {high:.3f}]")
    print(f"{kind:11} of {len(mine):4}: {'; '.join(shown)}")


def _judged(every: Sequence[Case]) -> Iterator[Case]:
    from ragscience.ask.check import check
    from ragscience.core.records import Hit
    from ragscience.core.settings import Settings
    from ragscience.library.store import Home, Library
    from ragscience.models.minilm import SpanReader

    read = SpanReader(cache_folder=Settings().cache_folder, on_warning=print).read
    for folder in ("papers", "papers2"):
        with Library.open(Home(library_home(folder, fresh=False))) as library:
            chunks = {paper.file: library.paper_chunks(paper.paper_id) for paper in library.papers()}
        for case in every:
            near = range(case["page"] - 1, case["page"] + 2)
            given = [c for c in chunks.get(case["file"], ()) if c.page_start in near or c.page_end in near]
            hits = [Hit(rank, chunk, 0.5, {}, ("dense",)) for rank, chunk in enumerate(given, start=1)]
            if hits:
                said = f"{case['text'].removesuffix('.')} ({case['file']}, p.{case['page']})."
                yield {**case, "verdict": check(said, hits, read=read).sentences[0].verdict}


if __name__ == "__main__":
    raise SystemExit(main())
