"""The official client of OpenAI, unmodified, talks to the library."""

import openai
import pytest

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
