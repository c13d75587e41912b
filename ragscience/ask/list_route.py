"""Questions for a list: the data sets, baselines, tasks, measures or hyperparameters of a paper."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ragscience.ask.paper_text import PaperSentence, PaperText
from ragscience.ask.route_records import RouteContext, Routed
from ragscience.ask.slots import Slots
from ragscience.ask.summary_cues import zone_of
from ragscience.core.records import Block, Citation, title_of
from ragscience.core.tokenizing import joined_lines, terms


@dataclass(frozen=True, slots=True)
class _Listing:
    """What can be listed of a paper, and how a paper speaks of it."""

    name: str
    nouns: re.Pattern[str]
    """How a paper calls it."""
    items: re.Pattern[str] | None = None
    """What its items look like wherever they stand; None where only an enumeration tells."""
    has_names: bool = True
    """Whether what is enumerated are names, with a capital or a digit."""


def _words(text: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-])(?:{text})(?![\w-])", re.IGNORECASE)


LISTINGS = {
    "data_sets": _Listing(
        "data set", _words(r"data ?sets?|corpus|corpora|databases?|benchmarks?|test sets?|collections?")
    ),
    "baselines": _Listing(
        "baseline",
        _words(r"baselines?|(?:competing|previous|prior|existing|compared) (?:methods?|models?|systems?|approaches)"),
    ),
    "tasks": _Listing("task", _words(r"tasks?|problems|applications"), has_names=False),
    "metrics": _Listing(
        "measure",
        _words("metrics?|measures?|scores?"),
        _words(
            r"(?:top-?[15] )?(?:validation |test )?(?:accuracy|error rates?)|AUROC|AUC|AUPRC|"
            r"(?:micro |macro |mean )?F-?1|F-?measure|BLEU(?:-\d)?|ROUGE(?:-[\dL])?|METEOR|perplexity|"
            r"bits[ -]per[ -]\w{4,9}|exact match|mean average precision|(?-i:MAP|mAP)|n?DCG(?:@\d{1,2})?|MRR|"
            r"precision(?: at \d{1,2}|@\d{1,2})?|recall(?:@\d{1,2})?|RMSE|MSE|MAE|word error rate|WER|"
            r"(?:odds|hazard|risk) ratios?|(?:weighted )?mean difference|sensitivity(?! analys)|specificity|latency|"
            r"throughput|speed-?ups?|(?:Pearson|Spearman)(?:’s)? correlation|Matthew’?s correlation|R\^2|IC50"
        ),
    ),
    "hyperparameters": _Listing(
        "hyperparameter",
        _words(r"hyper-?\s?parameters?"),
        _words(
            r"learning rates?|batch size|batch(?:es)? of|mini-?batch|epochs?|dropout|weight decay|warm-?up|momentum|"
            r"optimizer|Adam|SGD|hidden (?:size|units)|layers|beam size|temperature|regulari[sz]ation|clip\w{0,5}|"
            r"sequence length|steps|gradient norm|number of trees|kernel|rank"
        ),
    ),
}
_MARK = re.compile(r"[,;]? (?:and|or|as well as) |[,;] ")
_BRACKETS = re.compile(r"\s?\((?!\d{1,2}\))[^()]{0,160}\)|\s?\[[^\[\]]{0,60}\]|\((?:\d{1,2}|[ivx]{1,4}|[a-h])\)\s?")
_PROPER = r"(?:[A-Z\d][\w+’'./-]{0,30}|[a-z]{1,6}[A-Z\d][\w-]{0,30})"
_NAME = re.compile(rf"{_PROPER}(?: (?:of |of the )?{_PROPER}){{0,5}}")
_OPENING = re.compile(
    r"\W{0,3}([A-Z][\w’'/-]{0,30}(?: [\w’'/-]{1,30}){0,4}?)(?: \([^()]{1,40}\))?(?:[,:]| is| are| was)"
)
_LEADS = re.compile(
    r"(?:such as|including|includes?|namely|e\.g\.,?|for example,?|are|were|like|following|:|on|the|,)?\s+|:"
)
_ENDS = re.compile(
    r"[:;.](?=\s|$)|,? (?:where|which|that|while|because|using|respectively|with|for which|by|from|when|after)\b|—"
)
_CLAUSE = re.compile(r"\b(?:we|is|are|was|were|can|it|they|our|this|has|have|not|be)\b", re.IGNORECASE)
_USES = re.compile(r"\b(?:on|to|with|against|as|[a-z]{2,20}):? (?=[A-Z\d])")
_SMALL = re.compile(r"(?:the|a|an|also|both|on|to|and|or|with|its|their|in|for|of|such|others?|more|etc|we|our) ", re.I)
_ARTICLE = re.compile(r"\s*(?:the|a|an|also|both|its|their|and|or|on) ", re.IGNORECASE)
_ITS_OWN = re.compile(r"\b(?:we|our|us|were|was|used|following|experiments)\b", re.IGNORECASE)
_OF_OTHERS = frozenset({"related", "future", "discussion", "conclusion", "limits"})
"""Parts of a paper that speak of others, and of what it has not done."""
_LONGEST_ITEM, _LONGEST_LINE = 6, 90
"""Words of an enumerated item; characters of an item of a list."""
_FEWEST_NAMED = 3
"""Weight from which on a measure is one of the paper: it counts 2 in a caption or a table's head, else 1."""
_MOST_ITEMS, _MOST_QUOTES, _MOST_TABLES, _MOST_QUALIFIERS = 20, 4, 2, 5


