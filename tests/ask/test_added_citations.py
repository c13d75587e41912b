"""An answer that cites nothing gets the pages that support its sentences, marked as ours, and no other."""

import pytest

from ragscience.ask.check import check
from tests.ask.test_checking import HITS


def added(text):
    return check(text, HITS, read=None, adds=True)


def test_a_sentence_that_a_page_holds_gets_that_page():
    said = HITS[0].chunk.text.split(". ")[0].replace("\n", " ").strip().rstrip(".")
    made = added(f"{said}. Unicorns prefer tea on Sundays.")
    (citation,) = made.citations
    assert (citation.file, citation.page) == (HITS[0].chunk.file, HITS[0].chunk.page_start)
    assert (citation.added, citation.supported) == (True, True)
    assert f"({citation.file}, p.{citation.page})." in made.text
    assert [each.verdict for each in made.sentences] == ["supported", "unsupported"]
    assert made.sentences[0].evidence.added
    assert made.text.endswith("Unicorns prefer tea on Sundays.")


@pytest.mark.parametrize("text", ["", "Unicorns prefer tea on Sundays.", "I could not find this in your papers.", "…"])
def test_what_no_page_holds_stays_as_it_is(text):
    assert added(text) == check(text, HITS, read=None)


def test_without_passages_nothing_is_added():
    checked = check("Everything is a sum.", [], read=None)
    assert check("Everything is a sum.", [], read=None, adds=True) == checked
