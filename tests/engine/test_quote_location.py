from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.core.records import Block, Citation
from ragscience.engine.places import find_quote, placed
from ragscience.library.store import Home, Library
from tests.cli.answers import SENTENCES, answer, hit
from tests.library.test_page_geometry import DOCUMENT, TEXT, THIRD, with_lines

PAGE = "Bees steer by polar-\nised light. In  fog\nthey fly slower. They rest."


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("Bees steer", ["Bees steer"]),
        ("by polarised light.", ["by polar-\nised light."]),
        ("by polar-\nised light.", ["by polar-\nised light."]),
        ("In fog they fly slower.", ["In  fog\nthey fly slower."]),
        ("Bees steer […] They rest.", ["Bees steer", "They rest."]),
        ("Bees steer … fly slower", ["Bees steer", "fly slower"]),
        ("They rest. … Bees steer", []),
        ("Bees swim", []),
        ("", []),
        (" … ", []),
        ("(.*)", []),
    ],
)
def test_a_quote_is_found_in_its_page(quote, found):
    assert [PAGE[start:end] for start, end in find_quote(quote, PAGE)] == found


@given(st.text(), st.data())
def test_what_was_cut_out_is_found_again(text, data):
    start = data.draw(st.integers(0, len(text)))
    quote = text[start : data.draw(st.integers(start, len(text)))]
    if quote.strip() and "…" not in quote and "[...]" not in quote:
        (first, end), *_ = find_quote(quote, text)
        assert text[first:end].split() == quote.split() or "-\n" in text[first:end]


@pytest.fixture
def library(tmp_path):
    home = Home(tmp_path / "home")
    with_lines(home)
    with Library.open(home) as opened:
        yield opened


def cited(quote, page=1, file="a.pdf", **more):
    return Citation(file, page, quote, True, **more)


def place(library, *citations, **more):
    chunk = replace(hit("a.pdf", 1, TEXT).chunk, paper_id=1, path="/p/a.pdf", md5="abc")
    return placed(answer(citations=citations, hits=[replace(hit("a.pdf", 1, TEXT), chunk=chunk)], **more), library)


def test_a_quote_gets_its_offsets_and_boxes(library):
    first, second = place(library, cited("Bees steer."), cited("wheel", 2)).citations
    assert DOCUMENT.text[first.start : first.end] == "Bees steer."
    assert (first.path, first.md5, first.boxes) == ("/p/a.pdf", "abc", ((10.0, 20.0, 120.0, 32.0),))
    assert DOCUMENT.text[second.start : second.end] == "wheel"
    assert second.boxes[0][2:] == THIRD.box[2:]


def test_a_quote_with_a_gap_has_boxes_for_each_part_and_no_offsets(library):
    (citation,) = place(library, cited("Bees … slows them.")).citations
    assert (citation.start, citation.end) == (0, 0)
    assert [box[1] for box in citation.boxes] == [20.0, 40.0]


def test_what_is_known_already_stays(library):
    known = cited("x", start=5, end=10)
    placed_before = cited("x", start=1, end=2, path="/q.pdf", boxes=((1.0, 2.0, 3.0, 4.0),))
    first, second = place(library, known, placed_before).citations
    assert (first.start, first.end, first.boxes) == (5, 10, ((54.9, 20.0, 120.0, 32.0),))
    assert second == placed_before


def test_what_cannot_be_placed_is_left_alone(library):
    given = [cited("not there"), cited("Bees", 7), cited("Bees", file="other.pdf")]
    found = place(library, *given).citations
    assert [(item.start, item.end, item.boxes) for item in found] == [(0, 0, ())] * 3
    assert [item.path for item in found] == ["/p/a.pdf", "/p/a.pdf", ""]


def test_the_evidence_of_sentences_is_placed_too(library):
    supported = replace(SENTENCES[0], evidence=cited("Bees steer."))
    first, second = place(library, sentences=(supported, SENTENCES[3])).sentences
    assert first.evidence.boxes
    assert second == SENTENCES[3]


def test_the_parts_of_an_answer_have_the_same_places(library):
    given = (cited("Bees steer."), cited("wheel", 2))
    made = place(library, *given, blocks=(Block("quote", "Bees steer. A wheel", given),))
    assert made.blocks[0].citations == made.citations
    assert [citation.page for citation in made.citations if citation.boxes] == [1, 2]


def test_a_paper_without_a_passage_is_known_by_its_path(library):
    made = placed(answer(citations=(cited("Bees steer.", path="/p/a.pdf"), cited("Bees", path="/p/b.pdf"))), library)
    assert [(one.md5, bool(one.boxes)) for one in made.citations] == [("abc", True), ("", False)]
