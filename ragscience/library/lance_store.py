"""A library in LanceDB, in a folder or in object storage: `Store` with its tables, searches and versions."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from ragscience.core.errors import DiskProblem, LibraryBusy, LibraryUnavailable, RagScienceError
from ragscience.core.tokenizing import TOKENIZER_VERSION, tokenize
from ragscience.library.atomic_files import Home, undone
from ragscience.library.database import listed_files
from ragscience.library.dense_index import Ids, Matrix, Ranked, best_first, exact_scores, nothing, places, shared
from ragscience.library.dense_search import DenseSearch, require_dimension
from ragscience.library.keywords import Frequencies, Keywords, bm25
from ragscience.library.lance_changes import LanceChange
from ragscience.library.lance_database import LanceDatabase
from ragscience.library.lance_snapshots import LanceSnapshot, among, lance_errors
from ragscience.library.store import DamagedDatabase, free_name
from ragscience.library.store_protocol import Store

_FEW = 2000
"""A filter that leaves at most this many passages is a condition of the search; more are left out of what it finds."""
_MORE = 32
"""Candidates beyond those asked for: Lance computes in float32, and scores of equal passages tie."""
_RESCORED = 3
"""Times as many candidates as are asked for, by words: the best by one formula are among these of the other."""
_PROBED, _REFINED = 32, 4
"""Lists of Lance's index of the vectors that a search looks into; candidates that it compares by their vectors."""


class LanceDense(DenseSearch):
    """Searches by vectors; thread-safe."""

    _read: LanceDatabase

    def search(self, vector: Matrix, k: int, allowed: Ids | None) -> Ranked:
        """As `DenseSearch.search`."""
        with self._read.now() as at:
            if not at.state.dimension or not at.state.chunks or k <= 0:
                return nothing()
            require_dimension(at.state, vector)

            def nearest(limit: int) -> Ids:
                query = at.table("passages").search(vector, vector_column_name="vector").distance_type("dot")
                query = query.nprobes(_PROBED).refine_factor(_REFINED).limit(limit).select(["chunk_id", "_distance"])
                found: Ids = query.to_arrow()["chunk_id"].to_numpy()
                return found

            is_small = allowed is not None and allowed.size <= _FEW
            ids = allowed if allowed is not None and is_small else _among_allowed(at, nearest, k, allowed)
            return best_first(*exact_scores(vector, ids, at.vectors), k)


def _among_allowed(at: LanceSnapshot, find: Callable[[int], Ids], k: int, allowed: Ids | None) -> Ids:
    """What `find` gives for a limit, of the allowed passages: at least `k`, or all that there are."""
    limit = 2 * k + _MORE
    while True:
        with lance_errors(at.uri):
            ids: Ids = find(min(limit, at.state.chunks))
        found = ids.size
        if allowed is not None:
            ids = ids[places(allowed, ids)[1]]
        if ids.size >= k or found < limit or limit >= at.state.chunks:
            return ids
        limit *= 4


class LanceKeywords(Keywords):
    """Searches by words; thread-safe."""

    _database: LanceDatabase

    def search(self, text: str, k: int, allowed: Ids | None) -> Ranked:
        """As `Keywords.search`: Lance chooses the candidates, which are scored as in SQLite."""
        terms = tokenize(text)
        with self._database.now() as at:
            if not terms or k <= 0 or not at.state.chunks or (allowed is not None and not allowed.size):
                return nothing()
            where = among("chunk_id", allowed.tolist()) if allowed is not None and allowed.size <= _FEW else ""

            def best(limit: int) -> Ids:
                found: Ids = _matches(at, [*dict.fromkeys(terms)], limit, where=where)["chunk_id"].to_numpy()
                return found

            ids = _among_allowed(at, best, _RESCORED * k, None if where else allowed)
            numbers, passages = [], []
            for found in at.passages(ids.tolist(), ["terms"]):
                numbers += found["chunk_id"].to_pylist()
                passages += [one.split(" ") for one in found["terms"].to_pylist()]
            scores = bm25(terms, passages, self.frequencies(terms))
        above = scores > 0
        return best_first(np.array(numbers, np.int64)[above], scores[above], k)

    def having(self, terms: Sequence[str], allowed: Ids | None) -> Ids:
        """As `Keywords.having`."""
        with self._database.now() as at:
            if not terms or not at.state.chunks:
                return np.empty(0, np.int64)
            with lance_errors(at.uri):
                found = np.unique(_matches(at, terms, at.state.chunks, all_of=True)["chunk_id"].to_numpy())
        return found if allowed is None else shared(allowed, found)

    def frequencies(self, terms: Iterable[str]) -> Frequencies:
        """As `Keywords.frequencies`."""
        wanted = [*dict.fromkeys(terms)]
        with self._database.now() as at:
            if not at.state.chunks:
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


_INDEXED_FROM = 100_000
"""So many vectors get Lance's index: fewer are compared one by one, in at most 50 ms."""


class LanceLibrary(Store):
    """A library at a URI of LanceDB's. Raises LibraryBusy, UsageError without the package, RagScienceError."""

    def __init__(self, home: Home, uri: str, *, writing: bool) -> None:
        database = LanceDatabase(home, uri, writing=writing)
        super().__init__(home, database)
        self._database: LanceDatabase = database
        self.dense, self.keywords = LanceDense(database), LanceKeywords(database)
        with undone(database.close):
            self._write_ledger()

    def refresh_indexes(self, *, anew: bool = False) -> None:
        """Bring Lance's indexes up to date, or make them anew; compact its tables and delete old versions."""
        self._database.tidied(lambda change: _optimize(change, anew=anew))


def _optimize(change: LanceChange, *, anew: bool) -> None:
    at = change.before
    if at.state.chunks and (anew or at.state.tokenizer != TOKENIZER_VERSION):
        change.rewrite_passages()
    for role in change.state.tables:
        change.optimize(role)
    if at.state.chunks and at.state.keywords_at != at.state.version:
        change.note(mean_idf=at.mean_idf, keywords_at=at.state.version)
    if at.state.chunks >= _INDEXED_FROM:
        change.index_vectors(anew=anew)


def put_lance_aside(home: Home, uri: str) -> tuple[DamagedDatabase, str] | None:
    """Where the library cannot be read as a whole, rename its folder; the damage and the new name, None for neither.

    Raises LibraryBusy, LibraryUnavailable and DiskProblem as they are, and the damage itself for object storage.
    """

    def problem() -> RagScienceError | None:
        try:
            with LanceLibrary(home, uri, writing=False) as library:
                library.papers()
                library.verify()
        except (LibraryBusy, LibraryUnavailable, DiskProblem):
            raise
        except RagScienceError as error:
            return error
        return None

    error = problem() and problem()  # what is not found a second time was the disk's failure to read
    if error is None:
        return None
    if not uri.startswith("lance://"):
        raise error
    folder = Path(uri.removeprefix("lance://"))
    target = free_name(folder)
    with suppress(FileNotFoundError):
        folder.rename(target)
    return DamagedDatabase(error.message, tuple(map(Path, listed_files(home).values()))), target.name
