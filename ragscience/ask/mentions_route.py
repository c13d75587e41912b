"""Which papers are about a thing, use it, evaluate on it, compare with it, cite or mention it, or are from a place."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from textwrap import shorten

from ragscience.ask.intents import frame_words
from ragscience.ask.library_route import MOST_SHOWN, about_subject, shortened
from ragscience.ask.paper_facts import addresses
from ragscience.ask.paper_text import PaperText
from ragscience.ask.phrase_search import Found, Phrase, Place, aliases_of, find_phrases
from ragscience.ask.route_records import Conditions, RouteContext, Routed, has_author, label, listed, short_label
from ragscience.ask.slots import Slots
from ragscience.core.paper_records import PLACE, has_pages, page_parts
from ragscience.core.records import Block, Citation, Hit, Paper, StoredChunk
from ragscience.core.sentences import split_sentences
from ragscience.core.tokenizing import counted, joined_lines, terms, tokenize
from ragscience.graph.citing import Citations, ReferenceEntry, entries

_MOST_LISTS = 400
"""Passages of references that are read for a work."""
_OTHERS = frozenset(("et", "al"))
_OF_PAPERS = re.compile(
    r"\b(?:from|in|of|since|after|before|until|by|than|to|and) (?:19|20)\d\d\b|\b(?:19|20)\d\d (?:papers|articles)\b",
    re.IGNORECASE,
)
"""A year of the papers that cite, not of the work."""
_YEAR, _FIRST_AUTHOR = re.compile(r"\b(?:19|20)\d\d\b"), 40
"""Characters of an entry in which its first author stands."""
_AS_BEST, _LEAST_HELD = 0.8, 0.3
"""The share, by rarity, that an entry of a work has of those of its words that the best one has, and of them all."""
_MOST_PAGES = 8
_TOGETHER = re.compile(r",? (?:and|or) |, | / ")
_MOST_PARTS = 4
_MOST_WORDS = 6
"""Of a part of a name that is looked for where no text has the whole."""
_MOST_PLACES = 40
"""Of a paper: so many places are looked at for the best quote."""
_SHOWN = 240
"""Characters of a quote."""
_CLAIMING = ("uses", "evaluates", "compares_with")
"""Kinds that a place with the name does not settle."""
_OURS = re.compile(r"\b(?:we|our|us|this paper|this work)\b", re.IGNORECASE)
_MOST_MARKS = 0.2
"""Of a sentence: the share of its characters that are neither letters nor blanks."""


def answer(kind: str, slots: Slots, context: RouteContext) -> Routed | None:
    """The papers that have what the question names, or are about it; None where a search is the way."""
    if kind == "cites":
        return _cites(slots, context)
    if slots.papers and len(slots.extra) > 1:
        return None  # it asks for something in a paper
    papers = {paper.paper_id: paper for paper in slots.conditions.fit(context.papers)}
    if kind == "authors_at":
        return _by_authors_at(slots.thing, papers, context)
    search = _Search(kind, papers, slots.papers, context)
    subject = slots.subject
    of_thing, of_all = _rarities([slots.thing, subject], context)
    is_small = not slots.papers and slots.thing.islower() and 2 * of_thing < of_all
    if (kind == "topic" or is_small) and (about := about_subject(subject, context, papers)) is not None:
        return about
    if slots.papers:
        start, end = slots.spans[0] if slots.spans else (0, 0)
        return search.of_name(slots.question[start:end])
    found = search.of_name(subject if kind == "topic" else slots.thing)
    return replace(found, confidence="low") if found and kind == "topic" and not found.nothing_found else found


def _by_authors_at(name: str, papers: dict[int, Paper], context: RouteContext) -> Routed | None:
    """The papers of which the first page has the name where it says where the authors work; None without any."""
    phrase, items = Phrase(name), list[Block]()
    for key in sorted(find_phrases([name], papers, context)[0]):
        told = [one for one in addresses(PaperText(context.library, papers[key])) if phrase.in_text(one.text)]
        for one in told[:1]:
            begin = one.text.rfind(" ", 0, max(0, phrase.in_text(one.text)[0][0] - _SHOWN // 2)) + 1
            words = shorten(one.text[begin:], _SHOWN, placeholder=" …")
            items.append(Block("item", f"{short_label(papers[key])}: “{words}”", one.citations))
    if not items:
        return None
    said = f"{counted(len(items), 'paper')} {'has' if len(items) == 1 else 'have'} “{name}” beside the authors."
    note = f"Looked for “{name}” on the first page of {counted(len(papers), 'paper')}."
    return Routed("mentions", note, shortened([Block("text", said), *items]))


def _rarities(texts: Sequence[str], context: RouteContext) -> list[float]:
    """Of each text the sum of its terms' log(passages / those with the term)."""
    of_text = [tokenize(text) for text in texts]
    known = context.library.keywords.frequencies(term for each in of_text for term in each)
    return [sum(math.log(known.passages / (1 + known.having[term])) for term in each) for each in of_text]


