"""The metadata of the shared papers, field by field, against what a person reads on them."""

import csv
import unicodedata
from functools import cache

import pytest

from ragscience.reading.author_names import last_name
from tests.shared_data import SHARED_DATA, needs_shared_data, shared_paper

pytestmark = needs_shared_data


def squashed(text):
    return "".join(char for char in unicodedata.normalize("NFKC", text).casefold() if char.isalnum())


@cache
def compared(folder):
    """Each paper's row of the gold table, and for each field that the row tells whether it was read."""
    with (SHARED_DATA / folder / "GOLD.tsv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return [(row, verdicts(row, shared_paper(f"{folder}/{row['file']}").metadata)) for row in rows]


def verdicts(row, found):
    years = [year for year in (row.get("years_printed") or row.get("year") or "").split(",") if year]
    told = {"title": squashed(found.title) == squashed(row["title"])}
    if row["first_author"]:
        told["first author"] = bool(found.authors) and last_name(found.authors[0]) == row["first_author"]
    if row["authors"]:
        told["number of authors"] = len(found.authors) == int(row["authors"])
    if years:
        told["year"] = str(found.year) in years
    if "doi" in row:
        told["DOI"] = found.doi == row["doi"]
        told["arXiv id"] = found.arxiv_id.partition("v")[0] == row["arxiv_id"]
        told["nothing invented"] = bool(years) or found.year is None
    elif row["identifier"]:
        told["arXiv id"] = f"arXiv:{found.arxiv_id}" == row["identifier"]
    return told


@pytest.mark.parametrize(
    ("folder", "field", "most_wrong"),
    [
        ("papers2", "title", 1),
        ("papers2", "first author", 1),
        ("papers2", "number of authors", 3),
        ("papers2", "year", 0),
        ("papers2", "DOI", 0),
        ("papers2", "arXiv id", 0),
        ("papers2", "nothing invented", 0),
        ("papers", "title", 0),
        ("papers", "first author", 1),
        ("papers", "number of authors", 1),
        ("papers", "year", 1),
        ("papers", "arXiv id", 0),
    ],
)
def test_as_printed(folder, field, most_wrong):
    told = [(row["file"], fields[field]) for row, fields in compared(folder) if field in fields]
    wrong = [file for file, is_right in told if not is_right]
    assert len(told) >= 15
    assert len(wrong) <= most_wrong, wrong
