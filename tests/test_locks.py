"""requirements*.lock have what requirements*.txt name, with hashes."""

import re

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.conftest import ROOT
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
