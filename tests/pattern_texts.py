"""Every regular expression of the package, found in its source, and texts that a slow one would hang on.

A pattern's texts are made from the pattern itself: for each repetition in it, a text that comes up to it, the repeated
part again and again, and an end that does not match.
"""

import ast
import importlib
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from re import _constants as sre
from re import _parser
from types import ModuleType
from typing import Any

PACKAGE = Path(__file__).parents[1] / "ragscience"
CALLS = {"compile", "search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn"}
SEARCHES = {"search", "split", "findall", "finditer", "sub", "subn"}
FLAGS_AT = {"compile": 1, "search": 2, "match": 2, "fullmatch": 2, "split": 3, "findall": 2, "finditer": 2}


@dataclass(frozen=True)
class Pattern:
    """A regular expression of the source, compiled, and how it is used."""

    where: str
    """Module and name, or function: "ragscience.core.sentences:_STOP"."""
    compiled: re.Pattern[Any]
    uses: frozenset[str]


class Unknown(Exception):
    """A pattern that is made when the program runs; its place, "module:function"."""


def all_patterns(
    made_at_run_time: dict[str, Callable[[], list[re.Pattern[Any]]]], folder: Path = PACKAGE
) -> list[Pattern]:
    """All of the modules in `folder`. Raises Unknown for a pattern that is not known without running its module."""
    found = []
    for path in sorted(folder.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if "re." not in source:
            continue
        tree = ast.parse(source)
        name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
        used = _used(tree)
        module = importlib.import_module(name)
        for place, call in _calls(tree):
            where = f"{name}:{place}"
            if where in made_at_run_time:
                continue
            uses = used.get(place, set()) if call.func.attr == "compile" else {call.func.attr}
            found += [Pattern(where, each, frozenset(uses or {"search"})) for each in _compiled(call, module, where)]
    for where, examples in made_at_run_time.items():
        found += [Pattern(where, each, frozenset({"search"})) for each in examples()]
    return found


def _calls(tree: ast.Module) -> Iterator[tuple[str, ast.Call]]:
    """Each call of `re`, with the name that it is assigned to or the function that it is in."""

    def walk(node: ast.AST, place: str) -> Iterator[tuple[str, ast.Call]]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            place = node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign) and place in ("", "<class>"):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            place = target.id if isinstance(target, ast.Name) else place
        if isinstance(node, ast.Call) and _is_re(node.func):
            yield place, node
        for child in ast.iter_child_nodes(node):
            yield from walk(child, place)

    yield from walk(tree, "")


def _is_re(function: ast.expr) -> bool:
    return (
        isinstance(function, ast.Attribute)
        and isinstance(function.value, ast.Name)
        and function.value.id == "re"
        and function.attr in CALLS
    )


def _used(tree: ast.Module) -> dict[str, set[str]]:
    """By the name of a constant, the methods called of it in its module; "search" where it is exported."""
    used: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in CALLS and isinstance(node.value, ast.Name):
            used.setdefault(node.value.id, set() if node.value.id.startswith("_") else {"search"}).add(node.attr)
    return used


def _compiled(call: ast.Call, module: ModuleType, where: str) -> list[re.Pattern[Any]]:
    def value(node: ast.expr) -> Any:
        return eval(compile(ast.Expression(node), where, "eval"), dict(vars(module)))

    at = FLAGS_AT.get(call.func.attr)
    flags = [keyword.value for keyword in call.keywords if keyword.arg == "flags"]
    if at is not None and len(call.args) > at:
        flags.append(call.args[at])
    try:
        return [re.compile(value(call.args[0]), value(flags[0]) if flags else 0)]
    except NameError as error:
        made = list(_patterns_in(vars(module).get(where.rpartition(":")[2])))
        if not made:
            raise Unknown(where) from error
        return made


def _patterns_in(value: Any) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, tuple | list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _patterns_in(each)


def use(pattern: Pattern, text: Any) -> None:
    """Everything that the program does with the pattern, on a text."""
    for name in pattern.uses:
        if name in SEARCHES:
            for _ in pattern.compiled.finditer(text):
                pass
        else:
            getattr(pattern.compiled, name)(text)


# -- texts

