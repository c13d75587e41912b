"""Every command's help by typer: it fits the screen, breaks no option's name, and its example is a call of it."""

import re
import shlex

import pytest
import typer.main

from ragscience.__main__ import command_line
from ragscience.cli import ingest_app, query_app, running
from ragscience.cli.config_commands import config_app
from ragscience.cli.groups import OTHERS
from tests.conftest import ROOT, Commands

APPS = {
    "python query.py": query_app.app,
    "python ingest.py": ingest_app.app,
    "python config.py": config_app,
    "ragscience": command_line(),
}


def contexts(command, called, parent=None):
    context = command.context_class(command, info_name=called, parent=parent, help_option_names=["-h", "--help"])
    yield context
    for name, inner in getattr(command, "commands", {}).items():
        yield from contexts(inner, name, context)


PAGES = [context for called, app in APPS.items() for context in contexts(typer.main.get_command(app), called)]


@pytest.fixture
def page(monkeypatch, capsys):
    def of(context, columns):
        monkeypatch.setenv("COLUMNS", str(columns))
        context.command.get_help(context)
        return capsys.readouterr().out

    return of


@pytest.mark.parametrize("columns", [80, 120])
def test_every_page_fits_the_screen_and_names_every_option_whole(page, columns):
    assert len(PAGES) > 80
    for context in PAGES[:: 1 if columns == 80 else 5]:
        text = page(context, columns)
        assert max(map(len, text.splitlines())) <= columns, text
        assert f"Usage: {context.command_path}" in " ".join(text.split())
        for one in context.command.get_params(context):
            assert all(re.search(rf"{name}(?![\w-])", text) for name in one.opts if name.startswith("-")), text
            assert re.match(r"[A-Z`kr].*\.$", one.help, re.S), (context.command_path, one.name)


def test_the_installed_command_never_names_a_script(page, monkeypatch):
    installed = running._is_installed.set(True)
    try:
        pages = [page(one, 80) for one in PAGES if one.find_root().info_name == "ragscience"]
    finally:
        running._is_installed.reset(installed)
    named = [text for text in pages if re.search(r"\b(query|ingest|config)\.py\b", text)]
    assert len(pages) > 30
    assert [text for text in named if "path of query.py" not in text and "in `ingest.py add`" not in text] == []


def test_each_script_knows_the_commands_of_the_other():
    for called, app in (("query.py", query_app.app), ("ingest.py", ingest_app.app)):
        other, theirs = OTHERS[called]
        own = set(typer.main.get_command(app).commands)
        assert (
            set(theirs.split()) - {"ingest", "query"}
            <= set(typer.main.get_command(APPS[f"python {other}"]).commands) - own
        )


EXAMPLES = sorted({one.command.epilog for one in PAGES if one.command.epilog and "query.py" in one.command.epilog})


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_is_taken_by_its_command(example):
    _, script, *words = shlex.split(example.removeprefix("Example: "))
    command = typer.main.get_command(APPS[f"python {script}"])
    context = command.make_context(script, words)
    while hasattr(context.command, "commands") and (context._protected_args or context.args):
        name, inner, rest = context.command.resolve_command(context, [*context._protected_args, *context.args])
        context = inner.make_context(name, rest, parent=context)
    assert context.command.epilog == example


def test_help_and_version_of_a_process():
    ran = Commands(ROOT).query("search", "-h")
    assert (ran.code, ran.err) == (0, "")
    assert "Usage: python query.py search [OPTIONS] [QUESTION]" in ran.out
    for script in ("query.py", "ingest.py"):
        shown = Commands(ROOT).run(script, "--version").out
        assert re.fullmatch(r"RAG Science \S+ \(Python 3\.\S+, library schema \d+\)\n", shown)
        assert Commands(ROOT).run(script, "version").out == shown
