"""Copies of rows: more data from the data there is.

Images are turned, moved, stretched and sheared a little. A row of any other table moves along the difference of two of
its neighbours: ``x_i + α(x_j − x_l)``, with j of the class of i, and l among the five of that class nearest to j.
"""

from __future__ import annotations

import numpy as np

from .network import Array

__all__ = ["image_copies", "table_copies"]

#: Neighbours of a row.
NEIGHBOURS = 5


def image_copies(rows: Array, size: tuple[int, int], count: int, rng: np.random.Generator) -> Array:
    """``count`` copies of each of ``rows``, images of ``size`` (height, width), of shape ``(count, rows, pixels)``."""
    height, width = size
    images = rows.reshape(-1, height, width)
    total = count * len(images)
    angle = np.radians(rng.uniform(-6, 6, total))
    shear = rng.uniform(-0.06, 0.06, total)
    scale_y, scale_x = rng.uniform(0.95, 1.05, (2, total))
    move_y, move_x = rng.uniform(-0.35, 0.35, (2, total))
    y, x = np.mgrid[:height, :width].reshape(2, 1, -1) - np.array([(height - 1) / 2, (width - 1) / 2])[:, None, None]
    cos, sin = np.cos(angle), np.sin(angle)
    from_y = scale_y[:, None] * (cos[:, None] * y - sin[:, None] * x) + (move_y + (height - 1) / 2)[:, None]
    from_x = scale_x[:, None] * (sin[:, None] * y + (cos + shear)[:, None] * x) + (move_x + (width - 1) / 2)[:, None]
    which = np.tile(np.arange(len(images)), count)[:, None]
    out = np.zeros(from_y.shape)
    floor_y, floor_x = np.floor(from_y).astype(int), np.floor(from_x).astype(int)
    for dy in (0, 1):
        for dx in (0, 1):
            at_y, at_x = np.clip(floor_y + dy, 0, height - 1), np.clip(floor_x + dx, 0, width - 1)
            part = (1 - np.abs(from_y - (floor_y + dy))) * (1 - np.abs(from_x - (floor_x + dx)))
            out += part * images[which, at_y, at_x]
    return out.reshape(count, len(images), -1).astype(rows.dtype)


def table_copies(rows: Array, classes: Array, count: int, rng: np.random.Generator) -> Array:
    """``count`` copies of each of ``rows``, of shape ``(count, rows, inputs)``; ``classes`` are numbers."""
    out = np.repeat(rows[None], count, axis=0)
    for value in np.unique(classes):
        inside = np.flatnonzero(classes == value)
        if len(inside) < 2:
            continue
        members = rows[inside]
        norms = (members * members).sum(axis=1)
        distances = norms[:, None] + norms - 2 * members @ members.T
        np.fill_diagonal(distances, np.inf)
        nearest = np.argsort(distances, axis=1, kind="stable")[:, : min(NEIGHBOURS, len(inside) - 1)]
        j = rng.integers(0, len(inside), (count, len(inside)))
        chosen = nearest[j, rng.integers(0, nearest.shape[1], j.shape)]
        alpha = rng.random((*j.shape, 1)).astype(rows.dtype)
        out[:, inside] += alpha * (members[j] - members[chosen])
    return out
