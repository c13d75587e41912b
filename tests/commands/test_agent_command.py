"""`--agent` through the commands: the answer on stdout, the steps on stderr, and a killed run that goes on."""

import json

import pytest

from tests.ollama_server import OllamaServer, chat_model

TWO_PARTS = "At which temperature does the glaze mature, and how many harmonic constituents does the machine sum?"
NOT_THERE = "Which exploration bonus does the reinforcement learning agent use?"


def test_steps_are_shown_as_they_come_and_the_answer_cites_both_papers(asked):
    ran = asked.query("ask", "--agent", "--no-history", TWO_PARTS)
    assert ran.code == 0, ran.err
    assert "1280 degrees" in ran.out.replace("**", "")
    assert "ten harmonic constituents" in ran.out.replace("**", "")
    for step in ("Splitting the question:", "Searching:", "Drafting an answer:", "The answer:"):
        assert f"{step} " in ran.err
    assert "How well the draft answers the question: " in ran.err
    assert "Together: " in ran.err


def test_what_is_not_there_is_refused_within_three_passes(asked):
    ran = asked.query("ask", "--agent", "--json", "--strict", NOT_THERE)
    told = json.loads(ran.out)
    assert (ran.code, told["refused"]) == (4, True)
    assert max(step["iteration"] for step in told["trace"]) <= 3


def test_filters_hold_for_every_search_and_tool(asked):
    question = f"How fast do bees fly in fog? {TWO_PARTS} What is on page 1 of kilns.pdf?"
    told = json.loads(asked.query("ask", "--agent", "--json", "--no-history", "--paper", "bees", question).out)
    assert {hit["file"] for hit in told["hits"]} == {"bees.pdf"}
    assert "1280" not in told["answer"]


@pytest.mark.parametrize("how", ["--agent", "--corrective"])
@pytest.mark.parametrize(("parameters", "forms"), [(494_000_000, 0), (8_030_000_000, 1)])
def test_a_small_model_writes_the_answer_and_rules_do_the_rest(asked, how, parameters, forms):
    with OllamaServer(models={"llama3.1:8b": chat_model(parameters=parameters)}) as server:
        server.default_reply = lambda body: (
            "{}" if body.get("format") else "The glaze matures at 1280 degrees Celsius (kilns.pdf, p.1)."
        )
        env = {"RAG_OLLAMA_URL": server.url}
        ran = asked.query("ask", "--json", "--no-history", how, "At which temperature does the glaze mature?", **env)
        sent = server.of("/api/chat")
    told = json.loads(ran.out)
    assert told["mode"] == "llm"
    assert "1280" in told["answer"]
    assert min(len([body for body in sent if body.get("format")]), 1) == forms
    assert any(not body.get("format") for body in sent)
