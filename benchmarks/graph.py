"""The graph at 100,000 entities and 500,000 relations: loading, a walk of two hops, memory; beside the plain way."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.corpora import cache_folder
from benchmarks.report import Report, Table, spread
from benchmarks.running import Options, by_turns, module, run_process

if TYPE_CHECKING:
    from ragscience.graph.graph_records import Extracted
    from ragscience.library.store import Library

TITLE = "Knowledge graph"
ENTITIES, RELATIONS = 100_000, 500_000
HUB_NEIGHBOURS = 50_000
PAPERS, PER_PAPER = 100, 500
DIMENSION = 8
TYPES = ("CONCEPT", "METHOD", "ALGORITHM", "DATASET", "METRIC")
WALKS = 200
HUB_WALKS = 20
SEED = 7


def run(options: Options) -> Report:
    """Each load in a process of its own; walks in one process each, after a load that is not counted."""
    home = graph_home()
    exported = home / "export"
    if not (exported / "edges.jsonl").exists():
        run_process(module("graph", "export", str(home)))
    (home / "vectorstore" / "graph" / "graph.npz").unlink(missing_ok=True)
    from_rows = run_process(module("graph", "load", str(home)))
    sides = {
        "ours": lambda: run_process(module("graph", "load", str(home))),
        "plain": lambda: run_process(module("graph", "plain-load", str(exported))),
    }
    loads = by_turns(sides, options.rounds)
    walks = {
        "ours": json.loads(run_process(module("graph", "walk", str(home))).stdout),
        "plain": json.loads(run_process(module("graph", "plain-walk", str(exported))).stdout),
    }
    named = {"ours": "graph.npz and numpy columns", "plain": "JSONL, NetworkX MultiDiGraph"}
    rows = [
        [
            named[side],
            spread([run.seconds for run in loads[side]]),
            spread([run.peak_mb for run in loads[side]], "MB", 0),
            _cell(walks[side]["average"]),
            _cell(walks[side]["hub"]),
        ]
        for side in sides
    ]
    columns = [
        "way",
        "load, whole cold process",
        "its peak memory",
        "2 hops, p50 / p95",
        "2 hops from the hub, p50 / p95",
    ]
    note = (
        f"{ENTITIES:,} entities, {RELATIONS:,} relations, made up with a fixed seed; one hub has {HUB_NEIGHBOURS:,} "
        f"neighbours. Walks are warm: {WALKS} from entities drawn at random, {HUB_WALKS} from the hub; both ways visit "
        "all that is within two hops. The first load "
        f"after a change, from the rows of {PAPERS * PER_PAPER:,} passages: {from_rows.seconds:.0f} s, once, peak "
        f"{from_rows.peak_mb:.0f} MB. `graph.networkx`, made on request: {walks['ours']['networkx_seconds']:.1f} s; "
        f"graph.npz has {walks['ours']['disk_mb']:.0f} MB."
    )
    figures = {
        "load seconds": {side: [run.seconds for run in runs] for side, runs in loads.items()},
        "load peak MB": {side: [run.peak_mb for run in runs] for side, runs in loads.items()},
        "from rows": {"seconds": from_rows.seconds, "peak MB": from_rows.peak_mb},
        "walks": walks,
    }
    return Report("graph", TITLE, [Table("100,000 entities and 500,000 relations", columns, rows, note=note)], figures)


def _cell(walk: dict[str, float]) -> str:
    return f"{walk['p50_ms']:.1f} / {walk['p95_ms']:.1f} ms, {walk['visited']:,.0f} visited"


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

    home = cache_folder("graph-100k")
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
    from ragscience.graph.graph_records import CO_OCCURS, RELATION_TYPES, Extracted, Mention, Triple

    kinds = (*RELATION_TYPES, CO_OCCURS)

    def of(number: int) -> tuple[str, str]:
        return name(number), TYPES[number % len(TYPES)]

    return Extracted(
        chunk,
        tuple(Mention(*of(number), 1, 0.8) for number in sorted({end for row in said for end in row[:2]})),
        tuple(
            Triple(subject, its_type, kinds[kind], other, others_type, 0.7)
            for (subject, its_type), kind, (other, others_type) in ((of(a), k, of(b)) for a, b, k in said)
        ),
    )


# Ours, and the plain way


def load(home: Path) -> Any:
    from ragscience.graph.graph_model import load_graph
    from ragscience.library.store import Home, Library

    with Library.open(Home(home)) as library:
        graph = load_graph(library)
    graph.edges_of(0)
    if (len(graph), graph.relation_count) != (ENTITIES, RELATIONS):
        raise RuntimeError(f"the graph has {len(graph)} entities and {graph.relation_count} relations")
    return graph


def export(home: Path) -> None:
    from ragscience.graph.graph_exchange import export_jsonl
    from ragscience.library.store import Home, Library

    with Library.open(Home(home)) as library:
        export_jsonl(library, home / "export")


def plain_load(folder: Path) -> Any:
    import networkx

    graph = networkx.MultiDiGraph()
    for node in _read(folder / "nodes.jsonl"):
        graph.add_node(node.pop("node_id"), **node)
    for edge in _read(folder / "edges.jsonl"):
        graph.add_edge(edge.pop("source"), edge.pop("target"), key=edge["edge_type"], **edge)
    return graph


def _read(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def walks(home: Path) -> dict[str, object]:
    """Times in milliseconds, and how many entities were reached."""
    graph = load(home)
    numbers = [graph.by_name(name(seed))[0] for seed in _seeds()]
    hub = int(np.argmax(graph.degrees()))

    def reached(number: int) -> int:
        return _bfs(graph, number)

    told: dict[str, object] = {
        "average": _timed(reached, numbers),
        "hub": _timed(reached, [hub] * HUB_WALKS),
        "disk_mb": (home / "vectorstore" / "graph" / "graph.npz").stat().st_size / 2**20,
    }
    started = time.perf_counter()
    graph.networkx  # noqa: B018  # making it is what is timed
    return told | {"networkx_seconds": time.perf_counter() - started}


def plain_walks(folder: Path) -> dict[str, object]:
    import networkx

    graph = plain_load(folder)
    keys = [f"{TYPES[seed % len(TYPES)]}:{name(seed)}" for seed in _seeds()]
    hub = max(graph, key=graph.degree)

    def reached(start: str) -> int:
        seen, ring = {start}, {start}
        for _ in range(2):
            ring = {end for key in ring for end in networkx.all_neighbors(graph, key)} - seen
            seen |= ring
        return len(seen)

    return {"average": _timed(reached, keys), "hub": _timed(reached, [hub] * HUB_WALKS)}


def _bfs(graph: Any, start: int) -> int:
    seen = np.zeros(len(graph), bool)
    seen[start] = True
    ring = np.array([start])
    for _ in range(2):
        reached = np.zeros(len(graph), bool)
        reached[graph.around(ring)[2]] = True
        ring = np.flatnonzero(reached & ~seen)
        seen |= reached
    return int(seen.sum())


def _seeds() -> list[int]:
    return np.random.default_rng(SEED + 1).integers(0, ENTITIES, WALKS).tolist()


def _timed(reached: Callable[[Any], int], starts: list[Any]) -> dict[str, float]:
    times, visited = [], []
    reached(starts[0])
    for start in starts:
        began = time.perf_counter()
        visited.append(reached(start))
        times.append(1000 * (time.perf_counter() - began))
    p50, p95 = np.percentile(times, [50, 95])
    return {"p50_ms": float(p50), "p95_ms": float(p95), "visited": float(np.mean(visited))}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.graph")
    parser.add_argument("command", choices=["load", "export", "walk", "plain-load", "plain-walk"])
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    if options.command == "walk":
        print(json.dumps(walks(options.folder)))
    elif options.command == "plain-walk":
        print(json.dumps(plain_walks(options.folder)))
    else:
        {"load": load, "export": export, "plain-load": plain_load}[options.command](options.folder)


if __name__ == "__main__":
    main()
