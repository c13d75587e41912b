from bisect import bisect_right
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from langchain_text_splitters import RecursiveCharacterTextSplitter

from ragscience.core.records import Document, Element, Page
from ragscience.reading.chunking import chunk_document
from tests.shared_data import needs_shared_data, shared_papers

SEPARATORS = ["\n\n", "\n", ". ", " ", ""]


def joined(texts, joiner="\n"):
    pages, start = [], 0
    for number, text in enumerate(texts, 1):
        pages.append(Page(number, start, start + len(text)))
        start += len(text) + len(joiner)
    return Document(joiner.join(texts), tuple(pages))


def langchain_texts(text, size, overlap):
    """What LangChain's own class gives, stripped, without blank ones: with size 1 it lets blanks through."""
    splitter = RecursiveCharacterTextSplitter(chunk_size=size, chunk_overlap=overlap, separators=SEPARATORS)
    return [chunk.strip() for chunk in splitter.split_text(text) if chunk.strip()]


def only_repeats_are_left_out(ours, theirs):
    """Whether ours are theirs but for passages that the one before ends with or the one after begins with."""
    remaining = list(reversed(ours))
    previous = ""
    for text in theirs:
        if remaining and text == remaining[-1]:
            previous = remaining.pop()
        elif not previous.endswith(text) and not (remaining and remaining[-1].startswith(text)):
            return False
    return not remaining


WILD = st.text(
    st.one_of(
        st.sampled_from("ab. \n\t\u00a0\u2003\u05d0\u0645\u202e\U0001f600\U00020000e\u0301\ufffd"), st.characters()
    )
)
PAPERS = st.lists(WILD, min_size=1, max_size=6).map(joined)
SETTINGS = st.integers(1, 40).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size - 1)))


@given(PAPERS, SETTINGS)
@example(joined(["aaaa bbbb \n"]), (10, 5))
@example(joined(["", "", ""]), (5, 0))
@example(joined(["x" * 100]), (1, 0))
def test_chunks_are_where_they_say(document, settings):
    size, overlap = settings
    chunks = chunk_document(document, size=size, overlap=overlap)
    check(document, chunks, size, overlap)
    ours = [chunk.text for chunk in chunks]
    assert only_repeats_are_left_out(ours, langchain_texts(document.text, size, overlap))


@needs_shared_data
def test_the_shared_papers_are_cut_within_their_structure():
    documents = list(shared_papers().values())[:3]
    assert len(documents) == 3
    kinds = set()
    for document in documents:
        chunks = chunk_document(document, size=1500, overlap=200)
        check(document, chunks, 1500, 200)
        kinds |= {chunk.kind for chunk in chunks}
        for table in (one for one in document.elements if one.kind == "table"):
            inside = [chunk for chunk in chunks if chunk.start < table.end and table.start < chunk.end]
            assert {chunk.kind for chunk in inside} == {"table"}
            assert len(inside) == 1 or table.end - inside[0].start > 1500
        for chunk in chunks:
            touched = {one.kind for one in document.elements if one.start < chunk.end and chunk.start < one.end}
            assert touched <= {"heading", "reference"} if chunk.kind == "reference" else "reference" not in touched
    assert {"text", "table", "reference", "abstract"} <= kinds


def check(document, chunks, size, overlap):
    """What holds for the chunks of every document."""
    text, starts = document.text, [page.start for page in document.pages]
    covered = [False] * len(text)
    for number, chunk in enumerate(chunks):
        assert chunk.ordinal == number
        assert text[chunk.start : chunk.end] == chunk.text == chunk.text.strip() != ""
        assert len(chunk.text) <= size
        assert chunk.page_start == document.pages[bisect_right(starts, chunk.start) - 1].number
        assert chunk.page_end == document.pages[bisect_right(starts, chunk.end - 1) - 1].number
        covered[chunk.start : chunk.end] = [True] * len(chunk.text)
    assert [c for c, is_covered in zip(text, covered, strict=True) if not is_covered and not c.isspace()] == []
    for before, after in pairwise(chunks):
        assert before.start < after.start
        assert before.end < after.end
        assert before.end - after.start <= overlap


def structured(*parts, title="On Chunks"):
    """A document of one page whose elements are (kind, section, text), an empty line between each two."""
    text, elements = "", []
    for kind, section, words in parts:
        text += "\n\n" if text else ""
        elements.append(Element(len(text), len(text) + len(words), kind, 1, 1 if kind == "heading" else 0, section))
        text += words
    return Document(text, (Page(1, 0, len(text)),), title, (), tuple(elements))


def cut(document, size=120, overlap=20):
    chunks = chunk_document(document, size=size, overlap=overlap)
    check(document, chunks, size, overlap)
    return chunks


SENTENCE = "A sentence of some forty letters stands here. "


def numbered(*numbers):
    return " ".join(f"Sentence {number:02} is here." for number in numbers)


