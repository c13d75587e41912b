"""docs/packages.md tells the truth: each package is imported where its table says, and nowhere else."""

import ast
import functools
import re
from importlib.metadata import packages_distributions

import pytest

from tests.conftest import ROOT
from tests.test_locks import pins

PACKAGE = ROOT / "ragscience"
ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \| [^|]+ \|$", re.MULTILINE)


def normal(name):
    return name.lower().replace("_", "-")


def required():
    return set(pins("requirements.txt"))


def table():
    """By package, what the page says of where it is imported."""
    section = (ROOT / "docs" / "packages.md").read_text().partition("\n## ")[0]
    rows = [row for row in ROW.findall(section) if row[0] not in ("package", "---")]
    return {normal(name): where for names, where in rows for name in names.split(", ")}


@functools.cache
def importers():
    """By top-level module, the files of the package that import it."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            for name in names:
                found.setdefault(name.partition(".")[0], set()).add(path.relative_to(PACKAGE).as_posix())
    return found


@functools.cache
def top_level():
    """By package, its top-level modules."""
    found = {}
    for module, distributions in packages_distributions().items():
        for distribution in distributions:
            found.setdefault(normal(distribution), set()).add(module)
    return found | {"prompt-toolkit": {"prompt_toolkit"}}


def test_the_table_has_the_packages_that_are_required_and_no_others():
    assert set(table()) == required()


@pytest.mark.parametrize("package", sorted(required()))
def test_a_package_is_imported_where_the_table_says(package):
    files = set().union(*(importers().get(module, set()) for module in top_level()[package]))
    said = table()[package]
    if said == "everywhere":
        assert len(files) > 20
        return
    places = [] if said == "nowhere" else re.findall(r"`([^`]+)`", said)
    assert bool(places) == (said != "nowhere")
    outside = {file for file in files if not any(file == place or file.startswith(f"{place}/") for place in places)}
    assert not outside
    unused = [place for place in places if not any(file == place or file.startswith(f"{place}/") for file in files)]
    assert not unused
