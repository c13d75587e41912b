"""The official client of OpenAI, unmodified, talks to the library."""

import base64

import numpy as np
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
    assert names == ["ragscience", "ragscience-agent", "all-MiniLM-L6-v2"]
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
    assert pieces[-1].model_extra["sources"]


def test_embeddings_are_the_unit_vectors_of_the_librarys_embedder(openai_client):
    texts = ["bees in fog", "glaze of porcelain"]
    made = openai_client.embeddings.create(model="all-MiniLM-L6-v2", input=texts)  # the client asks for base64
    rows = np.array([row.embedding for row in made.data])
    assert rows.shape == (2, 384)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    floats = openai_client.embeddings.create(model="all-MiniLM-L6-v2", input=texts[0], encoding_format="float")
    assert np.allclose(floats.data[0].embedding, rows[0], atol=1e-6)
    raw = openai_client.embeddings.create(model="all-MiniLM-L6-v2", input=texts[0], encoding_format="base64")
    assert np.allclose(np.frombuffer(base64.b64decode(raw.data[0].embedding), "<f4"), rows[0], atol=1e-6)


def test_parts_of_text_are_joined(openai_client):
    content = [{"type": "text", "text": "How fast do bees"}, {"type": "text", "text": "fly in fog?"}]
    reply = openai_client.chat.completions.create(model="ragscience", messages=[{"role": "user", "content": content}])
    assert "3.7" in reply.choices[0].message.content
