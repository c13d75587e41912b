"""A library with papers whose elements are given, for routes that read them: real SQLite, no PDF."""

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ragscience.ask.intents import WEIGHTS, probabilities
from ragscience.ask.route_records import RouteContext
from ragscience.core.records import Chunk, Document, Element, EmbedderIdentity, Filters, Found, Metadata, Page
from ragscience.core.settings import default_settings
from ragscience.library.atomic_files import Home
from ragscience.library.paper_contents import NewPaper
from ragscience.library.store import Library
from ragscience.models.minilm import MiniLM

Given = tuple[int, str, str] | tuple[int, str, str, int]
"""Page, kind and words of an element, and the level of a heading."""


def make_library(
    home: Path, papers: dict[str, tuple[str, Sequence[Given]]], metadata: dict[str, Metadata] | None = None
) -> Library:
    """A library of papers by the name of their file, each a title and its elements; each page is a passage.

    A page of references is a passage of that kind. `metadata` is by the name of the file.
    """
    library = Library.open_for_writing(Home(home))
    library.set_identity(EmbedderIdentity("embedded", "none", "0", 4), "none")
    for file, (title, elements) in papers.items():
        document, chunks = _document(title, elements, (metadata or {}).get(file, Metadata()))
        vectors = np.tile(np.array([1, 0, 0, 0], np.float32), (len(chunks), 1))
        library.add_paper(
            NewPaper(str(home / file), hashlib.md5(file.encode()).hexdigest(), 1, 1, document, chunks, vectors)
        )
    return library


@cache
def embedder() -> MiniLM:
    """The embedded model, loaded once."""
    return MiniLM(cache_folder=Path(default_settings(Path()).cache_folder).expanduser(), on_warning=print)


def context(library: Library, filters: Filters | None = None) -> RouteContext:
    """What a route is given; a search finds nothing, and all texts are equally near to all papers."""

    def probabilities_of(question: str) -> NDArray[np.float32]:
        (asked,) = embedder().questions([question])
        return probabilities(np.load(WEIGHTS), asked.vector[None])[0]

    def search(question: str, filters: Filters) -> Found:
        return Found(question, "balanced", ())

    vector = np.eye(4, dtype=np.float32)[0]
    return RouteContext(library, search, filters or Filters(), probabilities_of, lambda _: vector, lambda *_: {})


def _document(title: str, given: Sequence[Given], metadata: Metadata) -> tuple[Document, list[Chunk]]:
    text, page_starts, elements = "", {}, []
    section: list[str] = []
    for page, kind, words, *level in given:
        if page not in page_starts:
            page_starts[page] = len(text)
        elif text:
            text += "\n\n"
        if kind == "heading":
            section = [*section[: level[0] - 1], words]
        start, text = len(text), text + words
        elements.append(Element(start, len(text), kind, page, *(level or [0]), " › ".join(section)))
    ends = [*list(page_starts.values())[1:], len(text)]
    pages = tuple(Page(n, start, end) for (n, start), end in zip(page_starts.items(), ends, strict=True))
    of_references = {element.page for element in elements if element.kind == "reference"}
    chunks = [
        Chunk(
            n,
            text[page.start : page.end],
            page.start,
            page.end,
            page.number,
            page.number,
            kind="reference" if page.number in of_references else "text",
        )
        for n, page in enumerate(pages)
    ]
    return Document(text, pages, title, (), tuple(elements), metadata), chunks
