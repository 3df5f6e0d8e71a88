"""Recipes: machines with all shortcuts. A layer whose inputs and outputs are the same nodes, the nodes in groups one
after the other; weights that do not lead from an earlier group to a later one are left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from skinny.model.errors import InputError
from skinny.model.rings import exact_number

from .machine import Machine
from .nonlinearity import Nonlinearity

__all__ = ["convolutional_machine", "dense_machine", "time_machine"]


def dense_machine(sizes: Sequence[int], weights: Any, nonlinearity: Nonlinearity = None) -> Machine:
    """Layers of ``sizes`` nodes, each of which reads all layers before it. ``weights`` is a square matrix for all
    nodes, rows are those that read; entries that do not read an earlier layer are left out. The first layer, which
    reads none, is read as it is, the others through the ``nonlinearity``."""
    layers = _layers(sizes)
    table = _array(weights, (len(layers), len(layers)), "weights")
    return _read(len(layers), _below(table, layers), nonlinearity, layers)


def convolutional_machine(
    sizes: Sequence[int], length: int, kernels: Any, nonlinearity: Nonlinearity = None
) -> Machine:
    """Layers of ``sizes`` channels over ``length`` positions, each of which reads all layers before it through
    ``kernels`` of the shape ``(channels, channels, taps)``, which are the same at all positions; beyond the ends are
    zeros, and the tap in the middle is the same position. Node ``c·length + p`` is channel ``c`` at position ``p``."""
    layers = _layers(sizes)
    _expect_count(length, "the length")
    channels = len(layers)
    taps = np.shape(kernels)[-1] if np.ndim(kernels) == 3 else 1
    table = _array(kernels, (channels, channels, taps), "kernels")
    if taps % 2 == 0:
        raise InputError(f"kernels must have an odd number of taps, so that one is in the middle, not {taps}")
    weights = {}
    for (c, d, tap), weight in _below(table, layers).items():
        for p in range(length):
            q = p + tap - taps // 2
            if 0 <= q < length:
                weights[c * length + p, d * length + q] = weight
    return _read(channels * length, weights, nonlinearity, [layer for layer in layers for _ in range(length)])


def time_machine(sizes: Sequence[int], steps: int, now: Any, before: Any, nonlinearity: Nonlinearity = None) -> Machine:
    """Layers of ``sizes`` units over ``steps`` of time, unrolled: each unit reads the layers before its own at the same
    step through the matrix ``now``, and all units of the step before through the matrix ``before``; rows are the units
    that read. Node ``t·units + c`` is unit ``c`` at step ``t``. The first layer is read as it is, the others through
    the ``nonlinearity``."""
    layers = _layers(sizes)
    _expect_count(steps, "the number of steps")
    units = len(layers)
    same = _below(_array(now, (units, units), "now"), layers)
    earlier = _array(before, (units, units), "before")
    weights = {}
    for t in range(steps):
        for (c, d), weight in same.items():
            weights[t * units + c, t * units + d] = weight
        for (c, d), weight in np.ndenumerate(earlier) if t else ():
            weights[t * units + c, (t - 1) * units + d] = weight
    return _read(units * steps, weights, nonlinearity, layers * steps)


def _read(n: int, weights: dict[Any, Any], nonlinearity: Nonlinearity, layers: Sequence[int]) -> Machine:
    """The machine that reads the nodes of the first layer as they are, all others through the nonlinearity."""
    first = Machine(n, {at: weight for at, weight in weights.items() if not layers[at[1]]})
    return first + Machine(n, {at: weight for at, weight in weights.items() if layers[at[1]]}, nonlinearity)


def _below(table: Any, layers: Sequence[int]) -> dict[tuple[int, ...], Any]:
    """The entries, by index, with which a layer reads an earlier one."""
    return {at: weight for at, weight in np.ndenumerate(table) if weight and layers[at[0]] > layers[at[1]]}


def _layers(sizes: Sequence[int]) -> list[int]:
    """The layer of each of the nodes."""
    given = list(sizes)
    if not given:
        raise InputError("a machine needs a layer: sizes are missing")
    for size in given:
        _expect_count(size, "the size of a layer")
    return [layer for layer, size in enumerate(given) for _ in range(size)]


def _expect_count(given: int, what: str) -> None:
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < 1:
        raise InputError(f"{what} must be 1 or more, not {given!r}")


def _array(given: Any, shape: tuple[int, ...], what: str) -> Any:
    """Numbers of a shape, as exact as they were given."""
    try:
        table = np.array(given, dtype=object)
    except ValueError:  # rows of different lengths
        table = np.empty(0, dtype=object)
    if table.shape != shape:
        raise InputError(f"{what} must have the shape {shape}, not {table.shape}")
    return np.frompyfunc(exact_number, 1, 1)(table)
