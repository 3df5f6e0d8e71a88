"""The page of ``skinny explain``: ``explain.html`` filled with two traces and what was found about them."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from importlib.resources import files
from pathlib import PurePath
from typing import Any

import numpy as np
from skinny.model.errors import InputError
from skinny.model.files import write_file
from skinny.model.program.forms import Input, Linear, Weight
from skinny.model.program.program import Program
from skinny.model.program.text import scalar_texts
from skinny.model.rings import Array, Boolean, FixedPoint, Modular, PrimeField, Ring
from skinny.model.run.golden import packed_inputs, scalars, trace_chunks

from .common import readable

__all__ = ["places", "run_names", "short", "write_page"]

#: What stands in the template where the data go.
HOLE = "@DATA@"
#: Characters of a value that the page holds exactly; longer ones are rounded.
LONGEST = 48
#: Characters of the name of a run.
LONGEST_NAME = 24


def short(value: int | float | str, most: int = 14) -> int | float | str:
    """``value``, a number or a text like ``3/4``, or its leading digits if it has more than ``most`` characters."""
    if isinstance(value, float) or len(str(value)) <= most:
        return value
    exact = Fraction(value)
    return f"≈{Decimal(exact.numerator) / Decimal(exact.denominator):.8g}"


def run_names(a: str, b: str) -> list[str]:
    """What the page calls the runs: what the user gave, a file without its folders, shortened. Where that would be the
    same for both, a letter comes first."""
    names = [given if "=" in given else PurePath(given).name for given in (a, b)]
    names = [name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…" for name in names]
    return names if names[0] != names[1] else [f"{letter}: {name}" for letter, name in zip("ab", names, strict=True)]


def places(names: Sequence[str], count: int) -> list[int]:
    """The places of the inputs in a picture of ``count`` places, row by row: in the order of the numbers that their
    names end with, or else as listed. Where there are fewer inputs than places, the numbers are the places."""
    matches = [re.search("[0-9]{1,9}$", name) for name in names]
    numbers = [int(match[0]) for match in matches if match]
    numbered = len(set(numbers)) == len(names)
    if len(names) == count:
        ranks = {number: rank for rank, number in enumerate(sorted(numbers))}
        return [ranks[number] for number in numbers] if numbered else list(range(count))
    if len(names) > count or not numbered or max(numbers, default=0) >= count:
        raise InputError(f"--shape has {count:,} places, the program {len(names):,} inputs")
    return numbers


def write_page(
    path: str,
    answer: dict[str, Any],
    program: Program,
    ring: Ring,
    a: Array,
    b: Array,
    shape: tuple[int, int, list[int]] | None,
    given: tuple[str, str],
) -> None:
    """Write the page about ``answer``, what the command says in JSON; ``given`` are the texts that ``a`` and ``b`` were
    given by. The data are compressed: 10^4 steps take some hundred kilobytes."""
    program.expect_pure("the page needs")
    data = _data(answer, program, ring, np.stack([a, b])) | {"shape": shape, "names": run_names(*given)}
    packed = base64.b64encode(zlib.compress(json.dumps(data, separators=(",", ":"), allow_nan=False).encode(), 9))
    template = files(__package__).joinpath("explain.html").read_text(encoding="utf-8")
    page = template.replace(HOLE, packed.decode())
    write_file(path, lambda file: file.write(page.encode()))


def _plain(value: int | float | str) -> int | float | str:
    """A number that the page's 64-bit floats hold exactly, or a text."""
    return short(str(value) if isinstance(value, int) and abs(value) >= 1 << 53 else value, LONGEST)


def _data(answer: dict[str, Any], program: Program, ring: Ring, inputs: Array) -> dict[str, Any]:
    def plain_all(elements: Array, name: str) -> list[int | float | str]:
        return [_plain(readable(ring.decode(element), name)) for element in elements]

    written: list[list[int | float | str]] = [[], []]
    for first, seen in trace_chunks(program, ring, inputs):
        steps = np.arange(max(first, 1), first + len(seen))
        target = program.code.dst[steps - 1]
        for side in range(2):
            written[side] += plain_all(seen[steps - first, side, target], f"a register after step {first} or later")
    value = scalars(program, ring, packed_inputs(program, ring, inputs))
    forms = [np.broadcast_to(ring.unpack(value(number), 2), 2) for number in range(len(program.forms))]
    modulus = None
    if isinstance(ring, Modular | PrimeField | Boolean):
        modulus = ring.p if isinstance(ring, PrimeField) else 1 << ring.bits
    return {
        "title": program.title.lstrip("# "),
        "program": answer["program"],
        "ring": ring.name,
        "modulus": None if modulus is None else str(modulus),
        "signed": isinstance(ring, Modular | FixedPoint),
        "method": answer["method"],
        "width": program.width,
        "start": [_plain(readable(ring.decode(ring.encode(number)), "the start")) for number in program.start],
        "inputs": list(program.inputs),
        "given": [plain_all(row, "an input") for row in inputs],
        "weights": plain_all(program.quantise(ring), "a weight"),
        "scalars": scalar_texts(program),
        "forms": [_form(form) for form in program.forms],
        "values": [plain_all(side, "a form") for side in np.array(forms).reshape(-1, 2).T],
        "code": [column.tolist() for column in program.code.arrays()[:4]],
        "written": written,
        "restarts": sorted({output.at for output in program.outputs if output.restart}),
        "outputs": [
            {
                "name": output.name,
                "register": output.register,
                "at": output.at,
                **{key: _plain(answer["outputs"][output.name][key]) for key in ("a", "b", "difference", "remainder")},
                "shares": [_plain(share) for share in answer["outputs"][output.name]["shares"].values()],
            }
            for output in program.outputs
        ],
        "first": answer["parts"] and answer["parts"]["step"],
        "growth": [[each["step"], _plain(each["growth"])] for each in answer["growth"]],
    }


def _form(form: Input | Weight | Linear) -> list[Any]:
    """``[terms as (weight, input), bias]``; an input alone has the weight -1, which stands for one."""
    match form:
        case Input(u):
            return [[[-1, u]], None]
        case Weight(k):
            return [[], k]
        case Linear(terms, bias):
            return [terms, bias]
