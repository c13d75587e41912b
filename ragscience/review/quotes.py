"""Where a quote stands in the papers, and how it differs from what is printed there.

A quote is looked for by its letters and digits alone, so that line ends, hyphens, ligatures and case do not matter, and
also in the running text without the footnotes and figures that divide it. Where these are nowhere, the likest run of
letters (Levenshtein's distance, by rapidfuzz) counts in the passages that share most words with it.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from ragscience.claims.evidence import MergedPassage
from ragscience.claims.facts import Difference as Difference
from ragscience.claims.facts import squeezed
from ragscience.core.errors import UsageError
from ragscience.core.records import Citation, Filters
from ragscience.core.tokenizing import joined_lines

if TYPE_CHECKING:
    from ragscience.core.records import Paper
    from ragscience.library.store import Store

_PASSAGES, _PAPERS_KEPT, _MOST_PLACES, _LONGEST = 60, 32, 5, 5000
_ALIKE = 60.0
"""Of 100: how like its letters must be to those of an altered quote."""
_SAME_WORDS = 0.65
"""The least share of an altered quote's letters that are in words which stand there, in order."""
_LEAST_WORDS, _LEAST_LETTERS = 4, 15
"""A shorter quote is found only as it is."""
_AROUND = 1500
"""Characters before and after a passage in which a quote of it may begin or end."""
_BESIDE = 60
"""Characters before and after the likest run in which its first and last words may be."""
_MISREAD = 0.7
"""Words so like each other differ by a slip of the pen or of OCR."""
_RUNNING = ("text", "abstract", "list", "equation")
_WORD = re.compile(r"\d+(?:[.,]\d+)*|\w+")
_LEFT_OUT = re.compile(r"\[?(?:…|\.\.\.)\]?")
_HYPHEN = re.compile(r"(?<=\w)[-\u00ad\u2010-\u2015]\s*+(?=\w)|(?<=\w) (?=\w)")


@dataclass(frozen=True, slots=True)
class QuotePlace:
    """Where a quote stands."""

    citations: tuple[Citation, ...]
    """A page each, with what is printed there and its boxes."""
    likeness: float
    """The share of the quote's letters in words that stand there in order, 0 to 1."""
    differences: tuple[Difference, ...] = ()
    """None for a quote that is exact but for where its lines end."""


class QuoteFinder:
    """Finds quotes in the papers of a library; keep it for several, as it keeps what it has read."""

    def __init__(self, library: Store) -> None:
        self._library = library
        self._texts = lru_cache(_PAPERS_KEPT)(self._read)

    def find(self, quote: str, papers: Sequence[Paper] = ()) -> list[QuotePlace]:
        """Its places, the likest first, 5 at most; exact ones alone where there are any.

        With `papers` only these are looked at, as a whole. Raises UsageError for a quote without a letter or digit, and
        for one of more than 5,000 characters.
        """
        wanted = quote.strip().strip("\"“”„«»'‘’").strip()
        if len(wanted) > _LONGEST or not squeezed(wanted):
            what = f"has more than {_LONGEST:,} characters" if len(wanted) > _LONGEST else "has no word"
            raise UsageError(f"The quote {what}.", 'Give some words of a paper: `python query.py quote "…"`.')
        near: dict[int, list[tuple[int, int]]] = {paper.paper_id: [] for paper in papers}
        if not papers:
            ids, _ = self._library.keywords.search(wanted, _PASSAGES, self._library.select(Filters(kinds=("all",))))
            for chunk in self._library.chunks(ids.tolist()):
                near.setdefault(chunk.paper_id, []).append((chunk.start - _AROUND, chunk.end + _AROUND))
        parts = [part for part in map(squeezed, _LEFT_OUT.split(wanted)) if part]
        exact = [place for one in near for place in self._exact(one, wanted, parts)]
        if exact or len(_words(wanted)) < _LEAST_WORDS or len(squeezed(wanted)) < _LEAST_LETTERS:
            return exact[:_MOST_PLACES]
        found = [place for one, spans in near.items() for place in self._altered(one, wanted, spans)]
        found.sort(key=lambda place: -place.likeness)
        return [place for place in found if place.likeness >= found[0].likeness - 0.1][:_MOST_PLACES]

    def _read(self, paper_id: int) -> tuple[_PaperWords, ...]:
        """All words of a paper, and those of its running text; none where its pages are damaged."""
        contents, paper = self._library.contents(paper_id), self._library.papers([paper_id])[0]
        pages = [(page.start, page.end, page.number) for page in contents.pages]
        running = [(one.start, one.end, one.page) for one in contents.elements if one.kind in _RUNNING]
        return tuple(_PaperWords(self._library, paper, spans) for spans in (pages, running) if spans)

    def _exact(self, paper_id: int, quote: str, parts: Sequence[str]) -> list[QuotePlace]:
        """Where all letters of the quote stand, in their order; an ellipsis leaves something out."""
        for words in self._texts(paper_id):
            found = [words.place(*span, quote, is_whole=len(parts) == 1) for span in words.spans_of(parts)]
            if found:
                return found
        return []

    def _altered(self, paper_id: int, quote: str, spans: Sequence[tuple[int, int]]) -> Iterator[QuotePlace]:
        found = [place for words in self._texts(paper_id) if (place := words.likest(quote, spans)) is not None]
        if found:
            yield max(found, key=lambda place: place.likeness)


