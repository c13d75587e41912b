"""What pandoc read becomes a Document: each paragraph, heading, list, table and formula is a place with a number.

The tree is pandoc's (pandoc-types 1.23): blocks and inlines are `{"t": KIND, "c": CONTENT}`.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from ragscience.core.records import Document, Element, Metadata, Page
from ragscience.reading.author_names import names_in
from ragscience.reading.floats import CAPTION
from ragscience.reading.heading_text import REFERENCES, without_number
from ragscience.reading.paper_metadata import find_doi
from ragscience.reading.tables import markdown_row
from ragscience.reading.text_cleaning import clean_text, sensible_title

Tree = dict[str, Any]
_SEPARATOR = " › "
_SURE = 0.95
"""Confidence in what a file's own fields say."""
_LABEL = re.compile(r"\\label\{[^{}]*+\}")
_TAG = re.compile(r"\\tag\*?\{([^{}]*+)\}")
_NUMBER = re.compile(r"\([A-Z]?[\d.]{1,8}[a-z]?\)")
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_TITLES = ("citation_title", "title", "dc.title", "og:title")
_AUTHORS = ("citation_author", "author", "dc.creator", "citation_authors")
_DATES = ("citation_publication_date", "citation_date", "date", "dcterms.date", "dc.date", "article:published_time")
_DOIS = ("citation_doi", "doi", "dc.identifier", "prism.doi", "identifier")
_VENUES = ("citation_journal_title", "citation_conference_title", "journal")
_DIVS = dict.fromkeys(("refs", "references", "csl-bib-body", "ltx_bibliography"), "reference")
_DIVS |= {"abstract": "abstract", "ltx_abstract": "abstract", "ltx_authors": "authors"}
"""By class or id of a division, the kind of its paragraphs."""
_AROUND = {"Superscript": ("^", ""), "Quoted": ("“", "”")}
_BLOCKS = {"Para", "Plain", "Header", "Div", "BulletList", "OrderedList", "BlockQuote", "Table", "LineBlock"}
_OF_FORMULA = {"Para", "Plain", "Span", "Space", "SoftBreak", "Math", "DisplayMath", "InlineMath"}
_END: Tree = {"t": "Math", "c": [{"t": "DisplayMath"}, ""]}


def document_of(tree: Tree, fields: Tree, *, is_web_page: bool = False) -> Document:
    """The document of pandoc's tree; `fields` are the title, author and date of the file's package, if any.

    The only heading of the highest level is the title, where the text has no other: that of a web page may be its
    tab's, that of a package a template's. Raises LookupError, TypeError or ValueError for a tree that is not pandoc's,
    RecursionError for one that is too deep.
    """
    said = fields | {name.casefold(): _values(value) for name, value in tree["meta"].items()}
    blocks = tree["blocks"]
    top, levels = _levels(blocks)
    own = sensible_title(next(iter(_first(said, _TITLES)), ""))
    title = (top or own) if is_web_page or said.get("title") == fields.get("title") else (own or top)
    depths = {level: max(1, rank + (title != top)) for rank, level in enumerate(levels)}
    authors = tuple(filter(None, map(_given_name_first, _first(said, _AUTHORS))))
    writer = _Writer(title, authors, depths)
    if not is_web_page and title and title != top:
        writer.put("title", [title])
        writer.put("authors", [", ".join(authors)])
        for paragraph in said.get("abstract", ()):
            writer.put("abstract", [paragraph])
    writer.blocks(blocks)
    if not authors:
        people = [names_in([_plain(each)]).names[:1] for each in _nodes(blocks) if "ltx_personname" in _classes(each)]
        authors = tuple(dict.fromkeys(name for names in people for name in names))
    date, venue = " ".join(_first(said, _DATES)), next(iter(_first(said, _VENUES)), "")
    year, day, doi = _YEAR.search(date), _DAY.search(date), find_doi((), _first(said, _DOIS), 0.0)[0]
    metadata = Metadata(title, authors, int(year[0]) if year else None, venue, doi, published=day[0] if day else "")
    sure = {name: _SURE for name in ("title", "authors", "year", "venue", "doi") if getattr(metadata, name)}
    metadata = replace(metadata, confidence=sure)
    return Document("".join(writer.parts), tuple(writer.pages), title, (), tuple(writer.elements), metadata)


def _first(said: Tree, names: Sequence[str]) -> list[str]:
    """The values of the first of these fields that has any."""
    return next((said[name] for name in names if said.get(name)), [])


def _values(value: Tree) -> list[str]:
    """A field's values as text."""
    kind, content = value["t"], value["c"]
    if kind == "MetaMap":
        return _values(content["name"]) if "name" in content else []
    if kind in ("MetaList", "MetaBlocks"):
        return [text for each in content for text in (_values(each) if kind == "MetaList" else [_plain(each)]) if text]
    return list(filter(None, [content if isinstance(content, str) else _plain(content)]))


