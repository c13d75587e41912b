"""The page in a real browser: papers are dropped, asked, read and found again, by mouse and by keyboard alone."""

import base64
import re
import threading

import httpx
import pytest

from ragscience.engine.access_tokens import AccessTokens
from tests.conftest import Commands, copied
from tests.ollama_server import OllamaServer, chat_model
from tests.pdf_factory import make_pdf
from tests.reading.drawing import draw_unread_formula
from tests.serving.conftest import serving

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror='window.hacked=1'>"
SPEED = "How fast do bees fly in fog?"
DROPPED = f"""Moss growth on granite roofs
Abstract
Moss on granite roofs grows 4.2 millimetres in a wet winter {HOSTILE} and rests in summer.
1 Method
We measured forty granite roofs in two valleys with a caliper, every second week.
"""
DROP = """([name, bytes]) => {
    const data = new DataTransfer();
    const content = Uint8Array.from(atob(bytes), (character) => character.charCodeAt(0));
    data.items.add(new File([content], name, {type: "application/pdf"}));
    for (const type of ["dragenter", "dragover", "drop"]) {
        document.body.dispatchEvent(new DragEvent(type, {dataTransfer: data, bubbles: true, cancelable: true}));
    }
}"""


@pytest.fixture(scope="module")
def home(three_papers, tmp_path_factory):
    """Three papers, and one whose file's name is HTML."""
    folder = copied(three_papers, tmp_path_factory.mktemp("read"))
    text = "Lichens\nAbstract\nLichens live for ninety years on slate.\n"
    make_pdf(folder / "papers" / f"{HOSTILE.replace('/', '')}.pdf", [text], title=HOSTILE)
    ran = Commands(folder).ingest(RAG_EMBEDDER="embedded")
    assert ran.code == 0, ran.err
    return folder


@pytest.fixture(scope="module")
def url(home):
    with serving(home) as address:
        yield address


