"""Pruning: fewer weights, until a program fits a budget of cycles.

What a program costs is what :func:`~.sparse.build` writes: each kept weight one cycle, a bias for each form, two
cycles for each unit (one for a relu), and for each output one that applies its form and one that sends it. With
argmax a constant that all outputs have means nothing, so that one bias is free; a single output is compared with zero
in a cycle more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from .network import FAMILIES, Array, Gradient, Models
from .training import Adam, Batches, errors_of, losses_of, train

__all__ = ["applies", "cycles", "drop_dead", "prune_path", "prune_to", "slopes"]

#: What the cycles are multiplied by in each step of the way from all weights to the least budget.
STEP = 0.935
#: Rows from which scores of weights and of units are taken.
SCORED, UNITS_SCORED = 2048, 1024
#: The part of all weights that comes back in a step, before the next are dropped.
REVIVED = 0.1
#: Steps of training in each step of the way: after pruning, after what came back, and after pruning again.
TRAINED = (100, 50, 50)


def applies(family: str) -> int:
    """The cycles that make a unit of its forms."""
    return 1 if family == "relu" else 2


def cycles(models: Models, task: str) -> NDArray[np.int64]:
    """The cycles of each model."""
    shape = models.shape
    per = FAMILIES[shape.family]
    weights = models.kept[..., :-1].sum(axis=(1, 2))
    alive = models.read.any(axis=1).sum(axis=1)
    reads = models.read.sum(axis=(1, 2)) if shape.shared else 0
    fixed = 3 * shape.outputs + {"classes": -1, "sign": 1, "numbers": 0}[task]
    return np.asarray(weights + alive * (per + applies(shape.family)) + reads + fixed)


def drop_dead(models: Models) -> None:
    """Leave out units that no output reads, and those with a form that has no weight but its bias."""
    shape = models.shape
    per = FAMILIES[shape.family]
    if not shape.units:
        return
    weights = models.kept[:, : shape.factors, :-1].any(axis=2).reshape(len(models), shape.units, per)
    alive = np.logical_and(weights.all(axis=2), models.read.any(axis=1))
    models.read &= alive[:, None, :]
    models.kept[:, : shape.factors] &= np.repeat(alive, per, axis=1)[..., None]
    models.mask()


def slopes(models: Models, task: str, rows: Array, targets: Array) -> tuple[Gradient, Gradient]:
    """The mean gradient by all weights, also those that are left out, and the mean squared gradients."""
    factors, units, outputs = models.values(rows)
    errors = errors_of(task, outputs, targets)
    whole = Models(models.shape, models.forms, models.reads, np.ones_like(models.kept), np.ones_like(models.read))
    return whole.backwards(rows, factors, units, errors), models.squares(rows, factors, units, errors)


def prune_to(models: Models, task: str, rows: Array, targets: Array, budgets: Array) -> None:
    """Leave out weights, the least important first, until each model takes at most its budget of cycles. A weight
    counts its square times the mean squared gradient, a unit what the loss gains by it."""
    _, fisher = slopes(models, task, rows, targets)
    shape = models.shape
    gains = _gains(models, task, rows, targets)
    for n in range(len(models)):
        forms = 0.5 * models.forms[n, :, :-1] ** 2 * fisher.forms[n, :, :-1]
        reads = 0.5 * models.reads[n] ** 2 * fisher.reads[n]
        one = models.part([n])
        while True:
            excess = int(cycles(one, task)[0] - budgets[n])
            if excess <= 0:
                break
            scores = np.concatenate([forms[one.kept[0, :, :-1]], reads[one.read[0]] if shape.shared else []])
            if len(scores) == 0:
                break
            threshold = np.partition(scores, min(excess, len(scores)) - 1)[min(excess, len(scores)) - 1]
            price = float(scores[scores <= threshold].mean())
            unit = _cheapest_unit(one, gains[n])
            if unit is not None and unit[1] < price:
                one.read[0, :, unit[0]] = False
            else:
                one.kept[0, :, :-1] &= forms > threshold
                if shape.shared:
                    one.read[0] &= reads > threshold
            drop_dead(one)
        models.kept[n], models.read[n] = one.kept[0], one.read[0]
    models.mask()


def _gains(models: Models, task: str, rows: Array, targets: Array) -> Array:
    """What the loss of each model gains by each of its units."""
    rows, targets = rows[:, :UNITS_SCORED], targets[:, :UNITS_SCORED]
    _, units, outputs = models.values(rows)
    whole = losses_of(task, outputs, targets).mean(axis=1)
    gains = np.zeros((len(models), models.shape.units))
    for unit in range(models.shape.units):
        without = outputs - models.reads[:, :, unit, None] * units[:, None, unit]
        gains[:, unit] = losses_of(task, without, targets).mean(axis=1) - whole
    return gains


def _cheapest_unit(one: Models, gains: Array) -> tuple[int, float] | None:
    """The unit that the loss gains least by, for each of its cycles, and that gain."""
    shape = one.shape
    per = FAMILIES[shape.family]
    alive = np.flatnonzero(one.read[0].any(axis=0))
    if not len(alive):
        return None
    weights = one.kept[0, : shape.factors, :-1].sum(axis=1).reshape(shape.units, per).sum(axis=1)
    saved = weights + per + applies(shape.family) + (one.read[0].sum(axis=0) if shape.shared else 0)
    prices = gains[alive] / saved[alive]
    at = int(prices.argmin())
    return int(alive[at]), float(prices[at])


def revive(models: Models, task: str, rows: Array, targets: Array) -> None:
    """Take back the weights whose gradient promises most, a tenth of those that are kept. Units stay dropped."""
    slope, fisher = slopes(models, task, rows, targets)
    shape = models.shape
    per = FAMILIES[shape.family]
    for n in range(len(models)):
        open_forms = ~models.kept[n]
        open_forms[:, -1] = False
        if shape.units:
            alive = models.read[n].any(axis=0)
            open_forms[: shape.factors] &= np.repeat(alive, per)[:, None]
            open_reads = ~models.read[n] & alive if shape.shared else np.zeros_like(models.read[n])
        else:
            open_reads = np.zeros_like(models.read[n])
        promise_forms = np.where(open_forms, slope.forms[n] ** 2 / (fisher.forms[n] + 1e-12), -1)
        promise_reads = np.where(open_reads, slope.reads[n] ** 2 / (fisher.reads[n] + 1e-12), -1)
        every = np.concatenate([promise_forms.ravel(), promise_reads.ravel()])
        count = int(REVIVED * (models.kept[n].sum() + models.read[n].sum()))
        count = min(count, int((every >= 0).sum()))
        if count:
            chosen = np.argpartition(-every, count - 1)[:count]
            size = promise_forms.size
            models.kept[n].ravel()[chosen[chosen < size]] = True
            models.read[n].ravel()[chosen[chosen >= size] - size] = True


def prune_path(
    models: Models,
    task: str,
    batches: Batches,
    rng: np.random.Generator,
    budgets: Sequence[int],
    reached: Callable[[int, Models], None],
    watch: Callable[[], None] = lambda: None,
    *,
    pace: float,
    rate: float,
) -> None:
    """Prune ``models`` to each of the ``budgets``, which fall, with training at the ``rate`` in between;
    ``reached(budget, models)`` is called with a copy at each of them. ``pace`` shortens or lengthens the training."""
    full = float(cycles(models, task).max())
    least = max(1, min(budgets))
    count = max(1, round(np.log(least / full) / np.log(STEP)))
    way = full * (least / full) ** (np.arange(1, count + 1) / count)
    stops = sorted({*budgets, *(round(float(stop)) for stop in way)}, reverse=True)
    adam = Adam(models)
    left = sorted(budgets, reverse=True)
    while left and left[0] >= full:
        reached(left.pop(0), models.part(slice(None)))

    def run(steps: float) -> None:
        train(models, task, batches, rng, max(1, round(steps * pace)), (rate, rate), adam=adam, watch=watch)

    for stop in stops:
        if stop >= full:
            continue
        limits = np.full(len(models), stop)
        rows, targets = _scored(batches, rng)
        prune_to(models, task, rows, targets, limits)
        adam.forget()
        run(TRAINED[0])
        if float(cycles(models, task).min()) < full:
            rows, targets = _scored(batches, rng)
            revive(models, task, rows, targets)
            run(TRAINED[1])
            rows, targets = _scored(batches, rng)
            prune_to(models, task, rows, targets, limits)
            adam.forget()
            run(TRAINED[2])
        if left and stop == left[0]:
            reached(left.pop(0), models.part(slice(None)))


def _scored(batches: Batches, rng: np.random.Generator) -> tuple[Array, Array]:
    """Rows, with noise, from which scores are taken."""
    drawn = [batches.draw(rng) for _ in range(max(1, SCORED // 256))]
    return np.concatenate([rows for rows, _ in drawn], axis=1), np.concatenate(
        [targets for _, targets in drawn], axis=1
    )
