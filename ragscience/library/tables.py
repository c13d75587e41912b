"""What both kinds of library keep of passages and files: vectors, rows of the knowledge graph, sources; the ledger."""

import json
import os
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress

import numpy as np

from ragscience.core.errors import RagScienceError
from ragscience.core.records import EmbedderIdentity, Metadata, Paper
from ragscience.core.serialization import storable
from ragscience.library.atomic_files import Home, disk_errors, write_atomically
from ragscience.library.changes import Change
from ragscience.library.dense_index import Codes, Ids, Matrix, Stored
from ragscience.library.paper_rows import FileSource, path_within, source_json
from ragscience.library.snapshots import Database, Snapshot

_NORM_TOLERANCE = 1e-3


def check_vectors(vectors: Matrix, count: int, dimension: int) -> None:
    """Raise RagScienceError unless these are `count` finite unit rows of `dimension`, float32."""
    if vectors.dtype != np.float32 or vectors.shape != (count, dimension):
        raise RagScienceError(
            f"The embedder gave {vectors.dtype} vectors of shape {vectors.shape} where float32 of shape "
            f"({count}, {dimension}) belong.",
            "Check the embedding model, or rebuild all vectors with `python ingest.py rebuild --embeddings`.",
        )
    norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    worst = float(np.abs(norms - 1).max(initial=0))
    if not worst <= _NORM_TOLERANCE:  # nor where it is no number
        fix = "Check the embedding model."
        raise RagScienceError(f"The embedder gave vectors that are not of length 1 (off by {worst:.3g}).", fix)


class _Table:
    """A part of a library."""

    def __init__(self, database: Database) -> None:
        self._database = database


class Vectors(_Table):
    """The vectors of a library; thread-safe."""

    def of(self, ids: Sequence[int] | None = None) -> Stored:
        """(ids, ascending, int64; vectors, shape (n, dimension), float32) of all passages, or of those of `ids`."""
        with self._database.now() as at:
            return at.vectors(ids)

    def by_hash(self, hashes: Sequence[bytes]) -> dict[bytes, Matrix]:
        """The vectors, shape (dimension,), of those of the texts that are embedded already and intact."""
        with self._database.now() as at:
            return at.by_hash(list(dict.fromkeys(hashes))) if hashes else {}

    def replace(
        self, embedder: EmbedderIdentity, batches: Iterable[tuple[Sequence[int] | Ids, Matrix, Mapping[bytes, Codes]]]
    ) -> None:
        """Replace the vectors of all passages with those of another embedder, in one transaction.

        `batches` are (ids, unit rows of shape (len(ids), embedder.dimension), float32, token vectors by the
        hash of their text) and are read one by one. Raises RagScienceError unless each passage gets one.
        """

        def act(change: Change) -> None:
            done = set[int]()
            change.begin_vectors(embedder.dimension)
            for ids, vectors, tokens in batches:
                check_vectors(vectors, len(ids), embedder.dimension)
                numbers = [int(one) for one in ids]
                change.put_vectors(numbers, vectors, tokens)
                done.update(numbers)
            total = change.state.chunks
            if len(done) != total:
                raise RagScienceError(f"{total - len(done)} of {total} passages got no new vector.", "Run it again.")
            change.note(embedder=embedder, version=change.state.version + 1)

        self._database.changed(act)


_BATCH = 500


class Tokens(_Table):
    """The token vectors of a library. They cost a model pass to make, so they are no cache; thread-safe."""

    def of(self, ids: Sequence[int]) -> dict[int, Codes]:
        """Codes of the token vectors (models/maxsim.py), shape (tokens, 28), of the passages that have any."""
        from ragscience.models.maxsim import CODE_BYTES

        with self._database.now() as at:
            found = at.tokens(ids)[0]
        return {one: np.frombuffer(codes, np.uint8).reshape(-1, CODE_BYTES) for one, codes in found.items()}

    def put(self, tokens: Mapping[bytes, Codes]) -> None:
        """Keep token vectors, codes of shape (n, 28), by the hash of their text. Raises RagScienceError: disk full."""
        self._database.changed(lambda change: change.put_tokens(tokens))
        self._database.damage.forget("token")

    def size_bytes(self) -> int:
        """The size of all token vectors in bytes."""
        with self._database.now() as at:
            return at.token_bytes()

    def not_kept(self) -> int:
        """Of how many passages no token vectors are kept."""
        with self._database.now() as at:
            return at.without_tokens()

    def missing(self) -> tuple[list[int], list[int]]:
        """The passages whose token vectors are lost or damaged, and those of which none are kept; reads all of them."""
        lost, unkept = list[int](), list[int]()
        with self._database.now() as at:
            ids: list[int] = at.listing.chunk_ids.tolist()
            for first in range(0, len(ids), _BATCH):
                some = ids[first : first + _BATCH]
                found, without = at.tokens(some)
                unkept += without
                lost += [one for one in some if one not in found and one not in without]
        return lost, unkept