@pytest.fixture
def opened(browser):
    """Opens a page; afterwards nothing may have been asked of anybody else, and nothing complained of."""
    contexts, requests, complaints = [], [], []

    def open_page(address, *, width=1400, height=900, waits="#papers li", routed=()):
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme="light")
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("request", lambda request: requests.append((address, request.url)))
        page.on("console", lambda message: message.type in ("error", "warning") and complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        for pattern, handler in routed:
            page.route(pattern, handler)
        page.goto(address)
        page.wait_for_selector(waits, state="attached")
        return page

    open_page.complaints = complaints
    yield open_page
    for context in contexts:
        context.close()
    assert requests
    assert [asked for address, asked in requests if not asked.startswith((f"{address}/", "blob:", "data:"))] == []
    assert complaints == []


def ask(page, question):
    """The element of the answer."""
    count = page.locator(".answer").count()
    page.fill("#question", question)
    page.press("#question", "Enter")
    answer = page.locator(".answer").nth(count)
    answer.wait_for()
    return answer


def test_a_dropped_paper_is_read_asked_and_opened_at_the_quote(opened, url, tmp_path):
    page = opened(url)
    pdf = make_pdf(tmp_path / "moss.pdf", [DROPPED], title="Moss growth on granite roofs").read_bytes()
    page.evaluate(DROP, ["moss.pdf", base64.b64encode(pdf).decode()])
    page.wait_for_selector(".job.done")
    page.wait_for_selector("#papers >> text=Moss growth on granite roofs")
    assert page.locator("#drop").is_hidden()

    answer = ask(page, "How much does moss grow on granite roofs in winter?")
    assert "4.2 millimetres" in answer.inner_text()
    assert HOSTILE in answer.inner_text()
    assert answer.locator("img").count() == 0
    cite = answer.locator("button.cite").first
    assert "moss.pdf, p.1" in cite.text_content()
    cite.click()
    page.wait_for_selector("#reader .pdf-mark-box")
    assert "current" in cite.get_attribute("class")

    page.locator("#reader .pdf-mark").first.click()
    assert answer.locator(".found button.cite").count() == 1

    page.reload()
    page.wait_for_selector(".answer")
    assert page.locator(".asked").inner_text() == "How much does moss grow on granite roofs in winter?"
    assert "4.2 millimetres" in page.locator(".answer").inner_text()
    ask(page, "And in summer?")
    page.locator("#conversations [aria-current] .by", has_text="2 questions").wait_for()


def test_what_is_no_pdf_is_refused_with_what_to_do(opened, url):
    page = opened(url)
    page.evaluate(DROP, ["notes.pdf", base64.b64encode(b"no PDF at all").decode()])
    refused = page.locator(".job.failed")
    refused.wait_for()
    assert "notes.pdf is not a PDF. Add PDFs." in refused.inner_text()


def test_names_and_titles_are_text(opened, url):
    page = opened(url)
    answer = ask(page, "How long do lichens live on slate?")
    answer.locator("button.cite").first.wait_for()
    assert "<img src=x" in answer.locator("button.cite").first.inner_text()
    page.locator(".paper", has_text="Lichens").locator(".unfold").click()
    page.wait_for_selector(".more >> text=<img src=x")
    assert page.locator("img").count() == 0
    assert page.evaluate("window.hacked") is None


def test_a_pasted_draft_has_a_mark_for_each_sentence_and_a_click_shows_the_page(opened, url):
    page = opened(url)
    page.click("#open-draft")
    page.fill("#draft-text", f"Bees fly at 9.9 metres per second in fog (bees.pdf). {HOSTILE} is said (gone.pdf).")
    page.click("#draft button:has-text('Check')")
    rows = page.locator(".sentence-row")
    rows.nth(1).wait_for()
    assert "≠ partly" in rows.nth(0).inner_text()
    assert "“9.9” is printed “3.7”" in rows.nth(0).inner_text()
    assert "not in the library" in rows.nth(1).inner_text()
    assert page.locator("#draft img").count() == 0
    rows.nth(0).locator("button.cite").first.click()
    page.wait_for_selector("#reader .pdf-mark-box")
    page.click("#draft button:has-text('Close')")
    assert page.locator("#draft").is_hidden()


def test_everything_can_be_done_by_keyboard(opened, url):
    page = opened(url)
    keys = page.keyboard
    assert page.evaluate("document.activeElement.id") == "question"
    keys.press("Escape")
    keys.press("?")
    page.wait_for_selector("#keys[open]")
    keys.press("Escape")
    page.wait_for_selector("#keys", state="hidden")
    keys.press("/")
    keys.type(SPEED)
    keys.press("Enter")
    page.wait_for_selector(".answer button.cite")
    page.wait_for_selector("#stop", state="hidden")  # until then Escape stops the question
    keys.press("Escape")
    keys.press("]")
    page.wait_for_selector("#reader .pdf-mark-box")
    assert page.evaluate("document.activeElement.classList.contains('cite')")
    keys.press("Escape")
    page.wait_for_selector("#reader", state="hidden")
    assert page.evaluate("document.activeElement.id") == "question"
    keys.press("Escape")
    keys.press("n")
    page.wait_for_selector(".welcome")
    keys.press("Escape")
    keys.press("f")
    keys.type("kiln")
    assert page.locator("#papers > li").count() == 1


def test_a_source_has_one_number_in_all_papers_and_on_its_page(opened, url):
    page = opened(url)
    cites = ask(page, "Compare bees.pdf and tides.pdf: what was measured?").locator("button.cite:visible")
    places = [cite.locator(".file").inner_text() + cite.text_content()[-3:] for cite in cites.all()]
    order = list(dict.fromkeys(places))
    assert len({place[:-3] for place in places}) > 1
    numbers = cites.locator(".number").all_inner_texts()
    assert numbers == [str(order.index(place) + 1) for place in places]
    cites.last.click()
    page.wait_for_selector("#reader .pdf-mark")
    assert numbers[-1] in page.locator("#reader .pdf-mark").all_inner_texts()


def test_the_chosen_papers_and_options_are_seen_and_used(opened, url):
    page = opened(url)
    page.locator(".paper", has_text="porcelain").locator("input").check()
    page.keyboard.press("Escape")
    page.keyboard.press("o")
    page.fill("#options [name=years]", "1900-2100")
    page.get_by_label("Agent").check()
    chips = page.locator(".chip")
    assert [chip.split("\n")[0] for chip in chips.all_inner_texts()] == [
        "Firing porcelain in a tunnel kiln", "years: 1900-2100", "agent",
    ]  # fmt: skip
    chips.nth(1).locator("button").click()
    with page.expect_request("**/ask/events") as sent:
        ask(page, "What is fired?")
    body = sent.value.post_data_json
    kilns = next(paper for paper in httpx.get(f"{url}/api/v1/papers").json()["papers"] if paper["file"] == "kilns.pdf")
    assert (body["agent"], body["part"]) == (True, {"papers": [kilns["md5"]]})


@pytest.mark.parametrize("region", ["Library", "Chat", "Reader"])
def test_a_narrow_screen_has_no_sideways_scroll(opened, url, region):
    page = opened(url, width=360, height=720)
    answer = ask(page, "How fast do bees fly in fog?")
    answer.locator("button.cite").first.click()
    page.wait_for_selector("#reader .pdf-page")
    page.locator("nav.bottom").get_by_role("button", name=region).click()
    shown = page.locator(f"#{region.lower()}")
    assert shown.is_visible()
    assert page.evaluate("document.scrollingElement.scrollWidth") == 360
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= 360 for box in [shown.bounding_box()])


