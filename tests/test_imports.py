"""The rules of the house: which package may import which, and what may not be written anywhere.

The rules read the source, so that an import inside a function counts as much as one at the top. Each rule is tried on
a snippet that breaks it, too: a rule that catches nothing is no rule.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = ("config", "ingest", "query")

MAY_KNOW = {
    "": {"core", "engine"},  # ragscience/__init__.py
    "__main__": {"cli"},
    "core": set(), "models": {"core"},
    "reading": {"core"},
    "sources": {"core", "reading"},
    "library": {"core", "models", "reading"},
    "graph": {"core", "library", "models", "reading"},
    "search": {"core", "library", "models", "reading", "graph"},
    "claims": {"core", "models"},
    "ask": {"claims", "core", "library", "models", "graph", "search", "sources"},
    "agent": {"core", "library", "models", "search", "sources", "ask"},
    "evaluation": {"core", "ask"},
    "review": {"claims", "core", "ask", "graph", "library", "models", "reading", "search", "sources"},
    "upkeep": {"core", "library", "models", "reading", "graph"},
    "engine": {
        "core", "agent", "ask", "evaluation", "graph", "library", "models", "reading", "review", "search", "sources",
        "upkeep",
    },
    "serving": {"core", "agent", "engine"},
    "cli": {"core", "engine", "evaluation", "review", "serving"},
}  # fmt: skip
"""The other packages that each one may import from; a new one needs a row here."""

PROCESSES = {"ragscience.reading.worker"}
"""Modules that run as processes of their own, whose stdout is a reply to their parent."""
FOR_TERMINALS = {"typer", "rich", "prompt_toolkit", "click"}
HEAVY = {
    "torch", "sentence_transformers", "transformers", "sklearn", "langgraph", "faiss", "pymupdf", "fitz", "onnxruntime",
    "tokenizers", "scipy", "botocore", "rank_bm25", "lancedb", "pyarrow",
    "opentelemetry", "ray",
}  # fmt: skip
UNSAFE = {"pickle", "_pickle", "cPickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"}
UNSAFE_FLAGS = {"allow_pickle", "allow_dangerous_deserialization", "trust_remote_code"}


def is_heavy(module: str) -> bool:
    top = module.split(".")[0]
    return top in HEAVY or top.startswith("langchain")


def imported(node: ast.AST, module: str, is_package: bool) -> Iterator[str]:
    """Full names of what an import statement names: `from a.b import c` gives "a.b:c"."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            package = module.split(".") if is_package else module.split(".")[:-1]
            above = package[: len(package) - node.level + 1]
            base = ".".join([*above, *([node.module] if node.module else [])])
        yield from (f"{base}:{alias.name}" for alias in node.names)


def at_the_top(tree: ast.Module) -> Iterator[ast.AST]:
    """What runs when the module is imported: nothing inside a function, nothing for the type checker alone."""
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting.extend(node.orelse)
            continue
        waiting.extend(ast.iter_child_nodes(node))


def package_of(module: str) -> str:
    """ "library" for ragscience.library.ledger, "" for ragscience itself, the name for a script."""
    parts = module.split(".")
    if parts[0] != "ragscience":
        return parts[0]
    return parts[1] if len(parts) > 1 else ""


def is_broad(handler: ast.ExceptHandler) -> bool:
    """Whether it catches everything; cleaning up after anything and raising it again is not catching it."""
    if handler.type is None:
        return True
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = {ast.unparse(item) for item in types}
    last = handler.body[-1]
    raised_again = isinstance(last, ast.Raise) and last.exc is None
    return "Exception" in names or ("BaseException" in names and not raised_again)


def broad_handlers(source: str) -> list[int]:
    return [n.lineno for n in ast.walk(ast.parse(source)) if isinstance(n, ast.ExceptHandler) and is_broad(n)]


def violations(module: str, source: str, is_package: bool = False) -> list[str]:
    """Which rules a module breaks, in words."""
    tree, package = ast.parse(source), package_of(module)
    for_people = package == "cli" or module in SCRIPTS
    found = []
    for node in ast.walk(tree):
        for name in imported(node, module, is_package):
            found += broken_by_import(package, name, for_people)
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id in ("print", "input") and not for_people:
                found.append(f"{node.func.id}() in a library")
            writes = ast.unparse(node.func) in ("sys.stdout.write", "sys.stderr.write")
            if writes and not for_people and module not in PROCESSES:
                found.append("a library writes to the terminal")
            for keyword in node.keywords:
                if keyword.arg in UNSAFE_FLAGS and not (
                    isinstance(keyword.value, ast.Constant) and keyword.value.value is False
                ):
                    found.append(f"{keyword.arg}: what is read from disk must not run code")
    for node in at_the_top(tree):
        for name in imported(node, module, is_package):
            if is_heavy(name.partition(":")[0]):
                found.append(f"{name} is heavy and imported at the top")
    if not for_people:
        found += [f"line {line} catches everything" for line in broad_handlers(source)]
    return found


def broken_by_import(package: str, name: str, for_people: bool) -> Iterator[str]:
    """The rules about who may import what, for one imported name."""
    base, _, what = name.partition(":")
    top = base.split(".")[0]
    if top in UNSAFE:
        yield f"{name}: what is read from disk must not run code"
    if top in FOR_TERMINALS and not for_people:
        yield f"{name} belongs to the commands and the terminal"
    if top in SCRIPTS:
        yield f"{name}: nobody imports a script"
    if top != "ragscience" or package in SCRIPTS:
        return
    other = package_of(base) or (what if what in MAY_KNOW else "")
    if package not in MAY_KNOW:
        yield f"the package {package} has no row in MAY_KNOW"
    elif other not in {package, "", *MAY_KNOW[package]}:
        yield f"{package} must not know {other}"


def modules() -> list[tuple[str, Path]]:
    """(dotted name, file) of every module of the library and of the commands that are there."""
    found = [(name, ROOT / f"{name}.py") for name in SCRIPTS]
    for path in sorted((ROOT / "ragscience").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found.append((".".join(parts[:-1] if parts[-1] == "__init__" else parts), path))
    return [(name, path) for name, path in found if path.exists()]


@pytest.mark.parametrize(("name", "path"), modules(), ids=[name for name, _ in modules()])
def test_module_keeps_the_rules(name, path):
    assert violations(name, path.read_text(encoding="utf-8"), path.name == "__init__.py") == []


def test_there_are_modules_to_look_at():
    assert {"ragscience.core.records", "ragscience.models.model_protocols"} <= {name for name, _ in modules()}


def test_at_most_one_place_catches_everything():
    places = [
        f"{path.relative_to(ROOT)}:{line}"
        for name, path in modules()
        if name in SCRIPTS or package_of(name) == "cli"
        for line in broad_handlers(path.read_text(encoding="utf-8"))
    ]
    assert len(places) <= 1, places


def test_importing_everything_loads_nothing_heavy():
    """What the rules say of the source, seen from outside: a fresh interpreter that has imported every module."""
    names = [name for name, _ in modules() if not name.startswith("ragscience.serving.")]  # only `serve` imports these
    code = "import importlib, sys\nfor name in sys.argv[1:]: importlib.import_module(name)\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, *names], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    loaded = done.stdout.split()
    assert "ragscience.core.records" in loaded
    assert [name for name in loaded if is_heavy(name) or name in {"fastapi", "starlette", "uvicorn", "mcp"}] == []
