"""What `pip install .` makes: one version, one list of dependencies, all files, one command."""

import io
import tarfile
import tomllib
from importlib import import_module

import pytest

import ragscience
from ragscience.cli import ingest_app, query_app
from tests.conftest import ROOT
from tools.make_release import notes, without_times

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def names_of(app):
    named = {command.name or command.callback.__name__ for command in app.registered_commands}
    groups = {group.name: group.typer_instance for group in app.registered_groups}
    return (
        named
        | {name for name in groups if name}
        | {n for name, app in groups.items() if not name for n in names_of(app)}
    )


def test_version_and_dependencies_come_from_one_place():
    made = PROJECT["tool"]["setuptools"]["dynamic"]
    assert made["version"] == {"attr": "ragscience.core.__version__"}
    assert ragscience.__version__
    assert made["dependencies"] == {"file": ["requirements-core.txt"]}
    extras = made["optional-dependencies"]
    assert set(extras) == {"formats", "lab", "llm-server", "serve", "tables", "telemetry", "torch"}
    for file in [*made["dependencies"]["file"], *(file for extra in extras.values() for file in extra["file"])]:
        lines = [line for line in (ROOT / file).read_text().splitlines() if not line.lstrip().startswith("#")]
        assert [line for line in lines if line.startswith("-")] == [], "setuptools reads no -r"


def test_every_file_that_is_not_code_is_packaged():
    patterns = PROJECT["tool"]["setuptools"]["package-data"]["*"]
    package = ROOT / "ragscience"
    others = [path for path in package.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")]
    assert others
    for path in others:
        parent = next(folder for folder in path.parents if (folder / "__init__.py").exists())
        assert any(path in parent.glob(pattern) for pattern in patterns), path


def test_the_command_has_every_command_of_the_scripts():
    module, _, function = PROJECT["project"]["scripts"]["ragscience"].partition(":")
    main = import_module(module)
    assert callable(getattr(main, function))
    everything = names_of(main.command_line())
    assert everything >= names_of(query_app.app) | (names_of(ingest_app.app) - {"add"}) | {"ingest"}


@pytest.fixture
def installed(tmp_path):
    import os
    import subprocess
    import sys

    def run(*args):
        env = {name: value for name, value in os.environ.items() if name != "RAG_HOME"} | {"PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-m", "ragscience", *args]
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=False)

    return run


def test_the_command_works_in_the_current_folder_and_names_itself(installed, tmp_path):
    helped = installed("related", "--help")
    assert helped.returncode == 0
    assert "ragscience related ragscience.pdf" in helped.stdout
    assert ".py" not in helped.stdout
    refused = installed("search", "fog", "--nope")
    assert (refused.returncode, "`ragscience search --help`" in refused.stderr) == (2, True)
    shown = installed("config", "home")
    assert shown.stdout.split()[:2] == ["home", f'"{tmp_path}"']
    missing = installed("ask", "How fast do bees fly?")
    assert "`ragscience ingest`" in missing.stderr
    assert ".py" not in missing.stderr


CHANGES = "# Changelog\n\n## Unreleased\n\n- New.\n\n## 0.2.0 - 2026-12-01\n\n- Old.\n\n## 0.1.0\n\n- Oldest.\n"


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("0.2.0", "# RAG Science 0.2.0 - 2026-12-01\n\n- Old.\n"),
        ("0.1.0", "# RAG Science 0.1.0\n\n- Oldest.\n"),
        ("0.3.0", "# RAG Science 0.3.0 - 2027-01-01\n\n- New.\n"),
    ],
)
def test_the_notes_are_the_section_of_the_version_or_what_is_unreleased(version, expected):
    assert notes(CHANGES, version, "2027-01-01") == expected


def test_an_sdist_is_the_same_whenever_and_whoever_made_it(tmp_path):
    made = []
    for when, owner, names in ((1, "ana", "ab"), (10**9, "ben", "ba")):
        path = tmp_path / str(when) / "x-1.tar.gz"
        path.parent.mkdir()
        with tarfile.open(path, "w:gz") as archive:
            for name in names:
                entry = tarfile.TarInfo(name)
                entry.mtime, entry.uname, entry.size = when + 0.5, owner, 1
                archive.addfile(entry, io.BytesIO(name.encode()))
        without_times(path, 5)
        made.append(path)
    assert made[0].read_bytes() == made[1].read_bytes()
    with tarfile.open(made[0]) as archive:
        assert [(each.name, each.mtime, archive.extractfile(each).read()) for each in archive] == [
            ("a", 5, b"a"), ("b", 5, b"b"),
        ]  # fmt: skip
