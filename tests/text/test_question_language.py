"""The language of a question, and what it asks for."""

import json
from pathlib import Path

import pytest

from ragscience.core.tokenizing import language_of

QUESTIONS = Path(__file__).parents[2] / "benchmarks" / "questions"


def questions(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("Welcher Optimierer wurde für das Training verwendet?", "German"),
        ("Quel optimiseur a été utilisé ?", "French"),
        ("¿Qué optimizador usa el Transformer?", "Spanish"),
        ("Qual é a taxa de aprendizagem do Adam?", "Portuguese"),
        ("Quali dati sono stati usati per BERT?", "Italian"),
        ("注意力机制是什么？", "Chinese"),
        ("アテンションとは何ですか", "Japanese"),
        ("What did de la Torre find in Le Havre?", ""),
        ("Was BERT in de novo design?", ""),
        ("What does 注意力机制 mean?", ""),
        ("Transformer", ""),
        ("α and β", ""),
    ],
)
def test_the_language_of_a_question(question, language):
    assert language_of(question) == language


def test_no_english_question_looks_foreign_and_each_foreign_one_does():
    names = {"de": "German", "fr": "French", "zh": "Chinese"}
    foreign = questions(QUESTIONS / "languages.jsonl")
    assert [language_of(item["question"]) for item in foreign] == [names[item["language"]] for item in foreign]
    english = [
        item["question"]
        for path in sorted(QUESTIONS.glob("*.jsonl"))
        if path.stem not in ("languages", "checking")  # sentences of answers are in the second
        for item in questions(path)
    ]
    assert len(english) > 100
    assert [question for question in english if language_of(question)] == []
