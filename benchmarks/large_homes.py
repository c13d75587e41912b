"""Large libraries on disk, written straight into a store's tables: what would take days to embed takes minutes.

Everything is there that an ingest writes: papers, pages, passages, vectors, token vectors (random codes, as many as a
real passage has). Left out are the boxes of lines and the elements, which no search reads.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray
from ragscience.library.element_rows import pack_sketch
from ragscience.library.row_checksums import mark_papers, row_checksum, seal, seal_meta, sum_papers

from benchmarks.corpora import cache_folder, dev_questions, judged_set
from benchmarks.large_library import PER_PAPER, Batch, LargeLibrary
from benchmarks.libraries import judged_home, papers_home
from ragscience.core.records import EmbedderIdentity
from ragscience.engine.open_store import open_at
from ragscience.library.store import Home, Library, text_hash
from ragscience.models.token_codes import CODE_BYTES
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
_SKETCH = 256
"""Numbers that a paper's text is compared by."""
_PASSAGES_A_PAGE = 6
_BETWEEN = "\n\n"
_BATCHES_A_CHANGE = 12
"""Written to LanceDB at once, as one fragment of each table."""


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
        with open_at(Home(home), library_uri(home, store), writing=True) as library:
            library.refresh_indexes()
            indexed = time.perf_counter()
            PaperNames.of(library)
        took = {"written": written - started, "indexed": indexed - written, "named": time.perf_counter() - indexed}
        done.write_text(json.dumps(took), encoding="utf-8")
    return home


@dataclass(frozen=True, slots=True)
class _Rows:
    """A batch as rows of the tables, checksums left out."""

    papers: list[dict[str, object]]
    pages: list[tuple[object, ...]]
    passages: list[tuple[object, ...]]
    vectors: list[tuple[int, int, bytes, NDArray[np.float32]]]
    """Passage, paper, hash, vector."""
    tokens: list[tuple[int, int, NDArray[np.uint8]]]
    """Passage, paper, codes."""


def _rows(batch: Batch, tokens: int) -> _Rows:
    papers, pages, passages = [], [], []
    rng = np.random.default_rng([9, batch.first])
    ids = range(batch.first + 1, batch.first + 1 + len(batch.texts))
    hashes = []
    for number, title in enumerate(batch.titles):
        paper_id = batch.first // PER_PAPER + number + 1
        own = slice(number * PER_PAPER, (number + 1) * PER_PAPER)
        start, page_start, page_texts = 0, 0, []
        for ordinal, (text, section, kind) in enumerate(
            zip(batch.texts[own], batch.sections[own], batch.kinds[own], strict=True)
        ):
            page = ordinal // _PASSAGES_A_PAGE + 1
            header = f"{title} › {section}"
            end = start + len(text)
            passages.append(
                (ids[own.start + ordinal], paper_id, ordinal, text, start, end, page, page, section, kind,
                 f"[[0,{page}]]", header)
            )  # fmt: skip
            hashes.append(text_hash(f"{header}\n{text}"))
            page_texts.append(text)
            start = end + len(_BETWEEN)
            if len(page_texts) == _PASSAGES_A_PAGE or ordinal == len(batch.texts[own]) - 1:
                whole = _BETWEEN.join(page_texts)
                pages.append((paper_id, page, page_start, page_start + len(whole), "", whole, b"", ""))
                page_start, page_texts = start, []
        name = file_name(paper_id).encode()
        papers.append(
            {
                "paper_id": paper_id,
                "path": b"/papers/" + name,
                "name": name,
                "md5": f"{paper_id:032x}",
                "size_bytes": 1,
                "modified_ns": 1,
                "title": title,
                "added_at": "2026-01-01T00:00:00+00:00",
                "warnings": "[]",
                "pages": pages[-1][1],
                "first_chunk": ids[own.start],
                "chunks": len(batch.texts[own]),
                "stated_title": title,
                "authors": json.dumps([f"Ann Author{paper_id % 9973}", f"Bob Writer{paper_id % 8999}"]),
                "year": 1990 + paper_id % 35,
                "venue": "",
                "doi": "",
                "arxiv_id": "",
                "confidence": "{}",
                "publication": "{}",
                "sketch": pack_sketch(1000, rng.integers(0, 1 << 63, _SKETCH).tolist()),
                "elements": b"",
            }
        )
    having = max(0, min(len(ids), tokens - batch.first))
    codes = rng.integers(0, 256, (having, _TOKENS, CODE_BYTES), dtype=np.uint8)
    owners = [paper_id for _, paper_id, *_ in passages]
    return _Rows(
        papers,
        pages,
        passages,
        list(zip(ids, owners, hashes, batch.vectors, strict=True)),
        list(zip(ids, owners, codes, strict=False)),
    )


