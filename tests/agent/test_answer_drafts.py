from dataclasses import replace

import pytest

from ragscience.agent.agent_state import Reflection
from ragscience.agent.answer_drafts import lower_of, reflect
from ragscience.core.records import Answer, Found, Sentence
from tests.agent.agent_runs import ANSWERED, PASSAGES


def draft(*verdicts, answerability=0.9, refused=False, hits=PASSAGES[:2]):
    sentences = tuple(Sentence(f"Claim {n}.", verdict, 0.5, None) for n, verdict in enumerate(verdicts))
    models = {"embedder": None, "reranker": None, "llm": None}
    return Answer(
        "id",
        ANSWERED,
        "text",
        "llm",
        refused,
        (),
        Found(ANSWERED, "rrf", hits),
        models,
        sentences=sentences,
        answerability=answerability,
    )


@pytest.mark.parametrize(
    ("verdicts", "answerability", "score", "why"),
    [
        (("supported", "no-claim"), 0.75, 0.75, "answerability"),
        (("supported", "unsupported"), 0.75, 0.5, "support"),
        (("supported", "weak", "weak", "unsupported"), 0.75, 0.65, "support"),
        (("no-claim",), 0.9, 0.0, "support"),
        (("supported",), None, 0.8571, "coverage"),
    ],
)
def test_score_is_the_lowest_of_the_three(verdicts, answerability, score, why):
    # Of the question's seven terms the passages lack "take" alone.
    grade = reflect(ANSWERED, (), draft(*verdicts, answerability=answerability))
    assert (grade.score, grade.why) == (score, why)
    assert grade.missing == ("take",)


def test_refusal_scores_nothing_and_says_what_is_missing():
    grade = reflect(ANSWERED, (), draft(refused=True, hits=()))
    assert grade.score == 0
    assert "Transformer" in grade.missing
    assert grade.unsupported == ()


def test_part_that_no_passage_covers_is_missing():
    parts = (ANSWERED, "training of the big Transformer", "decay rates of Adam")
    assert "decay rates of Adam" in reflect(ANSWERED, parts, draft("supported")).missing
    covered = replace(draft("supported"), found=Found(ANSWERED, "rrf", PASSAGES))
    assert "decay rates of Adam" not in reflect(ANSWERED, parts, covered).missing
    assert "training of the big Transformer" not in reflect(ANSWERED, parts, draft("supported")).missing


@pytest.mark.parametrize(("ours", "theirs"), [(0.2, 0.9), (0.9, 0.2), (0.5, 0.5)])
def test_lower_grade_stands_with_the_feedback_of_both(ours, theirs):
    low = lower_of(
        Reflection(ours, ("a", "b"), ("x",), "support"), Reflection(theirs, ("b", "c"), ("y",), "the model's grade")
    )
    assert low.score == min(ours, theirs)
    assert low.why == ("support" if ours <= theirs else "the model's grade")
    assert set(low.missing) == {"a", "b", "c"}
    assert set(low.unsupported) == {"x", "y"}
