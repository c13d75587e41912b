"""Searches of a library in LanceDB, by its own full-text search and its own nearest neighbours.

Lance ranks by its own BM25, whose inverse document frequency, ln(1 + (N - n + 0.5) / (n + 0.5)), is larger than that of
SQLite's FTS5 for common words; passages that came since its index was updated are ranked by the frequencies of that
index. So it chooses candidates, and the scores that are told are those of keyword_scores.py, as in the embedded store:
a search adds them to those of passages that it found by their vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ragscience.core.tokenizing import tokenize
from ragscience.library.dense_search import ExactScores, require_dimension
from ragscience.library.keyword_scores import Frequencies, bm25
from ragscience.library.lance_database import LanceDatabase
from ragscience.library.lance_snapshots import LanceSnapshot
from ragscience.library.lance_tables import among, lance_errors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["LanceDense", "LanceKeywords", "LanceTokens"]

_FEW = 2000
"""A filter that leaves at most this many passages is a condition of the search; more are left out of what it finds."""
_MORE = 32
"""Candidates beyond those asked for: Lance computes in float32, and scores of equal passages tie."""
_RESCORED = 3
"""Times as many candidates as are asked for, by words: the best by one formula are among these of the other."""
_PROBED, _REFINED = 32, 4
"""Lists of Lance's index of the vectors that a search looks into; candidates that it compares by their vectors."""


