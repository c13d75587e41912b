"""Names that a paper enumerates as its data sets, baselines, tasks and the like, with the sentences that do so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ragscience.ask.aspect_route import zone_of
from ragscience.ask.paper_text import PaperSentence, PaperText, Part
from ragscience.core.records import Citation
from ragscience.core.tokenizing import joined_lines, terms


@dataclass(frozen=True, slots=True)
class ListKind:
    """What can be listed, and how a paper speaks of it."""

    name: str
    nouns: str
    """How a paper calls it."""
    uses: str = ""
    """Words before an enumeration of it that say that the paper uses it; empty where they may say it of others."""
    has_names: bool = True
    """Whether its items are names, with a capital or a digit."""


_EVALUATED = (
    r"(?:evaluat\w{1,4}|test(?:ed|s)?|train(?:ed|ing)?|experiment(?:s|ed)?|fine-?tun\w{1,3}|results|performance|"
    r"report\w{0,3})"
)
KINDS = (
    ListKind(
        "data set",
        r"data ?sets?|corpus|corpora|databases?|benchmarks?|test sets?|collections?",
        rf"{_EVALUATED} (?:\w{{1,15}} ){{0,6}}on",
    ),
    ListKind(
        "baseline",
        r"baselines?|(?:baseline|competing|previous|prior|existing) (?:methods?|models?|systems?|approaches)|"
        r"(?:methods|approaches|models|systems) compared|compared (?:methods|approaches|models|systems)",
        r"(?:compar\w{1,4}|baselines?|outperform\w{0,3}) (?:\w{1,15} ){0,5}(?:to|with|against)",
    ),
    ListKind(
        "task",
        r"tasks?|problems|applications",
        has_names=False,
    ),
)


@dataclass
class Item:
    """A name, as it stands in the paper, and what speaks for it."""

    text: str
    cited: tuple[Citation, ...]
    support: float = 0.0


@dataclass(frozen=True, slots=True)
class Listed:
    """What was found of a kind."""

    items: tuple[Item, ...]
    sentences: tuple[PaperSentence, ...]
    """Those that enumerate, the one with most items first."""


_ENUMERATION_MARK = re.compile(r"[,;]? (?:and|or|as well as) |[,;] ")
_JOINS = re.compile(r"and|or|as")
_BRACKETS = re.compile(r"\s?\((?!\d{1,2}\))[^()]{0,160}\)|\s?\[[^\[\]]{0,60}\]")
_NUMBERING = re.compile(r"\((?:\d{1,2}|[ivx]{1,4}|[a-h])\)\s?")
_PROPER = r"(?:[A-Z\d][\w+’'./-]{0,30}|[a-z]{1,6}[A-Z\d][\w-]{0,30})"
_NAME = re.compile(rf"{_PROPER}(?: (?:of |of the )?{_PROPER}){{0,5}}")
_ANNOUNCES = re.compile(
    r"(?<!\ball )(?<!\bthe )(?<!\bthese )(?<!\bother )"
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|several|following)(?: [\w’-]{1,20}){0,5}$",
    re.I,
)
_ITS_OWN = re.compile(r"\b(?:we|our|us|were|was|used|following|experiments)\b", re.I)
_SUBJECT = re.compile(rf"(?:\W{{0,3}}|\d[.)] )(?:(?:The|A)(?: [a-z]{{3,12}})? )?({_NAME.pattern})")
_OPENING = re.compile(
    r"(?:\W{0,3})([A-Z][\w’'/-]{0,30}(?: (?!The |Another |An? )[\w’'/-]{1,30}){0,4}?)(?<! to)(?<! of)(?<! for)(?<! in)"
    r"(?: \([^()]{1,40}\))?"
    r"(?:,| is| are| was| as proposed| The|:|\.|"
    r" [a-z]{3,12}s(?= (?:the|a|an|special|only|additional|trainable|two|to)\b)) "
)
_STRONG_LEAD = re.compile(r"\s?,? ?(?:such as|including|namely|like|e\.g\.|:)|[a-z ]{0,40}:", re.I)
_SPACES = re.compile(r"\s+")
_ENDS = re.compile(
    r"[:;.](?=\s|$)|,? (?:where|which|that|while|because|using|respectively|with|for which|as well as|by|from|when|"
    r"after)\b|—"
)
_ARTICLE = re.compile(r"^(?:the|a|an|also|both|on|to|and|or|with|its|their) ", re.I)
_LETTER = re.compile(r"[A-Za-z]")
_CLAUSE = re.compile(r"\b(?:we|is|are|was|were|can|it|they|our|this|has|have|not|be)\b", re.I)
_PREPOSITION = re.compile(r"(?:in|for|on|of|to|such|other|others|more|etc|so on|a certain|before|performance)\b", re.I)
_BEFORE_NAME = re.compile(r"(?:^|\W)(?:the|on|of|from|to|our|and|in|a|an)\s$", re.I)
_PLAIN_WORD = re.compile(r"[A-Z][a-z]+")
_MARKS = re.compile(r"[-–’'.]")
_BEFORE_COLON = 40
"""Characters between the word for a kind and the colon before its enumeration."""
_PARAGRAPH_REST = 700
"""Characters of a paragraph that are given with the sentence that announces a list."""
_LEADS = re.compile(
    r"(?:such as|including|includes?|namely|e\.g\.,?|for example,?|are|were|like|following|:|on|the|as|,)\s*", re.I
)
_STARTERS = frozenset(
    """
    the this these those our we table figure section appendix in for following what a an no to on as with by from it all
    both each first second third finally however while when if after since note let here there given see how
    """.split()  # noqa: SIM905
)
_WORDS_OF_AN_ITEM = 6
_NOT_DONE = frozenset({"related", "future", "discussion", "conclusion", "limits"})
"""Where a paper speaks of others, and of what it has not done."""
_MANY_COLUMNS = 4


def listed(paper: PaperText, kind: ListKind, wanted: frozenset[str], must: re.Pattern[str] | None) -> Listed:
    """What the paper lists of a kind; with `wanted` terms only in sentences that hold one, or under such a heading.

    `must` is what such a sentence has to contain.
    """
    return _Search(paper, kind, wanted, must).result()


class _Search:
    """The search for the items of one kind in one paper."""

    def __init__(self, paper: PaperText, kind: ListKind, wanted: frozenset[str], must: re.Pattern[str] | None) -> None:
        self._paper = paper
        self._kind = kind
        self._wanted = wanted
        self._must = must
        self._nouns = re.compile(rf"\b(?:{kind.nouns})\b", re.I)
        self._uses = re.compile(rf"\b(?:{kind.uses})\b" if kind.uses else r"(?!)", re.I)
        self._found: dict[str, Item] = {}
        self._enumerating: list[tuple[int, int, PaperSentence]] = []
        self._prose = "\n".join(part.text for part in paper.parts if part.kind in ("text", "abstract", "list"))

    def result(self) -> Listed:
        """The items that enough speaks for, the best first, and the sentences that enumerate."""
        sentences = [one for one in self._paper.sentences if len(one.text) > 30 and self._is_asked(one)]
        for place, sentence in enumerate(sentences):
            if zone_of(sentence.section, sentence.kind) not in _NOT_DONE:
                self._read(place, sentence)
        cells = {_key(cell) for part in self._paper.parts if part.kind == "table" for cell in _cells(part.text)}
        for key, item in self._found.items():
            item.support += 0.5 * (key in cells)
        if not self._wanted and self._must is None:
            self._read_tables()
        kept = [item for item in self._found.values() if item.support >= 1.0 and self._is_used(item)]
        best = sorted(self._enumerating, key=lambda each: each[:2], reverse=True)
        kept = [item for item in kept if not any(_is_part(item, other) for other in kept)]
        kept.sort(key=lambda item: -item.support)
        return Listed(tuple(kept), tuple({id(one): one for _, _, one in best}.values()))

    def _is_asked(self, sentence: PaperSentence) -> bool:
        if self._wanted and not self._wanted & {*terms(sentence.text), *terms(sentence.section)}:
            return False
        return self._must is None or bool(self._must.search(sentence.text) or self._must.search(sentence.section))

    def _read(self, place: int, sentence: PaperSentence) -> None:
        names = self._enumerated(sentence)
        if len(names) >= 2 and self._is_its_own(sentence):
            self._enumerating.append((len(names), -place, sentence))
            for name in names:
                self._add(name, sentence, 1.0 if len(names) > 2 else 0.6)
            if self._announces(sentence):  # a full stop may stand within the enumeration
                for following in [*self._rest_of_paragraph(sentence)][:1]:
                    for name in self._run(_plain(following.text)):
                        self._add(name, following, 1.0)
        elif self._announces(sentence):
            self._enumerating.append((2, -place, sentence))
            for following in self._rest_of_paragraph(sentence):
                subject = _SUBJECT.match(following.text) if self._kind.has_names else None
                if subject and _is_name(subject.group(1)):
                    self._enumerating.append((2, -place, following))
                    self._add(subject.group(1), following, 0.6)
        elif self._kind.has_names and sentence.is_first and self._has_section(sentence):
            self._enumerating.append((2, -place, sentence))
            opening = _OPENING.match(sentence.text)
            if opening and _is_name(opening.group(1)):
                self._add(opening.group(1), sentence, 2.0)
        if self._kind.has_names:
            for name in self._beside(sentence.text):
                self._add(name, sentence, 0.6)

    def _add(self, name: str, sentence: PaperSentence, support: float) -> None:
        item = self._found.setdefault(_key(name), Item(name, sentence.citations))
        if support >= 1.0 > item.support:
            item.cited = sentence.citations
        item.support += support

    def _enumerated(self, sentence: PaperSentence) -> list[str]:
        """The items of the longest enumeration behind a word for the kind, or behind a word for its use."""
        clean = _plain(sentence.text)
        nouns = list(self._nouns.finditer(clean))
        starts = [match.end() for match in nouns]
        starts += [at + 1 for match in nouns if (at := clean.find(":", match.end(), match.end() + _BEFORE_COLON)) > 0]
        if nouns or self._nouns.search(sentence.section.rpartition("›")[2]):
            starts += [match.end() for match in self._uses.finditer(clean)]
        return max((self._run(clean[start:]) for start in starts), key=len, default=[])

    def _run(self, text: str) -> list[str]:
        """The items that `text` begins with: "such as A, B, and C"; the one behind an "and" is the last."""
        if not self._kind.has_names and not _STRONG_LEAD.match(text):
            return []
        at = 0
        while lead := _LEADS.match(text, at) or _SPACES.match(text, at):
            at = lead.end()
        text = _ENDS.split(text[at:], maxsplit=1)[0]
        items: list[str] = []
        begin, before = 0, ""
        for mark in [*_ENUMERATION_MARK.finditer(text), None]:
            item = self._item(text[begin : mark.start() if mark else len(text)], is_last=mark is None)
            if item is None:
                break
            items.append(item)
            if mark is None or _JOINS.search(before):
                break
            begin, before = mark.end(), mark.group()
        return items if len(items) >= (2 if self._kind.has_names else 3) else []

    def _item(self, piece: str, *, is_last: bool) -> str | None:
        piece = _ARTICLE.sub("", piece.strip())
        if self._kind.has_names:
            match = _NAME.match(piece)
            if not match or not _is_name(match.group()):
                return None
            rest = piece[match.end() :].strip()
            if rest and not is_last and not self._nouns.match(rest) and len(rest.split()) > 4:
                return None
            return match.group().rstrip(".'’")
        ended = _CLAUSE.split(self._nouns.split(piece, maxsplit=1)[0], maxsplit=1)[0].strip() if is_last else piece
        is_plain = (
            1 <= len(ended.split()) <= _WORDS_OF_AN_ITEM and not _CLAUSE.search(ended) and not _PREPOSITION.match(ended)
        )
        ended = ended.rstrip(" ,;")
        return ended if is_plain and len(ended) > 2 else None

    def _announces(self, sentence: PaperSentence) -> bool:
        """Whether a sentence says that several follow: "we consider five datasets"."""
        return bool(_ITS_OWN.search(sentence.text)) and any(
            _is_plural(match.group()) and _ANNOUNCES.search(sentence.text[: match.start()].rstrip())
            for match in self._nouns.finditer(sentence.text)
        )

    def _is_its_own(self, sentence: PaperSentence) -> bool:
        """Whether the sentence speaks of what the paper does, not of what there is."""
        zone = zone_of(sentence.section, sentence.kind)
        return zone in ("data", "experiments", "abstract") or bool(_ITS_OWN.search(sentence.text))

    def _has_section(self, sentence: PaperSentence) -> bool:
        """Whether the sentence stands under a heading that is the kind in the plural: "5.1 Baselines"."""
        heading = sentence.section.rpartition("›")[2]
        if zone_of(sentence.section, sentence.kind) == "other":
            return False
        return any(len(heading) < 40 and match.group()[-1:] in "sSda" for match in self._nouns.finditer(heading))

    def _rest_of_paragraph(self, sentence: PaperSentence) -> Iterator[PaperSentence]:
        is_behind, length = False, 0
        for following in self._paper.sentences_of(sentence.paragraph):
            length += len(following.text) if is_behind else 0
            if is_behind and length <= _PARAGRAPH_REST:
                yield following
            is_behind = is_behind or following.text == sentence.text

    def _beside(self, text: str) -> Iterator[str]:
        """Names right before a word for one of the kind: "the GSM8K benchmark"."""
        clean = _BRACKETS.sub("", text)
        for match in self._nouns.finditer(clean):
            before = clean[max(0, match.start() - 80) : match.start()].rstrip()
            for name in _NAME.finditer(before):
                is_next = name.end() == len(before) and bool(_BEFORE_NAME.search(before[: name.start()]))
                if is_next and not _is_plural(match.group()) and _is_name(name.group()):
                    yield f"{name.group()} {match.group()}" if match.group()[0].isupper() else name.group()

    def _read_tables(self) -> None:
        """The cells under a header that is a word for the kind, and the header where the caption speaks of several."""
        caption = ""
        for part in self._paper.parts:
            caption = part.text if part.kind == "caption" else caption
            if part.kind != "table":
                continue
            rows = [
                [cell.strip() for cell in row.strip().strip("|").split("|")] for row in part.text.strip().split("\n")
            ]
            heads = [n for n, head in enumerate(rows[0][:2]) if self._nouns.fullmatch(head)]
            cells = [row[column] for column in heads for row in rows[2:] if column < len(row)]
            for cell in cells:
                self._add_cell(cell, part, 1.0)
            is_of_several = any(_is_plural(match.group()) for match in self._nouns.finditer(caption))
            if self._kind.has_names and is_of_several and not heads:
                named = [
                    cell for cell in rows[0][1:] if _NAME.fullmatch(_plain(cell)) and not _PLAIN_WORD.fullmatch(cell)
                ]
                for cell in named:
                    self._add_cell(cell, part, 0.9 if len(set(named)) >= _MANY_COLUMNS else 0.4)

    def _add_cell(self, cell: str, table: Part, support: float) -> None:
        name = joined_lines(_plain(cell))
        is_whole = bool(_LETTER.search(name)) and "-" not in (name[-1], name[0]) and " -" not in name
        if is_whole and len(name.split()) <= _WORDS_OF_AN_ITEM and (not self._kind.has_names or _NAME.fullmatch(name)):
            self._found.setdefault(_key(name), Item(name, self._paper.cite([table]))).support += support

    def _is_used(self, item: Item) -> bool:
        """Whether the running text has a name, and more than once what only one sentence lists."""
        if not self._kind.has_names:
            return True
        least = 1 if item.support >= 2 else 2
        if _PLAIN_WORD.fullmatch(item.text):  # else a sentence only begins with it
            return len(re.findall(rf"[a-z,] {re.escape(item.text)}\b", self._prose)) >= least
        return self._prose.count(item.text) >= least


def _is_part(item: Item, other: Item) -> bool:
    """Whether an item is only the beginning of another."""
    return item is not other and other.text.startswith(f"{item.text} ") and other.support >= item.support


def _cells(table: str) -> Iterator[str]:
    for row in table.split("\n"):
        yield from (_BRACKETS.sub("", cell).strip() for cell in row.split("|") if cell.strip())


def _plain(text: str) -> str:
    """`text` without what stands in brackets: sources, years, short forms, numbers of items."""
    return _NUMBERING.sub("", _BRACKETS.sub("", text))


def _is_plural(noun: str) -> bool:
    return noun.casefold() != "corpus" and noun[-1] in "sSa"


def _is_name(name: str) -> bool:
    return name.casefold().split()[0] not in _STARTERS and len(name) > 1 and bool(_LETTER.search(name))


def _key(name: str) -> str:
    return " ".join(_MARKS.sub(" ", name).casefold().split())
