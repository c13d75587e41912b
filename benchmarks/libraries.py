"""The libraries that are searched: ours and the baseline's, over the same texts, made once and kept between runs."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.corpora import JudgedSet, cache_folder, papers_folder
from benchmarks.report import REPOSITORY
from benchmarks.running import door, module, run_process
from ragscience.core.settings import load_settings

if TYPE_CHECKING:
    from ragscience.core.errors import FileProblem
    from ragscience.core.records import Document
    from ragscience.engine.question_run import QuestionRun
    from ragscience.models.minilm import MiniLM

__all__ = [
    "baseline_store",
    "fill_judged",
    "fresh_folder",
    "judged_home",
    "judged_store",
    "minilm",
    "papers_home",
    "plain_document",
    "plain_home",
    "session",
]

FORM = (
    "reading",
    "models/bert_graph.py",
    "models/maxsim.py",
    "models/minilm.py",
    "models/projection.npy",
    "models/token_centroids.npy",
    "models/token_counting.py",
    "library/database.py",
)
"""The parts of ragscience/ whose change makes a kept library worthless."""


def fingerprint() -> str:
    """Of the code that decides what a library holds, 12 hexadecimal digits."""
    digest = hashlib.sha256()
    for part in FORM:
        path = REPOSITORY / "ragscience" / part
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def fresh_folder(name: str) -> Path:
    """An empty folder in the cache."""
    folder = cache_folder(name)
    shutil.rmtree(folder)
    folder.mkdir()
    return folder


def papers_home() -> Path:
    """A home whose library holds the papers, ingested by ingest.py itself."""
    with _kept(f"papers-home-{fingerprint()}") as (home, is_new):
        if is_new:
            run_process(door("ingest", home, "add", str(papers_folder())), {"RAG_EMBEDDER": "embedded"})
    return home


def plain_home() -> Path:
    """The same papers in a library that differs in the reader alone: plain text, without elements and titles."""
    with _kept(f"papers-plain-home-{fingerprint()}") as (home, is_new):
        if is_new:
            _fill_plainly(home)
    return home


def plain_document(path: Path) -> Document:
    """PyMuPDF's text of a PDF's pages, cleaned, and nothing else."""
    from ragscience.core.records import Document, Page
    from ragscience.reading.pdf_file import load_pymupdf
    from ragscience.reading.text_cleaning import clean_text

    pymupdf = load_pymupdf()
    text, pages = "", []
    with pymupdf.open(path) as source:
        for number, page in enumerate(source, 1):
            text += "\n\n" if text else ""
            start = len(text)
            text += clean_text(page.get_text("text", flags=pymupdf.TEXTFLAGS_TEXT)).rstrip("\n")
            pages.append(Page(number, start, len(text)))
    return Document(text, tuple(pages))


def _fill_plainly(home: Path) -> None:
    from ragscience.engine.ingest_pipeline import Pipeline
    from ragscience.library.ingestion import find_pdfs, make_plan
    from ragscience.library.paper_task import TaskOptions
    from ragscience.library.store import Home, Library

    settings, model = load_settings(home=home), minilm()
    options = TaskOptions("", settings.chunk_size, settings.chunk_overlap, 64, embeds=True, tokens=True)

    def read_all(paths: Iterable[Path]) -> Iterator[tuple[Path, Document | FileProblem]]:
        return ((path, plain_document(path)) for path in paths)

    found = find_pdfs([papers_folder()])
    with Library.open_for_writing(Home(home)) as library:
        library.set_identity(model.identity, "plain text")
        plan = make_plan(library, found.pdfs, found.failures)
        pipeline = Pipeline(library, options, model, lambda _: None, tokens_from=model)
        pipeline.run(plan, read_all)


def baseline_store() -> Path:
    """The baseline's saved index of the same papers."""
    with _kept("papers-baseline") as (store, is_new):
        if is_new:
            run_process(module("baseline", "ingest", str(papers_folder()), str(store)))
    return store


