"""The hyperparameters of a paper: its tables and lists of them, and the sentences that give several."""

from __future__ import annotations

import re

from ragscience.ask.paper_text import PaperText, Sentence
from ragscience.ask.summary_cues import zone_of
from ragscience.core.records import Block
from ragscience.core.tokenizing import joined_lines, terms

__all__ = ["hyperparameter_blocks"]

_NAMES = re.compile(
    r"\b(?:learning rates?|batch size|batch(?:es)? of|mini-?batch|epochs?|dropout|weight decay|warm-?up|momentum|"
    r"optimizer|Adam|SGD|hidden (?:size|units)|layers|beam size|temperature|regulari[sz]ation|clip\w{0,5}|"
    r"sequence length|steps|gradient norm|number of trees|kernel|rank)\b",
    re.IGNORECASE,
)
_CALLED = re.compile(r"\bhyper-?\s?parameters?\b", re.IGNORECASE)
_FEWEST = 2
_MOST_SENTENCES = 4
_MOST_TABLES = 2


def hyperparameter_blocks(paper: PaperText, wanted: frozenset[str]) -> list[Block]:
    """Items of lists that name one with a value, tables of them, and the sentences that give at least two values."""
    items = [one for one in paper.sentences if one.kind == "list" and _held(one.text) and _is_asked(one, wanted)]
    items = [one for one in items if len(one.text) < 90]
    sentences = [
        (_held(one.text) + _is_settings(one), -n, one)
        for n, one in enumerate(paper.sentences)
        if one not in items and _held(one.text) >= _FEWEST and _is_asked(one, wanted) and len(one.text) > 40
    ]
    best = sorted(sentences, key=lambda each: each[:2], reverse=True)[:_MOST_SENTENCES]
    blocks = [Block("item", one.text.lstrip("•*- "), one.citations) for one in items]
    blocks += _tables(paper, wanted)
    return blocks + [Block("quote", one.text, one.citations) for _, _, one in best]


def _held(text: str) -> int:
    """How many hyperparameters a sentence names, where it has figures."""
    names = {match.group().casefold() for match in _NAMES.finditer(text)}
    return len(names) if any(letter.isdigit() for letter in text) else 0


def _is_settings(sentence: Sentence) -> int:
    return 2 * bool(_CALLED.search(sentence.section)) + bool(re.search(r"\b(?:we|our|used?|set)\b", sentence.text))


def _is_asked(sentence: Sentence, wanted: frozenset[str]) -> bool:
    is_near = not wanted or bool(wanted & {*terms(sentence.text), *terms(sentence.section)})
    return is_near and zone_of(sentence.section, sentence.kind) != "related"


def _tables(paper: PaperText, wanted: frozenset[str]) -> list[Block]:
    """The tables whose caption speaks of hyperparameters."""
    blocks = []
    for before, part in zip(paper.parts, paper.parts[1:], strict=False):
        is_captioned = before.kind == "caption" and part.kind == "table" and _CALLED.search(before.text + part.text)
        names = {match.group().casefold() for match in _NAMES.finditer(part.text)}
        if is_captioned and len(names) >= _FEWEST and (not wanted or wanted & set(terms(before.text))):
            blocks.append(Block("table", part.text.strip(), paper.cite([before, part]), joined_lines(before.text)))
    return blocks[:_MOST_TABLES]
