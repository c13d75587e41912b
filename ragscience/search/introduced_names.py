"""The names that a text says its paper gives to something: "We introduce Adam"."""

from __future__ import annotations

import re
from collections.abc import Iterator

_PART = r"(?:[A-Z][A-Za-z0-9]{0,29}+|[a-z]{1,3}+[A-Z][A-Za-z0-9]{0,29}+)"
NAME = rf"{_PART}(?:[-‐–][A-Za-z0-9]{{1,30}}+){{0,4}}+"
_NAMES = rf"(?!An? )({NAME}(?: {NAME}){{0,3}}+)"
_WE = (
    r"\b(?:[Ww]e|[Tt]his (?:paper|article|work|report|study|thesis))"
    r"(?: (?:also|then|now|first|here|have|therefore|thus)){0,2}+"
)
_VERB = r"(?:introduc|propos|present|describ|develop|design|releas|creat|build|built)(?:es|ed|e|s)?+"
_DETERMINER = r"(?: (?:the|an|a|our|new|novel|simple|two|three|both)){0,3}+"
_CALLED = (
    r"\b(?:called|named|namely|dubbed|termed|coined|[Ww]e (?:call|name|term|dub)(?: [a-z][\w-]{0,19}+){0,5}?"
    r"|refer(?:red)? to(?: [a-z][\w-]{0,19}+){0,5}? as|the name)(?: the)?+ [“\"‘']?+"
)
_OURS = (
    r"\b[Oo]ur(?: [\w-]{1,20}+){0,3}? (?:model|method|approach|system|algorithm|architecture|framework|technique|"
    r"procedure|network|tool|dataset|benchmark|implementation)s?+, (?:the |called |named )?+"
)
_DIRECT = re.compile(rf"{_WE} {_VERB}{_DETERMINER} {_NAMES}(?:, or (?:the )?+({NAME}))?+")
""" "We introduce Adam", "We propose Low-Rank Adaptation, or LoRA"."""
_PREPOSITION = (
    "(?:about|across|against|among|as|at|based|between|by|for|from|in|into|of|on|over|that|to|towards?|under|using|"
    "via|where|which|while|with|within|without)"
)
_IN_APPOSITION = re.compile(
    rf"{_WE} {_VERB}(?: (?!{_PREPOSITION}\b)[\w-]{{1,25}}+){{1,12}}?(?:,| \()(?: ?the| ?namely)?+ ?{_NAMES}(?=[,.;:)])"
)
""" "We propose a new simple network architecture, the Transformer,"; the words before are no preposition."""
_NAMED = re.compile(rf"{_CALLED}{_NAMES}")
_OUR_OWN = re.compile(rf"{_OURS}{_NAMES}(?=[,.])")
_DEFINED = re.compile(rf"(?:^|[.!?:] |  )(?:The )?+{_NAMES} is (?:a|an|our)\b")
""" "Raft is a consensus algorithm": as a sentence of an abstract begins."""
_ANOTHERS = re.compile(
    r"\W{0,3}+(?:\[\d|\d|et al|(?:and|&) [A-Z][\w-]{0,30}+,? \(?\d{4}"
    r"|\(?(?:[A-Z][\w’'-]{1,30}+,? (?:et al|and|&|\(?\d{4}))"
    r"|e\.g|(?:which was |was |as )?(?:proposed|introduced|developed|presented|described|originally|by|of) "
    r"(?:by |in )?[A-Z])"
)
"""What follows the name of another's work: a citation, "proposed by …"; or a number: "Section 3"."""


def introduced(text: str, *, abstract: bool) -> Iterator[tuple[str, int, int]]:
    """(name, start, end) of each name that `text`, a passage on one line, says its paper gives to something.

    `abstract`: whether the text is one, whose sentences "X is a …" count, too. A name followed by a citation is
    another's. Names may repeat.
    """
    for pattern in (_DIRECT, _IN_APPOSITION, _NAMED, _OUR_OWN, *((_DEFINED,) if abstract else ())):
        for match in pattern.finditer(text):
            for group, name in enumerate(match.groups(), start=1):
                if name and not _ANOTHERS.match(text, match.end(group)):
                    yield name, match.start(group), match.end(group)
