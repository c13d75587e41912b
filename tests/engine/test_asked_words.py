"""Where the words of a question stand in a text."""

import pytest

from ragscience.engine.printable import asked_words, excerpt


@pytest.mark.parametrize(
    ("question", "text", "marked"),
    [
        ("Which optimizers train it?", "We trained with the Adam optimizer.", ["trained", "optimizer"]),
        (
            "What is self-attention?",
            "Attention, or self-attention, pays.",
            ["Attention", "self-attention"],
        ),
        ("What does paper 2 list?", "The paper lists 2 of the a.", []),
        ("注意力机制是什么?", "这个注意力机制很好。", ["注意力机制"]),
        ("naïve Bayes", "A naive or NAÏVE guess", ["naive", "NAÏVE"]),
        ("", "Anything.", []),
    ],
)
def test_the_content_words_of_the_question_are_found_in_their_other_forms(question, text, marked):
    assert [text[start:end] for start, end in asked_words(question, text)] == marked


LONG = (
    "At first there is much that nobody asked for at all. " * 4 + "The kiln reaches 1280 degrees. " + "Then more. " * 9
)


def test_an_excerpt_holds_what_was_asked_for_and_cuts_no_word():
    part = excerpt("How hot is the kiln, in degrees?", LONG, 60)
    assert "kiln reaches 1280 degrees" in part
    assert part.startswith("… ")
    assert part.endswith(" …")
    assert len(part) <= 64
    assert set(part.split()) <= {*LONG.split(), "…"}
    assert excerpt("How hot is the kiln?", LONG, 90).startswith("… At first")
    assert excerpt("kiln", "Short\n text.", 60) == "Short text."
    assert excerpt("nothing of it", LONG, 40).startswith("At first there is")
