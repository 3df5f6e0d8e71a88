"""Estimators in the manner of scikit-learn: from rows to a proven program in fixed point, which gives the predictions.

:class:`SkinnyClassifier` and :class:`SkinnyRegressor` fit with ``skinny.model.learn`` and hold a
:class:`~skinny.program.Program`. What they predict is computed by its golden run, bit for bit as a core does it.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from skinny.model.errors import InputError, PrecisionWarning
from skinny.model.learn.fitting import Job, Point, fit, least_cycles, settings_for
from skinny.model.learn.quantise import Quantised, quantise
from skinny.model.learn.search import Searched, program_of, search
from skinny.model.learn.sparse import Sparse
from skinny.model.program.program import Program as ModelProgram
from skinny.model.rings import FixedPoint
from skinny.model.run.golden import run
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from .program import Path, Program
from .values import as_ring, as_whole, expect_choice, listed, several, shown

__all__ = ["SkinnyClassifier", "SkinnyRegressor"]

#: The budgets of the curve, in parts of the budget that is asked for. The greatest program is always in it.
CURVE = (2.0, 0.5, 0.25)
UNLIMITED = 1 << 40
#: Inputs of a core.
MOST_INPUTS = 1 << 16
#: Names of a program's inputs and outputs.
PLAIN = re.compile("[A-Za-z_][A-Za-z_0-9]*")

Array = NDArray[Any]
#: What computes in floats.
Learned = Sparse | Searched
#: Is told what is done, and how much of all.
Watch = Callable[[str, float], None]


class _SkinnyEstimator(BaseEstimator):  # type: ignore[misc]
    """What both estimators share."""

    def __init__(
        self,
        budget: int = 300,
        ring: str = "fixed:16",
        *,
        width: int = 16,
        images: tuple[int, int] | None = None,
        curve: Sequence[int] | None = None,
        patterns: str = "fixed",
        restarts: int = 8,
        effort: float = 1.0,
        clip: bool = False,
        random_state: Any = 0,
    ) -> None:
        self.budget = budget
        self.ring = ring
        self.width = width
        self.images = images
        self.curve = curve
        self.patterns = patterns
        self.restarts = restarts
        self.effort = effort
        self.clip = clip
        self.random_state = random_state

    def _learn(
        self,
        rows: Array,
        targets: Array,
        task: str,
        outputs: Sequence[str],
        argmax: str,
        named: Sequence[str] | None,
        watch: Watch | None,
    ) -> None:
        """Fit the curve, and make programs of it."""
        ring = _ring(self.ring)
        budget, width = as_whole(self.budget, "budget"), as_whole(self.width, "width")
        if width < 3:
            raise InputError(f"the width must be 3 or more, not {width}")
        restarts = as_whole(self.restarts, "number of restarts")
        if restarts < 1 or not self.effort > 0:
            raise InputError("the number of restarts and the effort must be above zero")
        image = self._image(rows.shape[1])
        names = self._names(rows.shape[1], named)
        varied = np.ptp(rows, axis=0) > 0
        self.dropped_ = [name for name, varies in zip(names, varied, strict=True) if not varies]
        if not varied.any():
            raise InputError("all columns are constant: there is nothing to learn from")
        inside = np.arange(rows.shape[1]) if image else np.flatnonzero(varied)
        if len(inside) > MOST_INPUTS:
            raise InputError(f"{len(inside):,} columns are more than the {MOST_INPUTS:,} inputs of a core")
        count = len(outputs)
        least = least_cycles(task, count)
        if budget < least:
            size = several(count, "output")
            raise InputError(f"a program of {size} takes {least} cycles at least: the budget is {budget}")
        if self.curve is None:
            budgets = {UNLIMITED, budget, *(max(least, round(part * budget)) for part in CURVE)}
        else:
            budgets = {UNLIMITED, budget, *(as_whole(other, "budget of the curve") for other in self.curve)}
        expect_choice(self.patterns, ("fixed", "search"), "patterns")
        self.curve_: list[dict[str, Any]] = []
        self._points: list[tuple[float, Array, Learned]] = []
        self._inside = inside
        seed = int(check_random_state(self.random_state).randint(1 << 31))
        if self.patterns == "search":
            self._search(
                rows, targets, task, sorted(budgets - {UNLIMITED}, reverse=True), ring, names, argmax, seed, watch
            )
            return
        job = Job(
            rows[:, inside],
            targets,
            task,
            tuple(sorted(budgets, reverse=True)),
            settings_for(task, count, width, len(rows)),
            restarts,
            float(self.effort),
            image,
            seed,
        )
        fitted = fit(job) if watch is None else fit(job, watch)
        for point in fitted.curve:
            made, columns = self._quantised(point, ring, rows, inside, names, outputs, argmax)
            factor = float(made.words.outputs[0]) if argmax else 1.0
            self._add(point.budget, str(point.setting), point.score, made.program, factor, columns, point.program)
        self._take(next(place for place, point in enumerate(fitted.curve) if point.budget == budget))

    def _search(
        self,
        rows: Array,
        targets: Array,
        task: str,
        budgets: Sequence[int],
        ring: FixedPoint,
        names: Sequence[str],
        argmax: str,
        seed: int,
        watch: Watch | None,
    ) -> None:
        """The same with searched patterns, which have one output."""
        if task == "classes" or (task == "numbers" and targets.shape[1] > 1):
            raise InputError("patterns are searched for one output: two classes, or one number a row")
        chosen = rows[:, self._inside]
        told = watch or (lambda what, done: None)
        found = search(chosen, targets.reshape(len(rows)), task, budgets, seed, float(self.effort), told)
        ends = zip(chosen.min(axis=0).tolist(), chosen.max(axis=0).tolist(), strict=True)
        box = [(Fraction(low), Fraction(high)) for low, high in ends]
        for entry in found:
            program = program_of(entry, ring, box, [names[u] for u in self._inside.tolist()], argmax)
            self._add(entry.budget, "a searched pattern", entry.score, program, 1.0, self._inside, entry)
        self._take(next(place for place, entry in enumerate(found) if entry.budget == self.budget))

    def _add(
        self,
        budget: int,
        setting: str,
        score: float,
        program: ModelProgram,
        factor: float,
        columns: Array,
        exact: Learned,
    ) -> None:
        """One more point of the curve."""
        self.curve_.append(
            {
                "budget": None if budget == UNLIMITED else budget,
                "cycles": program.words + program.emits,
                "setting": setting,
                "score": score,
                "program": Program(program),
            }
        )
        self._points.append((factor, columns, exact))

    def _take(self, place: int) -> None:
        """Predict with the program of a point of the curve."""
        self._factor, self.columns_, self._exact = self._points[place]
        self.program_: Program = self.curve_[place]["program"]

    @property
    def learned_(self) -> Learned:
        """What the program was before it was put into words: affine forms of all columns."""
        if isinstance(self._exact, Searched):
            model = self._exact.model
            return self._exact._replace(model=replace(model, forms=self._of_all(model.forms)))
        return self._exact._replace(
            factors=self._of_all(self._exact.factors), outputs=self._of_all(self._exact.outputs)
        )

    def _of_all(self, forms: Array) -> Array:
        """Forms of the columns that vary, with the constant last, as forms of all columns."""
        out = np.zeros((*forms.shape[:-1], self.n_features_in_ + 1), forms.dtype)
        out[..., [*self._inside, -1]] = forms
        return out

    def with_point(self, place: int) -> Self:
        """An estimator that predicts with the program of entry ``place`` of ``curve_``."""
        check_is_fitted(self, "program_")
        other = copy(self)
        other._take(place)
        return other

    def _image(self, columns: int) -> tuple[int, int] | None:
        if self.images is None:
            return None
        height, width = (as_whole(side, "side of an image") for side in self.images)
        if height * width != columns:
            raise InputError(f"images of {height} times {width} pixels have {height * width} columns, not {columns}")
        return height, width

    def _names(self, columns: int, named: Sequence[str] | None) -> list[str]:
        """Names that a program can have for its inputs."""
        given = getattr(self, "feature_names_in_", None) if named is None else named
        if given is not None and len(given) != columns:
            raise InputError(f"there must be {columns} names, not {len(given)}")
        return plain_names([f"x{u}" for u in range(columns)] if given is None else [str(name) for name in given])

    def _quantised(
        self,
        point: Point,
        ring: FixedPoint,
        rows: Array,
        inside: Array,
        names: Sequence[str],
        outputs: Sequence[str],
        argmax: str,
    ) -> tuple[Quantised, Array]:
        """The program of a point of the curve, whose inputs are the columns that it reads."""
        program = point.program
        used: Array = np.asarray(program.outputs[:, :-1].any(axis=0))
        if program.factors.size:
            used |= program.factors[..., :-1].any(axis=(0, 1))
        if not used.any():
            used[0] = True
        read = np.append(used, True)
        program = program._replace(outputs=program.outputs[:, read], factors=program.factors[..., read])
        columns = inside[used]
        ends = zip(rows[:, columns].min(axis=0).tolist(), rows[:, columns].max(axis=0).tolist(), strict=True)
        box = [(Fraction(low), Fraction(high)) for low, high in ends]
        title = f"learned: {point.setting}"
        chosen = [names[u] for u in columns.tolist()]
        return quantise(program, ring, box, chosen, outputs, argmax, title, rows[:, columns]), columns

    def _elements(self, given: Any) -> Array:
        """The words of the rows ``given``, rows outside the box of the training data told."""
        words, low, high, bits = self._words(given)
        outside = (words < low) | (words > high)
        if outside.any():
            found = [self.program_.inputs[u] for u in sorted(set(np.nonzero(outside)[1].tolist()))]
            what = "were clipped to it" if self.clip else "nothing is proven for them"
            warnings.warn(
                f"{int(outside.any(axis=1).sum()):,} of {len(words):,} rows are outside the box of the training data "
                f"({listed(found)}); {what}",
                PrecisionWarning,
                stacklevel=3,
            )
        half = 2.0 ** (bits - 1)
        clipped = np.clip(words, low, high) if self.clip else np.clip(words, -half, half - 1)
        return np.asarray(clipped.astype(np.int64))

    def _words(self, given: Any) -> tuple[Array, Array, Array, int]:
        """The words of the rows ``given``, which need not fit, those at the ends of the box, and the bits of a word."""
        check_is_fitted(self, "program_")
        rows = _validated(self, given, reset=False, dtype=np.float64)[:, self.columns_]
        model = self.program_.model
        ring = as_ring(model.ring)
        assert isinstance(ring, FixedPoint)
        assert model.box is not None
        powers = np.ldexp(1.0, ring.frac - np.array(model.input_scales))
        low, high = np.floor(np.array([[float(end) for end in side] for side in model.box]).T * powers + 0.5)
        return np.floor(rows * powers + 0.5), low, high, ring.bits

    def outside(self, X: Any) -> int:  # noqa: N803
        """How many of the rows are outside the box of the training data."""
        words, low, high, _ = self._words(X)
        return int(((words < low) | (words > high)).any(axis=1).sum())

    def float_outputs(self, X: Any) -> Array:  # noqa: N803
        """The outputs of the program before it was put into words, of shape ``(rows, outputs)``."""
        check_is_fitted(self, "program_")
        return self._exact.values(_validated(self, X, reset=False, dtype=np.float64)[:, self._inside])

    def _outputs(self, given: Any) -> Array:
        """The outputs of the program before argmax, of shape ``(rows, outputs)``."""
        elements = self._elements(given)
        model = replace(self.program_.model, argmax="")
        ring = as_ring(model.ring)
        scales = np.array([output.scale for output in model.outputs])
        assert isinstance(ring, FixedPoint)
        return np.asarray(run(model, ring, elements).outputs * np.ldexp(1.0, scales - ring.frac))

    def _user_rows(self, given: Any) -> Array:
        """The rows as the program takes them, in the user's units."""
        elements = self._elements(given)
        ring = as_ring(self.program_.model.ring)
        assert isinstance(ring, FixedPoint)
        return np.asarray(elements * np.ldexp(1.0, np.array(self.program_.model.input_scales) - ring.frac))

    def simulate(self, X: Any, **options: Any) -> dict[str, Any]:  # noqa: N803
        """The rows on the simulated core, cycle by cycle against the model; see :meth:`skinny.Program.simulate`. The
        first difference is a :exc:`~skinny.CheckError`."""
        check_is_fitted(self, "program_")
        return self.program_.simulate(self._user_rows(X), **options)

    def verilog(self, folder: Path, **options: Any) -> dict[str, Any]:
        """The core as Verilog; see :meth:`skinny.Program.verilog`."""
        check_is_fitted(self, "program_")
        return self.program_.verilog(folder, **options)

    def fpga(self, device: str, **options: Any) -> dict[str, Any]:
        """Area and frequency; see :meth:`skinny.Program.fpga`."""
        check_is_fitted(self, "program_")
        return self.program_.fpga(device, **options)

    def explain(self, a: Any, b: Any) -> dict[str, Any]:
        """Why the rows ``a`` and ``b`` give different outputs; see :meth:`skinny.Program.explain`."""
        rows = self._user_rows([a, b])
        return self.program_.explain(rows[0], rows[1])

    def save(self, path: Path) -> None:
        """The program as a ``.skn`` or ``.npz`` file."""
        check_is_fitted(self, "program_")
        self.program_.save(path)


