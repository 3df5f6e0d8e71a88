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

import numpy as np
from skinny.model.bounds.bounds import bound
from skinny.model.bounds.box import Box, window_box
from skinny.model.errors import CheckError, InputError
from skinny.model.formula.definitions import Definitions
from skinny.model.formula.formula import facts, operations
from skinny.model.limits import check, current, watched
from skinny.model.program.forms import renumbered
from skinny.model.program.program import Program
from skinny.model.program.streams import State
from skinny.model.program.units import scaled
from skinny.model.rings import FixedPoint, exact_number

from .goal import Ends, Precision, expect_width
from .graph.build import NotLinearError
from .graph.shortest import shortest
from .graph.states import homes
from .passes.rescale import exponent
from .pipeline import Compilation, expect_relu_allowed, given_constants
from .prove import prove_stream
from .stream_scale import UNSCALED, StreamScales, scaled_definitions

__all__ = ["compile_states", "in_format", "in_scales", "in_window"]

#: A format in which the values of a stream are found that is scaled by its inputs.
WIDE = FixedPoint(32, 16)
#: So many scales are tried: with no bit above the largest value, as weights may need none, with one, …
HEADROOM = 4


def compile_states(
    definitions: Definitions, *, width: int, keep: Set[str], scales: StreamScales = UNSCALED
) -> Compilation:
    """Compile definitions with states to a program of at most ``width`` registers that keeps the promises ``keep``,
    for samples and values that are divided by ``scales``."""
    expect_width(width)
    divided = scaled_definitions(definitions, scales)
    states = {state.name: state.next for state in divided.states}
    registers = homes(len(states))
    if registers[-1] >= width:
        raise InputError(f"{len(states)} states and the one need {len(states) + 1} registers: --width allows more")
    roots = (*divided.outputs.values(), *states.values())
    expect_relu_allowed(roots, keep)
    began = time.perf_counter()
    with watched("compiling"):
        written = operations(*roots)
        given = given_constants(written)
        try:
            length = current().length
            program = shortest(divided.outputs, written, keep, width, given, length, states, definitions.inputs)
        except NotLinearError:
            raise InputError(
                "values that depend on states are multiplied, which is not linear: --keep reversible or none allows it"
            ) from None
        if program is None:
            raise InputError(f"the stream does not fit {width} registers: --width allows more")
        start: list[int | Fraction] = list(program.start)
        for register, state in zip(registers, divided.states, strict=True):
            start[register] = int(state.start) if state.start.denominator == 1 else state.start
        program = replace(
            program,
            start=tuple(start),
            state=tuple(State(name, register) for name, register in zip(states, registers, strict=True)),
            window=definitions.window,
            hop=definitions.hop,
            input_scales=tuple(scales.inputs.get(_word(name), 0) for name in program.inputs),
            outputs=tuple(output._replace(scale=scales.common) for output in program.outputs),
        )
        checked = prove_stream(program, definitions, scales.common)
    return Compilation(
        program=program,
        steps=[("graph", len(program), program.words)],
        facts=facts(*definitions.outputs.values(), *(state.next for state in definitions.states)),
        predicted=len(program),
        checked=checked,
        seconds=time.perf_counter() - began,
    )


def in_window(program: Program, definitions: Definitions, ranges: Mapping[str, Ends]) -> Program:
    """The program of definitions without states, whose inputs are then the words of a window. A word keeps its scale
    while it is there, and its range, if the words of a sample have ``ranges``."""
    names = definitions.inputs
    scales = dict.fromkeys(definitions.samples, 0)
    for name, e in zip(program.inputs, program.input_scales, strict=True):
        scales[_word(name)] = e
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
    program, bits = compiled.program, precision.bits
    sides, box = _ranges(program, definitions, precision)
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
        errors = {output.name: found.errors[output.name] * 2.0**output.scale for output in program.outputs}
        error = max(errors.values())
        if found.safe and (precision.error is None or error <= precision.error):
            program = replace(program, ring=ring.name, box=sides)
            return replace(compiled, program=program, errors=errors)
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


def in_scales(definitions: Definitions, precision: Precision, *, width: int, keep: Set[str]) -> Compilation:
    """The same with scales: of several that use the bits of a word, those with the least error or, if an error is
    asked for, those with the fewest cycles."""
    inputs = {name: exponent(max(-low, high)) for name, (low, high) in precision.box.items()}
    first = StreamScales(inputs, max(inputs.values(), default=0))
    compiled = compile_states(definitions, width=width, keep=keep, scales=first)
    largest = _largest(compiled.program, definitions, precision)
    if largest is None:
        return in_format(compiled, definitions, precision)
    found, refused = [], None
    for headroom in range(HEADROOM):
        scales = first._replace(common=first.common + exponent(largest) - headroom)
        compiled = compile_states(definitions, width=width, keep=keep, scales=scales)
        try:
            found.append(in_format(compiled, definitions, precision))
        except (CheckError, InputError) as error:
            refused = refused or error
    if not found:
        assert refused is not None
        raise refused

    def costs(one: Compilation) -> tuple[float, float]:
        words, error = one.program.words, max(one.errors.values())
        return (error, words) if precision.error is None else (words, error)

    return min(found, key=costs)


def _largest(program: Program, definitions: Definitions, precision: Precision) -> Fraction | None:
    """The largest value that a register is given, as far as there is a bound."""
    _, box = _ranges(program, definitions, precision)
    try:
        found = bound(program, WIDE, box)
    except InputError:
        return None
    largest = max(np.abs(found.low).max(), np.abs(found.high).max())
    return Fraction(float(largest)) if np.isfinite(largest) else None


def _ranges(program: Program, definitions: Definitions, precision: Precision) -> tuple[tuple[Ends, ...], Box]:
    """The ranges of the inputs in the user's units, and as the core gets them."""
    given = window_box(program, [precision.box[name] for name in definitions.samples])
    sides = tuple((exact_number(low), exact_number(high)) for low, high in given)
    scales = program.input_scales
    return sides, [(scaled(low, -e), scaled(high, -e)) for (low, high), e in zip(sides, scales, strict=True)]


def _word(name: str) -> str:
    """The word of a sample that ``name`` is, now or earlier."""
    return name.partition("[")[0]
