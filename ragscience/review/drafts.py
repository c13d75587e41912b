"""A draft in Markdown, LaTeX, Word or plain text: its sentences, what each cites, and its list of references.

The text stays as it is written, so that each sentence has its line and column; what is no prose is blanked.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from ragscience.claims.answer_sentences import AnswerSentence, cited_parts, homes, masked, split_answer
from ragscience.core.errors import FileProblem, RagScienceError, UsageError
from ragscience.core.paper_records import ENDING
from ragscience.reading.other_formats import decoded, read_other
from ragscience.reading.text_cleaning import text_of_latex
from ragscience.sources.bib_reading import read_bib

DRAFTS = (".md", ".tex", ".docx", ".txt")
_LONGEST = 16 << 20
"""Bytes of a file."""
_MOST_FILES = 500
_LATEX, _KEY = ".tex", r"[\w][\w:.#$%&+?<>~/-]*"
_PAGE = r"(?:[\s,~]*(?:pp?\.|pages?|¶)[\s~]*(\d+)[\d\s,–-]*)?"
_PAGE_OF = re.compile(r"(?:pp?\.|pages?|¶)[\s~]*+(\d{1,5})")
_NAME = r"[A-Z][\w’-]{1,30}"
_YEAR = r"(?:19|20)\d\d[a-z]?"
_LATEX_CITE = re.compile(
    r"\\(?!no)[a-zA-Z]{0,20}cite[a-zA-Z]{0,20}\*?((?:\s?\[[^\]]{0,200}\]){0,2})\s?\{([^{}]{1,2000})\}"
)
_KEYS = re.compile(r"\[([^\[\]]{0,300}?@[^\[\]]{1,2000})\]")
_BARE_KEY = re.compile(rf"(?<![\w@.])@\{{?({_KEY})\}}?(?:\s?\[(?:pp?\.\s?(\d+))?[^\]]{{0,80}}\])?")
_FILE = re.compile(rf"[(\[]?([^\s()\[\]{{}},;\"“”`]{{1,200}}{ENDING}){_PAGE}[)\]]?", re.IGNORECASE)
_NUMBERS = re.compile(r"\[(\d{1,3}(?:\s?[,;–-]\s?\d{1,3}){0,30})\]")
_AUTHORS = re.compile(
    rf"(?<![\w@])(?P<others>{_NAME}(?:,? et al\.?|,? and colleagues|,? (?:and|&) {_NAME})(?:['’]s)?,?)\s?"
    rf"(?:\((?P<year>{_YEAR}){_PAGE}\)|(?P<bare>{_YEAR}){_PAGE})"
    rf"|(?<![\w@])(?P<alone>{_NAME}(?:['’]s)?) \((?P<year2>{_YEAR}){_PAGE}\)"
    rf"|(?<=[(;] |.[(])(?P<inside>{_NAME},? {_YEAR}){_PAGE}"
)
_REFERENCES = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]*)?(?:\d{1,2}\.?[ \t]*)?(?:references|bibliography|literature|works cited)[ \t:#*]*$",
    re.I | re.M,
)
_ENTRY = re.compile(
    r"^[ \t]*(?:[-*][ \t]+)?(?:\[?(\d{1,3})[\].][ \t]+)?(\S.*(?:\n(?![ \t]*\n|[ \t]*\[?\d{1,3}[\].][ \t]).*)*)", re.M
)
_BIBITEM = re.compile(r"\\bibitem(?:\[[^\]]{0,200}\])?\{([^{}]{1,200})\}((?:(?!\\bibitem|\\end\{)[\s\S]){0,3000})")
_BIB = re.compile(
    r"(?:\\(?:bibliography|addbibresource)\{([^{}]{1,500})\}|^bibliography:[ \t]*[\"']?([^\s\"']{1,300}))", re.M
)
_INPUT = re.compile(r"\\(?:input|include|subfile)\s?\{([^{}]{1,300})\}")
_MACRO = re.compile(r"\\(?:re)?newcommand\*?\s?\{?\\([A-Za-z]{1,40})\}?\s?\{((?:[^{}]|\{[^{}]{0,300}\}){0,300})\}")
_NO_PROSE = {
    _LATEX: (
        re.compile(r"(?<!\\)%[^\n]*"),
        re.compile(r"\A[\s\S]*?\\begin\{document\}|\\end\{document\}[\s\S]*"),
        re.compile(
            r"\\(?:(?:sub){0,2}section|chapter|part|paragraph|title|author|date|bibliography)\*?"
            r"\{(?:[^{}]|\{[^{}]{0,300}\}){0,500}\}"
        ),
        re.compile(r"\\(?:label|(?:eq|auto|c)?ref|vspace|hspace|bibliographystyle|input|include)\*?\{[^{}]{0,300}\}"),
    ),
    "": (re.compile(r"\A---\n[\s\S]*?\n(?:---|\.\.\.)\n"),),
}
"""For LaTeX and for all else what holds no sentences, in the order in which it is blanked."""
_BLOCKS = {
    _LATEX: re.compile(
        r"\\(?:begin|end)\{(?:equation|align|gather|figure|table|tabular|verbatim|lstlisting|thebibliography|tikzpicture"
        r"|algorithm)\*?\}|\\[\[\]]"
    ),
    "": re.compile(r"^(?:```|~~~)|<!--|-->", re.M),
}
"""What begins and ends a block without sentences."""
_CLOSING = {"\\[": "\\]", "<!--": "-->", "```": "```", "~~~": "~~~"}
_STARTS_LINE = re.compile(r"[ \t]*(?:$|[#>|*+-]|~~~|```|\d{1,2}[.)] )")
_MARKUP = re.compile(r"[*`]|(?<!\w)_|_(?!\w)|\]\([^()\s]{0,500}\)|(?<!\w)\[")
_EMPTY = re.compile(r"\((?:[^\w()]|see|e\.g\.|cf\.|and|i\.e\.)*\)")


@dataclass(frozen=True, slots=True)
class Cited:
    """A citation of a draft: `text[start:end]`."""

    start: int
    end: int
    kind: str
    """ "key", "file", "number" (of the list of references) or "author"."""
    name: str
    """The key, the file's name, the number, or the authors and the year as they are written."""
    page: int = 0
    """As it is written, 0 for none."""