class SkinnyClassifier(ClassifierMixin, _SkinnyEstimator):  # type: ignore[misc]
    """A classifier that is a program of at most ``budget`` cycles in the word of ``ring``.

    ``ring`` is ``"fixed:BITS"`` or ``"fixed:BITS.FRAC"``, ``width`` the most registers, ``images`` the height and
    width of rows that are images, ``curve`` the other budgets of ``curve_``. With ``patterns="search"`` deep programs
    of one output on three registers are searched. ``restarts`` programs of each kind are trained; ``effort``
    multiplies the steps of training. Rows outside the box of the training data are told by a warning, and clipped to
    it with ``clip``.

    After ``fit``: ``program_`` is the program, whose result is the number of the class in ``classes_``; it reads the
    columns ``columns_``; ``curve_`` are programs of other budgets with the accuracy on rows that were kept back;
    ``dropped_`` are the constant columns.
    """

    def fit(
        self,
        X: Any,  # noqa: N803
        y: Any,
        *,
        names: Sequence[str] | None = None,
        watch: Watch | None = None,
    ) -> SkinnyClassifier:
        """Fit the rows ``X`` with the classes ``y``. ``names`` are those of the columns, ``watch`` is told what is
        done, and how much of all."""
        rows, targets = _validated(self, X, y, dtype=np.float64)
        check_classification_targets(targets)
        self.classes_, numbers = np.unique(targets, return_inverse=True)
        count = len(self.classes_)
        if count < 2:
            raise InputError(f"the rows have 1 class, {self.classes_[0]}: there is nothing to tell apart")
        if count == 2:
            task, outputs = "sign", ["y"]
        else:
            task, outputs = "classes", plain_names([f"y_{label}" for label in self.classes_])
        self._learn(rows, numbers, task, outputs, "class", names, watch)
        return self

    def decision_function(self, X: Any) -> Array:  # noqa: N803
        """The outputs that argmax decides on, as logits: one for each class, or one alone for two classes."""
        outputs = self._outputs(X) / self._factor
        return outputs[:, 0] if outputs.shape[1] == 1 else outputs

    def predict(self, X: Any) -> Array:  # noqa: N803
        """The class of each row, bit for bit as the core decides."""
        return self._decided(self._outputs(X))

    def _decided(self, outputs: Array) -> Array:
        numbers = (outputs[:, 0] > 0).astype(int) if outputs.shape[1] == 1 else outputs.argmax(axis=1)
        return np.asarray(self.classes_[numbers])

    def float_score(self, X: Any, y: Any) -> float:  # noqa: N803
        """The accuracy of the program before it was put into words."""
        return float((self._decided(self.float_outputs(X)) == np.asarray(y)).mean())

    def predict_proba(self, X: Any) -> Array:  # noqa: N803
        """The probability of each class: softmax of the outputs."""
        outputs = self._outputs(X) / self._factor
        if outputs.shape[1] == 1:
            outputs = np.concatenate([np.zeros_like(outputs), outputs], axis=1)
        powers = np.exp(outputs - outputs.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))


