"""Programs as Python sees them: run, explained, simulated and built by their methods.

A :class:`Program` wraps the one of ``skinny.model`` and takes and gives plain numbers. Each method does what the
command of its name does. Whatever cannot be used is an :exc:`InputError` of one line.
"""

from __future__ import annotations

import html
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from skinny.model.bounds.box import Box, window_box
from skinny.model.errors import InputError, PrecisionWarning
from skinny.model.parallel.image import ImageOptions, build_image
from skinny.model.program import storage
from skinny.model.program.program import Program as ModelProgram
from skinny.model.program.text import check_names, dumps, instruction_texts, scalar_texts
from skinny.model.program.units import Encoded, Units
from skinny.model.rings import Number, Ring
from skinny.model.run.explain import METHODS
from skinny.model.run.precision import Precision, lost_weights
from skinny.model.run.stream import begin_streams, runs_of

from .answers import (
    SEEDS,
    bounds,
    describe,
    expect_bare_estimate,
    expect_own_parts,
    explanation,
    losses,
    random_inputs,
    simulation,
    watched_run,
)
from .extras import needs_extra
from .streams import (
    Piece,
    first_sample,
    random_samples,
    samples_for,
    stream_results,
    stream_simulation,
    tuned,
    watched_stream,
)
from .trace import Trace
from .values import (
    as_box,
    as_elements,
    as_number,
    as_path,
    as_ring,
    as_row,
    as_samples,
    as_start,
    as_whole,
    expect_choice,
    listed,
    several,
    shown,
)

__all__ = ["Program", "load"]

#: Lines of a listing that a notebook shows from its beginning and from its end.
SHOWN = 40

Path = str | os.PathLike[str]
#: A number for each output, or a list of them for a batch; by name where there are several outputs.
Results = Number | list[Number] | dict[str, Number] | dict[str, list[Number]]
#: A list of numbers for each output of a stream, or a list of them for several streams; by name as above.
StreamResults = list[Number] | list[list[Number]] | dict[str, list[Number]] | dict[str, list[list[Number]]]


def load(path: Path) -> Program:
    """The program that a ``.skn`` or ``.npz`` file holds."""
    return Program(storage.load(as_path(path)))


