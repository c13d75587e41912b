"""Questions for a list: the data sets, baselines, tasks, measures or hyperparameters of a paper."""

from __future__ import annotations

import re

from ragscience.ask.aspect_route import zone_of
from ragscience.ask.list_items import KINDS, Listed, listed
from ragscience.ask.paper_text import PaperSentence, PaperText
from ragscience.ask.route_records import RouteContext, Routed, label
from ragscience.ask.slots import Slots
from ragscience.core.records import Block, Citation
from ragscience.core.tokenizing import joined_lines, terms

_MEASURES = re.compile(
    r"(?<![\w-])(?:(?:top-?[15] )?(?:validation |test )?(?:accuracy|error rates?)|AUROC|AUC|AUPRC|"
    r"(?:micro |macro |mean )?F-?1(?! ?=)|F-?measure|BLEU(?:-\d)?|ROUGE(?:-[\dL])?|METEOR|perplexity|"
    r"bits[ -]per[ -]\w{4,9}|exact match|mean average precision|(?-i:MAP|mAP)|n?DCG(?:@\d{1,2})?|MRR|"
    r"precision(?: at \d{1,2}|@\d{1,2})?|recall(?:@\d{1,2})?|RMSE|MSE|MAE|word error rate|WER|"
    r"(?:odds|hazard|risk) ratios?|(?:weighted )?mean difference|sensitivity(?! analys)|specificity|latency|throughput|"
    r"speed-?ups?|(?:Pearson|Spearman)(?:’s)? correlation|Matthew’?s correlation|R\^2|IC50|Ki(?: values)?)(?![\w-])",
    re.IGNORECASE,
)
_FEWEST = 3
_WEIGHTS = {"caption": 2, "table": 2}
_ZONES = frozenset({"abstract", "results", "experiments", "data", "conclusion"})
_MOST = 10


def measure_blocks(paper: PaperText, wanted: frozenset[str]) -> list[Block]:
    """An item for each measure that captions, the headers of tables, the abstract or the results name often enough."""
    weights: dict[str, int] = {}
    names: dict[str, tuple[int, str, tuple[Citation, ...]]] = {}

    def add(text: str, weight: int, cited: tuple[Citation, ...]) -> None:
        for match in _MEASURES.finditer(text):
            key = match.group().casefold().replace("-", "").removesuffix("s")
            weights[key] = weights.get(key, 0) + weight
            if key not in names or names[key][0] < weight:
                names[key] = weight, match.group(), cited

    for part in paper.parts:
        if part.kind in _WEIGHTS and (not wanted or wanted & set(terms(part.text))):
            text = part.text if part.kind == "caption" else "\n".join(part.text.split("\n")[:3])
            add(text, _WEIGHTS[part.kind], paper.cite([part]))
    for sentence in paper.sentences:
        if zone_of(sentence.section, sentence.kind) in _ZONES and (not wanted or wanted & set(terms(sentence.text))):
            add(sentence.text, 1, sentence.citations)
    kept = sorted((key for key, weight in weights.items() if weight >= _FEWEST), key=lambda key: -weights[key])
    return [Block("item", names[key][1], names[key][2]) for key in kept[:_MOST]]


_NAMES = re.compile(
    r"\b(?:learning rates?|batch size|batch(?:es)? of|mini-?batch|epochs?|dropout|weight decay|warm-?up|momentum|"
    r"optimizer|Adam|SGD|hidden (?:size|units)|layers|beam size|temperature|regulari[sz]ation|clip\w{0,5}|"
    r"sequence length|steps|gradient norm|number of trees|kernel|rank)\b",
    re.IGNORECASE,
)
_CALLED = re.compile(r"\bhyper-?\s?parameters?\b", re.IGNORECASE)
_FEWEST_VALUES = 2
_MOST_SENTENCES = 4
_MOST_TABLES = 2


def hyperparameter_blocks(paper: PaperText, wanted: frozenset[str]) -> list[Block]:
    """Items of lists that name one with a value, tables of them, and the sentences that give at least two values."""
    items = [one for one in paper.sentences if one.kind == "list" and _held(one.text) and _is_asked(one, wanted)]
    items = [one for one in items if len(one.text) < 90]
    sentences = [
        (_held(one.text) + _is_settings(one), -n, one)
        for n, one in enumerate(paper.sentences)
        if one not in items and _held(one.text) >= _FEWEST_VALUES and _is_asked(one, wanted) and len(one.text) > 40
    ]
    best = sorted(sentences, key=lambda each: each[:2], reverse=True)[:_MOST_SENTENCES]
    blocks = [Block("item", one.text.lstrip("•*- "), one.citations) for one in items]
    blocks += _tables(paper, wanted)
    return blocks + [Block("quote", one.text, one.citations) for _, _, one in best]


