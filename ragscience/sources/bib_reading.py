"""A .bib file: what its entries say of papers, and which papers and files they are about."""

import logging
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ragscience.core.errors import NothingFound, UsageError
from ragscience.core.records import Metadata, Paper, title_of
from ragscience.core.tokenizing import counted, some_of
from ragscience.reading.text_cleaning import text_of_latex
from ragscience.sources.zotero import CITATION_KEY

_ENCODING = re.compile(rb"\s*%\s*Encoding:\s*([\w-]{1,40})")
"""JabRef's first line."""
_FOLDER = re.compile(r"jabref-meta:\s*fileDirectory(?:Latex)?(?:-[^:]*)?:(.+?);?\s*", re.DOTALL)
_IS_LATEX = re.compile(r"[\\$~%]|--|``|''")
_DOI = re.compile(r"10\.\d{4,9}/\S+")
_ARXIV = re.compile(
    r"(?:^|arxiv[:.]\s*|arxiv\.org/(?:abs|pdf)/|abs/)([a-z-]+(?:\.[a-z]{2})?/\d{7}|\d{4}\.\d{4,5})(v\d+)?", re.I
)
_YEAR = re.compile(r"\d{4}")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_VENUES = ("journal", "journaltitle", "booktitle", "school", "institution", "organization", "howpublished")
_THESIS, _REPORT = ("phdthesis", "thesis"), ("techreport", "report")
_TYPES = {
    "article": ("article", "journalArticle"), "inproceedings": ("inproceedings", "conferencePaper"),
    "conference": ("inproceedings", "conferencePaper"), "phdthesis": _THESIS, "thesis": _THESIS,
    "mastersthesis": ("mastersthesis", "thesis"), "techreport": _REPORT, "report": _REPORT, "book": ("", "book"),
    "incollection": ("", "bookSection"), "inbook": ("", "bookSection"), "online": ("", "webpage"),
}  # fmt: skip
"""For each type of BibTeX and biblatex a plain type of BibTeX, and Zotero's name."""
_FROM_PARENT = ("booktitle", "journal", "year", "date", "volume", "school", "institution")
_VERBATIM = ("doi", "url", "eprint", "file")
_LEAST_TITLE = 12
"""Letters of a title that tells which paper is meant."""


@dataclass(frozen=True, slots=True)
class BibEntry:
    """An entry of a .bib file."""

    metadata: Metadata
    files: str
    """Its field `file`, as it is written."""


@dataclass(frozen=True, slots=True)
class BibFile:
    """What a .bib file has."""

    path: Path
    entries: tuple[BibEntry, ...]
    warnings: tuple[str, ...] = ()
    folders: tuple[Path, ...] = ()
    """Where its files may be: those that JabRef names, then its own."""


def read_bib(path: Path) -> BibFile:
    """The entries of a .bib file; one that is broken is named in `warnings`, and the others are read.

    Raises UsageError for a file that cannot be read or decoded, NothingFound for one without an entry.
    """
    import bibtexparser

    logging.getLogger("bibtexparser").setLevel(logging.CRITICAL)  # what is broken is in `failed_blocks`, too
    found = bibtexparser.parse_string(_text_of(path))
    by_key = {one.key: {field.key.lower(): str(field.value) for field in one.fields} for one in found.entries}
    entries = tuple(_entry(one.key, one.entry_type.lower(), by_key) for one in found.entries)
    warnings = []
    if found.failed_blocks:
        lines = some_of([f"line {block.start_line + 1}" for block in found.failed_blocks])
        many = counted(len(found.failed_blocks), "entry", "entries")
        warnings.append(f"{path.name}: {many} left out, broken or there twice: {lines}.")
    elif not entries:
        raise NothingFound(f"{path} has no entry.", "Give a BibTeX file, as reference managers export them.")
    own = path.absolute().parent
    named = [match[1] for one in found.comments if (match := _FOLDER.fullmatch(one.comment))]
    folders = [own / _unescaped(name) for name in named if "\0" not in name]
    return BibFile(path, entries, tuple(warnings), (*folders, own))


def _text_of(path: Path) -> str:
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.", "Check the name.") from error
    named = _ENCODING.match(raw)
    encoding = named[1].decode() if named else "utf-8-sig"
    try:
        return raw.decode(encoding)
    except (UnicodeDecodeError, LookupError) as error:
        what = f"is not in {encoding}, which it names" if named else "is not in UTF-8, and names no other encoding"
        fix = "Save it in UTF-8, or begin it with a line like `% Encoding: windows-1252`."
        raise UsageError(f"{path} {what}.", fix) from error


