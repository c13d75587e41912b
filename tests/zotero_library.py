"""Makes a Zotero data folder: its database in the schema of Zotero 7 (userdata 125), as far as a reader meets it."""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path

TABLES = {
    "version": "schema TEXT PRIMARY KEY, version INT",
    "libraries": "libraryID INTEGER PRIMARY KEY, type TEXT, editable INT, filesEditable INT",
    "groups": "groupID INTEGER PRIMARY KEY, libraryID INT UNIQUE, name TEXT, description TEXT, version INT",
    "itemTypes": "itemTypeID INTEGER PRIMARY KEY, typeName TEXT, templateItemTypeID INT, display INT",
    "fields": "fieldID INTEGER PRIMARY KEY, fieldName TEXT, fieldFormatID INT",
    "creatorTypes": "creatorTypeID INTEGER PRIMARY KEY, creatorType TEXT",
    "items": "itemID INTEGER PRIMARY KEY, itemTypeID INT, dateAdded TIMESTAMP, dateModified TIMESTAMP, "
    "clientDateModified TIMESTAMP, libraryID INT, key TEXT, version INT, synced INT, UNIQUE (libraryID, key)",
    "itemDataValues": "valueID INTEGER PRIMARY KEY, value UNIQUE",
    "itemData": "itemID INT, fieldID INT, valueID, PRIMARY KEY (itemID, fieldID)",
    "itemNotes": "itemID INTEGER PRIMARY KEY, parentItemID INT, note TEXT, title TEXT",
    "itemAttachments": "itemID INTEGER PRIMARY KEY, parentItemID INT, linkMode INT, contentType TEXT, charsetID INT, "
    "path TEXT, syncState INT, storageModTime INT, storageHash TEXT, lastProcessedModificationTime INT",
    "itemAnnotations": "itemID INTEGER PRIMARY KEY, parentItemID INT, type INTEGER, authorName TEXT, text TEXT, "
    "comment TEXT, color TEXT, pageLabel TEXT, sortIndex TEXT, position TEXT, isExternal INT",
    "tags": "tagID INTEGER PRIMARY KEY, name TEXT UNIQUE",
    "itemTags": "itemID INT, tagID INT, type INT, PRIMARY KEY (itemID, tagID)",
    "creators": "creatorID INTEGER PRIMARY KEY, firstName TEXT, lastName TEXT, fieldMode INT, "
    "UNIQUE (lastName, firstName, fieldMode)",
    "itemCreators": "itemID INT, creatorID INT, creatorTypeID INT, orderIndex INT, "
    "PRIMARY KEY (itemID, creatorID, creatorTypeID, orderIndex)",
    "collections": "collectionID INTEGER PRIMARY KEY, collectionName TEXT, parentCollectionID INT, "
    "clientDateModified TIMESTAMP, libraryID INT, key TEXT, version INT, synced INT, UNIQUE (libraryID, key)",
    "collectionItems": "collectionID INT, itemID INT, orderIndex INT, PRIMARY KEY (collectionID, itemID)",
    "deletedItems": "itemID INTEGER PRIMARY KEY, dateDeleted",
    "deletedCollections": "collectionID INTEGER PRIMARY KEY, dateDeleted",
}
"""Names and columns as Zotero has them."""
ALPHABET = "23456789ABCDEFGHIJKLMNPQRSTUVWXYZ"
"""Of Zotero's keys."""


