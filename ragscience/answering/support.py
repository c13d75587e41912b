"""Whether a page says what a sentence claims, by its words and numbers alone: the same answer every time."""

from __future__ import annotations

from collections.abc import Sequence

from ragscience.answering.sentences import split_sentences
from ragscience.answering.units import page_parts
from ragscience.answering.words import numbers, terms
from ragscience.records import Citation, Hit

__all__ = ["SUPPORT_THRESHOLD", "Place", "best_place", "page_texts", "supported_citations"]

SUPPORT_THRESHOLD = 0.5
"""Share of a sentence's content words that the cited lines must hold."""

Place = tuple[str, int]
"""File and page."""


def page_texts(hits: Sequence[Hit], place: Place) -> list[str]:
    """What the passages given hold of a page, one text a passage; empty where none touches it."""
    file, page = place
    texts = []
    for hit in hits:
        if hit.chunk.file == file:
            for number, start, end in page_parts(hit.chunk, 0, len(hit.chunk.text)):
                if number == page:
                    texts.append(hit.chunk.text[start:end])
    return texts


def best_place(claim: str, places: Sequence[Place], hits: Sequence[Hit]) -> Place:
    """The place whose lines share most terms with `claim`; of equals the first. `places` is not empty."""
    return max(places, key=lambda place: _best_quote(claim, page_texts(hits, place))[1])


def supported_citations(claim: str, places: Sequence[Place], hits: Sequence[Hit]) -> list[Citation]:
    """A citation for each place that a sentence cites, with the page's words that come nearest to it.

    Supported are all or none of a sentence's citations but for those that hold nothing of it: the cited lines together
    must hold SUPPORT_THRESHOLD of its terms, and its numbers must all be on the cited pages.
    """
    asked = set(terms(claim))
    pages = [page_texts(hits, place) for place in places]
    best = [_best_quote(claim, texts) for texts in pages]
    held = set().union(*(quote_terms for _, _, quote_terms in best)) & asked
    given_numbers = frozenset().union(*(numbers(text, spelled=True) for texts in pages for text in texts))
    holds = bool(asked) and len(held) >= SUPPORT_THRESHOLD * len(asked) and numbers(claim) <= given_numbers
    return [
        Citation(file, page, quote, holds and share >= SUPPORT_THRESHOLD / len(places))
        for (file, page), (quote, share, _) in zip(places, best, strict=True)
    ]


def _best_quote(claim: str, texts: Sequence[str]) -> tuple[str, float, set[str]]:
    """The sentence that shares most with `claim`; the share, 0 to 1, that it holds with its neighbours; their terms."""
    asked = set(terms(claim))
    best: tuple[str, float, set[str]] = ("", 0.0, set())
    best_score = (-1.0, -1.0)
    for text in texts:
        spans = split_sentences(text)
        own = [set(terms(text[span.start : span.end])) for span in spans]
        for i, span in enumerate(spans):
            around = set().union(*own[max(0, i - 1) : i + 2])
            share = len(around & asked) / max(1, len(asked))
            score = (len(own[i] & asked) / max(1, len(asked)), share)
            if score > best_score:
                best, best_score = (text[span.start : span.end], share, around), score
    return best
