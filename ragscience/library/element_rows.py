"""The elements of a paper and the sketch of its text, as bytes: a few thousand for each paper."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Collection, Sequence

from ragscience.core.records import Element

__all__ = ["pack_elements", "pack_sketch", "unpack_elements", "unpack_sketch"]


def pack_elements(elements: Sequence[Element]) -> bytes:
    """The elements as zlib over JSON, a list for each: start, end, kind, page, level, section, box. Empty for none."""
    if not elements:
        return b""
    rows = [[one.start, one.end, one.kind, one.page, one.level, one.section, one.box] for one in elements]
    return zlib.compress(json.dumps(rows, separators=(",", ":")).encode("ascii"))


def unpack_elements(packed: bytes) -> tuple[Element, ...]:
    """The inverse of `pack_elements`; empty for invalid bytes."""
    if not packed:
        return ()
    try:
        rows = json.loads(zlib.decompress(packed))
        return tuple(
            Element(start, end, kind, page, level, section, tuple(box) if box else None)
            for start, end, kind, page, level, section, box in rows
        )
    except (zlib.error, ValueError, TypeError):
        return ()


def pack_sketch(shingles: int, sketch: Collection[int]) -> bytes:
    """Little-endian uint64: how many shingles the text has, then the sketch's hashes, ascending."""
    return struct.pack(f"<{len(sketch) + 1}Q", shingles, *sorted(sketch))


def unpack_sketch(packed: bytes) -> tuple[int, tuple[int, ...]]:
    """(shingles, hashes, ascending), the inverse of `pack_sketch`; (0, no hashes) for invalid or empty bytes."""
    try:
        shingles, *hashes = struct.unpack(f"<{len(packed) // 8}Q", packed)
    except (struct.error, ValueError):
        return 0, ()
    return shingles, tuple(hashes)
