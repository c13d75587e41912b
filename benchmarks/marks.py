"""Whether a quote's mark lies on its words: 200 quotes of the papers, checked against the words that PDFium reads.

The quotes are half what the program cites for questions, half sentences and rows drawn with a fixed seed: of pages in
two columns, with a word broken at a line's end, over two pages, of tables. All are placed by
`engine/page_places.py`, the drawn ones by their words alone. A quote over two pages counts as right where both its
parts do.

Right page: of the quote's letters and digits (case and accents aside) at least 90 % stand on the cited page as PDFium
reads it, in pieces of at least 12, or of 3 right behind another one (PDFium has no letter for some ligatures).

Right rectangles: those words of PDFium that the pieces are made of all have their centre in a rectangle of the mark (a
point of tolerance), and the other words with their centre in one stand, but for one line at most, on lines with words
of the quote; signs without a letter or digit do not count. A quote without a mark is counted by itself, and as wrong.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.corpora import dev_questions
from benchmarks.libraries import papers_home
from benchmarks.pdfium_words import PageWords, letters_of, page_words
from benchmarks.report import REPOSITORY, Report, Table
from ragscience.core.paper_records import page_parts
from ragscience.core.records import Citation, StoredChunk
from ragscience.core.sentences import split_sentences
from ragscience.engine.places import placed_citation

if TYPE_CHECKING:
    from benchmarks.running import Options
    from ragscience.library.store import Library

TITLE = "Marks"
SEED = 20261123
CITED, DRAWN = 100, {"two columns": 30, "hyphenated": 25, "over two pages": 25, "table rows": 20}
SETS = ("own_words", "names")
LEAST_PIECE, CLOSE, LEAST_SHARE = 12, 3, 0.9
TOLERANCE = 1.0
SHORTEST = 40
"""Characters of a quote that is drawn."""


@dataclass(frozen=True)
class Quote:
    """A quote of one kind, page by page."""

    kind: str
    citations: tuple[Citation, ...]


@dataclass(frozen=True)
class Outcome:
    """What the check found of a quote."""

    right_page: bool
    has_mark: bool
    right_boxes: bool
    more_words: int = 0
    """In the rectangles that are not the quote's."""


def run(options: Options) -> Report:  # noqa: ARG001 - the interface of a suite
    """Right pages and rectangles by kind of quote."""
    from ragscience import Engine

    with Engine.open(papers_home()) as engine:
        quotes = [*_cited(engine), *_drawn(engine.library)]
    outcomes: dict[str, list[Outcome]] = defaultdict(list)
    wrong = []
    for quote in quotes:
        outcome = checked(quote.citations)
        outcomes[quote.kind].append(outcome)
        outcomes["all"].append(outcome)
        if not (outcome.right_page and outcome.right_boxes):
            first = quote.citations[0]
            wrong.append({"kind": quote.kind, "file": first.file, "page": first.page, "quote": first.quote[:200]})
    rows, figures = [], dict[str, Any]()
    for kind, found in outcomes.items():
        counts = [sum(getattr(each, name) for each in found) for name in ("right_page", "right_boxes", "has_mark")]
        more = sum(each.more_words for each in found) / len(found)
        figures[kind] = {"quotes": len(found), "right page": counts[0], "right rectangles": counts[1],
                         "without a mark": len(found) - counts[2], "more words": more}  # fmt: skip
        rows.append([kind, str(len(found)), *(f"{count / len(found):.3f}" for count in counts[:2]),
                     str(len(found) - counts[2]), f"{more:.1f}"])  # fmt: skip
    note = (
        f"Seed {SEED}. Right rectangles hold all words of the quote, and words of one line more at most; the last"
        " column is how many other words they hold, on average. Checked against the words that PDFium reads."
    )
    columns = ["quotes", "number", "right page", "right rectangles", "without a mark", "other words in the mark"]
    table = Table("Marks of quotes on their pages", columns, rows, note=note)
    return Report("marks", TITLE, [table], {"by kind": figures, "wrong": wrong})


# Which quotes


def _cited(engine: Any) -> list[Quote]:
    """What the program cites for the questions at hand."""
    from ragscience.engine.requests import AskRequest

    questions = [item["question"] for item in dev_questions()]
    for name in SETS:
        path = REPOSITORY / "benchmarks" / "questions" / f"{name}.jsonl"
        items = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        questions += [item["question"] for item in items if item["answerable"]]
    chooser, found = random.Random(SEED), dict[Citation, None]()
    chooser.shuffle(questions)
    for question in questions:
        if len(found) >= CITED:
            break
        found |= dict.fromkeys(engine.ask(AskRequest(question)).citations[:2])
    return [Quote("cited", (citation,)) for citation in list(found)[:CITED]]


def _drawn(library: Library) -> list[Quote]:
    """Sentences and rows of each kind, with a fixed seed."""
    pools: dict[str, list[tuple[StoredChunk, int, int]]] = defaultdict(list)
    for paper in library.papers():
        two_columned = {page for page in range(1, paper.pages + 1) if _has_columns(library, paper.paper_id, page)}
        for chunk in library.paper_chunks(paper.paper_id):
            for span in split_sentences(chunk.text):
                wanted = "row" if chunk.kind == "table" else "sentence"
                if span.end - span.start >= SHORTEST and span.kind == wanted:
                    for kind in _kinds(library, chunk, span.start, span.end, two_columned):
                        pools[kind].append((chunk, span.start, span.end))
    chooser, quotes, seen = random.Random(SEED), list[Quote](), set[tuple[str, int]]()
    for kind, count in DRAWN.items():
        pool = pools[kind]
        chooser.shuffle(pool)
        fresh = [one for one in pool if (one[0].path, one[0].start + one[1]) not in seen][:count]
        seen |= {(chunk.path, chunk.start + start) for chunk, start, _ in fresh}
        quotes += [Quote(kind, _placed(library, *one)) for one in fresh]
    return quotes


