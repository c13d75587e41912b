"""The word lists of lexicon.toml: nouns that name a kind of thing, known names, words that are not names.

General words of scientific English and names common to many papers; a paper's own names are learned from the paper
(graph/paper_terms.py). All are in lower case and singular, as `graph_records.canonical` gives them.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from ragscience.graph.graph_records import canonical

__all__ = [
    "BREAKS",
    "CONTINUES",
    "ED_MODIFIERS",
    "FUNCTION_WORDS",
    "GENERIC_HEADS",
    "HARDWARE",
    "HEADS",
    "ING_NOUNS",
    "IN_LOWER_CASE",
    "KNOWN",
    "NOUN_ENDINGS",
    "NO_NAMES",
    "ORGANISATIONS",
    "PREFIXES",
    "S_MODIFIERS",
    "TAILS",
    "TASK_HEADS",
    "TOGETHER",
    "WEAK",
    "WORDS_TOO",
]

_LISTS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("lexicon.toml").read_text("utf-8"))


def _words(name: str) -> frozenset[str]:
    return frozenset(_LISTS[name].split())


def _kinds(name: str) -> dict[str, str]:
    return {word: kind for kind, words in _LISTS[name].items() for word in words.split()}


GENERIC_HEADS = _kinds("generic_heads")
HEADS = _kinds("heads") | GENERIC_HEADS
TASK_HEADS = _words("task_heads")
NOUN_ENDINGS = tuple(sorted(_words("noun_endings")))
KNOWN: dict[str, str] = {canonical(name): kind for kind, names in _LISTS["known"].items() for name in names.split(";")}
WORDS_TOO, IN_LOWER_CASE = _words("words_too"), _words("in_lower_case")
TOGETHER = ({"precision", "recall"}, {"sensitivity", "specificity"})
"""Words that are metrics if both are in one sentence, and ambiguous otherwise."""
HARDWARE, ORGANISATIONS, NO_NAMES = _words("hardware"), _words("organisations"), _words("no_names")
FUNCTION_WORDS = _words("function_words")
BREAKS = FUNCTION_WORDS | _words("verbs") | _words("adjectives")
WEAK, CONTINUES, PREFIXES = _words("weak_modifiers"), _words("continues"), _words("prefixes")
ED_MODIFIERS, ING_NOUNS, S_MODIFIERS = _words("ed_modifiers"), _words("ing_nouns"), _words("s_modifiers")
TAILS = _words("tails") | GENERIC_HEADS.keys()
