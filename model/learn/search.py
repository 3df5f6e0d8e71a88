"""Deep targets: programs whose pattern of influences is searched.

Grown and random patterns (:mod:`.patterns`) are trained side by side. The best on rows that are kept back are pruned to
a budget of cycles, and the best of these is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from .patterns import BETWEEN as GROWING
from .patterns import (
    FIRST,
    OUT,
    RATES,
    STEPS,
    WIDTH,
    Patterns,
    grown_patterns,
    random_patterns,
    slopes_of,
    train_patterns,
)
from .quantise import input_scale

__all__ = ["KINDS", "Searched", "program_of", "search"]

KINDS = ("grown", "random")
#: Patterns that are pruned, and the part of the rows that is kept back.
PRUNED, KEPT_BACK = 12, 0.2
#: Steps of training before pruning, of each of the rounds of pruning, and after it.
TRAINED, ROUNDS, BETWEEN, REFITTED = 3000, 24, 60, 1200


class Searched(NamedTuple):
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


def _patterns(
    kinds: Sequence[str],
    task: str,
    rows: Array,
    targets: Array,
    rng: np.random.Generator,
    pace: float,
    watch: Callable[[], None],
) -> Patterns:
    """The patterns that are trained."""
    parts = []
    if "grown" in kinds:
        parts.append(grown_patterns(task, rows, targets, rng, pace, watch))
    if "random" in kinds:
        parts.append(random_patterns(rows.shape[1] - 1, rng))
    return Patterns(*(np.concatenate([getattr(part, n) for part in parts]) for n in ("dst", "src", "forms", "kept")))


def search(
    rows: Array,
    targets: Array,
    task: str,
    budgets: Sequence[int],
    seed: int,
    pace: float = 1.0,
    watch: Callable[[str, float], None] = lambda what, done: None,
    kinds: Sequence[str] = KINDS,
) -> list[Searched]:
    """Programs for each of the ``budgets``, the greatest first. ``targets`` are numbers, or 0 and 1 for the task
    ``sign``; ``kinds`` of patterns are grown and random."""
    rng = np.random.default_rng(seed)
    held = np.sort(rng.permutation(len(rows))[: max(1, round(KEPT_BACK * len(rows)))])
    inside = np.setdiff1d(np.arange(len(rows)), held)
    span = np.abs(rows).max(axis=0)
    span = np.where(span > 0, span, 1)
    size = float(np.sqrt((targets * targets).mean())) or 1.0 if task == "numbers" else 1.0
    scaled = np.column_stack([rows / span, np.ones(len(rows))])
    wanted = (targets / size)[:, None]
    growing = (STEPS - FIRST + 1) * GROWING if "grown" in kinds else 0
    total = (growing + TRAINED + ROUNDS * BETWEEN + REFITTED * len(budgets)) / 32
    count = 0

    def tick() -> None:
        nonlocal count
        count += 1
        watch("patterns", min(0.99, count / (total * pace)))

    def more(models: Patterns, steps: int, rates: tuple[float, float]) -> None:
        train_patterns(models, task, scaled[inside], wanted[inside], rng, max(1, round(pace * steps)), rates, tick)

    def score(models: Patterns) -> Array:
        outputs = models.run(scaled[held])[1][:, OUT]
        if task == "sign":
            return np.asarray(((outputs > 0) == (wanted[held, 0] > 0)).mean(axis=1))
        spread = max(float(((wanted[held] - wanted[held].mean()) ** 2).sum()), 1e-12)
        return np.asarray(1 - ((outputs - wanted[held, 0]) ** 2).sum(axis=1) / spread)

    with np.errstate(over="ignore", invalid="ignore"):
        models = _patterns(kinds, task, scaled[inside], wanted[inside], rng, pace, tick)
        more(models, TRAINED, RATES)
        best = np.argsort(-np.nan_to_num(score(models), nan=-np.inf), kind="stable")[:PRUNED]
        models = models.part(best)
        out = []
        full, least = float(models.cycles().max()), float(min(budgets))
        stops = sorted({*budgets, *np.geomspace(full, min(full, least), ROUNDS + 1)[1:].round().astype(int).tolist()})
        for stop in reversed(stops):
            _prune(models, task, scaled[inside], wanted[inside], stop)
            more(models, BETWEEN, (RATES[1], RATES[1]))
            if stop in budgets:
                refitted = models.part(np.arange(len(models)))
                more(refitted, REFITTED, (RATES[1] * 2, 0.0))
                scores = np.nan_to_num(score(refitted), nan=-np.inf)
                one = refitted.part(np.array([int(scores.argmax())]))
                one.forms[..., :-1] /= span
                out.append(Searched(stop, int(one.cycles()[0]), float(scores.max()), one, size))
    return out


def _prune(models: Patterns, task: str, rows: Array, targets: Array, budget: int) -> None:
    """Leave out weights, those with the least square times mean squared gradient first."""
    _, fisher = slopes_of(models, task, rows, targets)
    scores = np.nan_to_num(models.forms**2 * fisher)
    for n in range(len(models)):
        order = iter(np.argsort(np.where(models.kept[n], scores[n], np.inf).ravel()).tolist())
        while int(models.part(np.array([n])).cycles()[0]) > budget:
            models.kept[n].ravel()[next(order)] = False
    models.forms *= models.kept


def program_of(
    found: Searched, ring: FixedPoint, box: Sequence[tuple[Fraction, Fraction]], names: Sequence[str], argmax: str
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
    found: Searched,
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
