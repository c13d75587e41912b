"""What a paper costs does not grow with the library: counted in steps of the database, calls and bytes, not in time."""

import sqlite3
import sys
from pathlib import Path

import numpy as np
import pytest

from ragscience.core.records import Document, Metadata, Page
from ragscience.engine import PaperStored
from ragscience.engine.ingest_pipeline import Pipeline
from ragscience.library.ingestion import find_pdfs, make_plan
from ragscience.library.paper_task import TaskOptions
from ragscience.library.store import Home, Library
from tests.library.making import EMBEDDER, unit_rows

PAPERS = 80


class Cost:
    """Counts steps of SQLite's virtual machine, calls of Python functions, and bytes that this process writes."""

    def __init__(self, patch):
        self.steps = self.calls = 0
        connect = sqlite3.connect

        def counted(*args, **kwargs):
            connection = connect(*args, **kwargs)
            connection.set_progress_handler(self._step, 10)
            connection.execute("PRAGMA wal_autocheckpoint = 0")  # it comes once in 1,000 pages
            return connection

        patch.setattr(sqlite3, "connect", counted)

    def _step(self):
        self.steps += 10
        return 0

    def _call(self, _frame, event, _argument):
        self.calls += event in ("call", "c_call")

    def __enter__(self):
        sys.setprofile(self._call)

    def __exit__(self, *_):
        sys.setprofile(None)

    @property
    def now(self):
        lines = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
        written = next(int(line.split()[1]) for line in lines if line.startswith("wchar"))
        return np.array([self.steps, self.calls, written])


class Embedder:
    identity = EMBEDDER

    def embed_documents(self, texts):
        return unit_rows(np.random.default_rng(len(texts[0])), len(texts))


def document_of(path):
    """A page of its own words, with a line that all share."""
    number = int(path.stem)
    text = (
        f"Paper {number} of many\n" + " ".join(f"w{number}x{place}" for place in range(150)) + "\nAll rights reserved."
    )
    return Document(
        text, (Page(1, 0, len(text)),), f"Paper {number} of many", metadata=Metadata(f"Paper {number} of many")
    )


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="bytes written are read from /proc")
def test_the_eightieth_paper_costs_no_more_than_the_twentieth(tmp_path, monkeypatch):
    folder = tmp_path / "new"
    folder.mkdir()
    for number in range(PAPERS):
        (folder / f"{number:03}.pdf").write_bytes(b"PDF %d" % number)
    cost, marks = Cost(monkeypatch), []
    options = TaskOptions("", 10_000, 0, 8, embeds=False, tokens=False)

    def on_event(event):
        if isinstance(event, PaperStored):
            marks.append(cost.now)

    with Library.open_for_writing(Home(tmp_path / "home")) as library:
        library.set_identity(EMBEDDER, "toy")
        pipeline = Pipeline(library, options, Embedder(), on_event)
        with cost:
            plan = make_plan(library, find_pdfs([folder]).pdfs)
            pipeline.run(plan, lambda paths: ((path, document_of(path)) for path in paths))
    early, late = (marks[39] - marks[19]) / 20, (marks[79] - marks[59]) / 20
    assert (early > 0).all()
    assert (late <= 1.15 * early).all(), (early, late)
