"""Every command's help: whole at every width, in words for people, with two examples that run."""

import re
import shlex
import shutil

import pytest
import typer.main

from ragscience.__main__ import command_line
from ragscience.cli import cli, ingest_cli, query_cli
from ragscience.cli.command_guide import EXAMPLES, SECTIONS
from ragscience.cli.config_commands import config_app
from ragscience.cli.help_page import help_page, summary
from tests.conftest import ROOT, Commands

APPS = {
    "python query.py": query_cli.app,
    "python ingest.py": ingest_cli.app,
    "python config.py": config_app,
    "ragscience": command_line(),
}


def contexts(command, called, parent=None):
    context = command.context_class(command, info_name=called, parent=parent, help_option_names=["-h", "--help"])
    yield context
    for name, inner in getattr(command, "commands", {}).items():
        yield from contexts(inner, name, context)


PAGES = [context for called, app in APPS.items() for context in contexts(typer.main.get_command(app), called)]


@pytest.fixture(params=[60, 100, 250])
def columns(request, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(request.param))
    return request.param


def test_every_page_keeps_to_the_terminals_width_and_says_all(columns):
    assert len(PAGES) > 80
    for context in PAGES:
        page = help_page(context)
        assert max(map(len, page.splitlines())) <= columns, page
        flat = " ".join(page.split())
        assert flat.startswith(f"Usage: {context.command_path}")
        for text in (context.command.help, *(one.help for one in context.command.get_params(context))):
            assert " ".join(text.split()[:3]).replace("python query.py", "") in flat or "query.py" in text
        assert page.splitlines()[-3:][0].endswith("Examples:") or columns < 100
        assert not re.search(r"…\n|<[a-z]|list\[|\[\d+<=|\w range>", page), page


def test_the_installed_command_never_names_a_script(monkeypatch):
    installed = cli._is_installed.set(True)
    try:
        pages = [help_page(one) for one in PAGES if one.find_root().info_name == "ragscience"]
    finally:
        cli._is_installed.reset(installed)
    assert len(pages) > 30
    assert not [
        page for page in pages if re.search(r"\b(query|ingest|config)\.py", page.replace("/path/to/query.py", ""))
    ]


def test_the_help_is_as_wide_as_the_terminal(monkeypatch):
    longest = {}
    for columns in (60, 250):
        monkeypatch.setenv("COLUMNS", str(columns))
        longest[columns] = max(len(line) for context in PAGES for line in help_page(context).splitlines())
    assert longest[60] > 55
    assert longest[250] > 150


def test_summaries_and_meanings_are_whole_sentences():
    for context in PAGES:
        assert re.fullmatch(r"[A-Z][^\n]{10,110}\.", summary(context.command)), context.command_path
        for one in context.command.get_params(context):
            assert re.match(r"[A-Z`k].*\.$", one.help, re.S), (context.command_path, one.name)


def test_the_commands_of_a_script_stand_in_an_order_of_use():
    everything = {name for names in SECTIONS.values() for name in names}
    for called, app in APPS.items():
        names = set(typer.main.get_command(app).commands)
        assert called == "python config.py" or names <= everything, names - everything


def test_every_command_has_two_examples_of_itself_and_no_other_has():
    scripts = [one for one in PAGES if one.find_root().info_name in ("python query.py", "python ingest.py")]
    assert {one.command_path.removeprefix("python ") for one in scripts} == set(EXAMPLES)
    for context in PAGES:
        examples = help_page(context).partition("Examples:\n")[2].splitlines()
        assert len([line for line in examples if line[2] != " "]) == 2, context.command_path


@pytest.mark.parametrize(("command", "examples"), EXAMPLES.items(), ids=EXAMPLES)
def test_every_example_is_taken_by_its_command(command, examples):
    for example in examples:
        words = shlex.split(example)
        assert words[0] == "python"
        context = typer.main.get_command(APPS[f"python {words[1]}"]).make_context(words[1], words[2:])
        path = [words[1]]
        while hasattr(context.command, "commands") and (context._protected_args or context.args):
            name, inner, rest = context.command.resolve_command(context, [*context._protected_args, *context.args])
            context = inner.make_context(name, rest, parent=context)
            path.append(name)
        assert " ".join(path).startswith(command), example


@pytest.fixture(scope="module")
def sample_home(tmp_path_factory):
    home = tmp_path_factory.mktemp("examples")
    shutil.copytree(ROOT / "papers" / "sample", home / "papers" / "sample")
    assert Commands(home).ingest().code == 0
    for name in ("thesis", "second", "third"):  # the examples name the third, too
        assert Commands(home).query("ask", "How long is a chunk, and its overlap?", "--chat", name).code == 0
    assert Commands(home).ingest("graph").code == 0
    return home


SLOW_OR_FOR_PEOPLE = {
    "query.py chat", "query.py open", "query.py eval", "query.py models pull", "ingest.py init", "ingest.py fetch",
    "ingest.py add", "ingest.py watch", "ingest.py rebuild", "ingest.py remove", "query.py history delete",
    "query.py config unset", "query.py config allow", "query.py serve", "query.py serve token list",
    "query.py serve token revoke", "query.py mcp", "ingest.py copy",
}  # fmt: skip


@pytest.mark.parametrize("command", [name for name in EXAMPLES if name not in SLOW_OR_FOR_PEOPLE])
def test_examples_run(sample_home, command, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for example in EXAMPLES[command]:
        _, script, *words = shlex.split(example)
        if "pull" not in words:
            ran = Commands(sample_home).run(script, *words)
            assert ran.code == 0, (example, ran)


def test_help_and_version_of_a_process():
    ran = Commands(ROOT).query("search", "-h")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("Usage: python query.py search [QUESTION]... [OPTIONS]\n")
    for script in ("query.py", "ingest.py"):
        assert re.fullmatch(
            r"RAG Science \S+ \(Python 3\.\S+, library schema \d+\)\n", Commands(ROOT).run(script, "--version").out
        )
        assert Commands(ROOT).run(script, "version").out == Commands(ROOT).run(script, "--version").out
        assert Commands(ROOT).run(script, "help").out == Commands(ROOT).run(script, "-h").out
