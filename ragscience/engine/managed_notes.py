"""The text of a note that a person and this program both write.

Our blocks stand between marks, our fields in the front matter have names of ours; all else stays, byte for byte.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

Value = str | int | Sequence[str] | None
"""Of a field; one that is empty is left out."""
SHARED, OURS = "tags", "paper_tags"
"""The field that both write: what is there stays, and what is missing is added; and what we wrote into it last."""

_BEGINS = "<!-- ragscience"
_END = f"{_BEGINS}: end -->"
_MARK = re.compile(rf"^{_BEGINS}: (?:(end)|([a-z]+)((?: [\w-]+)+)) -->(?=[ \t]*\r?$)", re.MULTILINE)
_FRONT = re.compile(r"\A\ufeff?---[ \t]*\r?\n((?:.*\n)*?)---[ \t]*\r?$", re.MULTILINE)
_KEY = re.compile(r"[\"']?(\w+)[\"']?[ \t]*:(?=\s)")


class NoteDamaged(ValueError):
    """Why a note cannot be written without a risk for what a person wrote in it."""


def new_note(ids: Sequence[str], fields: Mapping[str, Value], blocks: Mapping[str, str]) -> str:
    """A note that is nobody's yet. `ids`, of letters, digits, - and _, tell later what it is about."""
    fields = {**fields, OURS: fields.get(SHARED)}
    front = "".join(_field(name, value) for name, value in fields.items() if value)
    return "\n\n".join([f"---\n{front}---", *(_block(name, ids, content) for name, content in blocks.items())]) + "\n"


def ids_in(text: str) -> list[str]:
    """What the note is about, also of a damaged one; empty for a note of another origin."""
    return [one for mark in _MARK.finditer(text) if mark[3] for one in mark[3].split()]


def rewritten(text: str, ids: Sequence[str], fields: Mapping[str, Value], blocks: Mapping[str, str]) -> str:
    """The note with our blocks and fields as they are now; blocks or a front matter that were taken out stay out.

    Raises NoteDamaged where what is ours cannot be told from what is not.
    """
    marks = [*_MARK.finditer(text)]
    pairs = [*zip(marks[::2], marks[1::2], strict=False)]
    names = {begin[2] for begin, end in pairs if begin[2] and end[1]}
    if len(marks) != text.count(_BEGINS) or len(names) * 2 != len(marks):
        raise NoteDamaged("a mark of ours is damaged, missing or there twice")
    for begin, end in reversed(pairs):
        old = text[begin.start() : end.end()]
        new = _block(begin[2], ids, blocks[begin[2]]) if begin[2] in blocks else old
        if new != old.replace("\r\n", "\n"):
            new = new.replace("\n", "\r\n") if "\r\n" in old else new
            text = text[: begin.start()] + new + text[end.end() :]
    return _with_fields(text, fields)


def _block(name: str, ids: Sequence[str], content: str) -> str:
    return "\n".join(filter(None, (f"{_BEGINS}: {name} {' '.join(ids)} -->", content.strip("\n"), _END)))


def _field(name: str, value: Value) -> str:
    """A line of YAML, of which JSON is a part; never with a mark of ours in it."""
    said = json.dumps(value, ensure_ascii=False).replace("<!", "\\u003c!")
    return f"{name}: {said}\n"


def _with_fields(text: str, fields: Mapping[str, Value]) -> str:
    if not text.removeprefix("\ufeff").startswith("---"):
        return text
    found = _FRONT.match(text)
    if found is None:
        raise NoteDamaged("its front matter has no end")
    inner, line_end = found[1], "\r\n" if "\r\n" in found[1] else "\n"
    before = _read(inner)
    wanted = {**fields, SHARED: _shared(before, fields[SHARED]), OURS: fields[SHARED]} if SHARED in fields else fields
    parts: list[tuple[str, str]] = []
    for line in inner.splitlines(keepends=True):
        key = _KEY.match(line)
        is_comment = line.lstrip().startswith("#")
        if key or is_comment or not parts or not parts[-1][0] or line[0] not in " \t-":
            parts.append((key[1] if key else "", line))
        else:
            parts[-1] = parts[-1][0], parts[-1][1] + line
    new = ""
    for name, old in parts:
        value = wanted.get(name)
        is_new = name in wanted and _said(before.get(name)) != _said(value)
        new += (_field(name, value).replace("\n", line_end) if value else "") if is_new else old
    there = [name for name, _ in parts if name in wanted]
    lacking = (_field(name, value) for name, value in wanted.items() if value and name not in there)
    new += "".join(lacking).replace("\n", line_end)
    after = {name: value for name, value in _read(new).items() if name not in wanted}
    if len({*there}) != len(there) or after != {name: value for name, value in before.items() if name not in wanted}:
        raise NoteDamaged("its front matter has a field twice, or in a form that is not known")
    return text[: found.start(1)] + new + text[found.end(1) :]


def _read(front: str) -> dict[str, Any]:
    import yaml

    try:
        read = yaml.load(front, yaml.BaseLoader)  # noqa: S506 - makes texts, lists and mappings alone
    except (yaml.YAMLError, RecursionError) as error:
        raise NoteDamaged("its front matter is no YAML") from error
    if read and not isinstance(read, dict):
        raise NoteDamaged("its front matter has no fields")
    return read or {}


def _said(value: object) -> object:
    """What tells whether two values say the same, however they are written."""
    return [*map(str, value)] if isinstance(value, list | tuple) else str(value or "")


def _shared(before: Mapping[str, object], ours: Value) -> Sequence[str]:
    """What is there but for what we wrote and is gone, and what is new."""
    there, last = before.get(SHARED), before.get(OURS)
    written = re.split(r"[,\s]+", there) if isinstance(there, str) else there
    now = [*map(str, ours)] if isinstance(ours, list | tuple) else []
    gone = {str(one) for one in last} - {*now} if isinstance(last, list) else set()
    found = [str(one) for one in written if one] if isinstance(written, list) else []
    return list(dict.fromkeys((*(one for one in found if one not in gone), *now)))
