"""The shared papers as a bibliography, against what is printed on them."""

import csv
import unicodedata

import pytest

from ragscience.sources.bib_entries import entries_of
from ragscience.sources.bib_formats import as_bibtex
from tests.shared_data import SHARED_DATA, needs_shared_data, shared_papers
from tests.sources.bib_making import paper
from tests.sources.bib_parsing import parsed, unlatex

pytestmark = needs_shared_data


def squashed(text):
    return "".join(char for char in unicodedata.normalize("NFKC", text).casefold() if char.isalnum())


@pytest.fixture(scope="module")
def compared():
    """(row of the gold table, fields of the entry) of each paper."""
    with (SHARED_DATA / "papers" / "GOLD.tsv").open(encoding="utf-8") as file:
        gold = list(csv.DictReader(file, delimiter="\t"))
    papers = [
        paper(number, shared_papers()[row["file"]].metadata, path=f"/p/{row['file']}")
        for number, row in enumerate(gold)
    ]
    read = parsed(as_bibtex(entries_of(papers, papers)))
    assert len(read) == len(papers) == 24
    return list(zip(gold, (fields for _, fields in read.values()), strict=True))


def share(right):
    return sum(right) / len(right)


def test_titles_are_right(compared):
    right = [squashed(unlatex(fields.get("title", ""))) == squashed(row["title"]) for row, fields in compared]
    assert share(right) >= 0.9


def test_first_authors_are_right(compared):
    known = [(row, fields) for row, fields in compared if row["first_author"]]
    firsts = [unlatex(fields.get("author", ["?"])[0]).split()[-1] == row["first_author"] for row, fields in known]
    assert share(firsts) >= 0.9


def test_as_many_authors_are_there_as_are_printed(compared):
    counted = [(row, fields) for row, fields in compared if row["authors"]]
    assert share([len(fields.get("author", [])) == int(row["authors"]) for row, fields in counted]) >= 0.9


def test_years_are_right(compared):
    dated = [(row, fields) for row, fields in compared if row["year"]]
    assert share([fields.get("year") == row["year"] for row, fields in dated]) >= 0.9


def test_a_wrong_field_is_left_out_or_marked(compared):
    for row, fields in compared:
        note = fields.get("note", "").partition(";")[0]
        if row["year"] and "year" in fields and fields["year"] != row["year"]:
            assert "year" in note, row["file"]
        if row["identifier"]:
            assert f"arXiv:{fields.get('eprint')}" == row["identifier"].rpartition("v")[0]
            assert fields["url"] == f"https://arxiv.org/abs/{row['identifier'].removeprefix('arXiv:')}"
    by_file = {row["file"]: fields for row, fields in compared}
    assert "year" not in by_file["okapi_bm25_trec3.pdf"], "the date of a scan is no year"
    assert not {"booktitle", "howpublished"} & by_file["gpt2_2019.pdf"].keys(), "a LaTeX style names it, nobody else"
