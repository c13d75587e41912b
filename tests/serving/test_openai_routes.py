"""The official client of OpenAI, unmodified, talks to the library."""

import httpx
import openai
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.ollama_server import OllamaServer, chat_model
from tests.serving.conftest import serving

SPEED = "How fast do bees fly in fog?"


@pytest.fixture
def openai_client(address):
    with openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0) as client:
        yield client


def said(*turns):
    roles = ("user", "assistant")
    return [{"role": roles[number % 2], "content": text} for number, text in enumerate(turns)]


def test_the_models_are_listed(openai_client):
    names = [model.id for model in openai_client.models.list()]
    assert names == ["ragscience", "ragscience-agent"]
    assert openai_client.models.retrieve("ragscience").id == "ragscience"
    with pytest.raises(openai.NotFoundError):
        openai_client.models.retrieve("gpt-nosuch")


def test_a_chat_cites_its_pages(openai_client):
    reply = openai_client.chat.completions.create(model="ragscience", messages=said(SPEED), temperature=0.2)
    assert "3.7" in reply.choices[0].message.content
    assert "(bees.pdf, p.2)" in reply.choices[0].message.content
    assert reply.choices[0].finish_reason == "stop"
    assert reply.model_extra["sources"][0]["file"] == "bees.pdf"


def test_earlier_turns_are_honoured(openai_client):
    alone = openai_client.chat.completions.create(model="ragscience", messages=said("And how was that measured?"))
    turns = said(SPEED, "3.7 metres per second (bees.pdf, p.2).", "And how was that measured?")
    followed = openai_client.chat.completions.create(model="ragscience", messages=turns)
    assert "harmonic radar" in followed.choices[0].message.content
    assert alone.choices[0].message.content != followed.choices[0].message.content


def test_a_streamed_chat_has_the_same_words_and_an_end(openai_client):
    whole = openai_client.chat.completions.create(model="ragscience", messages=said(SPEED)).choices[0].message.content
    pieces = list(openai_client.chat.completions.create(model="ragscience", messages=said(SPEED), stream=True))
    text = "".join(piece.choices[0].delta.content or "" for piece in pieces)
    assert text.strip() == whole.strip()
    assert pieces[-1].choices[0].finish_reason == "stop"
    assert len({piece.id for piece in pieces}) == 1
    assert len(pieces[0].id) > len("chatcmpl-")
    assert pieces[-1].model_extra["sources"]


def test_the_tokens_of_a_model_are_those_of_its_prompt_and_its_answer(served_home):
    with OllamaServer(models={"llama3.1:8b": chat_model()}) as ollama:
        ollama.script("Bees fly at 3.7 metres per second (bees.pdf, p.2).", prompt_eval_count=900, eval_count=40)
        settings = {"offline": False, "ollama_url": ollama.url, "embedder": "embedded"}
        with serving(served_home, **settings) as url, openai.OpenAI(base_url=f"{url}/v1", api_key="none") as client:
            used = client.chat.completions.create(model="ragscience", messages=said(SPEED)).usage
    assert (used.prompt_tokens, used.completion_tokens, used.total_tokens) == (900, 40, 940)


def values(client):
    text = client.get("/metrics").text
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(found, name, **labels):
    return found.get((name, tuple(sorted(labels.items()))))


@pytest.fixture
def own(served_home):
    with serving(served_home) as url, httpx.Client(base_url=url, timeout=60) as client:
        yield client


def test_no_word_of_a_client_is_in_the_metrics(own):
    own.get("/v1/models/nosuch-secret")
    own.post("/api/agent_action", json={"action": "secret"})
    own.get("/nosuch-secret")
    own.request("BREW", "/healthz")
    assert own.post("/api/v1/ask", json={"question": "What do secret bees eat?"}).status_code == 200
    own.post("/api/v1/search", json={"question": "secret bees"}, headers={"Host": "secret.example"})
    text = own.get("/metrics").text
    assert 'ragscience_questions_total{how="ask"} 1.0' in text
    assert "secret" not in text
    assert "BREW" not in text


def test_the_state_of_the_server_and_its_library(own):
    found = values(own)
    assert value(found, "ragscience_library_papers") == 3
    assert value(found, "ragscience_library_passages") >= 3
    assert value(found, "ragscience_open_questions", state="running") == 0
    assert value(found, "ragscience_open_questions", state="waiting") == 0
    assert value(found, "ragscience_jobs", state="failed") == 0
    assert value(found, "process_resident_memory_bytes") > 1 << 20


def test_questions_their_stages_and_tokens_are_counted(own):
    assert own.post("/api/v1/ask", json={"question": "What do bees eat?"}).status_code == 200
    found = values(own)
    assert value(found, "ragscience_questions_total", how="ask") == 1
    assert value(found, "ragscience_question_duration_seconds_count", how="ask") == 1
    assert value(found, "ragscience_tokens_total", kind="prompt") == 0  # quotes: no model was asked
    stages = {dict(labels).get("stage") for _, labels in found}
    assert {"bm25", "dense"} <= stages
