"""What a question asks for."""

import pytest

from ragscience.ask.question_needs import needs_of
from ragscience.core.tokenizing import terms


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("How many people took part?", "number"),
        ("How long did it take to fire the kiln?", "number"),
        ("What share of the bees came back?", "number"),
        ("How much memory does the index need?", "number"),
        ("What learning rate does Adam use by default?", "number"),
        ("Which optimizer was used for the small model?", "name"),
        ("Who counted the bees?", "name"),
        ("Which data sets were used for training?", "name"),
        ("List the baselines.", "other"),
        ("What are dangling links?", "definition"),
        ("What is meant by a warm kiln?", "definition"),
        ("What is the degradation problem that motivates residual learning?", "definition"),
        ("How do the sizes of wet and dry glazes differ, and by how much?", "reason"),
        ("Why are so large a number of kilns needed?", "reason"),
        ("Compare the first kiln with the second.", "other"),
        ("Why is the glaze fired twice?", "reason"),
        ("What is the formula of the heat loss?", "formula"),
        ("What happens when the kiln stops?", "other"),
        ("How is the glaze made?", "reason"),
        ("", "other"),
    ],
)
def test_what_kind_of_thing_is_asked_for(question, kind):
    assert needs_of(question).kind == kind


def test_what_is_asked_for_is_told_from_what_it_is_asked_about():
    needs = needs_of("What learning rate does AdaMax use by default?")
    assert needs.attribute == frozenset(terms("learning rate"))
    assert needs.entities == ("AdaMax",)


def test_names_are_words_with_capitals_or_figures_inside():
    assert needs_of("Which GPUs trained ResNet-56 and the Transformer on mp3s?").entities == (
        "GPUs",
        "ResNet-56",
        "Transformer",
        "mp3s",
    )
