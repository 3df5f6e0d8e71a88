"""Deep targets: programs whose pattern of influences, ``dst`` and ``src`` of each step, is searched.

Many random patterns on three registers are trained side by side, each step with an affine form of the inputs as its
scalar. The best on rows that are kept back are pruned to a budget of cycles, and the best of these is taken. Such
programs only add, so that they are pure: the way back undoes each step, and no activations are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from skinny.model.bounds.bounds import bound
from skinny.model.errors import InputError
from skinny.model.program.columns import Columns
from skinny.model.program.forms import Linear
from skinny.model.program.program import Output, Program
from skinny.model.program.units import scaled
from skinny.model.rings import FixedPoint

from .network import Array
from .quantise import input_scale
from .training import BATCH, loss_and_errors

__all__ = ["Grown", "Patterns", "program_of", "random_patterns", "search"]

WIDTH, OUT, ONE = 3, 0, 1
#: Patterns, their steps, those that are pruned, and the part of the rows that is kept back.
COUNT, STEPS, PRUNED, KEPT_BACK = 64, 9, 12, 0.2
#: Steps of training before pruning, of each of the rounds of pruning, and after it.
TRAINED, ROUNDS, BETWEEN, REFITTED = 3000, 24, 60, 1200
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


class Grown(NamedTuple):
    """A program that was found for a budget, the cycles it takes and its score on rows kept back. Its forms are
    those of the inputs themselves; its output times ``size`` is what was asked for."""

    budget: int
    cycles: int
    score: float
    model: Patterns
    size: float

    def values(self, rows: Array) -> Array:
        """The outputs of ``rows``, of shape ``(rows, 1)``."""
        ones = np.ones((len(rows), 1))
        return np.asarray(self.model.run(np.concatenate([rows, ones], axis=1))[1][0, OUT, :, None] * self.size)


def random_patterns(inputs: int, rng: np.random.Generator) -> Patterns:
    """Patterns in which every step reads a register that was written, and what it writes may reach the output."""
    dst, src = np.zeros((COUNT, STEPS), int), np.zeros((COUNT, STEPS), int)
    for model in range(COUNT):
        while True:
            filled = {ONE}
            for step in range(STEPS):
                src[model, step] = rng.choice(sorted(filled))
                dst[model, step] = rng.choice([r for r in range(WIDTH) if r != src[model, step]])
                filled.add(int(dst[model, step]))
            needed = {OUT}
            live = 0
            for step in reversed(range(STEPS)):
                if dst[model, step] in needed:
                    needed.add(int(src[model, step]))
                    live += 1
            if live >= STEPS - 1:
                break
    forms = rng.normal(0, 1 / np.sqrt(inputs), (COUNT, STEPS, inputs + 1))
    return Patterns(dst, src, forms, np.ones(forms.shape, bool))


def _train(
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
        gradient, _, _ = _slopes(models, task, rows[chosen], targets[chosen])
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


def _slopes(models: Patterns, task: str, rows: Array, targets: Array) -> tuple[Array, Array, Array]:
    """The gradient, the mean squared gradient and the losses."""
    scalars, registers = models.run(rows)
    losses, errors = loss_and_errors(task, registers[:, OUT : OUT + 1], targets[None])
    return *models.backwards(rows, scalars, registers, errors[:, 0]), losses


def search(
    rows: Array,
    targets: Array,
    task: str,
    budgets: Sequence[int],
    seed: int,
    pace: float = 1.0,
    watch: Callable[[str, float], None] = lambda what, done: None,
) -> list[Grown]:
    """Programs for each of the ``budgets``, the greatest first. ``targets`` are numbers, or 0 and 1 for the task
    ``sign``."""
    rng = np.random.default_rng(seed)
    held = np.sort(rng.permutation(len(rows))[: max(1, round(KEPT_BACK * len(rows)))])
    inside = np.setdiff1d(np.arange(len(rows)), held)
    span = np.abs(rows).max(axis=0)
    span = np.where(span > 0, span, 1)
    size = float(np.sqrt((targets * targets).mean())) or 1.0 if task == "numbers" else 1.0
    scaled = np.column_stack([rows / span, np.ones(len(rows))])
    wanted = (targets / size)[:, None]
    total = (TRAINED + ROUNDS * BETWEEN + REFITTED * len(budgets)) / 32
    count = 0

    def tick() -> None:
        nonlocal count
        count += 1
        watch("patterns", min(0.99, count / (total * pace)))

    def steps(number: int) -> int:
        return max(1, round(pace * number))

    def score(models: Patterns) -> Array:
        outputs = models.run(scaled[held])[1][:, OUT]
        if task == "sign":
            return np.asarray(((outputs > 0) == (wanted[held, 0] > 0)).mean(axis=1))
        spread = max(float(((wanted[held] - wanted[held].mean()) ** 2).sum()), 1e-12)
        return np.asarray(1 - ((outputs - wanted[held, 0]) ** 2).sum(axis=1) / spread)

    models = random_patterns(rows.shape[1], rng)
    with np.errstate(over="ignore", invalid="ignore"):
        _train(models, task, scaled[inside], wanted[inside], rng, steps(TRAINED), RATES, tick)
        best = np.argsort(-np.nan_to_num(score(models), nan=-np.inf), kind="stable")[:PRUNED]
        models = models.part(best)
        out = []
        full, least = float(models.cycles().max()), float(min(budgets))
        stops = sorted({*budgets, *np.geomspace(full, min(full, least), ROUNDS + 1)[1:].round().astype(int).tolist()})
        for stop in reversed(stops):
            _prune(models, task, scaled[inside], wanted[inside], stop)
            _train(models, task, scaled[inside], wanted[inside], rng, steps(BETWEEN), (RATES[1], RATES[1]), tick)
            if stop in budgets:
                refitted = models.part(np.arange(len(models)))
                _train(refitted, task, scaled[inside], wanted[inside], rng, steps(REFITTED), (RATES[1] * 2, 0.0), tick)
                scores = np.nan_to_num(score(refitted), nan=-np.inf)
                one = refitted.part(np.array([int(scores.argmax())]))
                one.forms[..., :-1] /= span
                out.append(Grown(stop, int(one.cycles()[0]), float(scores.max()), one, size))
    return out


def _prune(models: Patterns, task: str, rows: Array, targets: Array, budget: int) -> None:
    """Leave out weights, those with the least square times mean squared gradient first."""
    _, fisher, _ = _slopes(models, task, rows, targets)
    scores = np.nan_to_num(models.forms**2 * fisher)
    for n in range(len(models)):
        order = iter(np.argsort(np.where(models.kept[n], scores[n], np.inf).ravel()).tolist())
        while int(models.part(np.array([n])).cycles()[0]) > budget:
            models.kept[n].ravel()[next(order)] = False
    models.forms *= models.kept


def program_of(
    found: Grown, ring: FixedPoint, box: Sequence[tuple[Fraction, Fraction]], names: Sequence[str], argmax: str
) -> Program:
    """The program in ``ring``, with the most fraction bits for which nothing overflows in the box."""
    model = found.model
    for frac in range(ring.bits - 2, -1, -1):
        format_ = FixedPoint(ring.bits, frac)
        scales = tuple(input_scale(low, high, format_) for low, high in box)
        powers = np.append(np.ldexp(1.0, np.array(scales, dtype=int)), 1.0)
        try:
            program = _write(found, model.forms[0] * powers, format_, names, argmax, scales, box)
            inside = [(scaled(low, -e), scaled(high, -e)) for (low, high), e in zip(box, scales, strict=True)]
            if bound(program, format_, inside).safe:
                return program
        except InputError:
            continue
    raise InputError(f"fixed:{ring.bits} has too few bits: no format is safe for all inputs in the box")


def _write(
    found: Grown,
    forms: Array,
    ring: FixedPoint,
    names: Sequence[str],
    argmax: str,
    scales: tuple[int, ...],
    box: Sequence[tuple[Fraction, Fraction]],
) -> Program:
    """The instructions, with weights in words of ``ring``. What the output register holds is ``size`` times what was
    learned: steps that write it multiply by that, steps that read it divide."""
    model = found.model
    power = 0 if argmax else round(float(np.log2(found.size)))
    factor = found.size / 2.0**power
    weights: dict[Fraction, int] = {}
    table: list[Linear] = []
    code: list[tuple[int, int, int, int]] = []

    def weight(value: float) -> int:
        raw = int(np.floor(value * (1 << ring.frac) + 0.5))
        return weights.setdefault(Fraction(raw, 1 << ring.frac), len(weights))

    for dst, src, row in zip(model.dst[0].tolist(), model.src[0].tolist(), forms, strict=True):
        if not row.any():
            continue
        gain = (factor if dst == OUT else 1.0) / (factor if src == OUT else 1.0)
        terms = tuple((weight(value * gain), u) for u, value in enumerate(row[:-1].tolist()) if value)
        table.append(Linear(terms, weight(float(row[-1]) * gain) if row[-1] else None))
        code.append((dst, src, 1, len(table) - 1))
    return Program(
        width=WIDTH,
        inputs=tuple(names),
        weights=tuple(weights),
        forms=tuple(table),
        code=Columns.of(*zip(*code, strict=True)),
        outputs=(Output("y", OUT, len(code), scale=power),),
        argmax=argmax,
        ring=ring.name,
        input_scales=scales,
        box=tuple(box),
        title="learned: a searched pattern",
    )
