"""Which papers are about something, use it, evaluate on it, compare with it, cite or mention it, with a quote each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ragscience.ask.mention_sentences import DENIES, SAYS, Quoted, best_quote, without_kind
from ragscience.ask.phrase_search import PaperMentions, Phrase, aliases_of, find_phrases
from ragscience.ask.route_records import RouteContext, Routed, label, listed, short_label
from ragscience.ask.slots import Conditions, Slots
from ragscience.core.records import Block, Hit, Paper, title_of
from ragscience.core.tokenizing import counted, terms

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
_VERBS = {"uses": "use", "evaluates": "evaluate", "compares_with": "compare", "cites": "cite"}
_ASKS = {"use": ("use it", "uses it"), "evaluate": ("evaluate on it", "evaluates on it"),
         "compare": ("compare with it", "compares with it")}  # fmt: skip
_APART, _NEAR = 1.5, 0.2
"""A paper is about a subject where its mean, without what all papers share, is so many standard deviations nearer to
the subject than the others' and its cosine is at least this."""
_FEWEST_PAPERS = 5
"""In a smaller library there is no telling which papers stand apart."""


def answer(kind: str, slots: Slots, context: RouteContext) -> Routed | None:
    """The papers that have what the question names, or are about it; None where a search is the way."""
    papers = {paper.paper_id: paper for paper in slots.conditions.fit(context.papers)}
    if kind == "cites" and slots.conditions.authors and not slots.papers:
        cited = replace(slots.conditions, years=None).fit(context.papers)
        slots = replace(slots, papers=tuple(cited), conditions=Conditions())
        papers = {paper.paper_id: paper for paper in context.papers}
    if slots.papers:
        start, end = slots.spans[0] if slots.spans else (0, 0)
        search = _Search(_VERBS.get(kind, "mention"), slots.question[start:end], context, papers)
        search.own = {paper.paper_id: paper for paper in slots.papers}
        return search.answer()
    if kind == "topic" and (routed := _about(slots.thing, context, papers)) is not None:
        return routed
    is_mention = kind == "mentions"
    found = _Search(_VERBS.get(kind, "mention"), slots.thing, context, papers, is_mention=is_mention).answer()
    if is_mention and (found is None or found.nothing_found):
        return _about(slots.thing, context, papers) or found
    is_only_near = kind == "topic" and found is not None and not found.nothing_found
    return replace(found, confidence="low") if is_only_near and found is not None else found


def _about(subject: str, context: RouteContext, papers: dict[int, Paper]) -> Routed | None:
    """The papers whose title or abstract has the words of the subject, and those that stand apart in being near it."""
    import numpy as np

    from ragscience.graph.paper_map import paper_map

    wanted = set(terms(subject))
    known = paper_map(context.library)
    vector = context.embed(subject)
    if not wanted or not len(vector):
        return None
    centred = known.means - known.means.mean(axis=0)
    cosines = centred @ vector / np.maximum(np.linalg.norm(centred, axis=1), 1e-9)
    apart = (cosines - cosines.mean()) / max(float(cosines.std()), 1e-9)
    found = []
    for paper, cosine, far in zip(known.papers, cosines.tolist(), apart.tolist(), strict=True):
        if paper.paper_id not in papers:
            continue
        is_near = cosine >= _NEAR and far >= _APART and len(known.papers) >= _FEWEST_PAPERS
        if is_near or wanted <= set(terms(f"{title_of(paper)} {paper.metadata.abstract}")):
            found.append((cosine, paper))
    if not found:
        return None
    found.sort(key=lambda each: (-each[0], each[1].file))
    is_one = len(found) == 1
    said = f"{counted(len(found), 'paper')} {'is' if is_one else 'are'} about “{subject}” by title, abstract or meaning"
    blocks = [Block("text", f"{said}; others may touch on it.")]
    blocks += [Block("item", f"{short_label(paper)} · {paper.file}") for _, paper in found[:_MOST_SHOWN]]
    if len(found) > _MOST_SHOWN:
        blocks.append(Block("text", _more(len(found))))
    note = f"Compared the subject with title, abstract and passages of {counted(len(papers), 'paper')}."
    return Routed("papers", note, tuple(blocks), confidence="medium")


