"""Parses filters from options, script lines and `/filter`, and formats Filters as text."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Sequence
from dataclasses import replace

from ragscience.core.errors import UsageError
from ragscience.core.records import Filters

__all__ = ["KINDS", "described", "filters_of", "joined", "refiltered", "year_range"]

KINDS = ("text", "abstract", "table", "caption", "equation", "footnote", "reference", "all")
"""What a passage can be, and "all", which has the references too."""

_YEAR = re.compile(r"(\d{4})?(?:\s*([-–])\s*(\d{4})?)?")
_FIRST, _LAST = 1, 9999
_HOW = "Write /filter section=method kind=table year=2015-2020 author=vaswani, or /filter off."
_NAMES = ("paper", "section", "kind", "year", "author")


def filters_of(
    *,
    papers: Sequence[str] | None = None,
    pages: tuple[int, int] | None = None,
    sections: Sequence[str] | None = None,
    kinds: Sequence[str] | None = None,
    years: str | None = None,
    authors: Sequence[str] | None = None,
) -> Filters:
    """The filters from options. Raises UsageError for an unknown kind, an invalid year, or blanks only."""
    return Filters(
        papers=tuple(papers or ()),
        pages=pages,
        kinds=tuple(_kind(kind) for kind in kinds or ()),
        sections=tuple(_filled(part, "section") for part in sections or ()),
        years=None if years is None else year_range(years),
        authors=tuple(_filled(part, "author") for part in authors or ()),
    )


def _kind(text: str) -> str:
    kind = text.strip().casefold()
    if kind not in KINDS:
        near = difflib.get_close_matches(kind, KINDS, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise UsageError(f"There is no kind {text!r}.{hint}", f"The kinds are {', '.join(KINDS)}.")
    return kind


def _filled(text: str, name: str) -> str:
    if not text.strip():
        raise UsageError(f"The {name} to keep to is empty.", f"Give a part of its name, or leave --{name} out.")
    return text.strip()


def year_range(text: str) -> tuple[int, int]:
    """`2017`, `2015-2020`, `2015-` or `-2020` as first and last year, inclusive. Raises UsageError."""
    match = _YEAR.fullmatch(text.strip())
    first, dash, last = match.groups() if match else (None, None, None)
    if first or last:
        low = int(first) if first else _FIRST
        high = (int(last) if last else _LAST) if dash else low
        if low <= high:
            return low, high
    raise UsageError(f"{text!r} is no year and no range of years.", "Write `--year 2017` or `--year 2015-2020`.")


def joined(general: Filters, own: Filters) -> Filters:
    """The filters of a whole run with those of one question of it: lists together, its own pages and years first."""
    return Filters(
        papers=(*general.papers, *own.papers),
        pages=own.pages or general.pages,
        kinds=(*general.kinds, *own.kinds),
        sections=(*general.sections, *own.sections),
        years=own.years or general.years,
        authors=(*general.authors, *own.authors),
    )


def described(filters: Filters) -> str:
    """The filters as `/filter` takes them: `section=method year=2015-2020`; empty without filters."""
    parts = [
        f"{name}={shlex.quote(value)}"
        for name, values in (
            ("paper", filters.papers),
            ("section", filters.sections),
            ("kind", filters.kinds),
            ("author", filters.authors),
        )
        for value in values
    ]
    if filters.pages:
        first, last = filters.pages
        parts.append(f"pages={first}" if first == last else f"pages={first}-{last}")
    if filters.years:
        parts.append(f"year={_years(*filters.years)}")
    return " ".join(parts)


def _years(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first if first > _FIRST else ''}-{last if last < _LAST else ''}"


def refiltered(filters: Filters, typed: str) -> Filters:
    """The filters after `/filter typed`: each name that is given replaces what it was, an empty value clears it.

    `off` clears everything. Raises UsageError for an unknown name or an invalid value.
    """
    try:
        words = shlex.split(typed)
    except ValueError:
        raise UsageError(f"A quote in {typed!r} is not closed.", _HOW) from None
    if words == ["off"]:
        return Filters()
    given: dict[str, list[str]] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or name not in _NAMES:
            raise UsageError(f"{word!r} is no filter.", _HOW)
        given.setdefault(name, []).extend([value] if value.strip() else [])
    years = given.get("year", [])
    if len(years) > 1:
        raise UsageError("There are two years.", "Write them as one range: year=2015-2020.")
    made = filters_of(
        papers=given.get("paper"),
        sections=given.get("section"),
        kinds=given.get("kind"),
        years=years[0] if years else None,
        authors=given.get("author"),
    )
    fields = {"paper": "papers", "section": "sections", "kind": "kinds", "year": "years", "author": "authors"}
    return replace(filters, **{fields[name]: getattr(made, fields[name]) for name in given})
