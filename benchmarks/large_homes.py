"""Large libraries on disk, written straight into a store's tables: what would take days to embed takes minutes.

Everything is there that an ingest writes: papers, pages, passages, vectors, token vectors (random codes, as many as a
real passage has). Left out are the boxes of lines and the elements, which no search reads.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.corpora import cache_folder, dev_questions, judged_set
from benchmarks.large_library import PER_PAPER, Batch, LargeLibrary
from benchmarks.libraries import judged_home, papers_home
from ragscience.core.records import Chunk, Document, EmbedderIdentity, Metadata, Page
from ragscience.core.settings import Settings
from ragscience.engine.shared_parts import open_store
from ragscience.library.changes import Change, SqlDatabase
from ragscience.library.store import Home, Library, NewPaper, text_hash
from ragscience.models.maxsim import CODE_BYTES
from ragscience.search.names import PaperNames

__all__ = [
    "MadeBy",
    "file_name",
    "large_home",
    "large_library",
    "library_uri",
    "questions",
    "write_embedded",
    "write_lance",
]

_JUDGED = ("scifact", "cranfield")
_TOKENS = 168
"""Token vectors of a passage, as of the papers of the benchmarks."""
_PASSAGES_A_PAGE = 6
_BETWEEN = "\n\n"


@dataclass(frozen=True, slots=True)
class MadeBy:
    """What a library says that its passages and vectors were made by."""

    embedder: EmbedderIdentity
    chunker: str

    @classmethod
    def of(cls, home: Path) -> MadeBy:
        """What the library in a home says."""
        with Library.open(Home(home)) as library:
            if library.about.embedder is None or library.about.chunker is None:
                raise RuntimeError(f"the library in {home} is empty")
            return cls(library.about.embedder, library.about.chunker)


def large_library(passages: int) -> LargeLibrary:
    """Made up from the papers and, where they are, the judged sets."""
    homes = [papers_home()]
    homes += [judged_home(judged) for name in _JUDGED if (judged := judged_set(name)) is not None]
    texts: list[str] = []
    vectors = []
    for home in homes:
        with Library.open(Home(home)) as library:
            vectors.append(library.vectors.of()[1])
            texts += [text for _, batch in library.texts(4096) for text in batch]
    return LargeLibrary(passages, texts, np.vstack(vectors))


def questions() -> list[str]:
    """Real questions, mixed: those of the papers and the judged sets, else words of passages."""
    asked = [str(item["question"]) for item in dev_questions()]
    for name in _JUDGED:
        judged = judged_set(name)
        asked += list(judged.queries.values()) if judged is not None else []
    asked = asked or [f"What is {' '.join(text.split()[:8])}?" for text in large_library(1).source]
    return [asked[number] for number in np.random.default_rng(5).permutation(len(asked))]


def file_name(paper_id: int) -> str:
    """Of a made-up paper, as those of arXiv."""
    return f"{1001 + paper_id // 10_000}.{paper_id % 10_000:05d}.pdf"


def library_uri(home: Path, store: str) -> str:
    """The setting `library` of a large home: `store` is "embedded" or "lance"."""
    return "vectorstore" if store == "embedded" else f"lance://{home / 'lance'}"


def large_home(passages: int, store: str = "embedded", *, tokens: int | None = None) -> Path:
    """A home with so many passages, the first `tokens` of them (None: all) with token vectors; made once.

    Its indexes are made, too, and the names of its papers found. The file .done in it says how many seconds each took.
    """
    kept = passages if tokens is None else tokens
    home = cache_folder(f"large-{store}-{passages}-{kept}-{CODE_BYTES}")
    done = home / ".done"
    if not done.exists():
        shutil.rmtree(home)
        home.mkdir()
        (home / "papers").mkdir()
        write = write_embedded if store == "embedded" else write_lance
        started = time.perf_counter()
        write(Home(home), large_library(passages), MadeBy.of(papers_home()), kept)
        written = time.perf_counter()
        with open_store(Home(home), Settings(library=library_uri(home, store)), writing=True) as library:
            library.refresh_indexes()
            indexed = time.perf_counter()
            PaperNames.of(library)
        took = {"written": written - started, "indexed": indexed - written, "named": time.perf_counter() - indexed}
        done.write_text(json.dumps(took), encoding="utf-8")
    return home


def _papers(batch: Batch, tokens: int) -> Iterator[NewPaper]:
    """The papers of a batch; as many passages get token vectors as `tokens` leaves for it."""
    rng = np.random.default_rng([9, batch.first])
    for number, title in enumerate(batch.titles):
        paper_id = batch.first // PER_PAPER + number + 1
        own = slice(number * PER_PAPER, (number + 1) * PER_PAPER)
        texts, parts = batch.texts[own], zip(batch.sections[own], batch.kinds[own], strict=True)
        pages, chunks, start = [], [], 0
        for ordinal, (text, (section, kind)) in enumerate(zip(texts, parts, strict=True)):
            page, end = ordinal // _PASSAGES_A_PAGE + 1, start + len(text)
            chunks.append(Chunk(ordinal, text, start, end, page, page, section, kind, f"{title} › {section}"))
            if (ordinal + 1) % _PASSAGES_A_PAGE == 0 or ordinal == len(texts) - 1:
                pages.append(Page(page, chunks[(page - 1) * _PASSAGES_A_PAGE].start, end))
            start = end + len(_BETWEEN)
        authors = (f"Ann Author{paper_id % 9973}", f"Bob Writer{paper_id % 8999}")
        metadata = Metadata(title, authors, 1990 + paper_id % 35)
        having = max(0, min(len(texts), tokens - batch.first - number * PER_PAPER))
        codes = rng.integers(0, 256, (having, _TOKENS, CODE_BYTES), dtype=np.uint8)
        yield NewPaper(
            path=f"/papers/{file_name(paper_id)}",
            md5=f"{paper_id:032x}",
            size_bytes=1,
            modified_ns=1,
            document=Document(_BETWEEN.join(texts), tuple(pages), title, metadata=metadata),
            chunks=chunks,
            vectors=batch.vectors[own],
            tokens={text_hash(chunk.searched): rows for chunk, rows in zip(chunks, codes, strict=False)},
            added_at="2026-01-01T00:00:00+00:00",
        )


def write_embedded(home: Home, large: LargeLibrary, made_by: MadeBy, tokens: int = 0) -> None:
    """Make the library in an empty home, without its dense index; the first `tokens` passages get token vectors."""
    with Library.open_for_writing(home) as library:
        library.set_identity(made_by.embedder, made_by.chunker)
    database = SqlDatabase.for_writing(home)
    try:
        for batch in large.batches():

            def act(change: Change, batch: Batch = batch) -> None:
                for new in _papers(batch, tokens):
                    change.insert(new)
                change.note(version=change.state.version + 1)

            database.changed(act)
    finally:
        database.close()


def write_lance(home: Home, large: LargeLibrary, made_by: MadeBy, tokens: int = 0) -> None:
    """Make the library in a folder of an empty home, as `write_embedded` does."""
    with open_store(home, Settings(library=library_uri(home.root, "lance")), writing=True) as library:
        library.set_identity(made_by.embedder, made_by.chunker)
        for batch in large.batches():
            for new in _papers(batch, tokens):
                library.add_paper(new)
