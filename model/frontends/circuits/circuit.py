"""Circuits from BLIF files as formulas over GF(2), and the check of their programs against the tables of the file."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from skinny.model.errors import CheckError, InputError
from skinny.model.formula.definitions import StateFormula
from skinny.model.formula.formula import Formula
from skinny.model.limits import check, watched
from skinny.model.names import element, plain
from skinny.model.program.program import Program
from skinny.model.rings import Array, Boolean
from skinny.model.run.golden import run
from skinny.model.run.stream import run_stream

from ..order import ordered
from ..written import Writable, Written
from .blif import Table, read_blif
from .signals import ONE, ZERO, Signals
from .synthesis import synthesise
from .truth import composed, table_of, without_idle
from .window import simplest

__all__ = ["Circuit"]

#: The whole truth table is looked at up to so many inputs; above, so many random rows.
MOST_INPUTS, ROWS = 16, 1 << 14
#: Random streams that a circuit with latches is compared on, and their samples.
STREAMS, SAMPLES = 256, 64
#: Tables of more inputs are taken as the products of their rows.
WIDEST = 12
INDEXED = re.compile(r"(.*[A-Za-z_][A-Za-z_0-9]*)\[([0-9]{1,9})\]")


class Circuit(Writable):
    """The circuit of a BLIF file. ``inputs`` and ``outputs`` are names as programs have them: ``a[3]`` is ``a3``, and
    other signs than letters and digits become ``_``."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.netlist = read_blif(self.path)
        self._inputs = self._named(self.netlist.inputs)
        self._outputs = self._named(self.netlist.outputs)
        self._states = self._named(tuple(self.netlist.latches))
        both = next((name for name in self._states.values() if name in self._inputs.values()), None)
        if both is not None:
            raise InputError(f"{self.path}: an input and a latch would both be called {both!r} in a program")
        reads = {name: table.inputs for name, table in self.netlist.tables.items()}
        try:
            self._order = ordered(reads, "tables")
        except InputError as error:
            raise InputError(f"{self.path}: {error}") from None

    def __repr__(self) -> str:
        latches = f", {len(self._states):,} latches" if self._states else ""
        return f"<Circuit of {len(self._order):,} tables{latches}, {len(self._inputs):,} inputs>"

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the inputs."""
        return tuple(self._inputs.values())

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the outputs."""
        return tuple(self._outputs.values())

    def _named(self, wires: Sequence[str]) -> dict[str, str]:
        """The names in programs by the names in the file."""
        out: dict[str, str] = {}
        for wire in wires:
            found = INDEXED.fullmatch(wire)
            name = element(plain(found[1]), int(found[2])) if found and plain(found[1]) else plain(wire)
            name = f"n{name}" if not name or name[0].isdigit() else name
            if name in out.values():
                other = next(old for old, new in out.items() if new == name)
                raise InputError(f"{self.path}: {other!r} and {wire!r} would both be called {name!r} in a program")
            out[wire] = name
        return out

    def values(self, inputs: Mapping[str, Any], states: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The values of all wires, from truth values of the inputs by their names in the file, arrays of one shape, row
        after row of the tables; ``states`` are those of the latches, by default the first ones."""
        kept = {name: np.asarray(latch.start) for name, latch in self.netlist.latches.items()} | dict(states or {})
        known = {name: np.asarray(value, dtype=bool) for name, value in {**kept, **inputs}.items()}
        for name in self._order:
            check()
            table = self.netlist.tables[name]
            matched = np.asarray(False)
            for row in table.rows:
                fits = np.asarray(True)
                for wire, sign in zip(table.inputs, row, strict=True):
                    if sign != "-":
                        fits = fits & (known[wire] if sign == "1" else ~known[wire])
                matched = matched | fits
            known[name] = matched if table.value else ~matched
        return known

    def written(self) -> Written:
        with watched("reading the circuit"):
            wanted = [*self._outputs, *(latch.input for latch in self.netlist.latches.values())]
            formulas = dict(zip(wanted, self._formulas(wanted), strict=True))
        return Written(
            {name: formulas[wire] for wire, name in self._outputs.items()},
            self.path,
            self.inputs,
            tuple(
                StateFormula(name, Fraction(latch.start), formulas[latch.input])
                for name, latch in ((self._states[wire], latch) for wire, latch in self.netlist.latches.items())
            ),
            ring=Boolean.name,
            check=self.check,
        )

    def _formulas(self, wanted: Sequence[str]) -> list[Formula]:
        """The formulas of wires. Tables of the same signals are made together, so that they share what they can."""
        signals = Signals()
        known = {wire: signals.input(name) for wire, name in {**self._inputs, **self._states}.items()}
        groups: dict[tuple[str, ...], list[Table]] = {}
        for name in self._order:
            table = self.netlist.tables[name]
            groups.setdefault(tuple(sorted(set(table.inputs))), []).append(table)
        for name in self._order:
            table = self.netlist.tables[name]
            if name in known:
                continue
            check()
            if len(set(table.inputs)) > WIDEST:
                known[name] = _by_rows(signals, table, known)
                continue
            found = {}
            for member in groups[tuple(sorted(set(table.inputs)))]:
                found[member.output] = simplest(signals, *_reduced(signals, member, known))
            by_inputs: dict[tuple[int, ...], list[str]] = {}
            for output, (_, inputs) in found.items():
                by_inputs.setdefault(inputs, []).append(output)
            for inputs, outputs in by_inputs.items():
                made = synthesise(signals, [found[output][0] for output in outputs], inputs)
                known.update(zip(outputs, made, strict=True))
        return signals.formulas([known[wire] for wire in wanted])

    def check(self, program: Program) -> str:
        """Compare a program with the tables of the file, row after row; how it was compared."""
        if self._states:
            return self._check_stream(program)
        names = list(self._inputs)
        whole = len(names) <= MOST_INPUTS
        if whole:
            numbers = np.arange(1 << len(names))
            bits = {wire: (numbers >> place & 1).astype(bool) for place, wire in enumerate(names)}
        else:
            random = np.random.default_rng()
            bits = {wire: random.integers(0, 2, ROWS).astype(bool) for wire in names}
        rows = 1 << len(names) if whole else ROWS
        given = self._elements(program, bits, rows)
        found = run(program, Boolean(), given).outputs
        self._expect(program, found, self.values(bits), rows)
        return f"on the whole truth table, {rows:,} rows" if whole else f"on {rows:,} random rows of the truth table"

    def _check_stream(self, program: Program) -> str:
        random = np.random.default_rng()
        bits = [{wire: random.integers(0, 2, STREAMS).astype(bool) for wire in self._inputs} for _ in range(SAMPLES)]
        samples = np.stack([self._elements(program, each, STREAMS) for each in bits], axis=1)
        found = run_stream(program, Boolean(), samples).outputs
        states: dict[str, Any] = {}
        for number, each in enumerate(bits):
            check()
            values = self.values(each, states)
            self._expect(program, found[:, number], values, STREAMS)
            states = {wire: values[latch.input] for wire, latch in self.netlist.latches.items()}
        return f"on {STREAMS} random streams of {SAMPLES} samples"

    def _elements(self, program: Program, bits: Mapping[str, Any], rows: int) -> Array:
        wires = {name: wire for wire, name in self._inputs.items()}
        out = np.zeros((rows, len(program.samples)), dtype=np.uint8)
        for place, name in enumerate(program.samples):
            out[:, place] = bits[wires[name]]
        return out

    def _expect(self, program: Program, found: Array, values: Mapping[str, Any], rows: int) -> None:
        wires = {name: wire for wire, name in self._outputs.items()}
        for place, output in enumerate(program.outputs):
            wanted = np.broadcast_to(values[wires[output.name]], rows)
            if (found[:, place].astype(bool) != wanted).any():
                raise CheckError(f"internal error: the output {output.name} is not that of {self.path}")


def _reduced(signals: Signals, table: Table, known: Mapping[str, int]) -> tuple[int, tuple[int, ...]]:
    """The table as a function of different signals that are neither constant nor complemented and that all matter."""
    found = [known[wire] for wire in table.inputs]
    leaves = sorted({signal & ~1 for signal in found} - {ZERO})
    out, used = without_idle(composed(table_of(table), signals.truth(found, leaves), len(leaves)), len(leaves))
    return out, tuple(leaves[place] for place in used)


def _by_rows(signals: Signals, table: Table, known: Mapping[str, int]) -> int:
    """A table of many inputs: none of the complements of its rows, each a product."""
    rows = [
        signals.both(known[wire] ^ (sign == "0") for wire, sign in zip(table.inputs, row, strict=True) if sign != "-")
        for row in table.rows
    ]
    return signals.both(row ^ ONE for row in rows) ^ ONE ^ (not table.value)
