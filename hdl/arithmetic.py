"""Multiply-add in a ring, created from the ring's own parameters object."""

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from skinny.model.rings import Boolean, FixedPoint, Modular, PrimeField, Ring

__all__ = ["Arithmetic", "registers_after"]

Wires = dict[str, Value]


def registers_after(steps: int, stages: int) -> list[int]:
    """How many registers follow each of ``steps`` steps in a pipeline of ``stages``.

    First the product is registered, then the result, then what is between; stages that nothing needs delay the result.
    """
    order = [0, steps - 1, *range(1, steps - 1)]
    chosen = order[:stages]
    counts = [chosen.count(step) for step in range(steps)]
    counts[-1] += max(0, stages - len(chosen))
    return counts


class Arithmetic(wiring.Component):
    """``o = acc ± a·b`` with the products and sums of ``ring``.

    Latency ``stages`` cycles (0: combinational), throughput one a cycle, no back-pressure; registers have neither reset
    nor enable, so that they fit a multiplier block. All ports are hardware words (see :mod:`skinny.model.isa`).

    Parameters
    ----------
    ring : Modular, FixedPoint, PrimeField or Boolean
    bits : int
        Bits of a word: ``ring.bits``, or any number of lanes for ``Boolean``.
    stages : int

    Members
    -------
    a, b, acc : In(bits)
    neg : In(1)
        Subtract the product.
    o : Out(bits)

    Raises
    ------
    ValueError
        The ring has no hardware, or the number of stages is negative.
    """

    def __init__(self, ring: Ring, bits: int, stages: int):
        if not isinstance(ring, Modular | FixedPoint | PrimeField | Boolean):
            raise ValueError(f"the ring must be one with hardware, not {ring!r}")
        if stages < 0:
            raise ValueError(f"the number of stages must be at least 0, not {stages!r}")
        self.ring = ring
        self.bits = bits
        self.stages = stages
        super().__init__({"a": In(bits), "b": In(bits), "acc": In(bits), "neg": In(1), "o": Out(bits)})

    def elaborate(self, platform):
        # A ring is a list of steps from wires to wires; the registers go between them.
        m = Module()
        match self.ring:
            case Modular() | FixedPoint():
                steps = [self._multiply_binary, self._negate_binary, self._add_binary]
            case PrimeField(p) if p & (p + 1) == 0:
                steps = [self._multiply_mersenne, self._negate_mersenne, self._add_mersenne, self._fold_mersenne]
            case PrimeField():
                steps = [self._multiply, self._estimate, self._remainder, self._negate_prime, self._add_prime]
            case Boolean():
                steps = [self._multiply_boolean, self._add_boolean]
        wires: Wires = {"a": self.a, "b": self.b, "acc": self.acc, "neg": self.neg}
        for number, (step, registers) in enumerate(
            zip(steps, registers_after(len(steps), self.stages), strict=True), start=1
        ):
            wires = step(**wires)
            for stage in range(registers):
                held = {k: Signal(len(v), reset_less=True, name=f"m{number}_{stage}_{k}") for k, v in wires.items()}
                m.d.sync += [held[name].eq(wire) for name, wire in wires.items()]
                wires = held
        m.d.comb += self.o.eq(wires["o"])
        return m

    # Modular and fixed point. Rounding half up adds the highest bit that is cut off; that bit and the one of the two's
    # complement enter the adder as its carry: acc - (p + r) = acc + ~p + 1 - r.

    def _multiply_binary(self, a: Value, b: Value, acc: Value, neg: Value) -> Wires:
        frac = self.ring.frac if isinstance(self.ring, FixedPoint) else 0
        product = a.as_signed() * b.as_signed()
        return {
            "product": product[frac : frac + self.bits],
            "half": product[frac - 1] if frac else Const(0, 1),
            "acc": acc,
            "neg": neg,
        }

    def _negate_binary(self, product: Value, half: Value, acc: Value, neg: Value) -> Wires:
        return {"product": product ^ neg.replicate(self.bits), "carry": half ^ neg, "acc": acc}

    def _add_binary(self, product: Value, carry: Value, acc: Value) -> Wires:
        # One adder: its lowest position makes the carry.
        return {"o": (Cat(Const(1, 1), acc) + Cat(carry, product))[1 : self.bits + 1]}

    # Mersenne primes 2^k - 1: high and low half of the product are added, -x is the complement of x, and a carry
    # comes round again as one.

    def _multiply_mersenne(self, a: Value, b: Value, acc: Value, neg: Value) -> Wires:
        product = a * b
        return {"low": product[: self.bits], "high": product[self.bits :], "acc": acc, "neg": neg}

    def _negate_mersenne(self, low: Value, high: Value, acc: Value, neg: Value) -> Wires:
        flip = neg.replicate(self.bits)
        return {"low": low ^ flip, "high": high ^ flip, "acc": acc}

    def _add_mersenne(self, low: Value, high: Value, acc: Value) -> Wires:
        return {"total": low + high + acc}

    def _fold_mersenne(self, total: Value) -> Wires:
        for _ in range(2):
            total = total[: self.bits] + total[self.bits :]
        total = total[: self.bits]
        return {"o": Mux(total.all(), 0, total)[: self.bits]}

    # Other primes, k bits: Barrett's reduction. With mu = floor(4^k / p) the quotient (P·mu) >> 2k is right or one too
    # small, so the remainder is below 2p.

    def _multiply(self, a: Value, b: Value, acc: Value, neg: Value) -> Wires:
        return {"product": a * b, "acc": acc, "neg": neg}

    def _estimate(self, product: Value, acc: Value, neg: Value) -> Wires:
        k = self.ring.p.bit_length()
        quotient = (product * ((1 << 2 * k) // self.ring.p))[2 * k :]
        return {"product": product, "quotient": quotient, "acc": acc, "neg": neg}

    def _remainder(self, product: Value, quotient: Value, acc: Value, neg: Value) -> Wires:
        k = self.ring.p.bit_length()
        return {"rest": (product - quotient * self.ring.p)[: k + 1], "acc": acc, "neg": neg}

    def _negate_prime(self, rest: Value, acc: Value, neg: Value) -> Wires:
        # The addend is 0 … p: also p, for minus zero, is reduced after the addition.
        rest = self._reduced(rest)
        return {"addend": Mux(neg, self.ring.p - rest, rest)[: self.ring.p.bit_length()], "acc": acc}

    def _add_prime(self, addend: Value, acc: Value) -> Wires:
        return {"o": self._reduced(acc + addend)[: self.bits]}

    def _reduced(self, value: Value) -> Value:
        """``value`` below 2p, less p if that is not negative."""
        less = value - self.ring.p
        return Mux(less[-1], value, less[:-1])

    # GF(2), a lane a bit.

    def _multiply_boolean(self, a: Value, b: Value, acc: Value, neg: Value) -> Wires:
        return {"product": a & b, "acc": acc}

    def _add_boolean(self, product: Value, acc: Value) -> Wires:
        return {"o": product ^ acc}
