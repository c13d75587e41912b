"""Answers in both modes, by the real ChatOllama against a server that speaks Ollama's API."""

from contextlib import ExitStack
from dataclasses import replace

import pytest

from ragscience.ask.answers import REFUSAL
from ragscience.ask.prompts import ANSWER_REQUEST, ANSWER_RULES, conversation, fenced_text, passage_text
from ragscience.core.records import UNCITED, QuestionPart, Turn
from ragscience.core.sentences import leading_of
from tests.ask.asking import QUESTION, SAID, ask, open_llm, prompt
from tests.ask.passages import SAMPLING, TRAINING, Search, hit
from tests.ask.test_confidence import Names
from tests.ask.test_missing_things import Words


@pytest.fixture
def llm_at():
    """Makes an LLM that talks to a URL."""
    with ExitStack() as stack:

        def make(url, **options):
            return stack.enter_context(open_llm(url, **options))

        yield make


@pytest.fixture
def llm(server, llm_at):
    return llm_at(server.url)


# -- an LLM that works --------------------------------------------------------------------------------------------


def test_the_prompt_holds_rules_fenced_passages_and_the_question(server, llm):
    server.script(SAID)
    ask(llm, Search(TRAINING, SAMPLING))
    system, human = server.of("/api/chat")[0]["messages"]
    assert (system["role"], human["role"]) == ("system", "user")
    assert REFUSAL in system["content"]
    assert "(file.pdf, p.3)" in system["content"]
    assert f'<passage 1 source="(attention.pdf, p.7)">\n{TRAINING.chunk.text}\n</passage>' in human["content"]
    assert f'<passage 2 source="(decoding.pdf, p.2)">\n{SAMPLING.chunk.text}\n</passage>' in human["content"]
    assert QUESTION in human["content"].rpartition("</passage>")[2]
    assert server.of("/api/chat")[0]["options"]["num_ctx"] == 4096


def test_braces_in_a_passage_or_question_are_no_template(server, llm):
    server.script(SAID)
    ask(llm, Search(hit("F(x, {Wi}) + {context} {0}")), question="What is {Wi} in {question}?")
    assert "F(x, {Wi}) + {context} {0}" in prompt(server)
    assert "What is {Wi} in {question}?" in prompt(server)


def test_an_answer_without_citations_says_so(server, llm):
    server.script("Training took 9.5 days.")
    assert UNCITED in ask(llm, Search(TRAINING)).warnings


def test_a_text_that_cannot_be_encoded_is_asked_all_the_same(server, llm):
    server.script(SAID)
    given = ask(llm, Search(TRAINING), question="training \ud800 days\x00?")
    assert given.text == SAID
    assert "training  days?" in prompt(server)


def test_nothing_is_sent_to_a_tracing_service(server, monkeypatch, llm):
    monkeypatch.setenv("LANGSMITH_TRACING", "true")
    monkeypatch.setenv("LANGSMITH_API_KEY", "none")
    monkeypatch.setenv("LANGSMITH_ENDPOINT", server.url)
    server.script(SAID)
    ask(llm, Search(TRAINING))
    assert {request.path for request in server.requests} == {"/api/chat", "/api/ps"}


# -- follow-ups ---------------------------------------------------------------------------------------------------

HISTORY = (Turn("How long did the big models train?", "3.5 days (attention.pdf, p.7)."),)


def test_a_follow_up_is_rewritten_before_the_search_and_out_of_sight(server, llm):
    server.script("How long did the base models of the Transformer train?", "12 hours [1].")
    search, heard = Search(TRAINING), []
    given = ask(llm, search, question="And the base ones?", history=HISTORY, on_token=heard.append)
    assert search.asked == ["How long did the base models of the Transformer train?"]
    condense, final = prompt(server, 0), prompt(server, 1)
    assert "And the base ones?" in condense
    assert HISTORY[0].question in condense
    assert HISTORY[0].answer in condense
    assert "<passage" not in condense
    assert "How long did the base models of the Transformer train?" in final
    assert "".join(heard) == "12 hours [1]."
    assert given.text == "12 hours (attention.pdf, p.7)."
    assert given.question == "And the base ones?"
    assert given.found.question == "How long did the base models of the Transformer train?"


