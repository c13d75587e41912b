"""What the rounds begin with: the model, the papers, what has to be read from them, and some homes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from tests.soak import processes
from tests.soak.look import read_truth
from tests.soak.rounds import Round, World
from tests.soak.shelf import NAMES, draw, question
from tests.soak.state import State

ENVIRONMENT = {
    "RAG_OFFLINE": "true",
    "RAG_EMBEDDER": "embedded",
    "RAG_ANSWERER": "extractive",
    "RAG_RERANK": "late-interaction",
    "RAG_READING_WORKERS": "1",
}
"""Of each command; no other service is asked."""


def prepared(folder: Path, disk: Path, faults: Sequence[str], kinds: Sequence[type[Round]]) -> World:
    """Load the program, read all papers once, and make the homes that rounds begin with."""
    for name in ("said", "bases", "pdfs", "models"):
        (folder / name).mkdir(exist_ok=True)
    shutil.rmtree(folder / "bases")
    processes.load_program(Path(_cache_folder(folder)), [name for kind in kinds for name in kind.modules])
    drawn = draw(folder / "pdfs")
    machine = processes.Machine(folder / "said", ENVIRONMENT)
    world = World(folder, disk, {}, machine, list(faults))
    whole = disk / "whole"
    shutil.copytree(folder / "pdfs", whole / "papers")
    machine.warm_up(whole, [question(name) for name in NAMES])
    shutil.rmtree(whole / "vectorstore")
    _run(machine, whole, {}, "ingest.py", "add")
    # In a fork, as all work on libraries: this process stays without threads and open files.
    results = folder / "truth.json"
    ran = machine.forked("reading", partial(_write_truth, whole, drawn, results)).wait()
    assert ran.code == 0, ran.err
    world.truths = _truths(results, drawn)
    shutil.rmtree(whole)
    for kind in kinds:
        _make_bases(world, {(name, version): md5 for md5, (name, version, _) in drawn.items()}, kind)
    return world


def _cache_folder(folder: Path) -> str:
    import os

    return os.environ.get("RAG_CACHE_FOLDER", str(folder / "models"))


def _write_truth(home: Path, drawn: dict[str, tuple[str, int, Path]], target: Path) -> int:
    found = read_truth(home, drawn)
    target.write_text(json.dumps({md5: [truth.pages, truth.passages] for md5, truth in found.items()}))
    return 0


def _truths(path: Path, drawn: dict[str, tuple[str, int, Path]]) -> dict:
    from tests.soak.shelf import Truth

    return {
        md5: Truth(*drawn[md5], tuple(pages), tuple(map(tuple, passages)))
        for md5, (pages, passages) in json.loads(path.read_text()).items()
    }


def _make_bases(world: World, md5s: dict[tuple[str, int], str], kind: type[Round]) -> None:
    """Make the homes of a kind of round: empty, with three papers, and with seven, a graph and a removed one."""
    for size, count in (("empty", 0), ("small", 3), ("large", 7)):
        one = kind(world, 0, 0)
        one.state = state = State()
        (one.home / "papers").mkdir(parents=True)
        for paper in NAMES[:count]:
            md5 = md5s[paper, 0]
            one.write_file(f"{paper}.pdf", world.truths[md5].file)
            state.disk[f"{paper}.pdf"] = md5
        run = partial(_run, world.machine, one.home, one.environment())
        if count:
            run("ingest.py", "sync")
            asked = world.truths[md5s[NAMES[0], 0]].question
            state.answers.asked.add(asked)
            state.answers.note(asked, run("query.py", "ask", asked, "--json"))
        state.held = dict(state.disk)
        if count == 7:
            run("ingest.py", "graph")
            md5 = state.held.pop(f"{NAMES[6]}.pdf")
            run("ingest.py", "remove", md5, "--yes")
            state.removed.add(md5)
        one.keep(f"{kind.kind}-{size}")


def _run(machine: processes.Machine, home: Path, environment: Mapping[str, str], *words: str) -> str:
    ran = machine.command(*words, home=home, environment=environment).wait()
    assert ran.code == 0, (ran.code, ran.out, ran.err)
    return ran.out
