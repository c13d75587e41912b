"""Papers and answers made up for the tests of the bibliography."""

import hashlib

from ragscience.core.records import Answer, Citation, Found, Metadata, Paper


def paper(paper_id=1, metadata=None, *, path="/papers/a.pdf", file="", own_title="", **fields):
    """A paper of a library; `fields` are those of its metadata, `own_title` is in the file's properties."""
    md5 = hashlib.md5(f"{paper_id}".encode(), usedforsecurity=False).hexdigest()
    file = file or path.rpartition("/")[2]
    return Paper(
        paper_id,
        file,
        path,
        md5,
        1,
        1,
        1,
        1,
        own_title,
        "2026-01-01T00:00:00+00:00",
        (),
        metadata or Metadata(**fields),
    )


def answer(*citations):
    """An answer with these citations, each (file, path)."""
    found = Found("q", "default", ())
    models = {"embedder": None, "reranker": None, "llm": None}
    cited = tuple(Citation(file, 1, "words", True, path) for file, path in citations)
    return Answer("abc", "q", "text", "extractive", False, cited, found, models)
