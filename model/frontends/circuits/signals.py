"""Signals: functions of bits as exclusive ors and ands of others, each made once.

A *signal* is a whole number: twice the number of a node, plus one where it is the complement of the node. Equal nodes
have one number, so that what several signals share is there once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations

from skinny.model.formula.formula import Formula, constant, product, total
from skinny.model.limits import check

from .truth import ones, variable

__all__ = ["ONE", "ZERO", "Signals"]

#: The constant signals.
ZERO, ONE = 0, 1
#: Rows that a pair of signals must be in to be summed once.
WORTH_SHARING = 3

#: A node: ``("input", name)``, ``("xor", signals)`` or ``("and", signals)``; those of an exclusive or are not
#: complemented.
Node = tuple[str, str | frozenset[int]]


class Signals:
    """The nodes, in an order in which each stands behind those that it reads."""

    def __init__(self) -> None:
        self.nodes: list[Node] = [("xor", frozenset())]
        self._numbers: dict[Node, int] = {self.nodes[0]: 0}

    def _number(self, node: Node) -> int:
        found = self._numbers.get(node)
        if found is None:
            found = self._numbers[node] = len(self.nodes)
            self.nodes.append(node)
        return 2 * found

    def input(self, name: str) -> int:
        return self._number(("input", name))

    def xor(self, signals: Iterable[int]) -> int:
        """The exclusive or of ``signals``."""
        parts: set[int] = set()
        complement = 0
        for signal in signals:
            complement ^= signal & 1
            parts ^= {signal & ~1}
        parts.discard(ZERO)
        if len(parts) < 2:
            return (parts.pop() if parts else ZERO) ^ complement
        return self._number(("xor", frozenset(parts))) ^ complement

    def both(self, signals: Iterable[int]) -> int:
        """The and of ``signals``."""
        parts = set(signals)
        parts.discard(ONE)
        if ZERO in parts or any(signal ^ 1 in parts for signal in parts):
            return ZERO
        if len(parts) < 2:
            return parts.pop() if parts else ONE
        return self._number(("and", frozenset(parts)))

    def sums(self, rows: Sequence[set[int]]) -> list[int]:
        """The exclusive ors of the signals in each row. Pairs that most rows have are summed once, as long as that
        saves something: a pair takes two cycles, and each row saves one."""
        left = [set(row) for row in rows]
        counts: Counter[tuple[int, int]] = Counter()
        for row in left:
            counts.update(combinations(sorted(row), 2))
        while counts:
            check()
            pair, uses = max(counts.items(), key=lambda item: (item[1], -item[0][0], -item[0][1]))
            if uses < WORTH_SHARING:
                break
            both = self.xor(pair)
            for row in left:
                if pair[0] in row and pair[1] in row:
                    counts.subtract(combinations(sorted(row), 2))
                    row -= set(pair)
                    row ^= {both}
                    counts.update(combinations(sorted(row), 2))
            counts = +counts
        return [self.xor(row) for row in left]

    def reads(self, signal: int) -> Sequence[int]:
        """The signals that a node reads, in order; none of an input."""
        parts = self.nodes[signal >> 1][1]
        return () if isinstance(parts, str) else sorted(parts)

    def truth(self, signals: Sequence[int], leaves: Sequence[int]) -> list[int]:
        """The truth tables of ``signals`` as functions of ``leaves``, signals that are not complemented, through which
        each way down goes."""
        full = ones(len(leaves))
        known = {leaf: variable(place, len(leaves)) for place, leaf in enumerate(leaves)} | {ZERO: 0}
        stack = [signal & ~1 for signal in signals]
        while stack:
            node = stack[-1]
            missing = [read & ~1 for read in self.reads(node) if read & ~1 not in known] if node not in known else []
            if missing:
                stack += missing
                continue
            stack.pop()
            if node in known:
                continue
            values = [known[read & ~1] ^ (full if read & 1 else 0) for read in self.reads(node)]
            value = 0 if self.nodes[node >> 1][0] == "xor" else full
            for other in values:
                value = value ^ other if self.nodes[node >> 1][0] == "xor" else value & other
            known[node] = value
        return [known[signal & ~1] ^ (full if signal & 1 else 0) for signal in signals]

    def needed(self, signals: Iterable[int]) -> list[int]:
        """The nodes below ``signals`` as signals, each behind those that it reads."""
        wanted = {signal & ~1 for signal in signals}
        for number in range(len(self.nodes) - 1, -1, -1):
            if 2 * number in wanted:
                wanted.update(read & ~1 for read in self.reads(2 * number))
        return sorted(wanted)

    def cycles(self, signals: Sequence[int]) -> int:
        """About the cycles that a program takes for ``signals``: one for each term of a sum and, unless one of two
        factors is an input, one more for a product."""
        nodes = self.needed(signals)
        uses: dict[int, int] = {}
        for node in nodes:
            for read in self.reads(node):
                uses[read & ~1] = uses.get(read & ~1, 0) + 1
        out = 0
        for node in nodes:
            kind = self.nodes[node >> 1][0]
            if kind == "xor":
                out += len(self.reads(node))
            elif kind == "and":
                factors = sorted(self._scalar(read) for read in self.reads(node))
                out += sum(factors[:-1]) + (uses.get(node, 0) > 1)
        return out

    def _scalar(self, signal: int) -> int:
        """The cycles that it takes to multiply by a signal, one of them shared with what the product is added to."""
        return 2 if signal & 1 else 0 if self.nodes[signal >> 1][0] == "input" else 1

    def formulas(self, signals: Sequence[int]) -> list[Formula]:
        """The signals as formulas, which are right over GF(2)."""
        one = constant(1)
        known: dict[int, Formula] = {ZERO: constant(0), ONE: one}

        def formula(signal: int) -> Formula:
            if signal not in known:
                parts = known[signal & ~1].args if self.nodes[signal >> 1][0] == "xor" else (known[signal & ~1],)
                known[signal] = total((one, *parts))
            return known[signal]

        for node in self.needed(signals):
            kind, parts = self.nodes[node >> 1]
            if isinstance(parts, str):
                known[node] = Formula("variable", value=parts)
            elif parts:
                join = total if kind == "xor" else product
                known[node] = join(formula(read) for read in sorted(parts))
        return [formula(signal) for signal in signals]
