"""Files that are no PDF become a Document: Word, EPUB, web pages, Markdown and LaTeX by pandoc, plain text as it is.

pandoc is the program in the package pypandoc_binary, a process of its own with limits; with --sandbox it opens no file
and asks no server. A file is untrusted: what it is called and what it says of itself decide nothing unchecked.
"""

import codecs
import html
import io
import json
import os
import re
import subprocess
import sys
import unicodedata
import zipfile
import zlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from ragscience.core.errors import FileProblem, missing_package
from ragscience.core.records import Document, Element, Line, Page
from ragscience.reading.pandoc_document import document_of
from ragscience.reading.text_cleaning import clean_text, printable_name, text_of_latex

_Place = TypeVar("_Place", Page, Line, Element)
_READERS = {".docx": "docx", ".epub": "epub", ".html": "html", ".htm": "html", ".md": "markdown", ".tex": "latex"}
_WEB = (".html", ".htm")
_PACKED = {".docx": "word/document.xml", ".epub": "META-INF/container.xml"}
"""ZIP files, with a part that each has."""
_TEXT_BYTES, _PACKED_BYTES, _UNPACKED_BYTES = 16 << 20, 200 << 20, 500 << 20
"""Most of a text without pictures, of a packed file, and of what is in it: a book has 1 MB of text."""
_MARKDOWN_BYTES = 3 << 20
"""Of a longer Markdown file, for which pandoc takes more than half a minute, paragraphs and headings alone are read."""
_SECONDS, _MEMORY = 45, "512M"
"""For pandoc: a book of 900 pages takes 4 s and 200 MB."""
_NO_MEMORY = 251
"""Its exit code."""
_NAMED_CHARSET = re.compile(rb"charset\s*+=\s*+[\"']?([\w.:-]{1,40})", re.IGNORECASE)
_EMBEDDED = re.compile(r"(data:[\w/+.-]{0,80}(?:;[\w=-]{0,40}+){0,4}+,)[\w+/=%.~-]{200,}+")
_UNSEEN = re.compile(
    r"<(!--|/?(?:script|style|nav|noscript|template|button|iframe|select|svg)\b)|--(?=>)", re.IGNORECASE
)
"""Begins or ends what a reader of a web page does not see, or what leads through the site."""
_ENCRYPTED = re.compile(rb"EncryptionMethod\s[^<>]{0,400}?Algorithm\s*+=\s*+[\"']([^\"'<>]{0,200})")
_RIGHTS = "META-INF/encryption.xml"
_OF_FONTS = {b"http://www.idpf.org/2008/embedding", b"http://ns.adobe.com/pdf/enc#RC"}
"""The two ways to obfuscate fonts (EPUB Open Container Format 3.3, 4.4), which leave the text as it is."""
_FIELD = re.compile(r"<(?:dc|dcterms):(title|creator|date|created|identifier)\b[^<>]{0,400}+>([^<>]{1,500}+)<")
_LEFT_OUT = re.compile(r"\[WARNING\] Could not load include file (\S{1,200})")
_AGAIN = "Skip it, or save it again with another program."
_PARAGRAPHS = re.compile(r"\n[ \t\r\f]*+\n\s*+")


def read_other(path: Path, on_page: Callable[[int, int, bool], None] = lambda *_: None) -> Document:
    """The document of a file with one of the endings in FORMATS; its places are its paragraphs.

    Raises FileProblem with reason "unreadable", "empty", "too-large", "wrong-format", "encrypted", "damaged", "no-text"
    or "timeout", and MemoryError.
    """
    suffix, warnings, fields = path.suffix.lower(), list[str](), dict[str, list[str]]()
    try:
        if path.stat().st_size > _PACKED_BYTES:
            raise _too_large(path)
        content = path.read_bytes()
    except OSError as error:
        raise _problem(path, f"cannot be read: {error.strerror}", "unreadable", "Check its name.") from error
    if not content.strip():
        raise _problem(path, "is empty", "empty", "Fetch or save it again.")
    if content.startswith(b"%PDF-"):
        raise _problem(path, "is a PDF by its content", "wrong-format", f"Call it {path.with_suffix('.pdf').name}.")
    text = ""
    if suffix in _PACKED:
        fields = _checked_package(path, content)
    else:
        text, is_named = decoded(path, content)
        warnings += [] if is_named else ["not in UTF-8: read as Latin-1"]
        text = _EMBEDDED.sub(r"\1", text)
        text = _seen(text) if suffix in _WEB else text
        if len(text) > _TEXT_BYTES:
            raise _too_large(path)
        content = text.encode("utf-8", "replace")
    tree: Any
    said = ""
    try:
        is_long = suffix == ".md" and len(text) > _MARKDOWN_BYTES
        if suffix == ".txt" or is_long:
            parts = _PARAGRAPHS.split(text)
            tree = {"meta": {}, "blocks": [_plain_block(part, may_be_heading=is_long) for part in parts]}
            warnings += ["long: read as plain text with headings"] if is_long else []
        else:
            read, said = _parsed(path, content, _READERS[suffix])
            tree = json.loads(read)
        if suffix == ".epub":  # of which pandoc turns the authors round
            tree["meta"] = {key: value for key, value in tree["meta"].items() if key not in fields}
        document = document_of(tree, fields, is_web_page=suffix in _WEB)
    except (LookupError, TypeError, ValueError, RecursionError) as error:
        raise _problem(path, "is damaged: its structure cannot be read", "damaged") from error
    warnings += [f"without {other}, which it includes" for other in _LEFT_OUT.findall(said)[:3]]
    if not document.pages:
        raise _problem(path, "has no text", "no-text")
    on_page(len(document.pages), len(document.pages), False)
    return replace(document, warnings=tuple(warnings))


