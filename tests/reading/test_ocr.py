"""Pages that are pictures: recognised where Tesseract's data is there, said to be scanned where it is not."""

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.core.errors import FileProblem, ModelProblem
from ragscience.reading.ocr import evened, find_tessdata, has_picture, is_writing, recognise
from ragscience.reading.pdf_reader import read_pdf
from ragscience.reading.reader_process import ReaderProcess
from ragscience.reading.text_cleaning import illegible_share
from ragscience.reading.worker import perform, serve
from ragscience.reading.worker_pool import ReadingPool
from ragscience.reading.worker_protocol import Reading, encode_page, encode_request
from tests.pdf_factory import make_mapped_pdf, make_pdf, make_scan, make_scanned_text
from tests.shared_data import SHARED_DATA, needs_shared_data

GIGABYTE = 1 << 30
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


# Where it is not installed


def test_no_data_at_all_is_not_installed(no_tesseract):
    with pytest.raises(ModelProblem) as caught:
        find_tessdata("eng")
    assert "not installed" in caught.value.message
    assert "apt-get install tesseract-ocr" in caught.value.fix


def test_a_language_that_is_missing_is_named(no_tesseract):
    (no_tesseract / "eng.traineddata").touch()
    assert find_tessdata("eng") == str(no_tesseract)
    with pytest.raises(ModelProblem) as caught:
        find_tessdata("eng+chi_sim")
    assert "'chi_sim'; it has eng" in caught.value.message
    assert "apt-get install tesseract-ocr-chi-sim" in caught.value.fix


def test_the_data_is_found_next_to_the_program(monkeypatch, tmp_path):
    program, data = tmp_path / "bin" / "tesseract", tmp_path / "share" / "tessdata"
    program.parent.mkdir()
    program.touch(mode=0o755)
    data.mkdir(parents=True)
    (data / "xyz.traineddata").touch()
    monkeypatch.delenv("TESSDATA_PREFIX", raising=False)
    monkeypatch.setenv("PATH", str(program.parent))
    assert find_tessdata("xyz") == str(data)


def test_without_it_a_scan_is_scanned_and_the_fix_says_what_to_install(no_tesseract, tmp_path):
    scan = make_scan(tmp_path / "scan.pdf", 2)
    with pytest.raises(FileProblem, match="probably scanned") as caught:
        read_pdf(scan, ocr="eng")
    assert caught.value.reason == "no-text"
    assert "apt-get install tesseract-ocr" in caught.value.fix


def test_without_it_a_mixed_file_is_read_as_before(no_tesseract, tmp_path):
    mixed = make_pdf(tmp_path / "mixed.pdf", ["some text", ""])
    assert read_pdf(mixed, ocr="eng") == read_pdf(mixed)


def test_a_scan_that_was_not_to_be_recognised_says_how(tmp_path):
    with pytest.raises(FileProblem) as caught:
        read_pdf(make_scan(tmp_path / "scan.pdf"))
    assert "--ocr" in caught.value.fix
    assert "apt-get install tesseract-ocr" in caught.value.fix


# What is made of what it sees


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (WORDS, True),
        ("12,849,426.92 01/04 500,000", True),
        ("検索 モデル", True),
        ("N\nx \\ ae A \\ 4 |\n= .\n' }/ ~ iso", False),
        (" \n ", False),
    ],
)
def test_what_counts_as_writing(text, expected):
    assert is_writing(text) is expected


def test_lines_of_about_one_size_get_one_and_titles_keep_theirs():
    lines = [(20.04, 50.0), (9.8, 80.0), (10.4, 92.0), (10.0, 104.0), (6.0, 120.0)]
    assert [size for size, _ in evened(lines, [30, 60, 60, 60, 20])] == [20.0, 10.0, 10.0, 10.0, 6.0]


@given(st.lists(st.tuples(st.floats(1, 80), st.floats(0, 800), st.integers(1, 90)), min_size=1, max_size=12))
def test_evened_lines_are_about_as_large_as_before(lines):
    sizes = [(size, base) for size, base, _ in lines]
    done = evened(sizes, [count for _, _, count in lines])
    for (size, base), (even, same) in zip(sizes, done, strict=True):
        assert same == base
        assert 0.8 * size - 0.1 <= even <= 1.2 * size + 0.1


def test_no_lines_stay_none():
    assert evened([], []) == []


