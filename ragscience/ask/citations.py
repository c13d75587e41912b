"""The citations of an answer, found in whatever form a model gave them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ragscience.ask.claim_facts import squeezed
from ragscience.ask.evidence import Place
from ragscience.core.paper_records import ENDING, FORMATS, page_parts
from ragscience.core.records import Hit

# A model's text may be hostile: quantifiers are bounded or possessive, and no two that match the same characters follow
# each other, so that the time is linear in the length of the text.
_MARK = r"(?:pages?+|pgs?+\.?+|pp?+\.?+|¶++|par(?:agraph)?+s?+\.?+)(?:\s*+no\.?+)?+(?:\s*+[:=])?+\s*+"
_NEXT = r"\s*+(?:[-–—,;&]|and|to)\s*+"
_NEXT_NUMBER = r"\s*+(?:[,;&–-]|and)\s*+"
_DIGITS = r"\d{1,5}+"
_MOST_LISTED = 60
"""Pages, or files with their pages, in one citation."""
_ANY_FILE = rf"(?<![^\s(\[【（{{;,“\"'`*<:])[^\s()\[\]【】（）{{}};,“”\"'`*<>]{{1,200}}{ENDING}"
_OPEN, _CLOSE = r"[(\[【（{<]", r"[)\]】）}>]"
_NAMED = r"(?:passages?+|sources?+|documents?+|refs?+\.?+)"
_LEADING = rf"(?:(?:see(?:\s++also)?+|cf\.?+|e\.g\.?+,?+|from|in|{_NAMED}(?:\s*+\d{{1,3}}+)?+\s*+[:,])\s*+)?"
_QUOTING = r"[”\"'`*]{0,4}+"
_BETWEEN = r"\s*+(?:[,:;#|，–—-]\s*+)?+(?:section\s++[\w.]{1,40}+,\s*+|(?:on|at)\s++)?+\(?+"
_EXPLICIT = r"(?:(?:pages?+|paragraphs?+)(?![^\W\d_])|pgs?+\.|pp?+\.|¶++)\s*+(?:no\.?+)?+\s*+[:=]?+\s*+"
_NO_PAGE = rf"{_EXPLICIT}(?:[-−–—]\s*+\d++|\d{{6,}}+)"
"""What is written as a page and can be none: "p. −3"."""
_TARGET = (
    r"(?<=\])\((?=\s*+<?+[^()\[\]【】\s]{0,400}?[:/#.])\s*+(?:[^()\[\]【】\s]++|\([^()\[\]【】\s]*+\))++"
    r"(?:\s++[\"'][^\"'()\n]{0,200}+[\"'])?+\s*+\)"
)
"""The address of a Markdown link, in its brackets."""
_PATH = re.compile(r"[~.]{0,2}[/\\]\S*|[a-z][a-z0-9+.-]*:[/\\]\S*|\S*[/\\]\S*[/\\]\S*|\S*\.[a-z]\w{1,4}", re.IGNORECASE)
_LONGEST_QUOTE = 4000
_SHORTEST_BEGINNING = 5
"""Letters and digits: a shorter beginning of a file's name may be any word."""


@dataclass(frozen=True, slots=True)
class Mention:
    """`text[start:end]` cites `places`; or the best of `either`, where page or file are left open."""

    start: int
    end: int
    places: tuple[Place, ...]
    either: tuple[Place, ...]
    unknown: int
    """How many pages it names that no passage given is from."""


def find_mentions(text: str, hits: Sequence[Hit]) -> list[Mention]:
    """The citations of `text` in order, resolved against the passages given; they don't overlap.

    Understood are `(a.pdf, p.3)`, `[a.pdf p. 3-4]`, `(a.pdf, p.3; b.pdf, pp. 5, 7)`, `[a.pdf](a.pdf#page=3)`,
    `(a.pdf:3)`, "page 3 of a.pdf", "a.pdf, on page 3", `(a.pdf)`, `(p. 3)`, `[1]`, `[2, 3]`, `[1, p. 3]`, `[^1]` and
    `(passage 1)`, and `(notes.md, ¶3)`; a number is a passage's, as they were numbered for the model. A file may be
    called by the beginning of its name, where no other begins so.
    """
    return _Forms(hits).mentions(text)


