"""BibTeX read back by a library of somebody else's, and LaTeX taken out of it again."""

import re

import bibtexparser
from bibtexparser.middlewares import SeparateCoAuthors

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
