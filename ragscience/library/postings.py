"""Segments of the keyword index: for each term the chunks that contain it, and how often.

A segment is six arrays in one file, memory-mapped and immutable: a new paper writes a small segment, small ones
are merged into larger ones, and a removal rewrites the segments that contain its chunks. No text is tokenised
twice.
"""

from __future__ import annotations

import hashlib
import mmap
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragscience.library.atomic_files import DamagedFile, Signature, put_in_place

__all__ = ["Segment", "SegmentFile", "build", "merge", "open_segment", "term_key", "without", "write_segment"]

_ALIGNMENT = 64
_MERGE_BLOCK = 1 << 22
_BLOCK = 1 << 16
"""Postings that one checksum is of."""
_RELEASED = 512
"""Blocks, of 0.4 MB each, after which the memory of what was read is released."""
_MOST_COUNTED = int(np.iinfo(np.uint16).max)


@lru_cache(maxsize=1 << 16)
def term_key(term: str) -> int:
    """The key of a term: 64 bits of BLAKE2b; among a million terms the chance of a collision is 1 in 37 million."""
    digest = hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


@dataclass(frozen=True, slots=True)
class SegmentFile:
    """A segment on disk, as the manifest names it."""

    name: str
    terms: int
    postings: int
    documents: int
    signature: Signature
    head: int = 0
    """CRC-32 of all that comes before the postings."""
    blocks: tuple[int, ...] = ()
    """CRC-32 of each block of postings: of its rows, then of its counts."""

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> SegmentFile:
        """The inverse of `asdict`. Raises TypeError or KeyError for invalid input."""
        signature, blocks = Signature(**value["signature"]), tuple(value["blocks"])
        return cls(**{**value, "signature": signature, "blocks": blocks})

    def to_json(self) -> dict[str, Any]:
        """For the manifest."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Segment:
    """Postings in the order of their terms; `rows[starts[t]:starts[t + 1]]` are those of term t, ascending."""

    terms: NDArray[np.uint64]
    """Keys of the terms, ascending, shape (terms,)."""
    starts: NDArray[np.int64]
    """Shape (terms + 1,)."""
    ids: NDArray[np.int64]
    """Chunk ids, ascending, shape (documents,); a row is an index into this."""
    lengths: NDArray[np.int32]
    """Terms in each chunk, counted with repeats, shape (documents,)."""
    rows: NDArray[np.int32]
    """Shape (postings,)."""
    counts: NDArray[np.uint16]
    """How often the term is in the chunk, shape (postings,)."""
    file: SegmentFile | None = field(default=None, compare=False)
    """The file on disk, if saved."""
    verified: set[int] = field(default_factory=set, compare=False)
    """The numbers of the blocks that were found to be what was written."""
    mapped: mmap.mmap | None = field(default=None, compare=False)
    """The file's content, if saved."""

    def verify(self, span: slice) -> None:
        """Raise DamagedFile unless the postings of `span` are what was written; reads each block once."""
        if self.file is None:
            return
        for block in range(span.start // _BLOCK, -(-span.stop // _BLOCK)):
            if block not in self.verified:
                if len(self.verified) % _RELEASED == 0:
                    self.release()
                if _block_checksum(self.rows, self.counts, block) != self.file.blocks[block]:
                    raise DamagedFile(f"{self.file.name} is not what was written")
                self.verified.add(block)

    def release(self) -> None:
        """Let the system have the memory of what was read of the file; it is mapped again where it is read again."""
        if self.mapped is not None and hasattr(mmap, "MADV_DONTNEED"):
            self.mapped.madvise(mmap.MADV_DONTNEED)

    def postings(self, key: int) -> slice:
        """The slice of a term's postings in `rows` and `counts`; empty if the segment lacks the term.

        Raises DamagedFile unless they are what was written.
        """
        place = int(np.searchsorted(self.terms, np.uint64(key)))
        if place == self.terms.size or int(self.terms[place]) != key:
            return slice(0, 0)
        span = slice(int(self.starts[place]), int(self.starts[place + 1]))
        self.verify(span)
        return span


def build(documents: Iterable[tuple[int, Sequence[str]]]) -> Segment:
    """A segment of (chunk id, its terms), in ascending order of ids."""
    numbers: dict[str, int] = {}
    ids: list[int] = []
    lengths: list[int] = []
    flat: list[int] = []
    for chunk_id, terms in documents:
        ids.append(chunk_id)
        lengths.append(len(terms))
        flat += [numbers.setdefault(term, len(numbers)) for term in terms]
    keys = np.fromiter((term_key(term) for term in numbers), np.uint64, len(numbers))
    order = np.argsort(keys)
    place = np.empty(len(numbers), np.int64)
    place[order] = np.arange(len(numbers))
    row_of = np.repeat(np.arange(len(ids), dtype=np.int64), lengths)
    width = max(len(ids), 1)
    pairs, counts = np.unique(place[np.array(flat, np.int64)] * width + row_of, return_counts=True)
    starts = np.zeros(len(numbers) + 1, np.int64)
    np.cumsum(np.bincount(pairs // width, minlength=len(numbers)), out=starts[1:])
    return Segment(
        terms=keys[order],
        starts=starts,
        ids=np.array(ids, np.int64),
        lengths=np.array(lengths, np.int32),
        rows=(pairs % width).astype(np.int32),
        counts=np.minimum(counts, _MOST_COUNTED).astype(np.uint16),
    )


def merge(segments: Sequence[Segment]) -> Segment:
    """Merge several segments, whose ids ascend from one to the next; linear in the postings, only terms are sorted."""
    for segment in segments:
        segment.verify(slice(0, segment.rows.size))
    terms = np.unique(np.concatenate([segment.terms for segment in segments]))
    places = [np.searchsorted(terms, segment.terms) for segment in segments]
    sizes = np.zeros(terms.size, np.int64)
    for segment, place in zip(segments, places, strict=True):
        sizes[place] += np.diff(segment.starts)
    starts = np.zeros(terms.size + 1, np.int64)
    np.cumsum(sizes, out=starts[1:])
    rows = np.empty(int(starts[-1]), np.int32)
    counts = np.empty(rows.size, np.uint16)
    filled = starts[:-1].copy()
    first_row = 0
    for segment, place in zip(segments, places, strict=True):
        for low, high in _blocks(segment.starts):
            begin, end = int(segment.starts[low]), int(segment.starts[high])
            size = np.diff(segment.starts[low : high + 1])
            target = np.repeat(filled[place[low:high]] - segment.starts[low:high], size) + np.arange(begin, end)
            rows[target] = segment.rows[begin:end] + np.int32(first_row)
            counts[target] = segment.counts[begin:end]
        filled[place] += np.diff(segment.starts)
        first_row += segment.ids.size
    return Segment(
        terms=terms,
        starts=starts,
        ids=np.concatenate([segment.ids for segment in segments]),
        lengths=np.concatenate([segment.lengths for segment in segments]),
        rows=rows,
        counts=counts,
    )


def _blocks(starts: NDArray[np.int64]) -> Iterable[tuple[int, int]]:
    """Ranges of terms with a bounded number of postings each, so that merging 100 million needs no giant index."""
    steps = np.arange(0, int(starts[-1]) + _MERGE_BLOCK, _MERGE_BLOCK)
    edges = np.unique(np.concatenate([np.searchsorted(starts, steps), [starts.size - 1]]))
    return pairwise(int(edge) for edge in edges if edge < starts.size)


def without(segment: Segment, gone: NDArray[np.bool_]) -> Segment:
    """The segment without the rows that `gone`, shape (documents,), marks."""
    segment.verify(slice(0, segment.rows.size))
    kept = ~gone
    new_row = np.cumsum(kept, dtype=np.int32) - np.int32(1)
    stays = kept[segment.rows]
    rows = new_row[segment.rows[stays]]
    sizes = np.add.reduceat(stays, segment.starts[:-1], dtype=np.int64) if stays.size else np.empty(0, np.int64)
    used = sizes > 0
    starts = np.zeros(int(used.sum()) + 1, np.int64)
    np.cumsum(sizes[used], out=starts[1:])
    return Segment(
        terms=np.asarray(segment.terms)[: sizes.size][used],
        starts=starts,
        ids=segment.ids[kept],
        lengths=segment.lengths[kept],
        rows=rows,
        counts=segment.counts[stays],
    )


_ARRAYS: tuple[tuple[str, str], ...] = (
    ("terms", "<u8"),
    ("starts", "<i8"),
    ("ids", "<i8"),
    ("lengths", "<i4"),
    ("rows", "<i4"),
    ("counts", "<u2"),
)


def _layout(terms: int, postings: int, documents: int) -> dict[str, tuple[int, str, int]]:
    """For each array: its offset in the file, its dtype, its length; under "" the size of the file."""
    lengths = {
        "terms": terms,
        "starts": terms + 1,
        "ids": documents,
        "lengths": documents,
        "rows": postings,
        "counts": postings,
    }
    layout: dict[str, tuple[int, str, int]] = {}
    offset = 0
    for name, dtype in _ARRAYS:
        layout[name] = (offset, dtype, lengths[name])
        size = lengths[name] * np.dtype(dtype).itemsize
        offset += -(-size // _ALIGNMENT) * _ALIGNMENT
    layout[""] = (offset, "", 0)
    return layout


def write_segment(folder: Path, name: str, segment: Segment) -> Segment:
    """The same segment, saved and memory-mapped. Raises OSError."""
    shape = (segment.terms.size, segment.rows.size, segment.ids.size)
    layout = _layout(*shape)
    temporary, path = folder / f"{name}.tmp", folder / name
    try:
        with temporary.open("wb") as file:
            for array_name, dtype in _ARRAYS:
                file.seek(layout[array_name][0])
                file.write(np.ascontiguousarray(getattr(segment, array_name), dtype).view(np.uint8).data)
            file.truncate(layout[""][0])
        put_in_place(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    blocks = tuple(
        _block_checksum(np.ascontiguousarray(segment.rows, "<i4"), np.ascontiguousarray(segment.counts, "<u2"), block)
        for block in range(-(-segment.rows.size // _BLOCK))
    )
    with path.open("rb") as file:
        head = zlib.crc32(file.read(layout["rows"][0]))
    return open_segment(folder, SegmentFile(name, *shape, Signature.of(path), head, blocks))


def _block_checksum(rows: NDArray[np.int32], counts: NDArray[np.uint16], block: int) -> int:
    part = slice(block * _BLOCK, (block + 1) * _BLOCK)
    return zlib.crc32(counts[part].data, zlib.crc32(rows[part].data))


def open_segment(folder: Path, file: SegmentFile) -> Segment:
    """The segment, memory-mapped. Raises OSError or ValueError if the file does not match the manifest.

    Of its content all but the postings is verified, which are when they are used.
    """
    path = folder / file.name
    layout = _layout(file.terms, file.postings, file.documents)
    if file.signature.size != layout[""][0] or not file.signature.fits(path):
        raise ValueError(f"{path} is not what was written")
    data, mapped = np.empty(0, np.uint8), None
    if layout[""][0]:
        with path.open("rb") as content:
            mapped = mmap.mmap(content.fileno(), 0, access=mmap.ACCESS_READ)
        data = np.frombuffer(mapped, np.uint8)
    if zlib.crc32(data[: layout["rows"][0]].data) != file.head:
        raise DamagedFile(f"{path} is not what was written")
    arrays: dict[str, Any] = {}
    for entry in fields(Segment):
        if entry.name in layout:
            offset, dtype, length = layout[entry.name]
            size = length * np.dtype(dtype).itemsize
            arrays[entry.name] = np.asarray(data[offset : offset + size]).view(dtype)
    return Segment(**arrays, file=file, mapped=mapped)
