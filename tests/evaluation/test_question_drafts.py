"""Questions drafted from papers."""

import pytest

from ragscience.evaluation.question_drafts import DraftSource, drafts

DEFINITION = "Kelvin-7 (K7) is a tide-predicting machine of brass that sums ten harmonic constituents."
TIDES = DraftSource("tides.pdf", ((1, f"{DEFINITION} It is a marvel of its time, as everybody says."),))


@pytest.mark.parametrize(
    ("sentence", "question"),
    [
        ("The bandwidth limit is the problem of moving words between two memories.", "What is the bandwidth limit?"),
        ("An attention head is a weighted sum over the values of all positions.", "What is an attention head?"),
        ("Word vectors are an old tool for the study of meaning in language.", "What are Word vectors?"),
        ("This method is a weighted sum over the values of all the positions.", None),
        ("The following is a weighted sum over the values of all the positions.", None),
        ("attention is a weighted sum over the values of all the positions here.", None),
        ("Attention is a sum.", None),
        ("Attention is a, b and many other things that one cannot say in short.", None),
        ("We know that attention is a weighted sum over values of all positions.", None),
    ],
)
def test_what_counts_as_a_definition(sentence, question):
    source = DraftSource("a.pdf", ((1, sentence),))
    assert [draft.question for draft in drafts([source], 1)] == ([question] if question else [])


def many(name):
    sentences = [f"{name} machine {letter} is a tide-predicting wheel number {letter}." for letter in "BCDEFGH"]
    return DraftSource(f"{name}.pdf", tuple(enumerate(sentences, 1)))


def test_papers_take_turns_and_none_is_asked_twice():
    sources = [many("Kelvin"), TIDES, many("Ferrel"), many("Kelvin")]
    made = drafts(sources, 6)
    assert [draft.file for draft in made][:3] == ["Kelvin.pdf", "tides.pdf", "Ferrel.pdf"]
    assert [draft.file for draft in made].count("tides.pdf") == 1
    assert len({draft.question for draft in drafts(sources, 99)}) == len(drafts(sources, 99)) == 7 + 7 + 1
    assert drafts(sources, 6) == made
    assert drafts(sources, 0) == []
