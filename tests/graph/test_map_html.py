"""The page to look at, in a real browser: what a person can do with it, and what a hostile paper cannot."""

import re
from pathlib import Path

import numpy as np
import pytest

from ragscience.core.errors import UsageError
from ragscience.graph.map_html import check_target, file_link, map_page
from ragscience.graph.paper_map import PAPER_RADIUS, Evidence, MapDrawing, MapEdge, MapNode, positions

HOSTILE = [
    "<script>document.title='broken'</script>",
    "</script><script>document.title='broken'</script>",
    "<!--<script>",
    "<img src=x onerror=\"document.title='broken'\">",
    "]]>\u2028\u2029{{script}}{{data}}",
    "\u202egnorts\x00\x1b[2J\ud800",
]


TITLES = [f"Bees {number}: on the flight of honeybees in fog and on their way home" for number in range(24)]
LEFT_OUT = "The 900 entities with the most relations of 907 are drawn, 7 left out."


def drawing(titles, count=0, names=()):
    """Papers, each like the next one, and `count` entities of them; one of four relations is stated."""
    wild = np.random.default_rng(count)
    number = len(titles)
    files = [f"{at}.pdf" for at in range(number)]
    owners = [{int(paper): 1 for paper in wild.integers(0, number, 1 + at % 3 // 2)} for at in range(count)]
    pairs = [(at, int(at * wild.random() ** 2)) for at in range(1, count) for _ in range(2)]
    degree = np.bincount(np.array(pairs, int).ravel(), minlength=count)
    radii = [3.5 + 1.1 * float(value) ** 0.5 for value in degree]
    similar = [(at, at + 1) for at in range(number - 1)]
    places = positions(number, [(*pair, 0.7) for pair in similar], owners, radii).tolist()
    kinds = ("CONCEPT", "METHOD", "ALGORITHM", "DATASET", "METRIC", "PERSON", "ORGANISATION", "TASK", "UNHEARD-OF")
    labels = [*names, *(f"entity {at}" for at in range(len(names), count))]
    begins = "Honeybees steer by polarised light."
    nodes = [
        MapNode(title, "PAPER", x, y, PAPER_RADIUS, 1, (), "2 pages", (file,), (Evidence(file, 1, begins),), 0)
        for title, file, (x, y) in zip(titles, files, places, strict=False)
    ]
    for at, (name, (x, y)) in enumerate(zip(labels, places[number:], strict=True)):
        mine = tuple(files[paper] for paper in sorted(owners[at]))
        quotes = (Evidence(mine[0], at % 9 + 1, f"We look at {name} in fog."),)
        fact = "named 3 times"
        kind = kinds[at % len(kinds)]
        nodes.append(
            MapNode(name, kind, x, y, radii[at], int(degree[at]), (f"alias of {name}",), fact, mine, quotes, 2)
        )
    lines = [MapEdge(*pair, "SIMILAR_TO", 0.7, (Evidence(files[pair[0]], 1, begins),)) for pair in similar]
    for a, b in pairs:
        kind, quote = ("CO_OCCURS", "") if a % 4 else ("USES", "The one uses the other.")
        lines.append(MapEdge(number + a, number + b, kind, 0.8, (Evidence(files[0], 2, quote),)))
    return MapDrawing(tuple(nodes), tuple(lines), LEFT_OUT if count == 900 else "")


@pytest.fixture
def opened(browser, tmp_path):
    """Opens a drawing as a page; afterwards nothing may have been fetched, and nothing complained of."""
    context = browser.new_context()
    requests, complaints = [], []

    def open_page(drawn, size=(1200, 800)):
        file = tmp_path / "map.html"
        names = {name for node in drawn.nodes for name in node.files}
        file.write_bytes(map_page(drawn, {name: file_link(str(tmp_path / name), file, tmp_path) for name in names}))
        page = context.new_page()
        page.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(file.as_uri())
        return page

    yield open_page
    urls, told = list(requests), list(complaints)
    context.close()
    assert set(urls) == {(tmp_path / "map.html").as_uri()}
    assert told == []


@pytest.fixture(scope="module")
def large():
    """As large as the map of 24 papers: 900 entities."""
    return drawing(TITLES, 900)


def seen(page):
    """What is drawn, once all that was asked for is."""
    frame = "await new Promise(requestAnimationFrame);"
    return page.evaluate(f"(async () => {{ {3 * frame} return canvas.drawn; }})()")


def search(page, text):
    page.fill("#search", text)
    page.keyboard.press("Enter")
    return seen(page)


def click(page, label):
    """Clicks on the label of a node."""
    (box,) = (one["box"] for one in seen(page)["labels"] if one["label"] == label)
    place = page.locator("#canvas").bounding_box()
    page.mouse.click(place["x"] + (box[0] + box[2]) / 2, place["y"] + (box[1] + box[3]) / 2)
    return seen(page)


def assert_neighbours_in_view(page, drawn, count):
    size = page.locator("#canvas").bounding_box()
    assert len(drawn["near"]) == count
    assert all(0 <= x <= size["width"] and 0 <= y <= size["height"] for x, y in (one["at"] for one in drawn["near"]))
    assert drawn["scale"] <= 2 * drawn["overview"] + 1e-9


@pytest.mark.browser
def test_stated_relations_come_first_and_co_occurrence_is_off(opened, large):
    page = opened(large)
    page.get_by_role("tab", name="Entities (900)").click()
    switch = page.get_by_label("co-occurrence (same sentence)")
    assert not switch.is_checked()
    assert seen(page)["lines"] == ["STATED"]
    switch.check()
    assert seen(page)["lines"] == ["STATED", "CO_OCCURS"]
    switch.uncheck()
    without = search(page, "entity 9")["near"]
    page.get_by_role("button", name="(same sentence)").click()
    assert len(seen(page)["near"]) > len(without)
    assert switch.is_checked()


def stated_neighbours(drawn, node):
    pairs = [{edge.source, edge.target} for edge in drawn.edges if edge.kind == "USES"]
    return set().union(*(pair for pair in pairs if node in pair)) - {node}


@pytest.mark.browser
def test_a_click_brings_the_neighbours_into_view_and_a_second_one_goes_back(opened, large):
    page = opened(large)
    page.get_by_role("tab", name="Entities (900)").click()
    overview = seen(page)["overview"]
    for _ in range(5):
        page.click("#closer")
    first = seen(page)
    assert first["scale"] > 4 * overview
    label = next(one["label"] for one in first["labels"] if one["kind"] != "PAPER")
    node = 24 + int(label.partition(" ")[2])
    chosen = click_sign(page, label)
    assert chosen["chosen"] == label == page.inner_text("#panel h2")
    count = 1 + len(stated_neighbours(large, node)) + len(large.nodes[node].files)
    assert_neighbours_in_view(page, chosen, count)
    back = click_sign(page, label)
    assert (back["chosen"], back["camera"]) == (None, first["camera"])
    page.click("#fit")
    whole = seen(page)
    paper = click(page, TITLES[3])
    assert_neighbours_in_view(page, paper, 1 + sum("3.pdf" in node.files for node in large.nodes[24:]))
    page.keyboard.press("Escape")
    assert seen(page)["camera"] == whole["camera"]


def click_sign(page, label):
    """Clicks on the sign of a node that has a label."""
    (x, y) = next(one["at"] for one in seen(page)["labels"] if one["label"] == label)
    place = page.locator("#canvas").bounding_box()
    page.mouse.click(place["x"] + x, place["y"] + y)
    return seen(page)


@pytest.mark.browser
def test_lines_end_at_the_boxes_of_papers_that_were_moved_aside(opened):
    page = opened(drawing(TITLES, 9), size=(420, 600))
    papers = [one for one in seen(page)["labels"] if one["kind"] == "PAPER"]
    assert len(papers) > 5
    for (x, y), (left, top, right, bottom) in ((one["at"], one["box"]) for one in papers):
        assert left <= x <= right
        assert top <= y <= bottom


@pytest.mark.browser
def test_a_relation_shows_its_words_its_page_and_its_quote_and_leads_on(opened):
    page = opened(drawing(["One", "Two"], 9))
    search(page, "one")
    similar = page.locator("#panel li").first
    assert "Two (cosine 0.70)" in similar.inner_text()
    similar.get_by_role("button", name="Two").click()
    assert page.inner_text("#panel h2") == "Two"
    search(page, "entity 8")
    item = page.locator("#panel li").first
    assert re.match(r"uses entity \d \(0\.pdf, p\.2\)", item.inner_text())
    item.locator("summary").click()
    assert "The one uses the other." in item.inner_text()


@pytest.mark.browser
def test_hostile_texts_do_nothing(opened):
    page = opened(drawing(HOSTILE, 20, HOSTILE))
    assert page.locator("script").count() == 2
    assert page.locator("img").count() == 0
    for title in HOSTILE[:4]:
        search(page, title)
        assert page.inner_text("#panel h2") == title
        page.fill("#search", f"{title} and not")
    assert page.title() == "Map of the papers · RAG Science"
    assert page.locator("img").count() == 0


def test_only_a_map_is_replaced(tmp_path):
    page, other = tmp_path / "map.html", tmp_path / "thesis.html"
    check_target(page, force=False)
    page.write_bytes(map_page(drawing(["a", "b"]), {}))
    other.write_text("<!doctype html><p>my own")
    check_target(page, force=False)
    with pytest.raises(UsageError, match="is not a map"):
        check_target(other, force=False)
    check_target(other, force=True)
    with pytest.raises(UsageError, match="is a folder"):
        check_target(tmp_path, force=True)
    with pytest.raises(UsageError, match="no folder"):
        check_target(Path(tmp_path, "nowhere", "map.html"), force=True)
