"""The units of work of a sweep: each is plain data, and its result, plain data too, follows from that alone.

A ``program`` is compiled from a formula or learned from a table. An ``estimate`` or a ``synthesis`` of it says what a
core costs and how fast it is. So a unit can run anywhere, its key is a hash of its content, and a result that is known
need not be found again. What cannot be done gives a result with its ``reason``.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Mapping
from fractions import Fraction
from importlib.metadata import version
from typing import Any

from skinny.model.errors import CheckError, InputError, ToolError
from skinny.model.formula.parse import parse_definitions
from skinny.model.limits import Limits
from skinny.model.machine.cycles import cycles_per_inference
from skinny.model.parallel.image import ImageOptions
from skinny.model.program.text import dumps, loads
from skinny.model.program.units import Units
from skinny.model.rings import parse_ring

from .answers import SEEDS
from .compiling import as_precision, compile_definitions
from .extras import DISTRIBUTION
from .table import parse_table, split

__all__ = ["QUALITIES", "finished", "unit_key"]

Unit = Mapping[str, Any]
Result = dict[str, Any]

#: What a program can be judged by, and whether more of it is better.
QUALITIES = {"accuracy": True, "r2": True, "error": False}


def unit_key(unit: Unit) -> str:
    """The hash of the content of ``unit``, and of the version that works on it."""
    text = json.dumps([version(DISTRIBUTION), unit], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def finished(unit: Unit, limits: Limits) -> Result:
    """The result of ``unit``, found within the ``limits``. What is raised is not about the unit."""
    kinds: dict[str, Callable[..., Result]] = {
        "formula": _compiled,
        "table": _learned,
        "estimate": _estimated,
        "synthesis": _synthesised,
    }
    try:
        with limits.applied(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # rows outside the box of the training data are a matter of `skinny learn`
            return kinds[unit["kind"]](**{name: value for name, value in unit.items() if name != "kind"})
    except ToolError:
        raise  # the design is not the reason
    except (InputError, CheckError) as error:
        return {"reason": str(error)}


def _compiled(
    text: str, ring: str, width: int, box: Mapping[str, tuple[str, str]] | None, error: str | None, keep: str
) -> Result:
    """A formula as a program; with a box proven safe in the ring, and judged by its proven error."""
    definitions = parse_definitions(text)
    precision = None
    if box is not None:
        ranges = {name: (Fraction(low), Fraction(high)) for name, (low, high) in box.items()}
        precision = as_precision(ring, ranges, None if error is None else Fraction(error), "auto")
    compiled, program = compile_definitions(
        definitions,
        text,
        contract="clean",
        width=width,
        attention=True,
        without=(),
        start=None,
        self_check=False,
        precision=precision,
        keep=keep,
    )
    judged = {} if precision is None else {"error": max(compiled.errors.values())}
    return {"program": dumps(program), "format": program.ring or parse_ring(ring).name, "quality": judged}


def _learned(text: str, target: str, ring: str, width: int, budget: int, effort: float) -> Result:
    """A program of at most ``budget`` cycles, judged on a quarter of the rows that it has not seen."""
    # Loaded here, because formulas need no scikit-learn.
    from .estimators import SkinnyClassifier, SkinnyRegressor

    table = parse_table(text, target, "the table")
    inside, tested = split(table, 0)
    kind = SkinnyClassifier if table.classes else SkinnyRegressor
    estimator = kind(budget, ring, width=width, curve=(), effort=effort)
    estimator.fit(table.rows[inside], table.targets[inside], names=table.names)
    program = estimator.program_.model
    score = float(estimator.score(table.rows[tested], table.targets[tested]))
    judged = {"accuracy" if table.classes else "r2": score}
    return {"program": dumps(program), "format": program.ring, "quality": judged}


def _estimated(**unit: Any) -> Result:
    """A core by formulas; where there are none, its cycles and the reason."""
    from skinny.sim.fpga.estimate import NoEstimateError, estimate_report

    image, device = _image(**unit)
    try:
        return _figures(estimate_report(image, device, device.family.target, rom=False))
    except NoEstimateError as error:
        return {"cycles": cycles_per_inference(image), "reason": str(error)}


def _synthesised(**unit: Any) -> Result:
    """A core by synthesis, place and route, as ``skinny fpga`` does it, but for the simulation of the netlist."""
    from skinny.sim.fpga.report import Design, implement

    return _figures(implement(Design(*_image(**unit)), range(1, SEEDS + 1)).as_dict())


def _image(program: str, format: str, threads: int, registers: str, device: str) -> tuple[Any, Any]:
    from skinny.sim.fpga.devices import find_device
    from skinny.sim.fpga.expected import image_for

    model, ring, chip = loads(program), parse_ring(format), find_device(device)
    Units(model, ring)  # refuses a ring that has no scales
    options = ImageOptions(threads=threads, registers=registers)
    return image_for(chip, model, ring, options, target=chip.family.target), chip


def _figures(answer: Mapping[str, Any]) -> Result:
    return {
        "cycles": answer["cycles_per_inference"],
        "lut": answer["core"]["lut4"],
        "cells": answer["core"]["cells"],
        "mhz": answer["mhz"]["effective"],
        "inferences_per_second": answer["inferences_per_second"],
    }