def _cites(slots: Slots, context: RouteContext) -> Routed | None:
    """The papers that cite what is named; its authors, its year and words of its title are no conditions on them."""
    asked, named = slots.conditions, slots.papers
    if not _OF_PAPERS.search(slots.question):
        asked = replace(asked, years=None)
    if not named or len(slots.extra) > 1:
        return _citing_work(slots, replace(asked, authors=(), venue=""), context)
    others = tuple(name for name in asked.authors if not has_author(named[0], name))
    papers = {paper.paper_id: paper for paper in replace(asked, authors=others).fit(context.papers)}
    found = [one for one in Citations.of(context.library).to(named[0]) if one.citing.paper_id in papers]
    title, citing = label(named[0], year=False), [(one.citing, one.entry) for one in found]
    return _entries_with(title, citing, len(papers)) if len(named) == 1 else None


def _citing_work(slots: Slots, conditions: Conditions, context: RouteContext) -> Routed | None:
    """The papers with the entry that has most of the words that a work goes by, rare ones above all; None without any.

    People and the year that stand with it are the work's; "from 2018" is the year of the papers.
    """
    library, said = context.library, slots.thing
    if slots.described and slots.described not in said:
        said = f"{slots.described}, {said}" if said else slots.described
    asking = frozenset(terms(" ".join(frame_words(("thing", "library")))))
    year = frozenset(() if conditions.years else _YEAR.findall(slots.question))
    its_own = (frozenset(terms(said)) | (frozenset(terms(slots.question)) - asking)) - _OTHERS | year
    words = frozenset(word for word in its_own if len(word) > 1)
    if not words:
        return None
    papers = {paper.paper_id: paper for paper in conditions.fit(context.papers)}
    lists = library.select(replace(context.filters, kinds=("reference",), paper_ids=tuple(papers)))
    ids = library.keywords.search(slots.question, _MOST_LISTS, lists)[0].tolist() if papers else []
    read = [papers[key] for key in sorted({chunk.paper_id for chunk in library.chunks(ids)})]
    every = [(paper, entry, words & {*terms(entry.text)}) for paper in read for entry in entries(library, paper)]
    with_word = Counter(word for _, _, held in every for word in held)
    rarity = {word: math.log(1 + len(every) / (1 + with_word[word])) for word in sorted(words)}
    cited = [each for each in every if year & each[2] and (each[2] - year) & {*terms(each[1].text[:_FIRST_AUTHOR])}]
    every = cited or every  # "Cobbe et al. 2021" is one work, whatever else is said of it
    worth = [sum(rarity[word] for word in sorted(held)) for _, _, held in every]
    least = max(_AS_BEST * max(worth, default=0.0), 0.0 if cited else _LEAST_HELD * sum(rarity.values()))
    found = [each for each, score in zip(every, worth, strict=True) if score >= least]
    lacking = words.difference(*(held for _, _, held in found))
    without = [word for word in dict.fromkeys(re.findall(r"[\w-]+", said)) if lacking.intersection(terms(word))]
    best = {paper.paper_id: (paper, entry) for paper, entry, _ in found}
    return _entries_with(said + ")" * (said.count("(") - said.count(")")), [*best.values()], len(papers), without)


