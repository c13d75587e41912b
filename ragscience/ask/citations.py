"""The citations of an answer, found in whatever form a model gave them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ragscience.ask.prompts import prompt_name
from ragscience.claims.evidence import Place
from ragscience.claims.facts import squeezed
from ragscience.core.paper_records import ENDING, FORMATS, page_parts
from ragscience.core.records import Hit

# A model's text may be hostile: quantifiers are bounded or possessive, and no two that match the same characters follow
# each other, so that the time is linear in the length of the text.
_MARK = r"(?:pages?+|pgs?+\.?+|pp?+\.?+|¶++|par(?:agraph)?+s?+\.?+)(?:\s*+no\.?+)?+(?:\s*+[:=])?+\s*+"
_NO_PAGE = (
    r"(?:\b(?:(?:pages?+|paragraphs?+)(?![^\W\d_])|pgs?+\.|pp?+\.)|¶++)"
    r"\s*+(?:no\.?+)?+\s*+[:=]?+\s*+(?!\d{1,5}+(?!\d))[-−–—]?\s*+\w{1,40}+"
)
"""What is written as a page and can be none: "p. −3"."""
_NEXT = r"\s*+(?:[-–—,;&]|and|to)\s*+"
_MOST = 120
"""Pages, or names and pages, in one citation."""
_ANY_FILE = rf"(?<![^\s(\[【（{{;,“\"'`*<:])[^\s()\[\]【】（）{{}};,“”\"'`*<>]{{1,200}}{ENDING}"
_OPEN, _CLOSE = r"[(\[【（{<]", r"[)\]】）}>]"
_PASSAGE = r"(?:passages?+|sources?+|documents?+|refs?+\.?+)"
_SECTION = r"section\s++[\w.]{1,40}+"
_FILLER = (
    rf"(?:see(?:\s++also)?+|cf\.?+|e\.g\.?+|from|in|on|at|of|and|{_SECTION}|{_PASSAGE}(?!\s*+\d))(?!\w)"
    r"|†[^\]】\n]{0,40}+|[\s,:;#|，&^–—“”\"'`*/-]"
)
"""What may stand between the names and the numbers of a citation in brackets."""
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
    places: tuple[Place, ...] = ()
    either: tuple[Place, ...] = ()
    unknown: int = 0
    """How many pages it names that no passage given is from."""


@dataclass(slots=True)
class _Asked:
    """Pages of a file or a passage, as a citation names them."""

    of: Sequence[Place]
    """The pages that they may be: all that were given, until a file or a passage is named."""
    rank: int = 0
    """1 where a passage is named, 2 where a file is."""
    pages: tuple[int, ...] = ()

    @property
    def found(self) -> tuple[Place, ...]:
        """The given pages that are meant, or may be."""
        return tuple(place for place in self.of if not self.pages or place[1] in self.pages)

    @property
    def unknown(self) -> int:
        """How many pages were not given."""
        return max(1, len(self.pages)) - len({page for _, page in self.found}) if self.pages else int(not self.found)


def find_mentions(text: str, hits: Sequence[Hit]) -> list[Mention]:
    """The citations of `text` in order, resolved against the passages given; they don't overlap.

    A citation is a pair of brackets with nothing in it but files, pages, numbers of passages and words such as "see";
    without brackets a file and its pages, in either order. A number is a passage's, as they were numbered for the
    model. A file may be called by the beginning of its name, where no other begins so. The address of a link is one
    without a place; a paper's own reference inside a quotation is none.
    """
    return list(_Forms(hits).mentions(text))


class _Forms:
    """Finds citations of the given passages' files, in all the forms that models produce."""

    def __init__(self, hits: Sequence[Hit]) -> None:
        self._passages = [
            tuple((hit.chunk.file, page) for page, _, _ in page_parts(hit.chunk, 0, len(hit.chunk.text)))
            for hit in hits
        ]
        self._given = tuple(dict.fromkeys(place for places in self._passages for place in places))
        self._texts = [squeezed(hit.chunk.text) for hit in hits]
        self._all_files = {hit.chunk.file for hit in hits}
        self._files = _names(self._all_files)
        known = "|".join(re.escape(name) for name in sorted(self._files, key=len, reverse=True))
        file = rf"(?:(?<!\w)(?:{known})(?!\w)|{_ANY_FILE})" if known else rf"(?:{_ANY_FILE})"
        more = rf"(?:{_MARK}|(?!{file}\W{{1,4}}{_MARK}\d))\d{{1,5}}+(?![\w.])"
        pages = rf"\b{_MARK}\d{{1,5}}+(?!\d)(?:{_NEXT}{more}){{0,{_MOST}}}+"
        number = rf"(?:{_PASSAGE}\s*+)?+\d{{1,3}}+(?:\s*+[-–—]\s*+\d{{1,3}}+)?+(?![\w.]\w)"
        item = rf"{file}|{pages}|{_NO_PAGE}|{number}|{_FILLER}"
        marks = r"[“”\"'`*]{0,4}+"
        in_prose = rf"{marks}{file}{marks}\s*+[,:;#|，–—-]?+\s*+(?:(?:on|at)\s++)?+(?P<around>\()?+{pages}(?(around)\))"
        self._token = re.compile(
            rf"(?P<file>{file})(?:\s*+[,:#]\s*+(?P<at>\d{{1,3}})(?![\w.]\w))?+"
            rf"|(?P<pages>{pages}|{_NO_PAGE})|{_SECTION}|(?P<number>{number})",
            re.IGNORECASE,
        )
        self._all = re.compile(
            rf"(?:\[(?P<label>[^\[\]\n]{{1,200}})\](?=\(\s*+{file}))?+"
            rf"(?P<open>{_OPEN})(?P<inner>{_OPEN})?+(?P<items>(?:{item}){{1,{_MOST}}}+)/?+{_CLOSE}(?(inner){_CLOSE})"
            rf"|(?P<prose>(?:\b(?:on|in|see|at)\s++)?+{pages}\s*+(?:of|in|from)\s*+{marks}{file}{marks}|{in_prose})"
            rf"|{_OPEN}\s*+(?P<loose>(?:[^\W\d_]|[.~/\\])[^()\[\]{{}}<>\n;|#]{{2,80}}?)\s*+[,:–—-]?+\s*+"
            rf"(?P<loose_pages>{pages}|{_NO_PAGE})\s*+{_CLOSE}"
            rf"|(?P<target>{_TARGET})",
            re.IGNORECASE,
        )

    def mentions(self, text: str) -> Iterator[Mention]:
        """In text order, without overlaps."""
        for match in self._all.finditer(text):
            start, end = match.span()
            if match["target"]:
                if not _is_quoted(start, text):
                    yield Mention(start, end)
                continue
            if match["loose"]:
                asked = self._loosely(match["loose"], match["loose_pages"])
            else:
                asked = self._asked(f"{match['label'] or ''} {match['items'] or match['prose']}")
            best = max((each.rank for each in asked), default=0)
            if not asked or (match["open"] and best < 2 and not _may_cite(match, asked)):
                continue
            if best == 1 and self._is_papers_own(match, text):
                if not _is_quoted(start, text):
                    yield Mention(start, end)
                continue
            yield _mention(start, end, [each for each in asked if each.rank == best])

    def _asked(self, said: str) -> list[_Asked]:
        """What `said` names, in order; a page belongs to the file before it, or to that behind it where none is."""
        asked: list[_Asked] = []
        for token in self._token.finditer(said):
            if token["number"]:
                numbers = _page_numbers(token["number"])
                asked += [_Asked(self._passages[n - 1] if 0 < n <= len(self._passages) else (), 1) for n in numbers]
                continue
            if token.lastgroup is None:
                continue
            if not asked or (token["file"] and asked[-1].rank):
                asked.append(_Asked(self._given))
            now = asked[-1]
            if token["file"]:
                files = self._files.get(token["file"].casefold(), ())
                files = (token["file"],) if token["file"] in files else files
                now.of, now.rank = [place for place in self._given if place[0] in files], 2
            now.pages += _page_numbers(token["pages"] or token["at"]) if token["pages"] or token["at"] else ()
        return [each for each in asked if each.pages] or asked

    def _loosely(self, words: str, pages: str) -> list[_Asked]:
        """The one file whose name begins with `words`; no page for an unknown file or path; nothing for other words."""
        plain = squeezed(re.sub(r"\b(?:the|paper|article|et al)\b", " ", words, flags=re.IGNORECASE))
        files = [file for file in self._all_files if squeezed(file.rsplit("/", 1)[-1]).startswith(plain)]
        if len(files) == 1 and len(plain) >= _SHORTEST_BEGINNING:
            return self._asked(f"{files[0]} {pages}")
        return [_Asked((), 2, _page_numbers(pages))] if "_" in words or _PATH.fullmatch(words) else []

    def _is_papers_own(self, match: re.Match[str], text: str) -> bool:
        """Whether "[20]" was copied from a page with the words before it, where it is the paper's own reference."""
        before = text[max(0, match.start() - 80) : match.start()].rpartition("“")[2].split()[-2:]
        after = [] if before else text[match.end() : match.end() + 80].split()[:2]
        copied = squeezed(" ".join([*before, match.group(), *after]))
        alone = copied == squeezed(match.group())
        return not alone and any(copied in passage for passage in self._texts)


