"""BLIF: the text of circuits, as the tools of logic synthesis write it.

Models with ``.inputs``, ``.outputs``, tables (``.names``), latches and instances of other models (``.subckt``), which
are put in. A message begins with the file and the line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn

from skinny.model.errors import InputError
from skinny.model.files import read_text
from skinny.model.limits import LINE_BYTE, check

__all__ = ["Latch", "Netlist", "Table", "read_blif"]

#: Instances of models inside each other, at most.
DEEPEST = 50
#: What is about time or about a library and changes no value.
SKIPPED = frozenset((".clock", ".default_input_arrival", ".default_output_required", ".area", ".delay", ".wire_load"))
EDGES, LEVELS = ("re", "fe"), ("ah", "al", "as")


class Table(NamedTuple):
    """A table: the ``output`` is ``value`` for the inputs that match one of the ``rows``, and else the other value. A
    row has ``0``, ``1`` or ``-`` for each of the ``inputs``."""

    inputs: tuple[str, ...]
    output: str
    rows: tuple[str, ...]
    value: bool
    line: int


class Latch(NamedTuple):
    """A value that is kept from one sample to the next: ``output`` is what ``input`` was, at first ``start``."""

    input: str
    output: str
    start: bool
    line: int


class Netlist(NamedTuple):
    """A circuit without instances. ``where`` says where a line stands, for messages."""

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    tables: Mapping[str, Table]
    latches: Mapping[str, Latch]
    where: str


class _Instance(NamedTuple):
    model: str
    wires: Mapping[str, str]
    line: int


@dataclass
class _Model:
    name: str
    line: int
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    latches: list[Latch] = field(default_factory=list)
    instances: list[_Instance] = field(default_factory=list)


def read_blif(path: str) -> Netlist:
    """The first model of a file, with all instances put in."""
    reader = _Reader(path)
    reader.read(read_text(path, LINE_BYTE))
    return reader.flat()


class _Reader:
    """The models of a file by name, in order."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.models: dict[str, _Model] = {}

    def fail(self, line: int, message: str) -> NoReturn:
        raise InputError(f"{self.path}:{line}: {message}")

    def read(self, text: str) -> None:
        model: _Model | None = None
        head: tuple[list[str], int] | None = None  # a table whose rows come next
        rows: list[tuple[str, str, int]] = []
        for line, words in _lines(text):
            if not words[0].startswith("."):
                if head is None or model is None:
                    self.fail(line, f"expected a command such as .names, found {words[0]!r}")
                rows.append(self.row(words, len(head[0]) - 1, line))
                continue
            if head is not None and model is not None:
                model.tables.append(self.table(*head, rows))
                head, rows = None, []
            command, *names = words
            if command == ".model":
                name = names[0] if names else "main"
                if name in self.models:
                    self.fail(line, f"the model {name!r} is there twice")
                model = self.models[name] = _Model(name, line)
                continue
            if command == ".end":
                model = None
                continue
            if model is None:
                if self.models:
                    self.fail(line, f"{command} stands outside of a model")
                model = self.models["main"] = _Model("main", line)  # .model may be left out
            match command:
                case ".inputs":
                    model.inputs += names
                case ".outputs":
                    model.outputs += names
                case ".names":
                    if not names:
                        self.fail(line, "a table is written .names INPUTS… OUTPUT")
                    head = names, line
                case ".latch":
                    model.latches.append(self.latch(names, line))
                case ".subckt":
                    model.instances.append(self.instance(names, line))
                case ".gate" | ".mlatch":
                    self.fail(line, f"{command} is of a library of cells: write the circuit without mapping, in .names")
                case _ if command not in SKIPPED:
                    self.fail(line, f"{command} is not supported: .names, .latch and .subckt are")
        if head is not None and model is not None:
            model.tables.append(self.table(*head, rows))
        if not self.models:
            raise InputError(f"{self.path}: there is no circuit in the file")

    def row(self, words: Sequence[str], count: int, line: int) -> tuple[str, str, int]:
        """A line of a table: what the inputs match, and the value of the output."""
        cube, value = ("", words[0]) if len(words) == 1 and not count else (words[0], words[-1])
        if len(words) > 2 or (count and len(words) != 2) or len(cube) != count or not set(cube) <= set("01-"):
            self.fail(line, f"a row of this table has {count} signs 0, 1 or - and a value, found {' '.join(words)!r}")
        if value not in ("0", "1"):
            self.fail(line, f"the value of a row must be 0 or 1, not {value!r}")
        return cube, value, line

    def table(self, names: Sequence[str], line: int, rows: Sequence[tuple[str, str, int]]) -> Table:
        for _, value, at in rows:
            if value != rows[0][1]:
                self.fail(at, "the rows of a table must all have the same value, 0 or 1")
        cubes = tuple(dict.fromkeys(cube for cube, _, _ in rows))
        return Table(tuple(names[:-1]), names[-1], cubes, not rows or rows[0][1] == "1", line)

    def latch(self, words: Sequence[str], line: int) -> Latch:
        if not 2 <= len(words) <= 5:
            self.fail(line, "a latch is written .latch INPUT OUTPUT [TYPE CLOCK] [START]")
        source, output, *more = words
        start = more.pop() if len(more) % 2 else "3"
        if start not in ("0", "1", "2", "3"):
            self.fail(line, f"the first value of a latch must be 0, 1, 2 or 3, not {start!r}")
        if more and more[0] in LEVELS:
            self.fail(
                line, f"the latch {output!r} follows the level of a signal: only those that follow an edge can be"
            )
        if more and more[0] not in EDGES:
            self.fail(line, f"the type of a latch must be re or fe, not {more[0]!r}")
        return Latch(source, output, start == "1", line)

    def instance(self, words: Sequence[str], line: int) -> _Instance:
        wires: dict[str, str] = {}
        for word in words[1:]:
            formal, equals, actual = word.partition("=")
            if not (formal and equals and actual) or formal in wires:
                self.fail(line, f"expected NAME=WIRE, each name once, found {word!r}")
            wires[formal] = actual
        if not words:
            self.fail(line, "an instance is written .subckt MODEL NAME=WIRE…")
        return _Instance(words[0], wires, line)

    def flat(self) -> Netlist:
        """The first model with the tables and latches of all instances, whose inner wires get names of their own."""
        main = next(iter(self.models.values()))
        if not main.outputs:
            self.fail(main.line, f"the model {main.name!r} has no outputs")
        tables: dict[str, Table] = {}
        latches: dict[str, Latch] = {}
        driven: dict[str, int] = {}
        stack: list[tuple[_Model, str, Mapping[str, str], tuple[str, ...]]] = [(main, "", {}, (main.name,))]
        while stack:
            check()
            model, prefix, wires, above = stack.pop()

            def wire(name: str, prefix: str = prefix, wires: Mapping[str, str] = wires) -> str:
                return wires.get(name, prefix + name)

            for table in model.tables:
                found = table._replace(inputs=tuple(map(wire, table.inputs)), output=wire(table.output))
                self.drive(driven, found.output, table.line)
                tables[found.output] = found
            for latch in model.latches:
                kept = latch._replace(input=wire(latch.input), output=wire(latch.output))
                self.drive(driven, kept.output, latch.line)
                latches[kept.output] = kept
            for number, (name, given, line) in enumerate(model.instances):
                below = self.models.get(name)
                if below is None:
                    self.fail(line, f"there is no model {name!r} in the file")
                if name in above or len(above) > DEEPEST:
                    self.fail(line, f"the model {name!r} is put into itself")
                ports = {*below.inputs, *below.outputs}
                unknown = next((formal for formal in given if formal not in ports), None)
                if unknown is not None:
                    self.fail(line, f"the model {name!r} has no input or output {unknown!r}")
                open_input = next((formal for formal in below.inputs if formal not in given), None)
                if open_input is not None:
                    self.fail(line, f"the input {open_input!r} of {name!r} is not connected")
                inner = {formal: wire(actual) for formal, actual in given.items()}
                stack.append((below, f"{prefix}{name}.{number}.", inner, (*above, name)))
        for name in main.inputs:
            if name in driven:
                self.fail(driven[name], f"{name!r} is an input, which nothing else may drive")
        for name, line in _needs(main, tables, latches):
            if name not in driven and name not in main.inputs:
                self.fail(line, f"nothing drives {name!r}")
        return Netlist(
            main.name, tuple(dict.fromkeys(main.inputs)), tuple(dict.fromkeys(main.outputs)), tables, latches, self.path
        )

    def drive(self, driven: dict[str, int], name: str, line: int) -> None:
        if name in driven:
            self.fail(line, f"{name!r} is driven twice, in line {driven[name]} too")
        driven[name] = line


def _needs(main: _Model, tables: Mapping[str, Table], latches: Mapping[str, Latch]) -> Iterator[tuple[str, int]]:
    """The wires that are read, with the lines that read them."""
    yield from ((name, main.line) for name in main.outputs)
    yield from ((name, table.line) for table in tables.values() for name in table.inputs)
    yield from ((latch.input, latch.line) for latch in latches.values())


def _lines(text: str) -> Iterator[tuple[int, list[str]]]:
    """The lines with words in them, comments left out and continued lines joined, by the number of their first."""
    pending: list[str] = []
    first = 0
    for number, line in enumerate(text.splitlines(), 1):
        check()
        bare = line.partition("#")[0].rstrip()
        goes_on = bare.endswith("\\")
        if not pending:
            first = number
        pending += bare.removesuffix("\\").split()
        if pending and not goes_on:
            yield first, pending
            pending = []
    if pending:
        yield first, pending
