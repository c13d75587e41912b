"""What a paper is made of and compared by, in a few thousand bytes each: its elements, and the sketch of its text."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Collection, Sequence

from ragscience.records import Element

__all__ = ["pack_elements", "pack_sketch", "unpack_elements", "unpack_sketch"]


def pack_elements(elements: Sequence[Element]) -> bytes:
    """The elements as zlib over JSON, a list for each: start, end, kind, page, level, section, box. Empty for none."""
    if not elements:
        return b""
    rows = [[one.start, one.end, one.kind, one.page, one.level, one.section, one.box] for one in elements]
    return zlib.compress(json.dumps(rows, separators=(",", ":")).encode("ascii"))


def unpack_elements(packed: bytes) -> tuple[Element, ...]:
    """The elements that `pack_elements` was given; none of bytes that are no such thing."""
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


def unpack_sketch(packed: bytes) -> tuple[int, frozenset[int]]:
    """(shingles, hashes) that `pack_sketch` was given; (0, none) of bytes that are no such thing, or of none."""
    try:
        shingles, *hashes = struct.unpack(f"<{len(packed) // 8}Q", packed)
    except (struct.error, ValueError):
        return 0, frozenset()
    return shingles, frozenset(hashes)
