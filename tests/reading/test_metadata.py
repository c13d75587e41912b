"""Title, authors, year, venue and identifiers, from pages written by hand, drawn ones and the shared papers."""

import csv
import math
import unicodedata
from functools import cache

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ragscience.core.records import Metadata
from ragscience.reading.author_names import last_name
from ragscience.reading.paper_metadata import metadata_of, newest_year
from ragscience.reading.text_cleaning import clean_text, sensible_title
from tests.reading.pages import BOLD, RAISED, body, line, page, row, span
from tests.shared_data import SHARED_DATA, needs_shared_data, shared_paper


def read(*lines, file=None, text=""):
    return metadata_of(page(*lines), file or {}, text)


TITLE = row(100, 17, "A Study of Things", flags=BOLD)
AUTHORS = row(140, 10, "Ada Lovelace, Alan Turing and Grace Hopper")


def test_the_file_and_the_page_agree():
    found = read(TITLE, AUTHORS, *body(), file={"title": "A study of things"})
    assert (found.title, found.confidence["title"]) == ("A Study of Things", 0.98)
    shouted = read(row(100, 17, "A STUDY OF THINGS"), AUTHORS, *body(), file={"title": "A Study of Things"})
    assert shouted.title == "A Study of Things"


@pytest.mark.parametrize(
    ("lines", "authors"),
    [
        ([AUTHORS], ("Ada Lovelace", "Alan Turing", "Grace Hopper")),
        (
            [row(140, 10, "Ada Lovelace", ("1", RAISED), " Alan M. Turing", ("* 2", RAISED), flags=BOLD)],
            ("Ada Lovelace", "Alan M. Turing"),
        ),
        (
            [
                row(140, 10, "Ada Lovelace", flags=BOLD),
                row(140, 10, "Alan Turing", left=300, flags=BOLD),
                row(152, 10, "Imagined Brain"),
                row(152, 10, "Imagined Brain", left=300),
                row(180, 10, "Grace Hopper", flags=BOLD),
            ],
            ("Ada Lovelace", "Alan Turing", "Grace Hopper"),
        ),
        (
            [row(140, 10, "George van den Berg, Jean-Luc O’Hara,"), row(153, 10, "Łukasz Müller and D. E. Knuth")],
            ("George van den Berg", "Jean-Luc O’Hara", "Łukasz Müller", "D. E. Knuth"),
        ),
        (
            [row(140, 10, "Ada Lovelace, Alan"), row(153, 10, "Turing and Grace Hopper")],
            ("Ada Lovelace", "Alan Turing", "Grace Hopper"),
        ),
        ([row(140, 10, "ADA LOVELACE, PhD and A. M. TURING")], ("Ada Lovelace", "A. M. Turing")),
        ([row(140, 10, "Christopher R´e")], ("Christopher Ré",)),
        ([row(140, 10, "李明, 王小红")], ("李明", "王小红")),
        ([row(140, 10, "University of Somewhere"), row(153, 10, "ada@example.org")], ()),
        (
            [row(140, 10, "Ada Lovelace"), row(160, 10, "Palace College"), row(171, 10, "Santa Barbara")],
            ("Ada Lovelace",),
        ),
    ],
)  # fmt: skip
def test_authors_stand_below_the_title(lines, authors):
    assert read(TITLE, *lines, *body()).authors == authors


def stamp(text):
    return line(span(text, 11, 200, 20), direction=(0.0, -1.0))


def test_the_stamp_in_the_margin_names_the_paper():
    found = read(stamp("arXiv:1706.03762v7 [cs.CL] 2 Aug 2023"), TITLE, AUTHORS, *body())
    assert (found.arxiv_id, found.year, found.confidence["arxiv_id"]) == ("1706.03762v7", 2023, 0.99)
    assert read(stamp("arXiv:cs/0112017v1 [cs.CL] 17 Dec 2001"), *body()).arxiv_id == "cs/0112017v1"


def test_a_cited_id_is_not_the_paper_s_own():
    assert read(TITLE, *body(), row(600, 10, "as shown by others (arXiv:1607.06450) before")).arxiv_id == ""
    assert read(TITLE, *body(), row(760, 8, "arXiv:1607.06450v1")).arxiv_id == "1607.06450v1"
    assert read(TITLE, *body(), file={"subject": "arXiv:1607.06450"}).arxiv_id == "1607.06450"


