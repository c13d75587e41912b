"""The view of a PDF in a real browser: its marks lie on the quote's words, and nothing leaves this machine."""

import shutil

import httpx
import pymupdf
import pytest

from tests.conftest import Commands
from tests.pdf_factory import make_pdf
from tests.serving.conftest import serving
from tests.serving.drawn_pdf import Browser, judge

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
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
BIRDS = ["wagtails", "dippers", "siskins", "bramblings", "redstarts", "wheatears", "crossbills", "goldcrests"]


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


KINDS = ["plain", "rotated90", "rotated180", "rotated270", "cropped0", "cropped90", "cropped270", "unit"]


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
    from tests.conftest import copied

    with serving(copied(home, tmp_path_factory.mktemp("pages"))) as url:
        yield url


@pytest.fixture(scope="module")
def chromium():
    if not CHROMIUM:
        pytest.skip("Chromium is not installed (apt-get install chromium)")
    driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with driver.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def browser(chromium, address):
    """A view; afterwards nothing may have left this machine, and nothing may have been complained of."""
    context = chromium.new_context(viewport={"width": 900, "height": 700})
    made = Browser(context.new_page(), address)
    yield made
    violations = made.page.evaluate("() => window.violations ?? []")
    context.close()
    assert violations == []
    assert made.complaints == []
    assert {url.split("/", 3)[2] for url in made.requests if not url.startswith(("blob:", "data:"))} == {
        address.split("/")[2]
    }


def paper_of(address, file):
    return next(paper for paper in httpx.get(f"{address}/api/v1/papers").json()["papers"] if paper["file"] == file)


@pytest.mark.parametrize(("kind", "name"), list(zip(KINDS, BIRDS, strict=True)))
def test_a_mark_lies_on_its_words_however_the_page_is_turned_and_cut(kind, name, address, browser):
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
    browser.show(md5, marks, focus="0")
    browser.wait_until_drawn()
    drawn, letters = browser.boxes(1), browser.letters(md5, 1)
    for mark, each in zip(marks, cited, strict=True):
        share, others = judge(each["quote"], drawn[mark["id"]], letters)
        assert (share, others) == (1.0, 0), each["quote"]
