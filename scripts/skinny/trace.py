"""The registers of one inference, step by step: as numbers, as lines of text and as a picture."""

from __future__ import annotations

import io
import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from skinny.model.errors import InputError
from skinny.model.files import expect_file, write_file
from skinny.model.program.program import Program
from skinny.model.program.text import instruction_texts, scalar_texts
from skinny.model.program.units import Units
from skinny.model.rings import Array, Number, Ring
from skinny.model.run.golden import trace, trace_chunks
from skinny.model.run.vcd import write_vcd

from .extras import needs_extra
from .values import as_path, readable, several

__all__ = ["COLOURS", "Trace", "draw_registers", "expect_png", "save_picture", "trace_lines"]

#: Colours that differ in lightness as well, so that they print.
COLOURS = ("#0b6e99", "#d9730d", "#5b3a8c", "#2f7d4f", "#a8324a", "#7a7a7a")
#: Steps, and outputs, that have room for their values in a picture.
MOST_LABELS = 24
#: Registers that have room in a picture.
MOST_REGISTERS = 64
#: Matplotlib finds no scale for values beyond.
LARGEST = 1e300


class Trace:
    """The registers of one inference: ``registers`` at the start and after each of the ``instructions``, and what was
    sent as ``outputs``, in the user's units. ``print`` shows a line for each instruction, a notebook a picture."""

    def __init__(self, program: Program, ring: Ring, inputs: Array, start: Array | None = None) -> None:
        self._given = (program, ring, inputs[None], start)
        with np.errstate(all="ignore"):  # floats may overflow; inf says so
            self._elements = trace(*self._given)[:, 0]
        self.ring = ring.name
        self.instructions = instruction_texts(program, scalar_texts(program), 0, len(program))
        self.registers: list[list[Number]] = ring.decode_all(self._elements)
        units = Units(program, ring)
        self.outputs = {
            o.name: units.in_output(number, self.registers[o.at][o.register])
            for number, o in enumerate(program.outputs)
        }

    def __len__(self) -> int:
        return len(self.instructions)

    def __repr__(self) -> str:
        return f"<Trace of {several(len(self), 'instruction')} in {self.ring}>"

    def __str__(self) -> str:
        with np.errstate(all="ignore"):
            return "\n".join(trace_lines(*self._given))

    def _repr_png_(self) -> bytes | None:
        picture = io.BytesIO()
        try:
            save_picture(self._figure(), picture)
        except InputError:  # a notebook then shows the text
            return None
        return picture.getvalue()

    def picture(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a ``.png`` file."""
        name = as_path(path)
        expect_png(name)
        figure = self._figure()
        write_file(name, lambda file: save_picture(figure, file))

    def vcd(self, path: str | os.PathLike[str]) -> None:
        """Write a waveform (value change dump), one time step for each instruction."""
        program, ring, *_ = self._given
        write_vcd(as_path(path), program, ring, self._elements)

    @needs_extra("picture")
    def _figure(self) -> Any:
        program, ring, *_ = self._given
        return draw_registers(program, ring, self._elements)


def trace_lines(
    program: Program, ring: Ring, inputs: Array, start: Array | None = None, bold: tuple[str, str] = ("", "")
) -> Iterator[str]:
    """A line for each instruction with the registers after it, made piece by piece, so that a long trace needs no
    memory and can be cut off by its reader. Columns are as wide as the first piece needs. What is written is marked
    with a star and stands between the texts ``bold``."""
    scalars = scalar_texts(program)
    sent: dict[int, list[str]] = {}
    for output in program.outputs:
        scale = f"·2^{output.scale}" if output.scale else ""
        text = f"{output.name} = R{output.register}{scale}{', restart' if output.restart else ''}"
        sent.setdefault(output.at, []).append(text)
    widths: list[int] = []
    step_width, text_width = len(str(len(program))), 0
    for first, piece in trace_chunks(program, ring, inputs, start):
        rows = [[str(readable(ring.decode(v), f"R{r}")) for r, v in enumerate(row)] for row in piece[:, 0]]
        texts = instruction_texts(program, scalars, max(0, first - 1), first + len(rows) - 1)
        written = program.code.dst[max(0, first - 1) : first + len(rows) - 1].tolist()
        if first == 0:
            texts.insert(0, "start")
            written.insert(0, -1)
            text_width = max(map(len, texts))
            widths = [max(3, *map(len, column)) for column in zip(*rows, strict=True)]
            heads = [f"R{register}".rjust(width) for register, width in enumerate(widths)]
            yield "  ".join([" " * step_width, " " * text_width, *heads])
        for step, text, target, row in zip(itertools.count(first), texts, written, rows, strict=False):
            cells = [
                f"{bold[0]}{value:>{width}}{bold[1]}*" if register == target else f"{value:>{width}} "
                for register, (value, width) in enumerate(zip(row, widths, strict=True))
            ]
            line = f"{step:>{step_width}}  {text:<{text_width}}  {' '.join(cells)}  {'; '.join(sent.get(step, ()))}"
            yield line.rstrip()


def draw_registers(program: Program, ring: Ring, registers: Array) -> Any:
    """A figure of the registers over time, from elements of shape ``(steps, width)``. The state after ``t``
    instructions fills the place from ``t`` to ``t + 1``; a dot is what is sent, a dashed line a restart."""
    # Loaded here, because Matplotlib takes longer to load than all the rest.
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    if program.width > MOST_REGISTERS:
        raise InputError(f"a picture has room for {MOST_REGISTERS} registers, not {program.width:,}: draw a waveform")
    steps = len(registers)
    figure = Figure(figsize=(10, 1.3 * program.width + 1.2), layout="constrained")
    axes = figure.subplots(program.width, 1, squeeze=False, sharex=True)[:, 0]
    for number, axis in enumerate(axes):
        values = _floats(ring, registers[:, number], number)
        axis.stairs(values, range(steps + 1), baseline=None, color=COLOURS[number % len(COLOURS)], linewidth=1.4)
        axis.set_ylabel(f"R{number}", rotation=0, labelpad=14)
        axis.margins(y=0.3)
        if min(values) == max(values):
            axis.set_ylim(values[0] - 1, values[0] + 1)
        axis.grid(alpha=0.3)
        if steps <= MOST_LABELS:
            sent = {output.at for output in program.outputs if output.register == number}
            for step, value in enumerate(values):
                if step not in sent and (step == 0 or value != values[step - 1]):
                    _label(axis, step, steps, value, f"{value:.6g}", "#404040")
    units = Units(program, ring)
    for number, output in enumerate(program.outputs):
        element = registers[output.at, output.register]
        axis, value = axes[output.register], float(ring.decode(element))
        axis.plot(output.at + 0.5, value, "o", color="black", markersize=4)
        if len(program.outputs) <= MOST_LABELS:
            text = f"{output.name} = {float(units.in_output(number, ring.decode(element))):.6g}"
            _label(axis, output.at, steps, value, text, "black", below=number % 2 == 1)
        if output.restart:
            for each in axes:
                each.axvline(output.at + 1, color="black", linewidth=1, linestyle="--")
            if len(program.outputs) <= MOST_LABELS:
                place = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "va": "top"}
                axes[0].annotate("restart", (output.at + 1, 1), (3, -3), fontsize=8, **place)
    axes[0].set_title(f"registers of one inference in {ring.name}: {several(len(program), 'instruction')}")
    axes[-1].set_xlabel("instructions done")
    axes[-1].set_xlim(0, steps)
    axes[-1].xaxis.set_major_locator(MaxNLocator("auto", integer=True))
    return figure


def _floats(ring: Ring, elements: Array, register: int) -> list[float]:
    """What can be drawn of a register, or an error."""
    try:
        values = [float(ring.decode(element)) for element in elements]
    except OverflowError:
        values = [np.inf]
    if not max(map(abs, values)) < LARGEST:
        raise InputError(f"R{register}: a value is too large to be drawn")
    return values


def _label(axis: Any, step: int, steps: int, value: float, text: str, colour: str, *, below: bool = False) -> None:
    """Write ``text`` above or below the middle of a step, inside the picture."""
    side = "center" if 0.06 < (step + 0.5) / steps < 0.94 else "left" if 2 * step < steps else "right"
    place = {"ha": side, "va": "top" if below else "bottom", "textcoords": "offset points"}
    paper = {"facecolor": "white", "alpha": 0.7, "edgecolor": "none", "pad": 1}
    axis.annotate(text, (step + 0.5, value), (0, -5 if below else 5), fontsize=8, color=colour, bbox=paper, **place)


def save_picture(figure: Any, file: IO[bytes]) -> None:
    """Write ``figure`` as PNG."""
    figure.savefig(file, format="png", dpi=110)


def expect_png(path: str) -> None:
    """Refuse a name that is not that of a picture, or cannot be written."""
    if Path(path).suffix != ".png":
        raise InputError(f"{path}: the name of a picture must end in .png")
    expect_file(path)
