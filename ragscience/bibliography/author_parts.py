"""An author's name taken apart, as BibTeX and CSL want it."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Person", "person_of"]

_SUFFIX = re.compile(r"(?:Jr|Sr|II|III|IV)\.?", re.IGNORECASE)
_ORGANISATION = re.compile(
    r"\b(?:and|agency|association|authors?|board|center|centre|collaboration|collaborators|college|commission|"
    r"committee|company|consortium|corporation|council|department|foundation|group|hospital|inc|initiative|institute|"
    r"laboratories|laboratory|labs?|llc|ltd|ministry|network|of|office|organi[sz]ation|project|research|society|"
    r"taskforce|team|technologies|the|union|university|working)\b",
    re.IGNORECASE,
)

_NO_NAME = re.compile(r"[\\{}~^&%$#_\"]")


@dataclass(frozen=True, slots=True)
class Person:
    """Who wrote something. Either `literal` is filled, or `family` is."""

    family: str = ""
    given: str = ""
    particle: str = ""
    """ "van den" of "George van den Driessche"."""
    suffix: str = ""
    """ "Jr."."""
    literal: str = ""
    """An organisation, or a name of which nobody can tell the parts."""


def person_of(name: str) -> Person:
    """A name on one line, given name first, or as "Family, Given" or "Family, Jr., Given", taken apart.

    Words with a small letter between the others are a particle, as BibTeX has it. A single word stays whole, and so
    does a name with "and", with a word of organisations or with a sign that LaTeX takes for a command in it.
    """
    if _ORGANISATION.search(name) or _NO_NAME.search(name):
        return Person(literal=name)
    parts = [part.strip() for part in name.split(",")]
    if not all(parts):
        return Person(literal=name)
    if len(parts) == 2 and _SUFFIX.fullmatch(parts[1]):
        return _in_order(parts[0].split(), parts[1], name)
    if len(parts) == 2:
        return _family_first(parts[0], parts[1], "")
    if len(parts) == 3 and _SUFFIX.fullmatch(parts[1]):
        return _family_first(parts[0], parts[2], parts[1])
    if len(parts) > 1:
        return Person(literal=name)
    words = name.split()
    if len(words) > 2 and _SUFFIX.fullmatch(words[-1]):
        return _in_order(words[:-1], words[-1], name)
    return _in_order(words, "", name)


def _in_order(words: list[str], suffix: str, name: str) -> Person:
    if len(words) < 2:
        return Person(literal=name)
    small = [place for place, word in enumerate(words[1:-1], 1) if word[0].islower()]
    first, last = (small[0], small[-1] + 1) if small else (len(words) - 1, len(words) - 1)
    return Person(" ".join(words[last:]), " ".join(words[:first]), " ".join(words[first:last]), suffix)


def _family_first(family: str, given: str, suffix: str) -> Person:
    words = family.split()
    small = next((place for place, word in enumerate(words) if not word[0].islower()), len(words) - 1)
    return Person(" ".join(words[small:]), given, " ".join(words[:small]), suffix)
