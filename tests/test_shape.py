"""The shape of the code: no import circle, no wide function, and no more files than a person can know."""

import ast
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "ragscience"
MOST_FILES = 248
MOST_PARAMETERS = 6
CLASS_NAMES_TWICE = 0
"""What there is today, to fall: a new public class has a name of its own."""

TREES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): ast.parse(path.read_text())
    for path in sorted(PACKAGE.rglob("*.py"))
}


def imported(tree: ast.Module) -> set[str]:
    """The modules of the package that a module imports, also inside functions and for type checkers alone."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            inner = {f"{node.module}.{alias.name}" for alias in node.names} & TREES.keys()
            found |= inner if len(inner) == len(node.names) else {node.module, *inner}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found & TREES.keys()


def in_circles(edges: dict[str, set[str]]) -> set[str]:
    """The modules that import themselves by way of others."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            new = edges[waiting.pop()] - seen
            seen |= new
            waiting += new
        return seen

    return {module for module in edges if module in reached(module)}


def test_circles_are_found():
    assert in_circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == {"b", "c"}


def test_no_module_imports_in_a_circle():
    found = in_circles({module: imported(tree) - {module} for module, tree in TREES.items()})
    assert found == set()


def test_there_are_not_more_files_than_before():
    assert len(TREES) <= MOST_FILES


def test_no_function_takes_more_than_six_parameters():
    wide = []
    for module, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not module.startswith("ragscience.cli."):
                every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                if len([one for one in every if one.arg not in ("self", "cls")]) > MOST_PARAMETERS:
                    wide.append(f"{module}.{node.name}")
    assert wide == []


def test_few_public_classes_share_a_name():
    names = Counter(
        node.name
        for tree in TREES.values()
        for node in tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert len([name for name, count in names.items() if count > 1]) <= CLASS_NAMES_TWICE


def test_the_engine_has_few_members():
    public = set()
    for module, name in (("library_engine", "Engine"), ("shared_parts", "SharedParts")):
        body = TREES[f"ragscience.engine.{module}"].body
        made = next(node for node in body if isinstance(node, ast.ClassDef) and node.name == name)
        public |= {node.name for node in made.body if isinstance(node, ast.FunctionDef) and node.name[0] != "_"}
    assert len(public) <= 25, public