@pytest.mark.parametrize(
    ("printed", "venue", "year"),
    [
        ("Published as a conference paper at ICLR 2015", "ICLR", 2015),
        ("31st Conference on Many Things (NeurIPS 2017), Long Beach", "NeurIPS", 2017),
        ("To appear in OSDI 2004", "OSDI", 2004),
        ("Proceedings of Machine Learning for Healthcare 2017", "Machine Learning for Healthcare", 2017),
        ("Proceedings of the Meeting on Stones, Oslo, July 3, 2019.", "Meeting on Stones", 2019),
        ("Postgrad Med J 2010;86:272–278. doi:10.1136/pgmj.2009.089987", "Postgrad Med J", 2010),
        ("Journal of Stones, 12(3), 2011", "Journal of Stones", 2011),
    ],
)
def test_the_venue_says_the_year(printed, venue, year):
    found = read(stamp("arXiv:1706.03762v7 [cs.CL] 2 Aug 2023"), row(20, 8, printed), TITLE, AUTHORS, *body())
    assert (found.venue, found.year) == (venue, year)


@pytest.mark.parametrize(
    ("lines", "file", "year"),
    [
        ([row(170, 10, "(Draft of October 7, 2013)")], {}, 2013),
        ([row(170, 10, "June 24, 2022")], {}, 2022),
        ([row(760, 8, "Copyright 2003 by the authors")], {}, 2003),
        ([row(760, 8, "arXiv:1607.06450v1")], {}, None),
        ([row(760, 8, "arXiv:hep-th/9711200")], {}, None),
        ([], {"creationDate": "D:20040311120000"}, None),
        ([], {"creationDate": "D:191000728231743"}, None),
        ([row(600, 10, "as in 2012 by others")], {}, None),
    ],
)
def test_the_year_comes_from_what_is_surest(lines, file, year):
    assert read(TITLE, AUTHORS, *lines, *body(), file=file).year == year


def test_nothing_gives_nothing():
    assert metadata_of(None, {}, "") == Metadata()
    assert metadata_of(page(), {"title": None}, "") == Metadata()


SPAN = span("", 0.0, 0.0, 0.0)
numbers = st.floats(allow_nan=True, allow_infinity=True) | st.floats(0, 800)
spans = st.builds(
    lambda text, size, flags, box: {**SPAN, "text": text, "size": size, "flags": flags, "bbox": box, "origin": box[:2]},
    st.text(max_size=40)
    | st.sampled_from(["Ada Lovelace", "arXiv:1706.03762", "10.1000/x", "Abstract", "A Title of It"]),
    numbers,
    st.integers(0, 31),
    st.tuples(numbers, numbers, numbers, numbers),
)
lines = st.builds(
    lambda spans, direction: {"spans": spans, "dir": direction},
    st.lists(spans, max_size=4),
    st.sampled_from([(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0)]),
)


@example([{"spans": [SPAN, {**SPAN, "text": "AAAA", "bbox": (4.0, 0.0, 0.0, 0.0)}], "dir": (1.0, 0.0)}], {})
@given(
    st.lists(lines, max_size=25), st.dictionaries(st.sampled_from(["title", "author", "subject"]), st.text(max_size=60))
)
def test_the_fields_of_any_page_are_clean(lines, file):
    found = metadata_of(page(*lines), file, "")
    for text in (found.title, *found.authors, found.venue, found.doi, found.arxiv_id):
        assert text == " ".join(text.split())
        text.encode("utf-8")
        assert not any(unicodedata.category(char) in ("Cc", "Cs", "Co") for char in text)
    assert all(0 < sure <= 1 and math.isfinite(sure) for sure in found.confidence.values())


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


@needs_shared_data
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


ANY_TEXT = st.text(st.characters(exclude_categories=()))


@given(ANY_TEXT)
def test_clean_text_holds_nothing_dangerous_and_can_be_written(text):
    cleaned = clean_text(text)
    assert all(unicodedata.category(c) not in ("Cc", "Cs") or c in "\n\t" for c in cleaned)
    cleaned.encode("utf-8")
    assert clean_text(cleaned) == cleaned


@pytest.mark.parametrize(
    "raw",
    [
        None,
        "",
        "untitled",
        "Microsoft Word - final_v3.doc",
        "proc.dvi",
        "attending_to_head2_new",
        "doi:10.1016/j.x",
        "arXiv:1706.03762v7",
        "A \x00\x01 title",
        "x" * 301,
    ],
)
def test_what_is_no_title_is_left_out(raw):
    assert sensible_title(raw) == ""


def test_the_newest_year_that_is_cited():
    cited = [
        "[1] A. Lee. Bees. J. Hives 12:1990–2004, 1997.",
        "[2] B. Ray. arXiv:2005.11401, 1999.",
        "C. Wu. A trial, to appear 2199.",
    ]
    assert newest_year(cited, 2026) == 1999
    assert newest_year([], 2026) is None
