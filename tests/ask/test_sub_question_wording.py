"""The questions about one of several things stand alone: grammatical, with their own name and the shared attribute."""

import pytest

from ragscience.ask.sub_queries import sub_queries
from ragscience.ask.sub_question_wording import completed, set_side_by_side, worded
from ragscience.core.records import Paper


@pytest.mark.parametrize(
    ("clause", "alone"),
    [
        ("How do OakMap differ in weight decay?", "What is the weight decay in OakMap?"),
        (
            "How do OakMap differ in the optimizer they are trained with",
            "What is the optimizer OakMap is trained with?",
        ),
        ("How do OakMap differ in what they do with the index", "What does OakMap do with the index?"),
        ("How do OakMap differ in how they are trained", "How is OakMap trained?"),
        ("How does OakMap compare on ImageNet", "How does OakMap do on ImageNet?"),
        ("How do OakMap differ?", "What is OakMap?"),
        ("What is the difference OakMap in depth?", "What is the depth in OakMap?"),
        ("Compare the depth of OakMap.", "What is the depth of OakMap?"),
        ("Compare OakMap in depth", "What is the depth in OakMap?"),
        ("Compare OakMap", "What is OakMap?"),
        ("What text were OakMap trained on?", "What text was OakMap trained on?"),
        ("How many layers do OakMap have?", "How many layers does OakMap have?"),
        ("Which batch size is larger, that of OakMap", "What is the batch size of OakMap?"),
        ("Which has the greater depth, OakMap", "What depth does OakMap have?"),
        ("Which has more layers, OakMap", "How many layers does OakMap have?"),
        ("How do OakMap differ in the way they read a page?", "How does OakMap read a page?"),
        ("Which learns its positions, OakMap", "OakMap: learns its positions?"),
        ("Which of the two models, OakMap, was trained longer", "Was OakMap trained longer?"),
        ("Is the depth of OakMap larger", "What is the depth of OakMap?"),
        ("the context of OakMap", "What is the context of OakMap?"),
        ("How many steps did OakMap take", "How many steps did OakMap take?"),
    ],
)
def test_question_about_one_of_them(clause, alone):
    assert worded(clause, "OakMap") == alone


def test_difference_from_another_is_one_between_the_two():
    assert set_side_by_side("How does A1 differ from B2 in depth?") == "How do A1 and B2 differ in depth?"
    assert set_side_by_side("How does the depth of A1 compare with that of B2?") == (
        "Compare the depth of A1 with that of B2"
    )
    assert set_side_by_side("How does A1 store its maps?") == "How does A1 store its maps?"


@pytest.mark.parametrize(
    ("first", "clause", "whole"),
    [
        ("How does memory grow in A1", "how in B2", "How does memory grow in B2"),
        ("In what language is A1 written", "in which is B2 written", "In what language is B2 written"),
        ("Which fertiliser was used for A1", "which one for B2", "Which fertiliser was used for B2"),
        ("How many parameters does A1 train", "how many does B2 have", "How many parameters does B2 have"),
        ("What is the depth of the big A1", "that of B2", "What is the depth of B2"),
        ("What are the units of A1", "what are those of B2", "What are the units of B2"),
        ("What is the depth of A1", "who wrote B2", ""),
    ],
)
def test_clause_that_leaves_something_out_is_completed(first, clause, whole):
    assert completed(first, clause, "A1") == whole


PAPERS = [
    Paper(number, file, f"/{file}", "0" * 32, 1, 1, 9, 9, title, "2026")
    for number, (file, title) in enumerate(
        [("oak.pdf", "OakMap: Storing Maps"), ("fern.pdf", "Fern: A Small Encoder")], start=1
    )
]


@pytest.mark.parametrize(
    "question",
    [
        "How do OakMap and Fern differ in the training of their retriever?",
        "How does OakMap differ from Fern in the training of the retriever?",
        "Compare the training of the retriever in OakMap and Fern.",
        "Is the training of the retriever in OakMap longer than that in Fern?",
        "What is the training of the retriever in OakMap as opposed to Fern?",
        "How is the training of the retriever done in OakMap, and how in Fern?",
    ],
)
def test_each_part_has_its_own_name_and_what_is_asked(question):
    _, *parts = sub_queries(question, PAPERS)
    assert [part.papers for part in parts] == [("oak.pdf",), ("fern.pdf",)]
    assert len({part.text for part in parts}) == len(parts)
    for part, own, other in zip(parts, ("OakMap", "Fern"), ("Fern", "OakMap"), strict=True):
        assert own in part.text
        assert other not in part.text
        assert "training of the retriever" in part.text


def test_and_between_verbs_and_than_before_a_lone_name_do_not_split():
    for question in (
        "How small can OakMap be and still be liked by readers of Fern?",
        "How much faster is OakMap trained than Fern?",
    ):
        assert {part.text.rstrip("?") for part in sub_queries(question, PAPERS)} == {question.rstrip("?")}
