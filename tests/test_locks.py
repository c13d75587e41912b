"""requirements*.lock have what requirements*.txt name, with hashes."""

import ast
import functools
import re
from importlib.metadata import packages_distributions

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.conftest import ROOT
from tools import make_licences
from tools.lock_requirements import LEFT_OUT, LOCKED

ENTRY = re.compile(
    r"^([\w.-]+)(?:\[[\w,-]+\])?==([^ ;\\]+)((?: ;[^\\\n]*)?) \\\n((?: {4}--hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.M
)


def pins(name):
    """By package, the version that a requirements file pins, with the files that it names."""
    found = {}
    for line in (ROOT / name).read_text().splitlines():
        text = line.partition("#")[0].strip()
        if text.startswith("-r "):
            found |= pins(text[3:].strip())
        elif text:
            wanted = Requirement(text)
            found[canonicalize_name(wanted.name)] = str(wanted.specifier).removeprefix("==")
    return found


def entries(name):
    """By package, the versions that a lock has."""
    found = {}
    for package, version, _, _ in ENTRY.findall((ROOT / f"{name}.lock").read_text()):
        found.setdefault(canonicalize_name(package), set()).add(version)
    return found


@pytest.mark.parametrize("name", LOCKED)
def test_a_lock_has_what_its_requirements_name(name):
    locked = entries(name)
    wanted = {
        package: version for package, version in pins(f"{name}.txt").items() if not LEFT_OUT.match(f"{package}==")
    }
    assert {package: {version} for package, version in wanted.items()}.items() <= locked.items(), "run `make lock`"


@pytest.mark.parametrize("name", LOCKED)
def test_a_lock_is_made_of_pins_with_hashes_alone(name):
    first, _, rest = (ROOT / f"{name}.lock").read_text().partition("\n")
    assert first.startswith("# Made by `make lock`")
    assert ENTRY.sub("", rest) == ""
    assert "://" not in rest


def test_torch_and_cuda_are_left_to_the_machine():
    for name in LOCKED:
        assert not [package for package in entries(name) if LEFT_OUT.match(f"{package}==")]


ROWS = make_licences.rows_of_page()


def test_the_page_is_what_the_installed_packages_say():
    said = {name: licence for name, (licence, _) in make_licences.current_rows().items() if name in ROWS}
    assert len(said) > 100
    assert said == {name: ROWS[name][0] for name in said}, "run `make licences`"


@pytest.mark.parametrize("name", LOCKED)
def test_no_package_that_is_locked_is_missing(name):
    locked = ENTRY.findall((ROOT / f"{name}.lock").read_text())
    here = {package for package, _, marker, _ in locked if not marker or Marker(marker.removeprefix(" ; ")).evaluate()}
    assert here
    assert here <= set(ROWS), "run `make licences`"


@pytest.mark.parametrize("file", make_licences.requirement_files(), ids=lambda file: file.name)
def test_no_package_that_a_file_names_is_missing(file):
    named = {make_licences.canonicalize_name(each.name) for each in make_licences.direct_requirements(file)}
    assert named
    assert named <= set(ROWS)


@pytest.mark.parametrize("name", sorted(ROWS))
def test_each_licence_was_agreed_to(name):
    assert make_licences.refused(name, ROWS[name][0]) == []


def test_what_the_page_of_the_browser_brings_has_its_licence_beside_it():
    vendor = ROOT / "ragscience" / "serving" / "page" / "vendor"
    named = re.findall(r"^\| `([^`]+)/` \|", make_licences.PAGE.read_text(), re.MULTILINE)
    assert {path.relative_to(vendor).as_posix() for path in vendor.rglob("*") if path.is_dir()} == set(named)
    for folder in named:
        assert list((vendor / folder).glob("LICENSE*"))


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
