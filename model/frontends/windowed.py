"""Windowed: the program of a model whose inputs are the newest words of a stream.

Precondition: a program whose inputs are some of the model's, which are in the order of time, the oldest first, and
share one scale. Postcondition: the same instructions, with a window of the inputs, of which ``hop`` words arrive each
sample. Cost: linear.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from skinny.model.errors import InputError
from skinny.model.program.forms import renumbered
from skinny.model.program.program import Program
from skinny.model.program.streams import window_inputs

__all__ = ["windowed"]


def windowed(program: Program, inputs: Sequence[str], hop: int) -> Program:
    """``program`` of the model with these ``inputs`` as one that runs on streams."""
    count = len(inputs)
    if not 1 <= hop <= count:
        raise InputError(f"a window of {count} inputs takes 1 to {count} new words a sample, not {hop}")
    scale = next(iter(program.input_scales), 0)
    for name, other in zip(program.inputs, program.input_scales, strict=True):
        if other != scale:
            raise InputError(
                f"{program.inputs[0]} and {name} have ranges of another size, but are one word of a stream at "
                "different times: give calibration rows, or a box, in which all inputs have one range"
            )
    age = {name: count - 1 - place for place, name in enumerate(inputs)}
    newest = max(hop, 1 + max((age[name] for name in program.inputs), default=0))
    base = re.sub("_?[0-9]*$", "", inputs[0]) or "x"
    names = window_inputs([base] if hop == 1 else [f"{base}{place}" for place in range(hop)], newest)
    places = [age[name] for name in program.inputs]
    side = None
    if program.box:
        side = min(low for low, _ in program.box), max(high for _, high in program.box)
    return replace(
        program,
        inputs=names,
        forms=tuple(renumbered(program.forms, places, range(len(program.weights)))),
        input_scales=(scale,) * newest,
        box=None if side is None else (side,) * newest,
        window=1 << (newest - 1).bit_length(),
        hop=hop,
    )
