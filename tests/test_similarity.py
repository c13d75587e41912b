"""The same paper twice, against exact set arithmetic and the shared papers."""

import numpy as np
import pytest

from ragscience.core.records import Metadata
from ragscience.library.similarity import (
    SHINGLE_WORDS,
    SKETCH_SIZE,
    fingerprint_of,
    near_duplicates,
    overlaps,
    without_older,
)
from ragscience.library.store import Home, Library, NewPaper
from ragscience.reading.glyph_repair import FontRepairs
from ragscience.reading.page_reader import read_page
from ragscience.reading.paper_metadata import metadata_of
from ragscience.reading.pdf_file import opened
from tests.library.making import CHUNKER, EMBEDDER, paper_of, unit_rows
from tests.shared_data import SHARED_DATA, needs_shared_data

NOBODY = Metadata()


def words(start, count):
    """Text whose words occur nowhere else."""
    return " ".join(f"w{number}" for number in range(start, start + count))


def shingles_of(text):
    parts = text.split()
    return {tuple(parts[start : start + SHINGLE_WORDS]) for start in range(len(parts) - SHINGLE_WORDS + 1)}


def pair(one, other, first_text, second_text):
    return near_duplicates([fingerprint_of("a", first_text, one, 1), fingerprint_of("b", second_text, other, 2)])


@pytest.mark.parametrize("shared", [0, 1000, 2500, 4000, 5000])
def test_overlap_of_long_texts_is_near(shared):
    one, other = words(0, 5000), words(5000 - shared, 8000)
    mine, yours = shingles_of(one), shingles_of(other)
    prints = fingerprint_of("a", one, NOBODY, 0), fingerprint_of("b", other, NOBODY, 0)
    assert all(len(print_.sketch) == SKETCH_SIZE for print_ in prints)
    assert overlaps(prints, [(0, 1)])[0] == pytest.approx(len(mine & yours) / len(mine), abs=0.1)


def test_the_same_text_under_other_names_is_found_and_no_other():
    texts = [words(0, 2000), words(5000, 2000), words(0, 1900) + " " + words(9000, 100)]
    found = near_duplicates([fingerprint_of(str(at), text, NOBODY, at) for at, text in enumerate(texts)])
    assert [(one.newer, one.older, one.reasons, one.newer_by) for one in found] == [("2", "0", ("text",), "file date")]
    assert found[0].overlap == pytest.approx(0.95, abs=0.05)


def test_a_paper_leaves_only_where_one_that_is_the_same_stays(tmp_path):
    """The first and the last of a chain have too little in common to be the same."""
    texts = {"a": words(0, 600), "b": words(200, 800), "c": words(600, 800)}
    with Library.open_for_writing(Home(tmp_path)) as library:
        library.set_identity(EMBEDDER, CHUNKER)
        for at, (name, text) in enumerate(texts.items()):
            new = paper_of(f"/p/{name}.pdf", [text], unit_rows(np.random.default_rng(at), 1))
            library.add_paper(NewPaper(**vars(new), size_bytes=1, modified_ns=at + 1))
        pairs = near_duplicates(library.fingerprints())
        assert [(pair.newer, pair.older) for pair in pairs] == [("b.pdf", "a.pdf"), ("c.pdf", "b.pdf")]
        assert [pair.older for pair in without_older(pairs)] == ["b.pdf"]


def text_and_metadata(path):
    with opened(path, "") as document:
        texts = [page.get_text() for page in document.pages(0, min(6, len(document)))]
        repairs = FontRepairs()
        repairs.decide()
        first = read_page(document, 0, repairs)
        return "\n".join(texts), metadata_of(first.spans, document.metadata, texts[0])


@needs_shared_data
def test_the_copies_among_the_shared_papers_are_found_and_nothing_else():
    papers = [*sorted((SHARED_DATA / "papers").glob("*.pdf")), *sorted((SHARED_DATA / "duplicates").glob("*.pdf"))]
    found = near_duplicates([fingerprint_of(path.name, *text_and_metadata(path), 0) for path in papers])
    attention = "attention_is_all_you_need_1706.03762.pdf"
    assert {(one.newer, one.older) for one in found} == {
        (attention, "attention_v7_same_paper_other_bytes.pdf"),
        (attention, "attention_older_version.pdf"),
        ("attention_v7_same_paper_other_bytes.pdf", "attention_older_version.pdf"),
        ("bert_1810.04805.pdf", "bert_alt_1810.04805v1.pdf"),
    }
    assert all({"identifier", "title"} <= set(one.reasons) for one in found)