_LEAST_SYMBOLS = 6
"""Letters and digits of a formula that is told from others."""
_SAME, _SAME_NUMBER, _APART = 0.9, 0.8, 0.05
"""How like in letters and digits a formula is to itself as a PDF has it, also with the same number; and how much more
than any other one."""
_SET = re.compile(r"\\(?:displaystyle|left|right)(?![a-zA-Z])\s*")
_FORMULA_NUMBER = re.compile(r"\(([A-Z]?\d[\d.]{0,6}[a-z]?)\)(?=\s|⟫|$)")


def formulas_of(page: Document) -> tuple[str, ...]:
    """The displayed formulas of a web page as LaTeX, each once, with its number behind it."""
    texts = (page.text[one.start : one.end] for one in page.elements if one.kind == "equation")
    return tuple(dict.fromkeys(" ".join(_SET.sub("", text).split()) for text in texts))


def with_formulas(document: Document, formulas: Sequence[str]) -> Document:
    """The document with these formulas in place of those that are surely the same: its own may be garbled.

    They are the same by their letters and digits, in any order, and by their numbers; each stays on its page.
    """
    if not formulas:
        return document
    known, whole = [*map(_symbols, formulas)], document.text
    found: list[tuple[float, int, int, str]] = []
    for element in document.elements:
        if element.kind == "equation":
            lines = list(re.finditer(r"[^\n]+", whole[element.start : element.end]))
            spans = [
                (element.start, element.end),
                *((element.start + one.start(), element.start + one.end()) for one in lines),
            ]
            for start, end in dict.fromkeys(spans):
                best = sorted((-_alike(_symbols(whole[start:end]), other), at) for at, other in enumerate(known))[:2]
                if best[0][0] < 0 and (len(best) == 1 or best[1][0] - best[0][0] >= _APART):
                    found.append((best[0][0], start, end, formulas[best[0][1]]))
    taken: list[tuple[int, int, str]] = []
    for _, start, end, latex in sorted(found, key=lambda one: (one[0], one[1] - one[2])):
        if all(end <= first or last <= start for first, last, _ in taken):
            taken.append((start, end, latex))
    return _replaced(document, sorted(taken))


def _symbols(formula: str) -> tuple[frozenset[str], Counter[str]]:
    """The numbers of a formula, and how often it has each letter and digit, without its LaTeX."""
    numbers, text = frozenset(_FORMULA_NUMBER.findall(formula)), _FORMULA_NUMBER.sub("", formula)
    return numbers, Counter(filter(str.isalnum, unicodedata.normalize("NFKD", text_of_latex(text))))


def _alike(first: tuple[frozenset[str], Counter[str]], second: tuple[frozenset[str], Counter[str]]) -> float:
    """How like two formulas are, 0 to 1; 0 unless that is enough."""
    (numbers, own), (others, other) = first, second
    if (numbers and others and numbers != others) or min(own.total(), other.total()) < _LEAST_SYMBOLS:
        return 0.0
    alike = 2 * (own & other).total() / (own.total() + other.total())
    return alike if alike >= (_SAME_NUMBER if numbers and numbers == others else _SAME) else 0.0


def _replaced(document: Document, texts: Sequence[tuple[int, int, str]]) -> Document:
    """The document with other texts at some places (start, end, text), which are in order and apart."""
    parts, at, grown, shifts = list[str](), 0, 0, [(0, 0, 0, 0)]
    for start, end, text in texts:
        parts += [document.text[at:start], text]
        shifts.append((start, end, start + grown, start + grown + len(text)))
        at, grown = end, grown + len(text) - (end - start)

    def moved(place: int, *, is_end: bool) -> int:
        _, end, first, last = shifts[bisect_right(shifts, place - is_end, key=lambda one: one[0]) - 1]
        return place - end + last if place >= end else last if is_end else first

    def shifted(one: _Place) -> _Place:
        return replace(one, start=moved(one.start, is_end=False), end=moved(one.end, is_end=True))

    pages = tuple(shifted(replace(page, lines=tuple(map(shifted, page.lines)))) for page in document.pages)
    text = "".join([*parts, document.text[at:]])
    return replace(document, text=text, pages=pages, elements=tuple(map(shifted, document.elements)))