def _given_name_first(name: str) -> str:
    last, comma, given = name.partition(", ")
    return " ".join(f"{given} {last}".split()) if comma and "," not in given else name


def _levels(blocks: Sequence[Tree]) -> tuple[str, list[int]]:
    """(the only heading of the highest level where it is the first, or empty; pandoc's levels of all headings).

    The abstract's heading, which a web page sets small, does not count.
    """
    found = [(each["c"][0], _plain(each)) for each in _nodes(blocks) if each["t"] == "Header"]
    found = [(level, text) for level, text in found if text and text.casefold() != "abstract"]
    levels = sorted({level for level, _ in found})
    is_title = len(levels) > 1 and found[0][0] == levels[0] and sum(level == levels[0] for level, _ in found) == 1
    return (found[0][1] if is_title else ""), levels


class _Writer:
    """A document in the making."""

    def __init__(self, title: str, authors: Sequence[str], levels: dict[int, int]) -> None:
        self.parts: list[str] = []
        self.pages: list[Page] = []
        self.elements: list[Element] = []
        self._length = 0
        self._title, self._authors, self._levels = title, {", ".join(authors), *authors}, levels
        self._path: list[tuple[int, str]] = []
        self._kind = "text"
        """Of paragraphs here: "text", "abstract", "reference" or "authors"."""
        self._notes: list[str] = []
        """Footnotes of the paragraph in hand."""

    def put(self, kind: str, texts: Sequence[str], level: int = 0) -> None:
        """Append a place with an element for each text that is not blank."""
        texts = [text for text in map(clean_text, texts) if text.strip()]
        if not texts:
            return
        number = len(self.pages) + 1
        section = _SEPARATOR.join(text for _, text in self._path)
        self._add("\n\n" if self.pages else "")
        begun = self._length
        for text in texts:
            self._add("\n" if self._length > begun else "")
            start = self._length
            self._add(text)
            self.elements.append(Element(start, self._length, kind, number, level, section))
        self.pages.append(Page(number, begun, self._length))

    def _add(self, text: str) -> None:
        self.parts.append(text)
        self._length += len(text)

    def heading(self, text: str, level: int) -> None:
        """A heading, or the title."""
        if text == self._title and not self._path:
            if not any(element.kind == "title" for element in self.elements):
                self.put("title", [text])
            return
        name = without_number(text).strip(" .:")
        self._kind = "abstract" if name.casefold() == "abstract" else "text"
        self._kind = "reference" if REFERENCES.fullmatch(name) else self._kind
        level = 1 if self._kind == "abstract" else self._levels.get(level, 1)
        self._path = [(above, name) for above, name in self._path if above < level]
        self._path.append((level, text))
        self.put("heading", [text], level)

    def paragraph(self, text: str) -> None:
        """A paragraph, whose beginning may tell what it is."""
        name = text.casefold().strip(" .:")
        if name == "abstract" or REFERENCES.fullmatch(name):
            self.heading(text, min(self._levels, default=1))
            return
        match = CAPTION.match(text)
        is_caption = match and text[0].isupper() and match["end"] in tuple(":.|—–")
        kind = "authors" if text in self._authors and not self._path else self._kind
        self.put("caption" if is_caption else kind, [text])

    def blocks(self, blocks: Iterable[Tree]) -> None:
        """Append the blocks."""
        for block in blocks:
            self._block(block["t"], block.get("c"), block)
            notes, self._notes = self._notes, []
            for note in notes:
                self.put("footnote", [note])

    def _block(self, kind: str, content: Any, block: Tree) -> None:
        if kind in ("Para", "Plain"):
            self._inlines(content)
        elif kind == "Header":
            self.heading(_plain(content[2], self._notes), content[0])
        elif kind in ("BulletList", "OrderedList", "DefinitionList"):
            self._list(kind, content)
        elif kind == "Table":
            self._table(content)
        elif kind == "Figure":
            self.put("caption", [_plain(content[1], self._notes)])
            self.blocks(content[2])
        elif kind == "Div":
            before = self._kind
            self._kind = next((_DIVS[name] for name in (content[0][0], *content[0][1]) if name in _DIVS), before)
            inside = self._kind
            self.blocks(content[1])
            self._kind = self._kind if inside == before else "text"
        elif kind == "BlockQuote":
            self.blocks(content)
        else:
            self.put(self._kind, [_plain(block, self._notes)])

    def _inlines(self, inlines: Sequence[Tree]) -> None:
        """A paragraph: its text, and each displayed formula by itself, with the number beside it."""
        run: list[Tree] = []
        formula = ""
        for inline in [*_opened(inlines), _END]:
            if inline["t"] != "Math" or inline["c"][0]["t"] != "DisplayMath":
                run.append(inline)
                continue
            text, run = _plain(run, self._notes), []
            if formula and _NUMBER.fullmatch(text.strip(" .,")):
                formula, text = f"{formula} {text}", ""
            self.put("equation", [formula])
            if text:
                self.paragraph(text)
            formula = _plain(inline)

    def _list(self, kind: str, items: Any) -> None:
        first, is_numbered, are_references = 1, kind == "OrderedList", self._kind == "reference"
        if is_numbered:
            (first, *_), items = items
        texts = []
        for number, item in enumerate(items, first):
            mark = ("[{}]" if are_references else "{}.").format(number) if is_numbered else "•"
            texts += [f"{mark} {text}" for text in [_plain(item, self._notes)] if text]
        for some in [[text] for text in texts] if are_references else [texts]:
            self.put("reference" if are_references else "list", some)

    def _table(self, content: Any) -> None:
        (_, classes, _), caption, columns, head, bodies, foot = content
        parts = [head[1], *(part for body in bodies for part in (body[2], body[3])), foot[1]]
        shown = [cell[4] for part in parts for row in part for cell in row[1] if _plain(cell[4])]
        numbers = [number[0] for blocks in shown if (number := _NUMBER.fullmatch(_plain(blocks)))]
        formulas = [_plain(blocks) for blocks in shown if _is_formula(blocks)]
        is_set = sum(map(len, parts)) == 1 or any(name.startswith("ltx_eq") for name in classes)
        if is_set and formulas and len(formulas) + len(numbers) == len(shown):
            self.put("equation", [" ".join([*formulas, *numbers])])
            return
        self.put("caption", [_plain(caption, self._notes)])
        if len(columns) == 1 or len(shown) == 1:  # lays out a page
            for blocks in shown:
                self.blocks(blocks)
            return
        lines = [row for part in parts for row in _rows(part, len(columns), self._notes)]
        lines = [row for number, row in enumerate(lines) if any(row) and (number != 1 or row != lines[0])]
        if lines:
            rule = "|" + "---|" * len(columns)
            self.put("table", ["\n".join([markdown_row(lines[0]), rule, *map(markdown_row, lines[1:])])])


