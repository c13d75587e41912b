"""A library that grows by one-page papers: the processor time of the first and of the last hundred, and of commands.

The papers are drawn from a fixed seed; their vectors come from a hash of their words, so that no model hides what the
library itself costs. They go the whole way of `ingest.py add`: planned, read by worker processes, cut, stored, indexed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from benchmarks.corpora import cache_folder, made_up_words
from benchmarks.libraries import fresh_folder
from benchmarks.report import Report, Table
from benchmarks.running import Options, Run, door, module, run_process
from ragscience.engine.model_pool import ModelPool
from ragscience.models.minilm import IDENTITY

if TYPE_CHECKING:
    from ragscience.core.records import EmbedderIdentity
    from ragscience.core.settings import Settings
    from ragscience.models.model_protocols import Embedder

TITLE = "Growth"
SIZE = 1_000
FULL_SIZE = 10_000
SPAN = 100
VOCABULARY = 20_000
WORDS = 330
LICENCE = (
    "Permission to make digital or hard copies of all or part of this work for personal use is granted\n"
    "without fee provided that copies are not made for profit and bear this notice on the first page."
)


def run(options: Options) -> Report:
    """The library is made in one process; then each command in a process of its own."""
    size = FULL_SIZE if options.full else SIZE
    grown = json.loads(run_process(module("growth", "grow", str(size)), ALONE).stdout)
    home = cache_folder("growth-home")
    commands = {
        "list": door("ingest", home, "list"),
        "search": door("query", home, "search", title_of(size // 2), "--reranker", "off", "--quiet"),
        "doctor": door("ingest", home, "doctor"),
        "duplicates": door("ingest", home, "duplicates"),
        "add, nothing new": door("ingest", home, "add", str(papers_folder(size)), "--quiet"),
    }
    taken = {name: run_process(command, ALONE) for name, command in commands.items()}
    spans = grown["seconds of each hundred"]
    rows = [
        [f"{size:,} papers", f"{spans[0]:.2f} s", f"{spans[-1]:.2f} s", f"{spans[-1] / spans[0]:.2f}"],
    ]
    reading = f"{grown['reading seconds']:.1f} s"
    note = f"Processor time of the process that writes; the processes that read took {reading} more in all."
    tables = [
        Table("Ingest", ["library", "first hundred", "last hundred", "last to first"], rows, note=note),
        Table(
            "At that size, whole processes",
            ["command", "processor time", "wall time", "peak memory"],
            [
                [name, f"{each.cpu_seconds:.2f} s", f"{each.seconds:.2f} s", f"{each.peak_mb:.0f} MB"]
                for name, each in taken.items()
            ],
        ),
    ]
    figures = {**grown, "commands": {name: _figures(each) for name, each in taken.items()}}
    return Report("growth", TITLE, tables, figures)


ALONE = {"OMP_NUM_THREADS": "1"}
"""So that what a thread waits for another one does not count."""


def _figures(taken: Run) -> dict[str, float]:
    return {"processor seconds": taken.cpu_seconds, "seconds": taken.seconds, "peak MB": taken.peak_mb}


# The papers


def title_of(number: int) -> str:
    """Six words, from a fixed seed."""
    words = made_up_words(VOCABULARY)
    return " ".join(
        words[rank] for rank in np.random.default_rng((5, number)).integers(100, VOCABULARY, 6)
    ).capitalize()


def papers_folder(count: int) -> Path:
    """A folder with so many one-page papers, in subfolders of a thousand; drawn once."""
    folder = cache_folder(f"growth-papers-{count}")
    done = folder / ".done"
    if not done.exists():
        for number in range(count):
            _draw(folder / f"{number // 1000:03}" / f"paper-{number:06}.pdf", number)
        done.touch()
    return folder


def _draw(path: Path, number: int) -> None:
    """A title, an author, a licence that all papers share, and WORDS words whose frequencies fall as 1/rank."""
    import pymupdf

    words = made_up_words(VOCABULARY)
    generator = np.random.default_rng((6, number))
    cumulative = np.cumsum(1.0 / np.arange(1, VOCABULARY + 1))
    drawn = [words[rank] for rank in np.searchsorted(cumulative, generator.random(WORDS) * cumulative[-1] * 0.9999)]
    lines = [" ".join(drawn[first : first + 11]) + "." for first in range(0, WORDS, 11)]
    path.parent.mkdir(exist_ok=True)
    with pymupdf.open() as document:
        page = document.new_page(width=595, height=842)
        page.insert_text((70, 70), title_of(number), fontsize=17)
        page.insert_text((70, 100), f"{made_up_words(VOCABULARY)[number].capitalize()} Lovelace", fontsize=11)
        page.insert_text((70, 140), "\n".join(lines), fontsize=10)
        page.insert_text((70, 780), LICENCE, fontsize=8)
        document.save(path)


# The library


class HashedWords:
    """Vectors from the words of a text alone: each adds a random direction of its own. They bear MiniLM's name."""

    identity = IDENTITY

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit rows, shape (len(texts), dimension), float32."""
        rows = np.stack([self._direction(text) for text in texts])
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """One unit vector, shape (dimension,), float32."""
        vector: NDArray[np.float32] = self.embed_documents([text])[0]
        return vector

    def _direction(self, text: str) -> NDArray[np.float64]:
        total = np.ones(self.identity.dimension)
        for word in text.split():
            seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest())
            places = np.arange(seed % 97, self.identity.dimension, 97)
            total[places] += 1.0 if seed >> 32 & 1 else -1.0
        return total


class HashedModels(ModelPool):
    """A pool whose embedder is that."""

    def embedder(
        self,
        settings: Settings,  # noqa: ARG002  # the pool's signature
        required: EmbedderIdentity | None,  # noqa: ARG002
    ) -> Embedder:
        """The same for each library."""
        return HashedWords()


def grow(size: int) -> dict[str, object]:
    """The processor seconds of each hundred papers, from the second on: the first pays for the imports."""
    from ragscience.core.settings import load_settings
    from ragscience.engine import PaperStored
    from ragscience.engine.ingest_runs import IngestRun
    from ragscience.engine.shared_parts import SharedParts
    from ragscience.library.store import Home, Library

    home = Home(fresh_folder("growth-home"))
    settings = load_settings(home=home.root, offline=True, embedder="embedded", reading_workers=1)
    marks: list[float] = []

    def on_event(event: object) -> None:
        if isinstance(event, PaperStored):
            marks.append(time.process_time())

    started, began = time.perf_counter(), time.process_time()
    with Library.open_for_writing(home) as library:
        shared = SharedParts(home, settings)
        shared._made["models"] = HashedModels(home, print)
        run = IngestRun(library, shared, on_event)
        result = run.add([papers_folder(size)])
    if result.papers != size or len(marks) != size:
        raise RuntimeError(f"{result.papers} of {size} papers are in the library: {result.failures[:3]}")
    ends = [*range(0, size - 1, SPAN), size - 1]
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    spans = [marks[last] - marks[first] for first, last in pairwise(ends)]
    return {
        "papers": size,
        "seconds of each hundred": [*spans[:-1], (marks[-1] - marks[-1 - SPAN])],
        "before the first paper": marks[0] - began,
        "after the last paper": time.process_time() - marks[-1],
        "reading seconds": children.ru_utime + children.ru_stime,
        "wall seconds": time.perf_counter() - started,
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth")
    parser.add_argument("command", choices=["grow", "draw"])
    parser.add_argument("size", type=int)
    options = parser.parse_args()
    if options.command == "draw":
        papers_folder(options.size)
    else:
        print(json.dumps(grow(options.size)))


if __name__ == "__main__":
    main()