@dataclass(frozen=True, slots=True)
class DraftSentence:
    """A sentence, or the part of one that stands before a citation."""

    file: str
    line: int
    """From 1; of a Word file, its paragraph."""
    column: int
    text: str
    """On one line, without markup and citations."""
    cited: tuple[Cited, ...]
    is_claim: bool
    """Whether it says something that a paper could hold."""


@dataclass(frozen=True, slots=True)
class Draft:
    """What is read of a draft."""

    sentences: tuple[DraftSentence, ...] = ()
    references: Mapping[str, str] = field(default_factory=dict)
    """The entries of its own list, or of its .bib file, by key or number."""
    warnings: tuple[str, ...] = ()


def read_draft(path: Path) -> Draft:
    """The draft in a file, with what it includes from its folder.

    Raises UsageError for a file of another kind or that is not there, FileProblem for one that cannot be read.
    """
    if path.suffix.lower() not in DRAFTS:
        raise UsageError(f"{path} is no draft that can be read.", f"Give one that ends in {', '.join(DRAFTS)}.")
    if not path.is_file():
        raise UsageError(f"There is no file {path}.", "Check the name.")
    if path.suffix.lower() == ".docx":
        document = read_other(path)
        return draft_of(document.text, path.name, [page.start for page in document.pages], warnings=document.warnings)
    warnings: list[str] = []
    files = list(_files(path, path.parent.resolve(), warnings, []))
    drafts = [draft_of(text, name) for name, text in files]
    whole = "\n".join(text for _, text in files)
    references = dict(_bib_entries(whole, path.parent, warnings))
    for one in drafts:
        references |= one.references
    sentences = tuple(sentence for one in drafts for sentence in one.sentences)
    return Draft(sentences, references, tuple(warnings))


