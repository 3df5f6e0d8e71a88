"""Waveforms: the registers of one inference, or of the samples of a stream, as a value change dump (IEEE 1364), for
GTKWave and others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from skinny.model.errors import InputError
from skinny.model.files import write_file
from skinny.model.program.program import Program
from skinny.model.rings import Array, Ring

__all__ = ["write_vcd"]


def write_vcd(target: str | Path | IO[str], program: Program, ring: Ring, trace: Array) -> None:
    """Write ``trace``, the elements of one inference in the shape ``(steps + 1, width)``, to a file or to a path. Of
    several samples of a stream the shape is ``(samples, steps + 1, width)``, and they follow each other.

    Time is the step: at time ``t``, ``pc`` is ``t`` and ``R0, R1, …`` are the registers after ``t`` instructions. For
    samples ``pc`` begins again with each, and there is ``sample``, their number from 0.
    A register is a vector of the ring's bits, two's complement where the ring has signs; a real number where the
    ring has no hardware. A path is written under a temporary name first, so it is complete or not there.
    """
    if trace.ndim not in (2, 3) or trace.shape[-2:] != (len(program) + 1, program.width):
        raise InputError(f"the trace must have the shape ({len(program) + 1}, {program.width}), not {trace.shape}")
    if isinstance(target, str | Path):
        write_file(target, lambda file: file.writelines(line.encode("ascii") for line in _lines(program, ring, trace)))
    else:
        target.writelines(_lines(program, ring, trace))


def _lines(program: Program, ring: Ring, trace: Array) -> Iterator[str]:
    counter_bits = max(1, len(program).bit_length())
    samples = trace if trace.ndim == 3 else trace[None]
    sample_bits = max(1, (len(samples) - 1).bit_length())
    marks = [_mark(number) for number in range(program.width + 2)]
    yield f"$version skinny $end\n$comment {ring.name} $end\n$timescale 1 ns $end\n$scope module program $end\n"
    yield f"$var wire {counter_bits} {marks[0]} pc{_range(counter_bits)} $end\n"
    if trace.ndim == 3:
        yield f"$var wire {sample_bits} {marks[-1]} sample{_range(sample_bits)} $end\n"
    for register, mark in enumerate(marks[1:-1]):
        if ring.bits:
            yield f"$var wire {ring.bits} {mark} R{register}{_range(ring.bits)} $end\n"
        else:
            yield f"$var real 64 {mark} R{register} $end\n"
    yield "$upscope $end\n$enddefinitions $end\n"
    before: list[Any] = [None] * program.width
    for step, row in enumerate(samples.reshape(-1, program.width)):
        sample, pc = divmod(step, len(program) + 1)
        yield f"#{step}\n"
        if step == 0:
            yield "$dumpvars\n"
        yield _change(counter_bits, pc, marks[0])
        if trace.ndim == 3 and pc == 0:
            yield _change(sample_bits, sample, marks[-1])
        values = row.tolist()
        for mark, old, new in zip(marks[1:-1], before, values, strict=True):
            if old is None or new != old:
                yield _change(ring.bits, new, mark)
        if step == 0:
            yield "$end\n"
        before = values


def _mark(number: int) -> str:
    """A short identifier of printable characters."""
    out = chr(33 + number % 94)
    while number >= 94:
        number //= 94
        out += chr(33 + number % 94)
    return out


def _range(bits: int) -> str:
    return f" [{bits - 1}:0]" if bits > 1 else ""


def _change(bits: int, value: Any, mark: str) -> str:
    if bits == 1:
        return f"{value & 1}{mark}\n"
    if bits:
        return f"b{value & ((1 << bits) - 1):b} {mark}\n"
    try:
        return f"r{float(value):.17g} {mark}\n"
    except OverflowError:  # a rational beyond the floats
        return f"r{'-' if value < 0 else ''}inf {mark}\n"
