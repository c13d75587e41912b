"""Layout of the map: papers by NetworkX's ForceAtlas2, and around each paper the entities that it names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST_MOVED", "positions", "positions_around", "space_of"]

MOST_MOVED = 600
"""Nodes laid out by ForceAtlas2: NetworkX compares each pair, in a few seconds for this many."""
APART_STEPS = 40
_SPREAD = 0.75
"""Mean distance from the centre, in mean radii, times the square root of the number of nodes."""
_PULL = 8.0
"""Mean weight of an edge against gravity and repulsion; with 2, similar papers stay farther apart."""
_FARTHEST = 1.8
"""Farthest distance from the centre, in mean distances: one far node would make all others small."""
_WIDER = 1.6
"""A screen is wider than high, and so is a label."""
_GAP = 7.0
"""Room around each entity."""
_HOLE = (80.0, 24.0)
"""Half width and half height of the place for a paper's label, where no entity of this paper alone is put."""
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
    pull = _PULL / max(float(np.mean(weights)), 1e-6) if len(weights) else 1.0
    whole.add_weighted_edges_from((*ends, pull * weight) for ends, weight in zip(edges, weights, strict=True))
    order = sorted(range(count), key=lambda node: (-whole.degree(node), node))
    moved: Graph[int] = Graph()
    moved.add_nodes_from(order[:MOST_MOVED])  # in this order: that of a subgraph is not fixed
    moved.add_edges_from(each for each in whole.edges(data=True) if each[0] in moved and each[1] in moved)
    start = np.sqrt(np.arange(len(moved)) + 0.5)[:, None] * _directions(np.arange(len(moved)))
    found = {}
    if len(moved) > 1:
        # Strong gravity: a paper that is like no other stays in sight.
        begin = dict(zip(moved, start, strict=True))
        found = forceatlas2_layout(moved, pos=begin, weight="weight", strong_gravity=True, seed=0)
    places = np.zeros((count, 2), np.float64)
    for node, place in found.items():
        places[node] = place
    middle = np.median(places[list(moved)], axis=0)
    far = np.linalg.norm(places - middle, axis=1, keepdims=True)
    reach = max(float(far[list(moved)].mean()), 1e-6)
    places = (places - middle) * np.minimum(1, _FARTHEST * reach / np.maximum(far, 1e-6))
    places *= _SPREAD * sizes.mean() * len(moved) ** 0.5 / reach
    for rank, node in enumerate(order[MOST_MOVED:], MOST_MOVED):
        near = [other for other in whole[node] if other in moved]
        moved.add_node(node)
        centre = places[near].mean(0) if near else np.zeros(2)
        places[node] = centre + 3 * sizes.mean() * _directions(np.array([rank]))[0]
    apart = _pushed_apart(places.astype(np.float32), sizes)
    return apart * np.array([_WIDER, 1], np.float32)


def space_of(owners: Sequence[Mapping[int, float]], radii: Sequence[float], count: int) -> NDArray[np.float64]:
    """The radius of the circle that holds each of `count` papers with its share of the entities; shape (count,).

    `owners` as of `positions_around`; `radii` are those of the entities.
    """
    areas = np.full(count, _HOLE[0] * _HOLE[1])
    for mine, radius in zip(owners, radii, strict=True):
        whole = sum(mine.values())
        for paper, share in mine.items():
            areas[paper] += (radius + _GAP) ** 2 * share / whole
    space: NDArray[np.float64] = np.sqrt(areas)
    return space


def positions_around(
    papers: NDArray[np.float32],
    owners: Sequence[Mapping[int, float]],
    radii: Sequence[float],
    paper_radius: float,
) -> NDArray[np.float32]:
    """Positions of the papers, then of the entities, shape (papers + entities, 2), float32; no two circles overlap.

    `papers` are the papers' positions; `owners` has for each entity the papers that name it, by their index, with a
    weight above 0. An entity of one paper is put around it, the first ones nearest, one of several papers between them.
    """
    places = np.zeros((len(owners), 2))
    around: dict[int, list[int]] = {}
    for entity, mine in enumerate(owners):
        if len(mine) == 1:
            around.setdefault(next(iter(mine)), []).append(entity)
        elif mine:
            weights = np.array([*mine.values()]) / sum(mine.values())
            places[entity] = weights @ papers[[*mine]] + _directions(np.array([entity]))[0]
        else:
            places[entity] = np.sqrt(entity + 1) * _directions(np.array([entity]))[0]
    sizes = np.array(radii)
    for paper, entities in around.items():
        spacing = float(np.sqrt(np.mean((sizes[entities] + _GAP) ** 2)))
        ranks = np.arange(4 * len(entities) + 200)
        ring = spacing * np.sqrt(ranks + 0.5)[:, None] * _directions(ranks)
        free = ring[(np.abs(ring) > _HOLE).any(1)][: len(entities)]
        places[entities] = papers[paper] + free
    both = np.concatenate([papers, places.astype(np.float32)])
    return _pushed_apart(both, np.array([paper_radius] * len(papers) + [radius + 1.5 for radius in radii], np.float32))


def _directions(numbers: NDArray[np.int64]) -> NDArray[np.float64]:
    """Unit rows, each turned by the golden angle from the one before, like the seeds of a sunflower."""
    return np.stack([np.cos(numbers * _GOLDEN_ANGLE), np.sin(numbers * _GOLDEN_ANGLE)], 1)


def _pushed_apart(places: NDArray[np.float32], radii: NDArray[np.float32]) -> NDArray[np.float32]:
    """Pushes overlapping circles apart along the line between them; if some still overlap, scales the drawing."""
    for step in range(APART_STEPS + 1):
        first, second = _near_pairs(places, radii)
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


def _near_pairs(places: NDArray[np.float32], radii: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The pairs of circles whose bounding boxes overlap, each once."""
    order = np.argsort(places[:, 0] - radii, kind="stable")
    left, right = (places[:, 0] - radii)[order], (places[:, 0] + radii)[order]
    after = np.searchsorted(left, right, "right") - np.arange(len(order)) - 1
    one = np.repeat(np.arange(len(order)), after)
    other = np.arange(len(one)) - np.repeat(np.cumsum(after) - after, after) + one + 1
    one, other = order[one], order[other]
    near = np.abs(places[one, 1] - places[other, 1]) < radii[one] + radii[other]
    return one[near], other[near]