def _files(path: Path, folder: Path, warnings: list[str], seen: list[Path]) -> Iterator[tuple[str, str]]:
    """(name in the folder, text) of a file and of those that it includes."""
    seen.append(path.resolve())
    if path.stat().st_size > _LONGEST:
        raise FileProblem(f"{path.name} is too large: more than {_LONGEST >> 20} MB.", "Split it.", reason="too-large")
    text, is_known = decoded(path, path.read_bytes())
    if not is_known:
        warnings.append(f"{path.name} is not in UTF-8: it was read as Latin-1.")
    yield str(path.resolve().relative_to(folder)), text
    for match in _INPUT.finditer(_NO_PROSE[_LATEX][0].sub("", text)) if path.suffix.lower() == _LATEX else ():
        other = (folder / match[1].strip()).resolve()
        other = other if other.suffix else other.with_suffix(_LATEX)
        if folder not in other.parents:
            warnings.append(f"{match[1]} was not read: it is outside the draft's folder.")
        elif not other.is_file():
            warnings.append(f"{match[1]} was not read: there is no such file.")
        elif other not in seen and len(seen) < _MOST_FILES:
            yield from _files(other, folder, warnings, seen)


def _bib_entries(text: str, folder: Path, warnings: list[str]) -> Iterator[tuple[str, str]]:
    """(key, authors, title and identifiers) of the .bib files that a draft names, in its folder."""
    for match in _BIB.finditer(text):
        for name in (match[1] or match[2]).split(","):
            path = (folder / name.strip()).with_suffix(".bib").resolve()
            if folder.resolve() not in path.parents:
                continue
            try:
                entries = read_bib(path).entries
            except RagScienceError as error:
                warnings.append(str(error))
                continue
            for one in (entry.metadata for entry in entries):
                arxiv = f"arXiv:{one.arxiv_id}" if one.arxiv_id else ""
                yield one.citation_key, f"{', '.join(one.authors)}. {one.title}. {one.year or ''} {one.doi} {arxiv}"


def draft_of(text: str, name: str, paragraphs: Sequence[int] = (), *, warnings: tuple[str, ...] = ()) -> Draft:
    """The draft of a text in the format that its name ends in; `paragraphs` are where those of a Word file begin."""
    suffix = Path(name).suffix.lower()
    is_latex = suffix == _LATEX
    references = dict(_references(text, is_latex=is_latex))
    start, end = (0, 0) if is_latex else _after_heading(text)
    prose = text[:start] + _blank(text[start:end]) + text[end:]
    prose = _without_blocks(prose, _BLOCKS[_LATEX if is_latex else ""])
    for pattern in _NO_PROSE[_LATEX if is_latex else ""]:
        prose = pattern.sub(lambda match: _blank(match[0]), prose)
    macros = {match[1]: match[2] for match in _MACRO.finditer(text)} if is_latex else {}
    cited = list(_citations(prose, is_latex=is_latex, numbered=any(map(str.isdigit, references))))
    flow = _flowing(prose, is_latex=is_latex)
    spans = [(one.start, one.end) for one in cited]
    beside = [span for span in spans if flow[span[0]] in "(["]  # others are words of their sentence
    sentences = split_answer(flow, beside)
    starts = paragraphs or [0, *(match.end() for match in re.finditer("\n", text))]
    bare = masked(flow, spans)

    def said(part: str, sentence: AnswerSentence, own: Sequence[int]) -> DraftSentence:
        line = bisect_right(starts, sentence.start)
        column = 1 if paragraphs else sentence.start - starts[line - 1] + 1
        words = _in_latex(part, macros) if is_latex else _MARKUP.sub("", part)
        plain = re.sub(r" ([.,;:!?])", r"\1", " ".join(_EMPTY.sub(" ", words).split())).strip(" ,;")
        is_claim = sentence.kind != "nothing" and len(plain.split()) > 2
        return DraftSentence(name, line, column, plain, tuple(cited[one] for one in own), is_claim)

    found: list[DraftSentence] = []
    homes_of = homes(flow, sentences, spans)
    for number, sentence in enumerate(sentences):
        own = [one for one, home in enumerate(homes_of) if number in home]
        parts = cited_parts(bare, sentence, [(one, *spans[one]) for one in own])
        found += [said(part, sentence, numbers) for part, numbers in parts]
    return Draft(tuple(found), references, warnings)


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _without_blocks(text: str, tokens: re.Pattern[str]) -> str:
    """The text with blanks in the place of figures, tables, code, comments and displayed formulas."""
    pieces, at, closing = [], 0, ""
    for match in tokens.finditer(text):
        token = match[0]
        if closing and token == closing:
            pieces.append(_blank(text[at : match.end()]))
            at, closing = match.end(), ""
        elif not closing and (token in _CLOSING or token.startswith("\\begin")):
            pieces.append(text[at : match.start()])
            at, closing = match.start(), _CLOSING.get(token, token.replace("begin", "end"))
    return "".join([*pieces, text[at:]])


