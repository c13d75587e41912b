import io
from dataclasses import replace
from types import SimpleNamespace

import pytest
from rich.console import Console

from ragscience.cli.answer_view import answer_footer
from ragscience.cli.paper_views import papers_view, show_page, show_paper
from ragscience.cli.source_views import hits_view
from ragscience.core.records import Element, Metadata, title_of
from ragscience.engine.papers import Papers, paper_outline
from ragscience.engine.places import section_of, sources_of
from ragscience.library.store import Home, Library
from tests.library.making import add, paper_of, unit_rows

from .answers import BEES_1, BEES_2, answer, hit

PAGES = (
    [
        ("title", 0, "Of Glazes"),
        ("heading", 1, "1 Kilns\nand fires"),
        ("text", 0, "They burn."),
        ("caption", 0, "Table 1. Heat."),
        ("table", 0, "| kiln | 1280 |"),
    ],
    [
        ("table", 0, "| alone | 3 |\n| more | 4 |"),
        ("heading", 2, "1.1 Wood"),
        ("caption", 0, "Algorithm 1. Firing."),
        ("reference", 0, "[1] Knuth. Art."),
    ],
    [
        ("reference", 0, "of the thing, 1968."),
        ("reference", 0, "[2] Lovelace. Notes."),
        ("reference", 0, "3. Turing. On."),
    ],
)


def words(view, *given, encoding="utf-8", **more):
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    view(*given, Console(file=stream, highlight=False, markup=False, emoji=False, width=200), **more)
    stream.flush()
    return stream.buffer.getvalue().decode(encoding)


def page_of(library, name, number):
    return Papers(SimpleNamespace(library=library, publish_damage=lambda: None)).page(name, number)


def shown_paper(outline):
    return words(lambda given, out: show_paper(given, out, "a.pdf"), outline)


@pytest.fixture
def library(tmp_path):
    import numpy as np

    elements, start = [], 0
    for number, parts in enumerate(PAGES, 1):
        for kind, level, text in parts:
            elements.append(Element(start, start + len(text), kind, number, level, "1 Kilns"))
            start += len(text) + 1
    texts = ["\n".join(text for *_, text in parts) for parts in PAGES]
    made = paper_of("/papers/glazes.pdf", texts, unit_rows(np.random.default_rng(1), len(texts)))
    pages = (replace(made.document.pages[0], furniture="Annals of\x1b[2J Fire"), *made.document.pages[1:])
    pages = (*pages[:2], replace(pages[2], warning="could not be read in part"))
    metadata = Metadata("Of Glazes", ("Ada L.",), 1843, "", "10.1/x", "", {"title": 0.9, "authors": 0.4, "year": 0.5})
    document = replace(made.document, pages=pages, elements=tuple(elements), metadata=metadata)
    with Library.open_for_writing(Home(tmp_path)) as opened:
        add(opened, replace(made, document=document))
        yield opened


@pytest.fixture
def paper(library):
    return library.papers()[0]


def test_a_page_has_its_kinds_in_the_margin_and_what_was_left_out_at_its_end(library, paper):
    lines = words(show_page, page_of(library, paper.file, 1)).splitlines()
    assert lines == [
        "title      Of Glazes",
        "heading 1  1 Kilns",
        "           and fires",
        "text       They burn.",
        "caption    Table 1. Heat.",
        "table      | kiln | 1280 |",
        "left out   Annals of␛[2J Fire",
    ]
    assert "could not be read in part" in words(show_page, page_of(library, paper.file, 3))


def test_what_is_not_sure_has_a_question_mark(library, paper):
    rows = dict(
        line.split(maxsplit=1)
        for line in shown_paper(paper_outline(library, paper.file)).splitlines()
        if " " in line.strip()
    )
    told = {name: rows[name].strip() for name in ("title", "authors", "year", "DOI")}
    assert told == {"title": "Of Glazes", "authors": "Ada L. ?", "year": "1843", "DOI": "10.1/x"}
    assert "venue" not in rows
    nameless = replace(paper, metadata=Metadata(), title="")
    assert "(not known)" in shown_paper(replace(paper_outline(library, paper.file), paper=nameless))


@pytest.mark.parametrize(
    ("read", "confidence", "own", "called"),
    [
        ("Read", 0.5, "Own", "Read"),
        ("Read", 0.49, "Own", "Own"),
        ("Read", 0.1, "", "Read"),
        ("", 0.0, "Own", "Own"),
        ("", 0.0, "", ""),
    ],
)
def test_a_paper_is_called_by_the_surer_title(paper, read, confidence, own, called):
    named = replace(paper, title=own, metadata=Metadata(read, confidence={"title": confidence} if read else {}))
    assert title_of(named) == called
    assert called in words(papers_view, [named]).split("\t")


PATH = "3 Model › 3.2 Attention"


def test_a_source_stands_under_the_heading_of_the_passage_that_holds_its_quote():
    found = [
        hit("bees.pdf", 1, "Bees sleep.", section="1 Sleep"),
        hit("bees.pdf", 1, "Now: Bees steer. And so on.", start=100, section=PATH),
        hit("kilns.pdf", 1, "Bees steer.", section="9 Other"),
    ]
    (source,) = sources_of(answer(citations=[BEES_1], hits=found))
    assert section_of(answer(citations=[BEES_1], hits=found), source) == "3.2 Attention"
    by_place = replace(BEES_1, quote="Bees […] steer.", start=103, end=110)
    (source,) = sources_of(answer(citations=[by_place], hits=found))
    assert section_of(answer(citations=[by_place], hits=found), source) == "3.2 Attention"
    several = [replace(BEES_1, quote=quote) for quote in ("Bees sleep.", "And so on.", "Bees steer.")]
    (source,) = sources_of(answer(citations=several, hits=found))
    assert section_of(answer(citations=several, hits=found), source) == "1 Sleep, 3.2 Attention"
    third = hit("bees.pdf", 1, "Bees dance.", section="4 Dance")
    more = answer(citations=[*several, replace(BEES_1, quote="Bees dance.")], hits=[*found, third])
    assert section_of(more, sources_of(more)[0]) == "1 Sleep, 3.2 Attention, …"
    (source,) = sources_of(answer(citations=[BEES_2], hits=found))
    assert section_of(answer(citations=[BEES_2], hits=found), source) == ""


def test_sections_are_shown_with_sources_and_hits():
    given = answer(citations=[BEES_1], hits=[hit("bees.pdf", 1, "Bees steer.", section=PATH, kind="table")])
    assert words(answer_footer, given) == "\nSources:\n  [1] bees.pdf, p.1 · 3.2 Attention\n"
    refused = replace(given, refused=True, question="How do bees steer?")
    assert "bees.pdf, p.1 · 3.2 Attention: Bees steer." in words(answer_footer, refused)
    assert words(hits_view, given.found).startswith(f"1  bees.pdf, p.1 · {PATH}  table\n")
    assert words(hits_view, given.found, encoding="ascii").startswith("1  bees.pdf, p.1 - 3 Model > 3.2 Attention")
