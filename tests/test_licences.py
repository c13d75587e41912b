"""docs/licences.md has every package that is installed, and none under a licence that was not agreed to."""

import re

import pytest
from packaging.markers import Marker

from tests.conftest import ROOT
from tests.test_locks import ENTRY
from tools import make_licences
from tools.lock_requirements import LOCKED

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
