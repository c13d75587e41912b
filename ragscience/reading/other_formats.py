"""Files that are no PDF become a Document: Word, EPUB, web pages, Markdown and LaTeX by pandoc, plain text as it is.

pandoc is the program in the package pypandoc_binary, a process of its own with limits; with --sandbox it opens no file
and asks no server. A file is untrusted: what it is called and what it says of itself decide nothing unchecked.
"""

from __future__ import annotations

import codecs
import html
import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from ragscience.core.errors import FileProblem, missing_package
from ragscience.core.records import Document
from ragscience.reading.pandoc_document import document_of, plain_document
from ragscience.reading.text_cleaning import printable_name

_READERS = {".docx": "docx", ".epub": "epub", ".html": "html", ".htm": "html", ".md": "markdown", ".tex": "latex"}
_PACKED = {".docx": "word/document.xml", ".epub": "META-INF/container.xml"}
"""ZIP files, with a part that each has."""
_TEXT_BYTES, _PACKED_BYTES, _UNPACKED_BYTES = 16 << 20, 200 << 20, 500 << 20
"""Most of a text without pictures, of a packed file, and of what is in it: a book has 1 MB of text."""
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
_OF_FONTS = (b"http://www.idpf.org/2008/embedding", b"http://ns.adobe.com/pdf/enc#RC")
"""The two ways to obfuscate fonts (EPUB Open Container Format 3.3, 4.4), which leave the text as it is."""
_FIELD = re.compile(r"<(?:dc|dcterms):(title|creator|date|created|identifier)\b[^<>]{0,400}+>([^<>]{1,500}+)<")
_LEFT_OUT = re.compile(r"\[WARNING\] Could not load include file (\S{1,200})")
_PARAGRAPHS = re.compile(r"\n[ \t\r\f]*+\n\s*+")
_AGAIN = "Skip it, or save it again with another program."


def read_other(path: Path, on_page: Callable[[int, int, bool], None] = lambda *_: None) -> Document:
    """The document of a file with one of the endings in FORMATS; its places are its paragraphs.

    Raises FileProblem with reason "missing", "unreadable", "empty", "too-large", "wrong-format", "encrypted",
    "damaged", "no-text" or "timeout", and MemoryError.
    """
    suffix, name, warnings = path.suffix.lower(), printable_name(path), []
    try:
        size = path.stat().st_size
        content = path.read_bytes() if size <= _PACKED_BYTES else b""
    except FileNotFoundError as error:
        raise FileProblem(f"There is no file {name}.", "Check the name.", reason="missing") from error
    except OSError as error:
        raise FileProblem(f"{name} cannot be read: {error.strerror}.", reason="unreadable") from error
    if not content.strip():
        raise _too_large(name) if size > _PACKED_BYTES else FileProblem(f"{name} is empty.", "Fetch or save it again.", reason="empty")
    if content.startswith(b"%PDF-"):
        fix = f"Call it {printable_name(path.with_suffix('.pdf'))}."
        raise FileProblem(f"{name} is a PDF by its content.", fix, reason="wrong-format")
    fields: dict[str, list[str]] = {}
    if suffix in _PACKED:
        fields = _checked_package(path, name)
    else:
        text, is_utf8 = _decoded(content, name)
        if not is_utf8:
            warnings.append("not in UTF-8: read as Latin-1")
        text = _EMBEDDED.sub(r"\1", text)
        if suffix in (".html", ".htm"):
            text = _seen(text)
        if len(text) > _TEXT_BYTES:
            raise _too_large(name)
        content = text.encode("utf-8", "replace")
    if suffix == ".txt":
        document = plain_document(" ".join(part.split()) for part in _PARAGRAPHS.split(text))
    else:
        tree, said = _parsed(content, _READERS[suffix], name)
        try:
            read = json.loads(tree)
            if suffix == ".epub":  # of which pandoc turns the authors round
                read["meta"] = {key: value for key, value in read["meta"].items() if key not in fields}
            document = document_of(read, fields, is_web_page=_READERS[suffix] == "html")
        except (LookupError, TypeError, ValueError, RecursionError) as error:
            raise FileProblem(f"{name} is damaged: its structure cannot be read.", _AGAIN, reason="damaged") from error
        warnings += [f"without {other}, which it includes" for other in _LEFT_OUT.findall(said)[:3]]
    if not document.pages:
        raise FileProblem(f"{name} has no text.", _AGAIN, reason="no-text")
    on_page(len(document.pages), len(document.pages), False)
    return replace(document, warnings=tuple(warnings))