def _entries_with(
    said: str, found: Sequence[tuple[Paper, ReferenceEntry]], read: int, without: Sequence[str] = ()
) -> Routed:
    """`found` are the papers that cite what is said, each with its entry; `read` lists of references were read.

    `without` has the words that none of these entries has.
    """
    title, note = f"“{said}”", f"Read the lists of references of {counted(read, 'paper')}."
    if not found:
        text = Block("text", f"I found {title} in the references of no other paper.")
        return Routed("mentions", note, (text,), nothing_found=True)
    many = f"{counted(len(found), 'paper')} {'cites' if len(found) == 1 else 'cite'}"
    lacking = listed([f"“{word}”" for word in without])
    doubt = f" what comes nearest to {title}; {lacking} is in no entry." if without else f" {title}."
    blocks = [Block("text", many + doubt)]
    for paper, entry in found:
        place = Citation(paper.file, entry.page, entry.text, True, paper.path, entry.start, entry.end)
        blocks.append(Block("item", f"{short_label(paper)}: “{entry.text}”", (place,)))
    return Routed("mentions", note, shortened(blocks), confidence="medium" if without else "high")


@dataclass(frozen=True, slots=True)
class _LookedUp:
    """What was found of one name."""

    name: str
    aliases: tuple[str, ...]
    found: Found
    is_whole: bool
    """Whether all passages with its words were read."""


@dataclass(frozen=True, slots=True)
class _Search:
    """A search for the papers that have a name, or several at once, in their text."""

    kind: str
    papers: dict[int, Paper]
    own: Sequence[Paper]
    """The papers that go by the name."""
    context: RouteContext

    def of_name(self, name: str) -> Routed | None:
        """The papers that have the name, or what of it says most; None where no text has that and it is no name."""
        whole, parts = [self._looked_up(name)], _TOGETHER.split(name)
        if self._having(whole):
            return self._answered(whole)
        joined = "or" if " or " in name else "and"
        several = list(map(self._looked_up, parts)) if 1 < len(parts) <= _MOST_PARTS and all(parts) else whole
        if self._having(several, joined):
            return self._answered(several, joined)
        for part in self._telling_parts(name):
            looked_up = [self._looked_up(part)]
            if self._having(looked_up):
                return replace(self._answered(looked_up), confidence="medium")
        return None if name.islower() and self.kind != "mentions" else self._answered(several, joined)

    def _telling_parts(self, name: str) -> list[str]:
        """What stands in a name of several words, begins and ends in rare ones and has half of its rarity or more."""
        words = name.split()
        rare = _rarities(words, self.context)
        ends = {at: range(at + 1, min(at + _MOST_WORDS, len(words)) + 1) for at in range(len(words))}
        spans = [(sum(rare[at:to]), at, to) for at, last in ends.items() for to in last]
        telling = [span for span in spans if span[0] >= sum(rare) / 2 and rare[span[1]] and rare[span[2] - 1]]
        return [" ".join(words[at:to]) for _, at, to in sorted(telling, reverse=True)[1:]]

    def _looked_up(self, name: str) -> _LookedUp:
        """The papers with the name, or with it without the word that says what it is, where more have that."""
        best = _LookedUp(name, (), {}, is_whole=True)
        first, _, last = name.rpartition(" ")
        for each in [name, first] if first and last.islower() and not first.islower() else [name]:
            found, is_whole = find_phrases([each], self.papers, self.context)
            if len(found) > len(best.found):
                if aliases := aliases_of(each, found):
                    found, is_whole = find_phrases([each, *aliases], self.papers, self.context)
                best = _LookedUp(each, aliases, found, is_whole)
        return best

    def _having(self, each: Sequence[_LookedUp], joined: str = "and") -> list[int]:
        """The ids of the papers that have all of it, or some ("or"); those that have it most often first."""
        having = [one.found.keys() - {paper.paper_id for paper in self.own} for one in each]
        keys = set.union(*having) if joined == "or" else set.intersection(*having)
        counts = {key: min(len(one.found[key]) for one in each if key in one.found) for key in keys}
        return sorted(keys, key=lambda key: (-counts[key], key))

    def _answered(self, each: Sequence[_LookedUp], joined: str = "and") -> Routed:
        having = self._having(each, joined)
        names, many = listed([f"“{one.name}”" for one in each], joined), counted(len(self.papers), "paper")
        also = [f"“{name}”" for one in each for name in one.aliases]
        note = f"Looked for {listed([names, *also])} word for word in {many}."
        introduced = [
            Block("text", f"It is introduced in “{label(one, year=False)}” ({one.file}).") for one in self.own
        ]
        if not having:
            said = f"I found {'all of ' if len(each) > 1 and joined == 'and' else ''}{names} in "
            said += "the text of no other paper." if introduced else f"no text of the {many}"
            said += "" if introduced else "; it may go by another name there."
            return Routed("mentions", note, (Block("text", said), *introduced), nothing_found=not introduced)
        said = "" if all(one.is_whole for one in each) else "At least "
        said += counted(len(having), "other paper" if introduced else "paper")
        said += f" {'has' if len(having) == 1 else 'have'} {names}{f' (also as {listed(also)})' if also else ''}"
        blocks, hits = [Block("text", f"{said} in the text.")], dict[int, Hit]()
        for key in having:
            found = [[one.found[key][at] for at in sorted(one.found[key])] for one in each if key in one.found]
            quotes = [_best_quote(places) for places in found] if len(blocks) <= MOST_SHOWN else []
            text = f"{short_label(self.papers[key])}: {', '.join(map(_count, found))}: "
            cited = tuple(citation for _, citation, _ in quotes)
            blocks.append(Block("item", text + " · ".join(f"“{quote}”" for quote, _, _ in quotes), cited))
            for _, _, chunk in quotes:
                hits.setdefault(chunk.chunk_id, Hit(len(hits) + 1, chunk, 1.0, {}, ("keywords",)))
        sure = "medium" if self.kind in _CLAIMING else "high"
        return Routed("mentions", note, (*shortened(blocks), *introduced), tuple(hits.values()), sure)