def test_a_conversation_is_deleted_after_a_yes(opened, three_papers, tmp_path):
    with serving(copied(three_papers, tmp_path / "home")) as address:
        page = opened(address)
        ask(page, "How fast do bees fly in fog?")
        page.click("#new-conversation")
        ask(page, "What does the machine sum?")
        rows = page.locator("#conversations > li")
        rows.nth(1).wait_for()
        rows.first.locator(".delete").focus()
        page.keyboard.press("Enter")
        page.locator("#confirm").get_by_role("button", name="Cancel").click()
        assert rows.count() == 2
        rows.first.locator(".delete").focus()
        page.keyboard.press("Enter")
        assert "What does the machine sum?" in page.locator("#confirm").inner_text()
        page.locator("#confirm").get_by_role("button", name="Delete").click()
        page.wait_for_selector(".welcome")  # it was the one that is open
        rows.nth(1).wait_for(state="detached")
        kept = httpx.get(f"{address}/api/v1/conversations").json()["conversations"]
        assert [each["title"] for each in kept] == ["How fast do bees fly in fog?"]


def test_each_sentence_of_a_model_has_its_verdict_and_tex_is_drawn(opened, home):
    said = (
        "The mean flight speed in fog was 3.7 metres per second (bees.pdf, p.2). Bees live on Mars (bees.pdf, p.1). "
        "It is $v = \\frac{s}{t}$."
    )
    with OllamaServer(models={"llama3.1:8b": chat_model()}) as ollama:
        ollama.script(said)
        with serving(home, offline=False, ollama_url=ollama.url, embedder="embedded") as address:
            page = opened(address)
            answer = ask(page, SPEED)
            verdicts = answer.locator(".sentence .verdict")
            assert re.match(r"✓ supported", verdicts.first.inner_text())
            assert verdicts.first.get_attribute("aria-label").startswith("supported: ")
            assert "✗ unsupported" in verdicts.all_inner_texts()
            answer.locator("math mfrac").wait_for()


def test_stop_ends_the_question_on_the_server_too(opened, home):
    silence = threading.Event()
    with OllamaServer(models={"llama3.1:8b": chat_model()}) as ollama:
        ollama.fault("/api/chat", until=silence, times=None)
        settings = {"offline": False, "ollama_url": ollama.url, "embedder": "embedded"}
        with serving(home, {"answers": 1}, **settings) as address:
            page = opened(address)
            page.fill("#question", SPEED)
            page.press("#question", "Enter")
            page.click("#stop")
            page.wait_for_selector("text=Stopped.")
            assert page.input_value("#question") == SPEED
            found = httpx.post(f"{address}/api/v1/search", json={"question": SPEED}, timeout=60)
            assert found.status_code == 200, "one question is answered at a time: the first has been ended"
            assert not silence.is_set()
        silence.set()


def test_an_empty_library_says_how_to_fill_it_and_a_gone_server_what_to_do(opened, tmp_path):
    (tmp_path / "papers").mkdir()
    with serving(tmp_path) as address:
        page = opened(address, waits=".welcome")
        assert "No papers yet" in page.locator(".welcome").inner_text()
        with page.expect_file_chooser():
            page.locator(".welcome").get_by_role("button", name="Add PDFs").click()
    page.fill("#question", "Anything?")
    page.press("#question", "Enter")
    problem = page.locator(".turn .problem")
    problem.wait_for()
    assert "The server does not answer." in problem.inner_text()
    assert problem.get_by_role("button", name="Ask again").is_visible()
    opened.complaints[:] = [text for text in opened.complaints if "ERR_CONNECTION_REFUSED" not in text]


def test_where_a_token_is_asked_for_one_signs_in_and_out(opened, three_papers, tmp_path):
    home = copied(three_papers, tmp_path / "home")
    token = AccessTokens(home / "serve_tokens.json").add("ana", "reader")
    with serving(home) as address:
        page = opened(address, waits="#sign-in[open]")
        assert page.locator("#papers li").count() == 0
        page.fill("#token", token)
        page.press("#token", "Enter")
        page.wait_for_selector("#papers li")
        assert page.locator("#person").inner_text() == "ana"
        assert page.locator("#add-papers").is_hidden(), "a reader adds no papers"
        ask(page, SPEED)
        page.reload()
        page.wait_for_selector(".answer")
        page.click("#sign-out")
        page.wait_for_selector("#sign-in[open]")
        assert page.locator(".answer").count() == 0


def test_the_theme_is_kept(opened, url):
    page = opened(url)
    page.click("#switch-theme")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.reload()
    page.wait_for_selector("#papers li")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 20, 23)"


def test_a_formula_that_was_not_understood_is_shown_as_it_is_printed(opened, tmp_path):
    home = Commands(tmp_path)
    (tmp_path / "papers").mkdir()
    draw_unread_formula(tmp_path / "papers" / "bees.pdf")
    assert home.ingest(RAG_EMBEDDER="embedded").code == 0
    with serving(tmp_path) as address:
        page = opened(address)
        ask(page, "Which formula gives the speed of bees in fog?")
        image = page.locator(".printed img").first
        assert image.evaluate("image => image.decode().then(() => image.naturalWidth)") == 1600
        shown = image.evaluate("image => image.parentElement.getBoundingClientRect().height")
        assert 20 < shown < 400