def _too_large(name: str) -> FileProblem:
    return FileProblem(
        f"{name} is too large: more than {_TEXT_BYTES >> 20} MB of text.", "Split it.", reason="too-large"
    )


def _checked_package(path: Path, name: str) -> dict[str, list[str]]:
    """The title, authors and date that the package tells. Raises FileProblem for one that cannot be read."""
    try:
        with zipfile.ZipFile(path) as package:
            parts = {part.filename: part for part in package.infolist()}
            if _PACKED[path.suffix.lower()] not in parts:
                raise FileProblem(
                    f"{name} is no {path.suffix[1:].lower()} file by its content.", _AGAIN, reason="wrong-format"
                )
            if sum(part.file_size for part in parts.values()) > _UNPACKED_BYTES:
                raise _too_large(name)
            rights = package.read("META-INF/encryption.xml") if "META-INF/encryption.xml" in parts else b""
            if set(_ENCRYPTED.findall(rights)) - set(_OF_FONTS) or (
                b"EncryptedData" in rights and b"Algorithm" not in rights
            ):
                raise FileProblem(
                    f"{name} is protected by DRM: its text is encrypted.", "Get a copy without DRM.", reason="encrypted"
                )
            about = next((part for part in parts if part.endswith(".opf") or part == "docProps/core.xml"), "")
            told = package.read(about).decode("utf-8", "replace") if about else ""
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError, ValueError) as error:
        with path.open("rb") as file:
            is_old = file.read(8) == b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
        if is_old:  # Word encrypts a docx into such a file
            message = f"{name} is protected by a password, or is of an older Word."
            raise FileProblem(message, "Save it as docx without a password.", reason="encrypted") from error
        message = f"{name} is damaged, or no {path.suffix[1:].lower()} file."
        raise FileProblem(message, _AGAIN, reason="damaged") from error
    found: dict[str, list[str]] = {}
    for field, value in _FIELD.findall(told):
        key = {"creator": "author", "created": "date"}.get(field, field)
        found.setdefault(key, []).append(" ".join(html.unescape(value).split()))
    return {key: values for key, values in found.items() if any(values)}


def _decoded(content: bytes, name: str) -> tuple[str, bool]:
    """The text, and whether it is in UTF-8, UTF-16 or the encoding that it names. Raises FileProblem for no text."""
    marks = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
    named = [encoding for mark, encoding in marks.items() if content.startswith(mark)]
    if not named and b"\0" in content:
        raise FileProblem(f"{name} is no text by its content.", _AGAIN, reason="wrong-format")
    named += [match[1].decode("ascii", "replace") for match in _NAMED_CHARSET.finditer(content[:2048])][:1]
    for encoding in ["utf-8", *named] if not named or named[0][:3] != "utf" else [*named, "utf-8"]:
        try:
            return content.decode(encoding), True
        except (UnicodeDecodeError, LookupError):
            continue
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


def _parsed(content: bytes, reader: str, name: str) -> tuple[bytes, str]:
    """(pandoc's tree as JSON, its warnings). Raises FileProblem, and MemoryError where pandoc needs too much."""
    spec = find_spec("pypandoc")
    if spec is None or not spec.submodule_search_locations:
        raise missing_package(f"Reading {name}", "pypandoc_binary", "formats", FileProblem)
    program = Path(spec.submodule_search_locations[0], "files", "pandoc.exe" if sys.platform == "win32" else "pandoc")
    command: list[str | Path] = [program, "--sandbox", "-f", reader, "-t", "json", "+RTS", f"-M{_MEMORY}", "-RTS"]
    try:
        done = subprocess.run(  # noqa: S603 - the program of a package
            command,
            input=content,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
        )
    except subprocess.TimeoutExpired as error:
        raise FileProblem(f"{name} took longer to read than {_SECONDS} s.", _AGAIN, reason="timeout") from error
    if done.returncode == _NO_MEMORY:
        raise MemoryError
    said = done.stderr.decode("utf-8", "replace")
    if done.returncode:
        why = next(iter(said.strip().splitlines()), f"exit code {done.returncode}")[:200].rstrip(".")
        raise FileProblem(f"{name} cannot be read: {why}.", _AGAIN, reason="damaged")
    return done.stdout, said
