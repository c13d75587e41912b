from bisect import bisect_right
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from langchain_text_splitters import RecursiveCharacterTextSplitter

from ragscience.chunking import chunk_document, chunker_identity
from ragscience.reading.pdf import read_pdf
from ragscience.records import Document, Page
from tests.shared_data import SHARED_DATA, needs_shared_data

SEPARATORS = ["\n\n", "\n", ". ", " ", ""]


def joined(texts, joiner="\n"):
    pages, start = [], 0
    for number, text in enumerate(texts, 1):
        pages.append(Page(number, start, start + len(text)))
        start += len(text) + len(joiner)
    return Document(joiner.join(texts), tuple(pages))


def langchain_texts(text, size, overlap, separators):
    """What LangChain's own class gives, stripped, without blank ones: with size 1 it lets blanks through."""
    splitter = RecursiveCharacterTextSplitter(chunk_size=size, chunk_overlap=overlap, separators=list(separators))
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
SEPARATOR_LISTS = st.one_of(
    st.just(SEPARATORS),
    st.lists(st.sampled_from(["\n\n", "\n", ". ", " ", "a", "ab", "aa", ".", "(", "|"]), max_size=4).map(
        lambda some: [*some, ""]
    ),
)


@given(PAPERS, SETTINGS, SEPARATOR_LISTS)
@example(joined(["aaaa bbbb \n"]), (10, 5), SEPARATORS)
@example(joined(["", "", ""]), (5, 0), SEPARATORS)
@example(joined(["x" * 100]), (1, 0), SEPARATORS)
def test_chunks_are_where_they_say(document, settings, separators):
    size, overlap = settings
    text = document.text
    chunks = chunk_document(document, size=size, overlap=overlap, separators=separators)
    assert [chunk.ordinal for chunk in chunks] == list(range(len(chunks)))
    covered = [False] * len(text)
    for chunk in chunks:
        assert text[chunk.start : chunk.end] == chunk.text
        assert chunk.text == chunk.text.strip() != ""
        assert len(chunk.text) <= size
        for position, page in ((chunk.start, chunk.page_start), (chunk.end - 1, chunk.page_end)):
            assert document.pages[page - 1].start <= position < document.pages[page - 1].end
        covered[chunk.start : chunk.end] = [True] * len(chunk.text)
    assert [c for c, is_covered in zip(text, covered, strict=True) if not is_covered and not c.isspace()] == []
    for before, after in pairwise(chunks):
        assert before.start < after.start
        assert before.end < after.end
        assert before.end - after.start <= overlap
    ours = [chunk.text for chunk in chunks]
    assert only_repeats_are_left_out(ours, langchain_texts(text, size, overlap, separators))


@given(WILD, SETTINGS, st.lists(st.sampled_from(["\n", " ", "a", "ab"]), min_size=1, max_size=3))
def test_without_a_last_resort_a_passage_may_be_longer_as_in_langchain(text, settings, separators):
    size, overlap = settings
    chunks = chunk_document(joined([text]), size=size, overlap=overlap, separators=separators)
    assert all(text[chunk.start : chunk.end] == chunk.text for chunk in chunks)
    assert only_repeats_are_left_out([chunk.text for chunk in chunks], langchain_texts(text, size, overlap, separators))


@needs_shared_data
def test_the_shared_papers_are_cut_as_langchain_cuts_them():
    paths = sorted((SHARED_DATA / "papers").glob("*.pdf"))
    assert paths
    for path in paths:
        document = read_pdf(path)
        chunks = chunk_document(document, size=1500, overlap=200, separators=SEPARATORS)
        assert [chunk.text for chunk in chunks] == langchain_texts(document.text, 1500, 200, SEPARATORS)
        starts = [page.start for page in document.pages]
        for chunk in chunks:
            assert document.text[chunk.start : chunk.end] == chunk.text
            assert chunk.page_start == bisect_right(starts, chunk.start)
            assert chunk.page_end == bisect_right(starts, chunk.end - 1)


def test_the_same_words_on_three_pages_have_three_places():
    document = joined(["same words here"] * 3)
    chunks = chunk_document(document, size=16, overlap=0, separators=SEPARATORS)
    assert [(chunk.start, chunk.page_start, chunk.page_end) for chunk in chunks] == [(0, 1, 1), (16, 2, 2), (32, 3, 3)]


def test_a_chunk_may_cross_pages_and_leave_blank_ones_between():
    (chunk,) = chunk_document(joined(["one", "", "three"]), size=50, overlap=0, separators=SEPARATORS)
    assert (chunk.text, chunk.page_start, chunk.page_end) == ("one\n\nthree", 1, 3)


@pytest.mark.parametrize("text", ["", " ", "\n\n \t\n", "\u00a0\u2003"])
def test_blank_text_has_no_chunks(text):
    assert chunk_document(joined([text]), size=10, overlap=2, separators=SEPARATORS) == []
    assert chunk_document(Document("", ()), size=10, overlap=2, separators=SEPARATORS) == []


@pytest.mark.parametrize(
    ("text", "size", "overlap", "places"),
    [("aaa bb  ", 6, 3, [(0, 6)]), ("    xx yy", 6, 3, [(4, 9)]), (" 00", 2, 1, [(1, 3)])],
)
def test_what_only_repeats_the_chunk_beside_it_is_left_out(text, size, overlap, places):
    assert len(langchain_texts(text, size, overlap, [" ", ""])) == 2
    chunks = chunk_document(joined([text]), size=size, overlap=overlap, separators=[" ", ""])
    assert [(chunk.start, chunk.end) for chunk in chunks] == places


def test_one_huge_word_is_cut_anywhere_with_its_overlap():
    chunks = chunk_document(joined(["\U0001f600" * 5000]), size=1500, overlap=200, separators=SEPARATORS)
    assert [(chunk.start, chunk.end) for chunk in chunks] == [(0, 1500), (1300, 2800), (2600, 4100), (3900, 5000)]


@pytest.mark.parametrize(("size", "overlap", "separators"), [(0, 0, [""]), (5, 6, [""]), (5, -1, [""]), (5, 1, [])])
def test_settings_that_make_no_sense(size, overlap, separators):
    with pytest.raises(ValueError, match=r"chunk|separators"):
        chunk_document(joined(["text"]), size=size, overlap=overlap, separators=separators)


def test_the_identity_tells_settings_apart():
    settings = [(1500, 200, SEPARATORS), (1500, 100, SEPARATORS), (1000, 200, SEPARATORS), (1500, 200, [" ", ""])]
    assert len({chunker_identity(*setting) for setting in settings}) == len(settings)
    assert chunker_identity(1500, 200, ["\n", ""]) == ('sections/2 size=1500 overlap=200 separators=["\\n", ""]')
