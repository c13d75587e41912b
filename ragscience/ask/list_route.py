"""Questions for a list: the data sets, baselines, tasks, measures or hyperparameters of a paper.

The sentences are chosen as for any aspect of a paper (`aspect_route`). Items are the names that they enumerate, or the
words of the aspect themselves, which captions and tables have, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import dropwhile, islice, pairwise

from ragscience.ask.aspect_route import Aspect, Sentences, aspects
from ragscience.ask.paper_text import PaperSentence, PaperText
from ragscience.ask.route_records import RouteContext, Routed, label
from ragscience.ask.slots import Slots
from ragscience.core.records import Block, Citation
from ragscience.core.tokenizing import joined_lines, terms

_PROPER = r"(?:[A-Z\d][\w+’'./-]{0,30}|[a-z]{1,6}[A-Z\d][\w-]{0,30})"
_NAME = re.compile(rf"{_PROPER}(?: (?:of |of the )?{_PROPER}){{0,5}}")
_PHRASE = re.compile(r"(?!(?:in|for|on|of|to|such|other|more|etc)\b)[\w’'/-]{3,30}(?: [\w’'/-]{1,30}){0,4}$")
_BESIDE = re.compile(rf"\b(?:the|on|of|from|to|our|and|in|an?) ({_NAME.pattern}) $")
_OPENING = re.compile(
    r"\W{0,3}(?:The (?:[a-z]{3,12} )?)?([A-Z][\w’'/-]{0,30}(?: [\w’'/-]{1,30}){0,3}?)(?: \([^()]{1,40}\))?"
    r"(?:[,:.]| as| are| The| [a-z]{0,12}s) "
)
"""What a sentence is about that begins so."""
_BRACKETS = re.compile(r"\s?\((?!\d{1,2}\))[^()]{0,160}\)|\s?\[[^\[\]]{0,60}\]|\((?:\d{1,2}|[ivx]{1,4}|[a-h])\)\s?")
"""Sources, years, short forms, numbers of items."""
_LEAD = re.compile(
    r"(?:[ ,:]|(?:such as|including|includes?|namely|e\.g\.|are|were|like|following|of|on|the|as)\b)*+", re.I
)
_TELLS = re.compile(r"such as|includ|namely|like|e\.g\.|:", re.I)
"""In a lead: that what follows are items."""
_ENDS = re.compile(
    r"[:;.](?=\s|$)|,? (?:where|which|that|while|because|using|respectively|with|for which|as well as|by|from|when|"
    r"after)\b|—"
)
_MARK = re.compile(r"[,;]? (?:and|or) |[,;] ")
_ARTICLE = re.compile(r"^(?:(?:the|an?|also|both|on|to|and|or|its|their) )?+", re.I)
_CLAUSE = re.compile(r" (?:we|is|are|was|were|can|it|they|our|this|has|have|not|be)\b.*", re.I)
_ANNOUNCES = re.compile(
    r"(?<!\ball )(?<!\bthe )(?<!\bthese )(?<!\bother )"
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|several|following)(?: [\w’-]{1,20}){0,5}$",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[\d.,/-]+\w?")
_STARTERS = frozenset(
    """
    the this these those our we table figure section appendix in for following what a an no to on as with by from it all
    both each first second third finally however while when if after since instead many
    most some training note let here there given see how
    """.split()  # noqa: SIM905
)
_MOST_QUOTES, _MOST_TABLES, _MOST_ITEMS = 4, 2, 20
_MOST_QUALIFIERS, _MOST_FOLLOWING = 5, 8
_ENOUGH = 2.0
"""What speaks for an item that is given."""
_SHORT = 90
"""Characters of an entry of a list that is an item itself: "Batch size: 16, 32"."""


def answer(kind: str, slots: Slots, context: RouteContext) -> Routed | None:
    """The items that a paper lists, each with its page, and the sentences that do so; None where none are found."""
    if len(slots.papers) != 1 or len(slots.extra) > _MOST_QUALIFIERS:
        return None
    paper, aspect = PaperText(context.library, slots.papers[0]), aspects()[kind]
    found = _Items(paper, aspect)
    sentences = found.read(Sentences(paper, context.names).ranked(aspect, slots.extra))
    tables = found.read_tables(slots.extra)
    own = paper.paper.paper_id
    items = [item for item in found.best() if own not in {one.paper_id for one in context.names.in_text(item.text)}]
    if len(items) < 2 and not tables and not (aspect.gives == "words" and (items or sentences)):
        return None
    blocks = [
        *(Block("item", item.text, item.cited[:1]) for item in items[:_MOST_ITEMS]),
        *tables,
        *(Block("quote", one.text, one.citations, is_brief=n > 1) for n, one in enumerate(sentences)),
    ]
    hits = paper.hits([cited for block in blocks for cited in block.citations], "list")
    title = label(paper.paper, year=False)
    note = f"Looked for the {kind.replace('_', ' ')} that “{title}” enumerates, in its text and tables."
    return Routed("list", note, tuple(blocks), hits, "high" if len(items) > 2 else "medium", for_llm=True)


@dataclass
class _Item:
    """An item as it stands in the paper, and what speaks for it."""

    text: str
    cited: tuple[Citation, ...]
    support: float = 0.0


@dataclass
class _Items:
    """The items of one kind in one paper."""

    paper: PaperText
    aspect: Aspect
    _found: dict[str, _Item] = field(default_factory=dict)

    def best(self) -> list[_Item]:
        """Those that enough speaks for, the best first; none that is only the beginning of another."""
        kept = [item for item in self._found.values() if item.support >= _ENOUGH]
        whole = [one for one in kept if not any(_is_part(one, two) for two in kept)]
        return sorted(whole, key=lambda item: -item.support)

    def _add(self, text: str, cited: tuple[Citation, ...], support: float) -> None:
        key = " ".join(text.replace("-", " ").casefold().removesuffix("s").split())
        self._found.setdefault(key, _Item(text, cited)).support += support

    def read(self, sentences: Sequence[PaperSentence]) -> list[PaperSentence]:
        """Take the items of the sentences; gives the sentences with most of them, the best first."""
        counted = list[tuple[int, PaperSentence]]()
        for sentence in sentences:
            items = self._items_of(sentence)
            counted += [(len(items), sentence)] if len(items) > 1 else []
            if self.aspect.values:  # a word alone says nothing; an entry of a list gives its value
                items = {sentence.text.lstrip("•*- "): _ENOUGH} if _is_entry(sentence) else {}
            for item, support in items.items():
                self._add(item, sentence.citations, support)
            for following in self._announced(sentence):
                heads = self._heads(following)
                counted += [(len(heads), following)] if heads else []
                for item in heads:
                    self._add(item, following.citations, _ENOUGH if any(map(str.isupper, item[1:])) else 1.0)
        best = [one for _, one in sorted(counted, key=lambda each: -each[0])]
        return list(dict.fromkeys(best))[:_MOST_QUOTES]

    def read_tables(self, wanted: frozenset[str]) -> list[Block]:
        """Take the words of captions and heads of tables; gives the tables that have values, by their captions."""
        tables = list[Block]()
        for caption, part in pairwise(self.paper.parts) if self.aspect.gives == "words" else ():
            if caption.kind != "caption" or (wanted and not wanted & set(terms(caption.text))):
                continue
            text, is_table = joined_lines(caption.text), part.kind == "table"
            cited = self.paper.cite([caption, part] if is_table else [caption])
            if not self.aspect.values:
                head = part.text.split("\n")[:3] if is_table else []
                for found in self.aspect.words.finditer("\n".join([text, *head])):
                    self._add(found.group(), cited, _ENOUGH)
            elif is_table and self.aspect.heading.search(text):
                tables.append(Block("table", part.text.strip(), cited, text))
        return tables[:_MOST_TABLES]

    def _announced(self, sentence: PaperSentence) -> Iterator[PaperSentence]:
        """What follows in the paragraph of a sentence that says that several follow: "we consider five datasets"."""
        words = self.aspect.words.finditer(sentence.text)
        if any(_ANNOUNCES.search(sentence.text[: found.start()].rstrip()) for found in words):
            rest = dropwhile(lambda one: one != sentence, self.paper.sentences_of(sentence.paragraph))
            yield from islice(rest, 1, _MOST_FOLLOWING)

    def _items_of(self, sentence: PaperSentence) -> dict[str, float]:
        """The items of a sentence, and how much it speaks for each."""
        if self.aspect.gives == "words":
            return dict.fromkeys((found.group() for found in self.aspect.words.finditer(sentence.text)), 1.0)
        text, items, beside = _BRACKETS.sub("", sentence.text), dict[str, float](), list[str]()
        for word in self.aspect.words.finditer(text):
            run, is_told = self._run(text[word.end() :])
            items |= dict.fromkeys(run, _ENOUGH if len(run) > 1 and (is_told or len(run) > 2) else 1.0)
            before = _BESIDE.search(text[: word.start()]) if self.aspect.gives == "names" else None
            beside += [before[1]] if before and _is_name(before[1]) else []
        items = dict.fromkeys(beside, _ENOUGH if len(set(beside)) > 2 else 1.0) | items
        if sentence.is_first and self.aspect.heading.search(sentence.section.rpartition("›")[2]):
            items |= dict.fromkeys(self._heads(sentence), _ENOUGH)
        return items

    def _run(self, text: str) -> tuple[list[str], bool]:
        """The items that a text begins with, and whether something says that they are such."""
        lead = _LEAD.match(text)
        is_told, at = bool(lead and _TELLS.search(lead[0])), lead.end() if lead else 0
        has_names, items = self.aspect.gives == "names", list[str]()
        for piece in _MARK.split(_ENDS.split(text[at:], maxsplit=1)[0]) if has_names or is_told else ():
            plain = _CLAUSE.sub("", _ARTICLE.sub("", piece))
            found = (_NAME if has_names else _PHRASE).match(plain)
            if found is None or (has_names and not _is_name(found[0])):
                break
            items.append(found[0].rstrip(".'’"))
        return (items if has_names or len(items) > 1 else []), is_told

    def _heads(self, sentence: PaperSentence) -> list[str]:
        """The names that a sentence begins with."""
        found = _OPENING.match(sentence.text)
        run, _ = self._run(_BRACKETS.sub("", sentence.text))
        return run if len(run) > 1 else [found[1]] if found and _is_name(found[1]) else []


def _is_part(item: _Item, other: _Item) -> bool:
    return other.text.startswith(f"{item.text} ") and other.support >= item.support


def _is_entry(sentence: PaperSentence) -> bool:
    return sentence.kind == "list" and len(sentence.text) < _SHORT


def _is_name(name: str) -> bool:
    return name.casefold().split()[0] not in _STARTERS and len(name) > 1 and not _NUMBER.fullmatch(name)