# -- refusals -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("said", [REFUSAL, f"Sorry. {REFUSAL.upper()}", f"{REFUSAL} (invented.pdf, p.3)"])
def test_a_model_that_finds_nothing_refuses(server, said, llm):
    server.script(said)
    given = ask(llm, Search(TRAINING))
    assert (given.text, given.refused, given.mode, given.citations) == (REFUSAL, True, "llm", ())
    assert given.found.hits == (TRAINING,)


FAR = hit("Bananas ripen in warm kitchens.", dense=0.1)


@pytest.mark.parametrize("hits", [(), (FAR,)])
@pytest.mark.parametrize("with_llm", [True, False])
def test_nothing_relevant_is_refused_without_asking_the_model(server, hits, with_llm, llm):
    heard = []
    looks = {"presence": Words(FAR.chunk.text), "names": Names()}
    given = ask(
        llm if with_llm else None, Search(*hits), question="Which quantum annealer?", on_token=heard.append, **looks
    )
    assert (given.text, given.refused, given.citations) == (REFUSAL, True, ())
    assert given.found.hits == hits
    assert given.models["llm"] is None
    assert heard == [REFUSAL]
    assert server.requests == []


# -- a model that fails -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ({"status": 404, "error": "model 'llama3.1:8b' not found"}, "ollama pull llama3.1:8b"),
        ({"status": 500, "error": "model requires more system memory (9 GiB)"}, "RAG_NUM_CTX"),
        ({"status": 500, "error": "llama runner process has terminated"}, "runner process has terminated"),
        ({"cut_after": 0}, "connection to Ollama"),
        ({"malformed": True}, "could not be read"),
    ],
)
@pytest.mark.parametrize("history", [(), HISTORY])
def test_a_model_that_fails_at_once_leaves_quotes_and_a_warning(server, fault, says, history, llm):
    server.fault("/api/chat", **fault, times=None)
    heard = []
    given = ask(llm, Search(TRAINING), history=history, on_token=heard.append)
    assert given.mode == "extractive"
    assert given.models["llm"] is None
    assert "3.5 days" in given.text
    assert given.citations
    assert "".join(heard) == given.text
    assert says in given.warnings[0]


@pytest.mark.parametrize("fault", [{"cut_after": 4}, {"cut_after": 4, "error": "llama runner process has terminated"}])
def test_a_model_that_fails_on_the_way_keeps_what_it_said(server, fault, llm):
    server.script(pieces=["Training took ", "3.5 days for the big models ", "[1]. ", "The base ", "ones ", "less."])
    server.fault("/api/chat", **fault)
    heard = []
    given = ask(llm, Search(TRAINING), on_token=heard.append)
    assert given.mode == "llm"
    assert given.models["llm"] == "llama3.1:8b"
    assert given.text.startswith("Training took 3.5 days for the big models (attention.pdf, p.7). The base […]")
    assert given.blocks[0].kind == "quote"
    assert "".join(heard).startswith("Training took 3.5 days for the big models [1]. The base")
    assert "".join(heard).endswith(" […]")
    assert "The answer is incomplete; quotes follow it." in given.warnings[0]
    assert all(c.supported for c in given.citations)


@pytest.mark.parametrize("error", [BrokenPipeError, KeyboardInterrupt, ValueError])
def test_what_the_reader_raises_is_raised(server, error, llm):
    server.script(SAID)

    def on_token(token):
        raise error

    with pytest.raises(error):
        ask(llm, Search(TRAINING), on_token=on_token)


def test_the_second_turn_begins_as_the_first_where_the_passages_are_the_same():
    passages = "\n\n".join(passage_text(hit, fenced_text(hit.chunk)) for hit in (TRAINING, SAMPLING))
    asked = {"notes": "", "context": passages, "history": "", "question": "How long did training take?"}
    first = ANSWER_REQUEST.format(**asked)
    history = conversation([Turn("How long did training take?", "3.5 days (attention.pdf, p.7).")])
    second = ANSWER_REQUEST.format(**asked | {"history": history, "question": "On how many GPUs?"})
    assert first.startswith(passages)
    assert second.startswith(passages)
    assert "{" not in ANSWER_RULES  # the system message, which goes first, is the same for every question
    assert second.index("<conversation>") < second.index("On how many GPUs?")


def test_the_next_best_reading_of_a_turn_has_a_line_too():
    second = QuestionPart("What beam size was used for decoding?", (SAMPLING,))
    answered = ask(None, lambda asked: replace(Search(TRAINING)(asked), second=second))
    training, beam = leading_of(answered.blocks)
    assert "3.5 days" in training.line and "beam size of 4" in beam.line
