"""What is taken out of a PDF's text, what counts as illegible, and which titles are worth showing."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["clean_text", "illegible_share", "printable_name", "sensible_title"]

_LINE_ENDS = re.compile("\r\n?")
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""C0 and C1 controls but tab and newline, and surrogates, which no encoding can write."""
_ILLEGIBLE = re.compile("[\ufffd\ue000-\uf8ff\U000f0000-\U0010ffff]")
"""The replacement character and the three private use areas."""

_LONGEST_TITLE = 300
_PLACEHOLDER = re.compile(
    r"""untitled | no\ title | title$ | unknown$ | none$ | document\d*$ | presentation\d*$
    | microsoft\ (word|powerpoint|excel)\b | powerpoint\ presentation | (layout|slide)\ ?\d*$
    | doi\b | arxiv: | https?:""",
    re.IGNORECASE | re.VERBOSE,
)
_FILE_NAME = re.compile(r"\S*_\S*|.*\.(pdf|dvi|ps|eps|tex|docx?|pptx?|odt|rtf|txt|html?|indd|qxd|fm)", re.IGNORECASE)


def clean_text(text: str) -> str:
    """The text with line ends as newlines and each control character or lone surrogate as U+FFFD.

    A control character in a PDF's text is a glyph whose font has no Unicode value for it: U+FFFD says so, does not
    reach a terminal as a command, and keeps every other character where it was (but for the carriage return of a pair).
    """
    return _UNPRINTABLE.sub("\ufffd", _LINE_ENDS.sub("\n", text))


def illegible_share(text: str) -> float:
    """The share of a cleaned text's visible characters that no one can read, from 0 to 1; 0 for blank text."""
    visible = sum(map(len, text.split()))
    return len(_ILLEGIBLE.findall(text)) / visible if visible else 0.0


def sensible_title(raw: str | None) -> str:
    """A title from a PDF's metadata on one line, or "" where it is a placeholder, a file's name or an identifier."""
    title = " ".join(clean_text(raw or "").split())
    if not any(character.isalpha() for character in title) or len(title) > _LONGEST_TITLE or "\ufffd" in title:
        return ""
    if _PLACEHOLDER.match(title) or _FILE_NAME.fullmatch(title):
        return ""
    return title


def printable_name(path: Path) -> str:
    """The file's name as it can be shown on one line, whatever bytes the file system allowed in it."""
    return clean_text(path.name).replace("\n", "\ufffd") or str(path)
