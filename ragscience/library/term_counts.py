"""How often terms occur in given passages of a store, from the passages' own texts, and what they score by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragscience.core.tokenizing import tokenize
from ragscience.library.keyword_scores import bm25, counts_in, norms_of
from ragscience.library.store_protocol import Store

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["TermCounts", "keyword_scores", "term_counts"]


@dataclass(frozen=True, slots=True)
class TermCounts:
    """Where the terms of a question occur: the counts behind keyword scores."""

    terms: tuple[str, ...]
    """Distinct terms, in the order of the question."""
    passages: int
    """Number of passages searched."""
    frequencies: NDArray[np.int64]
    """How many of these contain each term, shape (terms,)."""
    counts: NDArray[np.int64]
    """How often each term occurs in each requested passage, shape (terms, ids); 0 in a missing one."""
    norms: NDArray[np.float64]
    """`k1 * (1 - b + b * length / mean length)` of each requested passage, shape (ids,)."""


def keyword_scores(library: Store, text: str, ids: Sequence[int] | NDArray[np.int64]) -> NDArray[np.float64]:
    """The BM25 score of each passage of `ids` for `text`, float64, shape (len(ids),); 0 where no word of it matches."""
    import numpy as np

    scores = np.zeros(len(ids), np.float64)
    terms = tokenize(text)
    if not terms or not len(ids):
        return scores
    with library.snapshot():
        known = library.keywords.frequencies(terms)
        texts = {chunk.chunk_id: tokenize(chunk.searched) for chunk in library.chunks([int(one) for one in ids])}
    found = dict(zip(texts, bm25(terms, [*texts.values()], known).tolist(), strict=True))
    return np.array([found.get(int(one), 0.0) for one in ids], np.float64)


def term_counts(
    library: Store,
    terms: Sequence[str],
    ids: Sequence[int] | NDArray[np.int64],
    allowed: NDArray[np.int64] | None = None,
) -> TermCounts:
    """Where the terms (as `tokenize` gives them) occur: in the passages `ids`, and in how many of `allowed`.

    Where `allowed` is more than half of the passages, those of the whole library are counted instead: only how rare a
    term is matters then.
    """
    import numpy as np

    distinct = tuple(dict.fromkeys(terms))
    with library.snapshot():
        known = library.keywords.frequencies(distinct)
        numbers, passages = [known.having[term] for term in distinct], known.passages
        if allowed is not None and 2 * allowed.size <= passages:
            numbers = [library.keywords.having([term], allowed).size if n else 0 for term, n in known.having.items()]
            passages = int(allowed.size)
        texts = {chunk.chunk_id: tokenize(chunk.searched) for chunk in library.chunks([int(one) for one in ids])}
    passages_terms = [texts.get(int(one), []) for one in ids]
    return TermCounts(
        distinct,
        passages,
        np.array(numbers, np.int64),
        counts_in(distinct, passages_terms).astype(np.int64),
        norms_of([len(each) for each in passages_terms], known),
    )