class LanceDense(ExactScores):
    """Searches by vectors; thread-safe."""

    def __init__(self, database: LanceDatabase) -> None:
        super().__init__(database)
        self._lance = database

    def search(
        self, vector: NDArray[np.float32], k: int, allowed: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """As `DenseSearch.search`."""
        from ragscience.library.dense_index import exact_scores
        from ragscience.library.top_scores import best_first, nothing

        with self._lance.now() as at:
            if at is None or not at.state.dimension or not at.state.chunks or k <= 0:
                return nothing()
            require_dimension(at.state, vector)

            def nearest(limit: int) -> NDArray[np.int64]:
                query = at.table("passages").search(vector, vector_column_name="vector").distance_type("dot")
                query = query.nprobes(_PROBED).refine_factor(_REFINED).limit(limit).select(["chunk_id", "_distance"])
                found: NDArray[np.int64] = query.to_arrow()["chunk_id"].to_numpy()
                return found

            is_small = allowed is not None and allowed.size <= _FEW
            ids = allowed if allowed is not None and is_small else _among_allowed(at, nearest, k, allowed)
            return best_first(*exact_scores(vector, ids, at.vectors), k)


def _among_allowed(
    at: LanceSnapshot, find: Callable[[int], NDArray[np.int64]], k: int, allowed: NDArray[np.int64] | None
) -> NDArray[np.int64]:
    """What `find` gives for a limit, of the allowed passages: at least `k`, or all that there are."""
    from ragscience.library.top_scores import places

    limit = 2 * k + _MORE
    while True:
        with lance_errors(at.uri):
            ids: NDArray[np.int64] = find(min(limit, at.state.chunks))
        found = ids.size
        if allowed is not None:
            ids = ids[places(allowed, ids)[1]]
        if ids.size >= k or found < limit or limit >= at.state.chunks:
            return ids
        limit *= 4


class LanceKeywords:
    """Searches by words; thread-safe."""

    def __init__(self, database: LanceDatabase) -> None:
        self._database = database

    def search(
        self, text: str, k: int, allowed: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """As `KeywordSearch.search`: Lance chooses the candidates, which are scored as in SQLite."""
        import numpy as np

        from ragscience.library.top_scores import best_first, nothing

        terms = tokenize(text)
        with self._database.now() as at:
            if at is None or not terms or k <= 0 or not at.state.chunks or (allowed is not None and not allowed.size):
                return nothing()
            where = among("chunk_id", allowed.tolist()) if allowed is not None and allowed.size <= _FEW else ""

            def best(limit: int) -> NDArray[np.int64]:
                found: NDArray[np.int64] = _matches(at, [*dict.fromkeys(terms)], limit, where=where)[
                    "chunk_id"
                ].to_numpy()
                return found

            ids = _among_allowed(at, best, _RESCORED * k, None if where else allowed)
            numbers, passages = [], []
            for found in at.passages(ids.tolist(), ["terms"]):
                numbers += found["chunk_id"].to_pylist()
                passages += [one.split(" ") for one in found["terms"].to_pylist()]
            scores = bm25(terms, passages, self.frequencies(terms))
        above = scores > 0
        return best_first(np.array(numbers, np.int64)[above], scores[above], k)

    def having(self, terms: Sequence[str], allowed: NDArray[np.int64] | None) -> NDArray[np.int64]:
        """As `KeywordSearch.having`."""
        import numpy as np

        from ragscience.library.top_scores import shared

        with self._database.now() as at:
            if at is None or not terms or not at.state.chunks:
                return np.empty(0, np.int64)
            with lance_errors(at.uri):
                found = np.unique(_matches(at, terms, at.state.chunks, all_of=True)["chunk_id"].to_numpy())
        return found if allowed is None else shared(allowed, found)

    def frequencies(self, terms: Iterable[str]) -> Frequencies:
        """As `KeywordSearch.frequencies`."""
        wanted = [*dict.fromkeys(terms)]
        with self._database.now() as at:
            if at is None or not at.state.chunks:
                return Frequencies(0, 0.0, dict.fromkeys(wanted, 0))
            for term in wanted:
                if term not in at.known:
                    with lance_errors(at.uri):
                        at.known[term] = _matches(at, [term], at.state.chunks).num_rows
            having = {term: at.known[term] for term in wanted}
            is_common = any(2 * count > at.state.chunks for count in having.values())
            mean_idf = at.mean_idf if is_common else 0.0
            return Frequencies(at.state.chunks, at.state.terms / at.state.chunks, having, mean_idf)


def _matches(at: LanceSnapshot, terms: Sequence[str], limit: int, *, where: str = "", all_of: bool = False) -> Any:
    """The passages that match any or all of the terms, with their scores, as an Arrow table."""
    from lancedb.query import FullTextOperator, MatchQuery

    match = MatchQuery(" ".join(terms), "terms", operator=FullTextOperator.AND if all_of else FullTextOperator.OR)
    query = at.table("passages").search(match, query_type="fts").limit(limit).select(["chunk_id", "_score"])
    return (query.where(where, prefilter=True) if where else query).to_arrow()


class LanceTokens:
    """The token vectors of a library; thread-safe."""

    def __init__(self, database: LanceDatabase) -> None:
        self._database = database

    def of(self, ids: Sequence[int]) -> dict[int, NDArray[np.uint8]]:
        """As `TokenRows.of`."""
        import numpy as np

        from ragscience.models.token_codes import CODE_BYTES

        with self._database.now() as at:
            if at is None or not at.state.chunks:
                return {}
            return {
                one: np.frombuffer(codes, np.uint8).reshape(-1, CODE_BYTES)
                for found in at.passages(ids, ["tokens"])
                for one, codes in zip(found["chunk_id"].to_pylist(), found["tokens"].to_pylist(), strict=True)
                if codes and len(codes) % CODE_BYTES == 0
            }

    def put(self, tokens: Mapping[bytes, NDArray[np.uint8]]) -> None:
        """As `TokenRows.put`; of texts that passages have."""
        self._database.changed(lambda change: change.put_tokens(tokens))

    def size_bytes(self) -> int:
        """The size of the token vectors in bytes."""
        return sum(self._sizes().values())

    def not_kept(self) -> int:
        """Of how many passages no token vectors are kept."""
        return sum(size == 0 for size in self._sizes().values())

    def missing(self) -> tuple[list[int], list[int]]:
        """As `TokenRows.missing`."""
        sizes = self._sizes()
        kept = self.of([*sizes])
        return [one for one, size in sizes.items() if size and one not in kept], sorted(
            one for one, size in sizes.items() if not size
        )

    def _sizes(self) -> dict[int, int]:
        with self._database.now() as at:
            return dict(at.rows("passages", ["chunk_id", "token_bytes"])) if at is not None and at.state.chunks else {}
