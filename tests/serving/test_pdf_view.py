"""The view of a PDF in a real browser: its marks lie on the quote's words, and nothing leaves this machine."""

import contextlib

import httpx
import pymupdf
import pytest

from tests.conftest import Commands, copied
from tests.pdf_factory import make_pdf, make_raw_pdf
from tests.serving.conftest import serving
from tests.serving.drawn_pdf import Browser, judge

pytestmark = pytest.mark.browser

WORDS = """Migration of {name} in the northern valleys
Abstract
{name} are found in the northern valleys from early spring on.
1 Methods
We counted all of the {name} along seven transects of two kilo-
metres each, at dawn, in four successive years of observation.
2 Results
The mean density of {name} was 41.7 animals per square kilo-
metre in the valleys, which is twice the density on the plateaus.
The number of {name} on the plateaus fell by a third in dry years.
"""
BIRDS = ["wagtails", "dippers", "siskins", "goldcrests"]


def geometry(path, name):
    """A page whose shown coordinates are not those of the file."""
    make_pdf(path, [WORDS.format(name=name)], title=f"Migration of {name}")
    kind = path.stem
    document = pymupdf.open(path)
    page = document[0]
    if kind.startswith("rotated"):
        page.set_rotation(int(kind.removeprefix("rotated")))
    if kind.startswith("cropped"):
        page.set_mediabox(pymupdf.Rect(-50, -70, 595, 842))
        page.set_cropbox(pymupdf.Rect(20, 30, 560, 500))
        page.set_rotation(int(kind.removeprefix("cropped")))
    if kind == "unit":
        document.xref_set_key(page.xref, "UserUnit", "1.5")
    document.save(path.with_suffix(".new"))
    document.close()
    path.with_suffix(".new").replace(path)


KINDS = ["plain", "rotated90", "cropped270", "unit"]


@pytest.fixture(scope="module")
def home(made_once):
    def make(folder):
        for kind, name in zip(KINDS, BIRDS, strict=True):
            geometry(folder / "papers" / f"{kind}.pdf", name)
        ran = Commands(folder).ingest(RAG_EMBEDDER="embedded")
        assert ran.code == 0, ran.err

    return made_once("pages-of-all-kinds", make)


@pytest.fixture(scope="module")
def address(home, tmp_path_factory):
    with serving(copied(home, tmp_path_factory.mktemp("pages"))) as url:
        yield url


@pytest.fixture
def opened(browser):
    """Opens a view over a server; afterwards nothing may have left it, and nothing may have been complained of."""
    views = []

    def open_view(address):
        context = browser.new_context(viewport={"width": 900, "height": 700})
        views.append(Browser(context.new_page(), address))
        return views[-1]

    yield open_view
    told = [(each.page.evaluate("() => window.violations"), each.complaints, each.hosts()) for each in views]
    for each in views:
        each.page.context.close()
    assert told == [([], [], {each.address.removeprefix("http://")}) for each in views]


def paper_of(address, file):
    return next(paper for paper in httpx.get(f"{address}/api/v1/papers").json()["papers"] if paper["file"] == file)


@pytest.mark.parametrize(("kind", "name"), list(zip(KINDS, BIRDS, strict=True)))
def test_a_mark_lies_on_its_words_however_the_page_is_turned_and_cut(kind, name, address, opened):
    md5 = paper_of(address, f"{kind}.pdf")["md5"]
    asked = httpx.post(
        f"{address}/api/v1/ask", json={"question": f"What was the mean density of {name}?"}, timeout=60
    ).json()
    cited = [each for each in asked["citations"] if each["file"] == f"{kind}.pdf" and each["quote"]]
    assert any("41.7" in each["quote"] for each in cited)
    marks = [
        {"id": str(at), "page": each["page"], "boxes": each["boxes"], "colour": at % 8, "label": each["quote"]}
        for at, each in enumerate(cited)
    ]
    browser = opened(address)
    browser.show(md5, marks, focus="0")
    browser.wait_until_drawn()
    drawn, letters = browser.boxes(1), browser.letters(md5, 1)
    for mark, each in zip(marks, cited, strict=True):
        share, others = judge(each["quote"], drawn[mark["id"]], letters)
        assert (share, others) == (1.0, 0), each["quote"]