@contextmanager
def session(home: Path, *, wanted: int | None, **settings: object) -> Iterator[QuestionRun]:
    """What the engine makes for one question, for many: with these settings over the defaults, offline."""
    from ragscience import Engine, SearchRequest
    from ragscience.engine.question_run import QuestionRun

    with Engine.open(home, load_settings(home=home, offline=True, **settings)) as engine:
        yield QuestionRun(engine, SearchRequest("benchmark", top_k=wanted))


def minilm() -> MiniLM:
    """The embedded model, as the doors make it."""
    from ragscience.models.minilm import MiniLM

    return MiniLM(cache_folder=load_settings().cache_folder, on_warning=print)


def judged_home(judged: JudgedSet) -> Path:
    """A home whose library holds the set's documents, each one passage; page n is the n-th document that has text."""
    with _kept(f"{judged.name}-home-{fingerprint()}") as (home, is_new):
        if is_new:
            fill_judged(home, [text for text in judged.texts if text])
    return home


def fill_judged(home: Path, texts: list[str]) -> None:
    """A library in `home` of these texts, each one passage; page n is the n-th text."""
    import numpy as np

    from ragscience.core.records import Chunk, Document, Page
    from ragscience.library.store import Home, Library, NewPaper, text_hash
    from ragscience.models.maxsim import embed_batch

    model = minilm()
    vectors, tokens = [], {}
    for first in range(0, len(texts), 64):
        batch = texts[first : first + 64]
        rows, kept = embed_batch(model, model, batch)
        vectors.append(rows)
        tokens.update({text_hash(text): each for text, each in zip(batch, kept, strict=True)})
    starts = np.cumsum([0, *(len(text) + 1 for text in texts)]).tolist()
    pages = tuple(
        Page(number, start, start + len(text) + 1)
        for number, (start, text) in enumerate(zip(starts, texts, strict=False), 1)
    )
    chunks = [
        Chunk(number, text, start, start + len(text), number + 1, number + 1)
        for number, (start, text) in enumerate(zip(starts, texts, strict=False))
    ]
    with Library.open_for_writing(Home(home)) as library:
        library.set_identity(model.identity, "one document, one passage")
        library.add_paper(
            NewPaper(
                path=str(home / "documents"),
                md5="0" * 32,
                size_bytes=0,
                modified_ns=0,
                document=Document("".join(f"{text}\n" for text in texts), pages),
                chunks=chunks,
                vectors=np.vstack(vectors),
                tokens=tokens,
            )
        )
        library.refresh_indexes()


def judged_store(judged: JudgedSet) -> Path:
    """The baseline's saved index of the set's documents, each one passage."""
    with _kept(f"{judged.name}-baseline") as (store, is_new):
        if is_new:
            from langchain_core.documents import Document

            from benchmarks.baseline import save_index

            texts = [text for text in judged.texts if text]
            save_index([Document(text, metadata={"source": "", "page": n}) for n, text in enumerate(texts, 1)], store)
    return store


class _kept:  # noqa: N801  # reads as a sentence where it is used
    """A folder in the cache and whether it has to be filled; one that is left in the middle is thrown away."""

    def __init__(self, name: str) -> None:
        self.folder = cache_folder(name)
        self.done = self.folder / ".done"

    def __enter__(self) -> tuple[Path, bool]:
        is_new = not self.done.exists()
        if is_new:
            for old in self._of_older_code():
                shutil.rmtree(old)
            shutil.rmtree(self.folder)
            self.folder.mkdir()
        return self.folder, is_new

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is None:
            self.done.touch()

    def _of_older_code(self) -> Iterator[Path]:
        stem, _, code = self.folder.name.rpartition("-home-")
        if stem:
            yield from (old for old in self.folder.parent.glob(f"{stem}-home-*") if not old.name.endswith(code))
