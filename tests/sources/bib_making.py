"""Papers and answers made up for the tests of the bibliography; BibTeX read back by a library of somebody else's."""

import hashlib
import re

import bibtexparser
from bibtexparser.middlewares import SeparateCoAuthors

from ragscience.core.records import Answer, Citation, Found, Metadata, Paper


def paper(paper_id=1, metadata=None, *, path="/papers/a.pdf", **fields):
    """A paper of a library; `fields` are those of its metadata."""
    md5 = hashlib.md5(f"{paper_id}".encode(), usedforsecurity=False).hexdigest()
    file, metadata = path.rpartition("/")[2], metadata or Metadata(**fields)
    return Paper(paper_id, file, path, md5, 1, 1, 1, 1, "", "2026-01-01T00:00:00+00:00", (), metadata)


def answer(*citations):
    """An answer with these citations, each (file, path)."""
    found = Found("q", "default", ())
    models = {"embedder": None, "reranker": None, "llm": None}
    cited = tuple(Citation(file, 1, "words", True, path) for file, path in citations)
    return Answer("abc", "q", "text", "extractive", False, cited, found, models)


_COMMANDS = {
    "textbackslash": "\\",
    "textbraceleft": "{",
    "textbraceright": "}",
    "textasciitilde": "~",
    "textasciicircum": "^",
}


def parsed(bib):
    """(type, fields) of each entry by its key, "author" as a list; nothing may fail."""
    library = bibtexparser.parse_string(bib, append_middleware=[SeparateCoAuthors()])
    assert library.failed_blocks == []
    assert library.comments == []
    return {
        entry.key: (entry.entry_type, {field.key: field.value for field in entry.fields}) for entry in library.entries
    }


def unlatex(text):
    """What LaTeX would print."""
    return re.sub(r"\{\\([a-z]+)\}|\\([&%$#_])|[{}]", lambda m: _COMMANDS.get(m[1], "") if m[1] else m[2] or "", text)