def _plain_block(text: str, *, may_be_heading: bool) -> dict[str, Any]:
    """A paragraph, or a heading of Markdown, as pandoc has it."""
    text = text.strip()
    level = len(text) - len(text.lstrip("#")) if may_be_heading and "\n" not in text else 0
    if 0 < level <= 6 and text[level : level + 1].isspace():
        return {"t": "Header", "c": [level, ["", [], []], [{"t": "Str", "c": text.strip("# \t")}]]}
    return {"t": "Para", "c": [{"t": "Str", "c": text}]}


def _problem(path: Path, what: str, reason: str, fix: str = _AGAIN) -> FileProblem:
    return FileProblem(f"{printable_name(path)} {what}.", clean_text(fix), reason=reason)


def _too_large(path: Path) -> FileProblem:
    return _problem(path, f"is too large: more than {_TEXT_BYTES >> 20} MB of text", "too-large", "Split it.")


def _checked_package(path: Path, content: bytes) -> dict[str, list[str]]:
    """The title, authors and date that the package tells. Raises FileProblem for one that cannot be read."""
    ending = path.suffix.lower()
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as package:
            parts = {part.filename: part.file_size for part in package.infolist()}
            if _PACKED[ending] not in parts:
                raise _problem(path, f"is no {ending[1:]} file by its content", "wrong-format")
            if sum(parts.values()) > _UNPACKED_BYTES:
                raise _too_large(path)
            rights = package.read(_RIGHTS) if _RIGHTS in parts else b""
            if b"EncryptedData" in rights and not set(_ENCRYPTED.findall(rights) or [b""]) <= _OF_FONTS:
                raise _problem(path, "is protected by DRM: its text is encrypted", "encrypted", "Get one without DRM.")
            about = next((part for part in parts if part.endswith(".opf") or part == "docProps/core.xml"), "")
            told = package.read(about).decode("utf-8", "replace") if about else ""
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError, ValueError) as error:
        if content.startswith(b"\xd0\xcf\x11\xe0"):  # Word encrypts a docx into such a file
            raise _problem(path, "is protected by a password, or of an older Word", "encrypted") from error
        raise _problem(path, f"is damaged, or no {ending[1:]} file", "damaged") from error
    found: dict[str, list[str]] = {}
    for field, value in _FIELD.findall(told):
        if value := " ".join(html.unescape(value).split()):
            found.setdefault({"creator": "author", "created": "date"}.get(field, field), []).append(value)
    return found


def decoded(path: Path, content: bytes) -> tuple[str, bool]:
    """The text, and whether it is in UTF-8, UTF-16 or the encoding that it names. Raises FileProblem for no text."""
    is_wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if not is_wide and b"\0" in content:
        raise _problem(path, "is no text by its content", "wrong-format")
    named = [match[1].decode("ascii", "replace") for match in _NAMED_CHARSET.finditer(content[:2048])][:1]
    for encoding in ("utf-16" if is_wide else "utf-8-sig", *named):
        with suppress(UnicodeDecodeError, LookupError):
            return content.decode(encoding), True
    return content.decode("cp1252", "replace"), False


def _seen(page: str) -> str:
    """The source of a web page without what its reader does not see."""
    parts, at, begun, ending = [], 0, 0, ""
    for match in _UNSEEN.finditer(page):
        tag = (match[1] or "--").lower()
        if ending and tag == ending:
            parts.append(page[at:begun])
            at, ending = page.find(">", match.end()) + 1 or len(page), ""
        elif not ending and tag[0] not in "/-":
            begun, ending = match.start(), "--" if tag == "!--" else f"/{tag}"
    return " ".join([*parts, page[at:]])


def _parsed(path: Path, content: bytes, reader: str) -> tuple[bytes, str]:
    """(pandoc's tree as JSON, its warnings). Raises FileProblem, and MemoryError where pandoc needs too much."""
    spec = find_spec("pypandoc")
    if spec is None or not spec.submodule_search_locations:
        raise missing_package(f"Reading {printable_name(path)}", "pypandoc_binary", "formats", FileProblem)
    program = Path(spec.submodule_search_locations[0], "files", "pandoc.exe" if sys.platform == "win32" else "pandoc")
    command = [str(program), "--sandbox", "-f", reader, "-t", "json", "+RTS", f"-M{_MEMORY}", "-RTS"]
    env = {**os.environ, "LC_ALL": "C.UTF-8"}
    try:
        done = subprocess.run(command, input=content, capture_output=True, timeout=_SECONDS, check=False, env=env)  # noqa: S603 - of a package
    except subprocess.TimeoutExpired as error:
        raise _problem(path, f"took longer to read than {_SECONDS} s", "timeout", "Split it.") from error
    if done.returncode == _NO_MEMORY:
        raise MemoryError
    said = done.stderr.decode("utf-8", "replace")
    if done.returncode:
        why = next(iter(said.strip().splitlines()), f"exit code {done.returncode}")
        raise _problem(path, f"cannot be read: {clean_text(why)[:200].rstrip('.')}", "damaged")
    return done.stdout, said