class Program:
    """A straight-line program on a few registers. ``model`` is the program that ``skinny.model`` computes with.

    ``print`` shows its listing. ``inputs`` and ``outputs`` are names, ``len(program)`` is the number of instructions.
    """

    __slots__ = ("model",)

    def __init__(self, model: ModelProgram) -> None:
        if not isinstance(model, ModelProgram):
            raise InputError(f"a Program is made by skinny.compile or skinny.load, not from {shown(model)}")
        check_names(model)
        self.model = model

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the inputs, of a stream program the words of a sample, in the order in which lists and arrays
        hold their values."""
        return self.model.samples

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the outputs."""
        return tuple(output.name for output in self.model.outputs)

    @property
    def width(self) -> int:
        """The number of registers."""
        return self.model.width

    @property
    def contract(self) -> str:
        """The contract that the program keeps: ``clean`` or ``in-place``."""
        return self.model.contract

    @property
    def title(self) -> str:
        """The formula that the program was compiled from."""
        return self.model.title

    def __len__(self) -> int:
        return len(self.model)

    def __eq__(self, other: object) -> bool:
        return self.model == other.model if isinstance(other, Program) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return (
            f"<Program {listed(self.outputs)} from {listed(self.inputs) or 'no inputs'}: "
            f"{several(len(self), 'instruction')} on {self.width} registers, {self.contract}>"
        )

    def __str__(self) -> str:
        return dumps(self.model)

    def _repr_html_(self) -> str:
        if len(self) + len(self.outputs) + len(self.model.weights) + len(self.model.forms) <= 2 * SHOWN:
            lines = str(self).split("\n")
        else:
            scalars, end = scalar_texts(self.model), len(self)
            first, last = (
                instruction_texts(self.model, scalars, *part)
                for part in ((0, min(SHOWN, end)), (max(SHOWN, end - SHOWN), end))
            )
            hidden = end - len(first) - len(last)
            lines = [*first, *([f"… {several(hidden, 'more instruction')} …"] if hidden else []), *last]
        return f"<p>{html.escape(repr(self)[1:-1])}</p><pre>{html.escape(chr(10).join(lines))}</pre>"

    def run(
        self, inputs: Any = None, ring: str | Ring | None = None, *, start: Sequence[Number] | None = None
    ) -> Results:
        """The outputs as numbers in the user's units, bit for bit as the hardware computes them.

        One inference is a list of numbers in the order of :attr:`inputs`, or a dict of numbers by name; it gives a
        number. A batch is a list of lists, an array of shape ``(batch, inputs)``, a dict of lists or a DataFrame; it
        gives a list of numbers. Several outputs give a dict by name. The ring is by default the one that the program
        was compiled for, or ``exact``. ``start`` takes the place of the start vector. What fixed point takes away, a
        weight that becomes zero or a row that wraps, is a :exc:`~skinny.model.errors.PrecisionWarning`.
        """
        ring = self._ring(ring, "exact")
        units = Units(self.model, ring)
        given, single = as_elements(self._given(inputs), units)
        found, precision = watched_run(self.model, ring, given, as_start(start, self.width, ring))
        _warn(precision)
        columns = units.decode_columns(found)
        if len(columns) == 1:
            (column,) = columns.values()
            return column[0] if single else column
        return {name: column[0] for name, column in columns.items()} if single else columns

    @property
    def states(self) -> dict[str, int]:
        """The states of a stream program, by name, and their registers."""
        return dict(self.model.state)

    def run_stream(
        self,
        samples: Any = None,
        ring: str | Ring | None = None,
        *,
        pad: bool = False,
        retune: Mapping[int, Mapping[str, Number]] | None = None,
    ) -> StreamResults:
        """The outputs of a program with states or a window on a stream, one list of numbers for each output.

        ``samples`` are those of one stream, in the order of time, as :meth:`run` takes a batch; or an array of shape
        ``(streams, samples, words)``, and there is a list for each stream then. A program without inputs takes the
        number of samples. A window has results when it is full: with the first sample if ``pad`` puts zeros before it.
        ``retune`` sets named weights while the stream runs, ``{500: {"kp": 1.2}}`` before sample 500, counted from 1.
        Ring and warnings are as for :meth:`run`.
        """
        ring = self._ring(ring, "exact")
        units = Units(self.model, ring)
        given, single = self._samples(samples, units, pad)
        pieces = tuned(self.model, retune or {}, given.elements.shape[1])
        found, precision = watched_stream(pieces, ring, given, pad)
        _warn(precision)
        return _results(units, found, single)

    def trace(
        self,
        inputs: Any = None,
        ring: str | Ring | None = None,
        *,
        start: Sequence[Number] | None = None,
        before: Any = None,
        pad: bool = False,
    ) -> Trace:
        """The registers after each instruction of one inference; ring and warnings are as for :meth:`run`. Of a stream
        program ``inputs`` is one sample, ``before`` are the samples before it, and ``pad`` is as for
        :meth:`run_stream`."""
        ring = self._ring(ring, "exact")
        if self.model.streaming:
            if start is not None:
                raise InputError("a sample starts from what the samples before it left: it goes without start")
            return self._trace_sample(inputs, before, ring, pad)
        if before is not None:
            self.model.expect_stream("before needs")
        row = as_row(self._given(inputs), Units(self.model, ring), "inputs")
        first = as_start(start, self.width, ring)
        _warn(watched_run(self.model, ring, row, first)[1])
        return Trace(self.model, ring, row.elements[0], first)

    def _trace_sample(self, sample: Any, before: Any, ring: Ring, pad: bool) -> Trace:
        units = Units(self.model, ring)
        last = as_row(sample, units, "inputs")
        samples = Encoded(*(part[None] for part in last))
        if before is not None:
            earlier = self._samples(before, units, pad)[0]
            samples = Encoded(*(np.concatenate(parts, axis=1) for parts in zip(earlier, samples, strict=True)))
        first = first_sample(self.model, pad)
        count = samples.elements.shape[1]
        if count < first:
            raise InputError(f"the window is full with sample {first}, not with {count}: pad fills it with zeros")
        _warn(watched_stream([Piece(0, self.model)], ring, samples, pad)[1])
        state = begin_streams(self.model, ring, 1, padded=pad)
        found, starts = runs_of(self.model, ring, samples.elements[0], state)
        return Trace(self.model, ring, found[-1], starts[-1])

    def _samples(self, given: Any, units: Units, pad: bool) -> tuple[Encoded, bool]:
        self.model.expect_stream("a stream needs")
        if pad and not self.model.window:
            raise InputError("pad fills a window, but the program has none")
        return as_samples(given, units)

    def bound(self, ring: str | Ring | None = None, box: Any = None, *, error: Number | None = None) -> dict[str, Any]:
        """Proven ranges of the registers and errors of the outputs in fixed point.

        ``box`` is the least and the greatest value of every input, ``(-1, 1)``, or a dict of such pairs by name; ring
        and box are by default those that the program was compiled for. Where the program is not safe, or misses the
        ``error`` that is wanted, a format that does is suggested. What is not proven is None; ``skinny bound --help``
        explains the keys.
        """
        wanted = None if error is None else as_number(error, "error")
        if wanted is not None and wanted <= 0:
            raise InputError(f"error must be above zero, not {error}")
        if box is None:
            if self.model.box is None and self.inputs:
                raise InputError("the program was compiled for no box in particular: give a box")
            sides: Box = self.model.box or ()
        else:
            sides = window_box(self.model, as_box(box, self.model.samples))
        return bounds(self.model, self._ring(ring), sides, wanted)

    def explain(self, a: Any, b: Any, ring: str | Ring | None = None, *, shares: str | None = None) -> dict[str, Any]:
        """Why the inputs ``a`` and ``b`` give different outputs: where the runs part, and the share of every input in
        the difference of each output. ``shares`` is ``line`` or ``order`` (docs/explain.md)."""
        ring = self._ring(ring, "exact")
        if shares is not None:
            expect_choice(shares, METHODS, "shares")
        units = Units(self.model, ring)
        before, after = (as_row(self._given(given), units, what).elements[0] for given, what in ((a, "a"), (b, "b")))
        return explanation(self.model, ring, before, after, shares)

    def info(self, ring: str | Ring | None = None) -> dict[str, Any]:
        """The size of the program, what it reads, its scales and the limits of its speed-up; ``ring`` is that of the
        state bits, the program's own or ``modular:16`` if it is left out."""
        return describe(self.model, self._ring(ring, "modular:16"))

    @property
    def named_weights(self) -> dict[str, Fraction]:
        """The values of the weights that have a name."""
        return {weight.name: weight.value for weight in self.model.named}

    def with_weights(self, **values: Number) -> Program:
        """The same program with other values of its named weights, which must be in their ranges."""
        return Program(self.model.with_weights(**values))

    def save(self, path: Path) -> None:
        """Write the program to a ``.skn`` (text) or ``.npz`` (binary) file."""
        storage.save(self.model, as_path(path))

    @needs_extra("sim")
    def simulate(
        self,
        inputs: Any = None,
        ring: str | Ring | None = None,
        *,
        random: int | None = None,
        threads: int | None = None,
        registers: str | None = None,
        lanes: int = 1,
        self_check: bool | None = None,
        roll: bool = False,
        simulator: str | None = None,
        vcd: Path | None = None,
    ) -> dict[str, Any]:
        """Simulate the core and compare it with the cycle model in every cycle; a difference is a :exc:`CheckError`.

        ``inputs`` are as for :meth:`run`; or ``random`` is the number of random inferences. ``results`` holds a list of
        numbers for each output, in the user's units. ``skinny sim --help`` explains the options and the other keys.
        """
        # Loaded here, because the other methods need neither Amaranth nor cocotb.
        from skinny.sim import SIMULATORS
        from skinny.sim.simulators.choose import choose

        ring = self._ring(ring)
        units = Units(self.model, ring)
        if simulator is not None:
            expect_choice(simulator, SIMULATORS, "simulator")
        waveform = None if vcd is None else as_path(vcd, "waveform")
        if random is None:
            given, _ = as_elements(self._given(inputs), units)
        elif inputs is not None:
            raise InputError("give inputs or a number of random inferences, not both")
        else:
            given = random_inputs(as_whole(random, "number of random inferences"), self.model, ring)
        precision = losses(self.model, ring, given, drawn=random is not None)
        _warn(precision)
        image = self._image(ring, lanes, self_check, threads, registers, roll)
        taken, _ = choose(simulator, waveform is not None)
        began = perf_counter()
        found, figures = simulation(image, given.elements, taken, waveform)
        figures |= {"simulator": taken, "seconds": perf_counter() - began, "precision": precision.counts}
        return figures | {"results": units.decode_columns(found)}

    @needs_extra("sim")
    def simulate_stream(
        self,
        samples: Any = None,
        ring: str | Ring | None = None,
        *,
        random: int | None = None,
        pad: bool = False,
        retune: Mapping[int, Mapping[str, Number]] | None = None,
        threads: int | None = None,
        roll: bool = False,
        simulator: str | None = None,
        vcd: Path | None = None,
    ) -> dict[str, Any]:
        """Simulate the core on streams, a thread for each, and compare it with the cycle model in every cycle; a
        difference is a :exc:`CheckError`.

        ``samples`` and ``retune`` are as for :meth:`run_stream`; or ``random`` is the number of random samples of as
        many streams as the core has threads. ``results`` holds what :meth:`run_stream` gives, by name. ``skinny sim
        --help`` explains the options and the other keys.
        """
        from skinny.sim import SIMULATORS
        from skinny.sim.simulators.choose import choose

        ring = self._ring(ring)
        units = Units(self.model, ring)
        self.model.expect_stream("a stream needs")
        if simulator is not None:
            expect_choice(simulator, SIMULATORS, "simulator")
        waveform = None if vcd is None else as_path(vcd, "waveform")
        image = self._image(ring, 1, None, threads, None, roll)
        if random is None:
            given, single = self._samples(samples, units, pad)
        elif samples is not None:
            raise InputError("give samples or a number of random samples, not both")
        else:
            given, single = random_samples(as_whole(random, "number of random samples"), image), False
        pieces = tuned(self.model, retune or {}, given.elements.shape[1])
        expected, precision = watched_stream(pieces, ring, given, pad)
        precision = precision if random is None or self.model.box is not None else lost_weights(self.model, ring)
        _warn(precision)
        taken, _ = choose(simulator, waveform is not None)
        began = perf_counter()
        found, figures = stream_simulation(image, pieces, given.elements, expected, taken, padded=pad, vcd=waveform)
        figures |= {"simulator": taken, "seconds": perf_counter() - began, "precision": precision.counts}
        columns = stream_results(units, found)
        return figures | {"results": {name: column[0] if single else column for name, column in columns.items()}}

    @needs_extra("sim")
    def verilog(
        self,
        folder: Path,
        ring: str | Ring | None = None,
        *,
        threads: int | None = None,
        registers: str | None = None,
        lanes: int = 1,
        self_check: bool | None = None,
        roll: bool = False,
        depth: int | None = None,
        rom: bool = False,
        vectors: int = 100,
    ) -> dict[str, Any]:
        """Write the core as Verilog, with a test bench that checks itself, into ``folder``; ``skinny verilog --help``
        explains the options and the keys."""
        from skinny.hdl.export.export import export
        from skinny.model.machine.cycles import latency

        target = as_path(folder, "folder")
        ring = self._ring(ring)
        image = self._image(ring, lanes, self_check, threads, registers, roll, depth)
        runs = as_whole(vectors, "number of vectors")
        if self.model.streaming:
            given = random_samples(samples_for(runs, image), image)
            precision = lost_weights(self.model, ring)
        else:
            given = random_inputs(runs, self.model, ring)
            precision = losses(self.model, ring, given, drawn=True)
        _warn(precision)
        return {
            "folder": target,
            "files": export(image, given.elements, target, rom=bool(rom)),
            "ring": ring.name,
            "threads": image.config.threads,
            "words": sum(map(len, image.lanes)),
            "cycles": latency(image),
            "precision": precision.counts,
        }

    @needs_extra("fpga")
    def fpga(
        self,
        device: str,
        ring: str | Ring | None = None,
        *,
        threads: int | None = None,
        registers: str | None = None,
        lanes: int = 1,
        self_check: bool | None = None,
        roll: bool = False,
        seeds: int | None = None,
        frequency: float | None = None,
        inferred: bool = False,
        depth: int | None = None,
        rom: bool = False,
        gate_level: bool | None = None,
        estimate: bool = False,
        folder: Path | None = None,
    ) -> dict[str, Any]:
        """Area and frequency of the core on an FPGA, from synthesis, place and route or, in a moment, by ``estimate``.
        ``folder`` takes Verilog, netlist, reports and a bitstream. ``skinny fpga --help`` explains the options and the
        keys."""
        from skinny.sim.fpga.devices import ICE40, find_device
        from skinny.sim.fpga.estimate import estimate_report
        from skinny.sim.fpga.expected import image_for

        found = find_device(device if isinstance(device, str) else shown(device))
        if inferred:
            expect_own_parts(found, "inferred")
        if estimate:
            expect_bare_estimate({"seeds": seeds, "frequency": frequency, "gate_level": gate_level, "folder": folder})
        runs = SEEDS if seeds is None else as_whole(seeds, "number of seeds")
        if not 1 <= runs <= 1000:
            raise InputError(f"the number of seeds must be 1 to 1000, not {runs}")
        aim = None if frequency is None else float(as_number(frequency, "frequency"))
        if aim is not None and not 1 <= aim <= 1000:
            raise InputError(f"the frequency must be 1 to 1000 MHz, not {aim:g}")
        written = None if folder is None else as_path(folder, "folder")
        ring = self._ring(ring)
        target = "generic" if inferred else found.family.target
        build = partial(image_for, found, target=target, rom=bool(rom))
        image = self._image(ring, lanes, self_check, threads, registers, roll, depth, build)
        precision = lost_weights(self.model, ring)
        _warn(precision)
        told = {"precision": precision.counts}
        if estimate:
            return estimate_report(image, found, target, rom=bool(rom)) | told

        from skinny.sim.fpga.gate import expect_gate_level
        from skinny.sim.fpga.report import Design, implement, write_design

        checked = found.family is ICE40 if gate_level is None else bool(gate_level)
        if checked:
            expect_gate_level(found)
        design = Design(image, found, rom=bool(rom), inferred=bool(inferred))
        report = implement(design, range(1, runs + 1), frequency=aim, gate_level=checked)
        files = {} if written is None else {"folder": written, "files": write_design(report, written)}
        return report.as_dict() | told | files

    def _given(self, inputs: Any) -> Any:
        """``inputs`` as the program takes them."""
        return inputs

    def _ring(self, given: str | Ring | None, default: str | None = None) -> Ring:
        """The ring ``given``, or that of the program, or ``default``."""
        chosen = given if given is not None else self.model.ring or default
        if chosen is None:
            raise InputError("the program was compiled for no ring in particular: give a ring")
        return as_ring(chosen)

    def _image(
        self,
        ring: Ring,
        lanes: int,
        self_check: bool | None,
        threads: int | None,
        registers: str | None,
        roll: bool,
        depth: int | None = None,
        build: Callable[..., Any] = build_image,
    ) -> Any:
        """The image of this program for a core, or for an engine of several lanes."""
        Units(self.model, ring)  # refuses a ring that has no scales
        options = ImageOptions(
            threads=None if threads is None else as_whole(threads, "number of threads"),
            lanes=as_whole(lanes, "number of lanes"),
            self_check=None if self_check is None else bool(self_check),
            depth=None if depth is None else as_whole(depth, "program depth"),
            registers=registers,
            roll=roll or None,
        )
        return build(self.model, ring, options)


def _results(units: Units, outputs: Any, single: bool) -> StreamResults:
    """What streams give, by name where there are several outputs, and without a list of streams where there is one."""
    columns = stream_results(units, outputs)
    if single:
        alone = {name: column[0] for name, column in columns.items()}
        return next(iter(alone.values())) if len(alone) == 1 else alone
    return next(iter(columns.values())) if len(columns) == 1 else columns


def _warn(precision: Precision) -> None:
    """The line that commands say, as a warning at the place of the call."""
    if precision.line:
        warnings.warn(precision.line, PrecisionWarning, stacklevel=3)
