"""What the structure of a paper is good for at the commands: outlines, filters, near-duplicates."""

import json
import os
import shutil

import pytest

from tests.conftest import ROOT, Commands
from tests.pdf_factory import make_pdf

SAMPLE = ROOT / "papers" / "sample" / "ragscience.pdf"


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """A home with the sample paper in it, which no test changes."""
    home = tmp_path_factory.mktemp("home")
    (home / "papers").mkdir()
    shutil.copy(SAMPLE, home / "papers")
    ran = Commands(home).ingest()
    assert ran.code == 0, ran.err
    return home


@pytest.fixture
def sample(library):
    return Commands(library)


def hits(commands, question, *options):
    return commands.json("query.py", "search", question, "-k", "50", *options, shape="search")["hits"]


def test_references_are_found_when_they_are_asked_for_alone(sample):
    assert {hit["kind"] for hit in hits(sample, "reciprocal rank fusion Condorcet")} & {"reference"} == set()
    assert {hit["kind"] for hit in hits(sample, "Condorcet", "--kind", "reference")} == {"reference"}
    assert {"reference", "text"} <= {hit["kind"] for hit in hits(sample, "Condorcet", "--kind", "all")}


def test_a_search_keeps_to_kinds_and_sections(sample):
    assert {hit["kind"] for hit in hits(sample, "settings", "--kind", "table")} == {"table"}
    sections = {hit["section"] for hit in hits(sample, "weights", "--section", "by word", "--section", "REFUSING")}
    assert sections
    assert all("5.2 By word" in section or "7.4 Refusing" in section for section in sections)


def test_a_search_keeps_to_years_and_authors(commands):
    papers = commands.home / "papers"
    stamp = "arXiv:{}v1  [cs.CL]  12 Jun {}"
    text = "\n\nAbstract\nThe glaze matures at high temperature, as we show in what follows.\n" + "It is blue. " * 20
    for name, author, number, year in [
        ("new.pdf", "Ada Lovelace", "1706.03762", 2017),
        ("old.pdf", "Aaron van den Oord", "1506.00001", 2015),
    ]:
        page = f"Kilns of {year} and Their Glazes\n{author}{text}\n{stamp.format(number, year)}"
        make_pdf(papers / name, [page], metadata={"author": author})
    assert commands.ingest().code == 0
    years = {file: paper["metadata"]["year"] for file, paper in commands.papers().items()}
    assert years == {"new.pdf": 2017, "old.pdf": 2015}
    assert {hit["file"] for hit in hits(commands, "glaze", "--year", "2016-2018")} == {"new.pdf"}
    assert {hit["file"] for hit in hits(commands, "glaze", "--year", "-2015")} == {"old.pdf"}
    assert {hit["file"] for hit in hits(commands, "glaze", "--author", "oörd")} == {"old.pdf"}
    lines = (
        b'{"question": "glaze", "year": 2017}\n{"question": "glaze", "year": "2015"}\n{"question": "x", "kind": 1}\n'
    )
    ran = commands.query("search", "--from", "-", "--json", stdin=lines)
    first, second, bad = map(json.loads, ran.out.splitlines())
    assert ran.code == 3
    assert {hit["file"] for hit in first["hits"]} == {"new.pdf"}
    assert {hit["file"] for hit in second["hits"]} == {"old.pdf"}
    assert "kind" in bad["error"]["message"]


def version(path, last_word, modified):
    """A paper of some length whose versions differ in their last word."""
    lines = [f"Sentence {number} tells of glaze {number * 7} and of kiln {number * 13}." for number in range(40)]
    make_pdf(path, ["\n".join(["The Colours of Glazes in Kilns", "", *lines, last_word])])
    os.utime(path, (modified, modified))


def test_a_run_names_each_paper_that_is_there_twice_once_and_counts_the_rest(commands):
    for number in range(24):
        version(commands.home / "papers" / f"v{number:02}.pdf", "Draft.", 1_000_000_000 + number * 10_000_000)
    ran = commands.ingest()
    lines = [line for line in ran.err.splitlines() if "the same paper as" in line]
    assert len(lines) == len({line.split(":")[0] for line in lines}) == 20
    assert "3 more papers may be there twice: `python ingest.py duplicates` lists them." in ran.err


@pytest.fixture
def twice(commands):
    papers = commands.home / "papers"
    version(papers / "draft.pdf", "Draft.", 1_000_000_000)
    version(papers / "final.pdf", "Final.", 1_500_000_000)
    make_pdf(papers / "bees.pdf", ["Honeybees steer by polarised light."])
    ran = commands.ingest()
    assert ran.code == 0, ran.err
    assert "draft.pdf: the same paper as final.pdf" in ran.err
    return commands


def test_duplicates_are_shown_and_nothing_is_removed(twice):
    shown = twice.ingest("duplicates")
    older, newer, same, by = shown.out.rstrip("\n").split("\t")
    assert (older, newer, by) == ("draft.pdf", "final.pdf", "file date")
    assert same
    pairs = twice.json("ingest.py", "duplicates", shape="duplicates")
    assert [(pair["newer"], pair["older"]) for pair in pairs["duplicates"]] == [("final.pdf", "draft.pdf")]
    assert pairs["removed"] == []
    assert set(twice.papers()) == {"draft.pdf", "final.pdf", "bees.pdf"}


def test_an_older_version_goes_and_stays_away_until_it_is_named(twice):
    ran = twice.ingest("duplicates", "--dedupe", "keep-newest")
    assert "removed draft.pdf" in ran.err
    assert "Its file is kept, and left out from now on" in ran.err
    assert (twice.home / "papers" / "draft.pdf").exists()
    assert set(twice.papers()) == {"final.pdf", "bees.pdf"}
    for again in ((), ("sync",)):
        said = "1 file is still skipped" if again else "not read: draft.pdf: It was removed from the library."
        assert said in twice.ingest(*again).err
        assert set(twice.papers()) == {"final.pdf", "bees.pdf"}
    ran = twice.ingest("duplicates")
    assert (ran.out, ran.err.splitlines()[-1]) == ("", "No paper is in the library twice.")
    twice.ingest("papers/draft.pdf")
    assert set(twice.papers()) == {"draft.pdf", "final.pdf", "bees.pdf"}