def _rows(rows: Sequence[Any], columns: int, notes: list[str]) -> Iterator[list[str]]:
    """The rows, each with as many cells; what spans several columns or rows is in the first of them."""
    taken = [0] * columns
    """For how many more rows a cell from above is in each column."""
    for _, cells in rows:
        texts, at = [""] * columns, 0
        free = [count == 0 for count in taken] + [True]
        taken = [max(0, count - 1) for count in taken]
        for _, _, height, width, blocks in cells:
            at = free.index(True, at)
            if at == columns:
                break
            texts[at] = _plain(blocks, notes)
            beyond = min(columns, at + max(1, width))
            taken[at:beyond] = [max(0, height - 1)] * (beyond - at)
            at = beyond
        yield texts


def _is_formula(blocks: Sequence[Tree]) -> bool:
    """Whether the blocks are no more than formulas."""
    kinds = {node["t"] for node in _nodes(blocks)}
    return "Math" in kinds and kinds <= _OF_FORMULA


def _latex(formula: str) -> str:
    """A formula without its label, its number behind it."""
    number = "".join(f" ({tag})" for tag in _TAG.findall(formula))
    return _TAG.sub("", _LABEL.sub("", formula)) + number


def _opened(inlines: Iterable[Tree]) -> Iterator[Tree]:
    """The inlines without spans around them, but for those that are notes."""
    for inline in inlines:
        if inline["t"] == "Span" and "ltx_note" not in _classes(inline):
            yield from _opened(inline["c"][1])
        else:
            yield inline


def _classes(node: Tree) -> list[str]:
    return node["c"][0][1] if node["t"] in ("Span", "Div") else []


def _nodes(tree: Any) -> Iterator[Tree]:
    """All parts of a tree that have a kind."""
    if isinstance(tree, dict) and "t" in tree:
        yield tree
        tree = tree.get("c")
    if isinstance(tree, list):
        for each in tree:
            yield from _nodes(each)


def _plain(tree: Any, notes: list[str] | None = None) -> str:
    """The text of blocks or inlines on one line; `notes` gets the footnotes."""
    return " ".join("".join(_pieces(tree, [] if notes is None else notes)).split())


def _pieces(tree: Any, notes: list[str]) -> Iterator[str]:
    if isinstance(tree, list):
        for each in tree:
            yield from _pieces(each, notes)
    if not isinstance(tree, dict) or "t" not in tree:
        return
    kind: str = tree["t"]
    content: Any = tree.get("c")
    if kind == "Str":
        yield content
    elif kind in ("Space", "SoftBreak", "LineBreak"):
        yield " "
    elif kind in ("Code", "CodeBlock"):
        yield content[1]
    elif kind == "Math":
        yield _latex(content[1])
    elif kind == "Note" or "ltx_note" in _classes(tree):
        notes.append(_plain(content, notes))
    elif kind not in ("Image", "RawInline", "RawBlock"):
        before, after = _AROUND.get(kind, (" ", " ") if kind in _BLOCKS else ("", ""))
        yield before
        yield from _pieces(content, notes)
        yield after
