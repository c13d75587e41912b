"""Replies in JSON. None of them names a folder of the machine: clients need not know where a library lies."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from pwd import getpwuid
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from ragscience.core.serialization import SCHEMA_VERSION, to_json

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send


__all__ = ["JsonReply", "json_reply", "of", "record_reply", "without_folders", "words_without_folders"]

_MESSAGES = frozenset(
    ("detail", "embedder", "error", "fix", "llm", "message", "notes", "remedy", "reranker", "warning", "warnings")
)
"""Keys of what the program says, and of models, which may be folders; the words of papers and answers stay."""
_FOLDERS = re.compile(r"(?<![\w/.:~])(?!/(?:api|v1)/)/(?:[^\s/'\"`]{1,255}+/){1,60}+(?=[^\s/])")
"""The folders of a full path, but for those of this server's routes."""


class JsonReply(Response):
    """A record as JSON, as `--json` prints it, but for the folders in it."""

    media_type = "application/json"

    def __init__(self, value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(None, status, headers)
        self.value = value

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it; what is sent depends on the home that is served."""
        home = scope["app"].state.shared.engine.home.root
        self.body = to_json(without_folders(self.value, home)).encode()
        self.headers["content-length"] = str(len(self.body))
        await super().__call__(scope, receive, send)


def json_reply(value: object, status: int = 200) -> Response:
    """The reply with that record."""
    return JsonReply(value, status)


def record_reply(*parts: Mapping[str, object], **more: object) -> Response:
    """The reply with these fields, and the version of the schema."""
    value = {"schema": SCHEMA_VERSION}
    for part in (*parts, more):
        value |= part  # type: ignore[arg-type]
    return JsonReply(value)


def of(record: object, names: str) -> dict[str, Any]:
    """These attributes of a record, by their names."""
    return {name: getattr(record, name) for name in names.split()}


def without_folders(value: Any, home: Path, key: str = "") -> Any:
    """The record as plain JSON values: `path` within papers/, else the file's name alone, and no folder in messages.

    `key` is the name that the value has in the record around it.
    """
    if value is None or isinstance(value, int | float):  # most values: the numbers of boxes
        return value
    if isinstance(value, str):
        if key == "path":
            return _within_papers(value, home)
        return words_without_folders(value, home) if key in _MESSAGES else value
    if hasattr(value, "__dataclass_fields__"):
        value = {name: getattr(value, name) for name in value.__dataclass_fields__}
    if isinstance(value, Mapping):
        return {name: without_folders(each, home, str(name)) for name, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        every = sorted(value) if isinstance(value, set | frozenset) else value
        return [without_folders(each, home, key) for each in every]
    return _within_papers(os.fspath(value), home) if isinstance(value, os.PathLike) else value


def words_without_folders(text: str, home: Path) -> str:
    """A message with the home's files by their path within it, and others by their names."""
    for folder in (*_roots(home), getpwuid(os.getuid()).pw_dir):
        if folder != "/":
            text = text.replace(f"{folder}/", "").replace(folder, "the home")
    return _FOLDERS.sub("", text)


def _within_papers(path: str, home: Path) -> str:
    for root in _roots(home):
        papers = os.path.join(root, "papers", "")  # noqa: PTH118  # with a separator at its end
        if path.startswith(papers):
            return path[len(papers) :]
    return path.rpartition("/")[2]


def _roots(home: Path) -> tuple[str, ...]:
    return os.path.abspath(home), os.path.realpath(home)  # noqa: PTH100  # as paths are kept, and as they are read
