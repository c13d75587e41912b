"""Pages that are pictures: recognised where Tesseract's data is there, said to be scanned where it is not."""

import pytest

from ragscience.core.errors import FileProblem, ModelProblem
from ragscience.reading.pdf_reader import find_tessdata, read_pdf
from ragscience.reading.text_cleaning import illegible_share
from tests.pdf_factory import make_mapped_pdf, make_pdf, make_scan, make_scanned_text
from tests.shared_data import SHARED_DATA, needs_shared_data

WORDS = "The quick brown fox jumps over the lazy dog\nand finds that retrieval of passages is hard"


def is_installed():
    try:
        find_tessdata("eng")
    except ModelProblem:
        return False
    return True


needs_tesseract = pytest.mark.skipif(not is_installed(), reason="Tesseract's data for English is not installed")


@pytest.fixture
def no_tesseract(monkeypatch, tmp_path):
    """An environment in which Tesseract's data folder is empty."""
    folder = tmp_path / "empty"
    folder.mkdir()
    monkeypatch.setenv("TESSDATA_PREFIX", str(folder))
    return folder


def test_without_it_a_scan_is_scanned_and_the_fix_says_what_to_install(no_tesseract, tmp_path):
    scan = make_scan(tmp_path / "scan.pdf", 2)
    with pytest.raises(FileProblem, match="probably scanned") as caught:
        read_pdf(scan, ocr="eng")
    assert caught.value.reason == "no-text"
    assert "apt-get install tesseract-ocr" in caught.value.fix


@pytest.mark.ocr
@needs_tesseract
def test_a_scan_becomes_text_with_boxes(tmp_path):
    scan = make_scanned_text(tmp_path / "scan.pdf", [WORDS, "Second page of words"])
    document = read_pdf(scan, ocr="eng")
    assert [page.warning for page in document.pages] == ["read by OCR"] * 2
    assert document.warnings == ("2 of 2 pages read by OCR: some of their words may be wrong",)
    first, second = document.pages
    assert document.text[first.start : first.end].lower().split() == WORDS.lower().split()
    assert document.text[second.start : second.end] == "Second page of words"
    # The factory draws the first line on the base line y = 60 from x = 50, in 20 points.
    line = first.lines[0]
    assert document.text[line.start : line.end] == WORDS.split("\n")[0]
    left, top, right, bottom = line.box
    assert abs(left - 50) < 4
    # From 0.78 sizes above it to 0.22 below it.
    assert abs(top - 44.4) < 2
    assert abs(bottom - 64.4) < 2
    assert 400 < right < 560


@pytest.mark.ocr
@needs_tesseract
def test_good_pages_of_a_mixed_file_stay_as_they_are(tmp_path):
    import pymupdf

    mixed = make_pdf(tmp_path / "mixed.pdf", ["first page as text", ""])
    with pymupdf.open(mixed) as target, pymupdf.open(make_scanned_text(tmp_path / "s.pdf", [WORDS])) as source:
        target.insert_pdf(source)
        target.save(tmp_path / "whole.pdf")
    before, after = read_pdf(tmp_path / "whole.pdf"), read_pdf(tmp_path / "whole.pdf", ocr="eng")
    assert after.text.startswith(before.text)
    assert after.pages[0] == before.pages[0]
    assert [page.warning for page in after.pages] == ["", "without text: blank, scanned or damaged", "read by OCR"]
    assert after.warnings == (
        "1 of 3 pages without text: blank, scanned or damaged",
        "1 of 3 pages read by OCR: some of their words may be wrong",
    )


@pytest.mark.ocr
@needs_tesseract
def test_illegible_text_is_read_as_it_is_drawn(tmp_path):
    path = make_mapped_pdf(tmp_path / "garbage.pdf", "Hidden words of a paper", dict.fromkeys("Hidenworsfap", 0xE000))
    with pytest.raises(FileProblem, match="no readable text"):
        read_pdf(path)
    document = read_pdf(path, ocr="eng")
    assert document.text == "Hidden words of a paper"
    assert illegible_share(document.text) == 0


@pytest.mark.ocr
@needs_tesseract
@needs_shared_data
def test_a_real_scan(tmp_path):
    document = read_pdf(SHARED_DATA / "nasty" / "slide_image_only_1page.pdf", ocr="eng")
    assert len(document.text.split()) > 100
    assert document.pages[0].warning == "read by OCR"
    assert document.pages[0].lines
    for line in document.pages[0].lines:
        assert document.text[line.start : line.end].strip()


def test_the_command_says_once_that_it_is_not_installed_and_reads_the_rest(no_tesseract, commands):
    for number in range(2):
        make_scan(commands.home / "papers" / f"scan{number}.pdf")
    make_pdf(commands.home / "papers" / "good.pdf", ["Bees dance to tell where the flowers are."])
    ran = commands.ingest("add", "--ocr")
    assert ran.code == 3
    assert ran.err.count("Tesseract, which is not installed. Install it") == 1
    assert ran.err.count("probably scanned") == 2
    assert "1 added, 2 not read" in ran.err


@pytest.mark.ocr
@needs_tesseract
def test_the_command_reads_scans(commands):
    make_scanned_text(commands.home / "papers" / "scan.pdf", [WORDS])
    ran = commands.ingest("sync")
    assert ran.code == 3
    assert "--ocr" in ran.err
    ran = commands.ingest("sync", "--ocr")
    assert ran.code == 0, ran.err
    assert "1 of 1 pages read by OCR" in ran.err
    assert "retrieval of passages" in commands.query("search", "retrieval of passages").out


def test_a_language_that_is_no_name_is_refused(commands):
    ran = commands.ingest("add", "--ocr", RAG_OCR_LANGUAGE="../eng")
    assert ran.code == 2
    assert "RAG_OCR_LANGUAGE" in ran.err
