"""The tables of a library in LanceDB, and LanceDB's errors as messages."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragscience.core.errors import DiskProblem, LibraryBusy, LibraryUnavailable, RagScienceError, UsageError
from ragscience.library.lancedb_import import import_lancedb
from ragscience.library.row_checksums import row_checksum

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "ROLES",
    "as_table",
    "changed_meanwhile",
    "checked_columns",
    "columns_of",
    "connect",
    "in_list",
    "lance_errors",
    "schema_of",
    "vector_rows",
]

_SCHEMAS: dict[str, tuple[tuple[str, str], ...]] = {
    "papers": (
        ("paper_id", "int64"),
        ("path", "binary"),
        ("name", "binary"),
        ("md5", "string"),
        ("size_bytes", "int64"),
        ("modified_ns", "int64"),
        ("title", "string"),
        ("added_at", "string"),
        ("warnings", "string"),
        ("pages", "int64"),
        ("first_chunk", "int64"),
        ("chunks", "int64"),
        ("stated_title", "string"),
        ("authors", "string"),
        ("year", "int64"),
        ("venue", "string"),
        ("doi", "string"),
        ("arxiv_id", "string"),
        ("confidence", "string"),
        ("publication", "string"),
        ("sketch", "binary"),
        ("elements", "binary"),
    ),
    "pages": (
        ("paper_id", "int64"),
        ("number", "int64"),
        ("start", "int64"),
        ("end", "int64"),
        ("warning", "string"),
        ("text", "string"),
        ("lines", "binary"),
        ("furniture", "string"),
    ),
    "passages": (
        ("chunk_id", "int64"),
        ("paper_id", "int64"),
        ("ordinal", "int64"),
        ("text", "string"),
        ("start", "int64"),
        ("end", "int64"),
        ("page_start", "int64"),
        ("page_end", "int64"),
        ("section", "string"),
        ("kind", "string"),
        ("page_breaks", "string"),
        ("header", "string"),
    ),
    "vectors": (("chunk_id", "int64"), ("paper_id", "int64"), ("text_hash", "binary"), ("vector", "vector")),
    "tokens": (("chunk_id", "int64"), ("paper_id", "int64"), ("bytes", "int64"), ("tokens", "large_binary")),
    "graph": (
        ("chunk_id", "int64"),
        ("paper_id", "int64"),
        ("extractor", "string"),
        ("version", "string"),
        ("found", "string"),
    ),
    "sources": (("md5", "string"), ("url", "string"), ("fetched_at", "string"), ("metadata", "string")),
    "generations": (("number", "int64"), ("state", "string")),
}
_PARTS = ("sketch", "elements")
"""The large columns of a paper, which have a checksum of their own."""
_CHECKED: dict[str, dict[str, tuple[str, ...]]] = {
    role: {"checksum": tuple(name for name, _ in columns if name not in _PARTS)}
    for role, columns in _SCHEMAS.items()
    if role != "generations"
}
_CHECKED["papers"]["parts_checksum"] = ("paper_id", *_PARTS)
ROLES = tuple(role for role in _SCHEMAS if role not in ("vectors", "generations"))
"""The tables that each library has from its beginning; that of vectors comes with their dimension."""


_CONFLICTS = ("incompatible transaction", "conflict", "concurrent")
"""What is in LanceDB's messages where two writers meet; it has no exceptions of its own for that."""
_OUT_OF_REACH = ("error performing", "generic s3 error", "retryerror", "reqwest")
"""What is in its messages where a server of object storage did not answer, or refused."""
_OF_THE_DISK = (errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EMFILE)
"""The errors of a disk that fails, or of its limits: they tell nothing of what lies on it."""

_INDEX_CACHE, _METADATA_CACHE = 512 << 20, 128 << 20
"""Bytes of indexes and of metadata that LanceDB may keep in memory; its own limits are 6 and 1 GB."""


def changed_meanwhile() -> LibraryBusy:
    """The error for a change that another writer came before."""
    return LibraryBusy(
        "Another process changed the library meanwhile, so this change was not made.", "Run the command again."
    )


def columns_of(role: str) -> list[str]:
    """The columns of a table, without its checksums."""
    return [name for name, _ in _SCHEMAS[role]]


def checked_columns(role: str, checksum: str = "checksum") -> tuple[str, ...]:
    """The columns that a column of checksums is of, in order (library/row_checksums.py)."""
    return _CHECKED[role][checksum]


def schema_of(role: str, dimension: int = 0) -> Any:
    """The Arrow schema of a table; `dimension` is that of the vectors, float32. Checksums are its last columns."""
    import pyarrow as pa

    kinds = {
        "int64": pa.int64(),
        "string": pa.string(),
        "binary": pa.binary(),
        "large_binary": pa.large_binary(),
        "vector": pa.list_(pa.float32(), dimension or 1),
    }
    checksums = [(name, "int64") for name in _CHECKED.get(role, ())]
    return pa.schema([(name, kinds[kind]) for name, kind in (*_SCHEMAS[role], *checksums)])


