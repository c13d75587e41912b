"""Where the nodes of a drawing stand: forces that push all nodes apart and pull neighbours together.

After M. Jacomy, T. Venturini, S. Heymann, M. Bastian, "ForceAtlas2, a continuous graph layout algorithm for handy
network visualization designed for the Gephi software", PLoS ONE 9(6), 2014: repulsion by degree, so that hubs get
room, and a pull to the middle; with the cooling of T. M. J. Fruchterman, E. M. Reingold, "Graph drawing by
force-directed placement", Software: Practice and Experience 21(11), 1991.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["positions"]

STEPS = 220
"""Past which nothing moves that an eye would see."""
EXACT_UP_TO = 600
"""Nodes of which each is held against each; in a larger drawing against the cells of a grid."""
CELLS = 28
"""Along the longer side."""
APART_STEPS = 40
_GRAVITY = 0.6
_SPRING = 3.0
_GOLDEN_ANGLE = np.pi * (3 - np.sqrt(5))


def positions(
    count: int, edges: Sequence[tuple[int, int]], weights: Sequence[float], radii: Sequence[float]
) -> NDArray[np.float32]:
    """Places of `count` nodes around (0, 0), shape (count, 2), float32, in the unit of `radii`; no two circles overlap.

    The same for the same input. `weights` above 0 say how strongly each edge pulls.
    """
    if not count:
        return np.empty((0, 2), np.float32)
    ends = np.array(edges, np.int64).reshape(-1, 2)
    pulls = np.array(weights, np.float32)
    sizes = np.array(radii, np.float32)
    degree = np.bincount(ends.ravel(), minlength=count).astype(np.float32)
    # Around the middle like the seeds of a sunflower, the best connected inside: close to where they end.
    rank = np.empty(count, np.float32)
    rank[np.argsort(-degree, kind="stable")] = np.arange(count)
    spread = float(sizes.mean()) * 6
    places = np.sqrt(rank + 0.5)[:, None] * np.stack([np.cos(rank * _GOLDEN_ANGLE), np.sin(rank * _GOLDEN_ANGLE)], 1)
    places = (places * spread).astype(np.float32)
    mass = np.sqrt(degree + 0.2)
    # As d3-force has it: an edge of two hubs pulls less, or all that is connected would fall together.
    ends_degree = np.minimum(degree[ends[:, 0]], degree[ends[:, 1]])
    pulls = (pulls / np.sqrt(np.maximum(ends_degree, 1))).astype(np.float32)
    for step in range(STEPS):
        others, weights_of = (places, mass) if count <= EXACT_UP_TO else _cells(places, mass, step)
        force = _repulsion(places, mass, others, weights_of, spread) + _attraction(places, ends, pulls)
        force -= _GRAVITY * places
        length = np.linalg.norm(force, axis=1, keepdims=True)
        reach = spread * 4 * (1 - step / STEPS) ** 1.5 + 1e-3
        places += force * np.minimum(reach, length * 0.1) / np.maximum(length, 1e-6)
    places -= places.mean(0)
    return _pushed_apart(places, sizes)


def _repulsion(
    places: NDArray[np.float32],
    mass: NDArray[np.float32],
    others: NDArray[np.float32],
    their_mass: NDArray[np.float32],
    spread: float,
) -> NDArray[np.float32]:
    """Sum over all others of mass times mass by distance, as matrix products: shape (n, 2)."""
    weight = places @ others.T
    weight *= -2
    weight += np.einsum("ij,ij->i", places, places)[:, None]
    weight += np.einsum("ij,ij->i", others, others)
    np.maximum(weight, np.float32(spread * spread * 0.01), out=weight)
    np.divide(their_mass, weight, out=weight)
    away: NDArray[np.float32] = places * weight.sum(1)[:, None] - weight @ others
    return away * mass[:, None] * np.float32(spread * spread)


def _cells(
    places: NDArray[np.float32], mass: NDArray[np.float32], step: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """(middles, masses) of what stands together in a cell of a grid, which moves from step to step.

    As Barnes and Hut take what is far away for one body; who stands in the same cell is parted in the end.
    """
    low = places.min(0)
    size = (places.max(0) - low).max() / CELLS + np.float32(1e-3)
    cell = np.floor((places - low) / size + _GOLDEN_ANGLE * step % 1).astype(np.int64)
    _, owner = np.unique(cell[:, 0] * (CELLS + 2) + cell[:, 1], return_inverse=True)
    masses = np.bincount(owner, mass)
    middles = np.stack([np.bincount(owner, mass * places[:, axis]) / masses for axis in (0, 1)], 1)
    return middles.astype(np.float32), masses.astype(np.float32)


def _attraction(
    places: NDArray[np.float32], ends: NDArray[np.int64], pulls: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Each edge pulls both its ends with its length."""
    line = places[ends[:, 1]] - places[ends[:, 0]]
    pull = line * (pulls * _SPRING)[:, None]
    count = len(places)
    towards = np.zeros_like(places)
    for axis in (0, 1):
        towards[:, axis] += np.bincount(ends[:, 0], pull[:, axis], count)
        towards[:, axis] -= np.bincount(ends[:, 1], pull[:, axis], count)
    return towards


def _pushed_apart(places: NDArray[np.float32], radii: NDArray[np.float32]) -> NDArray[np.float32]:
    """Circles that overlap are moved along the line between them, then all is blown up as far as one still does."""
    for _ in range(APART_STEPS):
        first, second, gap, distance = _overlaps(places, radii)
        if not len(first):
            return places
        line = places[second] - places[first]
        # Two in the very same place part along a direction of their own.
        same = distance < 1e-6
        angle = first * _GOLDEN_ANGLE
        line[same] = np.stack([np.cos(angle), np.sin(angle)], 1)[same]
        move = line / np.maximum(np.where(same, 1, distance), 1e-6)[:, None] * (gap * 0.55)[:, None]
        np.add.at(places, second, move)
        np.add.at(places, first, -move)
    first, second, _, distance = _overlaps(places, radii)
    if not len(first):
        return places
    wanted = (radii[first] + radii[second]) / np.maximum(distance, 1e-3)
    return places * np.float32(wanted.max() * 1.01)


def _overlaps(
    places: NDArray[np.float32], radii: NDArray[np.float32]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32], NDArray[np.float32]]:
    """(first, second, by how much, distance) of each pair of circles that overlap; found along the x axis."""
    order = np.argsort(places[:, 0], kind="stable")
    x, widest = places[order, 0], 2 * float(radii.max())
    firsts: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
    seconds: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
    until = np.searchsorted(x, x + widest, side="right")
    for index, stop in enumerate(until.tolist()):
        beside = order[index + 1 : stop]
        if len(beside):
            near = beside[np.abs(places[beside, 1] - places[order[index], 1]) < widest]
            firsts.append(np.full(len(near), order[index]))
            seconds.append(near)
    first, second = np.concatenate(firsts), np.concatenate(seconds)
    distance = np.linalg.norm(places[first] - places[second], axis=1).astype(np.float32)
    gap = (radii[first] + radii[second] - distance).astype(np.float32)
    close = gap > 1e-3
    return first[close], second[close], gap[close], distance[close]
