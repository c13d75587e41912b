"""How well each part of a passage matches each word of a question, by the token vectors stored at ingest.

Stored rows have no positions. They are in the order of the text and of the word pieces that carry meaning
(models/maxsim.py), so tokenizing the passage again, a millisecond each, tells where each row stands.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ragscience.search.paper_names import PaperNames

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragscience.core.records import StoredChunk
    from ragscience.library.store import Store
    from ragscience.models.model_protocols import TokenEmbedder

__all__ = ["PassageMatches", "TokenMatches", "token_matches"]


@dataclass(frozen=True, slots=True)
class PassageMatches:
    """The cosines of a passage's n word pieces with the question's q."""

    places: NDArray[np.int32]
    """Where each piece begins and ends, in characters of `chunk.text`, ascending; negative in the header: (n, 2)."""
    cosines: NDArray[np.float32]
    """Shape (n, q)."""

    def best(self, start: int | None, end: int) -> tuple[float, ...]:
        """For each piece of the question the highest cosine in `chunk.text[start:end]`, or -1 where that has no piece.

        `start` None: from the beginning of the passage's header.
        """
        first = 0 if start is None else int(self.places[:, 0].searchsorted(start))
        last = int(self.places[:, 1].searchsorted(end, side="right"))
        if first >= last:
            return tuple(-1.0 for _ in range(self.cosines.shape[1]))
        best: list[float] = self.cosines[first:last].max(axis=0).tolist()
        return tuple(best)


@dataclass(frozen=True, slots=True)
class TokenMatches:
    """The pieces of a question, and their matches in passages."""

    asked: tuple[tuple[int, int], ...]
    """Where each of the question's q word pieces begins and ends in the question."""
    passages: Mapping[int, PassageMatches]
    """By chunk id; without those whose token vectors are not stored, or are of another text."""
    names: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """By the id of each paper that the question names, how it names it."""


def token_matches(
    question: str, chunks: Sequence[StoredChunk], *, library: Store, tokens_from: TokenEmbedder
) -> TokenMatches:
    """The matches of `question` in `chunks`. Raises ModelProblem."""
    from ragscience.models.maxsim import carries_meaning, question_tokens
    from ragscience.models.token_codes import cosines

    names: dict[int, tuple[str, ...]] = defaultdict(tuple)
    for name in PaperNames.of(library).in_text(question):
        names[name.paper_id] += (name.name,)
    (whole,) = tokens_from.embed_with_tokens([question])
    kept = carries_meaning(whole.pieces)
    if not kept.any():
        return TokenMatches((), {}, names)
    tokens = question_tokens(whole).tokens
    stored = library.token_vectors([chunk.chunk_id for chunk in chunks])
    passages: dict[int, PassageMatches] = {}
    for chunk in chunks:
        codes = stored.get(chunk.chunk_id)
        if codes is None or not len(codes):
            continue
        places = tokens_from.kept_places(chunk.searched) - (len(chunk.searched) - len(chunk.text))
        if len(places) == len(codes):
            passages[chunk.chunk_id] = PassageMatches(places, cosines(codes, tokens))
    return TokenMatches(tuple(map(tuple, whole.offsets[kept].tolist())), passages, names)
