"""The real papers and the broken files, through the pool, under the limits that a person would set."""

import csv
import unicodedata

import pytest

from ragscience.core.records import Document
from ragscience.reading.worker import perform
from ragscience.reading.worker_pool import ReadingPool
from tests.shared_data import SHARED_DATA, needs_shared_data, shared_paper, shared_papers

pytestmark = needs_shared_data

NASTY = SHARED_DATA / "nasty"
FILES = {
    "encrypted": "enc_attachment_only enc_two_pw_r6 enc_unicode_pw enc_user_pw_aes256_r6 enc_user_pw_rc4_40",
    "damaged": "bad_page_count made_bitflips open_error_340b open_error_fuzzed",
    "not-a-pdf": "made_html_named_pdf made_lfs_pointer",
    "empty": "made_zero_bytes",
    "no-text": "enc_no_id no_tounicode_one_page rtl_thuluth_features scan_5pages scan_image_only_3pages scan_jbig2 "
    "slide_image_only_1page",
    "no-pages": "unreadable_metadata zero_pages_a zero_pages_b zero_pages_c zero_pages_d_big",
}
REASONS = {name: reason for reason, names in FILES.items() for name in names.split()}


def read(paths, password=""):
    with ReadingPool(2, 60, 1 << 30) as pool:
        return {path.stem: result for path, result in pool.read_all(paths, password)}


@pytest.fixture(scope="module")
def nasty():
    return read(sorted(NASTY.glob("*.pdf")))


def rows():
    with (NASTY / "NASTY.tsv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def test_every_shared_paper_is_read_in_full():
    papers = shared_papers()
    documents = papers.values()
    assert len(documents) == 24
    assert sum(len(document.pages) for document in documents) == 515
    assert [page for document in documents for page in document.pages if page.start == page.end] == []
    # The labels of their drawings are in fonts whose glyphs have numbers for names.
    warned = {(name, page.number) for name, document in papers.items() for page in document.pages if page.warning}
    assert warned == {("neural_ode_1806.07366.pdf", number) for number in (1, 7, 10)}


def test_a_worker_reads_what_is_read_here():
    """Of one paper: columns, floats and tables are read under coverage here."""
    name = "papers/resnet_1512.03385.pdf"
    assert perform(["read", str(SHARED_DATA / name), "", ""]) == shared_paper(name)


def test_every_nasty_file_ends_as_a_document_or_as_the_problem_it_has(nasty):
    assert set(nasty) == {row["file"].removesuffix(".pdf") for row in rows()}
    assert {name: result.reason for name, result in nasty.items() if not isinstance(result, Document)} == REASONS


def test_no_document_holds_control_characters_and_every_offset_is_right(nasty):
    for name in nasty.keys() - REASONS.keys():
        document = nasty[name]
        assert all(unicodedata.category(c) not in ("Cc", "Cs") or c in "\n\t" for c in document.text), name
        ends = [0, *(page.end for page in document.pages)]
        starts = [*(page.start for page in document.pages), len(document.text)]
        assert all(document.text[end:start].strip() == "" for end, start in zip(ends, starts, strict=True)), name
        for page in document.pages:
            assert all(page.start <= line.start < line.end <= page.end for line in page.lines), name


def test_passwords_open_what_they_are_for():
    locked = [row for row in rows() if row["password"]]
    assert len(locked) >= 4
    for row in locked:
        (result,) = read([NASTY / row["file"]], row["password"]).values()
        assert isinstance(result, Document), row["file"]
        assert result.text.strip()


def test_what_can_be_had_of_damaged_files_is_had_with_a_warning(nasty):
    whole = nasty["made_junk_prefix"]
    assert len(whole.pages) == 15
    assert whole.warnings == ()
    assert nasty["made_truncated_last_kB"].text == whole.text
    assert "repaired" in nasty["made_truncated_last_kB"].warnings[0]
    half = nasty["made_truncated_50pct"]
    assert half.warnings[1] == "12 of 15 pages without text: blank, scanned or damaged"
    assert sum(not page.warning for page in half.pages) == 3
    assert nasty["page_tree_cycle"].warnings == ("1 of 2 pages could not be read",)
    assert "14 of 16" in nasty["fuzzed_16_pages"].warnings[0]
    garbage = nasty["no_tounicode_paper_garbage"]
    assert "21 of 23 pages without readable text" in garbage.warnings[0]
    assert [page.number for page in garbage.pages if page.end > page.start] == [1, 23]
    assert "9 of 11" in nasty["slides_crispr_spanish_image_heavy"].warnings[0]
