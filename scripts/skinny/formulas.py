"""``skinny.compile``: formulas and trained models, in all the ways in which Python gives them, become programs."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from skinny.model.errors import InputError
from skinny.model.formula.definitions import Definitions, StateFormula
from skinny.model.formula.formula import Formula, formula_text
from skinny.model.formula.parse import parse_definitions
from skinny.model.frontends.find import import_formulas, import_model
from skinny.model.program.program import CONTRACTS, MOST_WIDTH
from skinny.model.rings import Number

from .compiling import (
    LONGEST_TITLE,
    WIDTH,
    as_precision,
    box_names,
    compile_definitions,
    expect_own_ring,
    finished,
)
from .extras import needs_extra
from .program import Program
from .values import as_box, as_list, as_number, as_whole, expect_choice, listed, shown

__all__ = ["compile"]


@needs_extra("onnx")
def compile(
    formula: Any,
    *,
    contract: str = "clean",
    width: int | None = None,
    attention: bool = True,
    without: str | Collection[str] = (),
    start: Sequence[int] | None = None,
    self_check: bool = False,
    ring: str | None = None,
    box: Any = None,
    error: Number | None = None,
    scale: str = "none",
    keep: str | None = None,
    argmax: str = "",
    inputs: str | Sequence[str] = (),
    states: Mapping[str, tuple[Number, str | Formula]] | None = None,
    calibration: Any = None,
    probabilities: bool = False,
    keep_zeros: bool = False,
) -> Program:
    """Compile a formula or a trained model to a program and prove the result.

    ``formula`` is text as ``skinny compile`` takes it (``"y0 = a*b; y1 = a + b"``), a :class:`Formula`, which becomes
    the output ``y``, a list of them, which become ``y0``, ``y1`` and so on, or a dict with a text or a :class:`Formula`
    for each output. ``without`` names passes that are
    switched off. With ``ring`` (``"fixed:16"`` or ``"fixed:16.8"``) and ``box``, one pair of numbers or a dict of
    pairs by input, the program is the shortest that is proven precise enough. ``keep`` are the promises of the program
    (``"linear"``, ``"reversible"``, both or ``"none"``), ``width`` is the most registers it may use, and with
    ``argmax`` it sends the number of its largest output alone, under that name.
    ``inputs`` names all inputs in the order of an input vector (``"x0 x1 x2"`` or a list); those that the program does
    not read are left out of it. ``states`` are those of a dict of formulas, ``{"s": (0, s + x)}``: the value before the
    first sample of a stream, and the formula of the next one (docs/streams.md). A formula keeps all promises, on three
    registers, unless it is asked otherwise.
    ``skinny compile --help`` explains the other options.

    In place of a formula, an estimator of scikit-learn or of Skinny, alone or behind scalers, or a network in ONNX (the
    path of its ``.onnx`` file, or what ``onnx.load`` gives), gives an :class:`ImportedProgram` (docs/models.md). It
    keeps no promise and uses as many registers as it needs, unless it is asked otherwise. ``calibration`` are rows by
    which a format is chosen. With ``probabilities`` a classifier sends the scores of all classes, of which the host
    makes probabilities, and with ``keep_zeros`` weights that are zero stay, so that ``set_weights`` can change them.

    A :class:`~skinny.Machine` gives the program of its resolvent. Circuits (the path of a ``.blif`` file), sum-product
    networks (a ``.json`` file), expressions of SymPy, product layers and graphs of constituents are compiled like
    formulas, but keep no promise and use as many registers as they need, unless asked otherwise (docs/frontends.md).
    """
    imported = import_model(formula, keep_zeros=bool(keep_zeros))
    if imported is not None:
        from .imported import compile_model

        formulas_only = {
            "contract": contract != "clean",
            "attention": not attention,
            "without": bool(without),
            "start": start is not None,
            "self_check": bool(self_check),
            "scale": scale != "none",
            "argmax": bool(argmax),
            "inputs": bool(inputs),
            "states": bool(states),
        }
        for option, given in formulas_only.items():
            if given:
                raise InputError(f"{option} is about formulas: a trained model is compiled without it")
        return compile_model(
            imported,
            width=None if width is None else as_whole(width, "width"),
            keep=keep,
            ring=ring,
            calibration=calibration,
            box=box,
            error=error,
            probabilities=bool(probabilities),
        )
    models_only = {
        "calibration": calibration is not None,
        "probabilities": bool(probabilities),
        "keep_zeros": bool(keep_zeros),
    }
    for option, is_given in models_only.items():
        if is_given:
            raise InputError(f"{option} is about trained models: a formula is compiled without it")
    width = None if width is None else as_whole(width, "width")
    written = import_formulas(formula)
    if written is None:
        definitions, title = _definitions(formula, {} if states is None else states)
    elif written.program is not None:
        options = (
            contract != "clean",
            width,
            not attention,
            without,
            start,
            self_check,
            ring,
            box,
            error,
            keep,
            argmax,
        )
        if any(options) or scale != "none" or inputs or states:
            raise InputError("a machine is a program: it goes without options; compile(machine.formulas()) takes them")
        return Program(replace(written.program, title=written.title))
    else:
        if states:
            raise InputError(f"states are about formulas: {written.title} is compiled without them")
        expect_own_ring(written, ring)
        definitions, title = written.definitions, written.title
        if not definitions.streaming:
            inputs = inputs or written.inputs
        if ring is None:
            width, keep = width or MOST_WIDTH, keep or "none"
    expect_choice(contract, CONTRACTS, "contract")
    precision = None
    if ring is not None:
        names = box_names(definitions)
        if not isinstance(ring, str):
            raise InputError(f"ring must be text like 'fixed:16' here, not {shown(ring)}")
        if box is None and names:
            raise InputError("box is missing: a format is chosen for inputs in a box, like box=(-1, 1)")
        ranges = dict(zip(names, as_box(box, names), strict=True)) if names else {}
        precision = as_precision(ring, ranges, None if error is None else as_number(error, "error"), scale)
    elif box is not None or error is not None or scale != "none":
        raise InputError("box, error and scale are about a format: ring='fixed:BITS' is missing")
    _, program = compile_definitions(
        definitions,
        title,
        contract=contract,
        width=width,
        attention=bool(attention),
        without=_pass_names(without),
        start=None if start is None else _whole_start(start, WIDTH if width is None else width),
        self_check=bool(self_check),
        precision=precision,
        keep="linear,reversible" if keep is None else keep,
        argmax=argmax,
        inputs=inputs.split() if isinstance(inputs, str) else [str(name) for name in inputs],
    )
    return Program(program if written is None else finished(program, written)[0])


def _definitions(given: Any, states: Any) -> tuple[Definitions, str]:
    """What was given as formulas, and the title of the program."""
    if isinstance(given, str):
        if states:
            raise InputError("states are part of the text of a formula: 'state s = 0; next s = …'")
        return parse_definitions(given), given
    if isinstance(given, Formula):
        given = {"y": given}
    if isinstance(given, list | tuple):
        given = {f"y{number}": formula for number, formula in enumerate(given)}
    if not isinstance(given, Mapping):
        raise InputError(f"a formula must be a text, a Formula, or a list or a dict of them, not {shown(given)}")
    if not given:
        raise InputError("the formula is empty")
    outputs = {}
    for name, formula in given.items():
        if not isinstance(name, str):
            raise InputError(f"the name of an output must be a text, not {shown(name)}")
        outputs[name] = _output(name, formula)
    if not isinstance(states, Mapping):
        raise InputError(f"states must be a dict of pairs, a number and a formula, not {shown(states)}")
    steps = [_state(name, pair) for name, pair in states.items()]
    texts = [(f"state {step.name} = {step.start}; next {step.name}", step.next) for step in steps]
    title = "; ".join(
        f"{name} = {formula_text(formula, LONGEST_TITLE)}" for name, formula in [*texts, *outputs.items()]
    )
    return Definitions.of(outputs, steps), title


def _state(name: Any, pair: Any) -> StateFormula:
    if not (isinstance(name, str) and re.fullmatch("[A-Za-z_][A-Za-z_0-9]*", name)):
        raise InputError(f"the name of a state must be a text like 's', not {shown(name)}")
    values = as_list(pair, f"state {name!r}")
    if len(values) != 2:
        raise InputError(f"state {name!r}: expected its first value and the formula of the next one, not {shown(pair)}")
    return StateFormula(name, as_number(values[0], f"state {name!r}"), _output(name, values[1]))


def _output(name: str, given: Any) -> Formula:
    if isinstance(given, Formula):
        return given
    if isinstance(given, int | float | Fraction | np.number):
        return Formula("constant", value=as_number(given, f"output {name!r}"))
    if not isinstance(given, str):
        raise InputError(f"output {name!r}: a formula must be a text or a Formula, not {shown(given)}")
    try:
        found = parse_definitions(given)
        if found.states:
            raise InputError("states of formulas in a dict are given as states=")
        parsed = found.outputs
    except InputError as error:
        raise InputError(f"output {name!r}: {error}") from None
    if list(parsed) not in (["y"], [name]):
        raise InputError(f"output {name!r}: the text must be one formula, not those of {listed(list(parsed))}")
    return next(iter(parsed.values()))


def _pass_names(given: Any) -> frozenset[str]:
    names = given.split(",") if isinstance(given, str) else given
    if not isinstance(names, Collection) or not all(isinstance(name, str) for name in names):
        raise InputError(f"without must be a list of names of passes, not {shown(given)}")
    return frozenset(names)


def _whole_start(given: Any, width: int) -> tuple[int, ...]:
    values = as_list(given, "start")
    if len(values) != width:
        raise InputError(f"start must have {width} values, not {len(values)}")
    exact = [as_number(value, "start") for value in values]
    if any(value.denominator != 1 for value in exact):
        raise InputError(f"the values of start must be integers, not {shown(given)}")
    return tuple(value.numerator for value in exact)
