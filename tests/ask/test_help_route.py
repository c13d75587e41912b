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
        ("How do I download papers from arXiv?", "python ingest.py fetch 1706.03762"),
        ("how do I use the graph?", 'python query.py ask --graph "…"'),
        ("what commands are there?", "python query.py --help"),
        ("help", "python query.py --help"),
        ("how do I cite?", "python query.py bib"),
        ("How do I see earlier conversations?", "python query.py history list"),
        ("How do I use Ollama?", "python query.py models"),
        ("How do I change a setting?", "python config.py show"),
        ("Is there a way to get JSON output?", 'python query.py ask --json "…"'),
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
        "How does dropout help?",
        "How to evaluate retrieval?",
        "Can you explain attention?",
        "How do they read scanned pages?",
        "Can we search the web graph?",
        "How is the index built?",
        "How do we remove noise from documents?",
    ],
)
def test_questions_of_the_subject_are_left_alone(bees, question):
    assert route(question, context(bees)) is None