def _kinds(library: Library, chunk: StoredChunk, start: int, end: int, two_columned: set[int]) -> Iterator[str]:
    parts = list(page_parts(chunk, start, end))
    if chunk.kind == "table":
        if chunk.text[start:end].startswith("|") and len(letters_of(chunk.text[start:end])) >= LEAST_PIECE:
            yield "table rows"
        return
    if len(parts) > 1:
        if all(len(letters_of(chunk.text[first:last])) >= LEAST_PIECE for _, first, last in parts):
            yield "over two pages"
        return
    page = parts[0][0]
    if _breaks_a_word(library, chunk, page, chunk.start + start, chunk.start + end):
        yield "hyphenated"
    if page in two_columned:
        yield "two columns"


def _breaks_a_word(library: Library, chunk: StoredChunk, page: int, start: int, end: int) -> bool:
    """Whether a line ends inside a word of `Document.text[start:end]`."""
    for line in library.contents(chunk.paper_id).page(page).lines:
        if start < line.end < end:
            before, after = chunk.text[line.end - chunk.start - 1 :][:1], chunk.text[line.end - chunk.start :][:1]
            if before.isalpha() and after.isalpha():
                return True
    return False


def _has_columns(library: Library, paper_id: int, page: int) -> bool:
    """Whether a page has lines side by side: fifteen that end where fifteen others begin, or before."""
    boxes = [line.box for line in library.contents(paper_id).page(page).lines]
    if not boxes:
        return False
    middle = (min(box[0] for box in boxes) + max(box[2] for box in boxes)) / 2
    left = sum(box[2] <= middle for box in boxes)
    right = sum(box[0] >= middle for box in boxes)
    return min(left, right) >= 15


def _placed(library: Library, chunk: StoredChunk, start: int, end: int) -> tuple[Citation, ...]:
    """The citations of a sentence, by their words alone."""
    return tuple(
        placed_citation(
            Citation(chunk.file, page, chunk.text[first:last].strip(), True, chunk.path), chunk.paper_id, library
        )
        for page, first, last in page_parts(chunk, start, end)
    )


# The check


def checked(citations: Sequence[Citation], read: Callable[[Path, int], PageWords] = page_words) -> Outcome:
    """A quote held against the words of its pages."""
    found = [_checked(citation, read(Path(citation.path), citation.page)) for citation in citations]
    return Outcome(
        all(each.right_page for each in found),
        all(each.has_mark for each in found),
        all(each.right_boxes for each in found),
        sum(each.more_words for each in found),
    )


def _checked(citation: Citation, page: PageWords) -> Outcome:
    inside = {number for number, word in enumerate(page.words) if any(_holds(box, word.box) for box in citation.boxes)}
    wanted = letters_of(citation.quote)
    share, owners = words_of(wanted, page, inside)
    lines = {page.words[number].line for number in owners}
    others = {number for number in inside - owners if letters_of(page.words[number].text)}
    more_lines = {page.words[number].line for number in others} - lines
    is_right = bool(citation.boxes) and bool(owners) and owners <= inside and len(more_lines) <= 1
    return Outcome(share >= LEAST_SHARE, bool(citation.boxes), is_right, len(others))


def words_of(wanted: str, page: PageWords, inside: set[int]) -> tuple[float, set[int]]:
    """(share of the wanted letters that the page has in order and in pieces, the words with those pieces).

    Where the page has a piece more than once, the place with most words of `inside` counts.
    """
    at = covered = end = 0
    owners: set[int] = set()
    while at < len(wanted):
        behind = page.letters[end : end + LEAST_PIECE + CLOSE] if owners else ""
        length = _longest(wanted, at, page.letters, LEAST_PIECE)
        if length:
            places = _all(page.letters, wanted[at : at + length])
            begin = max(places, key=lambda place: len(set(page.owners[place : place + length]) & inside))
        elif length := _longest(wanted, at, behind, CLOSE):
            begin = end + behind.find(wanted[at : at + length])
        if length:
            owners |= set(page.owners[begin : begin + length])
            end = begin + length
        at, covered = at + (length or 1), covered + length
    return covered / max(1, len(wanted)), owners


def _longest(wanted: str, at: int, letters: str, least: int) -> int:
    """The length of the longest piece of `wanted` from `at` on that the letters have; 0 under `least`."""
    low, high = min(least, len(wanted)), len(wanted) - at
    if low > high or wanted[at : at + low] not in letters:
        return 0
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if wanted[at : at + middle] in letters else (low, middle - 1)
    return low


def _all(text: str, piece: str) -> Iterator[int]:
    begin = text.find(piece)
    while begin >= 0:
        yield begin
        begin = text.find(piece, begin + 1)


def _holds(box: Sequence[float], word: Sequence[float]) -> bool:
    x, y = (word[0] + word[2]) / 2, (word[1] + word[3]) / 2
    return box[0] - TOLERANCE <= x <= box[2] + TOLERANCE and box[1] - TOLERANCE <= y <= box[3] + TOLERANCE
