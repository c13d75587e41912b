"""Papers for the tests of the store: made up, but always the same for the same seed; and the places of a library."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ragscience.core.records import Chunk, Document, EmbedderIdentity, Page, Paper
from ragscience.library.lance_store import LanceLibrary
from ragscience.library.store import Home, Library, NewPaper, known_files

ROOT = Path(__file__).parents[2]
DIMENSION = 12
EMBEDDER = EmbedderIdentity("embedded", "toy", "0123456789abcdef", DIMENSION)
CHUNKER = "toy/40/0"
WORDS = tuple(
    """
    attention network gradient protein genome Cas9 GPT-3 28.4 energy model query passage light neuron signal Bayes
    graph vector entropy theorem lattice cell climate quantum the of and
    """.split()  # noqa: SIM905
)


@dataclass(frozen=True)
class Made:
    """What `Library.add_paper` wants."""

    path: str
    md5: str
    document: Document
    chunks: tuple[Chunk, ...]
    vectors: NDArray[np.float32]


def unit_rows(rng: np.random.Generator, count: int, dimension: int = DIMENSION) -> NDArray[np.float32]:
    """Random unit vectors, shape (count, dimension), float32."""
    rows = rng.standard_normal((count, dimension))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def random_texts(rng: np.random.Generator, count: int) -> list[str]:
    """Passages of 3 to 12 words."""
    return [" ".join(rng.choice(WORDS, size=int(rng.integers(3, 13)))) for _ in range(count)]


def paper_of(path: str, texts: Sequence[str], vectors: NDArray[np.float32], title: str = "") -> Made:
    """A paper whose passages are `texts`, one a page."""
    pages, chunks, start = [], [], 0
    for ordinal, text in enumerate(texts):
        end = start + len(text)
        pages.append(Page(ordinal + 1, start, end))
        chunks.append(Chunk(ordinal, text, start, end, ordinal + 1, ordinal + 1))
        start = end + 1
    document = Document("\n".join(texts), tuple(pages), title)
    md5 = hashlib.md5((path + document.text).encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()
    return Made(path, md5, document, tuple(chunks), vectors)


def numbered_paper(number: int, path: str = "") -> Made:
    """The paper with this number: the same in each process."""
    rng = np.random.default_rng(number)
    texts = random_texts(rng, 3 + number % 5)
    return paper_of(path or f"/papers/{number:03}.pdf", texts, unit_rows(rng, len(texts)), f"Paper {number}")


def add(library: Library, made: Made, replaces: Sequence[int] = ()) -> Paper:
    """Add it, with the identity set on the way."""
    library.set_identity(EMBEDDER, CHUNKER)
    return library.add_paper(new_paper(made, replaces))


def new_paper(made: Made, replaces: Sequence[int] = ()) -> NewPaper:
    """What adds it to a library."""
    return NewPaper(
        path=made.path,
        md5=made.md5,
        size_bytes=len(made.document.text),
        modified_ns=17,
        document=made.document,
        chunks=made.chunks,
        vectors=made.vectors,
        replaces=replaces,
    )


def contents(library: Library) -> list[tuple[object, ...]]:
    """All passages with their papers and vectors, without ids: equal for libraries that hold the same."""
    ids, vectors = library.vectors.of()
    rows = {int(chunk_id): vector.tobytes() for chunk_id, vector in zip(ids, vectors, strict=True)}
    chunks = [chunk for paper in library.papers() for chunk in library.paper_chunks(paper.paper_id)]
    assert {chunk.chunk_id for chunk in chunks} == set(rows)
    return [
        (chunk.path, chunk.ordinal, chunk.text, chunk.start, chunk.end, chunk.page_breaks, rows[chunk.chunk_id])
        for chunk in chunks
    ]


@dataclass(frozen=True)
class Place:
    """A home and the URI of its library."""

    home: Home
    uri: str

    def open(self, home: Home | None = None, *, writing: bool = False):
        home = home or self.home
        if self.uri == "vectorstore":
            return Library.open_for_writing(home) if writing else Library.open(home)
        return LanceLibrary(home, self.uri, writing=writing)


def ingest(home_root: Path, first: int, last: int, *, refresh_each: int, uri: str = "vectorstore") -> None:
    """What a killed process does: adds the numbered papers that are not there yet, and says so after each step."""
    with Place(Home(home_root), uri).open(writing=True) as library:
        known = set(known_files(library))
        for number in range(first, last):
            made = numbered_paper(number)
            if made.path in known:
                continue
            print("adding", number, flush=True)
            add(library, made)
            print("added", number, flush=True)
            if number % refresh_each == 0:
                library.refresh_indexes()
                print("refreshed", number, flush=True)
        library.refresh_indexes()


def start_program(program: str, *args: object) -> subprocess.Popen[str]:
    """A process of Python that runs this text, with pipes to it and from it."""
    command = [sys.executable, "-c", program, *map(str, args)]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def run_program(program: str, *args: object) -> list[str]:
    """The lines that such a process prints, which must end well."""
    with start_program(program, *args) as process:
        said, _ = process.communicate(timeout=100)
    assert process.returncode == 0
    return said.splitlines()


if __name__ == "__main__":
    folder, start, end, each, *place = sys.argv[1:]
    ingest(Path(folder), int(start), int(end), refresh_each=int(each), uri=(*place, "vectorstore")[0])
