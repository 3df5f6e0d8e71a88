"""Bounds of programs that are not pure: registers that multiply registers, assigns, relu.

Such programs do not uncompute what they computed, so their values are followed forwards, as affine enclosures
(:mod:`.affine`): what a product of two values leaves over becomes a box of its own, which is how a network is bounded
layer by layer. Programs that are reversible do undo; a register that holds the same products as before is known by a
random number, and has the bounds that it had.

With ``s``, ``r`` the exact scalar and source, and ``e`` their errors, the error of a product is at most
``|s|·e(r) + |r|·e(s) + e(s)·e(r)`` and half a step for its own rounding. Weights that are rounded have an error from
the start; named weights are any word of their range.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from skinny.model.program.columns import Mode
from skinny.model.program.forms import Input, Linear, Weight

from .affine import LOSS, Symbols, Value
from .case import Case
from .registers import MANY_ZEROS

__all__ = ["Followed", "StateRange", "follow_layers", "follow_samples"]

#: Symbols beside those of inputs and named weights. An instruction takes time in proportion to the symbols there are.
_MOST_SYMBOLS = 1000
#: A value beyond this fits no word we have; floats would only overflow.
_HOPELESS = 2.0**64


class Followed(NamedTuple):
    """The ranges of what each instruction writes, of the scalar that it multiplies with, and of the register it reads
    whose range is widest, with its number; the ranges and the errors of the outputs."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    scalar_low: NDArray[np.float64]
    scalar_high: NDArray[np.float64]
    read_low: NDArray[np.float64]
    read_high: NDArray[np.float64]
    read_register: NDArray[np.int64]
    sent: list[tuple[float, float]]
    errors: dict[str, float]


class StateRange(NamedTuple):
    """The least and the greatest exact value of a state, and the most by which the word is off."""

    low: float
    high: float
    error: float


class _Register(NamedTuple):
    """What a register holds: the random number of its products, and their sum."""

    number: int
    value: Value


def follow_layers(case: Case) -> Followed:
    """Bounds of the program of ``case``. What comes after a value that fits no word is not bounded."""
    return follow_samples(case, {}, 1)[0]


def follow_samples(
    case: Case, states: Mapping[int, StateRange], samples: int, *, exact: bool = True
) -> tuple[Followed, dict[int, StateRange] | None]:
    """Bounds at all of so many samples of a stream, before which the registers of ``states`` are in ranges; and the
    ranges after them, or nothing where a value fits no word. Without ``exact`` the ranges are those of the words, and
    there are no errors."""
    walk = _Walk(case, states, samples, exact)
    registers = walk.run()
    for _ in range(samples - 1):
        if registers is None:
            break
        walk.begin_sample(registers)
        registers = walk.run()
    if registers is None:
        return walk.found(), None
    values = {register: registers[register].value for register in states}
    return walk.found(), {r: StateRange(value.low, value.high, value.error) for r, value in values.items()}