def test_paragraphs_fill_a_chunk_and_the_next_repeats_the_last_sentence():
    document = structured(*(("text", "1 One", numbered(*range(first, first + 4))) for first in range(0, 12, 4)))
    first, second = cut(document, size=180, overlap=30)
    assert first.text == "\n\n".join((numbered(0, 1, 2, 3), numbered(4, 5, 6, 7)))
    assert second.text == "\n\n".join((numbered(7), numbered(8, 9, 10, 11)))
    assert first.header == second.header == "On Chunks › 1 One"


def prose(letters):
    """So many characters of short sentences."""
    return ("Some words stand here. " * letters)[: letters - 1] + "."


def test_a_chunk_ends_where_its_section_does_and_no_overlap_reaches_beyond():
    document = structured(
        ("heading", "1 One", "1 One"), ("text", "1 One", prose(500)), ("heading", "1 One › 1.1 A", "1.1 A"),
        ("text", "1 One › 1.1 A", prose(1000)), ("text", "1 One › 1.2 B", prose(400)),
    )  # fmt: skip
    chunks = cut(document, size=800, overlap=200)
    assert [chunk.section for chunk in chunks] == ["1 One", "1 One › 1.1 A", "1 One › 1.1 A", "1 One › 1.2 B"]
    assert chunks[1].text.startswith("1.1 A\n\n")
    assert chunks[1].header == "On Chunks › 1 One › 1.1 A"
    assert [after.start < before.end for before, after in pairwise(chunks)] == [False, True, False]


def test_a_sentence_longer_than_a_chunk_is_cut_between_its_words_and_a_word_anywhere():
    words = cut(structured(("text", "1 One", "word " * 40)), size=60, overlap=20)
    assert {word for chunk in words for word in chunk.text.split()} == {"word"}
    letters = cut(structured(("text", "1 One", "x" * 300)), size=120, overlap=20)
    assert [(chunk.start, chunk.end) for chunk in letters] == [(0, 120), (100, 220), (200, 300)]


def test_a_heading_goes_with_the_references_or_the_figure_behind_it():
    document = structured(
        ("text", "1 One", SENTENCE), ("heading", "References", "References"), ("reference", "References", "[1] A."),
        ("heading", "2 Two", "2 Two"), ("figure", "2 Two", "0 5 10"), ("heading", "3 Three", "3 Three"),
    )  # fmt: skip
    said = [(chunk.kind, chunk.text) for chunk in cut(document)]
    assert said[1:] == [("reference", "References\n\n[1] A."), ("figure", "2 Two\n\n0 5 10"), ("text", "3 Three")]


TABLE = "| Model | F1 |\n|---|---|\n" + "\n".join(f"| row {number} | {number}.5 |" for number in range(10))


def test_a_table_is_one_chunk_with_its_caption():
    document = structured(
        ("text", "1 One", SENTENCE), ("caption", "1 One", "Table 1: Rows."), ("table", "1 One", TABLE),
        ("caption", "1 One", "Table 2: More."), ("table", "1 One", TABLE), ("text", "1 One", SENTENCE),
    )  # fmt: skip
    chunks = cut(document, size=300)
    assert [chunk.kind for chunk in chunks] == ["text", "table", "table", "text"]
    assert chunks[2].text == f"Table 2: More.\n\n{TABLE}"


def test_a_table_that_is_too_large_is_split_between_rows_and_repeats_its_header_beside():
    document = structured(("caption", "1 One", "Table 1: Rows."), ("table", "1 One", TABLE))
    first, *rest = cut(document, size=100)
    assert first.text.startswith("Table 1: Rows.\n\n| Model | F1 |")
    assert len(rest) >= 2
    for chunk in rest:
        assert chunk.header == "On Chunks › 1 One\n| Model | F1 |"
        assert all(line.startswith("| row") and line.endswith("|") for line in chunk.text.split("\n"))


KINDS = st.sampled_from(["title", "heading", "text", "list", "caption", "table", "figure", "reference", "equation"])
PARTS = st.lists(
    st.tuples(KINDS, st.sampled_from(["", "1 A", "1 A › 1.1 B", "1 A › 1.2 C", "2 D"]), WILD.filter(str.strip)),
    min_size=1,
    max_size=8,
)


@given(PARTS, SETTINGS)
def test_structured_documents_are_covered_whole(parts, settings):
    size, overlap = settings
    document = structured(*parts)
    for chunk in cut(document, size, overlap):
        if chunk.kind not in ("table", "reference", "figure"):  # a heading goes with these
            inside = [one for one in document.elements if one.start < chunk.end and chunk.start < one.end]
            assert len({one.section.partition(" › ")[0] for one in inside if one.section}) <= 1


@pytest.mark.parametrize("text", ["", " ", "\n\n \t\n", "\u00a0\u2003"])
def test_blank_text_has_no_chunks(text):
    assert chunk_document(joined([text]), size=10, overlap=2) == []
    assert chunk_document(Document("", ()), size=10, overlap=2) == []
