"""Fitting: from a table to the curve of programs, from few cycles to many.

Several families of programs, several numbers of units and several strengths of the teacher are tried, each with
restarts that are trained in one batch and pruned to every budget. Where there are many rows, a part of them is kept
back: the program that does best on it is chosen for each budget, and trained further with all rows. Where there are
few, the setting that does best in cross-validation is trained with all rows from the beginning. Nothing else is seen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from skinny.model.errors import InputError

from .copies import image_copies, table_copies
from .network import Array, Models, Shape, initial
from .pruning import RATE, cycles, drop_dead, prune_path
from .sparse import Sparse, sparse
from .teacher import fit_teacher
from .training import Batches, loss_and_errors, outputs_of, train, with_one

__all__ = ["Fitted", "Job", "Point", "Setting", "fit", "least_cycles", "settings_for"]

#: Rows from which on a part is kept back once, in place of cross-validation.
MANY = 600
#: The part of the rows that is kept back, and the parts of cross-validation.
KEPT_BACK, FOLDS = 0.2, 4
#: Copies of each row.
COPIES = 12
#: The teacher's outputs become a distribution as ``softmax(SHARPNESS·f)``.
SHARPNESS = 3.5
#: Steps of training, rates from the first to the last, and steps after the last pruning.
TRAINED, RATES, REFITTED = 2000, (1e-2, 1e-3), 1000
#: How much a point of cross-entropy counts beside the accuracy that is chosen by.
LOSS_COUNTS = 0.05


class Setting(NamedTuple):
    """A family, its units, how far targets are those of the teacher on copies (0: the data as they are), and the noise
    on inputs between 0 and 1."""

    family: str
    units: int
    taught: float
    noise: float

    def __str__(self) -> str:
        units = f", {self.units} units" if self.units else ""
        return f"{self.family}{units}, {'teacher' if self.taught else 'no teacher'}, noise {self.noise:g}"


class Job(NamedTuple):
    """What is to be fitted: rows of shape ``(rows, inputs)`` without constant columns; ``targets`` are numbers of
    classes, or numbers of shape ``(rows, outputs)``; ``image`` is the height and width of the rows, if they are
    images."""

    rows: Array
    targets: Array
    task: str
    budgets: tuple[int, ...]
    settings: tuple[Setting, ...]
    restarts: int = 8
    pace: float = 1.0
    image: tuple[int, int] | None = None
    seed: int = 0

    @property
    def outputs(self) -> int:
        if self.task == "numbers":
            return int(self.targets.shape[1])
        return 1 if self.task == "sign" else int(self.targets.max()) + 1


class Point(NamedTuple):
    """A program of the curve: its ``budget``, the cycles it takes, the setting that was chosen, what it reached on rows
    that were kept back (accuracy, or R²), and the program itself in the units of the data."""

    budget: int
    cycles: int
    setting: Setting
    score: float
    program: Sparse


class Fitted(NamedTuple):
    """The curve, from the greatest budget to the least."""

    curve: tuple[Point, ...]


@dataclass
class _Scaled:
    """The rows between 0 and 1, centred, and targets as outputs of a program."""

    center: Array
    span: Array
    mean: Array
    deviation: Array
    constant: Array

    def rows(self, rows: Array) -> Array:
        return ((rows - self.center) / self.span).astype(np.float32)

    def raw(self, program: Sparse) -> Sparse:
        """The outputs in the units of the targets."""
        outputs = program.outputs * self.deviation[:, None]
        outputs[:, -1] += self.mean
        if program.family != "separate":
            return program._replace(outputs=outputs, reads=program.reads * self.deviation[:, None])
        owner = np.abs(program.reads).argmax(axis=0)
        factors = program.factors * np.sqrt(self.deviation[owner])[:, None, None]
        return program._replace(outputs=outputs, factors=factors)


def settings_for(task: str, outputs: int, width: int, rows: int) -> tuple[Setting, ...]:
    """The settings that are tried for programs of at most ``width`` registers."""
    families = [("linear", 0)]
    most = width - 2
    if most < 2:
        families += [("squares", 1), ("products", 1)]
        families += [("separate", outputs)] if outputs > 1 else []
    elif rows >= MANY:
        families += [
            (family, m) for family, m in (("squares", 2), ("squares", 6), ("products", 4), ("products", 8)) if m <= most
        ]
    else:
        families += [("squares", 2), ("products", 2)]
    if task == "numbers":
        kinds: tuple[tuple[float, float], ...] = ((0.0, 0.02), (0.0, 0.1), (0.7, 0.02))
    elif rows >= MANY:
        kinds = ((0.9, 0.15),)
    else:
        kinds = ((0.0, 0.05), (0.0, 0.15), (0.7, 0.1))
    return tuple(Setting(family, units, *kind) for kind in kinds for family, units in families)


def least_cycles(task: str, outputs: int) -> int:
    """The cycles of a program whose outputs are constants and one weight."""
    shape = Shape("linear", 0, 1, outputs)
    model = initial(shape, 1, np.random.default_rng(0))
    model.kept[:, 1:, :-1] = False
    return int(cycles(model, task)[0])


def fit(job: Job, watch: Callable[[str, float], None] = lambda what, done: None) -> Fitted:
    """The curve of ``job``. ``watch`` is told what is done, and how much of all is done."""
    least = least_cycles(job.task, job.outputs)
    if min(job.budgets) < least:
        raise InputError(f"a program of {job.outputs} outputs takes {least} cycles at least, not {min(job.budgets)}")
    many = len(job.rows) >= MANY
    chosen = _choose_once(job, watch) if many else _choose_by_folds(job, watch)
    return Fitted(tuple(chosen))


def _scaling(job: Job) -> _Scaled:
    rows = job.rows
    center = rows.mean(axis=0)
    span = rows.max(axis=0) - rows.min(axis=0)
    constant = span == 0
    if job.image is not None:
        span = np.full(len(span), span.max(initial=0))
    span = np.where(span > 0, span, 1.0)
    if job.task != "numbers":
        return _Scaled(center, span, np.zeros(job.outputs), np.ones(job.outputs), constant)
    deviation = job.targets.std(axis=0)
    return _Scaled(center, span, job.targets.mean(axis=0), np.where(deviation > 0, deviation, 1.0), constant)


def _wanted(job: Job, scaling: _Scaled, targets: Array) -> Array:
    """Targets as outputs: a distribution, a probability, or standard numbers."""
    if job.task == "numbers":
        return (targets - scaling.mean) / scaling.deviation
    if job.task == "sign":
        return targets[:, None].astype(np.float64)
    return np.eye(job.outputs)[targets]


class _Source:
    """The batches of some rows, with and without teacher and copies."""

    def __init__(self, job: Job, scaling: _Scaled, rows: Array, targets: Array, rng: np.random.Generator) -> None:
        self.job = job
        self.varied = (~scaling.constant).astype(np.float32)
        self.rows = scaling.rows(rows)
        self.wanted = _wanted(job, scaling, targets)
        self.copied = self.rows
        self.taught = self.wanted
        self.repeats = 1
        if any(setting.taught for setting in job.settings) and len(rows) >= 5:
            self._teach(job, scaling, rows, targets, rng)

    def _teach(self, job: Job, scaling: _Scaled, rows: Array, targets: Array, rng: np.random.Generator) -> None:
        if job.image is not None:
            copies = scaling.rows(image_copies(rows, job.image, COPIES, rng))
        else:
            classes = np.zeros(len(rows), int) if job.task == "numbers" else targets
            copies = table_copies(self.rows, classes, COPIES, rng)
        signed = self.wanted if job.task == "numbers" else 2 * self.wanted - 1
        teacher = fit_teacher(self.rows, signed, rng)
        self.copied = np.concatenate([self.rows[None], copies]).reshape(-1, self.rows.shape[1]).astype(np.float32)
        self.repeats = COPIES + 1
        said = teacher.predict(self.copied)
        if job.task == "sign":
            said = 1 / (1 + np.exp(-np.clip(2 * SHARPNESS * said, -60, 60)))
        elif job.task == "classes":
            said = np.exp(SHARPNESS * (said - said.max(axis=1, keepdims=True)))
            said /= said.sum(axis=1, keepdims=True)
        self.taught = said

    def batches(self, setting: Setting) -> Batches:
        noise = np.float32(setting.noise) * self.varied
        if not setting.taught or self.repeats == 1:
            return Batches(self.rows, self.wanted.astype(np.float32), noise)
        if self.job.task == "numbers":
            # A copy has no target of its own.
            targets = self.taught.copy()
            first = len(self.rows)
            targets[:first] = setting.taught * targets[:first] + (1 - setting.taught) * self.wanted
        else:
            targets = setting.taught * self.taught + (1 - setting.taught) * np.tile(self.wanted, (self.repeats, 1))
        return Batches(self.copied, targets.astype(np.float32), noise)


def _score(job: Job, scaling: _Scaled, models: Models, rows: Array, targets: Array) -> tuple[Array, Array]:
    """What is chosen by, and what is told, of each model on ``rows`` that are scaled already."""
    outputs = outputs_of(models, rows).astype(np.float64)
    wanted = _wanted(job, scaling, targets)
    losses, _ = loss_and_errors(job.task, outputs, wanted[None])
    if job.task == "numbers":
        spread = ((wanted - wanted.mean(axis=0)) ** 2).sum()
        told = 1 - 2 * losses * len(rows) / max(float(spread), 1e-12)
        return told, told
    decided = outputs[:, 0] > 0 if job.task == "sign" else outputs.argmax(axis=1)
    told = (decided == targets).mean(axis=1)
    return told - LOSS_COUNTS * losses, told


def _train_path(
    job: Job,
    setting: Setting,
    batches: Batches,
    rng: np.random.Generator,
    restarts: int,
    reached: Callable[[int, Models], None],
    watch: Callable[[], None],
) -> None:
    """Train and prune ``restarts`` models of each part; ``reached`` gets them, refitted, at each budget."""
    shape = Shape(setting.family, setting.units, batches.rows.shape[1], job.outputs)
    parts = batches.parts or (np.arange(len(batches.rows)),)
    models = initial(shape, restarts * len(parts), rng)
    models.kept[:, :, :-1] &= np.ptp(batches.rows, axis=0) > 0
    if job.task == "numbers" or len(job.rows) < MANY:
        # Slopes may be far from zero, where descent would begin.
        ridges = np.stack([_ridge(batches.rows[part], batches.targets[part]) for part in parts])
        models.forms[:, shape.factors :] = np.repeat(ridges, restarts, axis=0)
    models.mask()
    train(models, job.task, batches, rng, _steps(TRAINED, job), RATES, watch=watch)

    def refit(budget: int, pruned: Models) -> None:
        drop_dead(pruned)
        train(pruned, job.task, batches, rng, _steps(REFITTED, job), (RATE, 0.0), watch=watch)
        reached(budget, pruned)

    prune_path(models, job.task, batches, rng, sorted(set(job.budgets), reverse=True), refit, watch, job.pace)


def _ridge(rows: Array, targets: Array) -> Array:
    """The affine forms of ridge regression."""
    ones = with_one(rows.astype(np.float64))[0]
    squares = ones.T @ ones + 1e-3 * len(rows) * np.diag(np.append(ones[:, :-1].var(axis=0), 0) + 1e-9)
    return np.asarray(np.linalg.solve(squares, ones.T @ targets).T)


def _steps(steps: int, job: Job) -> int:
    return max(1, round(steps * job.pace))


def _choose_once(job: Job, watch: Callable[[str, float], None]) -> list[Point]:
    rng = np.random.default_rng(job.seed)
    held = _parts(job, rng, round(1 / KEPT_BACK))[0]
    inside = np.setdiff1d(np.arange(len(job.rows)), held)
    scaling = _scaling(job)
    watch("the teacher", 0.0)
    source = _Source(job, scaling, job.rows[inside], job.targets[inside], rng)
    rows, targets = scaling.rows(job.rows[held]), job.targets[held]
    if job.image is not None:
        # Copies of the rows that are kept back tell more than these alone.
        copies = scaling.rows(image_copies(job.rows[held], job.image, COPIES, rng))
        seen = np.concatenate([rows[None], copies]).reshape(-1, rows.shape[1])
    else:
        seen = rows
    best: dict[int, tuple[float, float, Setting, Models]] = {}
    for number, setting in enumerate(job.settings):

        def reached(budget: int, models: Models, setting: Setting = setting) -> None:
            by, _ = _score(job, scaling, models, seen, np.tile(targets, len(seen) // len(targets)))
            _, told = _score(job, scaling, models, rows, targets)
            at = int(by.argmax())
            if budget not in best or by[at] > best[budget][0]:
                best[budget] = float(by[at]), float(told[at]), setting, models.part([at])

        done = number / (len(job.settings) + 1)
        watch(str(setting), done)
        ticks = _Ticks(watch, str(setting), done, 1 / (len(job.settings) + 1), job)
        _train_path(job, setting, source.batches(setting), rng, job.restarts, reached, ticks)
    watch("all rows", len(job.settings) / (len(job.settings) + 1))
    whole = _Source(job, scaling, job.rows, job.targets, rng)
    out = []
    for budget in sorted(best, reverse=True):
        _, told, setting, models = best[budget]
        train(models, job.task, whole.batches(setting), rng, _steps(REFITTED, job), (RATE, 0.0))
        out.append(_point(job, scaling, budget, told, setting, models, 0))
    return out


def _choose_by_folds(job: Job, watch: Callable[[str, float], None]) -> list[Point]:
    """All parts of cross-validation, and all rows, train side by side as groups of one batch."""
    rng = np.random.default_rng(job.seed)
    scaling = _scaling(job)
    folds = _parts(job, rng, FOLDS)
    everything = np.arange(len(job.rows))
    watch("the teacher", 0.0)
    groups = [*(np.setdiff1d(everything, held) for held in folds), everything]
    sources = [_Source(job, scaling, job.rows[inside], job.targets[inside], rng) for inside in groups]
    restarts = max(1, job.restarts // 2)
    scores: dict[tuple[int, Setting], tuple[float, float]] = {}
    finals: dict[tuple[int, Setting], Models] = {}
    for place, setting in enumerate(job.settings):

        def reached(budget: int, models: Models, setting: Setting = setting) -> None:
            by = told = 0.0
            for number, held in enumerate(folds):
                those = models.part(np.arange(number * restarts, (number + 1) * restarts))
                found = _score(job, scaling, those, scaling.rows(job.rows[held]), job.targets[held])
                by += len(held) * float(found[0].mean())
                told += len(held) * float(found[1].mean())
            scores[budget, setting] = by / len(everything), told / len(everything)
            finals[budget, setting] = models.part(np.arange(len(folds) * restarts, len(models)))

        ticks = _Ticks(watch, str(setting), place / len(job.settings), 1 / len(job.settings), job)
        together = _together([source.batches(setting) for source in sources], restarts)
        _train_path(job, setting, together, rng, restarts, reached, ticks)
    out = []
    for budget in sorted(set(job.budgets), reverse=True):
        _, setting = max(((scores[budget, each][0], each) for each in job.settings), key=lambda pair: pair[0])
        models, batches = finals[budget, setting], sources[-1].batches(setting)
        losses, _ = loss_and_errors(job.task, outputs_of(models, batches.rows), batches.targets[None])
        out.append(_point(job, scaling, budget, scores[budget, setting][1], setting, models, int(losses.argmin())))
    return out


def _together(batches: list[Batches], models: int) -> Batches:
    """One source of batches, whose parts are the ``batches``."""
    ends = np.cumsum([0, *(len(each.rows) for each in batches)])
    parts = tuple(np.arange(first, end) for first, end in pairwise(ends.tolist()))
    rows, targets = (np.concatenate([each[which] for each in batches]) for which in (0, 1))
    return Batches(rows, targets, batches[0].noise, parts, models)


class _Ticks:
    """Tells a watcher that a setting goes on; how far it is, is guessed from its steps."""

    def __init__(self, watch: Callable[[str, float], None], what: str, begun: float, share: float, job: Job) -> None:
        self.watch, self.what, self.begun, self.share = watch, what, begun, share
        self.count = 0
        self.expected = job.pace * (TRAINED + 30 * 200 + REFITTED * len(job.budgets)) / 60

    def __call__(self) -> None:
        self.count += 1
        self.watch(self.what, self.begun + self.share * min(0.99, self.count / self.expected))


def _parts(job: Job, rng: np.random.Generator, count: int) -> list[Array]:
    """``count`` parts of the rows, each with its share of every class; fewer where there are few rows."""
    order = rng.permutation(len(job.rows))
    if job.task != "numbers":
        order = order[np.argsort(job.targets[order], kind="stable")]
    count = min(count, len(job.rows))
    return [np.sort(order[first::count]) for first in range(count)]


def _point(
    job: Job, scaling: _Scaled, budget: int, told: float, setting: Setting, models: Models, number: int
) -> Point:
    one = models.part([number])
    drop_dead(one)
    program = scaling.raw(sparse(one, 0, scaling.center, scaling.span, job.task))
    return Point(budget, int(cycles(one, job.task)[0]), setting, told, program)