class _Walk:
    def __init__(self, case: Case, states: Mapping[int, StateRange], samples: int, exact: bool) -> None:
        self.program = case.program
        self.unit, self.box, self.weights, self.named = case.unit, case.box, case.weights, case.named
        self.states, self.exact = states, exact
        given = samples * (len(case.box) + len(case.named)) + len(states)
        self.symbols = Symbols(case.frac, _MOST_SYMBOLS + given, exact)
        self.chance = random.Random(0)
        self.inputs = [self._between(low, high) for low, high in case.box]
        self.known_weights: dict[int, Value] = {}
        self.known_scalars: dict[tuple[int, ...], tuple[int, Value]] = {}
        self.known_products: dict[tuple[int, int], tuple[int, Value]] = {}
        self.known_sums: dict[int, Value] = {0: self._between(0, 0)}
        self.relu_numbers: dict[int, int] = {}
        self.start = [self._started(value) for value in case.start]
        for register, (least, greatest, error) in states.items():
            value = self.symbols.with_error(self.symbols.between(least, greatest, 0), error)
            self.start[register] = _Register(self._number(), value)
            self.known_sums[self.start[register].number] = value
        self.past: list[Followed] = []
        self._find_nothing()

    def _find_nothing(self) -> None:
        length = len(self.program)
        self.ends = {name: np.full((length, 2), (-np.inf, np.inf)) for name in ("written", "scalar", "read")}
        self.read_register = self.program.code.src.astype(np.int64)
        self.sent = [(-np.inf, np.inf)] * len(self.program.outputs)
        self.errors = {output.name: float("inf") for output in self.program.outputs}

    def found(self) -> Followed:
        """The bounds of all samples so far."""
        (low, high), scalar, read = (self.ends[name].T for name in ("written", "scalar", "read"))
        errors = self.errors if self.exact else dict.fromkeys(self.errors, float("inf"))
        now = Followed(low, high, scalar[0], scalar[1], read[0], read[1], self.read_register, self.sent, errors)
        return reduce(_either, (*self.past, now))

    def begin_sample(self, registers: Sequence[_Register]) -> None:
        """Go on with the next sample: the states stand in ``registers``, a window moves on, all else begins anew."""
        self.past.append(self.found())
        self._find_nothing()
        program = self.program
        new = program.hop if program.window else len(self.box)
        self.inputs = [self._between(low, high) for low, high in self.box[:new]] + self.inputs[: len(self.box) - new]
        for register in self.states:
            self.start[register] = _Register(self._number(), registers[register].value)
        for known in (self.known_scalars, self.known_products, self.relu_numbers):
            known.clear()
        self.known_weights = {k: value for k, value in self.known_weights.items() if k not in self.named}
        self.known_sums = {0: self.known_sums[0]} | dict(self.start)

    def run(self) -> list[_Register] | None:
        """Follow the program to its end, or to a value that fits no word; then there are no registers."""
        registers = list(self.start)
        outputs = self.program.outputs
        done = 0
        columns = zip(*(column.tolist() for column in self.program.code.arrays()), strict=True)
        for t, (dst, src, sign, form, mode) in enumerate(columns):
            while done < len(outputs) and outputs[done].at <= t:
                registers = self._send(done, registers)
                done += 1
            number, scalar = self._scalar(form, registers)
            self._read(t, form, src, scalar, registers)
            product, value = self._product(number, scalar, registers[src])
            if mode == Mode.ADD:
                total = (registers[dst].number + sign * product) % (1 << 128)
                value = self._sum(total, registers[dst].value, value, sign)
            else:
                total, value = sign * product % (1 << 128), self.symbols.signed(value, sign)
                if mode == Mode.RELU:
                    self._widen(t, dst, value)
                    total, value = self.relu_numbers.setdefault(total, self._number()), self.symbols.relu(value)
                value = self.known_sums.setdefault(total, value)
            if not max(value.size, value.error) < _HOPELESS:
                return None
            registers[dst] = _Register(total, value)
            self.ends["written"][t] = value.actual
        while done < len(outputs):
            registers = self._send(done, registers)
            done += 1
        return registers

    def _number(self) -> int:
        return self.chance.getrandbits(128)

    def _between(self, low: int, high: int) -> Value:
        """Any word from ``low`` to ``high``. Words of at most 32 bits are floats without loss."""
        zeros = _trailing_zeros(low) if low == high else 0
        return self.symbols.between(float(low * self.unit), float(high * self.unit), zeros)

    def _started(self, raw: int) -> _Register:
        if not raw:
            return _Register(0, self.known_sums[0])
        number = self._number()
        self.known_sums[number] = self._between(raw, raw)
        return _Register(number, self.known_sums[number])

    def _weight(self, k: int) -> Value:
        """Weight ``k``: its exact value, and the error that its rounding makes."""
        if k not in self.known_weights:
            if k in self.named:
                self.known_weights[k] = self._between(*self.named[k])
            else:
                raw = self.weights[k]
                exact = self.program.weights[k] if self.exact else raw * self.unit
                near = float(exact)
                loss = float(abs(exact - Fraction(near))) * (1 + LOSS)
                value = self.symbols.between(near, near, _trailing_zeros(raw), loss)
                changed = float(abs(raw * self.unit - exact)) * (1 + LOSS)
                self.known_weights[k] = self.symbols.with_error(value, changed)
        return self.known_weights[k]

    def _scalar(self, form: int, registers: Sequence[_Register]) -> tuple[int, Value]:
        """The scalar of a form as it is applied, and its random number."""
        match self.program.forms[form]:
            case Linear(_, _, sums) if sums:
                key = (form, *(registers[i].number for _, i in sums))
            case _:
                key = (form,)
        if key not in self.known_scalars:
            self.known_scalars[key] = self._number(), self._made(form, registers)
        return self.known_scalars[key]

    def _made(self, form: int, registers: Sequence[_Register]) -> Value:
        match self.program.forms[form]:
            case Input(u):
                return self.inputs[u]
            case Weight(k):
                return self._weight(k)
            case Linear(terms, bias, sums):
                parts = [self.symbols.times(self._weight(k), self.inputs[u]) for k, u in terms]
                parts += [self.symbols.times(self._factor(factor), registers[i].value) for factor, i in sums]
                parts += [] if bias is None else [self._weight(bias)]
                total = parts[0] if parts else self.known_sums[0]
                for part in parts[1:]:
                    total = self.symbols.plus(total, part, 1)
                return total

    def _factor(self, factor: Input | Weight) -> Value:
        return self.inputs[factor.u] if isinstance(factor, Input) else self._weight(factor.k)

    def _product(self, number: int, scalar: Value, source: _Register) -> tuple[int, Value]:
        key = number, source.number
        if key not in self.known_products:
            self.known_products[key] = self._number(), self.symbols.times(scalar, source.value)
        return self.known_products[key]

    def _sum(self, total: int, before: Value, product: Value, sign: int) -> Value:
        if total not in self.known_sums:
            self.known_sums[total] = self.symbols.plus(before, product, sign)
        return self.known_sums[total]

    def _read(self, t: int, form: int, src: int, scalar: Value, registers: Sequence[_Register]) -> None:
        """Note the ranges of the scalar and of all registers that instruction ``t`` reads."""
        self.ends["scalar"][t] = scalar.actual
        self.ends["read"][t] = registers[src].value.actual
        match self.program.forms[form]:
            case Linear(_, _, sums):
                for _, i in sums:
                    self._widen(t, i, registers[i].value)

    def _widen(self, t: int, register: int, value: Value) -> None:
        """Instruction ``t`` also needs ``value`` to fit, that of ``register``."""
        low, high = self.ends["read"][t]
        least, most = value.actual
        if max(-least, most) > max(-low, high):
            self.read_register[t] = register
        self.ends["read"][t] = min(low, least), max(high, most)

    def _send(self, number: int, registers: list[_Register]) -> list[_Register]:
        output = self.program.outputs[number]
        value = registers[output.register].value
        self.sent[number] = value.actual
        self.errors[output.name] = value.error
        if not output.restart:
            return registers
        return [register if r in self.states else self.start[r] for r, register in enumerate(registers)]


def _either(one: Followed, other: Followed) -> Followed:
    """The bounds of both."""
    wider = np.maximum(-other.read_low, other.read_high) > np.maximum(-one.read_low, one.read_high)
    return Followed(
        *(np.minimum(one.low, other.low), np.maximum(one.high, other.high)),
        *(np.minimum(one.scalar_low, other.scalar_low), np.maximum(one.scalar_high, other.scalar_high)),
        *(np.minimum(one.read_low, other.read_low), np.maximum(one.read_high, other.read_high)),
        np.where(wider, other.read_register, one.read_register),
        [(min(a[0], b[0]), max(a[1], b[1])) for a, b in zip(one.sent, other.sent, strict=True)],
        {name: max(error, other.errors[name]) for name, error in one.errors.items()},
    )


def _trailing_zeros(raw: int) -> int:
    return (raw & -raw).bit_length() - 1 if raw else MANY_ZEROS
