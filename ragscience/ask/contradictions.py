"""Whether a sentence is a page's own, but for what matters: another number, another name, a "not" more or less."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from ragscience.ask.claim_facts import antonyms_of, is_negator, is_same_number

__all__ = ["is_altered"]

_NEARLY_VERBATIM = 0.6
"""Share of a sentence's words that must be on the page in the same order, before differences mean anything."""
_LONGEST = 300
"""Words: a longer text is not a sentence."""
_OFTEN = 30
"""A word that occurs more often does not locate anything."""
_MARGIN = 3
"""Words: a claim may leave out or put in a few before the page is another place."""


@dataclass(frozen=True, slots=True)
class _Difference:
    """Words of the page that differ in the claim."""

    gone: Sequence[str]
    new: Sequence[str]
    at: int
    """Where in the claim."""
    inside: bool
    """Whether the words before and behind it are the same."""


def is_altered(
    claim: Sequence[str], page: Sequence[str], claim_names: Collection[str], page_names: Collection[str]
) -> bool:
    """Whether `claim` follows `page` word for word and differs in a number, a name, a denial or a comparison.

    Words as `words_of` gives them. A number that has changed places with another counts as well, and so does a name.
    False for a sentence that says it in its own words.
    """
    if len(claim) > _LONGEST:
        return False
    page = _alongside(claim, page)
    differences = _differences(claim, page)
    if any(_changes(each, claim_names, page_names) for each in differences):
        return True
    denies_otherwise = sum(map(is_negator, claim)) != sum(map(is_negator, page))
    return any(
        (each.inside and denies_otherwise and any(map(is_negator, (*each.gone, *each.new))))
        or _moved(each, differences, claim, claim_names)
        for each in differences
    )


def _changes(each: _Difference, claim_names: Collection[str], page_names: Collection[str]) -> bool:
    """Whether another number, another name, or the opposite is in the same place."""
    gone, new = set(each.gone), set(each.new)
    numbers_gone, numbers_new = ({word for word in words if word[0].isdigit()} for words in (gone, new))
    if numbers_gone and any(not any(is_same_number(n, other) for other in numbers_gone) for n in numbers_new):
        return True
    names_gone, names_new = gone & set(page_names), new & set(claim_names)
    return bool((names_gone - new and names_new - gone) or any(antonyms_of(word) & gone for word in new))


def _moved(each: _Difference, all_of_them: Sequence[_Difference], claim: Sequence[str], names: Collection[str]) -> bool:
    """Whether a number that is new here was taken from behind another number, or a name from behind another name."""
    for i, word in enumerate(each.new, each.at):
        is_number = word[0].isdigit()
        if not is_number and word not in names:
            continue
        for other in all_of_them:
            if word in other.gone:
                between = claim[min(i, other.at) : max(i, other.at) + 1]
                if any(w != word and (w[0].isdigit() if is_number else w in names) for w in between):
                    return True
    return False


def _differences(claim: Sequence[str], page: Sequence[str]) -> list[_Difference]:
    """Where `claim` leaves `page`; empty where it doesn't follow it, or does so to the letter."""
    steps = SequenceMatcher(None, page, claim, autojunk=False).get_opcodes()
    same = sum(j2 - j1 for tag, _, _, j1, j2 in steps if tag == "equal")
    if not claim or same < _NEARLY_VERBATIM * len(claim):
        return []
    found = []
    for i, (tag, i1, i2, j1, j2) in enumerate(steps):
        if tag == "equal":
            continue
        gone, new = list(page[i1:i2]), list(claim[j1:j2])
        first, last = i == 0, i == len(steps) - 1
        if first or last:  # page and claim continue differently: compare only the word next to the common ones
            gone, new = (gone[-1:], new[-1:]) if first else (gone[:1], new[:1])
        found.append(_Difference(gone, new, j2 - len(new) if first else j1, not first and not last))
    return found


def _alongside(claim: Sequence[str], page: Sequence[str]) -> Sequence[str]:
    """The words of the page along the claim when most of them match, with a margin at either end."""
    places: dict[str, list[int]] = {}
    for i, word in enumerate(page):
        places.setdefault(word, []).append(i)
    shifts = Counter(i - j for j, word in enumerate(claim) for i in places.get(word, ())[:_OFTEN])
    if not shifts:
        return ()
    shift = max(shifts, key=lambda each: (shifts[each], -each))
    return page[max(0, shift - _MARGIN) : shift + len(claim) + _MARGIN]
