"""Streams: definitions with states and earlier samples to a program whose run is one sample.

Without states the words of a window are inputs like others, and the program is that of :mod:`.pipeline`. With states a
graph of values holds them in registers of their own (:mod:`.graph.states`). Either program is proven as a stream:
several samples in a row, from random old states.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Set
from dataclasses import replace
from fractions import Fraction

from skinny.model.bounds.bounds import bound
from skinny.model.bounds.box import window_box
from skinny.model.errors import CheckError, InputError
from skinny.model.formula.definitions import Definitions
from skinny.model.formula.formula import facts, operations
from skinny.model.limits import check, current, watched
from skinny.model.program.forms import renumbered
from skinny.model.program.program import MOST_WIDTH, Program
from skinny.model.program.streams import State
from skinny.model.rings import FixedPoint, exact_number

from .goal import Ends, Precision
from .graph.build import NotLinearError
from .graph.shortest import shortest
from .graph.states import homes
from .pipeline import Compilation, expect_relu_allowed, given_constants
from .prove import prove_stream

__all__ = ["compile_states", "in_format", "in_window"]


def compile_states(definitions: Definitions, *, width: int, keep: Set[str]) -> Compilation:
    """Compile definitions with states to a program of at most ``width`` registers that keeps the promises ``keep``."""
    if not 3 <= width <= MOST_WIDTH:
        raise InputError(f"the width must be 3 to {MOST_WIDTH}, not {width}")
    outputs = definitions.outputs
    states = {state.name: state.next for state in definitions.states}
    registers = homes(len(states))
    if registers[-1] >= width:
        raise InputError(f"{len(states)} states and the one need {len(states) + 1} registers: --width allows more")
    roots = (*outputs.values(), *states.values())
    expect_relu_allowed(roots, keep)
    began = time.perf_counter()
    with watched("compiling"):
        written = operations(*roots)
        given = given_constants(written)
        try:
            program = shortest(outputs, written, keep, width, given, current().length, states, definitions.inputs)
        except NotLinearError:
            raise InputError(
                "values that depend on states are multiplied, which is not linear: --keep reversible or none allows it"
            ) from None
        if program is None:
            raise InputError(f"the stream does not fit {width} registers: --width allows more")
        start: list[int | Fraction] = list(program.start)
        for register, state in zip(registers, definitions.states, strict=True):
            start[register] = int(state.start) if state.start.denominator == 1 else state.start
        program = replace(
            program,
            start=tuple(start),
            state=tuple(State(name, register) for name, register in zip(states, registers, strict=True)),
            window=definitions.window,
            hop=definitions.hop,
        )
        checked = prove_stream(program, definitions, written)
    return Compilation(
        program=program,
        steps=[("graph", len(program), program.words)],
        facts=facts(*roots, known_operations=written),
        predicted=len(program),
        checked=checked,
        seconds=time.perf_counter() - began,
    )


def in_window(program: Program, definitions: Definitions, ranges: Mapping[str, Ends]) -> Program:
    """The program of definitions without states, whose inputs are then the words of a window. A word keeps its scale
    while it is there, and its range, if the words of a sample have ``ranges``."""
    names = definitions.inputs
    scales = dict.fromkeys(definitions.samples, 0)
    for name, exponent in zip(program.inputs, program.input_scales, strict=True):
        scales[_word(name)] = exponent
    forms = renumbered(program.forms, [names.index(name) for name in program.inputs], range(len(program.weights)))
    return replace(
        program,
        inputs=names,
        forms=tuple(forms),
        input_scales=tuple(scales[_word(name)] for name in names),
        box=tuple(ranges[_word(name)] for name in names) if ranges else None,
        window=definitions.window,
        hop=definitions.hop,
    )


def in_format(compiled: Compilation, definitions: Definitions, precision: Precision) -> Compilation:
    """The program for fixed point, which is proven safe and precise enough there. There is nothing to choose from but
    the fraction bits."""
    if precision.scale:
        raise InputError("states have no scales so far: scale the formulas yourself, without --scale auto")
    program, bits = compiled.program, precision.bits
    box = window_box(program, [precision.box[name] for name in definitions.samples])
    reason = ""
    for frac in range(bits - 1, -1, -1) if precision.frac is None else (precision.frac,):
        check()
        ring = FixedPoint(bits, frac)
        try:
            found = bound(program, ring, box)
        except InputError as problem:  # a weight or an end of the box needs more bits before the binary point
            if precision.frac is not None:
                raise
            reason = reason or str(problem)
            continue
        error = max(found.errors.values())
        if found.safe and (precision.error is None or error <= precision.error):
            sides = tuple((exact_number(low), exact_number(high)) for low, high in box)
            return replace(compiled, program=replace(program, ring=ring.name, box=sides), errors=found.errors)
        if found.reason:
            reason = found.reason
        elif found.safe:
            reason = f"with {frac} fraction bits the error may be {error:.3g}"
            break  # fewer fraction bits are coarser
        else:
            reason = f"with {frac} fraction bits a value may not fit the word"
    asked = f"fixed:{bits}" + ("" if precision.frac is None else f".{precision.frac}")
    wanted = "" if precision.error is None else f" with an error of at most {float(precision.error):.3g}"
    raise CheckError(f"the stream is not proven safe{wanted} in {asked} on this box: {reason}")


def _word(name: str) -> str:
    """The word of a sample that ``name`` is, now or earlier."""
    return name.partition("[")[0]