class Zotero:
    """A data folder that is filled item by item."""

    def __init__(self, folder: Path, version: int = 125) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.db = sqlite3.connect(folder / "zotero.sqlite")
        for table, columns in TABLES.items():
            self.db.execute(f"CREATE TABLE {table} ({columns})")
        self.db.execute("INSERT INTO version VALUES ('userdata', ?)", [version])
        self.db.execute("INSERT INTO libraries VALUES (1, 'user', 1, 1)")
        self._numbers = itertools.count(1)
        self.keys: dict[int, str] = {}

    def item(self, kind: str, *, library: int = 1, authors: Sequence[tuple[str, str]] = (), role: str = "author",
             collections: Sequence[int] = (), tags: Sequence[str] = (), **fields: str) -> int:  # fmt: skip
        """Add an item with its fields, by Zotero's names; its number."""
        number = next(self._numbers)
        self.keys[number] = "".join(ALPHABET[(number // 33**place) % 33] for place in range(8))
        self.db.execute(
            "INSERT INTO items VALUES (?, ?, '2024-01-01 10:00:00', '2024-01-01 10:00:00', '', ?, ?, 0, 1)",
            [number, self._name("itemTypes", kind), library, self.keys[number]],
        )
        for name, value in fields.items():
            self.set_field(number, name, value)
        for place, (first, last) in enumerate(authors):
            mode = 0 if first else 1
            self.db.execute("INSERT OR IGNORE INTO creators VALUES (NULL, ?, ?, ?)", [first, last, mode])
            (creator,) = self.db.execute(
                "SELECT creatorID FROM creators WHERE (firstName, lastName, fieldMode) = (?, ?, ?)", [first, last, mode]
            ).fetchone()
            self.db.execute(
                "INSERT INTO itemCreators VALUES (?, ?, ?, ?)",
                [number, creator, self._name("creatorTypes", role), place],
            )
        for collection in collections:
            self.db.execute("INSERT INTO collectionItems VALUES (?, ?, 0)", [collection, number])
        for tag in tags:
            self.tag(number, tag)
        return number

    def set_field(self, item: int, name: str, value: str) -> None:
        """Give an item's field a value."""
        self.db.execute("INSERT OR IGNORE INTO itemDataValues (value) VALUES (?)", [value])
        (number,) = self.db.execute("SELECT valueID FROM itemDataValues WHERE value = ?", [value]).fetchone()
        field = self._name("fields", name)
        self.db.execute("INSERT OR REPLACE INTO itemData VALUES (?, ?, ?)", [item, field, number])

    def tag(self, item: int, name: str) -> None:
        """Give an item a tag."""
        self.db.execute("INSERT OR IGNORE INTO tags (name) VALUES (?)", [name])
        self.db.execute("INSERT INTO itemTags SELECT ?, tagID, 0 FROM tags WHERE name = ?", [item, name])

    def untag(self, item: int, name: str) -> None:
        """Take a tag off an item."""
        self.db.execute("DELETE FROM itemTags WHERE itemID = ? AND tagID = (SELECT tagID FROM tags WHERE name = ?)",
                        [item, name])  # fmt: skip

    def collection(self, name: str, above: int | None = None, library: int = 1) -> int:
        """Add a collection; its number."""
        number = next(self._numbers)
        row = [number, name, above, library, f"C{number:07}"]
        self.db.execute("INSERT INTO collections VALUES (?, ?, ?, '', ?, ?, 0, 1)", row)
        return number

    def group(self, number: int, name: str) -> int:
        """Add a group library; the number of the library."""
        library = 100 + number
        self.db.execute("INSERT INTO libraries VALUES (?, 'group', 1, 1)", [library])
        self.db.execute("INSERT INTO groups VALUES (?, ?, ?, '', 1)", [number, library, name])
        return library

    def attach(self, parent: int | None, name: str, *, library: int = 1, how: int = 0,
               content: str = "application/pdf", path: str = "", **fields: str) -> tuple[int, Path]:  # fmt: skip
        """Add an attachment; its number, and where its file belongs."""
        number = self.item("attachment", library=library, **fields)
        stored = path or f"storage:{name}"
        row = [number, parent, how, content, stored]
        self.db.execute("INSERT INTO itemAttachments VALUES (?, ?, ?, ?, NULL, ?, 0, NULL, NULL, NULL)", row)
        folder = self.folder / "storage" / self.keys[number]
        if not path:
            folder.mkdir(parents=True, exist_ok=True)
        return number, folder / name

    def annotate(self, attachment: int, page: int, text: str, comment: str = "") -> int:
        """Add a highlight on a page, from 1; its number."""
        number = self.item("annotation")
        position = json.dumps({"pageIndex": page - 1, "rects": [[72, 500, 300, 512]]})
        row = [number, attachment, text, comment, str(page), f"{page:05}|000100|00100", position]
        self.db.execute("INSERT INTO itemAnnotations VALUES (?, ?, 1, '', ?, ?, '#ffd400', ?, ?, ?, 0)", row)
        return number

    def note(self, parent: int, html: str) -> int:
        """Add a note to an item; its number."""
        number = self.item("note")
        self.db.execute("INSERT INTO itemNotes VALUES (?, ?, ?, '')", [number, parent, html])
        return number

    def trash(self, item: int) -> None:
        """Put an item into the trash."""
        self.db.execute("INSERT INTO deletedItems VALUES (?, '2024-02-02')", [item])

    def save(self) -> None:
        """Commit what was added."""
        self.db.commit()

    def _name(self, table: str, name: str) -> int:
        """The number of a type, a field or a role, which is added where it is new."""
        number, text = {
            "itemTypes": ("itemTypeID", "typeName"),
            "fields": ("fieldID", "fieldName"),
            "creatorTypes": ("creatorTypeID", "creatorType"),
        }[table]
        found = self.db.execute(f"SELECT {number} FROM {table} WHERE {text} = ?", [name]).fetchone()
        if found is None:
            found = (self.db.execute(f"INSERT INTO {table} ({text}) VALUES (?)", [name]).lastrowid,)
        return int(found[0])
