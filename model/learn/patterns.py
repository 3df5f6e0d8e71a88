"""Patterns of influences: programs on three registers whose ``dst`` and ``src`` of each step are searched.

Each step has an affine form of the inputs as its scalar; many patterns are trained side by side. Random patterns are
drawn with all their steps; grown ones begin with few, and get one step after the other: many places and registers for
it are tried at once, and those that lower the loss most go on. Such programs only add, so that they are pure: the way
back undoes each step, and no activations are stored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .network import Array
from .training import BATCH, errors_of, losses_of

__all__ = ["OUT", "WIDTH", "Patterns", "grown_patterns", "random_patterns", "slopes_of", "train_patterns"]

WIDTH, OUT, ONE = 3, 0, 1
#: Random patterns, and the steps of all patterns in the end.
COUNT, STEPS = 64, 9
#: Grown patterns: their first steps, those that are tried for each further step and those that go on, the steps of
#: training in between, and the size of a new form beside those at the start.
FIRST, TRIED, KEPT, BETWEEN, SMALL = 3, 64, 8, 300, 0.3
#: Rates of training, from the first to the last.
RATES = (2e-2, 2e-3)


@dataclass
class Patterns:
    """Several programs: ``dst`` and ``src`` of shape ``(models, steps)``, and the forms of shape
    ``(models, steps, inputs + 1)``, the constant last; ``kept`` is their mask."""

    dst: Array
    src: Array
    forms: Array
    kept: Array

    def __len__(self) -> int:
        return len(self.dst)

    def part(self, chosen: Array) -> Patterns:
        """A copy of the models that an index array chooses."""
        return Patterns(*(a[chosen].copy() for a in (self.dst, self.src, self.forms, self.kept)))

    def run(self, rows: Array) -> tuple[Array, Array]:
        """The scalars, of shape ``(models, steps, rows)``, and the registers at the end, ``(models, 3, rows)``. Rows
        come with a one at their end."""
        scalars = self.forms @ rows.T
        registers = np.zeros((len(self), WIDTH, len(rows)), rows.dtype)
        registers[:, ONE] = 1
        each = np.arange(len(self))
        for step in range(self.dst.shape[1]):
            registers[each, self.dst[:, step]] += scalars[:, step] * registers[each, self.src[:, step]]
        return scalars, registers

    def backwards(self, rows: Array, scalars: Array, registers: Array, errors: Array) -> tuple[Array, Array]:
        """The mean gradient by the forms, and the mean of the squared gradients of the rows. ``errors`` are the
        derivatives by the output, of shape ``(models, rows)``; the registers are undone on the way."""
        by_scalars = np.empty_like(scalars)
        slopes = np.zeros_like(registers)
        slopes[:, OUT] = errors
        each = np.arange(len(self))
        for step in reversed(range(self.dst.shape[1])):
            dst, src = self.dst[:, step], self.src[:, step]
            source, slope = registers[each, src], slopes[each, dst]
            registers[each, dst] -= scalars[:, step] * source
            by_scalars[:, step] = slope * source
            slopes[each, src] += scalars[:, step] * slope
        count = len(rows)
        return by_scalars @ rows / count, (by_scalars * by_scalars) @ (rows * rows) / count

    def cycles(self) -> Array:
        """The words of each program: those that build forms, those that apply them, and the one that sends."""
        return np.asarray(self.kept.sum(axis=(1, 2)) + self.kept.any(axis=2).sum(axis=1) + 1)


def _lives(dst: Array, src: Array) -> int:
    """The steps of a pattern that the output may depend on; 0, if a step reads a register that nothing was written
    to."""
    filled = {ONE}
    for into, read in zip(dst.tolist(), src.tolist(), strict=True):
        if read not in filled:
            return 0
        filled.add(into)
    needed, live = {OUT}, 0
    for into, read in zip(dst.tolist()[::-1], src.tolist()[::-1], strict=True):
        if into in needed:
            needed.add(read)
            live += 1
    return live


def random_patterns(
    inputs: int, rng: np.random.Generator, count: int = COUNT, steps: int = STEPS, least: int = STEPS - 1
) -> Patterns:
    """Patterns in which every step reads a register that was written, and ``least`` of them reach the output."""
    dst, src = np.zeros((count, steps), int), np.zeros((count, steps), int)
    for model in range(count):
        while _lives(dst[model], src[model]) < least:
            src[model] = rng.integers(0, WIDTH, steps)
            dst[model] = (src[model] + rng.integers(1, WIDTH, steps)) % WIDTH
    forms = rng.normal(0, 1 / np.sqrt(inputs), (count, steps, inputs + 1))
    return Patterns(dst, src, forms, np.ones(forms.shape, bool))


def grown_patterns(
    task: str, rows: Array, targets: Array, rng: np.random.Generator, pace: float, watch: Callable[[], None]
) -> Patterns:
    """Patterns that got one step after the other. Rows come with a one at their end."""
    models = random_patterns(rows.shape[1] - 1, rng, TRIED, FIRST, FIRST)
    steps = max(1, round(pace * BETWEEN))
    train_patterns(models, task, rows, targets, rng, steps, (RATES[0], RATES[0]), watch)
    for _ in range(FIRST, STEPS):
        models = _longer(models.part(_best(models, task, rows, targets)), rng)
        train_patterns(models, task, rows, targets, rng, steps, (RATES[0], RATES[0]), watch)
    return models.part(_best(models, task, rows, targets))


def _best(models: Patterns, task: str, rows: Array, targets: Array) -> Array:
    """The models that go on: those of the least loss, no two of one pattern."""
    outputs = models.run(rows[: 4 * BATCH])[1][:, OUT : OUT + 1]
    losses = np.nan_to_num(losses_of(task, outputs, targets[None, : 4 * BATCH]).mean(axis=1), nan=np.inf)
    out: dict[bytes, int] = {}
    for model in np.argsort(losses, kind="stable").tolist():
        out.setdefault(models.dst[model].tobytes() + models.src[model].tobytes(), model)
    return np.array(list(out.values())[:KEPT])


def _longer(models: Patterns, rng: np.random.Generator) -> Patterns:
    """The models with one more step each, anywhere, on which the output depends."""
    count, steps, inputs = models.forms.shape
    dst, src = np.zeros((TRIED, steps + 1), int), np.zeros((TRIED, steps + 1), int)
    forms = np.zeros((TRIED, steps + 1, inputs))
    for place in range(TRIED):
        origin = place % count
        while True:
            at, read = int(rng.integers(0, steps + 1)), int(rng.integers(0, WIDTH))
            into = (read + int(rng.integers(1, WIDTH))) % WIDTH
            dst[place] = np.insert(models.dst[origin], at, into)
            src[place] = np.insert(models.src[origin], at, read)
            if _lives(dst[place], src[place]) > steps - 1:
                break
        small = SMALL * rng.normal(0, 1 / np.sqrt(inputs - 1), inputs)
        forms[place] = np.insert(models.forms[origin], at, small, axis=0)
    return Patterns(dst, src, forms, np.ones(forms.shape, bool))


def train_patterns(
    models: Patterns,
    task: str,
    rows: Array,
    targets: Array,
    rng: np.random.Generator,
    steps: int,
    rates: tuple[float, float],
    watch: Callable[[], None],
) -> None:
    """Adam, as for the other families."""
    first, second = np.zeros_like(models.forms), np.zeros_like(models.forms)
    for step in range(1, steps + 1):
        rate = rates[1] + (rates[0] - rates[1]) * (1 + np.cos(np.pi * step / steps)) / 2
        chosen = rng.integers(0, len(rows), BATCH)
        gradient, _ = slopes_of(models, task, rows[chosen], targets[chosen])
        gradient *= models.kept
        # A product of many forms may explode; then its gradient says no more than its direction.
        size = np.sqrt((gradient * gradient).sum(axis=(1, 2), keepdims=True))
        gradient /= np.maximum(size, 1)
        first += 0.1 * (gradient - first)
        second += 0.01 * (gradient * gradient - second)
        scale = rate * np.sqrt(1 - 0.99**step) / (1 - 0.9**step)
        models.forms -= scale * first / (np.sqrt(second) + 1e-8) * models.kept
        if step % 32 == 0:
            watch()
    models.forms *= models.kept


def slopes_of(models: Patterns, task: str, rows: Array, targets: Array) -> tuple[Array, Array]:
    """The gradient and the mean squared gradient."""
    scalars, registers = models.run(rows)
    errors = errors_of(task, registers[:, OUT : OUT + 1], targets[None])
    return models.backwards(rows, scalars, registers, errors[:, 0])
