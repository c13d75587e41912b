"""Which papers use or mention something: every paper of the library that has it, with counts and a quote of each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ragscience.ask.asked_papers import bare, carried, counted, is_only_name, listed, papers_meant, short_label
from ragscience.ask.mention_sentences import (
    DENIES,
    SAYS,
    MentionQuestion,
    Quoted,
    best_quote,
    mention_question,
    without_kind,
    without_marks,
)
from ragscience.ask.paper_conditions import Conditions, asked_for, fitting
from ragscience.ask.phrase_search import PaperMentions, Phrase, aliases_of, find_phrases, stated_in
from ragscience.ask.router import RouteContext, Routed
from ragscience.core.records import Block, Hit, Paper, title_of

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["answer"]

_MOST_SHOWN = 20
_MOST_READ = 100
"""Papers whose sentences are looked at; of further ones only the counts are known."""
_MOST_PAGES = 8
_TITLE_WORDS = 8
"""Words of a title that are looked for in lists of references: a longer one is often cited in part."""
_NOTHING_CALLED = 4
"""Words: a longer phrase that no paper has is a description, for which a search is the way."""
_TOGETHER = re.compile(r",? and |, ")
_MOST_PARTS = 4
_POINTS = re.compile(r"\b(?:it|this|that|(?:this|that) paper)$", re.IGNORECASE)
_ASKS = {"use": "use it", "evaluate": "evaluate on it", "compare": "compare with it"}
_BEGINS = re.compile(
    r"\b(?:papers?|articles?|documents?|publications?|pdfs?|studies|study|works|who|where|mentions?|occurrences?|"
    r"anything|something|anywhere|how often|how many times)\b",
    re.IGNORECASE,
)


def answer(question: str, context: RouteContext) -> Routed | None:
    """The papers that have what the question names; None for other questions."""
    if not _BEGINS.search(question):
        return None
    text = bare(question)
    before, behind = carried(text)
    if before and _POINTS.search(behind) and (names := context.names.in_text(before)):
        behind = _POINTS.sub(lambda _: names[0].name, behind)
    for asks in dict.fromkeys([text, bare(behind)]):
        asked = asked_for(asks, lambda: context.papers) if not asks.casefold().startswith(("do ", "does ")) else None
        wanted = mention_question(asks, asked.rest if asked is not None else None)
        if wanted is not None:
            break
    if wanted is None:
        return None
    papers = {paper.paper_id: paper for paper in context.papers}
    if asked is not None and asked.conditions != Conditions():
        papers = {paper.paper_id: paper for paper in fitting(context.papers, asked.conditions)}
    return _Search(wanted, context, papers).answer()


class _Search:
    """The papers that have one thing, and what they say of it."""

    def __init__(self, wanted: MentionQuestion, context: RouteContext, papers: dict[int, Paper]) -> None:
        self.wanted = wanted
        self.context = context
        self.papers = papers
        self.own: dict[int, Paper] = {}
        self.aliases: tuple[str, ...] = ()
        self.name = wanted.phrase
        self.is_whole = True

    def answer(self) -> Routed | None:
        """The route's answer; None where no paper has the words and they are a description rather than a name."""
        name = next((one for one in (self.name, without_kind(self.name)) if is_only_name(one, self.context)), "")
        if name:
            self.own = {paper.paper_id: paper for paper in papers_meant(name, self.context)}
            self.name = without_kind(name)
        if self.wanted.kind == "cite" and self.own:
            return self._citing()
        found = self._found()
        if found:
            return self._answered(found)
        parts = [without_marks(part) for part in _TOGETHER.split(self.wanted.phrase.removeprefix("both "))]
        return self._together(parts) if 1 < len(parts) <= _MOST_PARTS and all(parts) else self._nothing()

    def _together(self, parts: Sequence[str]) -> Routed | None:
        """The papers that have each of several things."""
        found = [find_phrases([Phrase(part)], self.papers, self.context)[0] for part in parts]
        having = [{key for key, one in each.items() if one.text} for each in found]
        names = [f"“{part}”" for part in parts]
        many = counted(len(self.papers), "paper")
        each = "; ".join(f"{name} is in {len(keys)}" for name, keys in zip(names, having, strict=True))
        every = sorted(set.intersection(*having), key=lambda key: (-min(len(one[key].text) for one in found), key))
        note = f"Looked for {listed(names)} word for word in {many}."
        if not every:
            said = f"None of the {many} has all of {listed(names)}: {each}."
            return Routed("mentions", note, (Block("text", said),), nothing_found=True)
        verb = "mentions" if len(every) == 1 else "mention"
        blocks = [Block("text", f"{counted(len(every), 'paper')} {verb} {listed(names)}; {each}.")]
        shown: list[Quoted] = []
        for key in every[:_MOST_SHOWN]:
            quotes = [_quoted(one[key], self.wanted.kind, frozenset()) for one in found]
            times = ", ".join(
                f"{name} {counted(len(one[key].text), 'time')}" for name, one in zip(names, found, strict=True)
            )
            said = " · ".join(f"“{quote.quote}”" for quote in quotes)
            blocks.append(
                Block("item", f"{short_label(self.papers[key])}: {times}: {said}", tuple(q.citation for q in quotes))
            )
            shown += quotes
        if len(every) > _MOST_SHOWN:
            blocks.append(Block("text", _more(len(every))))
        return Routed("mentions", note, tuple(blocks), _hits(shown), "high")

    def _found(self) -> dict[int, PaperMentions]:
        """The papers with the phrase, else with it without the noun that says what it is."""
        for name in dict.fromkeys([self.name, without_kind(self.name)]):
            if not any(char.isalnum() for char in name):
                continue
            phrase = Phrase(name)
            found, self.is_whole = find_phrases([phrase], self.papers, self.context)
            if _is_name(name) and name == self.name and name != without_kind(name):
                shorter, _ = find_phrases([Phrase(without_kind(name))], self.papers, self.context)
                if len(shorter) > len(found):
                    continue
            if any(one.text for one in found.values()) or (self.wanted.kind == "cite" and found):
                self.name = phrase.text
                self.aliases = aliases_of(phrase, found, self.context)
                if self.aliases:
                    found, self.is_whole = find_phrases([phrase, *map(Phrase, self.aliases)], self.papers, self.context)
                return found
        return {}

    def _nothing(self) -> Routed | None:
        if (
            self.wanted.is_who
            or len(self.name.split()) > _NOTHING_CALLED
            or re.search(r"\b(?:of|for|in|on|with|to|from|by|or|as)\b", self.name)
        ):
            return None
        many = counted(len(self.papers), "paper")
        said = f"None of the {many} has “{self.name}”, in these words or in another form of them."
        return Routed("mentions", f"Looked for “{self.name}” in {many}.", (Block("text", said),), nothing_found=True)

    def _answered(self, found: dict[int, PaperMentions]) -> Routed:
        having = [one for key, one in found.items() if one.text and key not in self.own]
        if self.wanted.kind == "cite":
            having = [one for one in found.values() if one.text or one.references]
        having.sort(key=lambda one: (-len(one.text), one.file))
        evidence = stated_in(self.name, self.wanted.kind, self.context)
        quoted = {one.paper_id: _quoted(one, self.wanted.kind, evidence) for one in having[:_MOST_READ]}
        order = {SAYS: 0, DENIES: 2}
        having.sort(key=lambda one: order.get(quoted[one.paper_id].stance, 1) if one.paper_id in quoted else 3)
        blocks = [Block("text", self._summary(having, quoted))]
        blocks += [self._item(one, quoted[one.paper_id]) for one in having[:_MOST_SHOWN]]
        if len(having) > _MOST_SHOWN:
            blocks.append(Block("text", _more(len(having))))
        blocks += self._own_blocks(found)
        only = [one for key, one in found.items() if not one.text and key not in self.own]
        if only and self.wanted.kind != "cite":
            names = ", ".join(one.file for one in only[:5]) + (" and more" if len(only) > 5 else "")
            blocks.append(Block("text", f"In the list of references alone: {names}."))
        hits = _hits(quoted[one.paper_id] for one in having[:_MOST_SHOWN])
        return Routed("mentions", self._note(), tuple(blocks), hits, "high")

    def _summary(self, having: Sequence[PaperMentions], quoted: dict[int, Quoted]) -> str:
        also = f" (also as {', '.join(f'“{name}”' for name in self.aliases)})" if self.aliases else ""
        if not having:
            return f"No other paper has “{self.name}”{also} in its text."
        verb = "mentions" if len(having) == 1 else "mention"
        least = "" if self.is_whole else "At least "
        noun = "other paper" if self.own and self.wanted.kind != "cite" else "paper"
        text = f"{least}{counted(len(having), noun)} {verb} “{self.name}”{also}"
        asks = _ASKS.get(self.wanted.kind)
        if asks:
            stances = [one.stance for one in quoted.values()]
            says = stances.count(SAYS)
            text += f"; {_few(says)} that {'they' if says > 1 else 'it'} {_third(asks, max(says, 1))}"
            if DENIES in stances:
                text += f", {stances.count(DENIES)} that {'it does' if stances.count(DENIES) == 1 else 'they do'} not"
        return f"{text}."

    def _item(self, one: PaperMentions, quoted: Quoted) -> Block:
        times = len(one.text)
        paper = self.papers[one.paper_id]
        count = counted(times, "time") if times else "in its references"
        stance = {
            SAYS: f"; says that it {_third(_ASKS.get(self.wanted.kind, ''), 1)}",
            DENIES: "; says that it does not",
        }
        pages = sorted({_page(place.chunk.page_breaks, place.start) for place in one.text.values()})
        where = f", p. {_pages(pages)}" if len(pages) > 1 else ""
        text = f"{short_label(paper)}: {count}{where}{stance.get(quoted.stance, '')}: “{quoted.quote}”"
        return Block("item", text, (quoted.citation,))

    def _own_blocks(self, found: dict[int, PaperMentions]) -> list[Block]:
        """The paper that goes by the name, apart."""
        blocks = []
        for key, paper in self.own.items():
            times = len(found[key].text) if key in found else 0
            blocks.append(
                Block("text", f"It is introduced in “{title_of(paper)}” ({paper.file}; {counted(times, 'time')}).")
            )
        return blocks

    def _citing(self) -> Routed | None:
        """The papers whose list of references has the title of a paper of the library."""
        (paper, *others) = self.own.values()
        if others:
            return None
        words = title_of(paper).split()[:_TITLE_WORDS]
        if len(words) < 2:
            return None
        cited, self.is_whole = find_phrases([Phrase(" ".join(words))], self.papers, self.context)
        citing = [one for key, one in cited.items() if one.references and key != paper.paper_id]
        many = counted(len(self.papers), "paper")
        note = f"Looked for the title in the reference lists of {many}."
        if not citing:
            said = f"No reference list of the {many} has “{title_of(paper)}”."
            return Routed("mentions", note, (Block("text", said),), nothing_found=True)
        citing.sort(key=lambda one: one.file)
        quoted = [best_quote(list(one.references.values()), "cite", frozenset()) for one in citing[:_MOST_SHOWN]]
        verb = "cites" if len(citing) == 1 else "cite"
        blocks = [Block("text", f"{counted(len(citing), 'paper')} {verb} “{title_of(paper)}” ({paper.file}):")]
        blocks += [
            Block("item", f"{short_label(self.papers[one.paper_id])}: “{quote.quote}”", (quote.citation,))
            for one, quote in zip(citing, quoted, strict=False)
        ]
        if len(citing) > _MOST_SHOWN:
            blocks.append(Block("text", _more(len(citing))))
        return Routed("mentions", note, tuple(blocks), _hits(quoted), "high")

    def _note(self) -> str:
        names = ", ".join(f"“{name}”" for name in (self.name, *self.aliases))
        cut = "" if self.is_whole else " (in the passages with most of the words alone)"
        return f"Looked for {names} word for word in {counted(len(self.papers), 'paper')}{cut}."


