"""The golden run: the results and the traces of a program, bit for bit, on whole batches.

Registers are rows of packed values with the batch as last axis, so an instruction is two numpy calls in place. Long
batches are cut into blocks whose registers stay in the processor's cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np
from skinny.model.errors import InputError
from skinny.model.program.forms import Input, Linear, Weight
from skinny.model.program.program import Mode, Program
from skinny.model.rings import Array, FixedPoint, Ring

from .watch import Watch

__all__ = [
    "Run",
    "decide",
    "matrices",
    "product",
    "run",
    "scalars",
    "trace",
    "trace_chunks",
    "tree_product",
    "word",
]

#: Bytes of one register in a block: registers, scratch and some scalars together fit a second-level cache.
BLOCK = 1 << 17
#: Bytes of scalars that are kept for their next use.
KEPT = 1 << 26
#: Instructions whose columns are Python lists at one time.
LISTED = 1 << 14


#: ``(dst, src, sign, form, mode)``.
Instruction = tuple[int, int, int, int, int]


class Scalars(Protocol):
    """The value of the form ``number`` when the registers are ``registers``."""

    def __call__(self, number: int, registers: Sequence[Array] = ..., /) -> Array: ...


class Run(NamedTuple):
    """The elements after a run: ``outputs``, which it sends, of shape ``(batch, results)``, and the ``registers`` after
    the last instruction, of shape ``(batch, width)``. ``wrapped`` marks the rows in which a value that was read had
    wrapped; it is None unless the run was watched."""

    outputs: Array
    registers: Array
    wrapped: Array | None = None


def word(ring: Ring, element: Any) -> Array:
    """One packed word with ``element`` in every inference; it broadcasts over packed values."""
    return ring.constant(element, ring.inferences_per_word)


def scalars(program: Program, ring: Ring, packed: Array, weights: Array | None = None) -> Scalars:
    """A function from the number of a form, and the registers that it may read, to its value, for ``packed`` inputs of
    shape ``(inputs, words)``.

    Each product of a linear form is rounded by the ring, sums wrap. Values are made when they are asked for, and those
    used last are kept, within a bounded memory, but for what a form adds from registers; a weight is one word that
    broadcasts. ``weights`` are the quantised weights, if the caller has them.
    """
    elements = program.quantise(ring) if weights is None else weights
    zero = word(ring, ring.embed(0))
    weight = lru_cache(KEPT >> 10)(lambda k: word(ring, elements[k]))

    def value(number: int) -> Array:
        match program.forms[number]:
            case Input(u):
                row: Array = packed[u]
                return row
            case Weight(k):
                return weight(k)
            case Linear(terms, bias):
                out = np.repeat(zero, packed.shape[1])
                scratch = np.empty_like(out)
                for k, u in terms:
                    ring.accumulate(out, weight(k), packed[u], 1, scratch)
                return out if bias is None else ring.add(out, weight(bias))

    kept: Callable[[int], Array] = lru_cache(max(8, KEPT // max(1 << 10, packed.shape[1] * packed.itemsize)))(value)
    sums = {number: program.forms[number].sums for number in program.summing}  # type: ignore[union-attr]

    def now(number: int, registers: Sequence[Array] = ()) -> Array:
        if number not in sums:
            return kept(number)
        out = kept(number).copy()
        scratch = np.empty_like(out)
        for factor, register in sums[number]:
            scalar = packed[factor.u] if isinstance(factor, Input) else weight(factor.k)
            ring.accumulate(out, scalar, registers[register], 1, scratch)
        return out

    return now if sums else lambda number, _=(): kept(number)


def assign(ring: Ring, rows: Sequence[Array], scalar: Array, instruction: Instruction, scratch: Array) -> None:
    """An instruction that assigns, with or without relu; ``scratch`` takes the product before its sign counts."""
    dst, src, sign, _, mode = instruction
    fresh = np.repeat(word(ring, ring.embed(0)), len(scratch))
    ring.accumulate(fresh, scalar, rows[src], sign, scratch)
    if mode == Mode.RELU:
        ring.relu(fresh)
    rows[dst][...] = fresh


def decide(program: Program, ring: Ring, outputs: Array) -> Array:
    """The elements that a run sends, from those of the outputs, of shape ``(batch, outputs)``: with argmax the number
    of the largest, the first of equals, of a single output whether it is above zero. The number is a bare word,
    whatever a ring takes its words for."""
    if not program.argmax:
        return outputs
    chosen = outputs > 0 if outputs.shape[1] == 1 else np.argmax(outputs, axis=1)[:, None]
    return chosen.astype(np.int64).astype(ring.element_dtype)


def packed_inputs(program: Program, ring: Ring, inputs: Array) -> Array:
    """``inputs`` of shape ``(batch, inputs)`` packed, of shape ``(inputs, words)``."""
    if inputs.ndim != 2 or inputs.shape[1] != len(program.inputs):
        raise InputError(f"the inputs must have the shape (batch, {len(program.inputs)}), not {inputs.shape}")
    expect_elements("inputs", inputs, ring)
    return ring.pack(inputs.T)


def packed_start(program: Program, ring: Ring, batch: int, start: Array | None = None) -> Array:
    """The registers before the first instruction, packed anew, of shape ``(width, words)``: the program's start
    vector, or ``start`` of shape ``(width,)`` or ``(batch, width)``."""
    if start is None:
        start = np.empty(program.width, dtype=ring.element_dtype)
        for register, number in enumerate(program.start):
            try:
                start[register] = ring.encode(number)
            except InputError as error:
                raise InputError(f"start of register {register}: {error}") from None
    if start.shape not in ((program.width,), (batch, program.width)):
        raise InputError(
            f"the start must have the shape ({program.width},) or ({batch}, {program.width}), not {start.shape}"
        )
    expect_elements("start", start, ring)
    return ring.pack(np.broadcast_to(start, (batch, program.width)).T).copy()


def expect_elements(what: str, given: Array, ring: Ring) -> None:
    """Raise :exc:`InputError` unless what was ``given`` are elements of ``ring``."""
    if not np.can_cast(given.dtype, ring.element_dtype, "safe"):
        raise InputError(f"the {what} must be elements of {ring.name} ({ring.element_dtype}), not {given.dtype}")


def instructions(program: Program, first: int, end: int) -> Iterator[Instruction]:
    """``(dst, src, sign, form, mode)`` of each instruction from ``first`` up to ``end``."""
    for at in range(first, end, LISTED):
        part = slice(at, min(at + LISTED, end))
        yield from zip(*(column[part].tolist() for column in program.code.arrays()), strict=True)


def backwards(program: Program, first: int, end: int) -> Iterator[Instruction]:
    """The instructions from ``first`` up to ``end``, the last of them first."""
    for at in range(end, first, -LISTED):
        part = slice(max(first, at - LISTED), at)
        yield from zip(*(column[part][::-1].tolist() for column in program.code.arrays()), strict=True)


def run(program: Program, ring: Ring, inputs: Array, start: Array | None = None, *, watched: bool = False) -> Run:
    """Run ``program`` on a batch of elements ``inputs``, shape ``(batch, inputs)`` (see :meth:`Ring.encode_all`).

    ``start`` takes the place of the program's start vector, also where it restarts; one for all inferences or one
    for each. A restart is carried out when something follows it, so ``registers`` are those that the last output
    was taken from or later.

    A ``watched`` run says which rows wrapped, in about twice the time; rings other than fixed point never do.
    """
    program.expect_no_stream("a single run needs")
    batch = len(inputs)
    packed = packed_inputs(program, ring, inputs)
    begin = packed_start(program, ring, batch, start)
    return run_packed(program, ring, packed, begin, batch, program.quantise(ring), watched=watched)


def run_packed(
    program: Program, ring: Ring, packed: Array, begin: Array, batch: int, weights: Array, *, watched: bool = False
) -> Run:
    """The same from the ``packed`` inputs of ``batch`` inferences, the packed registers ``begin`` and the quantised
    ``weights``. A run of a stream program is one sample: a restart spares the registers that keep state."""
    registers = begin.copy()
    sent = np.empty((len(program.outputs), registers.shape[1]), dtype=registers.dtype)
    words = BLOCK // registers.itemsize
    wrapped = np.zeros(batch, dtype=np.bool_) if watched else None
    for first in range(0, registers.shape[1], words):
        block = slice(first, first + words)
        value = scalars(program, ring, packed[:, block], weights)
        rows = list(registers[:, block])
        watch = None
        if wrapped is not None and isinstance(ring, FixedPoint):
            watch = Watch(program, ring, weights, packed[:, block], rows, wrapped[block])
        _run_block(program, ring, value, begin[:, block], rows, sent[:, block], watch)
    outputs = decide(program, ring, ring.unpack(sent, batch).T)
    return Run(outputs, ring.unpack(registers, batch).T, wrapped)


def _run_block(
    program: Program,
    ring: Ring,
    value: Scalars,
    begin: Array,
    rows: list[Array],
    sent: Array,
    watch: Watch | None,
) -> None:
    scratch = np.empty_like(rows[0])
    accumulate = ring.accumulate
    at = 0
    restart = False
    kept = {register for _, register in program.state}
    stops = [(output.at, output.restart) for output in program.outputs]
    if program.outputs[-1].at < len(program):
        stops.append((len(program), False))
    for number, (stop, restarts) in enumerate(stops):
        if restart:
            for register, (row, first) in enumerate(zip(rows, begin, strict=True)):
                if register not in kept:
                    row[...] = first
            if watch is not None:
                watch.restart(begin)
        for instruction in instructions(program, at, stop):
            dst, src, sign, form, mode = instruction
            scalar = value(form, rows)
            if watch is not None:
                watch.use(form, scalar)
                watch.read(src)
            if mode == Mode.ADD:
                accumulate(rows[dst], scalar, rows[src], sign, scratch)
            else:
                assign(ring, rows, scalar, instruction, scratch)
            if watch is not None:
                watch.write(dst, sign, mode, scratch)  # accumulate leaves the product there
        if number < len(sent):
            register = program.outputs[number].register
            sent[number] = rows[register]
            if watch is not None:
                watch.read(register)
        at, restart = stop, restarts


def trace_chunks(
    program: Program, ring: Ring, inputs: Array, start: Array | None = None, chunk: int = 4096
) -> Iterator[tuple[int, Array]]:
    """The trace in pieces ``(first step, registers)`` of at most ``chunk`` steps, registers of shape
    ``(steps, batch, width)``. Step 0 is the start, step ``t`` the registers after ``t`` instructions; where the
    program restarts, those from which the outputs were sent. Of a stream program it is one sample: ``inputs`` are the
    words of its window, and ``start`` holds its states."""
    if not chunk >= 1:
        raise InputError(f"a piece of a trace must have at least 1 step, not {chunk}")
    batch = len(inputs)
    value = scalars(program, ring, packed_inputs(program, ring, inputs))
    begin = packed_start(program, ring, batch, start)
    registers = begin.copy()
    scratch = np.empty_like(registers[0])
    restarts = {output.at for output in program.outputs if output.restart}
    kept = {register for _, register in program.state}
    restarted = [register for register in range(program.width) if register not in kept]
    steps = instructions(program, 0, len(program))
    for first in range(0, len(program) + 1, chunk):
        seen = np.empty((min(chunk, len(program) + 1 - first), *registers.shape), dtype=registers.dtype)
        for step in range(first, first + len(seen)):
            if step > 0:
                if step - 1 in restarts:
                    registers[restarted] = begin[restarted]
                instruction = dst, src, sign, form, mode = next(steps)
                scalar = value(form, registers)  # type: ignore[arg-type]
                if mode == Mode.ADD:
                    ring.accumulate(registers[dst], scalar, registers[src], sign, scratch)
                else:
                    assign(ring, registers, scalar, instruction, scratch)  # type: ignore[arg-type]
            seen[step - first] = registers
        yield first, ring.unpack(seen, batch).swapaxes(1, 2)


def trace(program: Program, ring: Ring, inputs: Array, start: Array | None = None) -> Array:
    """Registers before the first and after every instruction: elements of shape ``(steps + 1, batch, width)``."""
    out = np.empty((len(program) + 1, len(inputs), program.width), dtype=ring.element_dtype)
    for first, piece in trace_chunks(program, ring, inputs, start):
        out[first : first + len(piece)] = piece
    return out


def matrices(program: Program, ring: Ring, x: Array) -> Array:
    """The instructions for one input vector as elements of shape ``(length, width, width)``: the row vector of
    registers takes ``r <- r·M``, ``M = I ± s·E[src, dst]``; where an instruction assigns, the identity has no entry
    for its ``dst``."""
    if program.has_restart:
        raise InputError("a program that restarts between outputs is no matrix product; take its parts")
    program.expect_linear("matrices need")
    code = program.code
    value = scalars(program, ring, packed_inputs(program, ring, x[None]))
    used, place = np.unique(code.form, return_inverse=True)
    plus = np.empty((len(used), 1), dtype=ring.packed_dtype)
    for row, number in enumerate(used.tolist()):
        plus[row] = value(number)
    minus = ring.sub(np.broadcast_to(word(ring, ring.embed(0)), plus.shape), plus)
    out = np.full((len(code), program.width, program.width), ring.embed(0), dtype=ring.element_dtype)
    diagonal = np.arange(program.width)
    out[:, diagonal, diagonal] = ring.encode(1)
    assigns = np.flatnonzero(code.mode != Mode.ADD)
    out[assigns, code.dst[assigns], code.dst[assigns]] = ring.embed(0)
    entries = np.where((code.sign > 0)[:, None], plus[place], minus[place])
    out[np.arange(len(code)), code.src, code.dst] = ring.unpack(entries, 1)[:, 0]
    return out


def _multiply(ring: Ring, a: Array, b: Array) -> Array:
    """Matrix products of packed values, shape ``(…, width, width, words)``."""
    out = ring.mul(a[..., :, 0, None, :], b[..., 0, None, :, :])
    for k in range(1, a.shape[-2]):
        out = ring.add(out, ring.mul(a[..., :, k, None, :], b[..., k, None, :, :]))
    return out


def _identity(ring: Ring, width: int) -> Array:
    out = np.full((width, width), ring.embed(0), dtype=ring.element_dtype)
    np.fill_diagonal(out, ring.encode(1))
    return out


def product(ring: Ring, factors: Array) -> Array:
    """The product of matrices of elements ``(length, width, width)``, one after the other. Over a true ring the
    start vector times it is exactly the run; where products are rounded it is only near."""
    total = ring.pack(_identity(ring, factors.shape[-1])[..., None])
    for factor in ring.pack(factors[..., None]):
        total = _multiply(ring, total, factor)
    return ring.unpack(total, 1)[..., 0]


def tree_product(ring: Ring, factors: Array) -> Array:
    """The product of :func:`product`, multiplied as a balanced tree: neighbours in pairs, all pairs of a level at
    once."""
    if len(factors) == 0:
        return _identity(ring, factors.shape[-1])
    level = ring.pack(factors[..., None])
    while len(level) > 1:
        paired = len(level) // 2 * 2
        level = np.concatenate([_multiply(ring, level[0:paired:2], level[1:paired:2]), level[paired:]])
    return ring.unpack(level[0], 1)[..., 0]
