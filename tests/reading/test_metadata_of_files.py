"""What a file's document says of the paper, from the page to the record that arrives."""

import subprocess
import sys

import pytest

from ragscience.core.records import Metadata
from ragscience.reading.pdf_reader import read_pdf
from ragscience.reading.worker_protocol import Reading, decode_reply, encode_reply, encode_request
from tests.pdf_factory import make_pdf
from tests.shared_data import needs_shared_data, shared_papers

TOLD = {"author": "Ada Lovelace", "subject": "doi:10.1000/182"}


def test_a_document_carries_what_the_paper_says_of_itself(tmp_path):
    path = make_pdf(tmp_path / "a.pdf", ["A Study of Things\n\nSome text."], title="A Study of Things", metadata=TOLD)
    document = read_pdf(path)
    assert document.title == document.metadata.title == "A Study of Things"
    assert document.metadata.authors == ("Ada Lovelace",)
    assert document.metadata.doi == "10.1000/182"
    assert set(document.metadata.confidence) >= {"title", "authors", "doi"}
    assert decode_reply(encode_reply(document)) == document


def test_of_a_first_page_without_text_the_files_own_metadata_are_left(tmp_path):
    path = make_pdf(tmp_path / "a.pdf", ["", "Some text."], title="A Study of Things", metadata=TOLD)
    assert read_pdf(path).metadata.authors == ("Ada Lovelace",)


def test_metadata_that_cannot_be_read_cost_a_warning_and_not_the_document(tmp_path):
    """In a process of its own, whose metadata reader divides by zero at every page."""
    path = make_pdf(tmp_path / "a.pdf", ["Some text."])
    script = (
        "import sys\n"
        "from ragscience.reading import pdf_reader, worker\n"
        "pdf_reader.metadata_of = lambda *_: 1 // 0\n"
        "sys.exit(worker.main(['2000000000', '60']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=encode_request(Reading(path, "")),
        capture_output=True,
        timeout=120,
        check=True,
    )
    document = decode_reply(done.stdout.splitlines()[-1])
    assert document.text == "Some text."
    assert document.metadata == Metadata()
    assert document.warnings == ("without authors, year and title: integer division or modulo by zero",)


@needs_shared_data
@pytest.mark.parametrize(
    ("name", "author", "year"), [("attention", "Ashish Vaswani", 2017), ("bert", "Jacob Devlin", None)]
)
def test_a_shared_paper_has_its_authors(name, author, year):
    metadata = next(paper.metadata for file, paper in shared_papers().items() if name in file)
    assert metadata.authors[0] == author
    assert year is None or metadata.year == year
