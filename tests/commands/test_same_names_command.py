"""Two papers whose files have one name: a/paper.pdf and b/paper.pdf are told apart wherever a file is named."""

import shutil

import pytest

from tests.commands.papers import BEES, KILNS
from tests.conftest import Commands
from tests.pdf_factory import make_pdf
from tests.sources.bib_making import parsed

SPEED = "How fast do bees fly in fog?"
GLAZE = "At which temperature does the glaze mature?"
A, B = "a/paper.pdf", "b/paper.pdf"


@pytest.fixture(scope="module")
def both(tmp_path_factory, model_cache):
    """A home in which b/paper.pdf came after a/paper.pdf; the tests change nothing in it but the history."""
    commands = Commands(tmp_path_factory.mktemp("both"))
    make_pdf(commands.home / "papers" / A, BEES, title="Navigation of honeybees in fog")
    assert commands.ingest(RAG_CACHE_FOLDER=str(model_cache)).code == 0
    make_pdf(commands.home / "papers" / B, KILNS)
    ran = commands.ingest(RAG_CACHE_FOLDER=str(model_cache))
    assert (ran.code, f"added {B}" in ran.err) == (0, True), ran.err
    return commands


def test_lists_name_both(both):
    listed = [(file, one["path"]) for file, one in both.papers().items()]
    assert listed == [(name, str(both.home / "papers" / name)) for name in (A, B)]
    assert [line.split("\t")[-1] for line in both.ingest("list").out.splitlines()] == [A, B]


@pytest.mark.parametrize(("name", "text"), [(A, "Honeybees"), (B, "porcelain")])
def test_show_takes_either_and_asks_which_where_the_name_is_of_both(both, name, text):
    shown = both.json("ingest.py", "show", name, "--page", "1", shape="show --page")
    assert shown["file"] == name
    assert shown["path"] == str(both.home / "papers" / name)
    assert text in shown["text"]
    refused = both.ingest("show", "paper.pdf"), both.query("related", "paper.pdf"), both.ingest("remove", "paper.pdf")
    for ran in refused:
        assert ran.code == 2
        assert f"2 papers match 'paper.pdf': {A}, {B}." in ran.err
    assert len(parsed(both.query("bib", "paper.pdf").out)) == 2


@pytest.mark.parametrize(("question", "file", "must"), [(SPEED, A, "fog"), (GLAZE, B, "1280")])
def test_answers_cite_sources_and_passages_by_distinct_names(both, question, file, must):
    """Each quote is of the paper that it is said to be of."""
    ran = both.json("query.py", "ask", question, "--no-history", shape="ask")
    texts = {A: " ".join(" ".join(BEES).split()), B: " ".join(" ".join(KILNS).split())}
    assert any(one["file"] == file and must in one["quote"] for one in ran["citations"])
    for one in ran["citations"]:
        assert one["path"] == str(both.home / "papers" / one["file"])
        assert " ".join(one["quote"].split()) in texts[one["file"]]
        assert f"({one['file']}, p.{one['page']})" in ran["answer"]
    for one in ran["hits"]:
        assert one["path"] == str(both.home / "papers" / one["file"])


def test_open_takes_the_page_of_the_right_file(both, tmp_path):
    home = tmp_path / "home"
    shutil.copytree(both.home / "vectorstore", home / "vectorstore")
    commands = Commands(home)
    ran = commands.json("query.py", "ask", GLAZE, shape="ask")
    assert commands.query("open", "1", DISPLAY="", WAYLAND_DISPLAY="").out.split(", p.")[0].endswith(f"papers/{B}")
    assert ran["citations"][0]["file"] == B