def as_table(role: str, rows: Iterable[Sequence[Any]], dimension: int = 0) -> Any:
    """An Arrow table of rows whose values are in the order of `columns_of`, each with its checksums."""
    import numpy as np
    import pyarrow as pa

    schema, names = schema_of(role, dimension), columns_of(role)
    columns: list[Sequence[Any]] = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in names]
    by_name = dict(zip(names, columns, strict=True))
    for checked in _CHECKED.get(role, {}).values():
        given = zip(*(by_name[name] for name in checked), strict=True)
        columns.append([row_checksum(*map(_as_kept, values)) for values in given])
    arrays = []
    for field, column in zip(schema, columns, strict=True):
        if pa.types.is_fixed_size_list(field.type):
            flat = np.concatenate(column) if column else np.empty(0, np.float32)
            arrays.append(pa.FixedSizeListArray.from_arrays(pa.array(flat, pa.float32()), dimension))
        else:
            arrays.append(pa.array(column, field.type))
    return pa.Table.from_arrays(arrays, schema=schema)


def vector_rows(found: Any, dimension: int) -> NDArray[np.float32]:
    """The column of vectors of an Arrow table, shape (rows, dimension), float32."""
    import numpy as np

    column = found["vector"].combine_chunks()
    flat = column.flatten() if found.num_rows else None
    return np.empty((0, dimension), np.float32) if flat is None else flat.to_numpy().reshape(-1, dimension)


def _as_kept(value: object) -> object:
    """A value as `row_checksum` takes it: a vector as its bytes, float32, little-endian."""
    import numpy as np

    return np.ascontiguousarray(value, "<f4").tobytes() if isinstance(value, np.ndarray) else value


def in_list(column: str, values: Iterable[int | str | bytes]) -> str:
    """The SQL condition that a column has one of the values."""
    written = []
    for value in values:
        if isinstance(value, bytes):
            written.append(f"X'{value.hex()}'")
        else:
            written.append("'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(int(value)))
    return f"{column} IN ({', '.join(written)})" if written else "false"


def connect(uri: str) -> Any:
    """The database at `lance:///folder` or `s3://bucket/prefix`. Raises UsageError without the package.

    Keys and the address of object storage are those of the usual AWS_ variables, which LanceDB reads by itself.
    """
    try:
        lancedb = import_lancedb()
    except ImportError as error:
        raise UsageError(
            "A library in LanceDB needs the package lancedb.", "`pip install -r requirements-lance.txt` installs it."
        ) from error
    place = uri.removeprefix("lance://")
    if uri.startswith("lance://") and not Path(place).is_absolute():
        raise UsageError(f"{uri} names no full path.", "Write lance:///full/path/of/a/folder.")
    with lance_errors(uri):
        session = lancedb.Session(index_cache_size_bytes=_INDEX_CACHE, metadata_cache_size_bytes=_METADATA_CACHE)
        return lancedb.connect(place, session=session)


_SOURCE_LINE = re.compile(r",\s+\S+\.rs:\d+(?::\d+)?(?=\W|$)")
"""Where LanceDB's code raised an error, which its text ends with."""


def _is_of_lance(error: BaseException) -> bool:
    """Whether LanceDB may have raised it; those that damaged files cause have no class that can be imported.

    They are Arrow's own errors, and two kinds of panics of Rust code, one of them no Exception.
    """
    named = {name for base in type(error).__mro__ for name in (base.__module__, base.__name__)}
    of_damage = named & {"pyarrow.lib", "PanicException", "RustPanic"}
    return bool(of_damage) or isinstance(error, (RuntimeError, OSError, ValueError))


class lance_errors:  # noqa: N801  # it reads as a function
    """Turns LanceDB's errors into RagScienceError.

    LibraryBusy is for the conflict of two writers, LibraryUnavailable for a server that does not answer or refuses,
    DiskProblem for a disk that fails.
    """

    def __init__(self, uri: str) -> None:
        self._uri = uri

    def __enter__(self) -> None:
        """Nothing to do."""

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if error is None or not _is_of_lance(error):
            return
        text = str(error).lower()
        if any(word in text for word in _CONFLICTS):
            raise changed_meanwhile() from error
        line = (str(error).strip().splitlines() or [type(error).__name__])[0]
        line = _SOURCE_LINE.sub("", line)[:300].rstrip(".")
        if any(word in text for word in _OUT_OF_REACH) and "not found" not in text:
            raise LibraryUnavailable(
                f"The library at {self._uri} is out of reach: {line}.",
                "Is its server reachable, and have you the right to read and write there? Then run the command again.",
            ) from error
        said = f"The library at {self._uri} could not be read or written: {line}."
        if any(f"(os error {number})" in text for number in _OF_THE_DISK) or getattr(error, "errno", 0) in _OF_THE_DISK:
            raise DiskProblem(
                said, "Is the disk full or failing, or have you no right to read and write there?"
            ) from error
        raise RagScienceError(
            said,
            "Is its place reachable, with room and the right to write? Where its files are damaged, `python ingest.py "
            "rebuild` reads your papers again.",
        ) from error
