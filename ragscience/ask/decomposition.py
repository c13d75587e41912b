"""A question that asks more than one thing, taken apart into sub-queries: each is for the paper that it names."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from operator import attrgetter

from ragscience.ask.conversation import BETWEEN_TURNS
from ragscience.core.records import Found, Hit, QuestionPart
from ragscience.core.tokenizing import terms
from ragscience.models.model_protocols import Splitter
from ragscience.search.named_papers import asked_about, without
from ragscience.search.names import LEAST_SURE, MentionedPaper, PaperNames

MOST_PAPERS = 4
"""That are asked the same question."""


_START = attrgetter("start")


@dataclass(frozen=True, slots=True)
class SubQuery:
    """A search: the question, and the files of the papers to look in; no file means the whole library."""

    text: str
    papers: tuple[str, ...] = ()


def in_its_papers(text: str, names: PaperNames | None) -> tuple[SubQuery, ...]:
    """A search within each paper that the text surely names, in their order, without the names of the others.

    In the whole library where it names none.
    """
    named = {each.file: each for each in sorted(_named(text, names), key=_START)}
    every = names.in_text(text) if names is not None and len(named) > 1 else ()
    own = {file: {(one.start, one.end) for one in every if one.file == file} for file in named}
    others = {
        file: [one for one in every if one.file in named and (one.start, one.end) not in own[file]] for file in named
    }
    return tuple(SubQuery(without(text, others[file]), (file,)) for file in named) or (SubQuery(text),)


def parts_of(question: str, names: PaperNames | None, split: Splitter | None) -> tuple[SubQuery, ...]:
    """What the question asks, where that is more than one thing: each in the paper that it names most surely.

    One thing that is asked of several papers is asked of each. Behind other questions it is read with what they say.
    """
    if split is None:
        return ()
    *before, last = question.split(BETWEEN_TURNS)
    texts = [text.strip(" ?.,!;") for text in split(last, before)]
    parts = (
        SubQuery(f"{text[:1].upper()}{text[1:]}?", tuple(each.file for each in _named(text, names)[:1]))
        for text in texts
        if terms(text)
    )
    found = tuple(dict.fromkeys(parts))
    found = found if len(found) > 1 else in_its_papers(last, names)[:MOST_PAPERS]
    return found if len(found) > 1 else ()


def _named(text: str, names: PaperNames | None) -> list[MentionedPaper]:
    """A name of each paper that the text surely names, the surest paper first."""
    every = asked_about(text, names) if names is not None else []
    return [min(each, key=_START) for each in every if max(one.strength for one in each) >= LEAST_SURE]


def in_turn(lists: Sequence[Sequence[Hit]]) -> list[Hit]:
    """The best passage of each list, then the second of each, and so on, every passage once."""
    once: dict[int, Hit] = {}
    for hit in filter(None, chain.from_iterable(zip_longest(*lists))):
        once.setdefault(hit.chunk.chunk_id, hit)
    return list(once.values())


def together(whole: Found, others: Sequence[Found], hits: Sequence[Hit], parts: Sequence[Found] = ()) -> Found:
    """Searches as one: `whole` with `hits`, ranked from 1, its `parts`, and what all of them took and warned of."""
    everything, timings = (whole, *others), Counter[str]()
    for each in everything:
        timings.update(each.timings_ms)
    parts = [part for part in parts if part.hits]
    return replace(
        whole,
        hits=tuple(replace(hit, rank=rank) for rank, hit in enumerate(hits, start=1)),
        parts=tuple(QuestionPart(part.question, part.hits) for part in parts) if len(parts) > 1 else (),
        warnings=tuple(dict.fromkeys(chain.from_iterable(each.warnings for each in everything))),
        timings_ms={name: round(value, 3) for name, value in timings.items()},
        stages=tuple(chain.from_iterable(each.stages for each in everything)),
    )