def _may_cite(match: re.Match[str], asked: Sequence[_Asked]) -> bool:
    """Whether brackets that name no file cite something: "[1]", "(passage 1)", "(p. 7)", but not "(1)"."""
    is_marked = match["open"][0] in "[【" or re.search(_PASSAGE, match["items"], re.IGNORECASE)
    return bool(is_marked) if asked[0].rank else any(map(str.isdigit, match["items"]))


def _mention(start: int, end: int, asked: Sequence[_Asked]) -> Mention:
    unknown, found = sum(each.unknown for each in asked), [each.found for each in asked]
    if len(asked) == 1 and (not asked[0].rank or not asked[0].pages or len({file for file, _ in found[0]}) > 1):
        return Mention(start, end, (), found[0], unknown)
    places = [place for each, places in zip(asked, found, strict=True) for place in places[: None if each.pages else 1]]
    return Mention(start, end, tuple(dict.fromkeys(places)), (), unknown)


def _is_quoted(at: int, text: str) -> bool:
    """Whether `text[at]` is in “ ” that were opened in the same paragraph."""
    before = text[max(0, at - _LONGEST_QUOTE) : at].rpartition("\n\n")[2]
    return before.count("“") > before.count("”")


def _names(files: set[str]) -> dict[str, tuple[str, ...]]:
    """How each file may be called (case-folded): its name, also as in the prompt, the last part, without its ending."""
    names: dict[str, tuple[str, ...]] = {}
    for file in sorted(files):
        last = file.rsplit("/", 1)[-1]
        suffix = last[last.rfind(".") :] if last.lower().endswith((".pdf", *FORMATS)) else ""
        for name in {file, last, file.removesuffix(suffix), last.removesuffix(suffix), prompt_name(file)}:
            if name:
                names[name.casefold()] = (*names.get(name.casefold(), ()), file)
    return names


def _page_numbers(pages: str) -> tuple[int, ...]:
    """3, 4, 5, 9 from "pp. 3-5, 9"; of an invalid range, or one of over 20 pages, its two ends; 0 for no number."""
    numbers: list[int] = []
    for match in re.finditer(r"(\d++)(?:\s*+(?:[-–—]|to)\s*+(?:pages?|pp?\.?|¶)?\s*+(\d++))?+", pages, re.IGNORECASE):
        first, last = int(match[1]), int(match[2] or match[1])
        numbers += range(first, last + 1) if first <= last <= first + 20 else (first, last)
    return tuple(dict.fromkeys(numbers)) or (0,)
