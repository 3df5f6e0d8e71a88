"""Multiply-add in a ring, created from the ring's own parameters object."""

from collections.abc import Callable
from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from skinny.model.rings import Boolean, FixedPoint, Modular, PrimeField, Ring

from .generic import Multiplier

__all__ = ["Arithmetic", "registers_after"]

Wires = dict[str, Value]


def registers_after(steps: int, stages: int) -> list[int]:
    """The number of registers that follow each of ``steps`` steps in a pipeline of ``stages`` stages.

    Step 0 gives the operands, 1 multiplies. First the product is registered, then the operands, then the result, then
    what is between; stages that nothing needs delay the result.
    """
    order = [1, 0, steps - 1, *range(2, steps - 1)]
    chosen = order[:stages]
    counts = [chosen.count(step) for step in range(steps)]
    counts[-1] += max(0, stages - len(chosen))
    return counts


class Arithmetic(wiring.Component):
    """``o = acc ± a·b`` with the products and sums of ``ring``.

    Latency: ``stages`` cycles (0: combinational). Throughput: one result a cycle. No back-pressure. Registers have
    neither reset nor enable, so that they fit a multiplier block. All ports are hardware words (see
    :mod:`skinny.model.machine.isa`).

    Parameters
    ----------
    ring : Modular, FixedPoint, PrimeField or Boolean
    bits : int
        The number of bits of a word: ``ring.bits``, or any number of slices for ``Boolean``.
    stages : int
    multiplier : type of Multiplier
        The component that multiplies, except for ``Boolean``.
    late : bool
        ``acc`` comes ``acc_delay`` cycles after the factors, just when it is added, so that no register holds it.

    Members
    -------
    a, b, acc : In(bits)
    neg : In(1)
        The product is subtracted.
    o : Out(bits)
        The result.

    Raises
    ------
    ValueError
        The ring has no hardware, or the number of stages is negative.
    """

    def __init__(
        self, ring: Ring, bits: int, stages: int, multiplier: type[Multiplier] = Multiplier, *, late: bool = False
    ):
        if not isinstance(ring, Modular | FixedPoint | PrimeField | Boolean):
            raise ValueError(f"the ring must be one with hardware, not {ring!r}")
        if stages < 0:
            raise ValueError(f"the number of stages must be at least 0, not {stages!r}")
        self.ring: Any = ring  # only some rings have a modulus, a fraction
        self.bits = bits
        self.stages = stages
        self.multiplier = multiplier
        # A ring is a multiplication and steps from wires to wires, those before ``acc`` is needed and those after.
        self._before: list[Callable[..., Wires]]
        self._after: list[Callable[..., Wires]]
        match ring:
            case Modular() | FixedPoint():
                self._before, self._after = [self._negate_binary], [self._add_binary]
            case PrimeField(p) if p & (p + 1) == 0:
                self._before, self._after = [self._negate_mersenne], [self._add_mersenne, self._fold_mersenne]
            case PrimeField():
                self._before = [self._estimate, self._remainder, self._negate_prime]
                self._after = [self._add_prime]
            case Boolean():
                self._before, self._after = [], [self._add_boolean]
        #: The number of registers that follow the operands, the product, and each step.
        self._registers = registers_after(2 + len(self._before) + len(self._after), stages)
        self.late = late
        self.acc_delay = sum(self._registers[: 2 + len(self._before)]) if late else 0
        super().__init__({"a": In(bits), "b": In(bits), "acc": In(bits), "neg": In(1), "o": Out(bits)})

    def elaborate(self, platform):
        m = Module()
        operands, product, *later = self._registers
        early = {} if self.late else {"acc": self.acc}
        wires = _held(m, {**early, "neg": self.neg}, "m0", operands)
        wires = _held(m, wires, "m1", product)
        wires["product"] = self._multiply(m, operands, product)
        for number, (step, registers) in enumerate(zip(self._before + self._after, later, strict=True)):
            if self.late and number == len(self._before):
                wires["acc"] = self.acc
            wires = _held(m, step(**wires), f"m{number + 2}", registers)
        m.d.comb += self.o.eq(wires["o"])
        return m

    def _multiply(self, m: Module, operands: int, product: int) -> Value:
        if isinstance(self.ring, Boolean):
            factors = _held(m, {"a": self.a, "b": self.b}, "m0", operands)
            return _held(m, {"product": factors["a"] & factors["b"]}, "m1", product)["product"]
        signed = not isinstance(self.ring, PrimeField)
        m.submodules.multiplier = multiplier = self.multiplier(self.bits, signed, operands, product)
        m.d.comb += [multiplier.a.eq(self.a), multiplier.b.eq(self.b)]
        return multiplier.product

    # Modular and fixed point. Rounding half up adds the highest bit that is cut off; that bit and the one of the two's
    # complement enter the adder as its carry: acc - (p + r) = acc + ~p + 1 - r. In all rings the steps before the
    # adder hand on ``acc`` when it is not late.

    def _negate_binary(self, product: Value, neg: Value, **acc: Value) -> Wires:
        frac = self.ring.frac if isinstance(self.ring, FixedPoint) else 0
        half = product[frac - 1] if frac else Const(0, 1)
        return {
            "addend": product[frac : frac + self.bits] ^ neg.replicate(self.bits),
            "carry": half ^ neg,
            **acc,
        }

    def _add_binary(self, addend: Value, carry: Value, acc: Value) -> Wires:
        # One adder: its lowest position makes the carry.
        return {"o": (Cat(Const(1, 1), acc) + Cat(carry, addend))[1 : self.bits + 1]}

    # Mersenne primes 2^k - 1: high and low half of the product are added, -x is the complement of x, and a carry
    # comes round again as one.

    def _negate_mersenne(self, product: Value, neg: Value, **acc: Value) -> Wires:
        flip = neg.replicate(self.bits)
        return {"low": product[: self.bits] ^ flip, "high": product[self.bits :] ^ flip, **acc}

    def _add_mersenne(self, low: Value, high: Value, acc: Value) -> Wires:
        return {"total": low + high + acc}

    def _fold_mersenne(self, total: Value) -> Wires:
        for _ in range(2):
            total = total[: self.bits] + total[self.bits :]
        total = total[: self.bits]
        return {"o": Mux(total.all(), 0, total)[: self.bits]}

    # Other primes, k bits: Barrett's reduction. With mu = floor(4^k / p) the quotient (P·mu) >> 2k is right or one too
    # small, so the remainder is below 2p.

    def _estimate(self, product: Value, neg: Value, **acc: Value) -> Wires:
        k = self.ring.p.bit_length()
        quotient = (product * ((1 << 2 * k) // self.ring.p))[2 * k :]
        return {"product": product, "quotient": quotient, **acc, "neg": neg}

    def _remainder(self, product: Value, quotient: Value, neg: Value, **acc: Value) -> Wires:
        k = self.ring.p.bit_length()
        return {"rest": (product - quotient * self.ring.p)[: k + 1], **acc, "neg": neg}

    def _negate_prime(self, rest: Value, neg: Value, **acc: Value) -> Wires:
        # The addend is 0 … p: also p, for minus zero, is reduced after the addition.
        rest = self._reduced(rest)
        return {"addend": Mux(neg, self.ring.p - rest, rest)[: self.ring.p.bit_length()], **acc}

    def _add_prime(self, addend: Value, acc: Value) -> Wires:
        return {"o": self._reduced(acc + addend)[: self.bits]}

    def _reduced(self, value: Value) -> Value:
        """``value`` below 2p, less p if that is not negative."""
        less = value - self.ring.p
        return Mux(less[-1], value, less[:-1])

    # GF(2), a slice in each bit: minus is plus.

    def _add_boolean(self, product: Value, acc: Value, neg: Value) -> Wires:
        return {"o": product ^ acc}


def _held(m: Module, wires: Wires, prefix: str, count: int) -> Wires:
    """The wires ``count`` cycles later, behind as many registers."""
    for stage in range(count):
        later = {
            name: Signal(len(wire), reset_less=True, name=f"{prefix}_{stage}_{name}") for name, wire in wires.items()
        }
        m.d.sync += [later[name].eq(wire) for name, wire in wires.items()]
        wires = later
    return wires