class _Search:
    """The papers that have one thing, and what they say of it."""

    def __init__(
        self, kind: str, phrase: str, context: RouteContext, papers: dict[int, Paper], *, is_mention: bool = False
    ) -> None:
        """`is_mention`: whether the question asks for the words, not for what they mean."""
        self.kind = kind
        self.name = self.phrase = phrase
        self.context = context
        self.papers = papers
        self.is_mention = is_mention
        self.own: dict[int, Paper] = {}
        self.aliases: tuple[str, ...] = ()
        self.is_whole = True

    def answer(self) -> Routed | None:
        """The route's answer; None where no paper has the words and they are a description rather than a name."""
        if self.kind == "cite" and self.own:
            return self._citing()
        found = self._found()
        if found:
            return self._answered(found)
        parts = _TOGETHER.split(self.phrase)
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
            said = f"I found no paper that has all of {listed(names)}: {each} of {many}."
            return Routed("mentions", note, (Block("text", said),), nothing_found=True)
        verb = "mentions" if len(every) == 1 else "mention"
        blocks = [Block("text", f"{counted(len(every), 'paper')} {verb} {listed(names)}; {each}.")]
        shown: list[Quoted] = []
        for key in every[:_MOST_SHOWN]:
            quotes = [_quoted(one[key], self.kind) for one in found]
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
            if any(one.text for one in found.values()) or (self.kind == "cite" and found):
                self.name = phrase.text
                self.aliases = aliases_of(phrase, found)
                if self.aliases:
                    found, self.is_whole = find_phrases([phrase, *map(Phrase, self.aliases)], self.papers, self.context)
                return found
        return {}

    def _nothing(self) -> Routed | None:
        is_described = self.name.islower() and not self.is_mention
        if len(self.name.split()) > _NOTHING_CALLED or is_described:
            return None
        many = counted(len(self.papers), "paper")
        said = f"I found “{self.name}” in no text of the {many}; it may go by another name there."
        return Routed("mentions", f"Looked for “{self.name}” in {many}.", (Block("text", said),), nothing_found=True)

    def _answered(self, found: dict[int, PaperMentions]) -> Routed:
        having = [one for key, one in found.items() if one.text and key not in self.own]
        if self.kind == "cite":
            having = [one for one in found.values() if one.text or one.references]
        having.sort(key=lambda one: (-len(one.text), one.file))
        quoted = {one.paper_id: _quoted(one, self.kind) for one in having[:_MOST_READ]}
        saying = [one for one in having if one.paper_id in quoted and quoted[one.paper_id].stance == SAYS]
        order = {SAYS: 0, DENIES: 2}
        having.sort(key=lambda one: order.get(quoted[one.paper_id].stance, 1) if one.paper_id in quoted else 3)
        shown = having[:_MOST_SHOWN]
        blocks = [Block("text", self._summary(having, saying))]
        blocks += [self._item(one, quoted[one.paper_id]) for one in shown]
        if len(having) > _MOST_SHOWN:
            blocks.append(Block("text", _more(len(having))))
        blocks += self._own_blocks(found)
        hits = _hits(quoted[one.paper_id] for one in shown)
        return Routed("mentions", self._note(), tuple(blocks), hits, "high" if self.kind == "mention" else "medium")

    def _summary(self, having: Sequence[PaperMentions], saying: Sequence[PaperMentions]) -> str:
        also = f" (also as {', '.join(f'“{name}”' for name in self.aliases)})" if self.aliases else ""
        least = "" if self.is_whole else "At least "
        noun = "other paper" if self.own and self.kind != "cite" else "paper"
        if not having:
            return f"I found “{self.name}”{also} in the text of no other paper."
        has = "has" if len(having) == 1 else "have"
        where = "text or references" if self.kind == "cite" else "text"
        text = f"{least}{counted(len(having), noun)} {has} “{self.name}”{also} in the {where}"
        if self.kind in _ASKS and saying:
            text += f"; {len(saying)} of them {'says' if len(saying) == 1 else 'say'} that "
            text += f"{'it' if len(saying) == 1 else 'they'} {_ASKS[self.kind][len(saying) == 1]}"
        return f"{text}."

    def _item(self, one: PaperMentions, quoted: Quoted) -> Block:
        times = len(one.text)
        count = counted(times, "time") if times else "in its references"
        says = f"; says that it {_ASKS[self.kind][1]}" if quoted.stance == SAYS and self.kind in _ASKS else ""
        stance = "; says that it does not" if quoted.stance == DENIES else says
        pages = sorted({_page(place.chunk.page_breaks, place.start) for place in one.text.values()})
        where = f", p. {_pages(pages)}" if len(pages) > 1 else ""
        text = f"{short_label(self.papers[one.paper_id])}: {count}{where}{stance}: “{quoted.quote}”"
        return Block("item", text, (quoted.citation,))

    def _own_blocks(self, found: dict[int, PaperMentions]) -> list[Block]:
        """The paper that goes by the name, apart."""
        blocks = []
        for key, paper in self.own.items():
            times = len(found[key].text) if key in found else 0
            blocks.append(
                Block(
                    "text",
                    f"It is introduced in “{label(paper, year=False)}” ({paper.file}; {counted(times, 'time')}).",
                )
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
            said = f"I found “{label(paper, year=False)}” in no reference list of the {many}."
            return Routed("mentions", note, (Block("text", said),), nothing_found=True)
        citing.sort(key=lambda one: one.file)
        quoted = [best_quote(list(one.references.values()), "cite") for one in citing[:_MOST_SHOWN]]
        verb = "cites" if len(citing) == 1 else "cite"
        blocks = [Block("text", f"{counted(len(citing), 'paper')} {verb} “{label(paper, year=False)}” ({paper.file}):")]
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


def _quoted(one: PaperMentions, kind: str) -> Quoted:
    places = one.text or one.references
    return best_quote([places[at] for at in sorted(places)], kind)


def _hits(quoted: Iterable[Quoted]) -> tuple[Hit, ...]:
    chunks = {one.chunk.chunk_id: one.chunk for one in quoted}
    return tuple(Hit(rank, chunk, 1.0, {}, ("keywords",)) for rank, chunk in enumerate(chunks.values(), 1))


def _more(number: int) -> str:
    return f"And {number - _MOST_SHOWN:,} more."


def _is_name(text: str) -> bool:
    return any(char.isupper() or char.isdigit() for char in text)


def _page(breaks: Sequence[tuple[int, int]], at: int) -> int:
    return [page for start, page in breaks if start <= at][-1]


def _pages(pages: Sequence[int]) -> str:
    shown = ", ".join(map(str, pages[:_MOST_PAGES]))
    return f"{shown} …" if len(pages) > _MOST_PAGES else shown
