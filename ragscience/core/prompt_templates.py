"""Prompt templates that a person may write: what each must have in braces, and where the text comes from."""

from __future__ import annotations

from pathlib import Path
from string import Formatter

__all__ = ["TEMPLATE_PLACEHOLDERS", "checked_template"]

TEMPLATE_PLACEHOLDERS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "answer_rules": (frozenset(), frozenset({"refusal"})),
    "condense_prompt": (frozenset({"chat_history", "question"}), frozenset()),
}
"""What a prompt template must have, and what else it may have, in braces."""
LARGEST_TEMPLATE_BYTES = 100_000


def checked_template(value: str, required: frozenset[str], allowed: frozenset[str]) -> str:
    """The text of a prompt template, of `@FILE` the file's; ValueError where its placeholders are not those."""
    text = value
    if value.startswith("@"):
        path = Path(value[1:]).expanduser()
        try:
            with path.open("rb") as file:
                text = file.read(LARGEST_TEMPLATE_BYTES + 1).decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = "is not UTF-8" if isinstance(error, UnicodeDecodeError) else error.strerror
            raise ValueError(f"the file {path} cannot be read ({reason})") from None
        if not text.strip():
            raise ValueError(f"the file {path} is empty")
    if len(text.encode()) > LARGEST_TEMPLATE_BYTES:
        raise ValueError(f"it is longer than {LARGEST_TEMPLATE_BYTES} bytes")
    if not text.strip():
        return ""
    try:
        parts = [(name, spec, how) for _, name, spec, how in Formatter().parse(text) if name is not None]
    except ValueError as error:
        raise ValueError(f"{str(error).lower()}: write a literal brace twice") from None
    names = {name for name, _, _ in parts}
    unknown = sorted(names - allowed) or [name for name, spec, how in parts if spec or how]
    if unknown:
        known = ", ".join(f"{{{name}}}" for name in sorted(allowed)) or "none"
        raise ValueError(f"it has {{{unknown[0]}}} in it, and may only have {known}; write a literal brace twice")
    missing = sorted(required - names)
    if missing:
        raise ValueError(f"it lacks {{{missing[0]}}}")
    return text