ENDS = ("", "!", "\x00", "\n", "a", "1", " ", ")", "Z.", "—x")
FRAGMENTS = ("p.1, ", "1, ", "a-", "A.", "\t ", "a ", "https://a/", *" \n([.aA0_“|é#<")
_CLASSES = {
    sre.CATEGORY_DIGIT: "0123456789",
    sre.CATEGORY_NOT_DIGIT: "a -.(",
    sre.CATEGORY_SPACE: " \n\t",
    sre.CATEGORY_NOT_SPACE: "aA1.(",
    sre.CATEGORY_WORD: "aA1_é",
    sre.CATEGORY_NOT_WORD: " .-(\n",
}
_ALPHABET = " \n\tabcXYZ019.,;:-–—_()[]{}<>\"'“”|/\\#*&=+@!?%$^~`é中"


def hostile_texts(pattern: re.Pattern[Any], count: int, length: int, rng: random.Random) -> Iterator[Any]:
    """`count` texts of at most `length` characters for a pattern; bytes for a pattern of bytes."""
    tree = _parser.parse(
        pattern.pattern, pattern.flags & ~re.UNICODE if isinstance(pattern.pattern, bytes) else pattern.flags
    )
    pumps = list(_pumps(list(tree), "", rng))
    rng.shuffle(pumps)
    for number in range(count):
        if pumps and number % 4 != 3:
            before, pump = pumps[number % len(pumps)]
            if number >= len(pumps):
                pump = pump + rng.choice(("", " ", rng.choice(FRAGMENTS)))
                before = rng.choice((before, ""))
        else:
            before, pump = "", "".join(rng.choices(FRAGMENTS, k=rng.randint(1, 3)))
        pump = pump or " "
        end = rng.choice(ENDS)
        text = before[: length // 4]
        text += pump * max(1, (length - len(text) - len(end)) // len(pump)) + end
        yield text[:length].encode("utf-8", "replace") if isinstance(pattern.pattern, bytes) else text[:length]


def _pumps(nodes: list[Any], before: str, rng: random.Random) -> Iterator[tuple[str, str]]:
    """(what comes before, what is repeated) of each repetition; and the whole up to it, repeated."""
    for op, given in nodes:
        if op in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            _, most, inner = given
            inner = list(inner)
            if most > 3:
                for _ in range(2):
                    pump = _example(inner, rng)
                    yield before, pump
                    yield "", before + pump
            yield from _pumps(inner, before, rng)
        elif op is sre.BRANCH:
            for branch in given[1]:
                yield from _pumps(list(branch), before, rng)
        elif op in (sre.SUBPATTERN, sre.ATOMIC_GROUP):
            yield from _pumps(list(given[-1] if op is sre.SUBPATTERN else given), before, rng)
        elif op in (sre.ASSERT, sre.ASSERT_NOT):
            yield from _pumps(list(given[1]), before, rng)
        before += _example([(op, given)], rng)


def _example(nodes: list[Any], rng: random.Random) -> str:
    """A text that the nodes match, but for what they look at around them."""
    text = ""
    for op, given in nodes:
        if op is sre.LITERAL:
            text += chr(given)
        elif op is sre.NOT_LITERAL:
            text += rng.choice([c for c in _ALPHABET if ord(c) != given])
        elif op is sre.ANY:
            text += rng.choice(_ALPHABET.replace("\n", ""))
        elif op is sre.IN:
            text += rng.choice([c for c in _ALPHABET if _is_in(given, ord(c))] or [_first(given)])
        elif op in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            low, most, inner = given
            for _ in range(max(low, min(1 if rng.random() < 0.7 else 0, most))):
                text += _example(list(inner), rng)
        elif op is sre.BRANCH:
            text += _example(list(rng.choice(given[1])), rng)
        elif op is sre.SUBPATTERN:
            text += _example(list(given[-1]), rng)
        elif op is sre.ATOMIC_GROUP:
            text += _example(list(given), rng)
        elif op is sre.GROUPREF_EXISTS:
            text += _example(list(given[1]), rng)
    return text


def _is_in(items: Any, code: int) -> bool:
    negated = False
    found = False
    for op, given in items:
        if op is sre.NEGATE:
            negated = True
        elif op is sre.LITERAL:
            found = found or given == code
        elif op is sre.RANGE:
            found = found or given[0] <= code <= given[1]
        elif op is sre.CATEGORY:
            found = found or chr(code) in _CLASSES.get(given, "")
    return found != negated


def _first(items: Any) -> str:
    for op, given in items:
        if op is sre.LITERAL:
            return chr(given)
        if op is sre.RANGE:
            return chr(given[0])
    return "a"
