"""BibTeX and CSL-JSON, read back."""

import json
import unicodedata

import pytest
from bibtexparser.middlewares.names import parse_single_name_into_parts
from hypothesis import example, given
from hypothesis import strategies as st

from ragscience.sources.bib_entries import entries_of
from ragscience.sources.bib_formats import as_bibtex, as_csl, title_latex
from tests.sources.bib_making import paper, parsed, unlatex


def written(one):
    """(type, fields) of the one entry of a paper."""
    (entry,) = parsed(as_bibtex(entries_of([one], [one]))).values()
    return entry


def csl(one):
    (item,) = json.loads(as_csl(entries_of([one], [one])))
    return item


def seen(text):
    """What of a text can be printed, on one line."""
    kept = (" " if unicodedata.category(char) in ("Cc", "Zl", "Zp") else char for char in text)
    return " ".join("".join(char for char in kept if unicodedata.category(char)[0] != "C").split())


@pytest.mark.parametrize(
    ("fields", "kind", "csl_type", "holds"),
    [
        ({"venue": "Postgrad Med J"}, "article", "article-journal", {"journal": "Postgrad Med J"}),
        ({"venue": "IEEE Transactions on Tea"}, "article", "article-journal", {"journal": "IEEE Transactions on Tea"}),
        ({"venue": "NeurIPS"}, "inproceedings", "paper-conference", {"booktitle": "NeurIPS"}),
        ({"venue": "Conference on Fog"}, "inproceedings", "paper-conference", {"booktitle": "Conference on Fog"}),
        ({"venue": "arXiv preprint"}, "misc", "document", {"howpublished": "arXiv preprint"}),
        ({"venue": "Tea & Fog"}, "misc", "document", {"howpublished": r"Tea \& Fog"}),
        (
            {"arxiv_id": "1706.03762v7", "categories": ("cs.CL", "cs.LG"), "url": "https://arxiv.org/pdf/1706.03762"},
            "misc",
            "article",
            {
                "eprint": "1706.03762",
                "archivePrefix": "arXiv",
                "primaryClass": "cs.CL",
                "url": "https://arxiv.org/abs/1706.03762v7",
            },
        ),
        (
            {"venue": "Tea Lett.", "kind": "article", "volume": "12", "number": "3", "pages": "7-19"},
            "article",
            "article-journal",
            {"journal": "Tea Lett.", "volume": "12", "number": "3", "pages": "7--19"},
        ),
        (
            {"venue": "Fog 2020", "kind": "inproceedings", "pages": "7-19"},
            "inproceedings",
            "paper-conference",
            {"booktitle": "Fog 2020", "pages": "7--19"},
        ),
        ({"doi": "10.1/a_b%c"}, "misc", "document", {"doi": "10.1/a_b%c"}),
        ({"url": "https://example.org/a%20b.pdf"}, "misc", "document", {"url": "https://example.org/a%20b.pdf"}),
        ({"url": "file:///home/me/a.pdf"}, "misc", "document", {}),
        ({"url": "https://me:secret@example.org/a.pdf"}, "misc", "document", {}),
        ({}, "misc", "document", {}),
    ],
)  # fmt: skip
def test_type_and_fields_come_from_what_is_known(fields, kind, csl_type, holds):
    one = paper(title="Steering in fog", authors=("Ada Bee",), year=2020, **fields)
    title = {"title": "Steering in fog", "author": ["Ada Bee"], "year": "2020"}
    assert written(one) == (kind, title | holds)
    item = csl(one)
    assert item["type"] == csl_type
    assert item["issued"] == {"date-parts": [[2020]]}
    assert item.get("container-title", "") == fields.get("venue", "")
    assert item.get("DOI", "") == fields.get("doi", "")
    assert item.get("URL", "") == holds.get("url", "")


