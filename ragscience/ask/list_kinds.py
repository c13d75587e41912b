"""What can be listed of a paper, and the words for it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["KINDS", "ListKind"]


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
