"""The tables of a library in LanceDB, LanceDB's errors as messages, and what a thread reads at one version."""

import errno
import re
import threading
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ragscience.core import errors
from ragscience.core.errors import LibraryDamaged, RagScienceError
from ragscience.library.dense_index import Ids, Matrix, Stored
from ragscience.library.keywords import mean_idf_of
from ragscience.library.paper_rows import FileSource, Listing, PaperRow, source_from
from ragscience.library.sealed_rows import LIST_DAMAGED, Damage, LanceState
from ragscience.library.snapshots import Snapshot

_SCHEMAS = {
    # One row: all that the library says of itself, and which versions of the other tables belong together.
    "library": "number int64, state string",
    # As in database.py; `outline`, `sketch` and `contents` are packed as in paper_rows.py and paper_contents.py.
    "papers": "paper_id int64, path binary, md5 string, first_chunk int64, chunks int64, reference_lists string, "
    "row binary, outline binary, sketch binary, contents large_binary",
    # `terms` are those of core/tokenizing.py with blanks between; `tokens` the codes of the token vectors, empty where
    # none are kept.
    "passages": "chunk_id int64, paper_id int64, row string, terms string, text_hash binary, vector vector, "
    "tokens binary, token_bytes int64",
    "graph": "chunk_id int64, extractor string, version string, text string",
    "notes": "kind string, key string, text string",
}
"""The columns of each table with their types."""
_CONFLICTS = ("incompatible transaction", "conflict", "concurrent")
"""What is in LanceDB's messages where two writers meet; it has no exceptions of its own for that."""
_OUT_OF_REACH = ("error performing", "generic s3 error", "retryerror", "reqwest")
"""What is in its messages where a server of object storage did not answer, or refused."""
_OF_THE_DISK = (errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EMFILE)
"""The errors of a disk that fails, or of its limits: they say nothing of what lies on it."""
_SOURCE_LINE = re.compile(r",\s+\S+\.rs:\d+(?::\d+)?(?=\W|$)")
"""Where LanceDB's code raised an error, which its text ends with."""
_INDEX_CACHE, _METADATA_CACHE = 512 << 20, 128 << 20
"""Bytes of indexes and of metadata that LanceDB may keep in memory; its own limits are 6 and 1 GB."""


def connect(uri: str) -> Any:
    """The database at `lance:///folder` or `s3://bucket/prefix`. Raises UsageError without the package.

    Keys and the address of object storage are those of the usual AWS_ variables, which LanceDB reads by itself.
    """
    try:
        import lancedb
    except ImportError as error:
        raise errors.missing_package("A library in LanceDB", "lancedb", "lab", errors.UsageError) from error
    place = uri.removeprefix("lance://")
    if uri.startswith("lance://") and not Path(place).is_absolute():
        raise errors.UsageError(f"{uri} names no full path.", "Write lance:///full/path/of/a/folder.")
    with lance_errors(uri):
        session = lancedb.Session(index_cache_size_bytes=_INDEX_CACHE, metadata_cache_size_bytes=_METADATA_CACHE)
        return lancedb.connect(place, session=session)


def make_table(database: Any, role: str, name: str, dimension: int = 0) -> Any:
    """Make an empty table, with the indexes of its columns that Lance keeps up to date when it is optimized."""
    table = database.create_table(name, schema=_schema(role, dimension))
    if role == "passages":
        from lancedb.index import FTS, BTree

        table.create_index("chunk_id", config=BTree())
        # The terms are stems already: they are cut at blanks alone.
        terms = FTS(
            base_tokenizer="whitespace",
            lower_case=False,
            stem=False,
            remove_stop_words=False,
            ascii_folding=False,
            with_position=False,
            max_token_length=None,
        )
        table.create_index("terms", config=terms)
    return table


def _schema(role: str, dimension: int) -> Any:
    import pyarrow as pa

    vector = pa.list_(pa.float32(), dimension or 1)
    columns = (column.split() for column in _SCHEMAS[role].split(", "))
    return pa.schema([(name, vector if kind == "vector" else getattr(pa, kind)()) for name, kind in columns])


def as_table(role: str, columns: Mapping[str, Sequence[Any] | Matrix]) -> Any:
    """An Arrow table; a column of vectors has shape (rows, dimension), float32."""
    import pyarrow as pa

    dimension = int(columns["vector"].shape[1]) if "vector" in columns else 0  # type: ignore[union-attr]
    schema = _schema(role, dimension)
    arrays = []
    for kind in schema:
        column = columns[kind.name]
        if isinstance(column, np.ndarray):
            arrays.append(pa.FixedSizeListArray.from_arrays(pa.array(column.ravel(), pa.float32()), dimension))
        else:
            arrays.append(pa.array(column, kind.type))
    return pa.Table.from_arrays(arrays, schema=schema)