@pytest.mark.parametrize(
    ("arxiv_id", "year"), [("1706.03762v7", 2017), ("hep-th/9711200", 1997), ("cs.CL/0112017", 2001)]
)
def test_the_year_of_the_arxiv_id_is_taken_where_none_is_printed_and_the_note_says_so(arxiv_id, year):
    one = paper(title="Steering in fog", authors=("Ada Bee",), arxiv_id=arxiv_id)
    fields = written(one)[1]
    assert (fields["year"], fields["note"]) == (str(year), "year of the arXiv id")
    assert fields["eprint"] == arxiv_id.removesuffix("v7")
    assert f"bee{year}steering" in as_bibtex(entries_of([one], [one]))
    printed = paper(title="Steering in fog", authors=("Ada Bee",), arxiv_id=arxiv_id, year=2020)
    assert written(printed)[1]["year"] == "2020"
    assert "note" not in written(printed)[1]


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("BERT: Pre-training of Deep Models", "{BERT}: Pre-training of Deep Models"),
        ("Fast Attention with IO-Awareness", "Fast Attention with {IO}-Awareness"),
        ("Iron levels after eradication of Helicobacter", "Iron levels after eradication of {Helicobacter}"),
        ("Deep words: Why they help", "Deep words: Why they help"),
        ("ATTENTION IS ALL", "ATTENTION IS ALL"),
        ("A 50 % {cut & dry} in C_2", r"A 50 \% {\textbraceleft}cut \& dry{\textbraceright} in {C}\_2"),
        ("At $5 ~ #1^2 \\x", r"At \$5 {\textasciitilde} \#1{\textasciicircum}2 {\textbackslash}x"),
        ("", ""),
    ],
)  # fmt: skip
def test_capitals_that_must_stay_are_in_braces_and_nothing_is_a_command(title, expected):
    assert title_latex(title) == expected


@pytest.mark.parametrize(
    ("name", "bibtex", "parts", "item"),
    [
        ("Ada Lovelace", "Ada Lovelace", ("Ada", "", "Lovelace", ""), {"given": "Ada", "family": "Lovelace"}),
        ("Łukasz Kaiser", "Łukasz Kaiser", ("Łukasz", "", "Kaiser", ""), {"given": "Łukasz", "family": "Kaiser"}),
        ("George van den Driessche", "George van den Driessche", ("George", "van den", "Driessche", ""),
         {"given": "George", "non-dropping-particle": "van den", "family": "Driessche"}),
        ("Diego de Las Casas", "Diego de Las Casas", ("Diego", "de", "Las Casas", ""),
         {"given": "Diego", "non-dropping-particle": "de", "family": "Las Casas"}),
        ("Martin King, Jr.", "King, Jr., Martin", ("Martin", "", "King", "Jr."),
         {"given": "Martin", "family": "King", "suffix": "Jr."}),
        ("John von Neumann III", "von Neumann, III, John", ("John", "von", "Neumann", "III"),
         {"given": "John", "non-dropping-particle": "von", "family": "Neumann", "suffix": "III"}),
        ("King, Jr., Martin", "King, Jr., Martin", ("Martin", "", "King", "Jr."),
         {"given": "Martin", "family": "King", "suffix": "Jr."}),
        ("García Márquez, Gabriel", "García Márquez, Gabriel", ("Gabriel", "", "García Márquez", ""),
         {"given": "Gabriel", "family": "García Márquez"}),
        ("van der Berg, Jan", "Jan van der Berg", ("Jan", "van der", "Berg", ""),
         {"given": "Jan", "non-dropping-particle": "van der", "family": "Berg"}),
        ("danah boyd", "boyd, danah", ("danah", "", "boyd", ""), {"given": "danah", "family": "boyd"}),
    ],
)  # fmt: skip
def test_people_are_taken_apart_alike_by_bibtex_and_csl(name, bibtex, parts, item):
    one = paper(title="Fog", authors=(name,))
    assert written(one)[1]["author"] == [bibtex]
    assert csl(one)["author"] == [item]
    read = parse_single_name_into_parts(bibtex)
    assert tuple(" ".join(part) for part in (read.first, read.von, read.last, read.jr)) == parts


_TEXT = st.text(max_size=60) | st.text(alphabet="aZ {}\\%&$#_^~@\"',=-é中\n", max_size=40)


@given(title=_TEXT, names=st.lists(_TEXT, max_size=4), venue=_TEXT, doi=_TEXT)
@example(title="{", names=["a and b", "}"], venue="\\", doi='10.1/{}\\"')
@example(title="@article{x, y = {z}}", names=["A B, ", "_"], venue="%", doi="#")
def test_whatever_is_printed_on_a_paper_comes_back(title, names, venue, doi):
    one = paper(title=title, authors=tuple(names), venue=venue, doi=doi, year=2020)
    kind, fields = written(one)
    assert unlatex(fields.get("title", "")) == seen(title)
    assert fields["year"] == "2020"
    venues = {"article": "journal", "inproceedings": "booktitle"}
    assert unlatex(fields.get(venues.get(kind, "howpublished"), "")) == seen(venue)
    assert len(fields.get("author", [])) == len([name for name in names if seen(name)])
    for name, back in zip(filter(None, map(seen, names)), fields.get("author", []), strict=True):
        assert sorted(unlatex(back).replace(",", " ").split()) == sorted(name.replace(",", " ").split())
    item = csl(one)
    assert item.get("title", "") == seen(title)
    assert len(item.get("author", [])) == len(fields.get("author", []))
    assert item.get("container-title", "") == seen(venue)
