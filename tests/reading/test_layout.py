"""Reading with the layout model: what its parts change in a document, and what it costs when it is not there."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import ragscience
from ragscience.core.errors import ModelProblem
from ragscience.core.records import Document, Element
from ragscience.reading.document_structure import SourcePage, structured_document
from ragscience.reading.layout_model import LayoutBox, find_layout_model, layout_boxes, missing_numbers
from ragscience.reading.pdf_reader import opened, read_pdf
from ragscience.reading.pymupdf_errors import load_pymupdf
from ragscience.reading.reader_process import ReaderProcess
from ragscience.reading.text_spans import PageSpans, read_spans, rule_boxes
from ragscience.reading.worker_protocol import PaperReading, decode_reply, encode_request
from tests.pdf_factory import make_pdf
from tests.reading.drawing import Sheet, draw
from tests.reading.test_document_structure import check_whole, of_kind
from tests.shared_data import SHARED_DATA, needs_shared_data

GIGABYTE = 2**30


def has_model():
    try:
        find_layout_model()
    except ModelProblem:
        return False
    return True


needs_model = pytest.mark.skipif(not has_model(), reason="pymupdf-layout is not installed")


def source_pages(path):
    """The pages of a file as the fast reader lays them out."""
    flags = load_pymupdf().TEXTFLAGS_TEXT
    pages = []
    with opened(path, "") as source:
        for number, page in enumerate(source, 1):
            textpage = page.get_textpage(flags=flags)
            lines = [line for block in textpage.extractRAWDICT()["blocks"] for line in block["lines"]]
            spans = read_spans(page, lines, textpage.extractText(), has_tables=True)
            rules, drawings = rule_boxes(page, page.get_bboxlog())
            pages.append(SourcePage(number, spans, tuple(rules), tuple(drawings)))
    return pages


def fast_and_advised(tmp_path, sheet, *parts):
    """The document of a page as the fast reader makes it, and as the layout model's parts change it."""
    (page,) = source_pages(draw(tmp_path / "a.pdf", [sheet]))
    advised = SourcePage(1, page.spans, page.rules, page.drawings, "", tuple(LayoutBox(*part) for part in parts))
    documents = [structured_document([one], "", ()) for one in (page, advised)]
    for document in documents:
        check_whole(document)
    return documents


def headings(document):
    return [
        (one.level, document.text[one.start : one.end], one.section)
        for one in document.elements
        if one.kind == "heading"
    ]


def paper():
    """A page with a heading that the fast reader knows and a small one that it does not."""
    sheet = Sheet().write(50, 80, "1 Introduction", 14, "hebo")
    y = sheet.paragraph(50, 110, 10)
    sheet.write(50, y + 16, "1.1 Small letters of a heading", 7.8)
    sheet.paragraph(50, y + 40, 10, start=3)
    return sheet, (50.0, y + 9, 200.0, y + 17)


def test_a_line_that_the_model_sees_as_a_heading_becomes_one(tmp_path):
    sheet, box = paper()
    fast, advised = fast_and_advised(tmp_path, sheet, ("section-header", box))
    assert [text for _, text, _ in headings(fast)] == ["1 Introduction"]
    assert headings(advised) == [
        (1, "1 Introduction", "1 Introduction"),
        (2, "1.1 Small letters of a heading", "1 Introduction › 1.1 Small letters of a heading"),
    ]
    assert advised.elements[-1].section.endswith("1.1 Small letters of a heading")


# Where it is used


def document_of(*headings):
    """A document that consists of headings."""
    starts = [sum(map(len, headings[:number])) for number in range(len(headings))]
    elements = [Element(start, start + len(text), "heading", 1) for start, text in zip(starts, headings, strict=True)]
    return Document("".join(headings), (), elements=tuple(elements))


@pytest.mark.parametrize(
    ("headings", "missing"),
    [
        (["1 Aaa", "2 Bbb", "2.1 Ccc", "2.2 Ddd", "3 Eee", "References", "A Fff"], ()),
        (["1 Aaa", "2 Bbb", "3.1 Ccc", "3.2 Ddd", "4 Eee"], ("3",)),
        (["1 Aaa", "2 Bbb", "2.1 Ccc", "2.3 Ddd", "2.3.1 Eee"], ("2.2",)),
        (["1 Aaa", "2.1.1 Bbb", "3 Ccc", "4 Ddd", "5 Eee"], ("2", "2.1")),
        (["3 Aaa", "3.2 Bbb", "4 Ccc", "7 Ddd"], ()),
    ],
)
def test_a_gap_in_the_numbers_tells_that_a_heading_is_missing(headings, missing):
    assert missing_numbers(document_of(*headings)) == missing


def numbered_paper(path, *, small):
    """A page of six sections, of which the third has its heading in small letters where that is asked."""
    sheet, y = Sheet(), 60
    for number in range(1, 7):
        is_small = small and number == 3
        text = f"{number} Section In Capitals" if is_small else f"{number} Section in Bold"
        sheet.write(50, y, text, 9 if is_small else 13, "helv" if is_small else "hebo")
        y = sheet.paragraph(50, y + 24, 6, start=number) + 24
    return draw(path, [sheet])


