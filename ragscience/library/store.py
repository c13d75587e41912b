"""What other packages use of the library, and how often terms occur in passages of a store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragscience.core.tokenizing import TOKENIZER_VERSION, tokenize
from ragscience.library.atomic_files import Home
from ragscience.library.changes import SqlDatabase
from ragscience.library.database import check_schema
from ragscience.library.dense_search import Dense
from ragscience.library.keyword_index import bm25, counts_in, is_damaged, norms_of
from ragscience.library.keywords import Keywords, index_all, seal_keywords
from ragscience.library.paper_contents import NewPaper, text_hash
from ragscience.library.sealed_rows import REBUILD_INDEXES, DenseIndexInfo, DenseSizes
from ragscience.library.store_protocol import About, Store, known_files, require_identity

if TYPE_CHECKING:
    from ragscience.library.top_scores import Ids, Scores


__all__ = [
    "About", "DenseIndexInfo", "DenseSizes", "Home", "Library", "NewPaper", "Store", "TermCounts",
    "keyword_scores", "known_files", "require_identity", "term_counts", "text_hash",
]  # fmt: skip

_SIZES = DenseSizes()


class Library(Store):
    """A home's library."""

    dense: Dense

    def __init__(self, home: Home, database: SqlDatabase, sizes: DenseSizes) -> None:
        super().__init__(home, database)
        self._database: SqlDatabase = database
        self.dense = Dense(home, database, sizes)
        self.keywords = Keywords(database)

    @classmethod
    def open(cls, home: Home, sizes: DenseSizes = _SIZES) -> Library:
        """Open for reading; a home without a library is empty, and nothing is created.

        Raises LibraryUnavailable for another schema, RagScienceError for a damaged or foreign file.
        """
        return cls(home, SqlDatabase.for_reading(home), sizes)

    @classmethod
    def open_for_writing(cls, home: Home, sizes: DenseSizes = _SIZES) -> Library:
        """Open for reading and writing, exclusively; creates what is missing and repairs the ledger.

        Raises LibraryBusy while another process writes, LibraryUnavailable for another schema, RagScienceError where
        the home cannot be written or the database is damaged.
        """
        library = cls(home, SqlDatabase.for_writing(home), sizes)
        try:
            with library._database.now() as at:
                # A writer refuses a damaged list of papers at once.
                is_of_other_terms = bool(at.listing.rows) and at.state.tokenizer != TOKENIZER_VERSION
            if is_of_other_terms:
                library.refresh_indexes(anew=True)
            library._write_ledger()
        except BaseException:
            library.close()
            raise
        return library

    def refresh_indexes(self, *, anew: bool = False) -> None:
        """As `Store.refresh_indexes`."""
        self._database.require_lock()
        if anew:
            self._database.changed(index_all)
        with self._database.now() as at:
            is_sealed = at.state.keywords_at == at.state.version
        if not is_sealed:
            self._database.changed(seal_keywords)
        self.dense.refresh(anew=anew)

    def verify(self) -> list[tuple[str, str]]:
        """As `Store.verify`; the keyword index, too."""
        with self._database.now() as at:
            check_schema(at.db)
            found = super().verify()
            if is_damaged(at.db):
                found.append(("The keyword index is damaged.", REBUILD_INDEXES))
        return found


@dataclass(frozen=True, slots=True)
class TermCounts:
    """Where the terms of a question occur: the counts behind keyword scores."""

    terms: tuple[str, ...]
    """Distinct terms, in the order of the question."""
    passages: int
    """Number of passages searched."""
    frequencies: Ids
    """How many of these contain each term, shape (terms,)."""
    counts: Ids
    """How often each term occurs in each requested passage, shape (terms, ids); 0 in a missing one."""
    norms: Scores
    """`k1 * (1 - b + b * length / mean length)` of each requested passage, shape (ids,)."""


def keyword_scores(library: Store, text: str, ids: Sequence[int] | Ids) -> Scores:
    """The BM25 score of each passage of `ids` for `text`, float64, shape (len(ids),); 0 where no word of it matches."""
    import numpy as np

    terms = tokenize(text)
    if not terms or not len(ids):
        return np.zeros(len(ids), np.float64)
    with library.snapshot():
        return bm25(terms, _terms_of(library, ids), library.keywords.frequencies(terms))


def _terms_of(library: Store, ids: Sequence[int] | Ids) -> list[list[str]]:
    """The terms of each passage; none of a missing one."""
    found = {chunk.chunk_id: tokenize(chunk.searched) for chunk in library.chunks([int(one) for one in ids])}
    return [found.get(int(one), []) for one in ids]


def term_counts(
    library: Store,
    terms: Sequence[str],
    ids: Sequence[int] | Ids,
    allowed: Ids | None = None,
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
        passages_terms = _terms_of(library, ids)
    return TermCounts(
        distinct,
        passages,
        np.array(numbers, np.int64),
        counts_in(distinct, passages_terms).astype(np.int64),
        norms_of([len(each) for each in passages_terms], known),
    )
