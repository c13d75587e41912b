"""docs/security.md promises only what a test holds."""

import ast
import re

import pytest

from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "security.md").read_text()
ROWS = [row for row in re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", PAGE, re.M) if row[0] not in ("promised", "---")]
NAMED = re.compile(r"`([\w/]+\.py)?::(test_\w+)`")


def test_there_are_promises():
    assert len(ROWS) > 20
    assert len({promise for promise, _ in ROWS}) == len(ROWS)


@pytest.mark.parametrize(("promise", "tests"), ROWS, ids=[promise[:60] for promise, _ in ROWS])
def test_the_tests_that_hold_a_promise_are_there(promise, tests):
    named = NAMED.findall(tests)
    assert named
    assert NAMED.sub("", tests).strip(", ") == ""
    file = ""
    for path, name in named:
        file = path or file  # without a path: the same file as before
        tree = ast.parse((ROOT / "tests" / file).read_text())
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