def answer(kind: str, slots: Slots, context: RouteContext) -> Routed | None:
    """The items that a paper lists, each with its page, and the sentences that do so; None where none are found."""
    if len(slots.papers) != 1 or len(slots.extra) > _MOST_QUALIFIERS:
        return None
    search = _Search(PaperText(context.library, slots.papers[0]), LISTINGS[kind], slots.extra)
    own = slots.papers[0].paper_id
    found = [one for one in search.items() if own not in {name.paper_id for name in context.names.in_text(one.text)}]
    tables, quotes = search.tables(), search.quotes()
    if len(found) + 2 * len(tables) < (1 if search.listing.items and not tables else 2) and len(quotes) < 2:
        return None
    blocks = [*found[:_MOST_ITEMS], *tables, *quotes]
    note = (
        f"Looked for the {search.listing.name}s that “{title_of(slots.papers[0])}” enumerates, in its text and tables."
    )
    hits = search.paper.hits([cited for block in blocks for cited in block.citations], "list")
    return Routed("list", note, tuple(blocks), hits, "high" if len(found) > 2 and quotes else "medium", for_llm=True)


class _Search:
    """The search for what one paper lists of a kind; with `wanted` terms only where one of them stands."""

    def __init__(self, paper: PaperText, listing: _Listing, wanted: frozenset[str]) -> None:
        self.paper = paper
        self.listing = listing
        self._wanted = wanted
        self._named: dict[str, tuple[float, str, tuple[Citation, ...]]] = {}
        self._enumerating: list[tuple[float, int, PaperSentence]] = []
        for part in paper.parts:
            if listing.name == "measure" and part.kind in ("caption", "table") and self._is_asked(part.text):
                head = part.text if part.kind == "caption" else "\n".join(part.text.split("\n")[:3])
                self._add(self._found(head), 2.0, paper.cite([part]))
        for place, sentence in enumerate(paper.sentences):
            if self._is_asked(f"{sentence.text} {sentence.section}") and self._is_its_own(sentence):
                self._read(place, sentence)

    def items(self) -> list[Block]:
        """What is listed, that with most weight first; of the settings, the lines of a list that set one."""
        least = _FEWEST_NAMED if self.listing.name == "measure" else 1
        best = sorted((one for one in self._named.values() if one[0] >= least), key=lambda one: -one[0])
        return [Block("item", name, cited[:1]) for _, name, cited in best]

    def quotes(self) -> list[Block]:
        """The sentences that list most."""
        best = sorted(self._enumerating, key=lambda each: each[:2], reverse=True)[:_MOST_QUOTES]
        return [Block("quote", one.text, one.citations, is_brief=at > 1) for at, (_, _, one) in enumerate(best)]

    def tables(self) -> list[Block]:
        """The tables whose caption speaks of the hyperparameters that they have."""
        blocks = []
        for before, part in zip(self.paper.parts, self.paper.parts[1:], strict=False):
            is_table = before.kind == "caption" and part.kind == "table" and self._is_asked(before.text)
            is_one = is_table and self.listing.name == "hyperparameter" and len(self._found(part.text)) > 1
            if is_one and self.listing.nouns.search(before.text + part.text):
                cited = self.paper.cite([before, part])
                blocks.append(Block("table", part.text.strip(), cited, joined_lines(before.text)))
        return blocks[:_MOST_TABLES]

    def _is_asked(self, text: str) -> bool:
        return not self._wanted or bool(self._wanted & set(terms(text)))

    def _is_its_own(self, sentence: PaperSentence) -> bool:
        """Whether the sentence speaks of what the paper does, not of what there is."""
        zone = zone_of(sentence.section, sentence.kind)
        return zone not in _OF_OTHERS and (
            zone in ("data", "experiments", "results", "abstract") or bool(_ITS_OWN.search(sentence.text))
            or self.listing.name == "hyperparameter"
        )  # fmt: skip

    def _found(self, text: str) -> list[str]:
        """Each item once, by what items look like."""
        matches = self.listing.items.finditer(text) if self.listing.items else ()
        return list({match.group().casefold(): match.group() for match in matches}.values())

    def _add(self, names: list[str], weight: float, cited: tuple[Citation, ...]) -> None:
        for name in names:
            key = re.sub(r"[-–’'. ]", "", name).casefold().removesuffix("s")
            before, called, where = self._named.get(key, (0.0, name, cited))
            self._named[key] = before + weight, called, where

    def _read(self, place: int, sentence: PaperSentence) -> None:
        names, heading = self._found(sentence.text), sentence.section.rpartition("›")[2]
        if self.listing.name == "measure":
            self._add(names, 1.0, sentence.citations)
        elif self.listing.items and any(letter.isdigit() for letter in sentence.text):
            if sentence.kind == "list" and names and len(sentence.text) < _LONGEST_LINE:
                self._add([sentence.text.lstrip("•*- ")], 1.0, sentence.citations)
            elif len(names) > 1:
                weight = (
                    len(names) + 2 * bool(self.listing.nouns.search(heading)) + bool(_ITS_OWN.search(sentence.text))
                )
                self._enumerating.append((weight, -place, sentence))
        elif len(names := self._enumerated(sentence.text, heading)) > 1:
            self._add(names, 1.0, sentence.citations)
            self._enumerating.append((len(names), -place, sentence))
        elif self.listing.has_names and sentence.is_first and len(heading) < 40 and self.listing.nouns.search(heading):
            opening = _OPENING.match(sentence.text)
            if opening is not None and not _SMALL.match(f"{opening[1]} "):
                self._add([opening[1]], 1.0, sentence.citations)
                self._enumerating.append((1, -place, sentence))

    def _enumerated(self, text: str, heading: str) -> list[str]:
        """The items of the longest enumeration after a word for the kind, or for its use."""
        clean = _BRACKETS.sub("", text)
        starts = [match.end() for match in self.listing.nouns.finditer(clean)]
        if self.listing.has_names and (starts or self.listing.nouns.search(heading)):
            starts += [match.end() for match in _USES.finditer(clean)]
        return max((list(self._run(clean[start:])) for start in starts), key=len, default=[])

    def _run(self, text: str) -> Iterator[str]:
        """The items that `text` begins with: "such as A, B, and C"; the one after an "and" is the last."""
        at = 0
        while lead := _LEADS.match(text, at):
            at = lead.end()
        if not (self.listing.has_names or at > 1):
            return
        pieces = _MARK.split(_ENDS.split(text[at:], maxsplit=1)[0])
        for piece in pieces if len(pieces) > (1 if self.listing.has_names else 2) else ():
            lead = _ARTICLE.match(piece)
            item = self._item(piece[lead.end() if lead else 0 :].strip(), is_last=piece is pieces[-1])
            if not item:
                return
            yield item

    def _item(self, piece: str, *, is_last: bool) -> str:
        if not self.listing.has_names:
            ended = _CLAUSE.split(piece, maxsplit=1)[0].strip(" ,;") if is_last else piece
            is_plain = 1 <= len(ended.split()) <= _LONGEST_ITEM and not _CLAUSE.search(ended)
            return ended if is_plain and not _SMALL.match(ended) else ""
        name = _NAME.match(piece)
        if name is None or len(name[0]) < 2 or not any(map(str.isalpha, name[0])):
            return ""
        rest = piece[name.end() :].strip()
        goes_on = rest and not is_last and not self.listing.nouns.match(rest) and len(rest.split()) > 4
        return "" if goes_on else name[0].rstrip(".'’")