def vector_rows(found: Any, dimension: int) -> Matrix:
    """The column of vectors of an Arrow table, shape (rows, dimension), float32."""
    if not found.num_rows:
        return np.empty((0, dimension), np.float32)
    rows: Matrix = found["vector"].combine_chunks().flatten().to_numpy().reshape(-1, dimension)
    return rows


def among(column: str, values: Iterable[int | str | bytes]) -> str:
    """The SQL condition that a column has one of the values."""
    known = [int(one) if not isinstance(one, (str, bytes)) else one for one in values]
    if not known:
        return "false"
    numbers = sorted(one for one in known if isinstance(one, int))
    if len(numbers) == len(known) and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{column} BETWEEN {numbers[0]} AND {numbers[-1]}"
    return f"{column} IN ({', '.join(map(_written, known))})"


def _written(value: int | str | bytes) -> str:
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def changed_meanwhile() -> errors.LibraryBusy:
    """The error for a change that another writer came before."""
    fix = "Run the command again."
    return errors.LibraryBusy("Another process changed the library meanwhile, so this change was not made.", fix)


def _is_of_lance(error: BaseException) -> bool:
    """Whether LanceDB may have raised it; those that damaged files cause have no class that can be imported.

    They are Arrow's own errors, and two kinds of panics of Rust code, one of them no Exception.
    """
    named = {name for base in type(error).__mro__ for name in (base.__module__, base.__name__)}
    of_damage = named & {"pyarrow.lib", "PanicException", "RustPanic"}
    return bool(of_damage) or isinstance(error, (OSError, ValueError)) or type(error) is RuntimeError


@contextmanager
def lance_errors(uri: str) -> Iterator[None]:
    """Turn LanceDB's errors into RagScienceError.

    LibraryBusy is for the conflict of two writers, LibraryUnavailable for a server that does not answer or refuses,
    DiskProblem for a disk that fails.
    """
    try:
        yield
    except BaseException as error:
        if _is_of_lance(error):
            raise _explained(uri, error) from error
        raise


def _explained(uri: str, error: BaseException) -> RagScienceError:
    text = str(error).lower()
    if any(word in text for word in _CONFLICTS):
        return changed_meanwhile()
    line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    line = _SOURCE_LINE.sub("", line)[:300].rstrip(".")
    if any(word in text for word in _OUT_OF_REACH) and "not found" not in text:
        fix = "Is its server reachable, and have you the right to read and write there? Then run the command again."
        return errors.LibraryUnavailable(f"The library at {uri} is out of reach: {line}.", fix)
    said = f"The library at {uri} could not be read or written: {line}."
    if any(f"(os error {number})" in text for number in _OF_THE_DISK) or getattr(error, "errno", 0) in _OF_THE_DISK:
        return errors.DiskProblem(said, "Is the disk full or failing, or have you no right to read and write there?")
    return RagScienceError(
        said,
        "Is its place reachable, with room and the right to write? Where its files are damaged, `python ingest.py "
        "rebuild` reads your papers again.",
    )


_BATCH = 2000