def write_embedded(home: Home, large: LargeLibrary, made_by: MadeBy, tokens: int = 0) -> None:
    """Make the library in an empty home, without its indexes; the first `tokens` passages get token vectors."""
    from ragscience.library.content_checks import mark_unkept

    from ragscience.library.token_vectors import Tokens

    with Library.open_for_writing(home) as library:
        library.set_identity(made_by.embedder, made_by.chunker)
    kept = Tokens(home.tokens)
    with closing(sqlite3.connect(home.database, isolation_level=None)) as db:
        db.create_function("row_checksum", -1, row_checksum)
        db.execute("PRAGMA synchronous = OFF")
        db.execute("PRAGMA cache_size = -200000")
        for batch in large.batches():
            rows = _rows(batch, tokens)
            db.execute("BEGIN")
            columns = list(rows.papers[0])
            places = ", ".join(f":{name}" for name in columns)
            db.executemany(f"INSERT INTO papers ({', '.join(columns)}) VALUES ({places})", rows.papers)
            _insert(db, "pages", rows.pages)
            _insert(db, "chunks", rows.passages)
            _insert(db, "vectors", ((one, key, vector.tobytes()) for one, _, key, vector in rows.vectors))
            hashes = {one: key for one, _, key, _ in rows.vectors}
            kept.append(db, {hashes[one]: codes for one, _, codes in rows.tokens})  # type: ignore[arg-type]
            db.execute("COMMIT")
        db.execute("UPDATE meta SET value = ? WHERE key = 'next_chunk'", (str(large.passages + 1),))
        db.execute("UPDATE meta SET value = '2' WHERE key = 'generation'")
        mark_unkept(db)
        mark_papers(db)
        sum_papers(db)
        seal(db, "papers")
        seal_meta(db)


def _insert(db: sqlite3.Connection, table: str, rows: Iterable[tuple[object, ...]]) -> None:
    """Insert rows with their checksums."""
    sealed = ((*row, row_checksum(*row)) for row in rows)
    first = next(sealed)
    query = f"INSERT INTO {table} VALUES ({', '.join('?' * len(first))})"
    db.execute(query, first)
    db.executemany(query, sealed)


def write_lance(home: Home, large: LargeLibrary, made_by: MadeBy, tokens: int = 0) -> None:
    """Make the library in a folder of an empty home, without its indexes, as `write_embedded` does."""
    from ragscience.library.lance_database import LanceDatabase

    database = LanceDatabase(home, library_uri(home.root, "lance"), writing=True)
    try:
        with database.writing() as change:
            change.new_table("vectors", f"vectors_{uuid4().hex}", made_by.embedder.dimension)
            change.note(embedder=asdict(made_by.embedder), chunker=made_by.chunker)
            change.bump("generation")
        for rows in _many(large, tokens):
            with database.writing() as change:
                state = change.state
                change.append("papers", [tuple(row.values()) for row in rows.papers])
                change.append("pages", rows.pages)
                change.append("passages", rows.passages)
                change.append("vectors", rows.vectors)
                change.append(
                    "tokens", [(one, owner, codes.nbytes, codes.tobytes()) for one, owner, codes in rows.tokens]
                )
                change.added_papers += [
                    {name: value for name, value in row.items() if name not in ("sketch", "elements")}
                    for row in rows.papers
                ]
                change.note(
                    next_paper=state.next_paper + len(rows.papers),
                    next_chunk=state.next_chunk + len(rows.passages),
                    papers=state.papers + len(rows.papers),
                    chunks=state.chunks + len(rows.passages),
                    token_bytes=state.token_bytes + sum(codes.nbytes for _, _, codes in rows.tokens),
                )
                change.bump("generation")
    finally:
        database.close()


def _many(large: LargeLibrary, tokens: int) -> Iterator[_Rows]:
    """The rows of several batches together."""
    waiting: list[_Rows] = []
    for batch in large.batches():
        waiting.append(_rows(batch, tokens))
        if len(waiting) == _BATCHES_A_CHANGE:
            yield _joined(waiting)
            waiting = []
    if waiting:
        yield _joined(waiting)


def _joined(parts: list[_Rows]) -> _Rows:
    return _Rows(
        [row for part in parts for row in part.papers],
        [row for part in parts for row in part.pages],
        [row for part in parts for row in part.passages],
        [row for part in parts for row in part.vectors],
        [row for part in parts for row in part.tokens],
    )