class GraphTable(_Table):
    """The graph's part of a library."""

    def state(self) -> str:
        """Changes whenever a row is added, removed or changed; empty if no passage was read."""
        with self._database.now() as at:
            if next(at.graph_made(), None) is None:
                return ""
            return f"{at.state.graph_version}:{at.state.library_id}"

    def pending(self, extractor: str, version: str) -> list[int]:
        """Ids of the passages, without reference lists, that this version of `extractor` has not read, ascending."""
        with self._database.now() as at:
            done = {one for one, *made_by in at.graph_made() if made_by == [extractor, version]}
            return [one for one in _read_ids(at) if one not in done]

    def put(self, extractor: str, version: str, found: Sequence[tuple[int, str]], *, alone: bool = False) -> None:
        """Store what `extractor` read from each passage (id, text) in one transaction, replacing its earlier rows.

        With `alone`, its other rows are deleted. A passage that is no longer in the library is skipped.
        """

        def act(change: Change) -> None:
            if alone:
                change.delete_graph(extractor)
            listing = change.before.listing
            texts = {int(one): storable(text) for one, text in found if listing.paper_of(int(one)) is not None}
            change.put_graph(extractor, version, texts)
            change.note(graph_version=change.state.graph_version + 1)

        self._database.changed(act)
        if alone:
            self._database.damage.forget("graph")

    def clear(self, extractor: str) -> None:
        """Delete the rows of `extractor`."""

        def act(change: Change) -> None:
            change.note(graph_version=change.state.graph_version + 1)
            change.delete_graph(extractor)

        self._database.changed(act)
        self._database.damage.forget("graph")

    def rows(self) -> list[tuple[int, int, str, str]]:
        """(passage id, paper id, extractor, its JSON) of every row, by passage id and extractor.

        Damaged ones are noted and left out.
        """
        found = []
        with self._database.now() as at:
            for chunk_id, extractor, text in at.graph_rows():
                if (paper := at.listing.paper_of(chunk_id)) is not None:
                    found.append((chunk_id, paper.paper_id, extractor, text))
                else:
                    self._database.damage.note("graph")
        return found

    def read_passages(self) -> dict[int, tuple[int, int]]:
        """(passages without reference lists, how many of them any extractor has read) by paper id."""
        with self._database.now() as at:
            read = {chunk_id for chunk_id, _, _ in at.graph_made()}
            total, done = Counter[int](), Counter[int]()
            for chunk_id in _read_ids(at):
                if (paper := at.listing.paper_of(chunk_id)) is not None:
                    total[paper.paper_id] += 1
                    done[paper.paper_id] += chunk_id in read
            return {paper_id: (count, done[paper_id]) for paper_id, count in total.items()}

    def stable_ids(self) -> dict[int, str]:
        """A name for each passage that survives removing and re-adding its paper: "<12 of the MD5>#<ordinal>"."""
        with self._database.now() as at:
            rows = at.listing.rows.values()
            return {row.first_chunk + place: f"{row.md5[:12]}#{place}" for row in rows for place in range(row.chunks)}


class SourcesTable(_Table):
    """The sources of fetched files."""

    def put(self, md5: str, metadata: Metadata) -> None:
        """Store the metadata of the file with these bytes, replacing what was stored."""
        self.put_all([FileSource(md5, metadata)])

    def put_all(self, sources: Collection[FileSource]) -> None:
        """Store what is said of files: all or nothing."""

        def act(change: Change) -> None:
            change.put_sources({source.md5: source_json(source) for source in sources})
            change.note(version=change.state.version + 1)

        self._database.changed(act)

    def of(self, md5: str) -> FileSource | None:
        """The source of the file with these bytes, or None."""
        with self._database.now() as at:
            return next(iter(at.sources([md5])), None)

    def all(self) -> list[FileSource]:
        """Every fetched file, whether it is in the library or not, by MD5; damaged rows are left out."""
        with self._database.now() as at:
            return at.sources()


def _read_ids(at: Snapshot) -> list[int]:
    """The passages that extractors read: those that a search finds unasked."""
    kept = at.listing.unasked
    return [int(one) for one in (at.listing.chunk_ids if kept is None else kept)]


# The ledger

_SCHEMA = 1
_END = b"\n"


def write_ledger(home: Home, state: Mapping[str, object], papers: Callable[[], list[Paper]]) -> None:
    """Bring the ledger up to date: the papers are listed only if the file is of another state. Raises RagScienceError.

    Paths within the home are relative to it, so that the ledger of a copy is the same.

    The last line of the file says which state of the library it is of, with a CRC-32 of the lines before. What a killed
    process leaves unwritten is written by the next one that opens the library for writing.
    """
    path = home.ledger
    with disk_errors(path):
        with suppress(FileNotFoundError):
            content, _, last = path.read_bytes().removesuffix(_END).rpartition(_END)
            if last + _END == _last_line(content + _END, state):
                return
        content = _content(home, papers())
        write_atomically(path, content + _last_line(content, state))


def _content(home: Home, papers: Sequence[Paper]) -> bytes:
    entries = [f"{json.dumps(paper.md5)}: {json.dumps(_entry(home, paper), ensure_ascii=False)}" for paper in papers]
    # Bytes of a file name that are not text become a JSON escape, so that the ledger is always valid UTF-8.
    text = f'{{"schema": {_SCHEMA}, "files": {{\n' + ",\n".join(entries) + "\n},\n"
    return text.encode("utf-8", "backslashreplace")


def _entry(home: Home, paper: Paper) -> dict[str, object]:
    return {
        "file": paper.file,
        "path": os.fsdecode(path_within(str(home.root.absolute()), paper.path)),
        "pages": paper.pages,
        "chunks": paper.chunks,
        "added_at": paper.added_at,
        "warnings": list(paper.warnings),
    }


def _last_line(content: bytes, state: Mapping[str, object]) -> bytes:
    return f'"library": {json.dumps({**state, "crc32": zlib.crc32(content)})}}}\n'.encode()
