"""The pipeline with a toy embedder: what is embedded, and what is said of papers that are the same."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from ragscience.core.errors import FileProblem
from ragscience.core.records import Document, Metadata, Page
from ragscience.engine.ingest_pipeline import Pipeline
from ragscience.library.ingestion import find_pdfs, make_plan
from ragscience.library.paper_task import TaskOptions
from ragscience.library.store import Home, Library, text_hash
from tests.library.making import CHUNKER, DIMENSION, EMBEDDER


class Recorder:
    """An embedder that remembers what it was given."""

    identity = EMBEDDER

    def __init__(self):
        self.given = []

    def embed_documents(self, texts):
        self.given += texts
        seeds = [int.from_bytes(hashlib.md5(text.encode()).digest()[:4]) for text in texts]
        rows = np.stack([np.random.default_rng(seed).standard_normal(DIMENSION) for seed in seeds])
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def read_all(paths):
    """A file's text is its content; its name tells the arXiv id."""
    for path in paths:
        text = path.read_text()
        if text == "broken":
            yield path, FileProblem("It is broken.")
        else:
            yield path, Document(text, (Page(1, 0, len(text)),), "On Bees", metadata=Metadata(arxiv_id=path.stem))


OPTIONS = TaskOptions("", "never", 10_000, 0, 4, embeds=False, tokens=False)


@pytest.fixture
def library(tmp_path):
    with Library.open_for_writing(Home(tmp_path / "home")) as library:
        library.set_identity(EMBEDDER, CHUNKER)
        yield library


def ingest(library, folder, embedder=None):
    plan = make_plan(library, find_pdfs([folder]).pdfs)
    pipeline = Pipeline(library, OPTIONS, embedder or Recorder(), lambda event: None)
    pipeline.run(plan, read_all)
    return pipeline


def write(folder, name, text):
    folder.mkdir(exist_ok=True)
    path = Path(folder / f"{name}.pdf")
    path.write_text(text)
    return path


def test_what_is_embedded_is_header_and_text_and_it_is_found_again_by_both(library, tmp_path):
    write(tmp_path / "in", "1706.03762v1", "Bees steer by light.")
    embedder = Recorder()
    ingest(library, tmp_path / "in", embedder)
    joined = "On Bees\nBees steer by light."
    assert embedder.given == [joined]
    assert list(library.vectors.by_hash([text_hash(joined)])) == [text_hash(joined)]
    assert library.chunks([1])[0].text == "Bees steer by light."
    write(tmp_path / "in", "1706.03762v1", "Bees steer by light. So do moths.")
    again = ingest(library, tmp_path / "in")
    assert (again.reused, again.embedded) == (0, 1)