class SkinnyRegressor(RegressorMixin, _SkinnyEstimator):  # type: ignore[misc]
    """Numbers from a program of at most ``budget`` cycles; parameters and attributes are those of
    :class:`SkinnyClassifier`, ``curve_`` has R²."""

    def fit(
        self,
        X: Any,  # noqa: N803
        y: Any,
        *,
        names: Sequence[str] | None = None,
        watch: Watch | None = None,
    ) -> SkinnyRegressor:
        """Fit the rows ``X`` with the numbers ``y``, one or several a row; ``names`` and ``watch`` are as for
        classes."""
        rows, targets = _validated(self, X, y, dtype=np.float64, y_numeric=True, multi_output=True)
        if len(rows) < 2:
            raise InputError("1 sample is not enough: a program is fitted to 2 rows or more")
        self._single = targets.ndim == 1
        targets = targets.reshape(len(rows), -1).astype(np.float64)
        outputs = ["y"] if targets.shape[1] == 1 else [f"y{k}" for k in range(targets.shape[1])]
        self._learn(rows, targets, "numbers", outputs, "", names, watch)
        return self

    def predict(self, X: Any) -> Array:  # noqa: N803
        """The numbers of each row, bit for bit as the core computes them."""
        outputs = self._outputs(X)
        return outputs[:, 0] if self._single else outputs

    def float_score(self, X: Any, y: Any) -> float:  # noqa: N803
        """R² of the program before it was put into words."""
        outputs = self.float_outputs(X)
        return float(r2_score(y, outputs[:, 0] if self._single else outputs))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags


