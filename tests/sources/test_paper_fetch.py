"""Papers come home: what is there is told apart, the rest enters papers/ whole and under a good name, or not at all."""

import json
import os
import signal
import sys

import pytest

from ragscience.cli.fetch_command import run_fetch
from ragscience.cli.screen import IngestScreen
from ragscience.core.errors import NothingFound, SourceError
from ragscience.core.settings import load_settings
from ragscience.engine import Engine
from ragscience.engine.events import FetchRequest
from ragscience.library.store import Home, Library
from tests.conftest import ROOT
from tests.output_schemas import check_output
from tests.pdf_factory import make_pdf
from tests.warm_processes import run_warm

from .arxiv_feed import ATOM, ArxivServer, FeedPaper, error_feed, feed
from .fault_server import Reply

NAMES = ("one", "two", "three", "four", "five")
HTML = Reply(b"<!DOCTYPE html><html><title>Please log in</title></html>", content_type="text/html")


@pytest.fixture(scope="module")
def pdfs(tmp_path_factory):
    """Five small PDFs by their names."""
    folder = tmp_path_factory.mktemp("pdfs")
    return {name: make_pdf(folder / f"{name}.pdf", [f"This is paper {name}."]).read_bytes() for name in NAMES}


@pytest.fixture
def arxiv(pdfs):
    """Five papers on arXiv, 2101.00001v1 to 2101.00005v1: lovelace-2021-paper-one.pdf and so on."""
    papers = [FeedPaper(f"2101.{number:05}v1", f"Paper {name}") for number, name in enumerate(NAMES, 1)]
    with ArxivServer(papers) as server:
        for paper, name in zip(papers, NAMES, strict=True):
            server.put(paper.id, pdfs[name])
        yield server


@pytest.fixture
def home(tmp_path):
    (tmp_path / "home").mkdir()
    return Home(tmp_path / "home")


class Run:
    """`ingest.py fetch` in this process; without ingest, which needs a model."""

    def __init__(self, home, server, capsys):
        self.home, self.server, self.capsys = home, server, capsys

    def __call__(self, *said, count=5, as_json=False):
        settings = load_settings(home=self.home.root, **self.server.flags)
        request = FetchRequest(said, count, ingest=False)
        with IngestScreen(quiet=False) as screen, Engine.open(settings.home, settings, on_event=screen) as engine:
            code = run_fetch(engine, request, screen, take_all=True, as_json=as_json)
        self.out, self.err = self.capsys.readouterr()
        return code

    @property
    def files(self):
        return {path.name: path.read_bytes() for path in sorted(self.home.papers.glob("*"))}

    @property
    def parts(self):
        return sorted(path.name for path in self.home.parts.glob("*"))

    def json(self, *said, **more):
        code = self(*said, as_json=True, **more)
        answer = json.loads(self.out)
        check_output(answer, "fetch")
        return code, answer


@pytest.fixture
def run(home, arxiv, capsys):
    return Run(home, arxiv, capsys)


def test_a_newer_version_is_fetched_beside_the_older_and_an_older_is_not(run, pdfs):
    run("2101.00001v1")
    run.server.papers[0] = FeedPaper("2101.00001v3", "Paper one")
    run.server.put("2101.00001v3", pdfs["five"])
    assert run("2101.00001") == 0
    assert run.files["lovelace-2021-paper-one-2.pdf"] == pdfs["five"]
    calls = len(run.server.asked)
    assert run("2101.00001v2") == 0
    assert "is already in papers/" in run.err
    assert len(run.server.asked) == calls


def test_a_file_that_the_user_put_there_is_known_by_its_bytes(run, pdfs):
    run.home.papers.mkdir(parents=True)
    (run.home.papers / "mine.pdf").write_bytes(pdfs["one"])
    assert run("2101.00001") == 0
    assert set(run.files) == {"mine.pdf"}
    assert "identical to mine.pdf" in run.err
    before = run.server.paths
    assert run("2101.00001") == 0
    assert run.server.paths == before
    with Library.open(run.home) as library:
        assert [source.metadata.arxiv_id for source in library.sources.all()] == ["2101.00001v1"]


