"""The acronyms that a text defines: "long short-term memory (LSTM)"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragscience.core.tokenizing import STOP_WORDS

_IN_PARENTHESES = re.compile(r"\s\(([^()]{2,80})\)")
_SHORT = re.compile(r"[A-Za-z][A-Za-z0-9\-/&]{1,9}")
_MAY_PRECEDE = re.compile(r"[.;:,()\[\]|]")
_NEVER = frozenset("fig eq sec ie eg iii vi vii viii usa uk us eu phd et-al arxiv pdf url".split())  # noqa: SIM905
"""What stands in parentheses with capitals and abbreviates nothing that a paper introduces."""
_NOT_FIRST = STOP_WORDS | frozenset("one two three many several like via per another every even first second".split())  # noqa: SIM905
_NOWHERE = frozenset({"the", "is", "are", "we", "that", "this", "was"})


def short_forms(text: str) -> Iterator[tuple[str, str]]:
    """(short, long) as defined in a text on one line, in order: "long short-term memory (LSTM)", "LSTM (long …)".

    After A. S. Schwartz, M. A. Hearst, "A simple algorithm for identifying abbreviation definitions in biomedical
    text", Pacific Symposium on Biocomputing 2003, section 3: the letters of the short form are found in the long one
    from the right; its first letter begins a word there.
    """
    for match in _IN_PARENTHESES.finditer(text):
        before, inside = text[: match.start()], re.split(r"[;,]", match.group(1))[0].strip()
        if _is_short(inside):
            words = _MAY_PRECEDE.split(before)[-1].split()[-min(len(inside) + 5, 2 * len(inside)) :]
            long = _long_form(inside, " ".join(words))
        else:
            inside, swapped = before.split()[-1] if before.split() else "", match.group(1).strip()
            long = _long_form(inside, swapped) if _is_short(inside) else ""
            long = long if long == swapped else ""
        short = inside.removesuffix("s") if inside[-2:-1].isupper() else inside
        if long and _is_term(short, long):
            yield short, long


def _is_short(text: str) -> bool:
    return bool(_SHORT.fullmatch(text)) and sum(c.isupper() for c in text) >= 2 and text.casefold() not in _NEVER


def _is_term(short: str, long: str) -> bool:
    words = [word.casefold() for word in long.split()]
    return (
        2 <= len(words) <= len(short) + 2
        and not _NOWHERE.intersection(words)
        and words[0] not in _NOT_FIRST
        and not any(character.isdigit() for character in long)
        and short.casefold() not in words
    )


def _long_form(short: str, text: str) -> str:
    """The end of `text` that `short` abbreviates, or nothing."""
    letters = [c for c in short.removesuffix("s" if short[-2:-1].isupper() else "").casefold() if c.isalnum()]
    folded, at = text.casefold(), len(text)
    for place in range(len(letters) - 1, -1, -1):
        at -= 1
        while at >= 0 and (folded[at] != letters[place] or (place == 0 and at > 0 and folded[at - 1].isalnum())):
            at -= 1
        if at < 0:
            return ""
    long = " ".join(text[at:].split()).strip(" .,;:\"'“”‘’*")
    return long if long.count(" ") < 8 else ""
