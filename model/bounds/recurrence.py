"""The recurrence of a stream program: each value of a sample as an affine function of state, inputs and roundings.

A program whose products all have a constant factor maps the state before a sample, and the inputs, to everything it
computes by an affine function. The program is run once on *forms*: sums of symbols with rational weights, where a
symbol is a state register, an input or a rounding.
Two forms are kept for each value: that of the actual value, with the weights as they are rounded, and that of the exact
value, which has no roundings. Nothing is lost on the way.

A rounded product is a function of its factors, so products of equal factors share their rounding, and it cancels where
a program takes a product away again.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import floor
from typing import NamedTuple

from skinny.model.program.columns import Mode
from skinny.model.program.forms import Input, Linear, Weight
from skinny.model.program.program import Output

from .case import Case
from .registers import MANY_ZEROS

__all__ = ["ONE", "Affine", "Read", "Recurrence", "find_recurrence"]

#: A sum: the weight of each symbol.
Affine = dict[int, Fraction]
#: The symbol of the constant one. The states and then the inputs follow it, and then roundings and changes.
ONE = 0
#: Additions of terms in all, some five seconds.
_MOST_WORK = 2_000_000


class Value(NamedTuple):
    """A value: its actual and its exact form, and the trailing zero bits that its word is certain to have."""

    actual: Affine
    exact: Affine
    zeros: int


class Read(NamedTuple):
    """Instruction ``at`` reads the actual ``value`` of ``register``, or the accumulator if that is None."""

    at: int
    register: int | None
    value: Affine


class Recurrence(NamedTuple):
    """One sample of a stream program. ``written`` are the actual forms of what instructions write, ``reads`` what they
    read, ``sent`` the values of the outputs and ``after`` those of the state registers after the sample. The symbols
    ``roundings`` are at most half a step."""

    written: list[Affine]
    reads: list[Read]
    sent: list[Value]
    after: list[Value]
    roundings: list[int]


class _NotAffineError(Exception):
    """A product of two values that are not constant, or a relu; the text says where."""


def find_recurrence(case: Case, state: Sequence[int]) -> Recurrence | str:
    """The recurrence of the program of ``case``, whose registers ``state`` keep their content, or the reason why it has
    none."""
    try:
        return _Walk(case, state).run()
    except _NotAffineError as reason:
        return str(reason)


class _Walk:
    def __init__(self, case: Case, state: Sequence[int]) -> None:
        self.program = program = case.program
        self.frac, self.unit, self.weights, self.named = case.frac, case.unit, case.weights, case.named
        self.zero = Value({}, {}, MANY_ZEROS)
        self.start = [self._constant(raw, exact) for raw, exact in zip(case.start, program.start, strict=True)]
        written = set(program.code.dst.tolist())
        self.state = {register: symbol for symbol, register in enumerate(state, 1)}
        registers = list(self.start)
        for register, symbol in self.state.items():
            if register in written:  # A state that is never written is a constant.
                registers[register] = Value({symbol: Fraction(1)}, {symbol: Fraction(1)}, 0)
        self.registers = registers
        first = 1 + len(state)
        self.inputs = [Value({u: Fraction(1)}, {u: Fraction(1)}, 0) for u in range(first, first + len(program.inputs))]
        self.next_symbol = first + len(program.inputs)
        self.roundings: dict[tuple[Fraction, frozenset[tuple[int, Fraction]]], int] = {}
        self.scalars: dict[int, Value] = {}
        self.found = Recurrence([], [], [], [], [])
        self.work = 0

    def run(self) -> Recurrence:
        registers, outputs = self.registers, list(reversed(self.program.outputs))
        for t, (dst, src, sign, form, mode) in enumerate(
            zip(*(column.tolist() for column in self.program.code.arrays()), strict=True)
        ):
            while outputs and outputs[-1].at <= t:
                self._send(outputs.pop())
            if mode == Mode.RELU:
                raise _NotAffineError(f"instruction {t} takes the relu")
            scalar = self._scalar(t, form)
            self.found.reads.append(Read(t, src, registers[src].actual))
            product = self._times(t, scalar, registers[src])
            before = registers[dst] if mode == Mode.ADD else self.zero
            registers[dst] = self._plus(before, product, sign)
            self.found.written.append(registers[dst].actual)
        while outputs:
            self._send(outputs.pop())
        self.found.after.extend(registers[register] for register in self.state)
        return self.found

    def _send(self, output: Output) -> None:
        self.found.sent.append(self.registers[output.register])
        if output.restart:
            for other in range(self.program.width):
                if other not in self.state:
                    self.registers[other] = self.start[other]

    def _constant(self, raw: int, exact: Fraction | int) -> Value:
        actual = {ONE: raw * self.unit} if raw else {}
        return Value(actual, {ONE: Fraction(exact)} if exact else {}, _trailing_zeros(raw))

    def _weight(self, k: int) -> Value:
        """Weight ``k`` as a value of its own."""
        if k in self.named and self.named[k][0] < self.named[k][1]:
            raise _NotAffineError(f"weight {self.program.weight_names()[k]} may have any value of its range")
        if k in self.named:
            return self._constant(self.named[k][0], self.named[k][0] * self.unit)
        return self._constant(self.weights[k], self.program.weights[k])

    def _scalar(self, t: int, form: int) -> Value:
        """The scalar of a form as instruction ``t`` applies it; what it reads is noted."""
        match self.program.forms[form]:
            case Input(u):
                return self.inputs[u]
            case Weight(k):
                return self._weight(k)
            case Linear(terms, bias, sums):
                total = self.scalars.get(form)
                if total is None:
                    total = self.zero
                    for k, u in terms:
                        total = self._plus(total, self._times_weight(k, self.inputs[u]), 1)
                    if bias is not None:
                        total = self._plus(total, self._weight(bias), 1)
                    self.scalars[form] = total
                for factor, i in sums:
                    source = self.registers[i]
                    self.found.reads.append(Read(t, i, source.actual))
                    if isinstance(factor, Weight):
                        part = self._times_weight(factor.k, source)
                    else:
                        part = self._times(t, self.inputs[factor.u], source)
                    total = self._plus(total, part, 1)
                self.found.reads.append(Read(t, None, total.actual))
                return total

    def _plus(self, a: Value, b: Value, sign: int) -> Value:
        self.work += len(b.actual) + len(b.exact) + len(a.actual)
        if self.work > _MOST_WORK:
            raise _NotAffineError("it is too long to be written as a recurrence")
        return Value(
            _sum(a.actual, b.actual, Fraction(sign)), _sum(a.exact, b.exact, Fraction(sign)), min(a.zeros, b.zeros)
        )

    def _times_weight(self, k: int, source: Value) -> Value:
        """Weight ``k`` times any value."""
        return self._scaled(self._weight(k), source)

    def _times(self, t: int, a: Value, b: Value) -> Value:
        """The rounded product of two values, one of which must be a constant."""
        for constant, other in ((a, b), (b, a)):
            if _is_constant(constant.actual) and _is_constant(constant.exact):
                return self._scaled(constant, other)
        raise _NotAffineError(f"instruction {t} multiplies two values that change")

    def _scaled(self, constant: Value, other: Value) -> Value:
        """The rounded product of a constant and any value."""
        factor, exact = (form.get(ONE, Fraction(0)) for form in (constant.actual, constant.exact))
        product = _sum({}, other.actual, factor)
        zeros = constant.zeros + other.zeros - self.frac
        if zeros < 0 and _is_constant(product):
            steps = floor(product.get(ONE, Fraction(0)) / self.unit + Fraction(1, 2))
            product, zeros = ({ONE: steps * self.unit} if steps else {}), _trailing_zeros(steps)
        elif zeros < 0 and product:
            key = factor, frozenset(other.actual.items())
            if key not in self.roundings:
                self.roundings[key] = self.next_symbol
                self.found.roundings.append(self.next_symbol)
                self.next_symbol += 1
            product[self.roundings[key]] = Fraction(1)
        self.work += len(product)
        return Value(product, _sum({}, other.exact, exact), max(0, min(zeros, MANY_ZEROS)))


def _is_constant(form: Affine) -> bool:
    return not form or form.keys() == {ONE}


def _sum(a: Affine, b: Affine, factor: Fraction) -> Affine:
    """``a + factor·b``."""
    out = dict(a)
    for symbol, weight in b.items() if factor else ():
        total = out.get(symbol, Fraction(0)) + factor * weight
        if total:
            out[symbol] = total
        else:
            out.pop(symbol, None)
    return out


def _trailing_zeros(raw: int) -> int:
    return (raw & -raw).bit_length() - 1 if raw else MANY_ZEROS