class _Forms:
    """Finds citations of the given passages' files, in all the forms that models produce."""

    def __init__(self, hits: Sequence[Hit]) -> None:
        self._given: dict[Place, None] = {}
        self._passages: list[tuple[Place, ...]] = []
        self._texts = [squeezed(hit.chunk.text) for hit in hits]
        for hit in hits:
            chunk = hit.chunk
            places = tuple((chunk.file, page) for page, _, _ in page_parts(chunk, 0, len(chunk.text)))
            self._passages.append(places)
            self._given.update(dict.fromkeys(places))
        self._all_files = {hit.chunk.file for hit in hits}
        self._files = _names(self._all_files)
        known = "|".join(re.escape(name) for name in sorted(self._files, key=len, reverse=True))
        file = rf"(?:(?<!\w)(?:{known})(?!\w)|{_ANY_FILE})" if known else rf"(?:{_ANY_FILE})"
        self._one = re.compile(rf"(?P<file>{file}){_QUOTING}{_BETWEEN}(?P<pages>{_pages(file)})", re.IGNORECASE)
        self._all = re.compile(_all_forms(file), re.IGNORECASE)

    def mentions(self, text: str) -> list[Mention]:
        """In text order, without overlaps. A paper's own reference inside a quotation does not count."""
        matches = list(self._all.finditer(text))
        names_files = any(match["refs"] or match["of_file"] or match["in_file"] for match in matches)
        found = []
        for match in matches:
            if match["target"]:
                if not _is_quoted(match.start(), text):
                    found.append(Mention(*match.span(), (), (), 0))
                continue
            if match["numbers"] and self._is_papers_own(match, text):
                if _is_quoted(match.start(), text):
                    continue
                if names_files:
                    found.append(Mention(*match.span(), (), (), 0))
                    continue
            mention = self._mention(match, text)
            if mention is not None:
                found.append(mention)
        return found

    def _mention(self, match: re.Match[str], text: str) -> Mention | None:
        start, end = match.span()
        if match["numbers"]:
            return self._numbered(match, text)
        if match["none"]:
            return Mention(start, end, (), (), 1)
        for pages_only, file_only in ((match["pages_only"], None), (None, match["file_only"])):
            if pages_only or file_only:
                asked, files = _page_numbers(pages_only or ""), self._files.get((file_only or "").casefold(), ())
                either = tuple(place for place in self._given if place[1] in asked or place[0] in files)
                return Mention(start, end, (), either, int(not either))
        if match["link"] and not match["url_page"] and not self._one.search(match["label"]):
            files = self._files.get(match["url"].casefold(), ())
            either = tuple(place for place in self._given if place[0] in files)
            named = tuple(place for place in either if place[1] in _page_numbers(match["label"]))
            return Mention(start, end, (), named or either, int(not either))
        places: list[Place] = []
        unknown = 0
        asked_of = self._named_pages(match)
        if asked_of is None:
            return None
        for name, pages in asked_of:
            known, lost = self._places(name, pages)
            places += known
            unknown += lost
        found = tuple(dict.fromkeys(places))
        if len(asked_of) == 1 and len({file for file, _ in found}) > 1:
            return Mention(start, end, (), found, unknown)
        return Mention(start, end, found, (), unknown)

    def _named_pages(self, match: re.Match[str]) -> list[tuple[str, str]] | None:
        """(file, pages) of each that a mention names; None where it turns out to be none."""
        if match["refs"]:
            return [(m["file"], m["pages"]) for m in self._one.finditer(match["refs"])]
        if match["link"]:
            inner = self._one.search(match["label"])
            return [(match["url"], match["url_page"] or (inner["pages"] if inner else ""))]
        if match["number"]:
            n = int(match["number"])
            given = self._passages[n - 1] if 0 < n <= len(self._passages) else ()
            return [(given[0][0] if given else "", match["number_pages"])]
        if match["loose"]:
            name = self._beginning(match["loose_name"])
            return None if name is None else [(name, match["loose_pages"] or "0")]
        for kind in ("in", "of"):
            if match[f"{kind}_file"]:
                return [(match[f"{kind}_file"], match[f"{kind}_pages"])]
        return [(match["bare_file"], match["bare_page"])]

    def _beginning(self, words: str) -> str | None:
        """The one file whose name starts with `words`; "" for an unknown file name or path; None for other words."""
        plain = squeezed(re.sub(r"\b(?:the|paper|article|et al)\b", " ", words, flags=re.IGNORECASE))
        files = {file for file in self._all_files if squeezed(file.rsplit("/", 1)[-1]).startswith(plain)}
        if len(files) == 1 and len(plain) >= _SHORTEST_BEGINNING:
            return files.pop()
        return "" if "_" in words or _PATH.fullmatch(words) else None

    def _numbered(self, match: re.Match[str], text: str) -> Mention:
        """A citation by the passages' numbers: of one passage one of its pages, of more the first page of each."""
        start, end = match.span()
        numbers = _page_numbers(match["numbers"])
        given = [self._passages[n - 1] for n in numbers if 0 < n <= len(self._passages)]
        either = tuple(place for each in given for place in each)
        unknown = int(not either and not self._is_papers_own(match, text))
        if len(given) > 1:
            return Mention(start, end, tuple(dict.fromkeys(each[0] for each in given if each)), (), unknown)
        return Mention(start, end, (), either, unknown)

    def _places(self, name: str, pages: str) -> tuple[list[Place], int]:
        files = self._files.get(name.casefold(), ())
        files = (name,) if name in files else files
        asked = _page_numbers(pages)
        found = [(file, page) for page in asked for file in files if (file, page) in self._given]
        return found, len(asked) - len({page for _, page in found})

    def _is_papers_own(self, match: re.Match[str], text: str) -> bool:
        """Whether "[20]" was copied from a page with the words before it, where it is the paper's own reference."""
        before = text[max(0, match.start() - 80) : match.start()].rpartition("“")[2].split()[-2:]
        after = [] if before else text[match.end() : match.end() + 80].split()[:2]
        copied = squeezed(" ".join([*before, match.group(), *after]))
        alone = copied == squeezed(match.group())
        return not alone and any(copied in passage for passage in self._texts)


