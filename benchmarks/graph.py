"""The graph at 10,000 entities and 50,000 relations: loading from its rows, a walk of two hops, a path; memory."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.corpora import cache_folder
from benchmarks.report import Report, Table, spread
from benchmarks.running import Options, module, run_process

if TYPE_CHECKING:
    from ragscience.graph.graph_records import Extracted
    from ragscience.library.store import Library

TITLE = "Knowledge graph"
ENTITIES, RELATIONS = 10_000, 50_000
HUB_NEIGHBOURS = 5_000
PAPERS, PER_PAPER = 20, 100
DIMENSION = 8
TYPES = ("CONCEPT", "METHOD", "ALGORITHM", "DATASET", "METRIC")
WALKS, HUB_WALKS, PATHS = 100, 10, 20
SEED = 7


def run(options: Options) -> Report:
    """Each load in a process of its own; walks and paths in one process, after a load that is not counted."""
    home = graph_home()
    loads = [run_process(module("graph", "load", str(home))) for _ in range(options.rounds)]
    walks = json.loads(run_process(module("graph", "walk", str(home))).stdout)
    columns = ["load, whole cold process", "its peak memory", "2 hops, p50 / p95", "2 hops from the hub", "path"]
    seconds, peaks = [run.seconds for run in loads], [run.peak_mb for run in loads]
    row = [spread(seconds), spread(peaks, "MB", 0), *(_cell(walks[name]) for name in ("average", "hub", "path"))]
    note = (
        f"{ENTITIES:,} entities, {RELATIONS:,} relations of {PAPERS * PER_PAPER:,} passages, of a fixed seed; "
        f"one hub has {HUB_NEIGHBOURS:,} neighbours. There is no cache: the graph is made from the library's rows."
    )
    figures = {"load seconds": seconds, "load peak MB": peaks, "walks": walks}
    return Report("graph", TITLE, [Table("10,000 entities and 50,000 relations", columns, [row], note=note)], figures)


def _cell(walk: dict[str, float]) -> str:
    return f"{walk['p50_ms']:.1f} / {walk['p95_ms']:.1f} ms"


# What is walked over


def edges() -> NDArray[np.int64]:
    """Distinct (source, target, relation), shape (RELATIONS, 3): a ring, the hub's star, and ends that Zipf draws."""
    generator = np.random.default_rng(SEED)
    ring = np.stack([np.arange(ENTITIES), (np.arange(ENTITIES) + 1) % ENTITIES, np.zeros(ENTITIES, np.int64)], axis=1)
    spokes = np.arange(1, HUB_NEIGHBOURS + 1) * (ENTITIES // HUB_NEIGHBOURS) - 1
    star = np.stack([np.zeros_like(spokes), spokes, np.ones_like(spokes)], axis=1)
    weights = np.cumsum(1.0 / np.sqrt(np.arange(1, ENTITIES + 1)))
    ends = np.searchsorted(weights, generator.random((RELATIONS * 2, 2)) * weights[-1])
    drawn = np.concatenate([generator.permutation(ENTITIES)[ends], generator.integers(2, 7, (len(ends), 1))], axis=1)
    drawn = drawn[drawn[:, 0] != drawn[:, 1]]
    _, first = np.unique(drawn, axis=0, return_index=True)
    others = drawn[np.sort(first)][: RELATIONS - len(ring) - len(star)]
    made: NDArray[np.int64] = np.concatenate([ring, star, others])
    return made[generator.permutation(len(made))]


def name(number: int) -> str:
    """Of an entity."""
    return f"quick{number % 977} brown{number // 977} network"


def graph_home() -> Path:
    """A home whose passages give the graph, made once."""
    from ragscience.library.store import Home, Library

    home = cache_folder("graph-10k")
    done = home / ".done"
    if not done.exists():
        started = time.perf_counter()
        with Library.open_for_writing(Home(home)) as library:
            for number in range(library.about.papers, PAPERS):
                _add_paper(library, number)
            _put_rows(library)
        done.write_text(f"{time.perf_counter() - started:.1f}", encoding="utf-8")
    return home


def _add_paper(library: Library, number: int) -> None:
    from ragscience.core.records import Chunk, Document, EmbedderIdentity, Page
    from ragscience.library.store import NewPaper

    library.set_identity(EmbedderIdentity("embedded", "synthetic", "0", DIMENSION), "synthetic")
    passages = [f"Passage {at} of paper {number}." for at in range(PER_PAPER)]
    starts = np.cumsum([0, *(len(text) + 1 for text in passages)]).tolist()
    vectors = np.zeros((PER_PAPER, DIMENSION), np.float32)
    vectors[:, number % DIMENSION] = 1
    whole = "\n".join(passages)
    library.add_paper(
        NewPaper(
            path=f"/synthetic/{number:03}.pdf",
            md5=f"{number:032x}"[::-1],
            size_bytes=len(whole),
            modified_ns=0,
            document=Document(whole, (Page(1, 0, len(whole)),)),
            chunks=[
                Chunk(at, text, start, start + len(text), 1, 1)
                for at, (text, start) in enumerate(zip(passages, starts, strict=False))
            ],
            vectors=vectors,
        )
    )


def _put_rows(library: Library) -> None:
    from ragscience.graph.graph_records import encoded

    chunks = library.graph.pending("local", "1")
    found = zip(chunks, np.array_split(edges(), len(chunks)), strict=True)
    library.graph.put("local", "1", [(chunk, encoded(_found(chunk, said.tolist()))) for chunk, said in found])


def _found(chunk: int, said: list[list[int]]) -> Extracted:
    from ragscience.graph.graph_records import CO_OCCURS, RELATION_TYPES, EntityMention, Extracted, Triple

    kinds = (*RELATION_TYPES, CO_OCCURS)

    def of(number: int) -> tuple[str, str]:
        return name(number), TYPES[number % len(TYPES)]

    return Extracted(
        chunk,
        tuple(EntityMention(*of(number), 1, 0.8) for number in sorted({end for row in said for end in row[:2]})),
        tuple(
            Triple(subject, its_type, kinds[kind], other, others_type, 0.7)
            for (subject, its_type), kind, (other, others_type) in ((of(a), k, of(b)) for a, b, k in said)
        ),
    )


# What is timed


def load(home: Path) -> Any:
    from ragscience.graph.graph_model import load_graph
    from ragscience.library.store import Home, Library

    with Library.open(Home(home)) as library:
        graph = load_graph(library)
    if (len(graph), graph.relation_count) != (ENTITIES, RELATIONS):
        raise RuntimeError(f"the graph has {len(graph)} entities and {graph.relation_count} relations")
    return graph


def walks(home: Path) -> dict[str, object]:
    """Times in milliseconds."""
    from ragscience.graph.traversal import shortest_path, walk

    graph = load(home)
    drawn = np.random.default_rng(SEED + 1).integers(0, ENTITIES, WALKS).tolist()
    keys = [graph.by_name(name(seed))[0] for seed in drawn]
    hub = max(graph.network, key=graph.degree)

    def around(key: str) -> object:
        return walk(graph, {key: 1.0}, hops=2, types=frozenset())

    def between(pair: tuple[str, str]) -> object:
        return shortest_path(graph, *pair, together=True)

    pairs = list(pairwise(keys))[:PATHS]
    return {
        "average": _timed(around, keys),
        "hub": _timed(around, [hub] * HUB_WALKS),
        "path": _timed(between, pairs),
    }


def _timed(act: Callable[[Any], object], given: list[Any]) -> dict[str, float]:
    times = []
    act(given[0])
    for each in given:
        began = time.perf_counter()
        act(each)
        times.append(1000 * (time.perf_counter() - began))
    p50, p95 = np.percentile(times, [50, 95])
    return {"p50_ms": float(p50), "p95_ms": float(p95)}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.graph")
    parser.add_argument("command", choices=["load", "walk"])
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    if options.command == "walk":
        print(json.dumps(walks(options.folder)))
    else:
        load(options.folder)


if __name__ == "__main__":
    main()
