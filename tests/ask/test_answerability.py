"""How likely passages answer a question, before quotes are chosen."""

from ragscience.ask.confidence import LookedFor, answerability
from ragscience.ask.missing_things import Sought, things_of
from ragscience.core.records import Found
from tests.ask.passages import TRAINING

NOTHING = LookedFor((), ())


def likely(signals, looked=NOTHING, hits=(TRAINING,)):
    return answerability(Found("How long did training take?", "default", hits, signals=signals), looked)


def looked(*, there, of):
    things = things_of(" ".join(f"annealer{number}" for number in range(of)))
    return LookedFor(tuple(Sought(thing, at < there) for at, thing in enumerate(things)), ())


def test_the_nearer_a_passage_and_the_more_words_are_there_the_likelier():
    scores = [likely({"maxsim": step / 10}) for step in range(11)]
    assert scores == sorted(scores)
    there = [likely({"maxsim": 0.7}, looked(there=count, of=4)) for count in range(5)]
    assert there == sorted(there)
    assert there[0] < 0.15 < there[-1]


def test_nothing_found_answers_nothing_and_what_a_route_chose_does():
    assert likely({"maxsim": 0.9}, hits=()) == 0.0
    assert likely({"routed": 1.0}) == 1.0