def _pages(file: str) -> str:
    """A pattern for "p. 3", "pp. 3-5, 9 and p. 12"; `file` is one for a file's name, which a number may begin."""
    more = rf"(?:{_MARK}|(?!{file}{_QUOTING}{_BETWEEN}{_MARK}\d)){_DIGITS}(?![\w.])"
    return rf"{_MARK}{_DIGITS}(?!\d)(?:{_NEXT}{more}){{0,{_MOST_LISTED}}}+"


def _all_forms(file: str) -> str:
    """A pattern for any citation; `file` is one for a file's name."""
    pages = _pages(file)
    begun = rf"[“\"'`*]{{0,4}}{file}{_QUOTING}{_BETWEEN}"
    one = rf"{begun}{pages}\)?"

    def pages_of_file(group: str, joint: str) -> str:
        return rf"(?P<{group}_pages>\b{pages}){_of_file(joint)}(?P<{group}_file>{file}){_QUOTING}"

    opened = rf"{_OPEN}\s*+{_LEADING}"
    closed = rf"\s*+{_CLOSE}"
    more = rf"{_NEXT_NUMBER}(?:{_NAMED})?+\s*+\d{{1,3}}+"
    numbers = rf"\s*+\^?+(?:{_NAMED})?+\s*+\d{{1,3}}+(?:{more})*+\s*+"
    return "|".join(
        [
            rf"(?P<link>\[(?P<label>[^\[\]\n]{{1,200}})\]\(\s*+(?P<url>{file})(?:\#page=(?P<url_page>\d{{1,5}}))?+\s*+\))",
            rf"(?P<refs>{opened}(?P<inner>[\[(]\s*+)?{one}(?:\s*+(?:[;,]|and)\s*+{one}){{0,{_MOST_LISTED}}}{closed}"
            rf"(?(inner){closed})|{one})",
            rf"{opened}{pages_of_file('in', '|,')}{closed}",
            rf"(?:\b(?:on|in|see|at)\s++)?{pages_of_file('of', '')}",
            rf"{opened}(?P<bare_file>{file})\s*+[,:#]\s*+(?P<bare_page>\d{{1,3}}){closed}",
            rf"{opened}(?P<file_only>{file}){closed}",
            rf"{_OPEN}\s*+(?P<pages_only>{pages}){closed}",
            rf"(?:[\[【]\s*+(?:{_NAMED})?+|\(\s*+{_NAMED})\s*+(?P<number>\d{{1,3}}+)\s*+[,:]\s*+"
            rf"(?P<number_pages>{pages}){closed}",
            rf"(?P<numbers>\[\[{numbers}\]\]|[\[【]{numbers}(?:†[^\]】\n]{{0,40}}+)?+[\]】]"
            rf"|<\s*+passage\s*+\d{{1,3}}\s*+/?>|\(\s*+{_NAMED}\s*+\d{{1,3}}(?:\s*+(?:,|and|&)\s*+\d{{1,3}})*+\s*+\))",
            rf"(?P<none>{opened}{begun}{_EXPLICIT}(?!\d{{1,5}}(?!\d))[^()\[\]{{}}<>\n;]{{1,40}}{_CLOSE}"
            rf"|{begun}{_NO_PAGE}|{_OPEN}\s*+{_NO_PAGE}{closed}|{opened}{_NO_PAGE}{_of_file('|,')}{file}{closed}|\b{_NO_PAGE}{_of_file('')}{file}"
            rf"|{_OPEN}\s*+{_NAMED}\s*+[-−–—]\s*+\d++{closed})",
            rf"(?P<loose>{_OPEN}\s*+(?P<loose_name>(?:[^\W\d_]|[.~/\\])[^()\[\]{{}}<>\n;|#]{{2,80}}?){_BETWEEN}"
            rf"(?:(?P<loose_pages>{pages})|{_NO_PAGE}){closed})",
            rf"(?P<target>{_TARGET})",
        ]
    )