@pytest.fixture
def replaced(home, tmp_path):
    """`replaced(make)`: the address of a server whose plain.pdf is what `make(path)` makes, and its MD5."""
    opened = contextlib.ExitStack()

    def serve(make):
        own = copied(home, tmp_path / "home")
        path = own / "papers" / "plain.pdf"
        path.unlink()
        make(path)
        ran = Commands(own).ingest(RAG_EMBEDDER="embedded")
        assert ran.code == 0, ran.err
        url = opened.enter_context(serving(own))
        return url, paper_of(url, "plain.pdf")["md5"]

    with opened:
        yield serve


def many_pages(path):
    """200 pages of two widths."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    for number in range(1, 201):
        text = b"BT /F 12 Tf 50 700 Td (Here page %d begins.) Tj ET" % number
        box = b"[0 0 %d 842]" % (420 if number % 5 == 0 else 595)
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox %b /Contents %d 0 R /Resources << /Font << /F 3 0 R >> >> >>"
            % (box, len(objects) + 2)
        )
        objects.append(b"<< /Length %d >>\nstream\n%b\nendstream" % (len(text), text))
    pages = b" ".join(b"%d 0 R" % number for number in range(4, 404, 2))
    objects[1] = b"<< /Type /Pages /Count 200 /Kids [%b] >>" % pages
    make_raw_pdf(path, objects)


def test_only_pages_near_the_window_are_drawn(replaced, opened):
    url, md5 = replaced(many_pages)
    browser = opened(url)
    browser.show(md5)
    page = browser.page
    page.locator(".pdf-scroller").focus()
    for key, number in (("End", 200), ("ArrowLeft", 199), ("Home", 1), ("ArrowRight", 2)):
        page.keyboard.press(key)
        browser.wait_until_drawn(number)
        page.wait_for_function("() => document.querySelectorAll('.pdf-page canvas').length <= 5")
        page.wait_for_function(f"() => document.querySelector('.pdf-page-box').value === '{number}'")
    page.fill(".pdf-page-box", "120")
    page.keyboard.press("Enter")
    browser.wait_until_drawn(120)
    page.wait_for_function("() => document.querySelectorAll('.pdf-page > *').length <= 15")
    assert page.locator(".pdf-page").count() == 200


def test_words_are_found_from_the_page_that_is_shown_and_round(replaced, opened):
    url, md5 = replaced(many_pages)
    browser = opened(url)
    browser.show(md5, page=150)
    page = browser.page
    page.locator(".pdf-scroller").focus()
    page.keyboard.press("Control+f")
    page.keyboard.type("PAGE 12  begins")
    page.keyboard.press("Enter")
    count = page.locator(".pdf-find-count")
    count.filter(has_text="1 of 1 on page 12").wait_for()
    browser.wait_until_drawn(12)
    page.wait_for_function("() => CSS.highlights.get('pdf-found-here')?.size === 1")
    page.fill(".pdf-find-box", "no such words")
    page.keyboard.press("Enter")
    count.filter(has_text="not found").wait_for()
    page.keyboard.press("Escape")
    assert page.evaluate("() => document.activeElement.className") == "pdf-scroller"


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (
            lambda path: make_pdf(path, ["Words"], user_password="word"),
            "The PDF is encrypted and asks for a password. Save a copy without one, and add that.",
        ),
        (
            lambda path: path.write_bytes(b"%PDF-1.7\n" + b"x" * 3000),
            "The PDF is damaged: Invalid PDF structure. Get the file anew, and add it.",
        ),
    ],
    ids=["encrypted", "damaged"],
)
def test_a_file_that_does_not_open_is_told_of_in_a_line(make, told, address, opened, tmp_path):
    make(tmp_path / "other.pdf")
    browser = opened(address)
    browser.page.route("**/file", lambda route: route.fulfill(path=tmp_path / "other.pdf"))
    browser.show(paper_of(address, "plain.pdf")["md5"])
    assert browser.page.text_content(".pdf-status") == told
    assert browser.page.locator(".pdf-page").count() == 0


QUOTES = [
    {"id": "a", "page": 1, "boxes": [[50, 50, 300, 62]], "colour": 0, "label": "Migration of wagtails"},
    {"id": "b", "page": 1, "boxes": [[50, 135, 300, 146], [50, 149, 200, 160]], "colour": 1, "label": "The mean"},
    {"id": "c", "page": 1, "boxes": [], "colour": 2, "label": "of no sure place"},
]


def test_marks_by_keyboard_and_by_click(address, opened):
    browser = opened(address)
    browser.show(paper_of(address, "plain.pdf")["md5"], QUOTES)
    browser.wait_until_drawn()
    page = browser.page
    page.locator(".pdf-scroller").focus()
    page.keyboard.press("n")
    page.wait_for_function("() => document.activeElement.dataset.mark === 'a'")
    assert page.evaluate("() => document.activeElement.getAttribute('aria-label')") == "quote 1: Migration of wagtails"
    page.keyboard.press("n")
    page.wait_for_function("() => document.activeElement.dataset.mark === 'b'")
    page.keyboard.press("Enter")
    assert browser.calls("onMark") == [["b"]]
    box = page.locator('.pdf-mark-box[data-mark="a"]').bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert browser.calls("onMark") == [["b"], ["a"]]
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 300)
    assert len(browser.calls("onMark")) == 2


def test_a_quote_of_no_sure_place_marks_nothing_and_says_so(address, opened):
    browser = opened(address)
    browser.show(paper_of(address, "plain.pdf")["md5"], QUOTES, focus="c")
    browser.wait_until_drawn()
    assert browser.page.text_content(".pdf-status") == "The quote's place on this page is not sure."
    assert set(browser.boxes(1)) == {"a", "b"}


def test_selected_text_can_be_asked_about_by_keyboard_and_pointer(address, opened):
    width = 360
    browser = opened(address)
    page = browser.page
    page.set_viewport_size({"width": width, "height": 700})
    md5 = paper_of(address, "plain.pdf")["md5"]
    browser.show(md5)
    browser.wait_until_drawn()
    line = page.locator(".textLayer span", has_text="along seven transects")
    place = line.bounding_box()
    middle = place["y"] + place["height"] / 2
    page.mouse.move(place["x"] + 1, middle)
    page.mouse.down()
    page.mouse.move(place["x"] + place["width"] - 1, middle + place["height"] * 1.3, steps=4)
    page.mouse.up()
    bar = page.locator(".pdf-selection")
    bar.wait_for()
    shown = bar.bounding_box()
    assert shown["x"] >= 0 and shown["x"] + shown["width"] <= width
    page.locator(".pdf-scroller").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    ((text, where),) = browser.calls("onSimilar")
    assert "two kilometres each" in text
    assert where == {"md5": md5, "page": 1}
    page.locator(".pdf-scroller").focus()
    page.keyboard.press("Control+a")
    page.get_by_role("button", name="Cite").click()
    ((text, where),) = browser.calls("onCite")
    assert text.startswith("Migration of wagtails") and "41.7 animals per square kilometre" in text
    bar.wait_for(state="hidden")


def test_a_link_of_the_paper_cannot_be_followed(replaced, opened):
    def linked(path):
        make_pdf(path, ["Click here"])
        with pymupdf.open(path) as document:
            link = {"kind": pymupdf.LINK_URI, "from": pymupdf.Rect(0, 0, 595, 842), "uri": "https://evil.example/"}
            document[0].insert_link(link)
            document.saveIncr()

    url, md5 = replaced(linked)
    browser = opened(url)
    browser.show(md5)
    browser.wait_until_drawn()
    browser.page.mouse.click(300, 300)
    assert browser.page.locator(".pdf-view a").count() == 0
    assert browser.page.url.rstrip("/") == url