def _count(places: Sequence[Place]) -> str:
    """How often, and where: "3 times, p. 1, 4"."""
    pages = sorted({next(page_parts(at.chunk, at.start, at.end))[0] for at in places})
    said = f"{', '.join(map(str, pages[:_MOST_PAGES]))}{' …' * (len(pages) > _MOST_PAGES)}"
    where = f", {'p. ' if has_pages(places[0].chunk.file) else PLACE}{said}" if len(pages) > 1 else ""
    return f"{counted(len(places), 'time')}{where}"


def _best_quote(places: Sequence[Place]) -> tuple[str, Citation, StoredChunk]:
    """The sentence of the paper's text that has the name, one with "we" first."""
    sentences_of, best = cache(split_sentences), list[tuple[Place, int, int]]()
    for place in places[:_MOST_PLACES]:
        text = place.chunk.text
        span = next((span for span in sentences_of(text) if span.start <= place.start < span.end), None)
        if span is not None and span.kind == "sentence":
            words = text[span.start : span.end]
            marks = sum(not (char.isalpha() or char.isspace()) for char in words)
            if marks <= _MOST_MARKS * len(words):
                best.append((place, span.start, span.end))
    ours = [one for one in best if _OURS.search(one[0].chunk.text, *one[1:])]
    return _quoted(*next(iter([*ours, *best]), (places[0], places[0].start, places[0].end)))


def _quoted(place: Place, start: int, end: int) -> tuple[str, Citation, StoredChunk]:
    """The part of a sentence that is on the page of the phrase, cut around it where it is long, and its citation."""
    chunk = place.chunk
    parts = list(page_parts(chunk, start, end)) or [(chunk.page_start, start, end)]
    page, first, last = next((part for part in parts if part[1] <= place.start < part[2]), parts[0])
    whole, at = joined_lines(chunk.text[first:last]), len(joined_lines(chunk.text[first : place.start] + "x"))
    citation = Citation(chunk.file, page, whole, True, chunk.path, chunk.start + first, chunk.start + last)
    begin = max(0, min(at - _SHOWN // 2, len(whole) - _SHOWN))
    begin = whole.find(" ", begin) + 1 if begin else 0
    stop = whole.rfind(" ", begin, begin + _SHOWN) if len(whole) > begin + _SHOWN else len(whole)
    return f"{'… ' * bool(begin)}{whole[begin:stop]}{' …' * (stop < len(whole))}", citation, chunk