def _entry(key: str, kind: str, by_key: Mapping[str, Mapping[str, str]]) -> BibEntry:
    own = by_key[key]
    parent = by_key.get(own.get("crossref", ""), {})
    taken = {name: parent[name] for name in _FROM_PARENT if name in parent}
    fields = {"booktitle": parent.get("title", ""), **taken, **own}
    said = {name: _plain(value) for name, value in fields.items() if name not in ("author", *_VERBATIM)}
    said |= {name: re.sub(r"\\([_%&#~{}])", r"\1", fields[name]).strip() for name in _VERBATIM if name in fields}
    date = said.get("date") or said.get("year", "")
    year, doi = _YEAR.search(date), _DOI.search(said.get("doi") or said.get("url", ""))
    where = (said.get(name, "") for name in ("eprint", "url", "journal", "volume", "note", "doi"))
    arxiv = next(filter(None, map(_ARXIV.search, where)), None)
    type_, item_type = _TYPES.get(kind, ("", "preprint" if arxiv else ""))
    metadata = Metadata(
        title=said.get("title", ""), authors=_authors(own.get("author", "")), year=int(year[0]) if year else None,
        venue=next((said[name] for name in _VENUES if said.get(name)), ""), doi=doi[0] if doi else "",
        arxiv_id=f"{arxiv[1]}{arxiv[2] or ''}" if arxiv else "", abstract=said.get("abstract", ""),
        url=said.get("url", ""), published=date if _DAY.fullmatch(date) else "", kind=type_,
        volume=said.get("volume", ""), number=said.get("number") or said.get("issue", ""),
        pages=re.sub(r" ?[-–]+ ?", "-", said.get("pages", "")), collections=_listed(said.get("groups", "")),
        tags=_listed(said.get("keywords", "")), item_type=item_type,
        citation_key=key if CITATION_KEY.fullmatch(key) else "",
    )  # fmt: skip
    return BibEntry(metadata, own.get("file", ""))


def _plain(value: str) -> str:
    """A field's text without LaTeX."""
    text = " ".join(value.split())
    if _IS_LATEX.search(text):
        text = text_of_latex(text)
    return " ".join(text.replace("{", "").replace("}", "").split())


def _authors(value: str) -> tuple[str, ...]:
    """The names, given name first."""
    from bibtexparser.middlewares.names import parse_single_name_into_parts, split_multiple_persons_names

    found = []
    for name in split_multiple_persons_names(" ".join(value.split())):
        parts = parse_single_name_into_parts(name, strict=False)
        found.append(_plain(" ".join((*parts.first, *parts.von, *parts.last, *parts.jr))))
    return tuple(name for name in found if name and name != "others")


def _listed(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, (one.strip() for one in re.split("[,;]", text)))))


# Which papers and files


def joined(
    entries: Sequence[BibEntry], papers: Sequence[Paper], folders: Sequence[Path]
) -> tuple[dict[Path, Metadata], list[str]]:
    """What is said of each file, and the entries that fit none, by key or title.

    An entry is about the PDFs of its field `file`, which are in `folders` where their paths are relative; else about
    the paper of the library with its DOI, its arXiv id, or its title.
    """
    known = _by_name(papers)
    found: dict[Path, Metadata] = {}
    unfit: list[str] = []
    for entry in entries:
        said = entry.metadata
        paths = _files(entry.files, folders)
        if not paths:
            fitting = (known[name] for name in _names(said) if len(known[name]) == 1)
            paths = [path for path in map(Path, next(fitting, ())) if path.is_file()][:1]
        if not paths:
            unfit.append(said.citation_key or said.title or "an entry without a key")
        for number, path in enumerate(paths):
            if number:
                title = f"{said.title} ({path.stem})"
                said = replace(entry.metadata, title=title, doi="", arxiv_id="", part=path.stem)
            found.setdefault(path, said)
    return found, unfit


def _files(field: str, folders: Iterable[Path]) -> list[Path]:
    r"""The PDFs of a field `file` that are there.

    JabRef and Zotero write "description:path:type" with `\:` and `\;`, others paths alone, Mendeley leaves out the
    first slash.
    """
    found: dict[Path, None] = {}
    for one in re.split(r"(?<!\\);", field):
        parts = [*map(_unescaped, re.split(r"(?<!\\):", one))]
        names = [one.strip(), parts[0], *([parts[1], f"/{parts[1]}"] if len(parts) > 1 else [])]
        paths = (folder / name for name in names if name.lower().endswith(".pdf") for folder in folders)
        there = next((path for path in paths if "\0" not in str(path) and path.is_file()), None)
        if there is not None:
            found[there.resolve()] = None
    return [*found]


def _unescaped(text: str) -> str:
    return re.sub(r"\\([:;\\])", r"\1", text)


def _names(said: Metadata) -> list[str]:
    """What tells which paper is meant, the surest first."""
    title = "".join(filter(str.isalnum, said.title)).casefold()
    return [
        f"doi {said.doi.casefold()}" if said.doi else "",
        f"arxiv {re.sub(r'v[0-9]+$', '', said.arxiv_id.casefold())}" if said.arxiv_id else "",
        f"title {title}" if len(title) >= _LEAST_TITLE else "",
    ]


def _by_name(papers: Iterable[Paper]) -> defaultdict[str, list[str]]:
    """The paths of the papers that have each name; none for an empty one."""
    found = defaultdict[str, list[str]](list)
    for paper in papers:
        for name in _names(replace(paper.metadata, title=title_of(paper))):
            if name and not paper.metadata.part:
                found[name].append(paper.path)
    return found
