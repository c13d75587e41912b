"""The papers of some years, people or venues, the newest, the longest, or all: as a list with counts."""

from collections.abc import Callable, Sequence
from typing import Any

from ragscience.ask.route_records import Conditions, RouteContext, Routed, label, listed
from ragscience.ask.slots import COUNTS, Slots
from ragscience.core.paper_records import NEWEST, SURE, counted_places, year_of, years_of
from ragscience.core.records import Block, Paper
from ragscience.core.tokenizing import counted

_MOST_SHOWN = 30
_MOST_VENUES = 12
_ORDERS: dict[str, tuple[str, Callable[[Paper], Any], bool]] = {
    "newest": ("newest", lambda paper: year_of(paper)[0] or 0, True),
    "oldest": ("oldest", lambda paper: year_of(paper)[0] or 9999, False),
    "longest": ("longest", lambda paper: paper.pages, True),
    "shortest": ("shortest", lambda paper: paper.pages, False),
    "most authors": ("one with most authors,", lambda paper: len(paper.metadata.authors), True),
    "added": ("most recently added", lambda paper: paper.added_at, True),
    "": ("", lambda paper: paper.file, False),
}
"""How each order is said, what it goes by, and whether the greatest comes first."""


def answer(_: str, slots: Slots, context: RouteContext) -> Routed | None:
    """The papers that a question asks for."""
    conditions, (order, most) = slots.conditions, slots.order
    superlative, key, is_falling = _ORDERS[order or ("newest" if conditions.years else "")]
    found = sorted(sorted(conditions.fit(context.papers), key=label), key=key, reverse=is_falling)
    if order in ("newest", "oldest") and most:
        found = [paper for paper in found if year_of(paper)[0]]
    what, every = _said(conditions), counted(len(context.papers), "paper")
    behind = _unknown(context.papers, conditions, order)
    if not found:
        venues = sorted({paper.metadata.venue for paper in context.papers if paper.metadata.venue})
        behind += [f"Known venues: {listed(venues[:_MOST_VENUES])}."] if conditions.venue and venues else []
        said = " ".join([f"I found no paper that is known to be {what}.", *behind])
        return Routed("papers", f"Looked for papers {what}.", (Block("text", said),), nothing_found=True)
    shown = found[: min(most or _MOST_SHOWN, _MOST_SHOWN)]
    if most == 1:
        shown = [paper for paper in found if key(paper) == key(found[0])][:_MOST_SHOWN]
        intro = f"The {superlative} {'papers are' if len(shown) > 1 else 'paper is'}:"
    elif most:
        intro = f"The {len(shown)} {superlative} papers{what and f' {what}'}:"
    elif what:
        intro = f"{counted(len(found), 'paper')} {'is' if len(found) == 1 else 'are'} {what}:"
    else:
        sums = counted_places(found), counted(sum(paper.chunks for paper in found), "passage")
        where = "The filters leave" if len(context.papers) < context.library.about.papers else "The library has"
        intro = f"{where} {counted(len(found), 'paper')} with {sums[0]}, in {sums[1]}."
        shown = [] if COUNTS.search(slots.question) else shown
    if shown and not most and len(found) > len(shown):
        behind = [f"And {len(found) - len(shown):,} more: `python ingest.py list` shows all.", *behind]
    items = [Block("item", _line(paper, conditions, order)) for paper in shown]
    after = [Block("text", " ".join(behind))] if shown and behind else []
    note = f"Looked through the metadata of {every}{f' for those {what}' if what else ''}."
    if order and most == 1:
        note = f"Compared the metadata of {every}."
    return Routed("papers", note, (Block("text", intro), *items, *after))


def _unknown(papers: Sequence[Paper], conditions: Conditions, order: str) -> list[str]:
    """What is not known of some of the papers, though it is asked for: a sentence each."""
    missing = (
        ("year is", conditions.years or order in ("newest", "oldest"), [p for p in papers if not year_of(p)[0]]),
        ("authors are", conditions.authors, [paper for paper in papers if not paper.metadata.authors]),
        ("venue is", conditions.venue, [paper for paper in papers if not paper.metadata.venue]),
    )
    return [
        f"Of {counted(len(those), 'paper')} the {what} not known." for what, asked, those in missing if asked and those
    ]


def _line(paper: Paper, conditions: Conditions, order: str) -> str:
    known, years = paper.metadata, years_of(paper)
    if conditions.years:
        years = {year: by for year, by in years.items() if conditions.years[0] <= year <= conditions.years[1]}
    year, by = next(iter(years.items()), (0, ""))
    parts = [label(paper) + (f" ({year}{' or later' if by == NEWEST else ''} by {by})" if by else "")]
    most = 6 if conditions.authors or order == "most authors" else 1
    if known.authors:
        others = " et al." if most == 1 else f" and {len(known.authors) - 5} more"
        parts.append(
            f"{', '.join(known.authors[: max(1, most - 1)])}{others}"
            if len(known.authors) > most
            else listed(known.authors)
        )
    if conditions.venue:
        parts.append(known.venue or "its venue by its file's name")
    parts += [counted_places([paper])] if order in ("longest", "shortest") else []
    parts += [f"added {paper.added_at[:10]}"] if order == "added" else []
    asked = [name for name, value in (("year", conditions.years), ("venue", conditions.venue)) if value]
    if any(0 < known.confidence.get(name, 1.0) < SURE for name in asked if getattr(known, name)):
        parts.append("not sure")
    return " · ".join([*parts, paper.file])


def _said(conditions: Conditions) -> str:
    """The conditions in words: "from 2016 and by Bo Lind"; empty for none."""
    parts = [f"by {name.title() if name.islower() else name}" for name in conditions.authors]
    parts += [f"at {conditions.venue}"] if conditions.venue else []
    if conditions.years:
        first, last = conditions.years
        years = f"from {first} or later" if last == 9999 else f"from {first} to {last}"
        parts.insert(0, f"from {first}" if first == last else f"from before {last + 1}" if not first else years)
    return listed(parts)