class _PaperWords:
    """Parts of a paper's text put together, in which a quote may cross the end of a page."""

    def __init__(self, library: Store, paper: Paper, spans: Sequence[tuple[int, int, int]]) -> None:
        self._paper, self._contents = paper, library.contents(paper.paper_id)
        starts = {page.number: page.start for page in self._contents.pages}
        texts = dict(zip(starts, self._contents.texts, strict=True))
        self._parts: list[tuple[int, int, int]] = []
        """Where each begins here, where in the document, and its page."""
        pieces, at = [], 0
        for start, end, page in spans:
            pieces.append(texts[page][max(0, start - starts[page]) : end - starts[page]])
            self._parts.append((at, start, page))
            at += len(pieces[-1]) + 1
        self._text = "\n".join(pieces)
        self._passage = MergedPassage(paper.file, paper.path, 0, self._text, [(0, 1)])

    def spans_of(self, parts: Sequence[str]) -> Iterator[tuple[int, int]]:
        """Where the squeezed parts follow each other."""
        for start, end in self._passage.find(parts[0]):
            for part in parts[1:]:
                after = (span for span in self._passage.find(part) if end <= span[0] <= end + _LONGEST)
                end = next(after, (0, 0))[1]
                if not end:
                    break
            else:
                yield start, end

    def likest(self, quote: str, spans: Sequence[tuple[int, int]]) -> QuotePlace | None:
        """The place that is likest the quote in these spans of the document, or in all of it, if it is like enough."""
        from rapidfuzz import fuzz

        letters, origins, wanted = self._passage.squeezed, self._passage.origins, squeezed(quote)
        best = 0.0, 0, 0
        for low, high in spans or [(0, self._parts[-1][1] + len(self._text))]:
            first, last = (bisect_right(origins, self._here(offset) - 1) for offset in (low, high))
            part = letters[first:last]
            if len(part) >= len(wanted):
                found = fuzz.partial_ratio_alignment(wanted, part, score_cutoff=max(_ALIKE, best[0]))
                if found is not None and found.score > best[0] and found.dest_end > found.dest_start:
                    best = found.score, origins[first + found.dest_start], origins[first + found.dest_end - 1] + 1
        return self._compared(quote, max(0, best[1] - _BESIDE), best[2] + _BESIDE) if best[0] else None

    def _here(self, offset: int) -> int:
        """The place of the document's character `offset`."""
        at, start, _ = self._parts[max(0, bisect_right(self._parts, offset, key=lambda part: part[1]) - 1)]
        return max(0, at + offset - start)

    def _compared(self, quote: str, low: int, high: int) -> QuotePlace | None:
        """The words between `low` and `high` that stand for those of the quote, if enough are the same."""
        mine = _words(quote)
        there = list(_WORD.finditer(self._text, low, min(high, len(self._text))))
        theirs = [_folded(match.group()) for match in there]
        codes = SequenceMatcher(None, mine, theirs, autojunk=False).get_opcodes()
        first, last = 0, len(theirs)
        if codes[0][0] != "equal":
            first = max(0, codes[0][4] - codes[0][2])
        if codes[-1][0] != "equal":
            last = min(last, codes[-1][3] + codes[-1][2] - codes[-1][1])
        if first >= last:
            return None
        share, differences = _differences(mine, theirs[first:last])
        if share < _SAME_WORDS:
            return None
        cited = self._cited(there[first].start(), there[last - 1].end())
        return QuotePlace(cited, round(share, 3), tuple(differences))

    def place(self, start: int, end: int, quote: str, *, is_whole: bool) -> QuotePlace:
        """The place `start` to `end` here, which has all letters of the quote, or of its parts."""
        small = _small_differences(quote, self._text[start:end]) if is_whole else []
        return QuotePlace(self._cited(start, end), 1.0, tuple(small))

    def _cited(self, start: int, end: int) -> tuple[Citation, ...]:
        """A citation for each page."""
        spans = []
        for (at, offset, page), (following, _, _) in pairwise([*self._parts, (len(self._text) + 1, 0, 0)]):
            low, high = max(start, at), min(end, following - 1)
            if low < high and self._text[low:high].strip():
                spans.append((page, low, low + offset - at, high + offset - at))
        found = []
        for page, parts in groupby(spans, key=lambda span: span[0]):
            of_page = list(parts)
            text = joined_lines("\n".join(self._text[low : low + high - first] for _, low, first, high in of_page))
            boxes = [box for *_, first, high in of_page for box in self._contents.boxes(page, first, high)]
            found.append(
                Citation(
                    self._paper.file, page, text, True, self._paper.path, of_page[0][2], of_page[-1][3], tuple(boxes),
                    md5=self._paper.md5,
                )
            )  # fmt: skip
        return tuple(found)


