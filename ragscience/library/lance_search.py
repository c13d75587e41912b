"""The searches over a library in LanceDB: nearest vectors by Lance, keywords by an index in the home."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from ragscience.core.errors import LibraryUnavailable, NothingFound
from ragscience.core.records import Filters
from ragscience.library.filter_selection import EVERY_KIND, papers_allowed
from ragscience.library.generations import Snapshot
from ragscience.library.home import Home
from ragscience.library.index_config import DenseIndexInfo
from ragscience.library.lance_contents import LanceContents
from ragscience.library.lance_database import LanceDatabase
from ragscience.library.lance_nearest import exact_products, has_index, index_vectors, nearest_among
from ragscience.library.lance_tables import in_list
from ragscience.library.lock import WriterLock
from ragscience.library.paper_patterns import fold
from ragscience.library.passage_spans import chunk_ids
from ragscience.library.passage_vectors import read_vectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragscience.library.keyword_index import KeywordIndex, TermCounts

__all__ = ["LanceSearch"]

T = TypeVar("T")

_KEPT = 3
"""Generations whose keyword index stays in memory, for threads that began before a change."""
_FILTERS_KEPT = 4
"""Filters whose passages stay in memory: each search asks for them several times."""


class LanceSearch:
    """The searches of a library, thread-safe; each search sees one generation of it."""

    def __init__(self, home: Home, database: LanceDatabase, contents: LanceContents, index_from: int) -> None:
        self._home = home
        self._keywords_folder = home.vectorstore / "keywords_lance"
        self._database = database
        self._reading = database.reading
        self._contents = contents
        self._index_from = index_from
        self._indexes: dict[int, KeywordIndex] = {}
        self._making = threading.RLock()
        self._threads = ThreadPoolExecutor(thread_name_prefix="nearest")
        self._references: tuple[int, NDArray[np.int64] | None] | None = None
        self._chosen: dict[tuple[int, Filters], NDArray[np.int64] | None] = {}
        self._seen: tuple[str, int, NDArray[np.int64] | None] = "", 0, None
        """The library and the next passage to come when the reference lists were last looked for, and those."""

    # Filters

    def select(self, filters: Filters) -> NDArray[np.int64] | None:
        """Ids of the passages that `filters` allows, ascending, int64; None if it allows all.

        Raises NothingFound for a paper pattern, an author or a span of years that fits no paper.
        """
        with self._reading() as at:
            if at is not None:
                return self._selected(at, filters)
        if filters.papers:
            raise NothingFound(f"No paper matches {filters.papers[0]!r}.", "The library has no papers yet.")
        return None

    def _selected(self, at: Snapshot, filters: Filters) -> NDArray[np.int64] | None:
        """As `_select`, which is asked once for the same filters and the same generation."""
        key = (at.state.number, filters)
        kept = dict(self._chosen)
        chosen = kept.pop(key) if key in kept else self._select(at, filters)
        self._chosen = dict([*kept.items(), (key, chosen)][-_FILTERS_KEPT:])
        return chosen

    def _select(self, at: Snapshot, filters: Filters) -> NDArray[np.int64] | None:
        kinds = {fold(kind) for kind in filters.kinds}
        named = bool(filters.papers or filters.years or filters.authors)
        allowed = papers_allowed(self._contents.papers() if named else (), filters)
        if filters.pages or filters.sections or (kinds and EVERY_KIND not in kinds):
            return self._by_passage(at, filters, allowed, kinds)
        if allowed is None and not kinds:
            return self._without_references(at)
        if allowed is None:
            return None
        ids = chunk_ids(at, allowed)
        return ids if kinds else self._without(at, ids)

    def _by_passage(
        self, at: Snapshot, filters: Filters, papers: set[int] | None, kinds: set[str]
    ) -> NDArray[np.int64]:
        """The filters that need a look at each passage: pages, kinds (folded), sections; within papers if any."""
        conditions = [] if papers is None else [in_list("paper_id", sorted(papers))]
        if filters.pages:
            first, last = filters.pages
            conditions.append(f"page_start <= {int(last)} AND page_end >= {int(first)}")
        if not kinds:
            conditions.append("kind <> 'reference'")
        elif EVERY_KIND not in kinds:
            conditions.append(in_list("kind", [kind for kind in _distinct(at, "kind") if fold(kind) in kinds]))
        if filters.sections:
            parts = [fold(part) for part in filters.sections]
            names = [name for name in _distinct(at, "section") if any(part in fold(name) for part in parts)]
            conditions.append(in_list("section", names))
        found: NDArray[np.int64] = at.arrow("passages", ["chunk_id"], " AND ".join(conditions))["chunk_id"].to_numpy()
        found = found.copy()
        found.sort()
        return found

    def _without_references(self, at: Snapshot) -> NDArray[np.int64] | None:
        """The passages that are not reference lists; None where none is one. Kept until the library changes."""
        last = self._references
        if last is None or last[0] != at.state.generation:
            ids = chunk_ids(at)
            usual = self._without(at, ids)
            last = self._references = at.state.generation, None if usual.size == ids.size else usual
        return last[1]

    def _without(self, at: Snapshot, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        from ragscience.library.top_scores import marked

        references = self._reference_lists(at)
        return ids[~marked(ids, references)] if references.size else ids

    def _reference_lists(self, at: Snapshot) -> NDArray[np.int64]:
        """Passages that are reference lists, ascending; also some that the library has no more.

        No id is given twice, so that of a newer generation only the new passages are looked at.
        """
        import numpy as np

        library_id, seen, known = self._seen
        if known is None or (library_id, seen) != (at.state.library_id, at.state.next_chunk):
            if known is None or library_id != at.state.library_id or seen > at.state.next_chunk:
                seen, known = 0, np.empty(0, np.int64)
            found = at.arrow("passages", ["chunk_id"], f"kind = 'reference' AND chunk_id >= {seen}")
            known = np.concatenate([known, np.sort(found["chunk_id"].to_numpy())])
            self._seen = at.state.library_id, at.state.next_chunk, known
        return known

    def section_names(self) -> list[str]:
        """The headings above each passage, outermost first, each once: "3 Model › 3.2 Attention"."""
        with self._reading() as at:
            return _distinct(at, "section") if at else []

    # Nearest vectors

    def search_dense(
        self, vector: NDArray[np.float32], k: int, allowed: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """(ids, int64; inner products, float64) of the `k` nearest passages, best first; ties by lower id.

        `allowed` as `select` gives it. Raises LibraryUnavailable for a vector of another dimension.
        """
        with self._reading() as at:
            return self._nearest(at, vector, k, allowed)

    def begin_dense(
        self, vector: NDArray[np.float32], k: int, allowed: NDArray[np.int64] | None
    ) -> Callable[[], tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """`search_dense` in the present snapshot, begun while its caller does something else; gives the result."""
        with self._reading() as at:
            return self._threads.submit(self._nearest, at, vector, k, allowed).result

    def _nearest(
        self, at: Snapshot | None, vector: NDArray[np.float32], k: int, allowed: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        from ragscience.library.top_scores import best_first, nothing

        if at is None or not at.state.dimension or k <= 0 or not at.state.chunks:
            return nothing()
        _require_dimension(at, vector)
        ids, vectors = nearest_among(at, vector, k, allowed)
        return best_first(ids, exact_products(vectors, vector), k)

    def dense_scores(self, vector: NDArray[np.float32], ids: Sequence[int] | NDArray[np.int64]) -> NDArray[np.float64]:
        """The inner product of `vector` with each passage of `ids`, shape (len(ids),); 0 for an unknown id.

        Raises LibraryUnavailable for a vector of another dimension.
        """
        import numpy as np

        wanted = np.asarray(ids, np.int64)
        with self._reading() as at:
            if at is None or not at.state.dimension or not wanted.size:
                return np.zeros(wanted.size, np.float64)
            _require_dimension(at, vector)
            known, vectors = read_vectors(at, wanted)
        by_id = dict(zip(known.tolist(), exact_products(vectors, vector).tolist(), strict=True))
        return np.array([by_id.get(chunk_id, 0.0) for chunk_id in wanted.tolist()], np.float64)

    # Keywords

    def search_keywords(
        self, text: str, k: int, allowed: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """(ids, int64; BM25 scores above 0, float64) of the `k` best passages; ties by lower id."""
        from ragscience.core.tokenizing import tokenize
        from ragscience.library.top_scores import nothing

        with self._reading() as at:
            return self._with_keywords(at, lambda index: index.search(tokenize(text), k, allowed)) if at else nothing()

    def keyword_scores(self, text: str, ids: Sequence[int] | NDArray[np.int64]) -> NDArray[np.float64]:
        """The BM25 score of each passage of `ids` for `text`, shape (len(ids),); 0 where no word of it matches."""
        import numpy as np

        from ragscience.core.tokenizing import tokenize

        wanted = np.asarray(ids, np.int64)
        with self._reading() as at:
            if at is None:
                return np.zeros(wanted.size, np.float64)
            return self._with_keywords(at, lambda index: index.scores_of(tokenize(text), wanted))

    def term_counts(
        self, terms: Sequence[str], ids: Sequence[int] | NDArray[np.int64], allowed: NDArray[np.int64] | None
    ) -> TermCounts:
        """Where the terms (as `tokenize` gives them) occur: in the passages `ids`, and in how many of `allowed`."""
        import numpy as np

        from ragscience.library.keyword_index import KeywordIndex

        with self._reading() as at:
            wanted = np.asarray(ids, np.int64)
            if at is None:
                return KeywordIndex.empty("").counts_of(terms, wanted, allowed)
            return self._with_keywords(at, lambda index: index.counts_of(terms, wanted, allowed))

    def _with_keywords(self, at: Snapshot, act: Callable[[KeywordIndex], T]) -> T:
        """What `act` gives of the keyword index, which is made again where what is on disk is not what was written."""
        from ragscience.library.atomic_files import DamagedFile

        try:
            return act(self._keywords(at))
        except DamagedFile:
            with self._making:
                made = self._updated(at, anew=True)
                self._indexes = {}
                self._keep(made if self._database.may_write else self._saved_if_free(made))
            return act(made)

    def _keywords(self, at: Snapshot) -> KeywordIndex:
        """The keyword index of exactly the passages of the snapshot; a reader saves what it had to build."""
        known = self._indexes.get(at.state.generation)
        if known is not None:
            return known
        with self._making:
            known = self._indexes.get(at.state.generation)
            if known is None:
                known = self._updated(at)
                if (
                    not known.is_saved
                    and not self._database.may_write
                    and at.state.generation >= max(self._indexes, default=0)
                ):
                    known = self._saved_if_free(known)
                self._keep(known)
            return known

    def _updated(self, at: Snapshot, *, anew: bool = False) -> KeywordIndex:
        from ragscience.library.atomic_files import DamagedFile
        from ragscience.library.keyword_index import KeywordIndex

        state, empty = at.state, KeywordIndex.empty(at.state.library_id)
        index = None if anew else self._indexes.get(max(self._indexes, default=-1))
        if index is None and not anew:
            index = KeywordIndex.load(self._keywords_folder, state.library_id, state.generation)
        try:
            if index is not None and index.generation == state.generation:
                return index
            return (index or empty).updated(state.generation, chunk_ids(at), self._contents.texts_of)
        except DamagedFile:
            return empty.updated(state.generation, chunk_ids(at), self._contents.texts_of)

    def _keep(self, index: KeywordIndex) -> None:
        self._indexes = dict(sorted({**self._indexes, index.generation: index}.items())[-_KEPT:])

    def _saved_if_free(self, index: KeywordIndex) -> KeywordIndex:
        try:
            self._home.vectorstore.mkdir(parents=True, exist_ok=True)
            lock = WriterLock.acquire_for_caches(self._home.lock)
            if lock is not None:
                with lock:
                    return index.save(self._keywords_folder)
        except OSError:
            pass
        return index

    # Upkeep

    def refresh_indexes(self, *, anew: bool = False) -> None:
        """Save the keyword index in the home, and from a size on make or update Lance's index of the vectors.

        Raises RagScienceError where a write fails.
        """
        from ragscience.library.atomic_files import disk_errors

        self._database.require_lock()
        with self._reading() as at, self._making:
            if at is not None and at.state.chunks:
                index = self._updated(at, anew=anew)
                if not index.is_saved:
                    with disk_errors(self._home.vectorstore):
                        index = index.save(self._keywords_folder)
                self._keep(index)
            large = at is not None and at.state.chunks >= self._index_from
            indexed = at is not None and has_index(at)
        if large and (anew or not indexed):
            with self._database.writing() as change:
                index_vectors(change)

    def stale_indexes(self) -> list[str]:
        """The name "keyword" where the index in the home is missing, damaged or behind."""
        from ragscience.library.keyword_index import KeywordIndex

        with self._reading() as at:
            if at is None or not at.state.chunks:
                return []
            index = KeywordIndex.load(self._keywords_folder, at.state.library_id, at.state.generation)
            current = index is not None and index.generation == at.state.generation and index.is_whole
            return [] if current else ["keyword"]

    def dense_index_info(self) -> DenseIndexInfo | None:
        """The search of the vectors where it is exact; None where Lance's own index answers, or there are none."""
        with self._reading() as at:
            if at is None or not at.state.chunks or has_index(at):
                return None
            return DenseIndexInfo("flat", at.state.chunks, None)


def _distinct(at: Snapshot, column: str) -> list[str]:
    import pyarrow.compute as pc

    return [str(value) for value in pc.unique(at.arrow("passages", [column])[column]).to_pylist()]


def _require_dimension(at: Snapshot, vector: NDArray[np.float32]) -> None:
    if vector.shape != (at.state.dimension,):
        raise LibraryUnavailable(
            f"The library's vectors have {at.state.dimension} dimensions, the question's {vector.shape[-1]}.",
            "Use the embedder that made it, or run `python ingest.py rebuild --embeddings`.",
        )
