"""The map as one HTML file without network access: data, style and script are embedded.

Nothing of a paper can become markup: all texts are JSON in a script element that the browser does not run, with "<"
escaped, and the script only sets them as text. A Content-Security-Policy allows only that one script to run,
and nothing to be fetched.
"""

from __future__ import annotations

import base64
import hashlib
import json
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ragscience.errors import RagScienceError, UsageError
from ragscience.graph.map_data import Evidence, View
from ragscience.store.atomic_files import disk_errors, write_atomically

__all__ = ["MADE_HERE", "check_target", "map_page", "write_file"]

MADE_HERE = b"made by RAG Science: query.py map"
"""Marker in the first bytes of each map file: such a file may be replaced."""
_LOOKED_AT = 400
_PARTS = Path(__file__).with_name("map_page")
_ESCAPED = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}


def check_target(target: Path, *, force: bool) -> None:
    """Raise UsageError unless `target` is a new file, an existing map, or any file with `force`."""
    if not target.parent.is_dir():
        raise UsageError(f"There is no folder {target.parent} for the map.", "Make it first.")
    if target.is_dir():
        raise UsageError(f"{target} is a folder.", "Give the name of a file to write.")
    if force or not target.exists():
        return
    with disk_errors(target), target.open("rb") as file:
        ours = MADE_HERE in file.read(_LOOKED_AT)
    if not ours:
        raise UsageError(f"{target} is there and no map of ours.", "Give a name that is free, or --force.")


def write_file(target: Path, content: bytes) -> None:
    """Write the file atomically. Raises RagScienceError where the write fails."""
    with disk_errors(target):
        write_atomically(target, content)


def map_page(views: Sequence[View]) -> bytes:
    """The page, as UTF-8. Raises RagScienceError if a part of the program is missing."""
    try:
        page, style, script = (_PARTS.joinpath(name).read_text("utf-8") for name in ("map.html", "map.css", "map.js"))
    except OSError as error:
        raise RagScienceError(
            f"{error.filename} cannot be read: {error.strerror}.", "Reinstall RAG Science."
        ) from error
    filled = {
        "{{made}}": MADE_HERE.decode(),
        "{{policy}}": f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'"
        "; form-action 'none'",
        "{{style}}": style,
        "{{script}}": script,
        "{{data}}": _data(views),
    }
    # The data last: a paper's text must not be mistaken for a placeholder.
    for mark, text in filled.items():
        page = page.replace(mark, text, 1)
    return page.encode("utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _data(views: Sequence[View]) -> str:
    """The views as JSON in ASCII without "<", ">" and "&": nothing in it ends a script element or begins a comment."""
    files: dict[str, int] = {}

    def quotes(evidence: Sequence[Evidence]) -> list[Any]:
        return [[files.setdefault(one.file, len(files)), one.page, _seen(one.text)] for one in evidence]

    def numbers(names: Sequence[str]) -> list[int]:
        return [files.setdefault(name, len(files)) for name in names]

    drawings = []
    for view in views:
        kinds = sorted({node.kind for node in view.nodes}), sorted({edge.kind for edge in view.edges})
        nodes = [
            [
                _seen(node.label),
                kinds[0].index(node.kind),
                *(round(value, 1) for value in (node.x, node.y, node.radius)),
                node.degree,
                [_seen(name) for name in node.names],
                _seen(node.fact),
                numbers(node.files),
                quotes(node.evidence),
                node.more,
            ]
            for node in view.nodes
        ]
        edges = [
            [edge.source, edge.target, kinds[1].index(edge.kind), round(edge.weight, 3), quotes(edge.evidence)]
            for edge in view.edges
        ]
        drawings.append(
            {"name": view.name, "kinds": kinds[0], "relations": kinds[1], "nodes": nodes, "edges": edges}
            | {"leftOut": view.left_out}
        )
    value = {"views": drawings, "files": [_seen(name) for name in files]}
    return json.dumps(value, allow_nan=False, separators=(",", ":")).translate(_ESCAPED)


def _seen(text: str) -> str:
    """The text on one line, without control characters and those that reorder or hide text."""
    kept = (" " if char.isspace() else char for char in text if char.isspace() or not _is_unseen(char))
    return "".join(kept)


def _is_unseen(char: str) -> bool:
    return unicodedata.category(char) in ("Cc", "Cf", "Cs")
