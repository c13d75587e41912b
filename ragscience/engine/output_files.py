"""The names of files to write: one that ends as files of another form do is refused."""

from __future__ import annotations

from pathlib import Path

from ragscience.core.errors import UsageError

__all__ = ["BIBTEX", "CSL", "JSON", "JSON_LINES", "MARKDOWN", "check_form"]

BIBTEX = ("BibTeX", ".bib", ".bibtex", ".txt")
"""What the file is, and the endings that fit it, the usual one first."""
CSL = ("CSL-JSON", ".json", ".txt")
JSON = ("JSON", ".json", ".txt")
JSON_LINES = ("one JSON object a line", ".jsonl", ".json", ".ndjson", ".txt")
MARKDOWN = ("Markdown", ".md", ".markdown", ".txt")
PDF = ("a PDF", ".pdf")

_KNOWN = {".docx", ".graphml", ".htm", ".html"}.union(*(form[1:] for form in (BIBTEX, JSON_LINES, MARKDOWN, PDF)))


def check_form(target: Path | None, form: tuple[str, ...]) -> None:
    """Raise UsageError where the name of `target` ends as files of another form do; None and other endings are fine.

    `form` is what the file will be, and the endings that fit it.
    """
    what, *endings = form
    if target is not None and target.suffix.lower() in _KNOWN.difference(endings):
        usual = target.with_suffix(endings[0]).name
        raise UsageError(f"The file is {what}, and {target.name!r} ends in {target.suffix}.", f"Call it {usual!r}.")
