"""A cancelled question ends at once, whatever was going on."""

import threading

import pytest

from ragscience.ask.check import check
from ragscience.core.errors import Cancelled, ModelProblem
from ragscience.core.records import Found
from ragscience.models.reply_limits import cancellable
from tests.ask.asking import LLAMA, SAID, ask, open_llm
from tests.ask.passages import SAMPLING, TRAINING, Search
from tests.ollama_server import OllamaServer


class SilentLLM:
    """Says the first pieces, then nothing until `go` is set."""

    name = "silent"
    num_predict = 100
    window = 4096
    prompt_tokens = answer_tokens = None
    done_reason = ""

    class counter:  # noqa: N801  # an attribute of the protocol
        count = staticmethod(len)

    def __init__(self, *pieces):
        self.pieces = pieces
        self.go = threading.Event()
        self.closed = threading.Event()

    def reply(self, messages, *, max_tokens, schema=None):
        return self

    def __iter__(self):
        try:
            yield from self.pieces
            self.go.wait(120)
            yield "late"
        finally:
            self.closed.set()

    def was_cut(self, messages, prompt_tokens, answer_tokens):
        return False


def test_cancelled_before_it_begins_nothing_is_searched():
    search = Search(TRAINING)
    with pytest.raises(Cancelled) as error:
        ask(None, search, cancelled=lambda: True)
    assert search.asked == []
    assert error.value.exit_code == 130


def test_cancelled_while_it_searches_nothing_is_answered():
    cancelled, shown = threading.Event(), []

    def search(question):
        cancelled.set()
        return Found(question, "default", (TRAINING,))

    with pytest.raises(Cancelled):
        ask(None, search, cancelled=cancelled.is_set, on_token=shown.append)
    assert shown == []


def test_cancelled_while_the_model_says_nothing():
    llm, cancelled, shown = SilentLLM("Training "), threading.Event(), []

    def show(piece):
        shown.append(piece)
        threading.Timer(0.2, cancelled.set).start()

    with pytest.raises(Cancelled):
        ask(llm, Search(TRAINING), cancelled=cancelled.is_set, on_token=show)
    assert shown == ["Training "]
    assert not llm.closed.is_set(), "it waited for the model"
    llm.go.set()
    assert llm.closed.wait(60), "the abandoned reply is closed with its next piece"


def test_cancelled_at_a_token_of_a_real_server():
    cancelled, shown = threading.Event(), []

    def show(piece):
        shown.append(piece)
        cancelled.set()

    with OllamaServer(models=[LLAMA]) as server, open_llm(server.url) as llm:
        server.script(SAID)
        with pytest.raises(Cancelled):
            ask(llm, Search(TRAINING), cancelled=cancelled.is_set, on_token=show)
    assert len(shown) == 1


class Looks:
    """Cancels at the look number `at`, from 1."""

    def __init__(self, at):
        self.at = at
        self.made = 0

    def __call__(self):
        self.made += 1
        return self.made == self.at


def test_each_stage_of_quotes_is_a_place_to_end_at():
    search = Search(TRAINING, SAMPLING)
    looks = Looks(0)
    assert ask(None, search, cancelled=looks).sentences
    assert looks.made >= 3
    for at in range(1, looks.made + 1):
        with pytest.raises(Cancelled):
            ask(None, search, cancelled=Looks(at))


def test_each_sentence_that_is_checked_is_a_place_to_end_at():
    text = " ".join(f"The model has {n} layers in part {n} (attention.pdf, p.7)." for n in range(20))
    looked = []

    def look():
        looked.append(1)
        if len(looked) == 3:
            raise Cancelled

    with pytest.raises(Cancelled):
        check(text, [TRAINING], scorer=None, on_sentence=look)
    assert len(looked) == 3


def test_an_answer_that_is_not_cancelled_is_the_same():
    with OllamaServer(models=[LLAMA]) as server, open_llm(server.url) as llm:
        server.script(SAID, SAID)
        plain, watched = ask(llm, Search(TRAINING)), ask(llm, Search(TRAINING), cancelled=lambda: False)
    assert (plain.text, plain.citations, plain.sentences) == (watched.text, watched.citations, watched.sentences)
    assert plain.tokens == watched.tokens


@pytest.mark.parametrize("problem", [ModelProblem("it is gone"), ValueError("a surprise")])
def test_what_the_reading_raises_is_raised_to_the_reader(problem):
    def pieces():
        yield 1
        raise problem

    read = []
    with pytest.raises(type(problem)) as raised:
        read += [each for each in map(read.append, cancellable(pieces(), lambda: False)) if each]
    assert raised.value is problem
    assert read == [1]
