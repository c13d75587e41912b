"""Asking for an answer in the tests: the real client, with what most tests don't care about."""

from contextlib import contextmanager

from ragscience.ask.answer_context import AnswerContext, AnswerRequest, Circuit
from ragscience.ask.answers import answer
from ragscience.ask.extractive import Readers
from ragscience.models.model_servers import Ollama
from ragscience.models.served_llm import ChatOptions, ServedLLM

QUESTION = "How long did training of the big models take?"
SAID = "Training took 3.5 days for the big models (attention.pdf, p.7)."
LLAMA = "llama3.1:8b"
MODELS = {"embedder": "words", "reranker": None, "llm": LLAMA}


@contextmanager
def open_llm(url, *, timeout_seconds=30.0, first_token_seconds=60.0, num_ctx=4096, num_predict=512, is_known=False):
    """The real ServedLLM, closed at the end; `waited` lists the seconds that it would have slept.

    `is_known`: the server was asked what the model can.
    """
    waited = []
    ollama = Ollama(url, timeout_seconds=timeout_seconds, offline=False)
    options = ChatOptions(0.0, num_ctx, num_predict, first_token_seconds)
    known = {"details": ollama.show(LLAMA)} if is_known else {}
    llm = ServedLLM(ollama, LLAMA, options=options, sleep=waited.append, **known)
    llm.waited = waited
    try:
        yield llm
    finally:
        if "chat_model" in llm.__dict__:
            llm.chat_model._client._client.close()


def circuit(failures=3, pause_seconds=60.0, clock=lambda: 0.0):
    return Circuit(failures=failures, pause_seconds=pause_seconds, clock=clock)


def context_of(llm, **how):
    given = {
        "readers": Readers(),
        "models": MODELS,
        "circuit": circuit(),
        "answer_seconds": 600.0,
        "answerable_threshold": 0.25,
    }
    return AnswerContext(llm=llm, **(given | how))


def ask(llm, search, *, question=QUESTION, history=(), strict=False, on_token=None, **how):
    request = AnswerRequest(question, tuple(history), strict)
    return answer(request, context_of(llm, **how), search=search, on_token=on_token)


def prompt(server, which=-1):
    """All messages of one of the requests, as one text."""
    return "\n".join(message["content"] for message in server.of("/api/chat")[which]["messages"])
