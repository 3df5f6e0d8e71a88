"""The yardstick of ``skinny bench precision``: a formula computed as it is written, in one format, as an engineer would
by hand; and the search for the worst error, of this or of anything else.

Each constant, product and quotient is rounded to the grid, half up; sums are exact, powers are squares and products,
and what ``let`` names is computed once. Everything must fit the word: inputs, constants, products, and sums after each
term.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import floor
from operator import mul, truediv
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from skinny.model.formula.formula import MINUS_ONE, Formula, postorder

__all__ = ["Ranges", "Text", "worst_point"]

Points = NDArray[np.int64]
Ranges = Mapping[str, tuple[Fraction, Fraction]]

#: Points of the first look, points that are climbed from, attempts a round for each, and rounds.
SAMPLES, CLIMBERS, ATTEMPTS, ROUNDS = 20_000, 32, 48, 150
#: Boxes of so few points are searched in full.
FEW = 1 << 17
#: Corners of the box that are looked at.
CORNERS = 1 << 9


class Step(NamedTuple):
    """A ``constant``, an ``input``, a ``product``, ``sum`` or ``difference`` of two earlier steps, or a ``quotient`` of
    one and a whole number."""

    kind: str
    value: Any = None
    left: int = 0
    right: int = 0


class Text:
    """Formulas as a list of steps, one operation each; ``limits`` are the least and the greatest value of each."""

    def __init__(self, outputs: Mapping[str, Formula], ranges: Ranges) -> None:
        self.inputs = tuple(ranges)
        self.ranges = list(ranges.values())
        self.steps: list[Step] = []
        known: dict[int, int] = {}
        for node in postorder(*outputs.values()):
            known[id(node)] = self._write(node, [known[id(arg)] for arg in node.args])
        self.results = [known[id(formula)] for formula in outputs.values()]
        self.limits = self._extremes()

    def _add(self, kind: str, value: Any = None, left: int = 0, right: int = 0) -> int:
        self.steps.append(Step(kind, value, left, right))
        return len(self.steps) - 1

    def _write(self, node: Formula, args: list[int]) -> int:
        """The steps of one node; the number of the last."""
        match node.kind:
            case "constant":
                return self._add("constant", node.value)
            case "variable":
                return self._add("input", self.inputs.index(node.value))
            case "product":
                negative = node.args[0] is MINUS_ONE and len(args) > 1
                first, *others = list(zip(node.args, args, strict=True))[negative:]
                out = first[1]
                for factor, arg in others:
                    # A divisor is read as a factor; what is written is a quotient.
                    if factor.kind == "constant" and factor.value.numerator == 1 < factor.value.denominator:
                        out = self._add("quotient", factor.value.denominator, out)
                    else:
                        out = self._add("product", None, out, arg)
                return self._add("difference", None, self._add("constant", Fraction(0)), out) if negative else out
            case "sum":
                out = args[0]
                for arg in args[1:]:
                    out = self._add("sum", None, out, arg)
                return out
            case "power":
                if node.value == 0:
                    return self._add("constant", Fraction(1))
                out = args[0]
                for bit in bin(node.value)[3:]:
                    out = self._add("product", None, out, out)
                    out = self._add("product", None, out, args[0]) if bit == "1" else out
                return out
        raise ValueError(f"the text as written has no {node.kind}")

    def _follow(
        self,
        inputs: Any,
        constant: Callable[[Fraction], Any],
        product: Callable[[Any, Any], Any],
        quotient: Callable[[Any, int], Any],
    ) -> list[Any]:
        """The values of all steps."""
        out: list[Any] = []
        for kind, value, left, right in self.steps:
            match kind:
                case "constant":
                    out.append(constant(value))
                case "input":
                    out.append(inputs[value])
                case "product":
                    out.append(product(out[left], out[right]))
                case "quotient":
                    out.append(quotient(out[left], value))
                case "sum":
                    out.append(out[left] + out[right])
                case "difference":
                    out.append(out[left] - out[right])
        return out

    def real(self, inputs: Any) -> list[Any]:
        """All steps in floats, for ``inputs`` of shape ``(inputs, points)``."""
        return self._follow(inputs, float, mul, truediv)

    def exact(self, point: Sequence[Fraction]) -> list[Fraction]:
        """The outputs at a point."""
        values = self._follow(point, Fraction, mul, truediv)
        return [values[number] for number in self.results]

    def fixed(self, inputs: Any, frac: int) -> list[Any]:
        """All steps in fixed point; raw integers."""
        half = (1 << frac) >> 1
        return self._follow(
            inputs,
            lambda value: _raw(value, frac),
            lambda a, b: (a * b + half) >> frac,
            lambda a, n: (2 * a + n) // (2 * n),
        )

    def reference(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """The outputs, in floats, at ``points`` of a grid, of shape ``(points, outputs)``. They are within 2^-18 steps
        of the exact ones in any format of at most 32 bits that holds all values."""
        values = self.real(points.T)
        return np.stack([np.broadcast_to(values[number], len(points)) for number in self.results], axis=1)

    def _extremes(self) -> NDArray[np.float64]:
        """The least and the greatest value of each step on the box, found by climbing from many points."""
        chance = np.random.default_rng(0)
        ends = np.array([[float(end) for end in pair] for pair in self.ranges])
        low, width = ends[:, 0], ends[:, 1] - ends[:, 0]
        points = low + _units(chance, len(low), SAMPLES) * width

        def values(points: NDArray[np.float64]) -> NDArray[np.float64]:
            rows = self.real(points.T)
            both = np.stack([np.broadcast_to(np.asarray(row, dtype=np.float64), len(points)) for row in rows])
            return np.concatenate([both, -both])

        found = values(points)
        best, at = found.max(axis=1), points[found.argmax(axis=1)]
        own = np.arange(len(best))
        for step in np.geomspace(0.5, 1e-6, 60):
            for _ in range(12):
                chosen = chance.random(at.shape) < chance.choice([1 / len(low), 0.7], (len(at), 1))
                moved = at + step * width * chance.uniform(-1, 1, at.shape) * chosen
                moved = np.clip(moved, ends[:, 0], ends[:, 1])
                reached = values(moved)[own, own]
                better = reached > best
                best[better], at[better] = reached[better], moved[better]
        count = len(self.steps)
        return np.stack([-best[count:], best[:count]])

    def best_frac(self, bits: int) -> int | None:
        """The most fraction bits with which everything fits ``bits`` bits."""
        for frac in range(bits - 1, -1, -1):
            raw = self.limits * 2.0**frac
            least, most = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
            if raw[0].min() >= least - 0.5 and raw[1].max() < most + 0.5:
                return frac
        return None

    def error(self, frac: int) -> float:
        """The worst error found in fixed point with ``frac`` fraction bits."""
        box = [(_raw(low, frac), _raw(high, frac)) for low, high in self.ranges]

        def errors(points: Points) -> NDArray[np.float64]:
            values = self.fixed(points.T, frac)
            raw = np.stack([np.broadcast_to(values[number], len(points)) for number in self.results], axis=1)
            return np.asarray(np.abs(raw / 2.0**frac - self.reference(points / 2.0**frac)).max(axis=1))

        point = worst_point(errors, box)
        values = self.fixed([int(raw) for raw in point], frac)
        exact = self.exact([Fraction(int(raw), 1 << frac) for raw in point])
        pairs = zip(self.results, exact, strict=True)
        return max(float(abs(Fraction(int(values[number]), 1 << frac) - value)) for number, value in pairs)


def _raw(value: Fraction, frac: int) -> int:
    return floor(value * (1 << frac) + Fraction(1, 2))


def _units(chance: np.random.Generator, count: int, samples: int) -> NDArray[np.float64]:
    """Random points of the unit box, corners, and its middle."""
    corners = np.array(
        [[(n >> k) & 1 for k in range(count)] for n in range(min(CORNERS, 1 << count))], dtype=np.float64
    )
    mixed = chance.choice([0.0, 0.5, 1.0], (CORNERS, count))
    return np.concatenate([corners, mixed, chance.random((samples, count))])


def worst_point(errors: Callable[[Points], NDArray[np.float64]], box: Sequence[tuple[int, int]]) -> Points:
    """The point of ``box``, a range of raw words for each input, where ``errors`` is largest: all points are tried when
    they are few, else many, and the worst of them are climbed from. The same call finds the same point."""
    low, high = np.array(box, dtype=np.int64).T
    widths = high - low + 1
    if widths.prod(dtype=np.float64) <= FEW:
        grid = np.stack(np.meshgrid(*map(np.arange, low, high + 1), indexing="ij"), axis=-1).reshape(-1, len(low))
        return np.asarray(grid[errors(grid).argmax()])
    chance = np.random.default_rng(0)
    points = np.minimum(low + np.floor(_units(chance, len(low), SAMPLES) * widths).astype(np.int64), high)
    found = errors(points)
    chosen = np.argsort(found)[-CLIMBERS:]
    climbers, reached = points[chosen], found[chosen]
    parts = [0.5, min(0.5, 1 / len(low)), min(0.5, 2 / len(low))]
    for _ in range(ROUNDS):
        tries = np.repeat(climbers, ATTEMPTS, axis=0)
        # Errors are smooth in the large and random in the last bits, so steps of all sizes are tried.
        size = np.exp2(chance.random(tries.shape) * np.log2(widths + 1))
        step = np.rint(size * chance.uniform(-1, 1, tries.shape)).astype(np.int64)
        moved = chance.random(tries.shape) < chance.choice(parts, (len(tries), 1))
        tries = np.clip(tries + step * moved, low, high)
        found = errors(tries).reshape(CLIMBERS, ATTEMPTS)
        best = found.argmax(axis=1)
        every = np.arange(CLIMBERS)
        better = found[every, best] > reached
        climbers = np.where(better[:, None], tries.reshape(CLIMBERS, ATTEMPTS, -1)[every, best], climbers)
        reached = np.where(better, found[every, best], reached)
    return np.asarray(climbers[reached.argmax()])
