"""Pictures and shapes of pages that are turned, cut or in other units, against what is read from them."""

import numpy as np
import pymupdf
import pytest

from ragscience.reading.pdf_file import draw_page
from ragscience.reading.pdf_reader import read_pdf
from ragscience.reading.reader_process import ReaderProcess
from tests.pdf_factory import make_pdf

TEXT = "\n".join(["Bees steer by polarised light.", "In fog they fly slower.", "They rest in the rain."] * 3)


def made(path, rotation, crop):
    """A page of text that is turned and cut so."""
    source = make_pdf(path.with_name("plain.pdf"), [TEXT])
    with pymupdf.open(source) as document:
        if crop:
            document[0].set_cropbox(pymupdf.Rect(crop))
        document[0].set_rotation(rotation)
        document.save(path)
    return path


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
@pytest.mark.parametrize("crop", [None, (30, 40, 430, 540)])
def test_what_is_read_stands_where_it_is_drawn(tmp_path, rotation, crop):
    path = made(tmp_path / "a.pdf", rotation, crop)
    shape = draw_page(path, 1, 800, tmp_path / "page.png")
    picture = pymupdf.Pixmap(str(tmp_path / "page.png"))
    sides = (400, 500) if crop else (595, 842)
    assert (shape.width, shape.height) == (sides if rotation % 180 == 0 else sides[::-1])
    assert shape.rotation == rotation
    assert shape.crop_box == ((30, 302, 430, 802) if crop else (0, 0, 595, 842))
    assert picture.width == 800
    scale = 800 / shape.width
    dark = np.frombuffer(picture.samples, np.uint8).reshape(picture.height, picture.width, picture.n)[:, :, 0] < 128
    inside = np.zeros_like(dark)
    for line in read_pdf(path).pages[0].lines:
        left, top, right, bottom = (round(side * scale) for side in line.box)
        assert dark[top:bottom, left:right].mean() > 0.03
        inside[top:bottom, left:right] = True
    assert (dark & inside).sum() > 0.99 * dark.sum()


def test_a_worker_draws_and_says_what_is_wrong(tmp_path):
    source = make_pdf(tmp_path / "a.pdf", [TEXT])
    reader = ReaderProcess(60, 1 << 30)
    try:
        shape = reader.draw(source, 1, 100, tmp_path / "page.png")
        assert shape == draw_page(source, 1, 0, tmp_path / "none.png")
        assert pymupdf.Pixmap(str(tmp_path / "page.png")).width == 100
        assert reader.draw(source, 2, 100, tmp_path / "page.png").reason == "changed"
        assert reader.draw(tmp_path / "gone.pdf", 1, 100, tmp_path / "page.png").reason == "missing"
        assert reader.read(source, "").pages[0].number == 1
    finally:
        reader.close()