class LanceSnapshot(Snapshot):
    """The tables at the versions of one state; for any number of threads. What reads rows is as in `Snapshot`."""

    state: LanceState

    def __init__(self, database: Any, uri: str, root: str, state: LanceState, damage: Damage) -> None:
        self.uri, self.state, self.damage = uri, state, damage
        self._database, self._root = database, root
        self._tables: dict[str, Any] = {}
        self._guard = threading.Lock()
        self.known: dict[str, int] = {}
        """How many passages have a term, as far as it was asked."""

    def table(self, role: str) -> Any:
        """A table of the library, at its version."""
        with self._guard, lance_errors(self.uri):
            if role not in self._tables:
                name, version = self.state.tables[role]
                table = self._database.open_table(name)
                table.checkout(version)
                self._tables[role] = table
            return self._tables[role]

    def columns(self, role: str, names: Sequence[str], where: str = "") -> Any:
        """The columns of the rows that fit, as an Arrow table."""
        if role not in self.state.tables:
            raise LibraryDamaged(*LIST_DAMAGED)
        table = self.table(role)
        with lance_errors(self.uri):
            query = table.search().select(list(names))
            return (query.where(where) if where else query).to_arrow()

    def rows(self, role: str, names: Sequence[str], where: str = "") -> Iterator[tuple[Any, ...]]:
        """As `columns`, row by row; none where there is no library."""
        if not self.state.library_id:
            return iter(())
        found = self.columns(role, names, where)
        return zip(*(found[name].to_pylist() for name in names), strict=True)

    def passages(self, ids: Sequence[int], names: Sequence[str]) -> Iterator[Any]:
        """The columns of these passages, as Arrow tables, ascending."""
        wanted = sorted({int(one) for one in ids})
        for first in range(0, len(wanted), _BATCH):
            where = among("chunk_id", wanted[first : first + _BATCH])
            yield self.columns("passages", ["chunk_id", *names], where).sort_by("chunk_id")

    @cached_property
    def listing(self) -> Listing:
        """The papers. Raises LibraryDamaged where some are lost."""
        names = ["paper_id", "path", "md5", "first_chunk", "chunks", "reference_lists", "row"]
        found = [PaperRow(*row) for row in self.rows("papers", names)]
        if (len(found), sum(row.chunks for row in found)) != (self.state.papers, self.state.chunks):
            raise LibraryDamaged(*LIST_DAMAGED)
        return Listing(sorted(found, key=lambda row: row.first_chunk), self._root)

    @cached_property
    def mean_idf(self) -> float:
        """The mean inverse document frequency of all terms: kept when the indexes are brought up to date, else made."""
        if self.state.keywords_at == self.state.version:
            return self.state.mean_idf
        having = Counter[str]()
        for (text,) in self.rows("passages", ["terms"]):
            having.update(set(text.split(" ")))
        return mean_idf_of(Counter(having.values()), self.state.chunks)

    def rows_of(self, ids: Sequence[int]) -> Iterator[tuple[int, str]]:
        """As `Snapshot.rows_of`."""
        for found in self.passages(ids, ["row"]):
            yield from zip(found["chunk_id"].to_pylist(), found["row"].to_pylist(), strict=True)

    def parts(self, part: str, paper_ids: Collection[int] | None = None) -> Iterator[tuple[int, bytes]]:
        """As `Snapshot.parts`."""
        where = among("paper_id", paper_ids) if paper_ids is not None and len(paper_ids) < _BATCH else ""
        for paper_id, content in sorted(self.rows("papers", ["paper_id", part], where)):
            if paper_ids is None or paper_id in paper_ids:
                yield paper_id, content

    def vectors_of(self, ids: Ids) -> Stored:
        """As `Snapshot.vectors_of`."""
        found = self.columns("passages", ["chunk_id", "vector"], among("chunk_id", ids.tolist())).sort_by("chunk_id")
        return found["chunk_id"].to_numpy(), vector_rows(found, self.state.dimension)

    def by_hash(self, hashes: Sequence[bytes]) -> dict[bytes, Matrix]:
        """As `Snapshot.by_hash`."""
        if not self.state.chunks:
            return {}
        found = self.columns("passages", ["text_hash", "vector"], among("text_hash", hashes))
        return dict(zip(found["text_hash"].to_pylist(), vector_rows(found, self.state.dimension), strict=True))

    def notes(self, kind: str) -> dict[str, str]:
        """As `Snapshot.notes`."""
        return dict(self.rows("notes", ["key", "text"], among("kind", [kind])))

    def sources(self, md5s: Collection[str] | None = None) -> list[FileSource]:
        """As `Snapshot.sources`."""
        kept = sorted(self.notes("source").items())
        return [source_from(md5, text) for md5, text in kept if md5s is None or md5 in md5s]

    def graph_made(self) -> Iterator[tuple[int, str, str]]:
        """As `Snapshot.graph_made`."""
        yield from self.rows("graph", ["chunk_id", "extractor", "version"])

    def graph_rows(self) -> Iterator[tuple[int, str, str]]:
        """As `Snapshot.graph_rows`."""
        yield from sorted(self.rows("graph", ["chunk_id", "extractor", "text"]))

    def tokens(self, ids: Sequence[int]) -> tuple[dict[int, bytes], list[int]]:
        """As `Snapshot.tokens`."""
        from ragscience.models.maxsim import CODE_BYTES

        found: dict[int, bytes] = {}
        for rows in self.passages(ids, ["tokens"]) if self.state.chunks else ():
            found |= zip(rows["chunk_id"].to_pylist(), rows["tokens"].to_pylist(), strict=True)
        kept = {one: codes for one, codes in found.items() if codes and len(codes) % CODE_BYTES == 0}
        return kept, [one for one, codes in found.items() if not codes]

    def token_bytes(self) -> int:
        """As `Snapshot.token_bytes`."""
        return sum(self._token_sizes())

    def without_tokens(self) -> int:
        """As `Snapshot.without_tokens`."""
        return self._token_sizes().count(0)

    def _token_sizes(self) -> list[int]:
        return [size for (size,) in self.rows("passages", ["token_bytes"])] if self.state.chunks else []
