"""The page to look at, in a real browser: what a person can do with it, and what a hostile paper cannot."""

import shutil
from pathlib import Path

import numpy as np
import pymupdf
import pytest

from ragscience.errors import UsageError
from ragscience.graph.force_layout import positions
from ragscience.graph.map_data import Evidence, MapEdge, MapNode, View
from ragscience.graph.map_html import check_target, map_page, write_file

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
HOSTILE = [
    "<script>document.title='broken'</script>",
    "</script><script>document.title='broken'</script>",
    "<!--<script>",
    "<img src=x onerror=\"document.title='broken'\">",
    "]]>\u2028\u2029{{script}}{{data}}",
    "\u202egnorts\x00\x1b[2J\ud800",
]


def drawing(count, labels=()):
    wild = np.random.default_rng(count)
    edges = [(node, int(node * wild.random() ** 2)) for node in range(1, count) for _ in range(2)]
    degree = np.bincount(np.array(edges).ravel(), minlength=count)
    radii = [3.5 + 1.3 * float(value) ** 0.5 for value in degree]
    kinds = ("CONCEPT", "METHOD", "ALGORITHM", "DATASET", "METRIC", "PERSON", "ORGANISATION", "TASK", "UNHEARD-OF")
    names = [*labels, *(f"entity {index}" for index in range(len(labels), count))]
    places = positions(count, edges, [1.0] * len(edges), radii).tolist()
    nodes = tuple(
        MapNode(
            name, kinds[at % len(kinds)], x, y, radii[at], int(degree[at]), (f"alias of {name}",), "named 3 times",
            ("bees.pdf",), (Evidence("bees.pdf", at % 9 + 1, f"We look at {name} in fog."),), 2,
        )
        for at, (name, (x, y)) in enumerate(zip(names, places, strict=True))
    )  # fmt: skip
    lines = tuple(
        MapEdge(a, b, "CO_OCCURS" if a % 2 else "USES", 0.8, (Evidence("bees.pdf", 2, "The one uses the other."),))
        for a, b in edges
    )
    return View("Entities", nodes, lines, "The 2,000 entities with the most relations are drawn; 7 are left out.")


def papers(titles):
    quote = (Evidence("bees.pdf", 1, "Honeybees steer by polarised light."),)
    nodes = tuple(
        MapNode(title, "PAPER", 60.0 * at, 0.0, 8.0, 1, (), "2 pages", ("bees.pdf",), quote, 0)
        for at, title in enumerate(titles)
    )
    return View("Papers", nodes, (MapEdge(0, 1, "SIMILAR_TO", 0.7, quote),), "")


@pytest.fixture(scope="module")
def browser():
    if not CHROMIUM:
        pytest.skip("Chromium is not installed (apt-get install chromium)")
    driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with driver.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def opened(browser, tmp_path):
    """Opens views as a page; afterwards nothing may have been fetched, and nothing complained of."""
    context = browser.new_context(viewport={"width": 1200, "height": 800})
    requests, complaints = [], []

    def open_page(*views):
        file = tmp_path / "map.html"
        file.write_bytes(map_page(views))
        page = context.new_page()
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(file.as_uri())
        return page

    yield open_page
    urls, told = list(requests), list(complaints)
    context.close()
    assert urls == [(tmp_path / "map.html").as_uri()]
    assert told == []


def middle(page):
    box = page.locator("#canvas").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


@pytest.mark.browser
def test_two_thousand_nodes_are_usable(opened):
    page = opened(papers(["One", "Two"]), drawing(2000))
    page.get_by_role("tab", name="Entities (2,000)").click()
    assert "7 are left out" in page.inner_text("#told")
    page.fill("#search", "entity 1234")
    page.keyboard.press("Enter")
    assert page.inner_text("#panel h2") == "entity 1234"
    assert "We look at entity 1234 in fog.\nbees.pdf, p.2" in page.inner_text("#panel")
    assert page.inner_text("#panel mark") == "entity 1234"
    x, y = middle(page)
    page.mouse.move(x + 1, y + 1)
    assert "We look at entity 1234 in fog." in page.inner_text("#tip")
    page.keyboard.press("Escape")
    assert page.locator("#panel").is_hidden()
    page.mouse.move(x, y)
    # The panel has gone and the canvas is wider: the node is still in its middle.
    page.mouse.click(*middle(page))
    assert page.inner_text("#panel h2") == "entity 1234"


