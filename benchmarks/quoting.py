"""`python -m benchmarks.quoting`: whether a quote's page is found, and nothing where a quote is from elsewhere.

The quotes are cut at random (`--seed`) from the pages of the shared papers, which hold them beyond doubt.

exact        a sentence on one line
hyphenated   one with a word divided as at a line's end, or without the hyphen that is printed
pages        the running text across the end of a page
columns      across a box of text: the end of one and the beginning of the next
tables       a row or more of a table, its cells between blanks
altered      a sentence with one to three words replaced, left out or put in
absent       a sentence of the other library

any@1: the first place, or one that is as like as it, is on one of the quote's pages. Shares with their Wilson
intervals of 95 %.
"""

from __future__ import annotations

import argparse
import random
import re
import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from benchmarks.asking import library_home
from benchmarks.checking import wilson
from benchmarks.corpora import data_folder

OF_EACH = {"exact": 60, "hyphenated": 50, "pages": 40, "columns": 30, "tables": 30, "altered": 60, "absent": 300}
LONG_WORD = re.compile(r"\b([a-z]{4})([a-z]{4,})")
Quote = tuple[str, str, int, str]
"""Kind, file, page and words."""


def main() -> int:
    """Look the quotes up, and print the shares."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quoting", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--misses", action="store_true")
    asked = parser.parse_args()
    if data_folder() is None:
        print("quoting: skipped, as ../shared/data is not on this machine")
        return 0
    from ragscience.library.store import Home, Library
    from ragscience.review.quotes import QuoteFinder

    right: dict[str, list[bool]] = defaultdict(list)
    with (
        Library.open(Home(library_home("papers", fresh=False))) as library,
        Library.open(Home(library_home("papers2", fresh=False))) as other,
    ):
        pick = random.Random(asked.seed)
        cut: dict[str, list[Quote]] = defaultdict(list)
        for quote in (*quotes(library, pick), *(("absent", *one[1:]) for one in quotes(other, pick))):
            cut[quote[0]].append(quote)
        finder, started, count = QuoteFinder(library), time.perf_counter(), 0
        for kind, many in OF_EACH.items():
            for _, file, page, words in pick.sample(cut[kind], min(many, len(cut[kind]))):
                places, count = finder.find(words), count + 1
                best = [place for place in places if place.likeness == places[0].likeness]
                at = [(one.file, one.page) for place in best for one in place.citations]
                is_right = not at if kind == "absent" else (file, page) in at
                right[kind].append(is_right)
                if asked.misses and not is_right:
                    print(f"{kind}: {file} p.{page} {words!r}\n   {at} {places[0].differences if places else ''}")
        took = time.perf_counter() - started
    for kind, found in right.items():
        low, high = wilson(sum(found), len(found))
        print(f"{kind:11} {sum(found):3} of {len(found):3}  {sum(found) / len(found):.3f} [{low:.3f}, {high:.3f}]")
    print(f"{took / count * 1000:.0f} ms a quote")
    return 0


def quotes(library: Any, pick: random.Random) -> Iterator[Quote]:
    """All that can be cut."""
    from ragscience.core.sentences import split_sentences
    from ragscience.core.tokenizing import joined_lines

    for paper in library.papers():
        contents, before = library.contents(paper.paper_id), None
        starts = {page.number: (page.start, text) for page, text in zip(contents.pages, contents.texts, strict=True)}
        said = [(one, starts[one.page][1][one.start - starts[one.page][0] : one.end - starts[one.page][0]])
                for one in contents.elements]  # fmt: skip
        for one, text in said:
            where = paper.file, one.page
            rows = [" ".join(row.split()) for row in text.splitlines() if re.search(r"\d\D+\d", row)]
            if one.kind == "table" and rows and len(pick.choice(rows)) > 15:
                at = pick.randrange(len(rows))
                yield "tables", *where, " ".join(rows[at : at + 2])
            if one.kind not in ("text", "abstract"):
                continue
            for span in split_sentences(text):
                words = joined_lines(text[span.start : span.end]).split()
                if span.kind == "sentence" and 8 <= len(words) <= 40:
                    yield "exact", *where, " ".join(words)
                    yield "altered", *where, altered(words, pick)
                    if LONG_WORD.search(" ".join(words)):
                        divided = LONG_WORD.sub(pick.choice(["\\1- \\2", "\\1-\n\\2"]), " ".join(words), count=1)
                        yield "hyphenated", *where, divided if pick.random() < 0.7 else divided.replace("-", "")
        running = [(one, text) for one, text in said if one.kind == "text" and len(text) > 100]
        for (before, end), (after, begin) in pairwise(running):
            words = [*joined_lines(end).split()[-10:], *joined_lines(begin).split()[:10]]
            if end.rstrip()[-1:].islower() and begin[:1].islower():
                yield "columns" if before.page == after.page else "pages", paper.file, after.page, " ".join(words)


def altered(words: list[str], pick: random.Random) -> str:
    """The words with one to three changes."""
    words = [*words]
    for _ in range(pick.randint(1, 3)):
        at = pick.randrange(len(words))
        words[at : at + pick.randint(0, 1)] = pick.choice([[], [pick.choice("other wide many seven data".split())]])  # noqa: SIM905
    return " ".join(words)


if __name__ == "__main__":
    raise SystemExit(main())
