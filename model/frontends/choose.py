"""Choose: the narrowest fixed-point format in which a model decides as in floats.

Precondition: a model without functions, and rows, a box or both. Postcondition: the program, scaled, in the first
format whose decisions are those of floats on all rows (for numbers and probabilities: whose error is within the asked
one), in which no row wraps, and which is proven safe on the box if there is one. Unless bits are asked for, few of the
rows between others may be decided otherwise. Cost: the compiler once or twice, and a golden run of the rows for each
format that is tried.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from skinny.model.bounds.bounds import bound
from skinny.model.compiler.pipeline import Compilation
from skinny.model.compiler.prove import prove
from skinny.model.errors import CheckError, InputError
from skinny.model.formula.formula import operations, postorder
from skinny.model.limits import check, tell, watched
from skinny.model.program.probabilities import probabilities
from skinny.model.program.program import MOST_SCALE, Program
from skinny.model.program.units import scaled as times
from skinny.model.rings import FixedPoint
from skinny.model.run.golden import run

from .calibration import Calibration
from .imported import Imported
from .layers import overflowing_layer, wrapping_layer
from .measure import decided
from .ranges import Floats, Range, row_values
from .scale import Room, Scaled, scale_model
from .settable import Slots, compile_settable, constant_nodes, same_shape

__all__ = ["Chosen", "choose_format"]

#: The formats that are tried when none is given: bits, and bits in front of the binary point but the sign. A register
#: reads as one, so that there is at least one.
NARROWEST, WIDEST = 8, 24
INTEGER = (1, 2, 3, 4)
#: Outputs are divided by this power of two at most so that weights fit that the compiler made of several constants.
MOST_LIFT = 6
#: Rows on which a format must do first.
FIRST_ROWS = 128
#: The part of the rows between others that may be decided otherwise. A model is surer of the rows that it was fitted on
#: than of others, and between the classes it is not sure at all: what mostly decides there as floats do decides so on
#: other rows too.
LOOSE = 1 / 256
#: Without an asked error a regressor may err by this part of the range of its output, and a probability by as much.
ERROR = 0.01


@dataclass(frozen=True)
class Chosen:
    """The program, compiled for its format; ``tried`` are formats with the rows that they decide otherwise (for numbers
    and probabilities the largest error, over the allowed one)."""

    compilation: Compilation
    slots: Slots | None
    scaled: Scaled
    tried: dict[str, float]


class _Candidate(NamedTuple):
    """A scaled program; it has a format for every number of bits."""

    integer: int
    scaled: Scaled
    compilation: Compilation
    slots: Slots | None


def choose_format(
    imported: Imported,
    width: int,
    keep: Set[str],
    calibration: Calibration,
    *,
    bits: int | None = None,
    frac: int | None = None,
    error: Fraction | None = None,
) -> Chosen:
    """The program of ``imported`` in the narrowest format, or in one of ``bits`` (and ``frac``)."""
    calibration = calibration.drawn()
    tell("finding the ranges of the layers")
    ranges = calibration.ranges(list(imported.outputs.values()))
    candidates = _candidates(imported, ranges, calibration.margin, width, keep, bits, frac)
    judge = _Judge(imported, calibration, error, between=bits is None)
    tried: dict[str, float] = {}
    with watched("choosing the format"):
        for size in range(NARROWEST, WIDEST + 1) if bits is None else (bits,):
            tell(f"trying formats of {size} bits on {len(judge.wanted):,} rows")
            best: tuple[float, _Candidate] | None = None
            for candidate in candidates:
                check()
                if size - 1 - candidate.integer < 0:
                    continue
                ring = FixedPoint(size, size - 1 - candidate.integer)
                found = judge.misses(candidate.compilation.program, ring)
                tried[ring.name] = found
                if judge.granted(found) and (best is None or found < best[0]) and judge.safe(candidate, ring):
                    best = found, candidate
            if best is not None:
                return _finished(best[1], size, calibration, tried)
    raise judge.refusal(tried, candidates, WIDEST if bits is None else bits)


def _candidates(
    imported: Imported,
    ranges: Mapping[int, Range],
    margin: float,
    width: int,
    keep: Set[str],
    bits: int | None,
    frac: int | None,
) -> list[_Candidate]:
    """Scaled programs; those that differ in their constants alone are compiled once."""
    multiplied = any(_multiplies(node.kind, len(node.args)) for node in postorder(*imported.outputs.values()))
    known = imported.read
    read = [name for name in imported.inputs if name in known]
    integers: Sequence[int] = INTEGER
    if bits is not None and frac is not None:
        integers = (bits - 1 - frac,)
        if frac == bits - 1:
            raise InputError(f"fixed:{bits}.{frac} does not hold one, which a register starts with: take .{frac - 1}")
    out: list[_Candidate] = []
    rooms = [Room(integer, integer // 2 if multiplied else integer) for integer in reversed(integers)]
    while rooms:
        room = rooms.pop()
        tell(f"scaling with {room.integer} bits in front of the binary point")
        scaled = scale_model(imported, ranges, margin, room)
        exponents = (*scaled.input_exponents.values(), *scaled.output_exponents.values())
        if max(map(abs, exponents), default=0) > MOST_SCALE:  # powers of what does not stay below one grow on and on
            continue
        first = next((found for found in out if same_shape(found.scaled.outputs, scaled.outputs)), None)
        if first is not None and first.slots is not None:
            values = [node.value for node in constant_nodes(scaled.outputs)]
            compilation = replace(first.compilation, program=first.slots.filled(first.compilation.program, values))
            slots: Slots | None = first.slots
        else:
            compilation, slots = compile_settable(scaled.outputs, read, width, keep)
        program = compilation.program
        widest = max((abs(weight) for weight in program.weights), default=Fraction(0))
        if widest >= 1 << room.integer and room.lift < MOST_LIFT:
            rooms.append(room._replace(lift=room.lift + 1))
            continue
        program = replace(
            program,
            argmax=imported.argmax,
            probabilities="" if imported.argmax else imported.probabilities,
            settable=True,
            title=imported.title,
            input_scales=tuple(scaled.input_exponents[name] for name in program.inputs),
            outputs=tuple(output._replace(scale=scaled.output_exponents[output.name]) for output in program.outputs),
        )
        out.append(_Candidate(room.integer, scaled, replace(compilation, program=program), slots))
    if not out:
        raise CheckError(
            f"{imported.title}: its powers need scales of more than 2^{MOST_SCALE} with so few bits in front of the "
            "binary point; give fixed:BITS without fraction bits"
        )
    return out


def _multiplies(kind: str, count: int) -> bool:
    """Whether a node multiplies values with each other, as far as can be told of it alone."""
    return kind == "power" or (kind == "product" and count > 2)


def _finished(candidate: _Candidate, bits: int, calibration: Calibration, tried: dict[str, float]) -> Chosen:
    """The program with its format and box, compared with the scaled formulas once more."""
    program = candidate.compilation.program
    outputs = candidate.scaled.outputs
    bare = replace(program, input_scales=(), outputs=tuple(output._replace(scale=0) for output in program.outputs))
    checked = prove(bare, outputs, operations(*outputs.values()))
    box = calibration.box or {
        name: (Fraction(float(column.min())), Fraction(float(column.max())))
        for name, column in calibration.columns.items()
    }
    program = replace(
        program,
        ring=f"fixed:{bits}.{bits - 1 - candidate.integer}",
        box=tuple(box[name] for name in program.inputs),
    )
    compilation = replace(candidate.compilation, program=program, checked=checked)
    return Chosen(compilation, candidate.slots, candidate.scaled, tried)


class _Judge:
    """What floats say of the rows, and whether a format says the same."""

    def __init__(self, imported: Imported, calibration: Calibration, error: Fraction | None, *, between: bool) -> None:
        self.imported = imported
        self.calibration = calibration
        outputs = list(imported.outputs.values())
        self.wanted = np.stack(row_values(calibration.columns, outputs), axis=1)
        self.probabilities = "" if imported.argmax else imported.probabilities
        self.numbers = probabilities(self.probabilities, self.wanted)
        spread = np.ptp(self.numbers, axis=0)
        given = error if error is not None or not self.probabilities else ERROR
        self.allowed = (
            np.where(spread > 0, ERROR * spread, ERROR) if given is None else np.full(len(spread), float(given))
        )
        self.unsafe: dict[int, str] = {}
        self.between = calibration.between(decided(self.wanted)) if between and imported.argmax else None

    def misses(self, program: Program, ring: FixedPoint) -> float:
        """Rows that are decided otherwise or wrap, and those between them above :data:`LOOSE`; for numbers the largest
        error over the allowed one, for probabilities at least two where a row is decided otherwise. Infinite when a
        weight does not fit."""
        elements = _elements(program, ring, self.calibration)
        first = slice(0, FIRST_ROWS)
        try:
            found = self._missed(program, ring, elements[first], self.wanted[first])
        except InputError:
            return float("inf")
        if self.granted(found) and len(elements) > FIRST_ROWS:
            found = self._missed(program, ring, elements, self.wanted)
        if self.granted(found) and self.between is not None:
            wanted = np.stack(row_values(self.between.columns, list(self.imported.outputs.values())), axis=1)
            loose = self._missed(program, ring, _elements(program, ring, self.between), wanted)
            found += max(0.0, loose - LOOSE * len(wanted))
        return found

    def _missed(self, program: Program, ring: FixedPoint, elements: NDArray[np.int64], wanted: Floats) -> float:
        done = run(program, ring, elements, watched=True)
        assert done.wrapped is not None
        if self.imported.argmax:
            return float(np.count_nonzero((done.outputs[:, 0] != decided(wanted)) | done.wrapped))
        if done.wrapped.any():
            return float("inf")
        scales = [output.scale - ring.frac for output in program.outputs]
        found = np.ldexp(done.outputs.astype(np.float64), np.array(scales))
        numbers = probabilities(self.probabilities, wanted)
        missed = float((np.abs(probabilities(self.probabilities, found) - numbers) / self.allowed).max())
        otherwise = self.imported.classes and (decided(found) != decided(wanted)).any()
        return max(missed, 2.0) if otherwise else missed

    def granted(self, found: float) -> bool:
        return found == 0 if self.imported.argmax else found <= 1

    def safe(self, candidate: _Candidate, ring: FixedPoint) -> bool:
        """Whether the program is proven safe on the box, if there is one."""
        if not self.calibration.box:
            return True
        program = candidate.compilation.program
        box = [
            (times(low, -exponent), times(high, -exponent))
            for exponent, (low, high) in zip(
                program.input_scales, (self.calibration.box[name] for name in program.inputs), strict=True
            )
        ]
        found = bound(program, ring, box)
        if found.overflow is not None:
            self.unsafe[ring.bits] = overflowing_layer(program, candidate.scaled, found.overflow)
        return found.safe

    def refusal(self, tried: dict[str, float], candidates: Sequence[_Candidate], bits: int) -> CheckError:
        """Why no format was taken."""
        if bits in self.unsafe:
            return CheckError(
                f"{self.imported.title}: no format of {bits} bits is proven safe on the box: {self.unsafe[bits]} may "
                "overflow; allow more bits, or take a smaller box"
            )
        name = min((name for name in tried if name.startswith(f"fixed:{bits}.")), key=lambda name: tried[name])
        rows = len(self.wanted)
        candidate = next(found for found in candidates if name == f"fixed:{bits}.{bits - 1 - found.integer}")
        program, ring = candidate.compilation.program, FixedPoint(bits, bits - 1 - candidate.integer)
        where = wrapping_layer(program, ring, candidate.scaled, _elements(program, ring, self.calibration))
        why = f"; {where} wraps" if where else ""
        if not self.imported.argmax:
            other = ", or decides a row otherwise than floats" if self.imported.classes else ""
            return CheckError(
                f"{self.imported.title}: {name} comes nearest and errs by {tried[name]:.3g} times what is allowed "
                f"({float(self.allowed.max()):.3g}){other}{why}; allow a larger error or more bits"
            )
        counted = f", or of those between them more than one in {1 / LOOSE:.0f}" if self.between else ""
        return CheckError(
            f"{self.imported.title}: {name} comes nearest and decides {tried[name]:,.0f} of {rows:,} rows otherwise "
            f"than floats{counted}{why}; allow more bits, or leave out rows whose two best scores are nearly equal"
        )


def _elements(program: Program, ring: FixedPoint, rows: Calibration) -> NDArray[np.int64]:
    """Rows as elements; scales are powers of two, so that nothing is rounded but the word."""
    columns = [
        np.floor(np.ldexp(rows.columns[name], ring.frac - exponent) + 0.5)
        for name, exponent in zip(program.inputs, program.input_scales, strict=True)
    ]
    count = len(next(iter(rows.columns.values()), np.zeros(1)))
    return np.stack(columns, axis=1).astype(np.int64) if columns else np.empty((count, 0), dtype=np.int64)