def _after_heading(text: str) -> tuple[int, int]:
    """The list of references: behind the last heading of that name, to the end."""
    headings = list(_REFERENCES.finditer(text))
    return (headings[-1].start(), len(text)) if headings else (0, 0)


def _references(text: str, *, is_latex: bool) -> Iterator[tuple[str, str]]:
    """(key or number, entry) of the draft's own list; entries without a number are numbered as "e1"."""
    if is_latex:
        yield from ((match[1].strip(), " ".join(match[2].split())) for match in _BIBITEM.finditer(text))
        return
    start, end = _after_heading(text)
    entries = _ENTRY.finditer(text, text.find("\n", start) + 1, end) if end else ()
    for at, match in enumerate(entries):
        yield match[1] or f"e{at}", " ".join(match[2].split())


def _citations(text: str, *, is_latex: bool, numbered: bool) -> Iterator[Cited]:
    """The citations of a text in order, without overlaps."""
    found: list[Cited] = []
    if is_latex:
        for match in _LATEX_CITE.finditer(text):
            page = re.search(r"\d+", match[1])
            found += [
                Cited(*match.span(), "key", key.strip(), int(page[0]) if page else 0) for key in match[2].split(",")
            ]
    else:
        for match in _KEYS.finditer(text):
            for key in re.finditer(rf"@\{{?({_KEY})\}}?{_PAGE}", match[1]):
                found.append(Cited(*match.span(), "key", key[1].rstrip(".,:;"), int(key[2] or 0)))
        found += [
            Cited(*one.span(), "key", one[1].rstrip(".,:;"), int(one[2] or 0)) for one in _BARE_KEY.finditer(text)
        ]
    found += [Cited(*one.span(), "file", one[1], int(one[2] or 0)) for one in _FILE.finditer(text)]
    for match in _NUMBERS.finditer(text) if numbered else ():
        for number in re.finditer(r"(\d+)(?:\s?[–-]\s?(\d+))?", match[1]):
            first, last = int(number[1]), int(number[2] or number[1])
            found += [Cited(*match.span(), "number", str(one)) for one in range(first, min(last, first + 50) + 1)]
    for match in _AUTHORS.finditer(text):
        page = _PAGE_OF.search(match[0])
        year = match["year"] or match["bare"] or match["year2"]
        name = match["inside"] or f"{match['others'] or match['alone']} {year}"
        found.append(Cited(*match.span(), "author", name, int(page[1]) if page else 0))
    end = 0
    span = (0, 0)
    for one in sorted(found, key=lambda one: one.start):
        if one.start >= end or (one.start, one.end) == span:
            span, end = (one.start, one.end), one.end
            yield one


def _flowing(text: str, *, is_latex: bool) -> str:
    """The text of the same length with a blank for each line's end inside a paragraph."""
    lines = text.split("\n")
    joined = lines[0]
    for before, line in pairwise(lines):
        goes_on = bool(before.strip() and line.strip()) and (
            is_latex or not (_STARTS_LINE.match(line) or before[0] in "#|")
        )
        joined += (" " if goes_on else "\n") + line
    return joined


def _in_latex(part: str, macros: Mapping[str, str]) -> str:
    """The words of LaTeX source."""
    part = re.sub(r"\\([A-Za-z]+)(?![A-Za-z])(?:\{\})?", lambda match: macros.get(match[1], match[0]), part)
    return text_of_latex(part)
