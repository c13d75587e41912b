"""What stands over a sentence is told from the sentence."""

import pytest

from ragscience.ask.cells import without_headings


@pytest.mark.parametrize(
    ("text", "section", "heading", "words"),
    [
        ("5.3 Optimizer\n\nWe used Adam.", "5 Training › 5.3 Optimizer", "5.3 Optimizer", "We used Adam."),
        ("6.1 Data\n\nWe used\nSQuAD.", "5 Training › 5.3 Optimizer", "6.1 Data", "We used SQuAD."),
        ("Methods\n\nSetting\n\nIn Malawi.", "Methods › Setting", "Methods › Setting", "In Malawi."),
        ("ABSTRACT\n\nWe bake.", "Abstract", "ABSTRACT", "We bake."),
        ("Participants in this study were 12.", "Participants", "", "Participants in this study were 12."),
        ("3 We took bees.\n\nThey flew.", "", "", "3 We took bees. They flew."),
        ("5.3 Optimizer", "5.3 Optimizer", "", "5.3 Optimizer"),
        ("1 " + "Word " * 40 + "\n\nText.", "", "", "1 " + "Word " * 40 + "Text."),
        ("", "", "", ""),
    ],
)
def test_a_heading_is_told_from_the_words_behind_it(text, section, heading, words):
    assert without_headings(text, section) == (heading, words)