@pytest.mark.browser
def test_all_can_be_done_by_keys(opened):
    page = opened(papers(["One", "Two"]), drawing(30))
    page.keyboard.press("/")
    page.keyboard.type("two")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.inner_text("#panel h2") == "Two"
    page.keyboard.press("ArrowLeft")
    assert page.inner_text("#panel h2") == "One"
    for key in ("+", "-", "0", "ArrowLeft"):
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "panel"
    page.keyboard.press("Escape")
    assert page.locator("#panel").is_hidden()


@pytest.mark.browser
def test_a_relation_shows_its_evidence_and_leads_on(opened):
    page = opened(papers(["One", "Two"]))
    page.fill("#search", "one")
    page.keyboard.press("Enter")
    page.click("#panel summary")
    assert "similar (0.70)" in page.inner_text("#panel")
    page.get_by_role("button", name="Go there").click()
    assert page.inner_text("#panel h2") == "Two"


@pytest.mark.browser
def test_a_type_can_be_hidden_and_the_colours_turned(opened):
    page = opened(drawing(40))
    entry = page.locator("#legend button", has_text="method")
    entry.click()
    assert page.locator("#legend button", has_text="method").get_attribute("aria-pressed") == "false"
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    page.mouse.wheel(0, -400)
    for name in ("#closer", "#farther", "#fit"):
        page.click(name)


@pytest.mark.browser
def test_hostile_texts_do_nothing(opened):
    page = opened(papers(HOSTILE), drawing(20, HOSTILE))
    assert page.locator("script").count() == 2
    assert page.locator("img").count() == 0
    for title, shown in zip(HOSTILE[:4], HOSTILE[:4], strict=True):
        page.fill("#search", title)
        page.keyboard.press("Enter")
        assert page.inner_text("#panel h2") == shown
    assert page.title() == "Map of the papers · RAG Science"
    assert page.locator("img").count() == 0


@pytest.mark.browser
def test_the_drawing_can_be_saved_as_a_picture(opened, tmp_path):
    page = opened(papers(["Ein Titel – 論文", "b"]), drawing(60, HOSTILE[:1]))
    with page.expect_download() as download:
        page.click("#save")
    assert download.value.suggested_filename == "map-papers.png"
    download.value.save_as(tmp_path / "map.png")
    picture = pymupdf.Pixmap(tmp_path / "map.png")
    assert (picture.width, picture.height) == tuple(page.evaluate("[canvas.width, canvas.height]"))
    assert picture.color_count() > 20


@pytest.mark.browser
def test_nothing_at_all_is_said_so(opened):
    page = opened(View("Papers", (), (), ""), View("Entities", (), (), ""))
    assert page.get_by_text("graph yet").is_visible()


def test_texts_leave_the_script_element_whole():
    page = map_page([papers(HOSTILE), drawing(20, HOSTILE)]).decode()
    data = page.partition('id="data">')[2].partition("</script>")[0]
    assert data.isascii()
    assert not set("<>&") & set(data)
    assert page.count("<script") == 2
    assert "\\u202e" not in data
    assert "http://" not in page and "https://" not in page


def test_only_a_map_is_replaced(tmp_path):
    page, other = tmp_path / "map.html", tmp_path / "thesis.html"
    check_target(page, force=False)
    write_file(page, map_page([papers(["a", "b"])]))
    other.write_text("<!doctype html><p>my own")
    check_target(page, force=False)
    with pytest.raises(UsageError, match="no map of ours"):
        check_target(other, force=False)
    check_target(other, force=True)
    with pytest.raises(UsageError, match="is a folder"):
        check_target(tmp_path, force=True)
    with pytest.raises(UsageError, match="no folder"):
        check_target(Path(tmp_path, "nowhere", "map.html"), force=True)
