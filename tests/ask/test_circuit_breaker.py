"""Models that fail, stall, ramble or say nothing usable: always an Answer, never a crash, never a thousand waits."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.ask.generation import ThoughtFilter, without_thoughts, worded
from tests.ask.asking import SAID, ask, circuit, open_llm
from tests.ask.passages import TRAINING, Search


@pytest.fixture
def llm(server):
    with open_llm(server.url, num_predict=128) as opened:
        yield opened


# -- the circuit


def test_a_script_of_questions_does_not_wait_for_a_model_that_is_down(server, llm):
    server.fault("/api/chat", status=500, error="out of memory", times=None)
    breaker = circuit(failures=3)
    answers = [ask(llm, Search(TRAINING), circuit=breaker) for _ in range(50)]
    assert len(server.of("/api/chat")) == 3
    assert all(given.mode == "extractive" and "3.5 days" in given.text for given in answers)
    late = {given.warnings for given in answers[3:]}
    assert len(late) == 1
    assert "failed 3 times in a row" in late.pop()[0]


def test_after_the_pause_one_question_is_let_through(server, llm):
    now = [0.0]
    breaker = circuit(failures=2, pause_seconds=60, clock=lambda: now[0])
    server.fault("/api/chat", status=500, error="out of memory", times=3)
    for _ in range(5):
        ask(llm, Search(TRAINING), circuit=breaker)
    assert len(server.of("/api/chat")) == 2
    now[0] = 61.0
    for _ in range(5):
        ask(llm, Search(TRAINING), circuit=breaker)
    assert len(server.of("/api/chat")) == 3  # it failed again, and is left alone again
    now[0] = 130.0
    server.script(SAID, SAID)
    assert [ask(llm, Search(TRAINING), circuit=breaker).mode for _ in range(2)] == ["llm", "llm"]


def test_what_is_no_failure_of_the_model_does_not_count(server, llm):
    breaker = circuit(failures=1)
    for _ in range(3):
        assert ask(llm, Search(), circuit=breaker).refused
        ask(llm, Search(TRAINING), question="How long did it take? " * 900, circuit=breaker)
    assert breaker.allows()
    server.script(SAID)
    assert ask(llm, Search(TRAINING), circuit=breaker).mode == "llm"


# -- slow, and in the middle


def test_an_answer_that_takes_too_long_keeps_what_came(server, llm):
    server.script(pieces=["Training took 3.5 days ", "for the big models [1]. ", "And so on."])
    server.fault("/api/chat", cut_after=1, until=threading.Event())
    given = ask(llm, Search(TRAINING), answer_seconds=2.0)
    assert given.text.startswith("Training took 3.5 days (attention.pdf, p.7) […]")
    assert "RAG_ANSWER_SECONDS" in given.warnings[0]
    assert given.blocks[0].kind == "quote"


# -- models that do not do as they are told


@pytest.mark.parametrize(
    "said",
    [
        "",
        " ",
        "\n\n\t\n",
        "<think>Let me see. The passages say…</think>",
        "<think>I never come to an end",
        "</think>",
        "\u200b",
        "```\n```",
        '{"answer": ""}',
    ],
)
def test_nothing_said_leaves_quotes(server, llm, said):
    server.script(pieces=[said])
    given = ask(llm, Search(TRAINING))
    assert (given.mode, given.refused) == ("extractive", False)
    assert "empty answer" in given.warnings[0]
    assert "3.5 days" in given.text


@pytest.mark.parametrize("unit", ["The models were trained on GPUs. ", "ha ", "\n- item", "0"])
def test_a_loop_is_stopped_and_cut_to_one_round(server, llm, unit):
    server.script(pieces=[SAID + " ", *[unit] * 4000])
    given = ask(llm, Search(TRAINING))
    assert len(given.text) < 400
    assert given.text.startswith(SAID[:-1])
    assert any("repeat itself" in warning or "limit of" in warning for warning in given.warnings)


# -- reading replies


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a<think>b</think>c", "ac"),
        ("<think>b", ""),
        ("b</think>c", "c"),
        ("a < think > b", "a < think > b"),
        ("<Think>x</THINK> y", " y"),
    ],
)
def test_thoughts_are_left_out(text, left):
    assert without_thoughts(text) == left


@given(st.lists(st.sampled_from(["a", "<", "think", ">", "</", "<think>", "</think>", " ", "b<t"]), max_size=30))
def test_a_stream_shows_what_the_whole_text_has(pieces):
    text, thoughts = "".join(pieces), ThoughtFilter()
    shown = "".join(thoughts.feed(piece) for piece in pieces) + thoughts.rest()
    whole = ThoughtFilter()
    assert shown == whole.feed(text) + whole.rest()
    assert "<think>" not in shown
    if "</think>" not in without_opened(text):
        assert shown == without_thoughts(text)


def without_opened(text):
    """What is left when each thought that was opened is taken out: a closing mark in it had no opening one."""
    thoughts = ThoughtFilter()
    return thoughts.feed(text) + thoughts.rest()


@given(st.text(max_size=200))
def test_worded_never_fails(text):
    assert isinstance(worded(text), str)
    assert worded('{"answer": ' + text) is not None
