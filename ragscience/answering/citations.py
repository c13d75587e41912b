"""The citations of an answer: found in whatever form a model gave them, checked, and written in one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ragscience.answering.prompts import page_label
from ragscience.answering.sentences import Span, split_sentences
from ragscience.answering.support import Place, best_place, supported_citations
from ragscience.answering.units import page_parts
from ragscience.records import Citation, Hit

__all__ = ["CheckedText", "check_citations"]

_PAGES = r"(?:pages?|pgs?\.?|pp?\.?)\s*\d{1,5}(?:\s*(?:[-–—,;&]|and|to)\s*(?:pages?|pp?\.?)?\s*\d{1,5}(?![\w.]))*"
_ANY_FILE = r"(?<![^\s(\[【{;,“\"'`*<])[^\s()\[\]【】{};,“”\"'`*<>]{1,200}\.pdf"
_OPEN, _CLOSE = r"[(\[【]", r"[)\]】]"
_NAMED = r"(?:passages?|sources?|documents?|refs?\.?)"


@dataclass(frozen=True, slots=True)
class CheckedText:
    """An answer whose citations all point at passages that were given."""

    text: str
    citations: tuple[Citation, ...]
    unknown: int
    """How many citations were taken out, because no passage given is from there."""


@dataclass(frozen=True, slots=True)
class _Mention:
    """`text[start:end]` cites `places`; or, where the page is not named, the best of `either`."""

    start: int
    end: int
    places: tuple[Place, ...]
    either: tuple[Place, ...]
    unknown: int


def check_citations(text: str, hits: Sequence[Hit]) -> CheckedText:
    """`text` with each citation as `(file.pdf, p.N)`, checked; those that point at no passage given are taken out.

    Understood are `(a.pdf, p.3)`, `[a.pdf p. 3-4]`, `(a.pdf, p.3; b.pdf, pp. 5, 7)`, "page 3 of a.pdf", `(a.pdf)`,
    `(p. 3)`, `[1]`, `[2, 3]` and `(passage 1)`; a number is a passage's, as they were numbered for the model.
    """
    mentions = _Forms(hits).mentions(text)
    claims = _claims(text, mentions)
    pieces: list[str] = []
    citations: dict[Citation, None] = {}
    by_claim: dict[str, dict[Place, None]] = {}
    resolved: list[tuple[Place, ...]] = []
    for mention, claim in zip(mentions, claims, strict=True):
        places = mention.places or ((best_place(claim, mention.either, hits),) if mention.either else ())
        resolved.append(places)
        by_claim.setdefault(claim, {}).update(dict.fromkeys(places))
    for claim, cited in by_claim.items():
        if cited:
            citations.update(dict.fromkeys(supported_citations(claim, list(cited), hits)))
    at = 0
    for i, (mention, places) in enumerate(zip(mentions, resolved, strict=True)):
        between = text[at : mention.start]
        if i and not between.strip():
            places = tuple(
                place for place in places if place not in resolved[i - 1]
            )  # "[1] (a.pdf, p.3)" says it twice
        pieces.append(between if places else between.rstrip(" "))
        pieces.append(" ".join(page_label(*place) for place in places))
        at = mention.end
    pieces.append(text[at:])
    return CheckedText("".join(pieces).strip(), tuple(citations), sum(mention.unknown for mention in mentions))


class _Forms:
    """Finds citations of the given passages' files, in all the forms that models produce."""

    def __init__(self, hits: Sequence[Hit]) -> None:
        self._given: dict[Place, None] = {}
        self._passages: list[tuple[Place, ...]] = []
        self._text = [" ".join(hit.chunk.text.split()) for hit in hits]
        for hit in hits:
            chunk = hit.chunk
            places = tuple((chunk.file, page) for page, _, _ in page_parts(chunk, 0, len(chunk.text)))
            self._passages.append(places)
            self._given.update(dict.fromkeys(places))
        self._files = _names({hit.chunk.file for hit in hits})
        known = "|".join(re.escape(name) for name in sorted(self._files, key=len, reverse=True))
        file = rf"(?:(?<!\w)(?:{known})(?!\w)|{_ANY_FILE})" if known else rf"(?:{_ANY_FILE})"
        one = rf"[“\"'`*]*{file}[”\"'`*]*\s*[,:;]?\s*\(?{_PAGES}\)?"
        self._one = re.compile(rf"(?P<file>{file})[”\"'`*]*\s*[,:;]?\s*\(?(?P<pages>{_PAGES})", re.IGNORECASE)
        self._all = re.compile(
            rf"(?P<refs>{_OPEN}\s*(?:see\s+|sources?:\s*|from\s+)?{one}(?:\s*(?:[;,]|and)\s*{one})*\s*{_CLOSE}|{one})"
            rf"|(?P<page_of>(?:\b(?:on|in|see|at)\s+)?(?P<of_pages>\b{_PAGES})\s+(?:of|in|from)\s+[“\"'`*]*"
            rf"(?P<of_file>{file})[”\"'`*]*)"
            rf"|{_OPEN}\s*(?:see\s+|sources?:\s*|from\s+)?(?P<file_only>{file})\s*{_CLOSE}"
            rf"|{_OPEN}\s*(?P<pages_only>{_PAGES})\s*{_CLOSE}"
            rf"|(?P<numbers>[\[【]\s*{_NAMED}?\s*\d{{1,3}}(?:\s*[,;–-]\s*{_NAMED}?\s*\d{{1,3}})*\s*[\]】]"
            rf"|\(\s*{_NAMED}\s*\d{{1,3}}(?:\s*(?:,|and|&)\s*\d{{1,3}})*\s*\))",
            re.IGNORECASE,
        )

    def mentions(self, text: str) -> list[_Mention]:
        """In the order of the text; they don't overlap."""
        return [self._mention(match, text) for match in self._all.finditer(text)]

    def _mention(self, match: re.Match[str], text: str) -> _Mention:
        start, end = match.span()
        places: list[Place] = []
        either: tuple[Place, ...] = ()
        unknown = 0
        if match["refs"] or match["page_of"]:
            named = [(m["file"], m["pages"]) for m in self._one.finditer(match["refs"] or "")]
            for name, pages in named or [(match["of_file"], match["of_pages"])]:
                known, lost = self._places(name, pages)
                places += known
                unknown += lost
        elif match["file_only"]:
            files = self._files.get(match["file_only"].casefold(), ())
            either = tuple(place for place in self._given if place[0] in files)
            unknown = not either
        elif match["pages_only"]:
            asked = _page_numbers(match["pages_only"])
            either = tuple(place for place in self._given if place[1] in asked)
            unknown = not either
        else:
            given = [self._passages[n - 1] for n in _page_numbers(match["numbers"]) if 0 < n <= len(self._passages)]
            either = tuple(place for each in given for place in each)
            unknown = not either and not self._is_papers_own(match, text)
            if len(given) > 1:
                places, either = [each[0] for each in given if each], ()
        return _Mention(start, end, tuple(dict.fromkeys(places)), either, int(unknown))

    def _places(self, name: str, pages: str) -> tuple[list[Place], int]:
        files = self._files.get(name.casefold(), ())
        asked = _page_numbers(pages)
        found = [(file, page) for page in asked for file in files if (file, page) in self._given]
        return found, len(asked) - len({page for _, page in found})

    def _is_papers_own(self, match: re.Match[str], text: str) -> bool:
        """Whether "[20]" was copied from a page, where it is the paper's own reference."""
        before = text[: match.start()].split()[-1:]
        return any(" ".join([*before, match.group()]) in passage for passage in self._text)


