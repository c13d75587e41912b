"""Which calls a question names by itself, without a model."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.agent.tool_calling import MOST_PLANNED, expressions, planned_calls
from ragscience.agent.tools import checked_arguments
from ragscience.core.records import Metadata, Paper


def paper(number, file, title="", authors=(), year=None):
    return Paper(number, file, f"/papers/{file}", "0" * 32, 1, 1, 10, 20, title, "", (), Metadata(title, authors, year))


ATTENTION = paper(1, "attention_is_all_you_need_1706.03762.pdf", "Attention Is All You Need", ("Ashish Vaswani",), 2017)
BERT = paper(2, "bert_1810.04805.pdf", "BERT: Pre-training of Deep Bidirectional Transformers", ("Jacob Devlin",), 2019)
ADAM = paper(3, "adam_1412.6980.pdf", "Adam: A Method for Stochastic Optimization", ("Diederik P. Kingma",), 2015)
GPT = paper(4, "gpt2_2019.pdf", "Language Models are Unsupervised Multitask Learners", ("Alec Radford",), 2019)
CHAIN = paper(
    5, "chain_of_thought_2201.11903.pdf", "Chain-of-Thought Prompting Elicits Reasoning", ("Jason Wei",), 2022
)
ODE = paper(6, "neural_ode_1806.07366.pdf", "Neural Ordinary Differential Equations", ("Ricky T. Q. Chen",), None)
CHEN = paper(7, "scan.pdf", "Contrastive Scans", ("Ting Chen",), 2020)
PAPERS = [ATTENTION, BERT, ADAM, GPT, CHAIN, ODE, CHEN]


def about(question, papers=PAPERS):
    named = [paper for word, paper in (("BERT", BERT), ("Attention Is", ATTENTION)) if word in question]
    return named or (papers if len(papers) == 1 else [])


def planned(question, papers=PAPERS):
    return [(call.name, dict(call.arguments)) for call in planned_calls(question, about(question, papers))]


@pytest.mark.parametrize(
    ("question", "calls"),
    [
        ("What is on page 5 of the BERT paper?", [("read_page", {"paper": BERT.file, "page": 5})]),
        ("BERT, p. 3?", [("read_page", {"paper": BERT.file, "page": 3})]),
        (
            "Summarize section 3.2 of Attention Is All You Need",
            [("read_section", {"paper": ATTENTION.file, "section": "3.2"})],
        ),
        ("What is in the abstract of BERT?", [("read_section", {"paper": BERT.file, "section": "abstract"})]),
        (
            "Read me the model architecture section of BERT",
            [("read_section", {"paper": BERT.file, "section": "model architecture"})],
        ),
        ("What is (28.4 - 26.3) / 26.3?", [("calculate", {"expression": "(28.4 - 26.3) / 26.3"})]),
        ("Compute 9**9**9", [("calculate", {"expression": "9**9**9"})]),
        ("What is a transformer?", []),
        ("Which papers use dropout?", []),
        ("What is on page 5?", []),
        ("How do the authors cite earlier work?", []),
    ],
)
def test_calls_are_those_that_the_question_names(question, calls):
    assert planned(question) == calls


def test_only_paper_needs_no_name():
    assert planned("What is on page 5?", [BERT]) == [("read_page", {"paper": BERT.file, "page": 5})]
    assert planned("What is masked?", [BERT]) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("28.4 - 26.3", ["28.4 - 26.3"]),
        ("What is 7/8?", ["7/8"]),
        ("how much is 15% of 80", ["15% of 80"]),
        ("sqrt(64) please", ["sqrt(64)"]),
        ("What is 1,000 * 3?", ["1,000 * 3"]),
        ("With dk = 512 / 8, is (3 + 4) more?", ["512 / 8", "(3 + 4)"]),
        ("In 2017-2019, see pages 3-5 and tables 1/2", []),
        ("GPT-3 175B, v1.2.3, 10/12/2020, 2 x 4", []),
        ("What is 5?", []),
        ("1 + + ", []),
    ],
)
def test_arithmetic_is_told_from_other_numbers(text, found):
    assert expressions(text) == found


@given(st.lists(st.sampled_from([*"0123456789.,+-*/%()^ ", "page ", "BERT ", "section ", "of "]), max_size=40))
def test_wild_questions_give_calls_that_fit(parts):
    calls = planned_calls("".join(parts), about("".join(parts)))
    assert len(calls) <= MOST_PLANNED
    for call in calls:
        checked_arguments(call.name, call.arguments)
