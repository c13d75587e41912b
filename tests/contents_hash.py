"""One hash for all that a library holds, whoever made it, in whatever order."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ragscience.core.serialization import to_json

if TYPE_CHECKING:
    from ragscience.core.records import Paper
    from ragscience.library.store_protocol import Store


def contents_hash(library: Store) -> str:
    """SHA-256, in hexadecimal, of the embedder, the chunker and every paper, in the order of their MD5.

    Equal hashes mean equal papers, pages with their lines, elements, passages, vectors and token vectors, to the bit.
    Left out is what tells when and where a library was made: ids, generation, times, and the folders of files.
    """
    digest = hashlib.sha256()
    with library.snapshot():
        digest.update(to_json([library.about.embedder, library.about.chunker]).encode())
        for paper in sorted(library.papers(), key=lambda paper: paper.md5):
            digest.update(bytes.fromhex(paper_hash(library, paper)))
    return digest.hexdigest()


def paper_hash(library: Store, paper: Paper) -> str:
    """SHA-256, in hexadecimal, of one paper; see `contents_hash`."""
    digest = hashlib.sha256()

    def add(*values: object) -> None:
        digest.update(to_json(values, ascii_only=True).encode() + b"\n")

    fields = asdict(paper)
    for name in ("paper_id", "path", "file", "added_at", "modified_ns"):
        fields.pop(name, None)
    add(Path(paper.path).name, fields)
    for page in library.contents(paper.paper_id).pages:
        whole = library.contents(paper.paper_id).page(page.number)
        add(whole, library.contents(paper.paper_id).text(page.number))
    add(*library.contents(paper.paper_id).elements)
    chunks = library.paper_chunks(paper.paper_id)
    ids = [chunk.chunk_id for chunk in chunks]
    for chunk in chunks:
        passage = asdict(chunk)
        for name in ("chunk_id", "paper_id", "file", "path"):
            passage.pop(name, None)
        add(passage)
    _, vectors = library.vectors.of(ids)
    digest.update(vectors.astype("<f4", copy=False).tobytes())
    tokens = library.tokens.of(ids)
    for ordinal, chunk_id in enumerate(ids):
        if chunk_id in tokens:
            add(ordinal, tokens[chunk_id].shape[0])
            digest.update(tokens[chunk_id].tobytes())
    return digest.hexdigest()