def _quoted(one: PaperMentions, kind: str, evidence: frozenset[int]) -> Quoted:
    places = one.text or one.references
    return best_quote([places[at] for at in sorted(places)], kind, evidence)


def _hits(quoted: Iterable[Quoted]) -> tuple[Hit, ...]:
    chunks = {one.chunk.chunk_id: one.chunk for one in quoted}
    return tuple(Hit(rank, chunk, 1.0, {}, ("keywords",)) for rank, chunk in enumerate(chunks.values(), 1))


def _more(number: int) -> str:
    return f"And {number - _MOST_SHOWN:,} more."


def _few(number: int) -> str:
    return "none says" if not number else f"{number} of them {'says' if number == 1 else 'say'}"


def _third(verb: str, number: int) -> str:
    """The verb as "it" takes it."""
    first, _, rest = verb.partition(" ")
    return f"{first}s {rest}" if number == 1 else verb


def _is_name(text: str) -> bool:
    return any(char.isupper() or char.isdigit() for char in text)


def _page(breaks: Sequence[tuple[int, int]], at: int) -> int:
    return [page for start, page in breaks if start <= at][-1]


def _pages(pages: Sequence[int]) -> str:
    shown = ", ".join(map(str, pages[:_MOST_PAGES]))
    return f"{shown} …" if len(pages) > _MOST_PAGES else shown
