import json
import shutil

import pytest

from ragscience.library.store import Home, Library
from tests.commands.papers import fill, spoil
from tests.pdf_factory import make_pdf


def test_a_second_run_reads_nothing_and_loads_no_model(own):
    modules = own.imported_by("ingest.py")
    assert not {"torch", "onnxruntime", "tokenizers", "pymupdf", "langchain_core", "faiss"} & modules
    assert "3 known already" in own.ingest().err


def test_what_could_not_be_read_is_one_line_afterwards_and_listed_on_demand(commands):
    fill(commands.home / "papers")
    spoil(commands.home / "papers")
    for name in ("notes.rst", ".hidden.md", "data.csv"):
        (commands.home / "papers" / name).write_text("words")
    (commands.home / "papers" / "gone.pdf").symlink_to(commands.home / "nowhere")
    first, second = commands.ingest(), commands.ingest()
    said = "Not read: notes.rst. Only PDF, Word (docx), EPUB, HTML, Markdown, LaTeX and plain text can be added."
    assert f"{said} Print or export it as PDF, and add that." in first.err
    assert second.code == 0
    assert second.err.splitlines() == [
        "3 known already; the library has 3 papers, 3 passages.",
        "5 files are still skipped: `python ingest.py list --failed`",
    ]
    assert commands.ingest("--quiet").err == ""
    assert commands.ingest("papers").err.splitlines()[-1] == second.err.splitlines()[-1]
    assert commands.ingest("papers/scan.pdf").code == 3
    listed = commands.ingest("list", "--failed").out.splitlines()
    assert [line.split("\t")[:2] for line in listed] == [
        ["empty.pdf", "empty"],
        ["gone.pdf", "unreadable"],
        ["locked.pdf", "encrypted"],
        ["notes.rst", "other-format"],
        ["page.pdf", "not-a-pdf"],
        ["scan.pdf", "no-text"],
    ]
    assert "qpdf --decrypt" in listed[2]
    files = json.loads(commands.ingest("list", "--failed", "--json").out)["files"]
    assert [file["reason"] for file in files] == [line.split("\t")[1] for line in listed]


def test_changed_bytes_replace_what_the_old_ones_said(own):
    make_pdf(own.home / "papers" / "bees.pdf", ["Bees do not fly in fog at all."])
    ran = own.ingest()
    assert ran.code == 0
    assert "1 updated" in ran.err
    assert own.papers()["bees.pdf"]["pages"] == 1
    found = json.loads(own.query("search", "harmonic radar bees", "-k", "50", "--json").out)
    assert not any("412" in hit["text"] for hit in found["hits"])


def test_the_same_bytes_under_another_name_are_known(own):
    papers = own.home / "papers"
    shutil.copy(papers / "bees.pdf", papers / "copy.pdf")
    assert "copy.pdf: It has the same bytes as" in own.ingest().err
    (papers / "bees.pdf").unlink()
    assert "copy.pdf" in own.ingest().err
    assert set(own.papers()) == {"copy.pdf", "kilns.pdf", "tides.pdf"}


def test_add_never_removes_and_sync_does(own):
    (own.home / "papers" / "kilns.pdf").unlink()
    own.ingest()
    assert "kilns.pdf" in own.papers()
    assert "would remove kilns.pdf" in own.ingest("sync", "--dry-run").err
    assert "kilns.pdf" in own.papers()
    assert "removed kilns.pdf" in own.ingest("sync").err
    assert "kilns.pdf" not in own.papers()


def chunks_of(home):
    with Library.open(Home(home)) as library:
        return [
            (paper.file, chunk.text, chunk.page_start, chunk.page_end)
            for paper in library.papers()
            for chunk in library.paper_chunks(paper.paper_id)
        ]


@pytest.mark.parametrize("what", [(), ("--embeddings",), ("--indexes",)])
def test_rebuild_gives_the_same_library(own, what):
    before = chunks_of(own.home)
    ran = own.ingest("rebuild", *what)
    assert ran.code == 0, ran.err
    assert chunks_of(own.home) == before
    assert json.loads(own.query("search", "glaze", "--json").out)["hits"][0]["file"] == "kilns.pdf"


def test_another_chunk_size_is_refused_until_rebuilt(own):
    make_pdf(own.home / "papers" / "new.pdf", ["Something new."])
    refused = own.ingest(RAG_CHUNK_SIZE="300", RAG_CHUNK_OVERLAP="20")
    assert refused.code == 5
    assert "rebuild" in refused.err
    assert own.ingest("rebuild", RAG_CHUNK_SIZE="300", RAG_CHUNK_OVERLAP="20").code == 0
    assert own.ingest(RAG_CHUNK_SIZE="300", RAG_CHUNK_OVERLAP="20").code == 0
    assert "new.pdf" in own.papers()
