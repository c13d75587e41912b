"""Layout of a graph drawing: NetworkX's ForceAtlas2 for the nodes of highest degree, the others next to neighbours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST_MOVED", "positions"]

MOST_MOVED = 600
"""Nodes laid out by ForceAtlas2: NetworkX compares each pair, in a few seconds for this many."""
APART_STEPS = 40
_SPREAD = 4.0
"""Mean distance from the centre, in mean radii, times the square root of the number of nodes."""
_GOLDEN_ANGLE = np.pi * (3 - np.sqrt(5))


def positions(
    count: int, edges: Sequence[tuple[int, int]], weights: Sequence[float], radii: Sequence[float]
) -> NDArray[np.float32]:
    """Positions of `count` nodes, shape (count, 2), float32, in the unit of `radii`; no two circles overlap.

    Deterministic. `weights`, above 0, are the strength of each edge.
    """
    if not count:
        return np.empty((0, 2), np.float32)
    from networkx import Graph, forceatlas2_layout

    sizes = np.array(radii, np.float32)
    whole: Graph[int] = Graph()
    whole.add_nodes_from(range(count))
    whole.add_weighted_edges_from((*ends, weight) for ends, weight in zip(edges, weights, strict=True))
    order = sorted(range(count), key=lambda node: (-whole.degree(node), node))
    moved: Graph[int] = Graph()
    moved.add_nodes_from(order[:MOST_MOVED])  # in this order: that of a subgraph is not fixed
    moved.add_edges_from(each for each in whole.edges(data=True) if each[0] in moved and each[1] in moved)
    start = np.sqrt(np.arange(len(moved)) + 0.5)[:, None] * _directions(np.arange(len(moved)))
    found = forceatlas2_layout(moved, pos=dict(zip(moved, start, strict=True)), seed=0) if len(moved) > 1 else {}
    places = np.zeros((count, 2), np.float64)
    for node, place in found.items():
        places[node] = place
    middle = places[list(moved)].mean(0)
    reach = np.linalg.norm(places[list(moved)] - middle, axis=1).mean()
    places = (places - middle) * (_SPREAD * sizes.mean() * len(moved) ** 0.5 / max(reach, 1e-6))
    for rank, node in enumerate(order[MOST_MOVED:], MOST_MOVED):
        near = [other for other in whole[node] if other in moved]
        moved.add_node(node)
        centre = places[near].mean(0) if near else np.zeros(2)
        places[node] = centre + 3 * sizes.mean() * _directions(np.array([rank]))[0]
    return _pushed_apart(places.astype(np.float32), sizes)


def _directions(numbers: NDArray[np.int64]) -> NDArray[np.float64]:
    """Unit rows, each turned by the golden angle from the one before, like the seeds of a sunflower."""
    return np.stack([np.cos(numbers * _GOLDEN_ANGLE), np.sin(numbers * _GOLDEN_ANGLE)], 1)


def _pushed_apart(places: NDArray[np.float32], radii: NDArray[np.float32]) -> NDArray[np.float32]:
    """Pushes overlapping circles apart along the line between them; if some still overlap, scales the drawing."""
    import faiss

    for step in range(APART_STEPS + 1):
        index = faiss.IndexFlatL2(2)
        index.add(places)
        limits, _, second = index.range_search(places, float((2 * radii.max()) ** 2))
        first = np.repeat(np.arange(len(places)), np.diff(limits.astype(np.int64)))
        first, second = first[first < second], second[first < second]
        line = places[second] - places[first]
        distance = np.linalg.norm(line, axis=1)
        gap = radii[first] + radii[second] - distance
        close = gap > 1e-3
        if not close.any():
            break
        first, second, line, distance, gap = (each[close] for each in (first, second, line, distance, gap))
        if step == APART_STEPS:
            return places * np.float32((1.01 * (distance + gap) / np.maximum(distance, 1e-3)).max())
        same = distance < 1e-6  # two in the same place move apart in a direction of their own
        line[same], distance[same] = _directions(first[same]), 1
        move = line / distance[:, None] * (0.55 * gap)[:, None]
        np.add.at(places, second, move)
        np.add.at(places, first, -move)
    return places
