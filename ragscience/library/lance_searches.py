"""Searches of a library in LanceDB, by its own full-text search and its own nearest neighbours.

Lance ranks by its own BM25, whose inverse document frequency, ln(1 + (N - n + 0.5) / (n + 0.5)), is larger than that of
SQLite's FTS5 for common words; passages that came since its index was updated are ranked by the frequencies of that
index. So it chooses candidates, and the scores that are told are those of keyword_scores.py, as in the embedded store:
a search adds them to those of passages that it found by their vectors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ragscience.core.errors import LibraryUnavailable, RagScienceError
from ragscience.core.records import EmbedderIdentity
from ragscience.core.tokenizing import tokenize
from ragscience.library.keyword_scores import Frequencies, bm25
from ragscience.library.lance_database import Change, LanceDatabase
from ragscience.library.lance_snapshots import LanceSnapshot
from ragscience.library.lance_tables import among, lance_errors, vector_rows
from ragscience.library.vectors import check_vectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["LanceDense", "LanceKeywords", "LanceTokens", "LanceVectors", "add_passages", "kept_tokens"]

_FEW = 2000
"""A filter that leaves at most this many passages is a condition of the search; more are left out of what it finds."""
_MORE = 32
"""Candidates beyond those asked for: Lance computes in float32, and scores of equal passages tie."""
_RESCORED = 3
"""Times as many candidates as are asked for, by words: the best by one formula are among these of the other."""
_PROBED, _REFINED = 32, 4
"""Lists of Lance's index of the vectors that a search looks into; candidates that it compares by their vectors."""


