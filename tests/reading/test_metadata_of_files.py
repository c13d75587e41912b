"""What a file's document says of the paper, from the page to the record that arrives."""

import pytest

from ragscience.reading.pdf_reader import read_pdf
from ragscience.reading.worker_protocol import decode_reply, encode_reply
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


@needs_shared_data
@pytest.mark.parametrize(
    ("name", "author", "year"), [("attention", "Ashish Vaswani", 2017), ("bert", "Jacob Devlin", None)]
)
def test_a_shared_paper_has_its_authors(name, author, year):
    metadata = next(paper.metadata for file, paper in shared_papers().items() if name in file)
    assert metadata.authors[0] == author
    assert year is None or metadata.year == year
