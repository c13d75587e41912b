"""The texts that go to the model: what they say, and that a changed one is checked when the settings are loaded."""

import pytest

from config import load_settings
from ragscience.ask.prompts import ANSWER_RULES, REFUSAL, Prompts
from ragscience.core.errors import UsageError
from ragscience.core.records import Turn
from tests.ask.asking import LLAMA, SAID, ask, open_llm
from tests.ask.passages import TRAINING, Search
from tests.ollama_server import OllamaServer

REQUEST = "Passages: {context} Asked: {question}"
CONDENSE = "Said: {chat_history} New: {question}"


def test_changed_texts_reach_the_model():
    prompts = Prompts("Be brief. Else: {refusal}", REQUEST + " {{x}}", CONDENSE)
    with OllamaServer(models=[LLAMA]) as server, open_llm(server.url) as llm:
        server.script("How long?", SAID)
        ask(
            llm,
            Search(TRAINING),
            question="And?",
            history=[Turn("What?", "That.")],
            prompts=prompts,
            answerable_threshold=0.0,
        )
        condense, answer = server.of("/api/chat")
    assert condense["messages"][0]["content"] == "Said: \nQuestion: What?\nAnswer: That. New: And?"
    assert answer["messages"][0]["content"] == f"Be brief. Else: {REFUSAL}"
    assert answer["messages"][1]["content"].startswith("Passages: <passage 1 ")
    assert answer["messages"][1]["content"].endswith("Asked: How long? {x}")


def test_the_texts_that_come_with_it_pass_their_own_check():
    loaded = load_settings(answer_rules=ANSWER_RULES, condense_prompt=Prompts().condense)
    assert (loaded.answer_rules, loaded.condense_prompt) == (ANSWER_RULES, Prompts().condense)


def test_a_text_may_stand_in_a_file(tmp_path, monkeypatch):
    (tmp_path / "condense.txt").write_text(CONDENSE + "\n", encoding="utf-8")
    monkeypatch.setenv("RAG_CONDENSE_PROMPT", f"@{tmp_path}/condense.txt")
    assert load_settings().condense_prompt == CONDENSE + "\n"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("condense_prompt", "{chat_history}", r"it lacks \{question\}"),
        ("condense_prompt", CONDENSE + "{passages}", r"\{passages\}.*may only have \{chat_history\}, \{question\}"),
        ("condense_prompt", CONDENSE + "{question.__class__}", r"__class__"),
        ("condense_prompt", CONDENSE + "{question!r}", r"it has \{question\}"),
        ("condense_prompt", CONDENSE + "}", r"brace twice"),
        ("condense_prompt", "{question}", r"it lacks \{chat_history\}"),
        ("answer_rules", "x" * 200_000, r"longer than"),
        ("answer_rules", "@/nowhere/at/all.txt", r"/nowhere/at/all\.txt cannot be read \(No such file"),
        ("answer_rules", "@", r"cannot be read"),
    ],
)
def test_a_wrong_text_is_refused_with_one_line(name, text, said):
    with pytest.raises(UsageError, match=said) as caught:
        load_settings(**{name: text})
    assert name in caught.value.message
    assert "\n" not in caught.value.message
    assert len(caught.value.message) < 400