class LanceDense:
    """Searches by vectors; thread-safe."""

    def __init__(self, database: LanceDatabase) -> None:
        self._database = database

    def search(
        self, vector: NDArray[np.float32], k: int, allowed: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """As `Dense.search`."""
        from ragscience.library.top_scores import best_first, nothing

        with self._database.now() as at:
            if at is None or not at.state.dimension or not at.state.chunks or k <= 0:
                return nothing()
            _require_dimension(at, vector)
            if allowed is not None and allowed.size <= _FEW:
                return best_first(*_exact(at, vector, allowed), k)

            def nearest(limit: int) -> NDArray[np.int64]:
                query = at.table("passages").search(vector, vector_column_name="vector").distance_type("dot")
                query = query.nprobes(_PROBED).refine_factor(_REFINED).limit(limit).select(["chunk_id", "_distance"])
                found: NDArray[np.int64] = query.to_arrow()["chunk_id"].to_numpy()
                return found

            ids = _among_allowed(at, nearest, k, allowed)
            return best_first(*_exact(at, vector, ids), k)

    def scores(self, vector: NDArray[np.float32], ids: Sequence[int] | NDArray[np.int64]) -> NDArray[np.float64]:
        """As `Dense.scores`."""
        import numpy as np

        wanted = np.asarray(ids, np.int64)
        with self._database.now() as at:
            if at is None or not at.state.dimension or not wanted.size:
                return np.zeros(wanted.size, np.float64)
            _require_dimension(at, vector)
            known = dict(zip(*(array.tolist() for array in _exact(at, vector, wanted)), strict=True))
        return np.array([known.get(one, 0.0) for one in wanted.tolist()], np.float64)


def _among_allowed(at: LanceSnapshot, find: Any, k: int, allowed: NDArray[np.int64] | None) -> NDArray[np.int64]:
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


def _exact(
    at: LanceSnapshot, vector: NDArray[np.float32], ids: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    from ragscience.library.dense_index import exact_scores

    return exact_scores(vector, ids, lambda wanted: _read_vectors(at, wanted))


def _read_vectors(
    at: LanceSnapshot, ids: Sequence[int] | NDArray[np.int64] | None
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """(ids, ascending; vectors, shape (n, dimension)) of the passages that there are."""
    import numpy as np

    if ids is None:
        found = [at.rows("passages", ["chunk_id", "vector"]).sort_by("chunk_id")]
    else:
        found = [*at.passages([int(one) for one in ids], ["vector"])]
    numbers = [one["chunk_id"].to_numpy() for one in found]
    rows = [vector_rows(one, at.state.dimension) for one in found]
    if not found:
        return np.empty(0, np.int64), np.empty((0, at.state.dimension), np.float32)
    return np.concatenate(numbers), np.concatenate(rows)


def _require_dimension(at: LanceSnapshot, vector: NDArray[np.float32]) -> None:
    if vector.shape != (at.state.dimension,):
        raise LibraryUnavailable(
            f"The library's vectors have {at.state.dimension} dimensions, the question's {vector.shape[-1]}.",
            "Use the embedder that made it, or run `python ingest.py rebuild --embeddings`.",
        )


class LanceKeywords:
    """Searches by words; thread-safe."""

    def __init__(self, database: LanceDatabase) -> None:
        self._database = database

    def search(
        self, text: str, k: int, allowed: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """As `Keywords.search`: Lance chooses the candidates, and they are scored as those of the embedded store."""
        import numpy as np

        from ragscience.library.top_scores import best_first, nothing

        terms = tokenize(text)
        with self._database.now() as at:
            if at is None or not terms or k <= 0 or not at.state.chunks or (allowed is not None and not allowed.size):
                return nothing()
            where = among("chunk_id", allowed.tolist()) if allowed is not None and allowed.size <= _FEW else ""

            def best(limit: int) -> NDArray[np.int64]:
                found: NDArray[np.int64] = _matches(at, [*dict.fromkeys(terms)], limit, where=where)["chunk_id"].to_numpy()
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
        """As `Keywords.having`."""
        import numpy as np

        from ragscience.library.top_scores import shared

        with self._database.now() as at:
            if at is None or not terms or not at.state.chunks:
                return np.empty(0, np.int64)
            with lance_errors(at.uri):
                found = np.unique(_matches(at, terms, at.state.chunks, all_of=True)["chunk_id"].to_numpy())
        return found if allowed is None else shared(allowed, found)

    def frequencies(self, terms: Iterable[str]) -> Frequencies:
        """As `Keywords.frequencies`."""
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


class LanceVectors:
    """The vectors of a library; thread-safe."""

    def __init__(self, database: LanceDatabase) -> None:
        self._database = database

    def of(self, ids: Sequence[int] | None = None) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """As `Vectors.of`."""
        import numpy as np

        with self._database.now() as at:
            if at is None or "passages" not in at.state.tables:
                return np.empty(0, np.int64), np.empty((0, 0), np.float32)
            return _read_vectors(at, ids)

    def by_hash(self, hashes: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        """As `Vectors.by_hash`."""
        with self._database.now() as at:
            if at is None or not at.state.chunks or not hashes:
                return {}
            found = at.rows("passages", ["text_hash", "vector"], among("text_hash", dict.fromkeys(hashes)))
            return dict(zip(found["text_hash"].to_pylist(), vector_rows(found, at.state.dimension), strict=True))

    def replace(
        self,
        embedder: EmbedderIdentity,
        batches: Iterable[
            tuple[Sequence[int] | NDArray[np.int64], NDArray[np.float32], Mapping[bytes, NDArray[np.uint8]]]
        ],
    ) -> None:
        """As `Vectors.replace`: the passages are written anew, into a table of their own."""

        def act(change: Change) -> None:
            at, done = change.before, 0
            if "passages" in at.state.tables:
                change.new_table("passages", embedder.dimension)
            for ids, vectors, tokens in batches:
                check_vectors(vectors, len(ids), embedder.dimension)
                rows = dict(zip([int(one) for one in ids], vectors, strict=True))
                found = _rows_of(at, [*rows])
                if len(found["chunk_id"]) != len(rows):
                    raise RagScienceError(
                        "A vector came for a passage that the library does not have.", "Run it again."
                    )
                add_passages(change, {**found, "vector": [rows[one] for one in found["chunk_id"]]}, tokens)
                done += len(rows)
            if done != at.state.chunks:
                raise RagScienceError(
                    f"{at.state.chunks - done} of {at.state.chunks} passages got no new vector.", "Run it again."
                )
            change.note(embedder=embedder, version=at.state.version + 1)

        self._database.changed(act)


_COLUMNS = ("paper_id", "row", "terms", "text_hash", "tokens")


def _rows_of(at: LanceSnapshot, ids: Sequence[int]) -> dict[str, list[Any]]:
    """All columns of passages but their vectors."""
    found: dict[str, list[Any]] = {name: [] for name in ("chunk_id", *_COLUMNS)}
    for rows in at.passages(ids, _COLUMNS):
        for name, column in found.items():
            column += rows[name].to_pylist()
    return found


def add_passages(change: Change, columns: Mapping[str, Any], tokens: Mapping[bytes, NDArray[np.uint8]]) -> None:
    """Add passages; those whose texts are among `tokens` get these token vectors."""
    import numpy as np

    given = zip(columns["text_hash"], columns["tokens"], strict=True)
    codes = [tokens[key].tobytes() if key in tokens else kept for key, kept in given]
    vectors = np.array(columns["vector"], np.float32).reshape(len(codes), -1)
    sizes = [len(one) for one in codes]
    change.add("passages", {**columns, "vector": vectors, "tokens": codes, "token_bytes": sizes})


class LanceTokens:
    """The token vectors of a library; thread-safe."""

    def __init__(self, database: LanceDatabase) -> None:
        self._database = database

    def of(self, ids: Sequence[int]) -> dict[int, NDArray[np.uint8]]:
        """As `Tokens.of`."""
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
        """As `Tokens.put`; of texts that passages have."""

        def act(change: Change) -> None:
            at = change.before
            if not at.state.chunks or not tokens:
                return
            where = among("text_hash", tokens)
            found = at.rows("passages", ["chunk_id", "vector", *_COLUMNS], where)
            if found.num_rows:
                columns = {name: found[name].to_pylist() for name in ("chunk_id", *_COLUMNS)}
                change.delete("passages", where)
                add_passages(change, {**columns, "vector": vector_rows(found, at.state.dimension)}, tokens)

        self._database.changed(act)

    def size_bytes(self) -> int:
        """The size of the token vectors in bytes."""
        return sum(self._sizes().values())

    def not_kept(self) -> int:
        """Of how many passages no token vectors are kept."""
        return sum(size == 0 for size in self._sizes().values())

    def missing(self) -> tuple[list[int], list[int]]:
        """As `Tokens.missing`; Lance tells of none that are lost."""
        return [], sorted(one for one, size in self._sizes().items() if size == 0)

    def compact(self) -> int:
        """Nothing to do: token vectors leave with their passages."""
        return 0

    def _sizes(self) -> dict[int, int]:
        with self._database.now() as at:
            if at is None or not at.state.chunks:
                return {}
            found = at.rows("passages", ["chunk_id", "token_bytes"])
            return dict(zip(found["chunk_id"].to_pylist(), found["token_bytes"].to_pylist(), strict=True))


def kept_tokens(at: LanceSnapshot, hashes: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """(hash, codes) of the texts that passages of the library have already, with their token vectors."""
    if at.state.chunks and hashes:
        found = at.rows("passages", ["text_hash", "tokens"], among("text_hash", dict.fromkeys(hashes)))
        yield from zip(found["text_hash"].to_pylist(), found["tokens"].to_pylist(), strict=True)
