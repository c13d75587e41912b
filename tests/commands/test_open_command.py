"""From an answer to the page: `open`, `--highlight`, and `/show`, `/why` and `/open` in the chat."""

import json
import os
import sys

import pymupdf
import pytest

from tests.conftest import Commands
from tests.pdf_factory import make_pdf
from tests.screens.emulator import readable

QUESTION = "What was the mean flight speed of honeybees in fog?"
GLAZE = "At which temperature does the glaze mature?"


@pytest.fixture
def asked(library):
    (library / "vectorstore" / "history.sqlite").unlink(missing_ok=True)
    return Commands(library)


class Viewer:
    """A program that tells through a pipe what it was called with."""

    def __init__(self, folder):
        self.program, pipe = folder / "my viewer", folder / "pipe"
        os.mkfifo(pipe)
        self.program.write_text(
            f"#!{sys.executable}\nimport json, sys\nwith open({str(pipe)!r}, 'w') as out:\n"
            "    out.write(json.dumps(sys.argv[1:]))\n"
        )
        self.program.chmod(0o700)
        self._pipe = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)

    def command(self, words):
        return f"'{self.program}' {words}"

    def called_with(self):
        ready = readable([self._pipe], 60)
        assert ready, "the viewer was never called"
        os.set_blocking(self._pipe, True)
        with os.fdopen(self._pipe) as told:
            return json.loads(told.read())


@pytest.fixture
def viewer(tmp_path):
    return Viewer(tmp_path)


def sources(ran):
    """The pages that an answer's JSON cites, once each, as they are numbered."""
    return list(dict.fromkeys((item["file"], item["page"]) for item in json.loads(ran.out)["citations"]))


def marked(path):
    """(label, words under the highlight) of each quote, page by page."""
    found = []
    with pymupdf.open(path) as document:
        for page in document:
            for annotation in page.annots(types=[pymupdf.PDF_ANNOT_HIGHLIGHT]):
                words = page.get_text("text", clip=annotation.rect)
                found.append((annotation.info["content"].partition(":")[0], words))
    return found


def test_a_source_is_opened_at_its_page(asked, viewer):
    number = sources(asked.query("ask", QUESTION, "--json")).index(("bees.pdf", 2)) + 1
    ran = asked.query("open", number, RAG_PDF_VIEWER=viewer.command("--at={page} {file}"))
    path = asked.home / "papers" / "bees.pdf"
    assert ran.code == 0, ran.err
    assert ran.out == f"[{number}] {path}, p.2\n"
    assert viewer.called_with() == ["--at=2", str(path)]


def test_a_name_is_one_word_to_the_viewer_whatever_is_in_it(commands, viewer):
    name = "a b; $(touch x) {page} 'q'.pdf"
    make_pdf(commands.home / "papers" / name, ["The glaze matures at 1280 degrees Celsius."])
    assert commands.ingest().code == 0
    assert commands.query("ask", GLAZE).code == 0
    ran = commands.query("open", RAG_PDF_VIEWER=viewer.command("{file} {page}"))
    assert ran.code == 0, ran.err
    assert viewer.called_with() == [str(commands.home / "papers" / name), "1"]


def test_what_cannot_be_opened_is_said_in_one_line(asked):
    ran = asked.query("open")
    assert (ran.code, ran.out) == (4, "")
    asked.query("ask", GLAZE, "--paper", "kilns")
    for arguments, env, code, words in (
        (["9"], {}, 4, "only source 1"),
        (["0"], {}, 4, "no source 0"),
        (["--answer", "zzz"], {}, 4, "no answer zzz"),
        ([], {"RAG_PDF_VIEWER": "/no/such/viewer {file}"}, 1, "could not be started"),
        ([], {"RAG_PDF_VIEWER": "'open {file}"}, 1, "cannot be read"),
        ([], {"RAG_PDF_VIEWER": "viewer"}, 2, "RAG_PDF_VIEWER"),
    ):
        ran = asked.query("open", *arguments, **env)
        assert ran.code == code, (arguments, env, ran)
        assert words in ran.err
        assert ran.err.count("\n") == 2


def test_the_cited_pages_are_written_once_with_their_quotes_marked(asked, tmp_path):
    out = tmp_path / "out.pdf"
    ran = asked.query("ask", QUESTION, "--json", "--highlight", out)
    assert ran.code == 0, ran.err
    cited = json.loads(ran.out)["citations"]
    assert all(item["boxes"] for item in cited), cited
    with pymupdf.open(out) as document:
        assert document.page_count == len(sources(ran))
        notes = [note.info["content"] for page in document for note in page.annots(types=[pymupdf.PDF_ANNOT_TEXT])]
    assert sorted(note.partition("\n")[0] for note in notes) == sorted(
        f"{file}, p.{page}" for file, page in sources(ran)
    )
    (words,) = [words for label, words in marked(out) if label == "bees.pdf, p.2"]
    assert "The mean flight speed in fog was 3.7 metres per second." in words
    assert len(marked(out)) == len(cited)
    assert list(tmp_path.iterdir()) == [out]


def test_a_file_of_someone_else_is_never_replaced(asked, tmp_path):
    mine = asked.home / "papers" / "bees.pdf"
    before = mine.read_bytes()
    for target, words in (
        (mine, "not from --highlight"),
        (tmp_path, "is a folder"),
        (tmp_path / "no" / "o.pdf", "no folder"),
    ):
        ran = asked.query("ask", QUESTION, "--highlight", target)
        assert ran.code == 2
        assert words in ran.err
        assert ran.out == ""
    assert mine.read_bytes() == before


def test_the_chat_shows_a_source_and_says_why(asked, viewer):
    lines = ["/show", "/why", QUESTION, "/show 1", "/why", "/open 1", "/show 77", "/show x"]
    ran = asked.query(
        "chat", "--paper", "bees", stdin="\n".join(lines).encode(), RAG_PDF_VIEWER=viewer.command("{page} {file}")
    )
    assert ran.code == 0, ran.err
    assert ran.err.count("No answer yet.") == 2
    assert "[1] bees.pdf, p." in ran.out
    assert "»" in ran.out
    assert f"You asked    {QUESTION}" in ran.out
    assert viewer.called_with()[1] == str(asked.home / "papers" / "bees.pdf")
    assert "no source 77" in ran.err
    assert "'x' is not a source number" in ran.err
