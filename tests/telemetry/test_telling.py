"""What a session tells, without a door around it."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from ragscience.errors import ModelProblem
from ragscience.records import Filters, Found
from ragscience.stage_timing import Timings
from ragscience.terminal.telling import after_first_search, told_answer, told_search
from tests.history.making import answer
from tests.telemetry.making import BEGAN, SEARCH, stage


class Recorder:
    """Stands where a session's telemetry is, and keeps its events."""

    def __init__(self, *, is_on=True):
        self.is_on = is_on
        self.accounts = []

    def record(self, account):
        self.accounts.append(account)


def session(**more):
    embedder = SimpleNamespace(identity=SimpleNamespace(model="m"))
    return SimpleNamespace(**{"telemetry": Recorder(), "embedder": embedder, "reranker_name": "r", **more})


def made_after(*own, search=SEARCH):
    """An answer whose search was made before it, as `after_first_search` gives it."""
    given = replace(answer(), stages=own, timings_ms={"search_ms": 0.01, "total_ms": own[-1].ms})
    given = replace(given, found=replace(given.found, stages=search))
    first = Timings()
    first.add("search_ms", 20.0, BEGAN)
    return after_first_search(given, first)


def test_the_first_search_and_the_answer_are_one_question():
    made = made_after(stage("search", 30.5, 0.01), stage("llm", 31, 60), stage("total", 30, 70))
    assert made.stages == (stage("search", 0, 20), stage("llm", 31, 60), stage("total", 0, 100))
    assert made.timings_ms == {"search_ms": 20.0, "total_ms": 100.0}


def test_a_second_search_inside_the_answer_is_kept():
    again = (*SEARCH, stage("retrieval", 41, 5))
    made = made_after(stage("search", 40, 9), stage("total", 30, 70), search=again)
    assert [each.ms for each in made.stages if each.name == "search"] == [20, 9]
    assert made.timings_ms["search_ms"] == 29


def test_an_answer_that_searched_for_itself_stays_as_it_is():
    given = answer()
    assert after_first_search(given, Timings()) is given


@pytest.mark.parametrize("agent", [True, False])
def test_an_answer_is_told_and_given_back(agent):
    one, given = session(), answer()
    assert told_answer(one, "fog?", lambda: given, agent=agent) is given
    assert [account.answer_id for account in one.telemetry.accounts] == [given.answer_id]


def test_where_nobody_listens_no_account_is_made():
    one = session(telemetry=Recorder(is_on=False), search=lambda question, _: Found(question, "default", ()))
    told_answer(one, "fog?", answer, agent=False)
    told_search(one, "fog?", Filters())
    assert one.telemetry.accounts == []


def test_an_error_is_told_and_raised():
    def fails():
        raise ModelProblem("No model.")

    one = session()
    with pytest.raises(ModelProblem):
        told_answer(one, "fog?", fails, agent=True)
    (account,) = one.telemetry.accounts
    assert (account.how, account.error, account.question) == ("agent", "ModelProblem", "fog?")


def test_a_search_has_its_whole_time_and_is_told():
    took = {"embed_ms": 1.0, "bm25_ms": 2.0, "late_ms": 3.0}
    one = session(search=lambda *_: Found("fog?", "default", (), (), took, stages=SEARCH))
    given = told_search(one, "fog?", Filters())
    assert {*took, "search_ms"} == set(given.timings_ms)
    assert [each.name for each in given.stages] == [*(each.name for each in SEARCH), "search"]
    (account,) = one.telemetry.accounts
    assert account.models == {"embedder": "m", "reranker": "r", "llm": None}


def test_a_search_that_ran_no_model_names_none():
    one = session(search=lambda question, _: Found(question, "default", ()))
    told_search(one, "fog?", Filters())
    assert set(one.telemetry.accounts[0].models.values()) == {None}


def test_a_session_ends_its_telemetry_though_the_library_does_not_close(tmp_path):
    from config import load_settings
    from ragscience.terminal.session import Session

    class Closing:
        closed = False

        def close(self):
            self.closed = True
            raise ModelProblem("It does not close.")

    one = Session(load_settings(home=tmp_path, offline=True), quiet=True, wanted=None)
    one.__dict__ |= {"library": Closing(), "telemetry": (recorder := SimpleNamespace(closed=False))}
    recorder.close = lambda: setattr(recorder, "closed", True)
    with pytest.raises(ModelProblem), one:
        pass
    assert recorder.closed
