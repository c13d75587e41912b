"""The passages of several searches become one list, in which each search has its share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ragscience.agent.query_planning import MOST_QUERIES
from ragscience.records import Found, Hit

__all__ = ["merged"]


LATER_SHARE = 4
"""One place in so many is for what later rounds have found."""


def merged(found: Sequence[Found], limit: int, *, first: int = MOST_QUERIES) -> tuple[Hit, ...]:
    """At most `limit` passages of all searches, each once, ranked from 1.

    The first search, that of the question itself, has as large a share as each of the others, which then take turns:
    the best of every search is there while `limit` is no smaller than their number. The `first` searches are those of
    the first round; what later ones add has a quarter of the places at most, at the end, for a second look is made
    with fewer words of the question and should not push out what the first has found.

    Scores of different searches do not compare (each is scaled over its own candidates), so the order is that of the
    best place that a passage has in any search, the earlier search first; a `Hit` keeps the scores of that search.
    """
    early, late = found[:first], found[first:]
    once = _shared(early, limit)
    known = {hit.chunk.chunk_id for hit in once}
    added = [hit for hit in _shared(late, limit) if hit.chunk.chunk_id not in known]
    added = added[: max(limit // LATER_SHARE, limit - len(once))]
    kept = [*once[: limit - len(added)], *added]
    return tuple(replace(hit, rank=rank) for rank, hit in enumerate(kept, start=1))


def _shared(found: Sequence[Found], limit: int) -> list[Hit]:
    """The passages of one round: shares first, then the order of the best places."""
    if not found or limit < 1:
        return []
    share = max(1, limit // len(found))
    first = found[0].hits
    turns = [*first[:share], *_in_turn([each.hits for each in found[1:]]), *first[share:]]
    chosen = list(dict.fromkeys(hit.chunk.chunk_id for hit in turns))[:limit]
    best: dict[int, tuple[int, int, Hit]] = {}
    for turn, each in enumerate(found):
        for place, hit in enumerate(each.hits):
            key = hit.chunk.chunk_id
            if key not in best or place < best[key][0]:
                best[key] = (place, turn, hit)
    return [hit for _, _, hit in sorted((best[key] for key in chosen), key=lambda placed: placed[:2])]


def _in_turn(lists: Sequence[Sequence[Hit]]) -> Iterator[Hit]:
    """The best passage of each list that none before it has given, then the next best, until all lists are empty."""
    left = [iter(each) for each in lists]
    seen: set[int] = set()
    while left:
        going = []
        for each in left:
            new = next((hit for hit in each if hit.chunk.chunk_id not in seen), None)
            if new is not None:
                seen.add(new.chunk.chunk_id)
                going.append(each)
                yield new
        left = going
