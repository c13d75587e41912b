"""The seven questions of the agentic notes, asked of the paper itself, without an LLM."""

import pytest

from config import load_settings
from ragscience.engine import AskRequest, Engine
from tests.conftest import Commands
from tests.shared_data import SHARED_DATA, needs_shared_data

PAPER = SHARED_DATA / "papers" / "attention_is_all_you_need_1706.03762.pdf"
PAGES = {
    "What is the overall architecture of the Transformer, and what are encoder and decoder made of?": {3},
    "How does multi-head attention work, and how many heads are used?": {4, 5},
    "How do self-attention and recurrent layers compare in complexity per layer and maximum path length?": {6},
    "Why does the Transformer need positional encodings and which functions are used for them?": {6},
    "What BLEU scores does the big Transformer reach on English-to-German and English-to-French?": {8},
    "Which optimizer, learning rate schedule and hardware were used for training?": {7},
}
NOT_THERE = "How is reinforcement learning from human feedback used to fine-tune the model?"


@needs_shared_data
def test_six_are_answered_from_the_right_pages_and_the_seventh_is_refused(tmp_path, monkeypatch, model_cache):
    if not PAPER.is_file():
        pytest.skip(f"{PAPER.name} is not there")
    monkeypatch.setenv("RAG_HOME", str(tmp_path))
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "attention.pdf").write_bytes(PAPER.read_bytes())
    ran = Commands(tmp_path).ingest()
    assert ran.code == 0, ran.err
    with Engine.open(tmp_path, load_settings(history=False)) as engine:
        for question, pages in PAGES.items():
            answer = engine.ask(AskRequest(question, agent=True))
            assert not answer.refused, question
            assert pages & {citation.page for citation in answer.citations}, question
        answer = engine.ask(AskRequest(NOT_THERE, agent=True))
    assert answer.refused
    assert max(step.iteration for step in answer.trace) <= 3
