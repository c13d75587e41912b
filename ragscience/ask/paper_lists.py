"""The papers of some years, people or venues, the newest, the longest, or all: as a list with counts."""

from __future__ import annotations

from collections.abc import Sequence

from ragscience.ask.route_records import Conditions, RouteContext, Routed, label, listed, year_of
from ragscience.ask.slots import Slots
from ragscience.core.paper_records import SURE, counted_places
from ragscience.core.records import Block, Paper
from ragscience.core.tokenizing import counted

_MOST_SHOWN = 30


def answer(_: str, slots: Slots, context: RouteContext) -> Routed | None:
    """The papers that a question asks for."""
    found = _ordered(slots.conditions.fit(context.papers), slots)
    what = _said(slots.conditions)
    lacks = _unknown(context.papers, slots.conditions)
    if slots.order[0] in ("newest", "oldest"):
        lacks = _unknown(context.papers, Conditions(years=(0, 9999)))
    if not found:
        said = " ".join([f"I found no paper that is known to be {what}.", *lacks, _known_venues(slots, context)])
        return Routed("papers", f"Looked for papers {what}.", (Block("text", said.strip()),), nothing_found=True)
    return Routed("papers", _note(what, slots, context), _blocks(found, slots, context, lacks), confidence="high")


def _unknown(papers: Sequence[Paper], conditions: Conditions) -> list[str]:
    """What is not known of some of the papers, though the conditions ask for it: a sentence each."""
    missing = (
        ("year is", conditions.years is not None, [paper for paper in papers if year_of(paper)[0] is None]),
        ("authors are", bool(conditions.authors), [paper for paper in papers if not paper.metadata.authors]),
        ("venue is", bool(conditions.venue), [paper for paper in papers if not paper.metadata.venue]),
    )
    return [
        f"Of {counted(len(lacking), 'paper')} the {what} not known."
        for what, is_asked, lacking in missing
        if is_asked and lacking
    ]


def _blocks(found: Sequence[Paper], asked: Slots, context: RouteContext, lacks: Sequence[str]) -> tuple[Block, ...]:
    what = _said(asked.conditions)
    shown = found[: min(asked.order[1] or _MOST_SHOWN, _MOST_SHOWN)]
    if asked.order[1] == 1:
        beside = [paper for paper in found[1:] if _key(paper, asked.order[0]) == _key(found[0], asked.order[0])]
        shown = [found[0], *beside][:_MOST_SHOWN]
        intro = f"The {_superlative(asked.order[0])} {'papers are' if beside else 'paper is'}:"
    elif asked.order[1]:
        what = f" {what}" if what else ""
        intro = f"The {len(shown)} {_superlative(asked.order[0])} papers{what}:"
    elif asked.conditions == Conditions():
        passages = f", in {counted(sum(paper.chunks for paper in found), 'passage')}"
        is_part = len(context.papers) < context.library.about.papers
        where = "The filters leave" if is_part else "The library has"
        intro = f"{where} {counted(len(found), 'paper')} with {counted_places(found)}{passages}."
        if asked.counts:
            return (Block("text", intro),)
    else:
        verb = "is" if len(found) == 1 else "are"
        intro = f"{counted(len(found), 'paper')} {verb} {what}:"
    items = [Block("item", _line(paper, asked)) for paper in shown]
    more = len(found) - len(shown) if asked.order[1] != 1 else 0
    behind = [f"And {more:,} more: `python ingest.py list` shows all."] if more > 0 and not asked.order[1] else []
    behind += lacks
    return (Block("text", intro), *items, *((Block("text", " ".join(behind)),) if behind else ()))


def _line(paper: Paper, asked: Slots) -> str:
    year, is_guess = year_of(paper)
    parts = [label(paper)]
    if year and is_guess:
        parts[0] += f" ({year} by its arXiv id or its file's name)"
    known = paper.metadata
    if asked.conditions.authors or asked.order[0] == "most authors":
        many = len(known.authors) > 6
        parts.append(
            ", ".join(known.authors[:5]) + f" and {len(known.authors) - 5} more" if many else listed(known.authors)
        )
    elif known.authors:
        parts.append(f"{known.authors[0]}{' et al.' if len(known.authors) > 1 else ''}")
    if asked.conditions.venue:
        parts.append(known.venue or "its venue by its file's name")
    if asked.order[0] in ("longest", "shortest"):
        parts.append(counted_places([paper]))
    if asked.order[0] == "added":
        parts.append(f"added {paper.added_at[:10]}")
    fields = [
        name for name, is_asked in (("year", asked.conditions.years), ("venue", asked.conditions.venue)) if is_asked
    ]
    if any(0 < known.confidence.get(name, 1.0) < SURE for name in fields if getattr(known, name)):
        parts.append("not sure")
    return " · ".join([*parts, paper.file])


def _key(paper: Paper, order: str) -> tuple[object, ...]:
    year = year_of(paper)[0]
    match order:
        case "newest":
            return (-(year or 0),)
        case "oldest":
            return (year or 9999,)
        case "longest":
            return (-paper.pages,)
        case "shortest":
            return (paper.pages,)
        case "most authors":
            return (-len(paper.metadata.authors),)
        case _:
            return (paper.file,)


def _ordered(papers: Sequence[Paper], asked: Slots) -> list[Paper]:
    order = asked.order[0] or ("newest" if asked.conditions.years else "name")
    if order == "added":
        return sorted(papers, key=lambda paper: paper.added_at, reverse=True)
    if order in ("newest", "oldest") and asked.order[1]:
        papers = [paper for paper in papers if year_of(paper)[0]]
    return sorted(papers, key=lambda paper: (*_key(paper, order), label(paper)))


def _superlative(order: str) -> str:
    return {"added": "most recently added", "most authors": "one with most authors,"}.get(order, order)


def _said(conditions: Conditions) -> str:
    parts = []
    if conditions.years:
        first, last = conditions.years
        if first == last:
            parts.append(f"from {first}")
        elif not first:
            parts.append(f"from before {last + 1}")
        else:
            parts.append(f"from {first} or later" if last == 9999 else f"from {first} to {last}")
    parts += [f"by {name.title() if name.islower() else name}" for name in conditions.authors]
    parts += [f"at {conditions.venue}"] if conditions.venue else []
    return " and ".join(parts) if len(parts) < 3 else listed(parts)


def _note(what: str, asked: Slots, context: RouteContext) -> str:
    if asked.order[0] and asked.order[1] == 1:
        return f"Compared the metadata of {counted(len(context.papers), 'paper')}."
    return (
        f"Looked through the metadata of {counted(len(context.papers), 'paper')}{f' for those {what}' if what else ''}."
    )


def _known_venues(asked: Slots, context: RouteContext) -> str:
    if not asked.conditions.venue:
        return ""
    venues = sorted({paper.metadata.venue for paper in context.papers if paper.metadata.venue})
    return f"Known venues: {listed(venues[:12])}." if venues else ""
