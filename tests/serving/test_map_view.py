"""The tab of the map in a real browser: what it shows, where a click leads, and that no one else is asked."""

import httpx
import pytest

from tests.conftest import copied
from tests.pdf_factory import make_pdf
from tests.serving.conftest import fill_graph, serving
from tests.serving.test_paper_routes import finished

SHOW = """async () => {
    const { MapView } = await import("/page/map_view.js");
    const element = document.createElement("section");
    element.id = "tried";
    Object.assign(element.style, { position: "fixed", inset: "0", background: "white", zIndex: 9 });
    document.body.append(element);
    window.places = [];
    const spoken = document.createElement("p");
    spoken.id = "spoken";
    document.body.append(spoken);
    const announce = (text) => { spoken.textContent += text; };
    const calls = { onPlace: (place) => window.places.push(place), announce };
    window.view = new MapView(element, calls);
    await window.view.show();
}"""

SEEN = f"async (canvas) => {{ {3 * 'await new Promise(requestAnimationFrame);'} return canvas.drawn; }}"


@pytest.fixture
def opened(browser):
    """Opens the map in a server's page; afterwards nothing may have been complained of, or fetched elsewhere."""
    context = browser.new_context(viewport={"width": 1200, "height": 800}, color_scheme="light")
    requests, complaints = [], []

    def open_map(url):
        page = context.new_page()
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(url)
        page.evaluate(SHOW)
        open_map.url = url
        return page

    yield open_map
    urls, told = list(requests), list(complaints)
    context.close()
    assert urls
    assert [url for url in urls if not url.startswith(f"{open_map.url}/")] == []
    assert told == []


@pytest.fixture(scope="module")
def graph_address(three_papers, tmp_path_factory):
    home = copied(three_papers, tmp_path_factory.mktemp("drawn"))
    fill_graph(home)
    with serving(home) as url:
        yield url


def frame_of(page):
    return page.frame_locator("#tried iframe")


def drawn(page):
    """What the map draws, once all that was asked for is."""
    return frame_of(page).locator("#canvas").evaluate(SEEN)


def said(page, text):
    """Waits until this was announced."""
    page.locator("#spoken", has_text=text).wait_for(state="attached")


@pytest.mark.browser
@pytest.mark.parametrize("by_key", [True, False], ids=["key", "click"])
def test_an_evidence_leads_to_its_place(opened, graph_address, by_key):
    page = opened(graph_address)
    frame = frame_of(page)
    frame.locator("#search").fill("harmonic radar")
    frame.locator("#search").press("Enter")
    link = frame.locator("#panel .pages a").first
    assert link.inner_text() == "(bees.pdf, p.2)"
    if by_key:
        link.press("Enter")
    else:
        link.click()
    listed = page.request.get(f"{graph_address}/api/v1/papers").json()["papers"]
    papers = {paper["file"]: paper["md5"] for paper in listed}
    assert page.evaluate("window.places") == [{"md5": papers["bees.pdf"], "page": 2}]
    assert page.url == f"{graph_address}/"


@pytest.mark.browser
def test_a_library_without_a_graph_offers_to_build_one(opened, three_papers, tmp_path):
    home = copied(three_papers, tmp_path / "home")
    make_pdf(tmp_path / "bert.pdf", ["On BERT\n\nBERT uses the Transformer. We evaluate BERT on SQuAD."])
    with serving(home) as url:
        page = opened(url)
        told = page.locator("#tried .map-told")
        assert told.inner_text().startswith("There is no knowledge graph yet: the map shows the papers alone.")
        told.get_by_role("button", name="Build the graph").click()
        said(page, "The knowledge graph is built.The map shows")
        assert told.inner_text() == ""
        with httpx.Client(base_url=url, timeout=60) as client:
            upload = client.post("/api/v1/uploads", files={"files": ("bert.pdf", (tmp_path / "bert.pdf").read_bytes())})
            assert finished(client, upload.json())["state"] == "done"
        page.evaluate("window.view.show()")
        assert told.inner_text().startswith("1 paper is not in the knowledge graph yet.")
        told.get_by_role("button", name="Update the graph").click()
        said(page, "The knowledge graph is built.The map shows 4 papers and ")
        frame_of(page).get_by_role("tab", name="Entities").click()
        assert "BERT" in {one["label"] for one in drawn(page)["labels"]}


@pytest.mark.browser
def test_the_pages_own_tab_of_the_map_leads_to_the_reader(browser, graph_address):
    context = browser.new_context(viewport={"width": 1400, "height": 800})
    try:
        page = context.new_page()
        page.goto(graph_address)
        page.locator("#papers button").first.wait_for()
        page.click("#open-map")
        frame = page.frame_locator("#map iframe")
        frame.locator("#search").fill("Kelvin-7")
        frame.locator("#search").press("Enter")
        before = frame.locator("#canvas").evaluate(SEEN)
        frame.locator("#panel .pages a").first.click()
        page.locator("#reader-title", has_text="Predicting tides with the Kelvin-7 machine").wait_for()
        assert page.locator("#tab-pdf").get_attribute("aria-selected") == "true"
        page.click("#tab-map")
        assert frame.locator("#panel h2").inner_text() == "Kelvin-7"  # as it was left
        assert frame.locator("#canvas").evaluate(SEEN)["camera"] == before["camera"]
    finally:
        context.close()