def _validated(estimator: Any, rows: Any, *targets: Any, **options: Any) -> Any:
    """What scikit-learn makes of rows and targets; why it refuses them is said in one line that names the place."""
    try:
        return validate_data(estimator, rows, *targets, **options)
    except ValueError as error:
        raise InputError(_no_number(rows) or " ".join(str(error).split())) from None


def _no_number(rows: Any) -> str:
    """Where the first value is that is no finite number, and what it is."""
    try:
        table = np.asarray(rows, dtype=object)
    except ValueError:
        return ""
    for row, column in np.ndindex(table.shape) if table.ndim == 2 else ():
        value = table[row, column]
        where = f"row {row + 1}, column {column + 1}"
        try:
            number = float(value)
        except (TypeError, ValueError):
            return f"{where}: {value[:40]!r} is no number" if isinstance(value, str) else ""
        if np.isnan(number):
            return f"{where}: the value is missing (NaN)"
        if np.isinf(number):
            return f"{where}: {value} is no finite number"
    return ""


def _ring(given: Any) -> FixedPoint:
    """``fixed:BITS`` with all bits but two behind the point, which the scales of a learned program use best."""
    text = str(given)
    if re.fullmatch("fixed:[0-9]{1,2}", text):
        text += f".{max(0, int(text[6:]) - 2)}"
    ring = as_ring(text)
    if not isinstance(ring, FixedPoint):
        raise InputError(f"learned programs run in fixed:BITS or fixed:BITS.FRAC, not in {shown(given)}")
    return ring


def plain_names(given: Sequence[str]) -> list[str]:
    """Names that programs can have, all different: ``sepal length (cm)`` becomes ``sepal_length_cm``."""
    out: dict[str, None] = {}
    for name in given:
        plain = re.sub("[^A-Za-z_0-9]+", "_", name).strip("_") or "x"
        if not PLAIN.fullmatch(plain) or re.fullmatch("[RS][0-9]*", plain):
            plain = f"x_{plain}"
        number, wanted = 2, plain
        while wanted in out:
            wanted, number = f"{plain}_{number}", number + 1
        out[wanted] = None
    return list(out)