def _names(files: set[str]) -> dict[str, tuple[str, ...]]:
    """How each file may be called (case-folded): its name, the last part of it, either without .pdf."""
    names: dict[str, tuple[str, ...]] = {}
    for file in sorted(files):
        last = file.rsplit("/", 1)[-1]
        for name in {file, last, file.removesuffix(".pdf"), last.removesuffix(".pdf")}:
            if name:
                names[name.casefold()] = (*names.get(name.casefold(), ()), file)
    return names


def _page_numbers(pages: str) -> list[int]:
    """From "pp. 3-5, 9" 3, 4, 5, 9; of a range that is none, or is of more than 20 pages, its two ends."""
    numbers: list[int] = []
    for match in re.finditer(r"(\d+)(?:\s*(?:[-–—]|to)\s*(?:pages?|pp?\.?)?\s*(\d+))?", pages, re.IGNORECASE):
        first, last = int(match[1]), int(match[2] or match[1])
        numbers += range(first, last + 1) if first <= last <= first + 20 else (first, last)
    return list(dict.fromkeys(numbers))


def _claims(text: str, mentions: Sequence[_Mention]) -> list[str]:
    """For each mention the sentence that it stands behind, without its citations.

    One that opens a sentence belongs to the sentence before it, when that one has none of its own: "… GPUs. [1] The …".
    """
    spans = split_sentences(text)
    claims = [_without(text, span, mentions) for span in spans]
    homes: list[tuple[int, bool]] = []
    for mention in mentions:
        home = max((i for i, span in enumerate(spans) if span.start <= mention.start), default=0)
        before = _without(text, Span(spans[home].start, mention.start, ""), mentions)
        homes.append((home, not before.strip("-–—*•>([ ")))
    cited_inside = {home for home, opens in homes if not opens}
    chosen: list[int] = []
    for mention, (home, opens) in zip(mentions, homes, strict=True):
        alone = not claims[home].strip(" .;,")
        same_line = home > 0 and "\n" not in text[spans[home - 1].end : mention.start]
        leans_back = home > 0 and opens and (alone or (same_line and home - 1 not in cited_inside))
        chosen.append(home - 1 if leans_back else home)
    return [claims[home] for home in chosen]


def _without(text: str, span: Span, mentions: Sequence[_Mention]) -> str:
    inside = [m for m in mentions if m.start < span.end and span.start < m.end]
    edges = [span.start, *(edge for m in inside for edge in (max(m.start, span.start), min(m.end, span.end))), span.end]
    return " ".join(" ".join(text[a:b] for a, b in list(pairwise(edges))[::2]).split())
