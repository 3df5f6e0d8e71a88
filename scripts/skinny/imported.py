"""Programs of trained models: they take rows as the model does and give its labels or numbers."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from skinny.model.compiler.goal import expect_width, parse_keep
from skinny.model.errors import InputError, PrecisionWarning
from skinny.model.frontends.calibration import Calibration
from skinny.model.frontends.choose import choose_format
from skinny.model.frontends.find import import_model
from skinny.model.frontends.imported import Imported
from skinny.model.frontends.measure import decided, measure_layers, scores
from skinny.model.frontends.retrain import retrained, with_values
from skinny.model.frontends.scale import Scaled
from skinny.model.frontends.settable import Slots, compile_settable, refilled
from skinny.model.frontends.smooth import Activations, find_activations, has_functions, smoothed
from skinny.model.frontends.windowed import windowed
from skinny.model.program.probabilities import probabilities as made_probabilities
from skinny.model.program.program import MOST_WIDTH
from skinny.model.program.program import Program as ModelProgram
from skinny.model.program.units import Units
from skinny.model.rings import FixedPoint, Number, Ring
from skinny.model.run.precision import Precision

from .answers import watched_run
from .program import Program
from .report import Report, stage
from .values import as_box, as_elements, as_number, as_whole, shown

__all__ = ["ImportedProgram", "compile_model"]

#: The error of the polynomials of activations, if none is given.
ACTIVATION_ERROR = Fraction(1, 100)


def compile_model(
    imported: Imported,
    *,
    width: int | None = None,
    keep: str | None = None,
    ring: Any = None,
    calibration: Any = None,
    box: Any = None,
    error: Number | None = None,
    probabilities: bool = False,
) -> ImportedProgram:
    """The program of a trained model; :func:`skinny.compile` explains the options."""
    if probabilities:
        imported = _with_probabilities(imported)
    width = MOST_WIDTH if width is None else width
    expect_width(width)
    promises = frozenset(parse_keep("none" if keep is None else keep))
    bent = next((layer.name for layer in imported.layers if any(value.kind == "relu" for value in layer.values)), "")
    if bent and promises:
        raise InputError(f"{bent}: a relu is neither linear nor reversible: compile it with keep='none' (--keep none)")
    known = _calibration(imported, calibration, box)
    allowed = None if error is None else as_number(error, "error")
    if allowed is not None and allowed <= 0:
        raise InputError(f"error must be above zero, not {error}")
    if allowed is not None and imported.argmax and not has_functions(imported):
        raise InputError(
            f"{imported.title}: it sends the number of a class, in which no error can be: leave error out, or ask for "
            "probabilities=True (--probabilities)"
        )
    activations: Activations = {}
    source = imported
    if has_functions(imported):
        if known is None:
            raise InputError(
                f"{imported.title}: its activations become polynomials on the range that they are used on: give "
                "calibration=rows, such as those it was fitted on, or box=(LO, HI) (--calibration FILE.csv, --box)"
            )
        part = allowed or ACTIVATION_ERROR
        activations = find_activations(source, known.ranges, part, known.margin)
        imported = smoothed(source, activations)
        if allowed is not None and not source.classes:  # half of the error for the polynomials, half for the format
            allowed /= 2
            columns = known.drawn().columns
            wanted = scores(source, columns)
            while np.abs(scores(imported, columns) - wanted).max() > allowed:
                part /= 2
                activations = find_activations(source, known.ranges, part, known.margin)
                imported = smoothed(source, activations)
    if ring is None:
        idle = set(imported.idle)
        read = [name for name in imported.inputs if name not in idle]
        compiled, slots = compile_settable(imported.outputs, read, width, promises)
        program = replace(
            compiled.program,
            title=imported.title,
            argmax=imported.argmax,
            probabilities="" if imported.argmax else imported.probabilities,
            settable=True,
        )
        return ImportedProgram(program, imported, Origin(source, slots, None, activations, promises, {}))
    if known is None:
        raise InputError(
            f"ring={ring!r} needs to know the inputs: give calibration=rows, such as those it was fitted on, or "
            "box=(LO, HI) (--calibration FILE.csv, --box)"
        )
    bits, frac = _format(ring)
    chosen = choose_format(imported, width, promises, known, bits=bits, frac=frac, error=allowed)
    return ImportedProgram(
        chosen.compilation.program,
        imported,
        Origin(source, chosen.slots, chosen.scaled, activations, promises, chosen.tried),
    )


def _with_probabilities(imported: Imported) -> Imported:
    """A classifier that sends the scores of all classes, which the host makes probabilities of."""
    _expect_probabilities(imported)
    names = ["probability"] if len(imported.outputs) == 1 else [f"probability{n}" for n in range(len(imported.outputs))]
    return replace(imported, argmax="", outputs=dict(zip(names, imported.outputs.values(), strict=True)))


def _expect_probabilities(imported: Imported) -> None:
    if not imported.classes:
        raise InputError(f"{imported.title}: it is no classifier, so that it has no probabilities")
    if not imported.probabilities:
        raise InputError(
            f"{imported.title}: it gives scores, but no probabilities of classes; LogisticRegression, discriminants, "
            "GaussianNB and MLPClassifier do, and networks that end with a Softmax or a Sigmoid"
        )


def _format(ring: Any) -> tuple[int | None, int | None]:
    """The bits and the fraction bits that a ring leaves no choice of."""
    found = re.fullmatch(r"fixed(?::([0-9]{1,3})(?:\.([0-9]{1,3}))?)?", ring) if isinstance(ring, str) else None
    if found is None:
        raise InputError(f"a model is compiled for fixed, fixed:BITS or fixed:BITS.FRAC, not {shown(ring)}")
    bits, frac = (None if part is None else int(part) for part in found.groups())
    if bits is not None:
        FixedPoint(bits, frac or 0)
    return bits, frac


def _calibration(imported: Imported, rows: Any, box: Any) -> Calibration | None:
    """What is known of the inputs that are read; None if nothing is."""
    if rows is None and box is None:
        return None
    read = imported.read
    columns: dict[str, Any] = {}
    if rows is not None:
        values = _matrix(rows, imported.inputs)
        columns = {name: values[:, place] for place, name in enumerate(imported.inputs) if name in read}
    sides: dict[str, tuple[Fraction, Fraction]] = {}
    if box is not None:
        given = as_box(box, imported.inputs)
        sides = {name: ends for name, ends in zip(imported.inputs, given, strict=True) if name in read}
    return Calibration(columns, sides)


def _warn(precision: Precision) -> None:
    """Warn of what the caller of a prediction must know: rows that wrap or leave the box."""
    said = replace(precision, zero=(), changed=(), rounded=0).line
    if said:
        warnings.warn(said, PrecisionWarning, stacklevel=3)


def _matrix(rows: Any, inputs: tuple[str, ...]) -> Any:
    """Rows of all inputs of a model, as floats."""
    if isinstance(rows, Mapping):
        rows = np.stack([np.asarray(rows[name], dtype=np.float64) for name in inputs], axis=1)
    values = np.asarray(rows.to_numpy() if hasattr(rows, "to_numpy") else rows, dtype=np.float64)
    values = values.reshape(len(values), -1) if values.ndim > 2 else values  # images
    if values.ndim != 2 or values.shape[1] != len(inputs) or not len(values):
        raise InputError(f"rows must have the shape (rows, {len(inputs)}), not {values.shape}")
    if not np.isfinite(values).all():
        raise InputError("rows must be finite numbers")
    return values


class Origin(NamedTuple):
    """How a program came from its model, the ``source``: the constants that its weights are, the powers of two that
    were folded into them, if there is a format, the polynomials of its activations, the promises that it keeps, and the
    formats that were tried."""

    source: Imported
    slots: Slots | None
    scaled: Scaled | None
    activations: Activations
    keep: frozenset[str]
    tried: Mapping[str, float]


class ImportedProgram(Program):
    """The program of a trained model. ``imported`` is the model as formulas.

    Where values of inputs are wanted, rows may have all columns of the model, of which those that cannot matter are
    left out. The ring is by default ``real``, unless the program was compiled for another one.
    """

    __slots__ = ("imported", "origin")

    def __init__(self, model: ModelProgram, imported: Imported, origin: Origin) -> None:
        super().__init__(model)
        self.imported = imported
        self.origin = origin

    @property
    def notes(self) -> tuple[str, ...]:
        """What was dropped or replaced, in lines."""
        idle = self.imported.idle
        said = f"inputs that cannot matter and take no cycle: {', '.join(idle)}" if idle else ""
        return (*self.imported.notes, *([said] if said else []))

    @property
    def classes(self) -> tuple[Any, ...]:
        """The labels of a classifier, by the number that the program sends."""
        return self.imported.classes

    @property
    def tried(self) -> dict[str, float]:
        """The formats that were tried, with the number of rows that they decide otherwise than floats, and of rows
        between them above one in 256; for numbers the largest error, in parts of what is allowed."""
        return dict(self.origin.tried)

    @property
    def cycles(self) -> int:
        """Program words of a run, those that send the outputs included."""
        return self.model.words + self.model.emits

    def predict(self, rows: Any, ring: str | Ring | None = None) -> Any:
        """What the model predicts for ``rows``, an array: labels of a classifier, numbers of a regressor, a column for
        each output if there are several. Rows that wrap or leave the box are a
        :exc:`~skinny.model.errors.PrecisionWarning`."""
        ring = self._ring(ring, "exact")
        units = Units(self.model, ring)
        given, _ = as_elements(self._given(rows), units)
        found, precision = watched_run(self.model, ring, given)
        _warn(precision)
        return self.decoded(units.decode_columns(found))

    def predict_proba(self, rows: Any, ring: str | Ring | None = None) -> Any:
        """The probabilities of all classes for ``rows``, of shape ``(rows, classes)``: the program computes scores, and
        the softmax or sigmoid is left to the host. Where the program sends the number of the class alone
        (``probabilities=True`` was not said when it was compiled), it says here what it would send without that, and
        its format was chosen for the decisions, not for these."""
        _expect_probabilities(self.imported)
        ring = self._ring(ring, "exact")
        model = replace(self.model, argmax="", probabilities=self.imported.probabilities)
        units = Units(model, ring)
        given, _ = as_elements(self._given(rows), units)
        found, precision = watched_run(model, ring, given)
        _warn(precision)
        columns = np.array(list(units.decode_columns(found).values()), dtype=np.float64).T
        return np.hstack([1 - columns, columns]) if columns.shape[1] == 1 else columns

    def decoded(self, results: Mapping[str, list[Number]]) -> Any:
        """Results by name as the model gives its predictions."""
        columns = np.array(list(results.values()), dtype=np.float64).T
        if not self.classes:
            return columns[:, 0] if columns.shape[1] == 1 else columns
        if self.model.argmax:
            return self._labels(columns[:, 0].astype(np.int64))
        return self._labels(decided(columns - 0.5 if columns.shape[1] == 1 else columns))

    def _labels(self, numbers: Any) -> Any:
        return np.array(self.classes)[numbers]

    def report(
        self,
        rows: Any,
        labels: Any = None,
        ring: str | Ring | None = None,
        *,
        rtl: bool = True,
        simulator: str | None = None,
        threads: int | None = None,
    ) -> Report:
        """The accuracy in floats, in fixed point and on the simulated core on ``rows``, whose right answers are the
        ``labels``, and the range and the error of each layer. ``rtl=False`` leaves out the simulation, which compares
        the core in every cycle. Without a format there are floats only."""
        values = _matrix(rows, self.imported.inputs)
        right = None if labels is None else np.asarray(labels)
        if right is not None and len(right) != len(values):
            raise InputError(f"there are {len(values)} rows and {len(right)} labels")
        chosen = self._ring(ring, "exact")
        classifier = self.imported.kind == "classifier"
        own = {name: values[:, place] for place, name in enumerate(self.imported.inputs)}
        values_in_floats = scores(self.origin.source, own)
        if classifier:
            floats = self._labels(decided(values_in_floats))
        else:
            numbers = made_probabilities(self.imported.probabilities, values_in_floats)
            floats = numbers[:, 0] if numbers.shape[1] == 1 else numbers
        found = {"floats": floats}
        if self.origin.activations:
            found["polynomials"] = self.predict(values, "real")
        if isinstance(chosen, FixedPoint):
            found[chosen.name] = self.predict(values, chosen)
            if rtl:
                with warnings.catch_warnings():  # said by the prediction
                    warnings.simplefilter("ignore", PrecisionWarning)
                    done = self.simulate(values, chosen, simulator=simulator, threads=threads)
                found["RTL"] = self.decoded(done["results"])
        facts = {
            "model": self.imported.title,
            "kind": self.imported.kind,
            "rows": len(values),
            "ring": chosen.name if isinstance(chosen, FixedPoint) else None,
            "cycles": self.cycles,
            "registers": self.width,
            "notes": list(self.notes),
        }
        scaled = self.origin.scaled if self.model.ring == chosen.name else None
        columns = {name: own[name] for name in self.inputs}
        layers = measure_layers(self.imported, columns, scaled, chosen if isinstance(chosen, FixedPoint) else None)
        stages = [stage(name, got, floats, right, classifier) for name, got in found.items()]
        return Report(facts, stages, layers)

    def set_weights(self, model: Any) -> ImportedProgram:
        """The same program with the weights of ``model``, which was trained again and has the same shape. Instructions
        and scales stay as they are, so a core that holds this program needs new words in its weight memory alone."""
        again = import_model(model)
        if again is None:
            raise InputError(f"set_weights takes a trained model, not {shown(model)}")
        _, slots, scaled, activations, keep, _ = self.origin
        if again.argmax and not self.model.argmax:
            again = _with_probabilities(again)
        source = again
        if activations:
            again = smoothed(again, activations)
        imported, scaled = with_values(self.imported, scaled, retrained(self.imported, again))
        before, after = (self.imported, imported) if scaled is None else (self.origin.scaled, scaled)
        assert before is not None
        program = refilled(self.model, slots, before.outputs, after.outputs, keep, after.layers)
        named = replace(imported, classes=again.classes, title=again.title)
        return ImportedProgram(
            replace(program, title=again.title), named, Origin(source, slots, scaled, activations, keep, {})
        )

    def windowed(self, hop: int = 1) -> Program:
        """The same program on streams (docs/streams.md): the inputs of the model, in the order of time with the oldest
        first, are the newest words of a stream, of which ``hop`` arrive each sample."""
        return Program(windowed(self.model, self.imported.inputs, as_whole(hop, "hop")))

    def _ring(self, given: str | Ring | None, default: str | None = None) -> Ring:
        return super()._ring(given, "real" if default == "exact" else default)

    def _given(self, inputs: Any) -> Any:
        """``inputs`` of the program, from those of the model."""
        names = self.imported.inputs
        if isinstance(inputs, Mapping):
            unknown = next((name for name in inputs if name not in names), None)
            if unknown is not None:
                raise InputError(f"inputs: the model has no input {unknown!r}")
            return {name: value for name, value in inputs.items() if name in self.inputs}
        if hasattr(inputs, "columns"):  # a DataFrame, whose names are those of the model before they became plain
            inputs = inputs.to_numpy()
        values = np.asarray(inputs) if isinstance(inputs, list | tuple | np.ndarray) else None
        if values is not None and values.ndim > 2:  # images
            values = values.reshape(len(values), -1)
        if values is None or not values.ndim or values.shape[-1] != len(names):
            return inputs
        return values[..., [names.index(name) for name in self.inputs]]