@pytest.mark.parametrize(
    ("title", "authors", "name"), [("../../x", ("..",), "2021-x.pdf"), ("注意力机制", ("李明",), "2101-00001v1.pdf")]
)
def test_no_title_leads_out_of_the_folder(run, title, authors, name):
    run.server.papers[0] = FeedPaper("2101.00001v1", title, authors)
    assert run("2101.00001") == 0
    assert set(run.files) == {name}
    assert {path.name for path in run.home.root.iterdir()} <= {"papers", "vectorstore", "ingested.json"}


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (Reply(status=404, content_type="text/html"), "404"),
        (HTML, "is not a PDF: it came as"),
        (Reply(b"%PDF-1.7 cut"), "cut off"),
        (Reply(b"%PDF-1.7\n\x00\x00garbage\n%%EOF\n"), "2101.00001v1"),
        (Reply(headers={"Location": "http://169.254.169.254/latest"}, status=302), "169.254.169.254"),
        (Reply(b"%PDF-1.7\n", length=2**31), "has more than"),
    ],
    ids=["404", "html", "cut", "garbage", "redirect", "huge"],
)
def test_one_bad_download_does_not_stop_the_others(run, bad, said):
    run.server.put("2101.00001v1", bad)
    code, answer = run.json("bees", count=2)
    assert code == 3
    assert set(run.files) == {"lovelace-2021-paper-two.pdf"}
    assert [paper["status"] for paper in answer["papers"]] == ["failed", "fetched"]
    assert said in answer["papers"][0]["error"]
    (line,) = [line for line in run.err.split("\n") if line.startswith("not fetched: 2101.00001v1 (Paper one): ")]
    assert said in line
    assert "1 fetched, 1 not fetched" in run.err
    assert run.parts == []


@pytest.mark.parametrize(
    ("reply", "error", "said"),
    [
        (Reply(feed([], 0), content_type=ATOM), NothingFound, "arXiv has nothing for 'bees'"),
        (Reply(error_feed("bad query"), 400, content_type=ATOM), SourceError, "reports an error: bad query"),
        (Reply(error_feed("bad query"), content_type=ATOM), SourceError, "reports an error: bad query"),
        (HTML, SourceError, "cannot be read"),
        (Reply(b"not xml", content_type=ATOM), SourceError, "cannot be read"),
        (Reply(b'<!DOCTYPE a [<!ENTITY b "c">]><feed/>', content_type=ATOM), SourceError, "it declares entities"),
        (Reply(b"<feed>", content_type=ATOM, endless=b"x" * 2**16), SourceError, "has more than"),
        (Reply(status=404, content_type="text/plain"), SourceError, "404"),
    ],
    ids=["empty", "error", "error-200", "html", "not-xml", "bomb", "endless", "404"],
)
def test_an_api_that_fails_is_one_line(run, reply, error, said):
    run.server.api = reply
    with pytest.raises(error, match=said) as caught:
        run("bees")
    assert "\n" not in str(caught.value)
    assert caught.value.fix
    assert run.files == {}
    assert not run.home.database.exists()


KILLED = """
import os, signal, sys
from ragscience.engine import Engine
from ragscience.engine.events import FetchRequest
from ragscience.core.settings import load_settings
from ragscience.sources import downloads
step = int(sys.argv[2])
def watch(event, args):
    # What changes the disk on the way from a whole download to a paper in papers/.
    global step
    if event in ("os.link", "os.remove", "os.rename") and ".part" in str(args):
        step -= 1
        if step == 0:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(watch)
with Engine.open(sys.argv[1], load_settings(home=sys.argv[1])) as engine:
    engine.ingest.fetch(FetchRequest(("2101.00001",), ingest=False))
print("done")
"""


@pytest.mark.kill
def test_killed_at_any_step_there_is_nothing_or_a_good_paper(arxiv, pdfs, tmp_path):
    environment = {**os.environ, **arxiv.environment}
    outcomes = set()
    for step in range(1, 40):
        home = Home(tmp_path / f"home{step}")
        home.root.mkdir()
        command = [sys.executable, "-c", KILLED, str(home.root), str(step)]
        done = run_warm(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        files = [path.read_bytes() for path in home.papers.glob("*")]
        assert files in ([], [pdfs["one"]])
        if files:
            with Library.open(home) as library:
                assert [source.metadata.title for source in library.sources.all()] == ["Paper one"]
        outcomes.add((done.returncode, len(files)))
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL, done.stderr
    assert outcomes == {(-signal.SIGKILL, 0), (-signal.SIGKILL, 1), (0, 1)}