@pytest.mark.layout_model
@needs_model
def test_a_paper_with_a_gap_is_read_by_the_model_too(tmp_path):
    gap, whole = numbered_paper(tmp_path / "gap.pdf", small=True), numbered_paper(tmp_path / "whole.pdf", small=False)
    asked = []
    document = read_pdf(
        gap, on_page=lambda _number, _pages, is_slow: asked.append(gap) if is_slow else None, layout="auto"
    )
    assert missing_numbers(read_pdf(gap)) == ("3",)
    assert missing_numbers(document) == ()
    assert document.warnings == ()
    assert asked == [gap]
    assert read_pdf(
        whole, on_page=lambda _number, _pages, is_slow: asked.append(whole) if is_slow else None, layout="auto"
    ) == read_pdf(whole)
    assert asked == [gap]


def test_without_the_model_a_gap_is_a_warning(tmp_path):
    path = numbered_paper(tmp_path / "gap.pdf", small=True)
    script = (
        "from ragscience.reading.pdf_reader import read_pdf\nprint(read_pdf(Path(sys.argv[3]), layout='auto').warnings)"
    )
    root = str(Path(ragscience.__path__[0]).parent)
    start = "import sys\nfrom pathlib import Path\nsys.path.insert(0, sys.argv[1])\nsys.modules[sys.argv[2]] = None\n"
    command = [sys.executable, "-c", start + script, root, "onnxruntime", path]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "headings may be missing, as 3 is. The layout model" in ran.stdout


@pytest.mark.layout_model
@needs_model
@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not bound the address space")
def test_without_memory_for_the_model_a_gap_is_a_warning(tmp_path):
    path = numbered_paper(tmp_path / "gap.pdf", small=True)
    script = (
        "import resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_AS, (450 * 2**20, 450 * 2**20))\n"
        "from ragscience.reading import worker\n"
        "sys.exit(worker.main([str(450 * 2**20), '60']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=encode_request(PaperReading(path, "", "", "auto")),
        capture_output=True,
        cwd=Path(ragscience.__path__[0]).parent,
    )
    assert done.returncode == 0, done.stderr.decode()
    document = decode_reply(done.stdout.splitlines()[-1])
    assert document.warnings[0].startswith("headings may be missing, as 3 is. The layout model")
    assert document.elements == read_pdf(path).elements


# Asking the model


SPANS = PageSpans(595.0, 842.0, tuple(object() for _ in range(3)), "")
UPRIGHT = SimpleNamespace(rotation=0)


@pytest.mark.parametrize(
    ("said", "error"), [("std::bad_alloc", MemoryError), ("Non-zero status code returned", ValueError)]
)
def test_a_model_that_fails_says_why(said, error):
    from onnxruntime.capi.onnxruntime_pybind11_state import RuntimeException

    def fail(page):
        raise RuntimeException(said)

    with pytest.raises(error, match=said):
        layout_boxes(UPRIGHT, SPANS, fail)


@pytest.mark.layout_model
@needs_model
def test_a_worker_reads_with_the_model_and_keeps_the_offsets(tmp_path):
    sheet, _ = paper()
    path = draw(tmp_path / "a.pdf", [sheet])
    turned = draw(tmp_path / "b.pdf", [Sheet(rotation=90).write(50, 80, "A page that is turned")])
    reader = ReaderProcess(60.0, GIGABYTE)
    try:
        document = reader.read(path, "", layout="always")
        other = reader.read(turned, "", layout="always")
        fast = reader.read(path, "")
    finally:
        reader.close()
    check_whole(document)
    assert document.warnings == ()
    assert "1.1 Small letters of a heading" in of_kind(document, "heading")
    assert fast == read_pdf(path)
    assert other == read_pdf(turned)


# The command


@pytest.mark.layout_model
@needs_model
def test_a_library_keeps_to_the_way_in_which_it_was_read(commands):
    make_pdf(commands.home / "papers" / "one.pdf", ["Bees dance to tell where the flowers are."])
    assert commands.ingest("add").code == 0
    make_pdf(commands.home / "papers" / "two.pdf", ["Ants leave a trail for those that follow."])
    ran = commands.ingest("add", "--layout")
    assert ran.code == 5
    assert "read or cut with reading 10, not reading 10, layout always." in " ".join(ran.err.split())
    assert "python ingest.py rebuild" in ran.err
    assert commands.ingest("rebuild", "--layout").code == 0
    ran = commands.ingest("add")
    assert ran.code == 5
    assert "read or cut with reading 10, layout always, not reading 10." in " ".join(ran.err.split())
    ran = commands.ingest("add", RAG_LAYOUT="always")
    assert ran.code == 0, ran.err
    assert "1 added" in ran.err


@pytest.mark.layout_model
@needs_model
@needs_shared_data
def test_a_real_page_with_small_capitals(tmp_path):
    import pymupdf

    with pymupdf.open(SHARED_DATA / "papers" / "futoma2017_sepsis.pdf") as source:
        source.select([0, 5])
        source.save(tmp_path / "a.pdf")
    found = [text.lower() for text in of_kind(read_pdf(tmp_path / "a.pdf", layout="always"), "heading")]
    assert "3.2.1 incorporating medication effects" in found
    assert "3.3.2 utilizing missingness patterns" in found
