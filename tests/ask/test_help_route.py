"""Questions of the program: the topic that a question means, and that each command of a topic is one."""

import shlex

import pytest
import typer.main

from ragscience.ask.intents import help_topics
from ragscience.ask.router import route
from ragscience.cli import config_commands, ingest_app, query_app
from tests.ask.paper_library import context

APPS = {"ingest.py": ingest_app.app, "query.py": query_app.app, "config.py": config_commands.config_app}
TOPICS = help_topics().values()
COMMANDS = [command for topic in TOPICS for command, _ in topic["commands"]]


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_and_option_is_one(command):
    python, script, *words = shlex.split(command.replace("…", "x"))
    assert python == "python"
    group = typer.main.get_command(APPS[script])
    found = group
    while words and words[0] in getattr(found, "commands", {}):
        found = found.commands[words.pop(0)]
    options = {name for param in found.params for name in [*param.opts, *param.secondary_opts]} | {"--help"}
    assert {word for word in words if word.startswith("-")} <= options
    takes_words = any(param.param_type_name == "argument" for param in found.params)
    assert found is not group or not words or words == ["--help"]
    assert takes_words or all(word.startswith("-") or words[at - 1].startswith("-") for at, word in enumerate(words))


@pytest.mark.parametrize(
    ("question", "command"),
    [
        ("How do I add a paper?", "python ingest.py add FILE.pdf"),
        ("how can I import my PDFs", "python ingest.py add FILE.pdf"),
        ("How do I download papers from arXiv?", "python ingest.py fetch 1706.03762"),
        ("How do I remove a paper from the library?", "python ingest.py remove FILE.pdf"),
        ("how do I use the graph?", 'python query.py ask --graph "…"'),
        ("How can I build a knowledge graph of my papers?", "python ingest.py graph"),
        ("what commands are there?", "python query.py --help"),
        ("help", "python query.py --help"),
        ("What can you do?", "python query.py --help"),
        ("can you read scans?", "python ingest.py add --ocr FILE.pdf"),
        ("how do I cite?", "python query.py bib"),
        ("How do I export a bibliography?", "python query.py bib"),
        ("How do I see earlier conversations?", "python query.py history list"),
        ("How can I restrict a question to one paper?", 'python query.py ask --paper attention "…"'),
        ("How do I use Ollama?", "python query.py models"),
        ("How do I change a setting?", "python config.py show"),
        ("Do you send my papers to the internet?", 'python query.py ask --offline "…"'),
        ("how to find duplicate papers", "python ingest.py duplicates"),
        ("Is there a way to get JSON output?", 'python query.py ask --json "…"'),
        ("How do I open a source?", "python query.py open 1"),
    ],
)
def test_the_command_for_a_question(bees, question, command):
    routed = route(question, context(bees))
    assert any(f"`{command}`" in block.text for block in routed.blocks)


@pytest.mark.parametrize(
    "question",
    [
        "How do I add a layer to the model?",
        "How do we use language models?",
        "Does it help?",
        "How does dropout help?",
        "How to use a knowledge graph?",
        "How to evaluate retrieval?",
        "How can we limit the error by filtering?",
        "Can you explain attention?",
        "What does the graph show?",
        "How do they read scanned pages?",
        "How do I compute attention?",
        "How can I train with a larger batch?",
        "Can we search the web graph?",
        "What options are there for pooling?",
        "How do you build a model?",
        "How is the index built?",
        "Which commands does the robot take?",
        "How do we remove noise from documents?",
    ],
)
def test_questions_of_the_subject_are_left_alone(bees, question):
    assert route(question, context(bees)) is None
