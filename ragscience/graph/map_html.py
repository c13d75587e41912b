"""The map as one HTML file without network access: data, style and script are embedded.

Nothing of a paper can become markup: all texts are JSON in a script element that the browser does not run, with "<"
escaped, and the script only sets them as text. A Content-Security-Policy allows only that one script to run,
and nothing to be fetched.
"""

import base64
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import quote

from ragscience.core.errors import RagScienceError, UsageError
from ragscience.core.serialization import SCHEMA_VERSION, to_json
from ragscience.graph.paper_map import MapDrawing
from ragscience.library.atomic_files import check_place, has_mark

MADE_HERE = b"made by RAG Science: query.py map"
"""Marker in the first bytes of each map file: such a file may be replaced."""
_PARTS = Path(__file__).with_name("map_page")
_ESCAPED = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}


def check_target(target: Path, *, force: bool) -> None:
    """Raise UsageError unless `target` is a new file, an existing map, or any file with `force`."""
    check_place(target)
    if not force and target.exists() and not has_mark(target, MADE_HERE):
        raise UsageError(f"{target} exists and is not a map.", "Choose another name, or replace it with --force.")


@dataclass(frozen=True, slots=True)
class ServedMap:
    """The map of one state of the library, without a path of this machine."""

    state: str
    """Changes with the papers and with the graph."""
    page: bytes
    """HTML; its links are `/#paper=MD5&page=N`."""
    policy: str
    """The Content-Security-Policy that the page needs: its one script and style by their hashes, nothing else."""
    data: bytes
    """JSON: `nodes`, `edges` (with indices of nodes), `left_out`, and `papers`: the MD5 of each file."""


def served_page(state: str, drawing: MapDrawing, md5: Mapping[str, str]) -> ServedMap:
    """The map of that state for a server; `md5` has that of each file."""
    page = map_page(drawing, {file: f"/#paper={one}" for file, one in md5.items()})
    data = {"schema": SCHEMA_VERSION, "nodes": drawing.nodes, "edges": drawing.edges}
    shown = to_json(data | {"left_out": drawing.left_out, "papers": md5})
    return ServedMap(state, page, map_policy(), shown.encode())


def file_link(path: str, target: Path, home: Path) -> str:
    """A link from the page `target` to a PDF, percent-encoded; empty for a path that is not absolute.

    Relative where both lie in the home, so that it holds when the home is moved, otherwise `file://…`.
    """
    place, folder, root = Path(path), target.absolute().parent.resolve(), home.resolve()
    if place.is_relative_to(root) and folder.is_relative_to(root):
        return "./" + quote(os.fsencode(Path(os.path.relpath(place, folder)).as_posix()))
    return place.as_uri() if place.is_absolute() else ""


def map_page(drawing: MapDrawing, links: Mapping[str, str]) -> bytes:
    """The page, as UTF-8; `links` has each file's link, to which `#page=N` is added, or `&page=N` if it has a "#".

    Raises RagScienceError if a template is missing.
    """
    page, style, script = _parts()
    filled = {
        "{{made}}": MADE_HERE.decode(),
        "{{policy}}": map_policy(),
        "{{style}}": style,
        "{{script}}": script,
        "{{data}}": _data(drawing, links),
    }
    # The data last: a paper's text must not be mistaken for a placeholder.
    for mark, text in filled.items():
        page = page.replace(mark, text, 1)
    return page.encode("utf-8")


def map_policy() -> str:
    """The Content-Security-Policy of the page: its own script and style by their hashes, and nothing is fetched.

    Raises RagScienceError if a template is missing.
    """
    _, style, script = _parts()
    hashes = f"style-src '{_hash(style)}'; script-src '{_hash(script)}'"
    return f"default-src 'none'; {hashes}; base-uri 'none'; form-action 'none'"


def _parts() -> tuple[str, str, str]:
    """The page, its style and its script."""
    try:
        page, style, script = (_PARTS.joinpath(name).read_text("utf-8") for name in ("map.html", "map.css", "map.js"))
    except OSError as error:
        raise RagScienceError(
            f"{error.filename} cannot be read: {error.strerror}.", "Reinstall RAG Science."
        ) from error
    return page, style, script


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _data(drawing: MapDrawing, links: Mapping[str, str]) -> str:
    """The drawing as JSON without "<", ">" and "&": nothing in it ends a script element or begins a comment.

    Left out is what reorders or hides text.
    """
    text = json.dumps({**asdict(drawing), "links": links}, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return "".join(filter(str.isprintable, text)).translate(_ESCAPED)