def _held(text: str) -> int:
    """How many hyperparameters a sentence names, where it has figures."""
    names = {match.group().casefold() for match in _NAMES.finditer(text)}
    return len(names) if any(letter.isdigit() for letter in text) else 0


def _is_settings(sentence: PaperSentence) -> int:
    return 2 * bool(_CALLED.search(sentence.section)) + bool(re.search(r"\b(?:we|our|used?|set)\b", sentence.text))


def _is_asked(sentence: PaperSentence, wanted: frozenset[str]) -> bool:
    is_near = not wanted or bool(wanted & {*terms(sentence.text), *terms(sentence.section)})
    return is_near and zone_of(sentence.section, sentence.kind) != "related"


def _tables(paper: PaperText, wanted: frozenset[str]) -> list[Block]:
    """The tables whose caption speaks of hyperparameters."""
    blocks = []
    for before, part in zip(paper.parts, paper.parts[1:], strict=False):
        is_captioned = before.kind == "caption" and part.kind == "table" and _CALLED.search(before.text + part.text)
        names = {match.group().casefold() for match in _NAMES.finditer(part.text)}
        if is_captioned and len(names) >= _FEWEST_VALUES and (not wanted or wanted & set(terms(before.text))):
            blocks.append(Block("table", part.text.strip(), paper.cite([before, part]), joined_lines(before.text)))
    return blocks[:_MOST_TABLES]


_KIND_OF = {"data_sets": "data set", "baselines": "baseline", "tasks": "task"}
_TRAINED = re.compile(r"\b(?:pre-?)?train(?:ed|ing)?\b", re.I)
_EVALUATED = re.compile(r"\b(?:evaluat|test|benchmark|compar|report)", re.I)
_MOST_ITEMS = 20
_MOST_QUOTES = 4
_MOST_QUALIFIERS = 5


def answer(kind: str, slots: Slots, context: RouteContext) -> Routed | None:
    """The items that a paper lists, each with its page, and the sentences that do so; None where none are found."""
    if len(slots.papers) != 1:
        return None
    paper = PaperText(context.library, slots.papers[0])
    wanted = slots.extra
    if len(wanted) > _MOST_QUALIFIERS:
        return None
    if kind in ("hyperparameters", "metrics"):
        is_metric = kind == "metrics"
        blocks = measure_blocks(paper, wanted) if is_metric else hyperparameter_blocks(paper, wanted)
        name = "measure" if is_metric else "hyperparameter"
        return _routed(paper, name, blocks, "high" if len(blocks) > 1 else "medium") if blocks else None
    listing = next(one for one in KINDS if one.name == _KIND_OF[kind])
    asked = slots.question
    must = _TRAINED if kind == "data_sets" and _TRAINED.search(asked) and not _EVALUATED.search(asked) else None
    blocks, confidence = _blocks(context, paper, listed(paper, listing, wanted, must))
    return _routed(paper, listing.name, blocks, confidence) if blocks else None


def _blocks(context: RouteContext, paper: PaperText, found: Listed) -> tuple[list[Block], str]:
    """The items and the sentences that enumerate them; none where only one name was found: a search says more."""
    own = paper.paper.paper_id
    items = [item for item in found.items if own not in {one.paper_id for one in context.names.in_text(item.text)}]
    blocks = [Block("item", item.text, item.cited[:1]) for item in items[:_MOST_ITEMS]]
    if len(items) < 2:
        return [], ""
    blocks += [
        Block("quote", one.text, one.citations, is_brief=n > 1) for n, one in enumerate(found.sentences[:_MOST_QUOTES])
    ]
    is_sure = len(items) >= 3 and sum(item.support >= 2 for item in items) >= 2 and bool(found.sentences)
    return blocks, "high" if is_sure else "medium"


def _routed(paper: PaperText, kind: str, blocks: list[Block], confidence: str) -> Routed:
    hits = paper.hits([cited for block in blocks for cited in block.citations], "list")
    note = f"Looked for the {kind}s that “{label(paper.paper, year=False)}” enumerates, in its text and tables."
    return Routed("list", note, tuple(blocks), hits, confidence, for_llm=True)
