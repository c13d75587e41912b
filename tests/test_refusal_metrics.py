import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.refusal_metrics import Judged, Probe, auc, everything_but, judge, rates
from ragscience.core.records import Filters, Found
from ragscience.library.store import Home, Library
from tests.library.making import add, numbered_paper, paper_of, unit_rows

FILES = ("rag.pdf", "xrag.pdf", "[draft] resnet*.pdf")
SCORES = st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=25)


class Empty:
    """A searcher that remembers what it was asked, and finds nothing."""

    def __init__(self):
        self.asked = []

    def __call__(self, question, filters):
        self.asked.append((question, filters))
        return Found(question, "default", ())


@given(SCORES, SCORES)
def test_auc_is_what_comparing_each_with_each_gives(yes, no):
    pairs = [1.0 if a > b else 0.5 if a == b else 0.0 for a in yes for b in no]
    assert auc(yes, no) == pytest.approx(sum(pairs) / len(pairs))


def test_auc_of_nothing_is_a_toss():
    assert auc([], [1.0]) == auc([1.0], []) == 0.5


def test_an_answerable_question_is_asked_again_without_its_papers():
    search = Empty()
    probes = [Probe("a", "What is RAG?", frozenset({"rag.pdf"})), Probe("b", "Who ate it?", frozenset())]
    judged = judge(probes, FILES, search)
    assert [(each.probe.question_id, each.answerable) for each in judged] == [("a", True), ("a", False), ("b", False)]
    assert search.asked[0] == ("What is RAG?", Filters())
    assert search.asked[1] == ("What is RAG?", everything_but({"rag.pdf"}, FILES))
    assert search.asked[2] == ("Who ate it?", Filters())


def test_a_question_that_every_paper_answers_is_asked_once():
    search = Empty()
    assert len(judge([Probe("a", "What?", frozenset(FILES))], FILES, search)) == 1


@pytest.mark.parametrize("left_out", ["rag.pdf", "xrag.pdf", "[draft] resnet*.pdf", "été.pdf"])
def test_exactly_the_other_papers_are_left(tmp_path, left_out):
    """A file whose name ends like another's, or has a pattern's signs in it, is left out all the same."""
    home = Home(tmp_path)
    rng = np.random.default_rng(3)
    with Library.open_for_writing(home) as library:
        for file in (*FILES, "été.pdf"):
            add(library, paper_of(f"/papers/{file}", [f"words of {file}"], unit_rows(rng, 1)))
        files = [paper.file for paper in library.papers()]
        kept = library.select(everything_but({left_out}, files))
        assert {chunk.file for chunk in library.chunks(kept.tolist())} == set(files) - {left_out}


def judged_of(*scores):
    """(question id, answerable, score) becomes what `rates` wants."""
    judged = [
        Judged(Probe(name, "?", frozenset()), answerable, Found("?", "default", ())) for name, answerable, _ in scores
    ]
    return judged, [score for *_, score in scores]


def test_what_is_refused_is_what_is_below_the_threshold():
    judged, scores = judged_of(
        ("a", True, 0.9), ("a", False, 0.2), ("b", True, 0.35), ("b", False, 0.6), ("c", True, 0.1), ("d", False, 0.34)
    )
    found = rates(judged, scores, 0.35)
    assert (found.answerable, found.unanswerable) == (3, 3)
    assert found.wrongly_refused == pytest.approx(1 / 3)
    assert found.rightly_refused == pytest.approx(2 / 3)
    assert found.auc == pytest.approx(5 / 9)
    for value, (low, high) in (
        (found.auc, found.auc_interval),
        (found.wrongly_refused, found.wrongly_refused_interval),
        (found.rightly_refused, found.rightly_refused_interval),
    ):
        assert 0 <= low <= value <= high <= 1
        assert low < high


def test_the_intervals_narrow_with_more_questions_and_are_the_same_every_time():
    rng = np.random.default_rng(1)

    def width(count):
        rows = [(str(number), number % 2 == 0, float(rng.random())) for number in range(count)]
        found = rates(*judged_of(*rows), 0.5)
        assert found == rates(*judged_of(*rows), 0.5)
        return found.rightly_refused_interval[1] - found.rightly_refused_interval[0]

    assert width(400) < width(40) / 2


def test_of_nothing_there_is_nothing_to_say():
    found = rates([], [], 0.5)
    assert (found.answerable, found.unanswerable, found.auc) == (0, 0, 0.5)
    assert found.wrongly_refused_interval == (0.0, 0.0)


def test_a_made_paper_is_found_by_its_whole_name(tmp_path):
    home = Home(tmp_path)
    with Library.open_for_writing(home) as library:
        add(library, numbered_paper(0))
        add(library, numbered_paper(1))
        first, second = (paper.file for paper in library.papers())
        kept = library.select(everything_but({first}, [first, second]))
        assert {chunk.file for chunk in library.chunks(kept.tolist())} == {second}
