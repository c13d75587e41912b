"""Questions for a list: the data sets, baselines, tasks, measures or hyperparameters of a paper."""

from __future__ import annotations

import re
from functools import cache

from ragscience.ask.asked_papers import AskedPapers, once
from ragscience.ask.hyperparameters import hyperparameter_blocks
from ragscience.ask.list_items import Listed, listed
from ragscience.ask.list_kinds import KINDS, ListKind
from ragscience.ask.measures import measure_blocks
from ragscience.ask.paper_text import PaperText
from ragscience.ask.route_records import RouteContext, Routed
from ragscience.core.records import Block, title_of
from ragscience.core.tokenizing import terms

__all__ = ["answer"]

_HYPERPARAMETERS = r"(?:training |model |main )?hyper-?\s?parameters?(?: settings?| values?)?"
_MEASURES = r"(?:evaluation |performance |quality )?(?:metrics|measures)|evaluation criteria"
_ASKED: tuple[tuple[ListKind | str, str], ...] = tuple((kind, kind.asked) for kind in KINDS)
_OTHERS = {"hyperparameter": _HYPERPARAMETERS, "measure": _MEASURES}
_FRAMES: tuple[tuple[ListKind | str, re.Pattern[str]], ...] = tuple(
    (
        kind,
        re.compile(
            r"(?:please |can you |could you )*+(?:list|name|enumerate|give|show|tell|what|which)\b"
            r"(?: (?:me|are|were|is|all|the|of|different|various|main|kinds? of|types? of|other)\b)*+ "
            rf"(?P<kind>{words})\b(?P<rest>.*)",
            re.IGNORECASE,
        ),
    )
    for kind, words in (*_ASKED, *_OTHERS.items())
)
_FRAME_WORDS = """
    what which does do did is are was were used use uses using in of from the a an paper papers article study
    authors work its it their they evaluate evaluated evaluates evaluation compare compared compares
    comparison against to with on by for test tested tests report reported reports train trained training
    experiment experiments experimented consider considered list all mention mentioned mentions name and or
    have has that this there model method as included include study studied search searched perform performed
    apply applied
"""
_TRAINED = re.compile(r"\b(?:pre-?)?train(?:ed|ing)?\b", re.I)
_EVALUATED = re.compile(r"\b(?:evaluat|test|benchmark|compar|report)", re.I)
_MOST_ITEMS = 20
_MOST_QUOTES = 4
_MOST_QUALIFIERS = 5


def answer(question: str, context: RouteContext) -> Routed | None:
    """The items that a paper lists, each with its page, and the sentences that do so; None where none are found."""
    frame = next(((kind, match) for kind, each in _FRAMES if (match := each.match(question))), None)
    if frame is None:
        return None
    kind, match = frame
    asked = AskedPapers.of(question[match.end("kind") :], context)
    papers = once(asked.papers) or asked.described() or (asked.library if len(asked.library) == 1 else ())
    if len(papers) != 1:
        return None
    rest = asked.question if asked.papers else ""
    wanted = frozenset(terms(asked.without_names(rest))) - _frame()
    paper = PaperText(context.library, papers[0])
    if len(wanted) > _MOST_QUALIFIERS:
        return None
    if isinstance(kind, str):
        blocks = hyperparameter_blocks(paper, wanted) if kind == "hyperparameter" else measure_blocks(paper, wanted)
        return _routed(paper, kind, blocks, "high" if len(blocks) > 1 else "medium") if blocks else None
    must = _TRAINED if _TRAINED.search(rest) and not _EVALUATED.search(rest) and kind.name == "data set" else None
    blocks, confidence = _blocks(context, paper, listed(paper, kind, wanted, must))
    return _routed(paper, kind.name, blocks, confidence) if blocks else None


@cache
def _frame() -> frozenset[str]:
    return frozenset(terms(_FRAME_WORDS))


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
    note = f"Looked for the {kind}s that “{title_of(paper.paper)}” enumerates, in its text and tables."
    return Routed("list", note, tuple(blocks), hits, confidence, for_llm=True)