def _of_file(joint: str) -> str:
    return rf"\s*+(?:of\s|in\s|from\s{joint})\s*+[“\"'`*]{{0,4}}"


def _is_quoted(at: int, text: str) -> bool:
    """Whether `text[at]` is in “ ” that were opened in the same paragraph."""
    before = text[max(0, at - _LONGEST_QUOTE) : at].rpartition("\n\n")[2]
    return before.count("“") > before.count("”")


def _names(files: set[str]) -> dict[str, tuple[str, ...]]:
    """How each file may be called (case-folded): its name, the last part of it, either without its ending."""
    names: dict[str, tuple[str, ...]] = {}
    for file in sorted(files):
        last = file.rsplit("/", 1)[-1]
        suffix = last[last.rfind(".") :] if last.lower().endswith((".pdf", *FORMATS)) else ""
        for name in {file, last, file.removesuffix(suffix), last.removesuffix(suffix)}:
            if name:
                names[name.casefold()] = (*names.get(name.casefold(), ()), file)
    return names


def _page_numbers(pages: str) -> list[int]:
    """3, 4, 5, 9 from "pp. 3-5, 9"; for an invalid range, or one of more than 20 pages, its two ends."""
    numbers: list[int] = []
    for match in re.finditer(r"(\d++)(?:\s*+(?:[-–—]|to)\s*+(?:pages?|pp?\.?|¶)?\s*+(\d++))?+", pages, re.IGNORECASE):
        first, last = int(match[1]), int(match[2] or match[1])
        numbers += range(first, last + 1) if first <= last <= first + 20 else (first, last)
    return list(dict.fromkeys(numbers))
