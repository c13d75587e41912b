"""The window shared out: what goes into a prompt, what is left out, and that a server never has to cut it."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.ask.prompts import ANSWER_REQUEST, ANSWER_RULES, CUT_MARK, Window, conversation, passage_text, plan
from ragscience.core.records import Found, Turn
from tests.ask.asking import SAID, ask, open_llm, prompt
from tests.ask.passages import Search, hit
from tests.ollama_server import OllamaServer

LINE = "Training run {n} of the big models took {n}.5 days on eight graphics cards, at a cost of {n},000 dollars. "


def words(text):
    return len(re.findall(r"\w+|[^\w\s]", text))


def passages(count, length=10):
    return [hit("".join(LINE.format(n=n) for n in range(length)), rank=rank, page=rank) for rank in range(1, count + 1)]


def window_of(tokens, reserve):
    """So many tokens beside the rules."""
    return Window(tokens + words(ANSWER_RULES + ANSWER_REQUEST), reserve, words)


def made(hits, history=(), *, window=1000, reserve=100):
    return plan(Found("Why?", "default", tuple(hits)), history, window=window_of(window, reserve))


def test_the_lowest_ranked_passages_are_left_out_first():
    sent = made(passages(12, 5), window=1000)
    kept = [each.rank for each, _ in sent.passages]
    assert kept == list(range(1, len(kept) + 1))
    assert 1 <= len(kept) < 12
    assert f"without {12 - len(kept)} lowest-ranked passages of 12." in sent.warnings[0]
    assert "RAG_NUM_CTX" in sent.warnings[0]


def test_a_passage_that_is_too_long_alone_is_cut_at_a_sentence_and_marked():
    sent = made(passages(2, 200))
    ((best, text),) = sent.passages
    assert best.rank == 1
    assert text.endswith(f"dollars.{CUT_MARK}")
    assert best.chunk.text.startswith(text.removesuffix(CUT_MARK))
    assert words(text) > 500
    assert any("the end of the best passage" in warning for warning in sent.warnings)


@given(
    st.lists(st.integers(1, 60), min_size=1, max_size=12),
    st.lists(st.integers(0, 40), max_size=8),
    st.integers(400, 6000),
    st.integers(16, 3000),
)
def test_nothing_ever_runs_over(lengths, answers, window, reserve):
    hits = [hit("".join(LINE.format(n=n) for n in range(size)), rank=i) for i, size in enumerate(lengths, 1)]
    history = [Turn(f"What is {n}?", f"It is {n}. " * size) for n, size in enumerate(answers)]
    sent = made(hits, history, window=window, reserve=reserve)
    shown = "\n".join(passage_text(each, text) for each, text in sent.passages)
    whole, said = window_of(window, reserve), conversation(sent.history)
    used = words(ANSWER_RULES + ANSWER_REQUEST.format(notes="", context=shown, history=said, question="Why?"))
    assert used + whole.answer_reserve <= whole.tokens
    assert used + sent.answer_tokens <= whole.tokens
    left = len(hits) - len(sent.passages)
    assert (left > 0) == any("lowest-ranked" in warning for warning in sent.warnings)
    assert (len(history) > len(sent.history)) == any("turn" in warning for warning in sent.warnings)


# -- against a server that counts, and cuts as Ollama does


@pytest.fixture
def server():
    with OllamaServer(models=["llama3.1:8b"], count_tokens=words) as running:
        yield running


@pytest.mark.parametrize("num_ctx", [1536, 2048, 4096])
@pytest.mark.parametrize("factor", [1.0, 1.3])
def test_twelve_passages_never_cut_in_silence(server, num_ctx, factor):
    server.count_tokens = lambda text: round(factor * words(text))
    counts = []
    with open_llm(server.url, num_ctx=num_ctx, num_predict=1024) as llm:
        for _ in range(4):
            server.script(SAID)
            given = ask(llm, Search(*passages(12, 14)))
            assert not given.prompt_cut
            assert given.tokens["window"] == num_ctx
            assert given.tokens["prompt"] + server.of("/api/chat")[-1]["options"]["num_predict"] <= num_ctx
            assert any("lowest-ranked" in warning for warning in given.warnings) == (
                prompt(server).count("</passage>") < 14
            )
            counts.append(given.tokens["prompt"])
    assert server.cut_prompts == 0
    assert all(body["options"]["num_ctx"] == num_ctx for body in server.of("/api/chat"))
    assert min(counts) > num_ctx / 4


def test_turns_that_the_rewriting_has_no_room_for_are_told(server):
    history = [Turn(f"What about run {n}?", SAID * 30) for n in range(6)]
    with open_llm(server.url, num_ctx=1536) as llm:
        server.script("What about training run 9?", SAID)
        given = ask(llm, Search(*passages(1, 2)), question="And run 9?", history=history)
    assert any("rewritten without the" in warning for warning in given.warnings)
    assert server.cut_prompts == 0


def test_a_server_that_serves_less_marks_the_answer_and_the_next_one_fits(server):
    server.served_context = 1400
    with open_llm(server.url, num_ctx=4096) as llm:
        server.script(SAID, SAID)
        first, second = (ask(llm, Search(*passages(12, 14))) for _ in range(2))
    assert first.prompt_cut
    assert "RAG_NUM_CTX=1400" in first.warnings[0] or any("RAG_NUM_CTX=1400" in warning for warning in first.warnings)
    assert server.cut_prompts == 1
    assert not second.prompt_cut
    assert second.tokens["window"] == 1400


def test_a_question_too_long_for_the_window_gets_quotes(server):
    with open_llm(server.url, num_ctx=1024) as llm:
        given = ask(llm, Search(*passages(2)), question="How long did training take? " * 200)
    assert given.mode == "extractive"
    assert "no room for a passage" in given.warnings[0]
    assert server.of("/api/chat") == []
