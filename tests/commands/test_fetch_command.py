"""`ingest.py fetch` as a person runs it: from a local server that speaks arXiv's API to papers that can be asked."""

import signal

import pytest

from tests.commands.papers import BEES, KILNS
from tests.conftest import started
from tests.pdf_factory import make_pdf
from tests.reading.drawing import Sheet, draw
from tests.screens.emulator import CommandTerminal
from tests.sources.arxiv_feed import ArxivServer, FeedPaper
from tests.sources.fault_server import Reply

BEES_PAPER = FeedPaper(
    "2101.00001v2",
    "Steering of Honeybees in Dense Fog",
    ("Ada Lovelace", "Karl von Frisch"),
    doi="10.1000/bees.7",
    journal_ref="Journal of Insect Flight 7 (2022)",
)
KILNS_PAPER = FeedPaper("2102.00002v1", "Tunnel Kilns", ("Johann Böttger",), published="2021-02-03T00:00:00Z")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pdfs")
    with ArxivServer([BEES_PAPER, KILNS_PAPER]) as arxiv:
        arxiv.put(BEES_PAPER.id, make_pdf(folder / "a.pdf", BEES).read_bytes())
        arxiv.put(KILNS_PAPER.id, make_pdf(folder / "b.pdf", KILNS).read_bytes())
        yield arxiv


NAMES = {"lovelace-2021-steering-of-honeybees-in-dense-fog.pdf", "bottger-2021-tunnel-kilns.pdf"}


def test_fetched_papers_are_read_and_called_what_arxiv_calls_them(commands, server):
    ran = commands.ingest("fetch", "bees in fog", "-n", "2", "--yes", **server.environment)
    assert ran.code == 0, ran.err
    assert "Tunnel Kilns" in ran.out
    papers = commands.papers()
    assert set(papers) == NAMES
    bees = papers["lovelace-2021-steering-of-honeybees-in-dense-fog.pdf"]
    said = {
        "title": "Steering of Honeybees in Dense Fog",
        "authors": ["Ada Lovelace", "Karl von Frisch"],
        "year": 2021,
        "venue": "Journal of Insect Flight 7 (2022)",
        "doi": "10.1000/bees.7",
        "arxiv_id": "2101.00001v2",
        "abstract": "Bees fly in fog. They fly slower.",
        "categories": ["cs.CL", "stat.ML"],
        "url": f"{server.faults.url}/pdf/2101.00001v2",
        "published": "2021-01-04",
    }
    assert said.items() <= bees["metadata"].items()
    assert bees["title"] == said["title"]
    assert bees["metadata"]["confidence"]["title"] == 1.0
    shown = commands.ingest("show", bees["file"]).out
    assert f"{server.faults.url}/pdf/2101.00001v2" in shown
    assert "lovelace2021steering" in shown
    found = commands.json("query.py", "search", "mean flight speed in fog", "--author", "frisch")
    assert {hit["file"] for hit in found["hits"]} == {bees["file"]}

    entry = commands.query("bib", bees["file"]).out
    assert all(said in entry for said in ("lovelace2021steering", "10.1000/bees.7", "2101.00001", "cs.CL"))

    assert commands.ingest("rebuild").code == 0
    assert commands.ingest("sync").code == 0
    assert commands.papers()[bees["file"]]["metadata"] == bees["metadata"]

    again = commands.ingest("fetch", "bees in fog", "-n", "2", "--yes", **server.environment)
    assert again.code == 0
    assert again.err.count("is already in papers/") == 2


def test_nothing_found_has_its_exit_code(commands):
    with ArxivServer() as empty:
        ran = commands.ingest("fetch", "bees", **empty.environment)
    assert ran.code == 4
    assert ran.err.count("\n") == 2


@pytest.mark.parametrize(("typed", "files"), [("2\r", {"bottger-2021-tunnel-kilns.pdf"}), ("\r", set())])
def test_on_a_terminal_the_person_picks(commands, server, typed, files):
    with CommandTerminal(commands.home, "ingest.py", "fetch", "bees", "--no-ingest", **server.environment) as terminal:
        terminal.wait_for("Steering of Honeybees", "Which ones")
        terminal.type("7\r")
        terminal.wait_for("not a number from 1 to 2")
        terminal.type(typed)
        assert terminal.end() == 0
    assert {path.name for path in (commands.home / "papers").iterdir()} == files


def test_ctrl_c_is_calm_and_the_rest_comes_the_next_time(commands, server, tmp_path):
    body = make_pdf(tmp_path / "c.pdf", ["A long paper."] * 3).read_bytes()
    half = len(body) // 2
    url = server.put("/c.pdf", Reply(body[:half], headers={"ETag": '"1"'}, length=len(body)))
    process = started(commands.home, "ingest.py", "fetch", url, "--no-ingest", env=server.environment)
    line = process.stderr.readline()  # the first half came, the connection ended, and it waits to try again
    assert "Trying again" in line
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Run the same command again" in err
    assert "Traceback" not in err
    assert list((commands.home / "papers").iterdir()) == []
    server.put("/c.pdf", Reply(body))
    ran = commands.ingest("fetch", url, "--no-ingest", **server.environment)
    assert ran.code == 0, ran.err
    assert (commands.home / "papers" / "c.pdf").read_bytes() == body


HTML = """<html><body><p>The speed is</p><table class="ltx_equation"><tr><td><math display="block"><mrow><mi>speed</mi>
<mo>(</mo><mi>n</mi><mo>)</mo><mo>=</mo><msqrt><mrow><mi>mass</mi><mo>+</mo><mi>drag</mi></mrow></msqrt></mrow></math>
</td><td><span class="ltx_tag">(3)</span></td></tr></table></body></html>"""


def test_formulas_are_taken_from_arxivs_html_and_stay_on_their_page(commands, server):
    name = "bottger-2021-tunnel-kilns.pdf"
    sheet = Sheet()
    sheet.paragraph(50, 100, 8)
    sheet.write(200, 220, "speed(n) =").write(262, 221, "√", font="symbols").write(270, 220, "mass + drag (3)")
    sheet.paragraph(50, 250, 8)
    with ArxivServer([KILNS_PAPER, BEES_PAPER]) as arxiv:
        arxiv.put(KILNS_PAPER.id, draw(commands.home / "a.pdf", [sheet]).read_bytes())
        arxiv.put(BEES_PAPER.id, make_pdf(commands.home / "b.pdf", BEES).read_bytes())
        arxiv.put("/html/2102.00002v1", Reply(HTML.encode(), content_type="text/html"))
        assert commands.ingest("fetch", KILNS_PAPER.id, BEES_PAPER.id, **arxiv.environment).code == 0
        assert "[formula, p.1]" in commands.ingest("show", name, "--page", "1").out
        ran = commands.ingest("fetch", "--html", **arxiv.environment)
        assert ran.code == 0, ran.err
        asked = len(arxiv.paths)
        assert commands.ingest("fetch", "--html", **arxiv.environment).code == 0
        assert len(arxiv.paths) == asked, "no paper is asked for twice"
    assert commands.ingest("rebuild").code == 0
    formula = r"{speed}(n) = \sqrt{{mass} + {drag}} (3)"
    assert formula in commands.ingest("show", name, "--page", "1").out
    assert f"{formula} ({name}, p.1)" in commands.query("What is equation 3 of the kilns paper?").out
