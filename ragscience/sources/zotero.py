"""A Zotero library, as its data folder has it: read from a copy of its database; nothing there is written or locked."""

import json
import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from ragscience.core.errors import RagScienceError
from ragscience.core.paper_records import formats_read
from ragscience.core.records import Mark, Metadata
from ragscience.sources.zotero_folder import DATABASE, copied, named_by_profiles

_KNOWN_VERSIONS = range(100, 131)
"""Versions of `userdata` whose tables are as they are read here: Zotero 5 to 8."""
_STORED, _SAVED, _LINKED = 0, 1, 2
"""How an attachment is kept: as a copy, as a copy from the web, as a link to a file."""
_VENUES = (
    "publicationTitle", "proceedingsTitle", "bookTitle", "conferenceName", "university", "institution", "repository",
)  # fmt: skip
_KINDS = {
    "journalArticle": "article", "conferencePaper": "inproceedings", "thesis": "phdthesis", "report": "techreport",
}  # fmt: skip
CITATION_KEY = re.compile(r"[^\s{}()\\,~#%\"'@]{1,200}")
"""A citation key that BibTeX and Pandoc read."""
_ARXIV = re.compile(r"(?:arXiv:\s*)?((?:[a-z-]+(?:\.[A-Z]{2})?/\d{7}|\d{4}\.\d{4,5})(?:v\d+)?)(?:\s.*)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file of an item in Zotero, or one without an item."""

    path: Path
    metadata: Metadata
    """Of its item."""
    marks: tuple[Mark, ...] = ()
    """Highlights and notes in the file, and notes of its item."""


@dataclass(frozen=True, slots=True)
class ZoteroLibrary:
    """What a data folder has."""

    attachments: tuple[Attachment, ...]
    """Of all items that are not in the trash, the item's own file, a PDF where it has one, before its supplements."""
    trashed: frozenset[str]
    """The `link` of each file in the trash."""
    warnings: tuple[str, ...] = ()


def read_zotero(folder: Path, base: Path | None = None) -> ZoteroLibrary:
    """What the data folder holds. `base` is where linked files with relative paths are; None: as the profiles say.

    Raises RagScienceError for a database that is damaged, half copied, or written without a pause.
    """
    bases = [base] if base is not None else [*named_by_profiles("baseAttachmentPath")]
    with copied(folder / DATABASE) as database:
        return _Reading(folder, database, bases[0] if bases else None).library()


class _Reading:
    """One reading of a copied database."""

    def __init__(self, folder: Path, db: sqlite3.Connection, base: Path | None) -> None:
        self._folder, self._db, self._base = folder, db, base
        self._warnings: list[str] = []
        self._trashed_links: list[str] = []
        self._parts: dict[int, int] = {}
        """Files so far of each item."""

    def library(self) -> ZoteroLibrary:
        version = self._rows("its version", "SELECT version FROM version WHERE schema = 'userdata'")
        if not version or version[0][0] not in _KNOWN_VERSIONS:
            number = version[0][0] if version else "unknown"
            self._warnings.append(f"Zotero's database has version {number}, which is not known: what is known is read.")
        rows = self._rows(
            "attachments",
            "SELECT itemID, parentItemID, linkMode, contentType, path FROM itemAttachments"
            " WHERE path IS NOT NULL"
            " ORDER BY parentItemID IS NULL, parentItemID, contentType IS NOT 'application/pdf', itemID",
        )
        if not self._items:
            raise RagScienceError(f"{self._folder / DATABASE} has no items that can be read.", "Check --data.")
        found = [self._attachment(*row) for row in rows if row[0] in self._items and _is_read(*row[2:])]
        there = [one for one in found if one is not None]
        return ZoteroLibrary(tuple(there), frozenset(self._trashed_links), tuple(self._warnings))

    def _attachment(self, file: int, parent: int | None, how: int, _: str, path: str) -> Attachment | None:
        item = parent if parent in self._items else file
        link = self._link(file)
        if {file, item} & self._trash:
            self._trashed_links.append(link)
            return None
        known = replace(self._metadata(item), link=link)
        if self._parts.setdefault(item, 0):
            part = self._fields[file].get("title") or "Supplement"
            known = replace(known, title=f"{known.title} ({part})", doi="", arxiv_id="", part=part)
        marks = (*self._marks[file], *(self._notes[item] if not self._parts[item] else ()))
        self._parts[item] += 1
        return Attachment(
            self._path(file, how, path), known, tuple(mark for mark in marks if mark.text or mark.comment)
        )

    def _path(self, file: int, how: int, path: str) -> Path:
        if how != _LINKED:
            return self._folder / "storage" / self._items[file][1] / path.removeprefix("storage:")
        relative = path.removeprefix("attachments:")
        return (self._base or self._folder) / relative if relative != path else Path(path)

    def _link(self, file: int, page: int = 0, mark: str = "") -> str:
        library, key, _ = self._items[file]
        where = f"groups/{self._groups[library]}" if library in self._groups else "library"
        place = "&".join(filter(None, (f"page={page}" if page else "", f"annotation={mark}" if mark else "")))
        return f"zotero://open-pdf/{where}/items/{key}{'?' if place else ''}{place}"

    def _metadata(self, item: int) -> Metadata:
        """What Zotero says of an item."""
        fields, kind = self._fields[item], self._items[item][2]
        extra = dict(line.split(":", 1) for line in fields.get("extra", "").splitlines() if ":" in line)
        lines = {name.strip().casefold(): value.strip() for name, value in extra.items()}
        day = fields.get("date", "").partition(" ")[0]
        year = int(day[:4]) if day[:4].isdigit() and day[:4] != "0000" else None
        arxiv = (fields.get("archiveID", ""), lines.get("arxiv", ""), fields.get("DOI", "").partition("arXiv.")[2])
        keys = (
            fields.get("citationKey", ""),
            self._better_bibtex.get(self._items[item][:2], ""),
            lines.get("citation key", ""),
        )
        is_thesis = kind == "thesis" and "master" in fields.get("thesisType", "").casefold()
        return Metadata(
            title="" if kind == "attachment" else fields.get("title", ""),
            authors=tuple(self._authors[item]),
            year=year,
            venue=next((fields[name] for name in _VENUES if fields.get(name)), ""),
            doi=fields.get("DOI", "") or lines.get("doi", ""),
            arxiv_id=next((match[1] for text in arxiv if (match := _ARXIV.fullmatch(text.strip()))), ""),
            abstract=fields.get("abstractNote", ""),
            url=fields.get("url", ""),
            published=day if len(day) == 10 and "-00" not in day else "",
            kind="mastersthesis" if is_thesis else _KINDS.get(kind, ""),
            volume=fields.get("volume", ""),
            number=fields.get("issue") or fields.get("reportNumber", ""),
            pages=fields.get("pages", ""),
            collections=tuple(self._collections[item]),
            tags=tuple(self._tags[item]),
            item_type="" if kind == "attachment" else kind,
            citation_key=next((key for key in keys if CITATION_KEY.fullmatch(key)), ""),
        )

    # The tables

    def _rows(self, what: str, query: str) -> list[Any]:
        """The rows of a query; a warning and none where this database has no such table or column."""
        try:
            return self._db.execute(query).fetchall()
        except sqlite3.OperationalError as error:
            self._warnings.append(f"Zotero's database is of another version: {what} cannot be read ({error}).")
            return []

    @cached_property
    def _items(self) -> dict[int, tuple[int, str, str]]:
        """(library, key, type) of each item, those of feeds left out."""
        rows = self._rows(
            "items",
            "SELECT itemID, libraryID, key, typeName FROM items JOIN itemTypes USING (itemTypeID)"
            " WHERE libraryID NOT IN (SELECT libraryID FROM libraries WHERE type = 'feed')",
        )
        return {item: (library, key, kind) for item, library, key, kind in rows}

    @cached_property
    def _trash(self) -> frozenset[int]:
        return frozenset(item for (item,) in self._rows("the trash", "SELECT itemID FROM deletedItems"))

    @cached_property
    def _groups(self) -> dict[int, int]:
        """The number of each group, by its library."""
        return dict(self._rows("groups", "SELECT libraryID, groupID FROM groups"))

    @cached_property
    def _fields(self) -> defaultdict[int, dict[str, str]]:
        rows = self._rows(
            "fields",
            "SELECT itemID, fieldName, value FROM itemData JOIN fields USING (fieldID)"
            " JOIN itemDataValues USING (valueID)",
        )
        found: defaultdict[int, dict[str, str]] = defaultdict(dict)
        for item, name, value in rows:
            found[item][name] = str(value)
        return found

    @cached_property
    def _authors(self) -> defaultdict[int, list[str]]:
        """The authors of each item; where it has none, whoever else made it."""
        rows = self._rows(
            "authors",
            "SELECT itemID, creatorType, firstName, lastName FROM itemCreators JOIN creators USING (creatorID)"
            " JOIN creatorTypes USING (creatorTypeID) ORDER BY itemID, orderIndex",
        )
        by_role: defaultdict[int, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for item, role, first, last in rows:
            by_role[item][role].append(" ".join(filter(None, (first, last))))
        return _lists(
            (item, name)
            for item, roles in by_role.items()
            for name in roles.get("author") or next(iter(roles.values()))
        )

    @cached_property
    def _collections(self) -> defaultdict[int, list[str]]:
        gone = {one for (one,) in self._rows("deleted collections", "SELECT collectionID FROM deletedCollections")}
        rows = self._rows("collections", "SELECT collectionID, collectionName, parentCollectionID FROM collections")
        known = {number: (name, above) for number, name, above in rows}

        def path(number: int | None) -> list[str]:
            names: list[str] = []
            seen: set[int] = set()
            while number is not None and number in known and number not in seen:
                seen.add(number)
                name, number = known[number]
                names.insert(0, name)
            return names

        items = self._rows("collections", "SELECT itemID, collectionID FROM collectionItems ORDER BY 1, 2")
        return _lists(
            (item, " › ".join(path(number))) for item, number in items if number in known and number not in gone
        )

    @cached_property
    def _tags(self) -> defaultdict[int, list[str]]:
        return _lists(self._rows("tags", "SELECT itemID, name FROM itemTags JOIN tags USING (tagID) ORDER BY 1, 2"))

    @cached_property
    def _marks(self) -> defaultdict[int, list[Mark]]:
        """The highlights and notes in each file, in their order; those that the file has itself are read with it."""
        rows = self._rows(
            "annotations",
            "SELECT parentItemID, itemID, text, comment, position FROM itemAnnotations WHERE NOT isExternal"
            " ORDER BY parentItemID, sortIndex",
        )
        found = []
        for file, item, text, comment, position in rows:
            if file in self._items and item in self._items and item not in self._trash:
                page = _page_of(position)
                link = self._link(file, page, self._items[item][1])
                found.append((file, Mark(page, _flat(text), _flat(comment), link)))
        return _lists(found)

    @cached_property
    def _notes(self) -> defaultdict[int, list[Mark]]:
        rows = self._rows(
            "notes", "SELECT parentItemID, itemID, note FROM itemNotes WHERE parentItemID IS NOT NULL ORDER BY 1, 2"
        )
        there = [row for row in rows if row[1] in self._items and row[1] not in self._trash]
        way = "zotero://open-pdf/", "zotero://select/"
        return _lists((item, Mark(1, "", _words(note), self._link(one).replace(*way))) for item, one, note in there)

    @cached_property
    def _better_bibtex(self) -> dict[tuple[int, str], str]:
        """The citation keys that the plug-in Better BibTeX keeps in a database of its own, by library and key."""
        database = self._folder / "better-bibtex.sqlite"
        if not database.is_file():
            return {}
        try:
            with copied(database) as db:
                rows = db.execute("SELECT libraryID, itemKey, citationKey FROM citationkey").fetchall()
        except (RagScienceError, sqlite3.OperationalError):
            self._warnings.append("The citation keys of Better BibTeX cannot be read.")
            return {}
        return {(library, key): name for library, key, name in rows}


def _is_read(how: int, content: str | None, path: str) -> bool:
    """Whether an attachment is of a kind and in a format that can be read."""
    is_file = how in (_STORED, _SAVED, _LINKED)
    return is_file and (content == "application/pdf" or path.lower().endswith(formats_read()))


def _lists(pairs: Iterable[tuple[int, Any]]) -> defaultdict[int, list[Any]]:
    found: defaultdict[int, list[Any]] = defaultdict(list)
    for key, value in pairs:
        found[key].append(value)
    return found


def _page_of(position: str) -> int:
    """The page of an annotation's place, from 1; 1 where it says none."""
    with suppress(ValueError, TypeError, AttributeError):
        return int(json.loads(position)["pageIndex"]) + 1
    return 1


class _Words(HTMLParser):
    """The text of a note in HTML."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []

    def handle_data(self, data: str) -> None:
        self.parts.append(data)


def _words(html: str | None) -> str:
    parser = _Words()
    parser.feed((html or "").replace("<", " <"))
    return _flat(" ".join(parser.parts))


def _flat(text: str | None) -> str:
    return " ".join((text or "").split())


def narrowed(found: Sequence[Attachment], collections: Sequence[str], tags: Sequence[str]) -> list[Attachment]:
    """The attachments in any of the collections (a part of the name is enough) and with any of the tags."""
    parts, wanted = [part.casefold() for part in collections], {tag.casefold() for tag in tags}
    return [
        one
        for one in found
        if (not parts or any(part in name.casefold() for part in parts for name in one.metadata.collections))
        and (not wanted or wanted & {tag.casefold() for tag in one.metadata.tags})
    ]
