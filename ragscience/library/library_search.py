"""The searches over a library: nearest vectors, keywords, and the scores of given passages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING

from ragscience.core.errors import LibraryUnavailable, NothingFound
from ragscience.core.records import Filters
from ragscience.library import row_records as rows
from ragscience.library.filter_selection import Selecting, section_names
from ragscience.library.home import Home
from ragscience.library.index_config import DenseIndexInfo, DenseSizes
from ragscience.library.transactions import Transactions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragscience.library.index_sync import Indexes
    from ragscience.library.keyword_index import TermCounts

__all__ = ["LibrarySearch"]


class LibrarySearch:
    """The searches of a library, thread-safe; each search sees one generation of it."""

    def __init__(self, home: Home, transactions: Transactions, sizes: DenseSizes) -> None:
        self._home = home
        self._sizes = sizes
        self._transactions = transactions
        self._reading = transactions.reading
        self._selecting = Selecting()
        self._made: Indexes | None = None
        self._making = Lock()

    @property
    def indexes(self) -> Indexes:
        """The indexes of this process; created on first use, so that NumPy loads only for a search."""
        from ragscience.library.index_sync import Indexes

        with self._making:
            self._made = self._made or Indexes(self._home, self._sizes)
            return self._made

    def select(self, filters: Filters) -> NDArray[np.int64] | None:
        """Ids of the passages that `filters` allows, ascending, int64; None if it allows all.

        Raises NothingFound for a paper pattern, an author or a span of years that fits no paper.
        """
        with self._reading() as db:
            if db is not None:
                return self._selecting.select(db, rows.read_state(db), filters)
        if filters.papers:
            raise NothingFound(f"No paper matches {filters.papers[0]!r}.", "The library has no papers yet.")
        return None

    def section_names(self) -> list[str]:
        """The headings above each passage, outermost first, each once: "3 Model › 3.2 Attention"."""
        with self._reading() as db:
            return section_names(db) if db is not None else []

    def search_dense(
        self, vector: NDArray[np.float32], k: int, allowed: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """(ids, int64; inner products, float64) of the `k` nearest passages, best first; ties by lower id.

        `allowed` as `select` gives it. Raises LibraryUnavailable for a vector of another dimension.
        """
        from ragscience.library.index_sync import vector_source
        from ragscience.library.top_scores import nothing

        with self._reading() as db:
            state = rows.read_state(db) if db else None
            if db is None or state is None or not state.dimension:
                return nothing()
            _require_dimension(state, vector)
            index = self.indexes.dense_for_a_question(db, state)
            found = index.search(vector, k, allowed, vector_source(db, state))
            if not self._transactions.may_write:
                self.indexes.save_if_free(db, state, dense=True)
            return found

    def begin_dense(
        self, vector: NDArray[np.float32], k: int, allowed: NDArray[np.int64] | None
    ) -> Callable[[], tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """`search_dense` when the result is called, in the same snapshot."""
        return partial(self.search_dense, vector, k, allowed)

    def dense_scores(self, vector: NDArray[np.float32], ids: Sequence[int] | NDArray[np.int64]) -> NDArray[np.float64]:
        """The inner product of `vector` with each passage of `ids`, shape (len(ids),); 0 for an unknown id.

        Raises LibraryUnavailable for a vector of another dimension.
        """
        import numpy as np

        from ragscience.library.dense_index import exact_scores
        from ragscience.library.index_sync import vector_source

        wanted = np.asarray(ids, np.int64)
        scores = np.zeros(wanted.size, np.float64)
        with self._reading() as db:
            state = rows.read_state(db) if db else None
            if db is None or state is None or not state.dimension or not wanted.size:
                return scores
            _require_dimension(state, vector)
            known, exact = exact_scores(vector, np.unique(wanted), vector_source(db, state))
        by_id = dict(zip(known.tolist(), exact.tolist(), strict=True))
        scores[:] = [by_id.get(chunk_id, 0.0) for chunk_id in wanted.tolist()]
        return scores

    def search_keywords(
        self, text: str, k: int, allowed: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """(ids, int64; BM25 scores above 0, float64) of the `k` best passages; ties by lower id.

        `allowed` as `select` gives it.
        """
        from ragscience.core.tokenizing import tokenize
        from ragscience.library.top_scores import nothing

        with self._reading() as db:
            if db is None:
                return nothing()
            state = rows.read_state(db)
            tokens = tokenize(text)
            found = self.indexes.with_keywords(db, state, lambda index: index.search(tokens, k, allowed))
            if not self._transactions.may_write:
                self.indexes.save_if_free(db, state, dense=False)
            return found

    def keyword_scores(self, text: str, ids: Sequence[int] | NDArray[np.int64]) -> NDArray[np.float64]:
        """The BM25 score of each passage of `ids` for `text`, shape (len(ids),); 0 where no word of it matches.

        Right after `search_keywords` of the same text this uses its cached scores.
        """
        import numpy as np

        from ragscience.core.tokenizing import tokenize

        wanted = np.asarray(ids, np.int64)
        with self._reading() as db:
            if db is None:
                return np.zeros(wanted.size, np.float64)
            tokens = tokenize(text)
            return self.indexes.with_keywords(db, rows.read_state(db), lambda index: index.scores_of(tokens, wanted))

    def term_counts(
        self, terms: Sequence[str], ids: Sequence[int] | NDArray[np.int64], allowed: NDArray[np.int64] | None
    ) -> TermCounts:
        """Where the terms (as `tokenize` gives them) occur: in the passages `ids`, and in how many of `allowed`.

        `allowed` as `select` gives it.
        """
        import numpy as np

        from ragscience.library.keyword_index import KeywordIndex

        with self._reading() as db:
            wanted = np.asarray(ids, np.int64)
            if db is None:
                return KeywordIndex.empty("").counts_of(terms, wanted, allowed)
            return self.indexes.with_keywords(
                db, rows.read_state(db), lambda index: index.counts_of(terms, wanted, allowed)
            )

    def refresh_indexes(self) -> None:
        """Update both caches on disk from the database. Raises RagScienceError where a write fails."""
        self._transactions.require_lock()
        with self._reading() as db:
            if db is not None:
                self.indexes.save(db, rows.read_state(db))

    def rebuild_indexes(self) -> None:
        """Rebuild both caches and the database's own indexes. Raises RagScienceError where a write fails."""
        self._transactions.require_lock()
        with self._transactions.writing() as db:
            db.execute("REINDEX")
        with self._reading() as db:
            if db is not None:
                self.indexes.remake(db, rows.read_state(db))

    def stale_indexes(self) -> list[str]:
        """Which caches on disk are missing, damaged or well behind: "keyword", "dense"."""
        with self._reading() as db:
            return self.indexes.behind(db, rows.read_state(db)) if db else []

    def dense_index_info(self) -> DenseIndexInfo | None:
        """The record of the dense index on disk and its recall; None if there is no usable one."""
        with self._reading() as db:
            return self.indexes.info(rows.read_state(db)) if db else None


def _require_dimension(state: rows.State, vector: NDArray[np.float32]) -> None:
    if vector.shape != (state.dimension,):
        raise LibraryUnavailable(
            f"The library's vectors have {state.dimension} dimensions, the question's {vector.shape[-1]}.",
            "Use the embedder that made it, or run `python ingest.py rebuild --embeddings`.",
        )