def _folded(word: str) -> str:
    return unicodedata.normalize("NFKC", word).casefold()


def _words(text: str) -> list[str]:
    return [_folded(word) for word in _WORD.findall(joined_lines(text))]


def _small_differences(quote: str, printed: str) -> list[Difference]:
    """How a quote of the same letters differs; nothing where only its lines end elsewhere."""
    one, other = (re.sub(r"^\W+|\W+$", "", " ".join(text.split())) for text in (quote, joined_lines(printed)))
    steps = {
        "ligatures": lambda text: unicodedata.normalize("NFKC", text),
        "hyphenation": lambda text: _HYPHEN.sub("", text),
        "case": str.casefold,
        "punctuation": squeezed,
    }
    found = []
    for kind, fold in steps.items():
        if one == other:
            break
        was, (one, other) = (one, other), (fold(one), fold(other))
        if one == other or _alike(one, other) > _alike(*was):
            found.append(Difference(kind))
    return found


def _alike(one: str, other: str) -> float:
    """0 to 1."""
    from rapidfuzz import fuzz

    return fuzz.ratio(one, other) / 100


def _differences(mine: Sequence[str], theirs: Sequence[str]) -> tuple[float, list[Difference]]:
    """(the share of the quote's letters in words that are printed in order, how the others differ)."""
    same, found, gone, come = 0, [], Counter[str](), Counter[str]()
    for tag, first, last, start, end in SequenceMatcher(None, mine, theirs, autojunk=False).get_opcodes():
        quoted, said = mine[first:last], theirs[start:end]
        kind = "" if tag == "equal" else _kind(quoted, said)
        if kind in ("", "hyphenation"):
            same += sum(map(len, quoted))
        else:
            gone.update(quoted)
            come.update(said)
        if kind:
            found.append(Difference(kind, " ".join(quoted), " ".join(said)))
    if gone and gone == come:
        found = [Difference("order", " ".join(mine), " ".join(theirs))]
    return same / sum(map(len, mine)), found


def _kind(quoted: Sequence[str], printed: Sequence[str]) -> str:
    one, other = "".join(quoted), "".join(printed)
    if not one or not other:
        return "added" if one else "missing"
    if one == other:
        return "hyphenation"
    if any(char.isdigit() for char in one + other):
        return "number"
    return "spelling" if _alike(one, other) >= _MISREAD else "word"
