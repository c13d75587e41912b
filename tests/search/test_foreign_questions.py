"""Questions in other languages, of English papers and of a paper in Chinese."""

from pathlib import Path

import pytest

from ragscience import AskRequest, Engine, SearchRequest
from ragscience.core.settings import default_settings
from tests.commands.papers import fill
from tests.conftest import Commands
from tests.pdf_factory import make_pdf

ROASTING = [
    "茶叶烘焙的温度控制\n\n摘要\n本文研究乌龙茶的烘焙过程。我们用红外传感器测量茶叶的表面温度。\n"
    "烘焙温度在一百二十度时香气最好。温度过高会使茶叶变苦。",
    "实验一共使用了四十八个样品。每个样品烘焙六小时。结果表明湿度对香气没有影响。",
]
SAYS = "reads English, so it was searched by names and numbers."


@pytest.fixture(scope="module")
def engine(made_once):
    def make(home):
        fill(home / "papers")
        make_pdf(home / "papers" / "tea.pdf", ROASTING)
        ran = Commands(home).ingest(RAG_EMBEDDER="embedded")
        assert ran.code == 0, ran.err

    home = made_once("four-papers", make)
    with Engine.open(home, default_settings(Path(home), history=False, audit=False)) as opened:
        yield opened


def notes(result):
    return [warning for warning in result.warnings if SAYS in warning]


@pytest.mark.parametrize(
    ("question", "searched", "file"),
    [
        (
            "Welches Ergebnis hat „Predicting tides with the Kelvin-7 machine“?",
            "Predicting tides with the Kelvin-7 machine",
            "tides.pdf",
        ),
        ("Welche Kelvin-7 Maschine gibt es für Dover?", "Kelvin-7 Dover", "tides.pdf"),
        (
            "Combien d'harmonic constituents la Kelvin-7 a-t-elle ?",
            "how many harmonic constituents Kelvin-7",
            "tides.pdf",
        ),
        ("Où est l'óxide de côbalt ?", "oxide cobalt", "kilns.pdf"),
        ("Kelvin-7 机器在 Dover 的误差是多少？", "how many Kelvin-7 Dover", "tides.pdf"),
    ],
)
def test_names_and_numbers_find_an_english_paper_and_it_is_said_once(engine, question, searched, file):
    found = engine.search(SearchRequest(question))
    assert found.question == searched
    assert found.hits[0].chunk.file == file
    assert len(notes(found)) == 1
    answer = engine.ask(AskRequest(question))
    assert not answer.refused
    assert len(notes(answer)) == 1
    assert {citation.file for citation in answer.citations} >= {file}
    assert answer.confidence != "high"


def test_a_chinese_paper_is_found_by_its_words_and_quoted_in_whole_sentences(engine):
    found = engine.search(SearchRequest("茶叶的烘焙温度是多少？"))
    assert found.hits[0].chunk.file == "tea.pdf"
    assert "烘焙温度" in found.question
    answer = engine.ask(AskRequest("茶叶烘焙用了几个样品？"))
    assert not answer.refused
    assert len(notes(answer)) == 1
    quotes = [block for block in answer.blocks if block.kind == "quote"]
    assert any("四十八个样品" in block.text for block in quotes)
    assert all(block.text.endswith("。") for block in quotes if block.citations[0].file == "tea.pdf")


def test_an_english_question_stays_what_it_was(engine):
    for question in ("How fast do bees fly in fog?", "What error did Kelvin-7 have at Dover?"):
        found = engine.search(SearchRequest(question))
        assert found.question == question
        assert notes(found) == []
