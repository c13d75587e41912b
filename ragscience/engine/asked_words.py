"""Where the words of a question stand in a text: for emphasis, and to cut a long text round them."""

from __future__ import annotations

import re
from functools import lru_cache

from ragscience.core.tokenizing import is_unspaced, tokenize

__all__ = ["asked_terms", "asked_words", "excerpt", "is_unspaced"]

_STOP = re.compile(r"[.!?] (?=[A-Z“(])|[。！？]")
_WORD = re.compile(r"[^\W_]++(?:[-'’][^\W_]++)*+")


@lru_cache(maxsize=64)
def asked_terms(question: str) -> frozenset[str]:
    """The content words of the question as terms, without "list", "paper" and the like, and without single letters.

    Of a script without spaces: its pairs of characters.
    """
    from ragscience.search.search_signals import asked_terms as content_terms

    return frozenset(term for term in content_terms(question) if len(term) > 1)


def asked_words(question: str, text: str) -> list[tuple[int, int]]:
    """(start, end) of each word of `text` that has a term of the question, in order; neighbours of one run are one."""
    asked = asked_terms(question)
    spans: list[tuple[int, int]] = []
    for word in _WORD.finditer(text):
        if not is_unspaced(word.group()):
            if not asked.isdisjoint(tokenize(word.group())):
                spans.append(word.span())
            continue
        for at in range(word.start(), word.end() - 1):
            if asked.isdisjoint(tokenize(text[at : at + 2])):
                continue
            start = spans.pop()[0] if spans and spans[-1][1] >= at else at
            spans.append((start, at + 2))
    return spans


def excerpt(question: str, text: str, chars: int) -> str:
    """`text` on one line, or about `chars` of its characters with the most of the question's words, cut between words.

    What is left out before and behind is "…". Of several such parts it is one that begins a sentence, the earliest.
    """
    flat = " ".join(text.split())
    if len(flat) <= chars:
        return flat
    spans = asked_words(question, flat)
    sentences = {0, *(stop.end() for stop in _STOP.finditer(flat))}
    starts = [*sentences, *(_word_start(flat, start - chars // 4) for start, _ in spans)]

    def held(start: int) -> int:
        within = [flat[a:b] for a, b in spans if start <= a and b <= start + chars - 2]
        return len({term for word in within for term in tokenize(word)} & asked_terms(question))

    start = min(
        max(starts, key=lambda start: (held(start), start in sentences, -start)), _word_start(flat, len(flat) - chars)
    )
    end = _word_end(flat, start, chars - 2)
    return f"{'… ' if start else ''}{flat[start:end].rstrip()}{' …' if end < len(flat) else ''}"


def _word_start(text: str, at: int) -> int:
    """Where the word behind `at` begins; `at` where none begins soon, as in a script without spaces."""
    if at <= 0:
        return 0
    blank = text.find(" ", at, at + 30)
    return blank + 1 if blank >= 0 else at


def _word_end(text: str, start: int, chars: int) -> int:
    """Where the last word ends of which all is in `text[start : start + chars]`."""
    end = start + chars
    if end >= len(text):
        return len(text)
    blank = text.rfind(" ", max(start + 1, end - max(chars // 4, 15)), end + 1)
    return blank if blank >= 0 else end
