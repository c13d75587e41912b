import os
import stat
import subprocess
import sys

import pytest

from ragscience.core.errors import FileProblem
from ragscience.reading.pdf_reader import read_pdf
from tests.pdf_factory import make_huge_pdf, make_mapped_pdf, make_pdf, make_raw_pdf


def problem_of(path, password=""):
    with pytest.raises(FileProblem) as caught:
        read_pdf(path, password)
    assert caught.value.message.count("\n") == 0
    assert caught.value.fix
    return caught.value


def test_control_characters_are_marked_before_offsets_are_counted(tmp_path):
    path = make_mapped_pdf(tmp_path / "a.pdf", r"esc \033[31m nul \000 P", {"P": 0xE000})
    document = read_pdf(path)
    assert document.text == "esc \ufffd[31m nul \ufffd \ue000"
    (page,) = document.pages
    assert (page.number, page.start, page.end, page.warning) == (1, 0, len(document.text), "")
    assert [document.text[line.start : line.end] for line in page.lines] == [document.text]


def test_an_encrypted_file_needs_its_password(tmp_path):
    path = make_pdf(tmp_path / "a.pdf", ["secret"], user_password="pässwört", owner_password="owner")
    assert problem_of(path).reason == "encrypted"
    assert "the one given does not open it" in problem_of(path, "wrong").message
    assert read_pdf(path, "pässwört").text == "secret"
    assert read_pdf(path, "owner").text == "secret"


def test_what_is_no_regular_file_is_not_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe.pdf")
    assert problem_of(tmp_path / "pipe.pdf").reason == "unreadable"
    assert problem_of(tmp_path).reason == "unreadable"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(tmp_path):
    path = make_pdf(tmp_path / "a.pdf", ["x"])
    path.chmod(stat.S_IWUSR)
    assert problem_of(path).reason == "unreadable"


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"<!DOCTYPE html><html><body>403 Forbidden</body></html>", "a web page"),
        (b"\n <HTML><p>hello", "a web page"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "a Git LFS pointer"),
        (b"PK\x03\x04rest", "a ZIP"),
        (b"%!PS-Adobe-3.0", "PostScript"),
        (b"\x00\xff\x1b[31m" * 500, "it has no %PDF header"),
    ],
)
def test_what_is_named_pdf_and_is_none(tmp_path, content, what):
    path = tmp_path / "a.pdf"
    path.write_bytes(content)
    problem = problem_of(path)
    assert problem.reason == "not-a-pdf"
    assert what in problem.message


def test_a_truncated_file_is_repaired_with_a_warning(tmp_path):
    path = make_pdf(tmp_path / "a.pdf", ["one", "two"])
    path.write_bytes(path.read_bytes()[:-300])
    document = read_pdf(path)
    assert document.text == "one\n\ntwo"
    assert any("repaired" in warning for warning in document.warnings)


def test_a_page_that_fails_loses_that_page_only(tmp_path):
    cycle = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R 6 0 R] /Count 2 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R"
        b" /Resources << /Font << /F 5 0 R >> >> >>",
        b"<< /Length 40 >>\nstream\nBT /F 10 Tf 50 780 Td (good page) Tj ET   \nendstream",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Type /Pages /Parent 2 0 R /Kids [2 0 R] /Count 1 >>",
    ]
    document = read_pdf(make_raw_pdf(tmp_path / "a.pdf", cycle))
    assert document.text.strip() == "good page"
    assert "could not be read" in document.pages[1].warning
    assert document.warnings == ("1 of 2 pages could not be read",)
    cycle[1] = b"<< /Type /Pages /Kids [6 0 R] /Count 1 >>"
    assert problem_of(make_raw_pdf(tmp_path / "b.pdf", cycle)).reason == "damaged"


def test_memory_that_runs_out_inside_mupdf_is_a_memory_error(tmp_path):
    path = make_huge_pdf(tmp_path / "huge.pdf", 3_000_000)
    script = (
        "import resource, sys; from pathlib import Path\n"
        "from ragscience.reading.pdf_reader import read_pdf\n"
        "from ragscience.reading.pdf_file import load_pymupdf\n"
        "load_pymupdf()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (300 << 20, 300 << 20))\n"
        "try:\n    read_pdf(Path(sys.argv[1]))\nexcept MemoryError as error:\n    sys.exit(f'caught {error}')\n"
    )
    done = subprocess.run([sys.executable, "-c", script, path], capture_output=True, timeout=120, check=False)
    assert done.stderr.decode().startswith("caught")
