"""The tab of the map in a real browser: what it shows, where a click leads, and that no one else is asked."""

import httpx
import pytest

from tests.conftest import copied
from tests.pdf_factory import make_pdf
from tests.serving.conftest import serving
from tests.serving.test_paper_routes import finished

SEEN = f"async (canvas) => {{ {3 * 'await new Promise(requestAnimationFrame);'} return canvas.drawn; }}"


@pytest.fixture
def opened(browser):
    """Opens the map in a server's page; afterwards nothing may have been complained of, or fetched elsewhere."""
    context = browser.new_context(viewport={"width": 1400, "height": 800})
    requests, complaints = [], []

    def open_map(url):
        page = context.new_page()
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(url)
        page.locator("#papers button").first.wait_for()
        page.click("#open-map")
        open_map.url = url
        return page, page.frame_locator("#map iframe")

    yield open_map
    urls, told = list(requests), list(complaints)
    context.close()
    assert urls
    assert [url for url in urls if not url.startswith(f"{open_map.url}/")] == []
    assert told == []


@pytest.mark.browser
def test_a_library_without_a_graph_offers_to_build_one(opened, three_papers, tmp_path):
    home = copied(three_papers, tmp_path / "home")
    make_pdf(tmp_path / "bert.pdf", ["On BERT\n\nBERT uses the Transformer. We evaluate BERT on SQuAD."])
    with serving(home) as url:
        page, _ = opened(url)
        told, silent = page.locator("#map .map-told"), page.locator("#map .map-told:empty")
        assert told.inner_text().startswith("There is no knowledge graph yet: the map shows the papers alone.")
        told.get_by_role("button", name="Build the graph").click()
        silent.wait_for(state="attached")
        with httpx.Client(base_url=url, timeout=60) as client:
            upload = client.post("/api/v1/uploads", files={"files": ("bert.pdf", (tmp_path / "bert.pdf").read_bytes())})
            assert finished(client, upload.json())["state"] == "done"
        page, frame = opened(url)
        told, silent = page.locator("#map .map-told"), page.locator("#map .map-told:empty")
        assert told.inner_text().startswith("1 paper is not in the knowledge graph yet.")
        told.get_by_role("button", name="Update the graph").click()
        silent.wait_for(state="attached")
        frame.get_by_role("tab", name="Entities").click()
        assert "BERT" in {one["label"] for one in frame.locator("#canvas").evaluate(SEEN)["labels"]}


@pytest.mark.browser
@pytest.mark.parametrize("by_key", [True, False], ids=["key", "click"])
def test_an_evidence_leads_to_the_reader_and_the_map_stays_as_it_was_left(opened, graph_home, by_key):
    with serving(graph_home) as url:
        page, frame = opened(url)
        frame.locator("#search").fill("Kelvin-7")
        frame.locator("#search").press("Enter")
        before = frame.locator("#canvas").evaluate(SEEN)
        link = frame.locator("#panel .pages a").first
        link.press("Enter") if by_key else link.click()
        page.locator("#reader-title", has_text="Predicting tides with the Kelvin-7 machine").wait_for()
        assert page.url == f"{url}/"
        assert page.locator("#tab-pdf").get_attribute("aria-selected") == "true"
        page.click("#tab-map")
        assert frame.locator("#panel h2").inner_text() == "Kelvin-7"
        assert frame.locator("#canvas").evaluate(SEEN)["camera"] == before["camera"]
