"""Geometry and pictures of pages, passages and the sources of answers over HTTP."""

import httpx
import numpy as np
import pymupdf
import pytest

from tests.conftest import copied
from tests.pdf_factory import make_pdf
from tests.reading.drawing import draw_unread_formula
from tests.serving.conftest import serving
from tests.serving.test_paper_routes import paper_of

SPEED = "How fast do bees fly in fog?"


@pytest.fixture(scope="module")
def bees(address):
    with httpx.Client(base_url=address, timeout=60) as client:
        return paper_of(client, "bees.pdf")["md5"]


def ink(picture, box, scale):
    """The share of dark pixels in a box of points."""
    left, top, right, bottom = (round(side * scale) for side in box)
    pixels = np.frombuffer(picture.samples, np.uint8).reshape(picture.height, picture.width, picture.n)
    return float((pixels[top:bottom, left:right, 0] < 128).mean())


def test_a_page_and_its_picture_have_the_same_coordinates(client, bees):
    page = client.get(f"/api/v1/papers/{bees}/pages/2/geometry").json()
    assert (page["page"], page["width"], page["height"], page["rotation"]) == (2, 595, 842, 0)
    assert page["crop_box"] == [0, 0, 595, 842]
    text = client.get(f"/api/v1/papers/{bees}/pages/2").json()["text"]
    assert page["end"] - page["start"] == len(text)
    assert {each["kind"] for each in page["elements"]} >= {"text"}
    response = client.get(f"/api/v1/papers/{bees}/pages/2/image", params={"width": 1190})
    assert response.headers["content-type"] == "image/png"
    assert "immutable" in response.headers["cache-control"]
    picture = pymupdf.Pixmap(response.content)
    assert (picture.width, picture.height) == (1190, 1684)
    for line in page["lines"]:
        assert text[line["start"] - page["start"] : line["end"] - page["start"]].strip()
        assert ink(picture, line["box"], 2) > 0.03
    left, top, right, _ = page["lines"][0]["box"]
    assert ink(picture, (left, top - 30, right, top - 2), 2) == 0


def test_the_sources_of_an_answer_have_their_places(client, bees):
    answer = client.post("/api/v1/ask", json={"question": SPEED}).json()
    told = client.get(f"/api/v1/answers/{answer['answer_id'][:8]}/sources").json()
    assert told["answer_id"] == answer["answer_id"]
    first = told["sources"][0]
    assert (first["number"], first["md5"], first["title"]) == (1, bees, "Navigation of honeybees in fog")
    assert first["page"] == answer["citations"][0]["page"]
    assert first["quotes"][0]["boxes"] == answer["citations"][0]["boxes"]
    assert [source["number"] for source in told["sources"]] == list(range(1, len(told["sources"]) + 1))
    assert "path" not in first


def test_a_file_that_is_gone_or_another_one_now_is_not_drawn(three_papers, tmp_path):
    home = copied(three_papers, tmp_path / "home")
    with serving(home) as url, httpx.Client(base_url=url, timeout=60) as client:
        image = f"/api/v1/papers/{paper_of(client, 'bees.pdf')['md5']}/pages/1/image"
        file = home / "papers" / "bees.pdf"
        first = client.get(image)
        assert first.status_code == 200
        file.touch()  # read again, it is the same
        assert client.get(image).content == first.content
        make_pdf(file, ["Wasps"])
        changed = client.get(image)
        assert (changed.status_code, "has changed" in changed.json()["detail"]) == (422, True)
        file.unlink()
        assert client.get(image).status_code == 404
        assert client.get(image.replace("image", "geometry")).status_code == 404


def test_a_formula_that_was_not_understood_is_named_wherever_its_text_is_given(commands):
    draw_unread_formula(commands.home / "papers" / "bees.pdf")
    assert commands.ingest().code == 0
    for options in ((), ("--json",)):
        shown = commands.ingest("show", "bees.pdf", "--page", "1", *options).out
        assert ("[formula, p.1]" in shown, "⟪" in shown) == (True, False)
    with serving(commands.home) as url, httpx.Client(base_url=url, timeout=60) as client:
        answer = client.post("/api/v1/ask", json={"question": "Which formula gives the speed of bees in fog?"}).json()
        sources = client.get(f"/api/v1/answers/{answer['answer_id']}/sources").text
    assert ("[formula, p.1]" in sources, "⟪" in sources) == (True, False)
