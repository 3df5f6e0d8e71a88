"""Fitting: from a table to the curve of programs, from few cycles to many.

Several families of programs, several numbers of units and several strengths of the teacher are tried, each with
restarts that are trained in one batch and pruned to every budget. Where there are many rows, a part of them is kept
back: the program that does best on it is chosen for each budget, and trained further with all rows. Where there are
few, the setting that does best in cross-validation is trained with all rows from the beginning. Nothing else is seen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from skinny.model.errors import InputError

from .copies import image_copies, table_copies
from .network import Array, Models, Shape, initial
from .pruning import cycles, drop_dead, prune_path
from .sparse import Sparse, sparse
from .teacher import Teacher, discriminant, fit_teacher
from .training import Batches, losses_of, outputs_of, train, with_one

__all__ = ["MANY", "Fitted", "Job", "Point", "Setting", "best_of", "fit", "least_cycles", "settings_for"]

Key = TypeVar("Key")

#: Rows from which on a part is kept back once, in place of cross-validation.
MANY = 600
#: The part of the rows that is kept back, and the parts of cross-validation.
KEPT_BACK, FOLDS = 0.2, 5
#: Copies of each row.
COPIES = 12
#: The teacher's outputs become a distribution as ``softmax(SHARPNESS·f)``.
SHARPNESS = 3.5
#: How far targets of many rows are those of the teacher.
TAUGHT = 0.9
#: Steps of training, and after the last pruning.
TRAINED, REFITTED = 2000, 1000
#: Rates of training, from the first to the last, and in pruning.
RATES, RATE = (1e-2, 1e-3), 3e-3
#: With few rows: the part of the steps, and how much larger rates are. Few rows are told apart by large weights.
FEW_STEPS, FEW_RATES = 0.2, 8.0
#: By how many standard errors a simpler program may be behind the best: accuracies on few rows say little.
TOLERATED = {"classes": 1.0, "sign": 1.0, "numbers": 0.0}
#: How much a point of cross-entropy counts beside the accuracy that is chosen by.
LOSS_COUNTS = 0.2


class Setting(NamedTuple):
    """A family, its units, how far targets are those of the teacher on copies (0: the data as they are), and the noise
    on inputs between 0 and 1. With ``discriminant`` targets are those of linear discriminant analysis."""

    family: str
    units: int
    taught: float
    noise: float
    discriminant: bool = False

    @property
    def kind(self) -> str:
        """Family and units."""
        return f"{self.family}, {self.units} unit{'s' * (self.units > 1)}" if self.units else self.family

    def __str__(self) -> str:
        teacher = "discriminant" if self.discriminant else "teacher" if self.taught else "no teacher"
        return f"{self.kind}, {teacher}, noise {self.noise:g}"


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

    @property
    def many(self) -> bool:
        """Whether there are rows enough to keep a part of them back."""
        return len(self.rows) >= MANY

    def steps(self, count: int) -> int:
        """So many steps of training, for these rows and this pace."""
        return max(1, round(count * self.speed))

    def rates(self, first: float, last: float) -> tuple[float, float]:
        """Rates of training, from the first to the last, for these rows."""
        times = 1.0 if self.many else FEW_RATES
        return times * first, times * last

    @property
    def speed(self) -> float:
        """What steps of training are multiplied by."""
        return self.pace * (1 if self.many else FEW_STEPS)


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
        families += [(family, m) for family, m in (("squares", 2), ("products", 4), ("products", 8)) if m <= most]
    else:
        families += [("squares", 2), ("products", 2)]
    kinds: tuple[tuple[float, float] | tuple[float, float, bool], ...]
    if task == "numbers":
        kinds = ((0.0, 0.02), (0.0, 0.1), (0.7, 0.02))
    elif rows >= MANY:
        # The more units, the more noise they bear.
        return tuple(Setting(family, units, TAUGHT, 0.08 + 0.01 * min(units, 7)) for family, units in families)
    else:
        kinds = ((0.0, 0.05), (0.0, 0.2), (0.7, 0.1))
        if task == "classes":
            # Of two classes the ridge regression that training begins with is the discriminant.
            kinds += ((0.0, 0.0, True),)
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
    chosen = _choose_once(job, watch) if job.many else _choose_by_folds(job, watch)
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
    """The batches of some rows, with and without teacher and copies. The teacher is ``like`` that of another source."""

    def __init__(
        self,
        job: Job,
        scaling: _Scaled,
        rows: Array,
        targets: Array,
        rng: np.random.Generator,
        like: _Source | None = None,
    ) -> None:
        self.job = job
        self.teacher: Teacher | None = None if like is None else like.teacher
        self.varied = (~scaling.constant).astype(np.float32)
        self.rows = scaling.rows(rows)
        self.wanted = _wanted(job, scaling, targets)
        if any(setting.discriminant for setting in job.settings):
            self.forms = discriminant(self.rows, targets, job.outputs)
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
        self.teacher = fit_teacher(self.rows, signed, rng, self.teacher)
        self.copied = np.concatenate([self.rows[None], copies]).reshape(-1, self.rows.shape[1]).astype(np.float32)
        self.repeats = COPIES + 1
        said = self.teacher.predict(self.copied)
        if job.task == "sign":
            said = 1 / (1 + np.exp(-np.clip(2 * SHARPNESS * said, -60, 60)))
        elif job.task == "classes":
            said = np.exp(SHARPNESS * (said - said.max(axis=1, keepdims=True)))
            said /= said.sum(axis=1, keepdims=True)
        self.taught = said

    def start(self, setting: Setting) -> Array:
        """The outputs that training begins with, as affine forms."""
        if setting.discriminant:
            return self.forms
        batches = self.batches(setting)
        return _ridge(batches.rows, batches.targets)

    def batches(self, setting: Setting) -> Batches:
        noise = np.float32(setting.noise) * self.varied
        if setting.discriminant:
            outputs = with_one(self.rows)[0] @ self.forms.T
            powers = np.exp(outputs - outputs.max(axis=1, keepdims=True))
            return Batches(self.rows, (powers / powers.sum(axis=1, keepdims=True)).astype(np.float32), noise)
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


def _rates(job: Job, scaling: _Scaled, models: Models, rows: Array, targets: Array) -> tuple[Array, Array]:
    """What is chosen by, and what is told, of each model on each of the ``rows``, which are scaled already: right or
    wrong, or the part of R²."""
    outputs = outputs_of(models, rows).astype(np.float64)
    losses = losses_of(job.task, outputs, _wanted(job, scaling, targets)[None])
    if job.task == "numbers":
        told = 1 - 2 * losses / job.outputs
        return told, told
    decided = outputs[:, 0] > 0 if job.task == "sign" else outputs.argmax(axis=1)
    told = (decided == targets).astype(np.float64)
    return told - LOSS_COUNTS * losses, told


def _train_path(
    job: Job,
    parts: Sequence[tuple[Setting, _Source]],
    rng: np.random.Generator,
    restarts: int,
    reached: Callable[[int, Models], None],
    watch: Callable[[], None],
) -> None:
    """Train and prune ``restarts`` models of each part, all of one family; ``reached`` gets them, refitted, at each
    budget."""
    batches = _together([source.batches(setting) for setting, source in parts])
    shape = Shape(parts[0][0].family, parts[0][0].units, batches.rows.shape[1], job.outputs)
    models = initial(shape, restarts * len(parts), rng)
    models.kept[:, :, :-1] &= np.ptp(batches.rows, axis=0) > 0
    if job.task == "numbers" or not job.many:
        # Slopes may be far from zero, where descent would begin.
        starts = np.stack([source.start(setting) for setting, source in parts])
        models.forms[:, shape.factors :] = np.repeat(starts, restarts, axis=0)
    models.mask()
    train(models, job.task, batches, rng, job.steps(TRAINED), job.rates(*RATES), watch=watch)

    def refit(budget: int, pruned: Models) -> None:
        drop_dead(pruned)
        train(pruned, job.task, batches, rng, job.steps(REFITTED), job.rates(RATE, 0.0), watch=watch)
        reached(budget, pruned)

    budgets = sorted(set(job.budgets), reverse=True)
    prune_path(models, job.task, batches, rng, budgets, refit, watch, pace=job.speed, rate=job.rates(RATE, RATE)[0])


def _ridge(rows: Array, targets: Array) -> Array:
    """The affine forms of ridge regression."""
    ones = with_one(rows.astype(np.float64))[0]
    squares = ones.T @ ones + 1e-3 * len(rows) * np.diag(np.append(ones[:, :-1].var(axis=0), 0) + 1e-9)
    return np.asarray(np.linalg.solve(squares, ones.T @ targets).T)


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
    families = _families(job.settings)
    for number, settings in enumerate(families):

        def reached(budget: int, models: Models, settings: Sequence[Setting] = settings) -> None:
            by, _ = _rates(job, scaling, models, seen, np.tile(targets, len(seen) // len(targets)))
            at = int(by.mean(axis=1).argmax())
            if budget not in best or by[at].mean() > best[budget][0]:
                one = models.part([at])
                _, told = _rates(job, scaling, one, rows, targets)
                best[budget] = float(by[at].mean()), float(told.mean()), settings[at // job.restarts], one

        ticks = _Ticks(watch, settings, number / (len(families) + 1), 1 / (len(families) + 1), job)
        _train_path(job, [(setting, source) for setting in settings], rng, job.restarts, reached, ticks)
    watch("all rows", len(families) / (len(families) + 1))
    whole = _Source(job, scaling, job.rows, job.targets, rng, source)
    out = []
    for budget in sorted(best, reverse=True):
        _, told, setting, models = best[budget]
        train(models, job.task, whole.batches(setting), rng, job.steps(REFITTED), job.rates(RATE, 0.0))
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
    sources: list[_Source] = []
    for inside in groups:
        sources.append(_Source(job, scaling, job.rows[inside], job.targets[inside], rng, *sources[:1]))
    restarts = max(1, job.restarts // 4)
    rates: dict[tuple[int, Setting], tuple[Array, Array]] = {}
    finals: dict[tuple[int, Setting], Models] = {}
    families = _families(job.settings)
    for place, settings in enumerate(families):

        def reached(budget: int, models: Models, settings: Sequence[Setting] = settings) -> None:
            parts = iter(np.arange(len(models)).reshape(-1, restarts))
            for setting in settings:
                by, told = np.zeros((2, len(everything)))
                for held in folds:
                    found = _rates(
                        job, scaling, models.part(next(parts)), scaling.rows(job.rows[held]), job.targets[held]
                    )
                    by[held], told[held] = found[0].mean(axis=0), found[1].mean(axis=0)
                rates[budget, setting] = by, told
                finals[budget, setting] = models.part(next(parts))

        ticks = _Ticks(watch, settings, place / len(families), 1 / len(families), job)
        parts = [(setting, source) for setting in settings for source in sources]
        _train_path(job, parts, rng, restarts, reached, ticks)
    out = []
    for budget in sorted(set(job.budgets), reverse=True):
        # Programs of smaller budgets fit too; of equal ones the smallest is taken.
        smaller = [each for each in sorted(set(job.budgets)) if each <= budget]
        on_rows = [{(b, each): rates[b, each][0] for b in smaller for each in settings} for settings in families]
        chosen = best_of(on_rows, TOLERATED[job.task])
        setting = chosen[1]
        models, batches = finals[chosen], sources[-1].batches(setting)
        losses = losses_of(job.task, outputs_of(models, batches.rows), batches.targets[None]).mean(axis=1)
        told = float(rates[chosen][1].mean())
        out.append(_point(job, scaling, budget, told, setting, models, int(losses.argmin())))
    return out


def _families(settings: Sequence[Setting]) -> list[list[Setting]]:
    """The settings of each family and number of units, which are trained together."""
    out: dict[tuple[str, int], list[Setting]] = {}
    for setting in settings:
        out.setdefault((setting.family, setting.units), []).append(setting)
    return list(out.values())


def best_of(families: Sequence[dict[Key, Array]], tolerated: float) -> Key:
    """The best of the first family, from the simplest on, that is behind the best of all by no more than ``tolerated``
    standard errors of their difference on the rows; ``families`` have what each of their programs reaches on each
    row."""
    leaders = [max(rates.items(), key=lambda item: float(item[1].mean())) for rates in families]
    best = max((rates for _, rates in leaders), key=lambda rates: float(rates.mean()))
    for key, rates in leaders:
        behind = best - rates
        if behind.mean() <= tolerated * behind.std() / np.sqrt(len(behind)):
            return key
    raise AssertionError("the best is not behind itself")


def _together(batches: list[Batches]) -> Batches:
    """One source of batches, whose groups are the ``batches``."""
    rows, targets = (np.concatenate([each[which] for each in batches]) for which in (0, 1))
    noise = np.stack([each.noise for each in batches])[:, None]
    return Batches(rows, targets, noise, tuple(len(each.rows) for each in batches))


class _Ticks:
    """Tells a watcher that a setting goes on; how far it is, is guessed from its steps."""

    def __init__(
        self, watch: Callable[[str, float], None], settings: Sequence[Setting], begun: float, share: float, job: Job
    ) -> None:
        self.watch, self.what, self.begun, self.share = watch, settings[0].kind, begun, share
        self.watch(self.what, begun)
        self.count = 0
        self.expected = job.speed * (TRAINED + 30 * 200 + REFITTED * len(job.budgets)) / 60

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