# Where it is


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
def test_a_turned_page_has_its_boxes_as_it_is_shown(tmp_path):
    scan = make_scanned_text(tmp_path / "scan.pdf", [WORDS], rotate=90)
    document = read_pdf(scan, ocr="eng")
    assert document.text.lower().split() == WORDS.lower().split()
    left, top, right, bottom = document.pages[0].lines[0].box
    assert abs(left - 50) < 4
    assert top < bottom < 80
    assert right > 400


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
def test_pictures_without_words_stay_scanned(tmp_path):
    with pytest.raises(FileProblem, match="probably scanned") as caught:
        read_pdf(make_scan(tmp_path / "scan.pdf"), ocr="eng")
    assert "RAG_OCR_LANGUAGE" in caught.value.fix


@pytest.mark.ocr
@needs_tesseract
def test_data_that_is_none_costs_its_pages_and_says_so(monkeypatch, tmp_path):
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "eng.traineddata").write_bytes(b"not what Tesseract expects")
    monkeypatch.setenv("TESSDATA_PREFIX", str(broken))
    mixed = tmp_path / "mixed.pdf"
    import pymupdf

    with (
        pymupdf.open(make_pdf(tmp_path / "a.pdf", ["text"])) as target,
        pymupdf.open(make_scanned_text(tmp_path / "b.pdf", [WORDS])) as source,
    ):
        target.insert_pdf(source)
        target.save(mixed)
    document = read_pdf(mixed, ocr="eng")
    assert document.text == "text"
    assert "OCR failed" in document.pages[1].warning


@pytest.mark.ocr
@needs_tesseract
def test_a_page_without_a_limit_to_its_size_is_drawn_coarser(tmp_path):
    import pymupdf

    with pymupdf.open() as document:
        document.new_page(width=14400, height=14400)
        page = document[0]
        page.insert_text((1000, 3000), "Poster", fontsize=2000)
        assert "Poster" in recognise(page, "eng", find_tessdata("eng")).plain


def test_a_blank_page_has_no_picture(tmp_path):
    import pymupdf

    with pymupdf.open() as document:
        page = document.new_page()
        assert not has_picture(page)
        page.draw_rect(pymupdf.Rect(10, 10, 20, 20))
        assert has_picture(document[0])


# In a worker


@pytest.mark.ocr
@needs_tesseract
def test_the_worker_says_after_each_page_that_it_goes_on(tmp_path):
    scan = make_scanned_text(tmp_path / "scan.pdf", ["Words on one page", "and on another"])
    calls = []
    document = perform(Reading(scan, "", "eng"), lambda: calls.append(1))
    assert len(calls) == 2
    assert document == read_pdf(scan, ocr="eng")


@pytest.mark.ocr
@needs_tesseract
def test_a_pool_reads_scans_within_its_limits(tmp_path):
    scans = [make_scanned_text(tmp_path / f"{n}.pdf", [f"Scanned page of file {n}"] * 2) for n in range(2)]
    with ReadingPool(1, 60.0, GIGABYTE, "eng") as pool:
        documents = [document for _, document in pool.read_all(scans)]
    assert [document.text.lower().count(f"scanned page of file {n}") for n, document in enumerate(documents)] == [2, 2]


def test_replies_in_one_piece_are_separated(tmp_path, monkeypatch):
    """A worker that writes what it has to say in one go: signs of life, then the reply."""
    package = tmp_path / "ragscience" / "reading"
    package.mkdir(parents=True)
    program = tmp_path / "python"
    program.write_text(
        "#!/bin/sh\n"
        "printf '{\"ready\": true}\\n'\n"
        "while read line; do printf '%s{\"number\": 7}\\n' '"
        + encode_page(1, 3, is_slow=True).decode() * 3
        + "'; done\n"
    )
    program.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(program))
    reader = ReaderProcess(60.0, GIGABYTE)
    try:
        assert reader.mark(Path("a.pdf"), Path("b.pdf"), []) == 7
        assert reader.mark(Path("a.pdf"), Path("b.pdf"), []) == 7
    finally:
        reader.close()


def test_a_request_for_ocr_arrives(tmp_path):
    asked = []

    def remember(request):
        asked.append(request)
        return 0

    serve(io.BytesIO(encode_request(Reading(tmp_path / "a.pdf", "", "eng+deu"))), io.BytesIO(), remember)
    assert asked == [Reading(tmp_path / "a.pdf", "", "eng+deu")]


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


# The command


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
