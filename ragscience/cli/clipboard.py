"""Puts text on the clipboard: by a program of the desktop, else through the terminal itself."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping

from ragscience.core.errors import RagScienceError
from ragscience.core.records import Answer
from ragscience.engine.printable import one_line, plain
from ragscience.engine.source_list import section_of, sources_of

__all__ = ["answer_text", "copied"]

_PROGRAMS = (
    ("WAYLAND_DISPLAY", ("wl-copy",)),
    ("DISPLAY", ("xclip", "-selection", "clipboard")),
    ("DISPLAY", ("xsel", "--clipboard", "--input")),
    ("", ("pbcopy",)),
    ("", ("clip.exe",)),
)
"""The variable that says that there is a desktop, and the program that takes the text on its stdin."""
_MOST_OSC = 74_994
"""Bytes of base64 that terminals take at once."""
_SECONDS = 5.0


def answer_text(answer: Answer) -> str:
    """The answer with its numbered sources, as plain text."""
    lines = [plain(answer.text).strip()]
    sources = sources_of(answer) if answer.citations else []
    lines += ["", "Sources:"] if sources else []
    for source in sources:
        section = one_line(section_of(answer, source))
        lines.append(f"[{source.number}] {one_line(source.file)}, p.{source.page}{f' · {section}' if section else ''}")
    return "\n".join(lines) + "\n"


def copied(text: str, environment: Mapping[str, str] = os.environ) -> str:
    """Copy it; what to say of it. Raises RagScienceError where there is no way to."""
    for variable, command in _PROGRAMS:
        is_there = (not variable or environment.get(variable)) and shutil.which(command[0])
        if is_there and _given_to(command, text):
            return f"Copied to the clipboard with {command[0]}."
    encoded = base64.b64encode(text.encode()).decode()
    if sys.stdout.isatty() and environment.get("TERM", "dumb") != "dumb" and len(encoded) <= _MOST_OSC:
        sys.stdout.write(f"\x1b]52;c;{encoded}\a")
        sys.stdout.flush()
        return "Copied through the terminal (OSC 52). If nothing is pasted, your terminal forbids it: use /save FILE."
    raise RagScienceError(
        "No clipboard is available.", "Install wl-copy, xclip or xsel, or write a file: /save notes.md"
    )


def _given_to(command: tuple[str, ...], text: str) -> bool:
    """Whether the program took the text; xclip and wl-copy go on in the background and keep it."""
    encoded = text.encode("utf-16") if command[0] == "clip.exe" else text.encode()
    try:
        done = subprocess.run(  # noqa: S603  # one of _PROGRAMS
            command, input=encoded, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
