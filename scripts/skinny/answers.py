"""Answers about a program, as dicts of plain numbers: the commands print them, Python gets them as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from skinny.model.bounds.bounds import bound
from skinny.model.bounds.box import Box
from skinny.model.bounds.suggest import suggest
from skinny.model.errors import CheckError, InputError
from skinny.model.program.program import Input, Linear, Program, Weight
from skinny.model.program.text import instruction_texts, scalar_texts
from skinny.model.rings import Array, FixedPoint, Number, Real, Ring
from skinny.model.run.explain import divergence, shares
from skinny.model.run.golden import run

if TYPE_CHECKING:
    from skinny.model.machine.image import MachineImage
    from skinny.sim.check.record import Record
    from skinny.sim.check.stimulus import Stimulus
    from skinny.sim.fpga.devices import Device

__all__ = [
    "SEEDS",
    "bounds",
    "critical_path",
    "describe",
    "expect_bare_estimate",
    "expect_fixed_point",
    "expect_own_parts",
    "explanation",
    "random_inputs",
    "reads",
    "simulation",
]

#: Runs of place and route, unless others are asked for.
SEEDS = 3
#: Numbers of lanes that the limit by segments is stated for.
LANES = (2, 4, 8)
#: Instructions simulated between two steps of the progress bar, by simulator.
CHUNK = {"bulk": 2_000_000, "verilator": 1 << 60, "amaranth": 20_000}


def expect_bare_estimate(given: dict[str, object]) -> None:
    """Raise :exc:`InputError` unless all options of ``given``, by the names that a person knows, are None: they tell
    tools what to do, and an estimate runs none."""
    named = [name for name, value in given.items() if value is not None]
    if named:
        raise InputError(f"an estimate runs no tool and writes no file: it goes without {' and '.join(named)}")


def expect_own_parts(device: Device, name: str) -> None:
    """Raise :exc:`InputError` when ``device`` has generic parts only, so that the option ``name`` means nothing."""
    if device.family.target == "generic":
        raise InputError(f"designs for {device.name} have generic parts always: they go without {name}")


def describe(program: Program, ring: Ring) -> dict[str, Any]:
    """The size of a program, what it reads and the limits of its speed-up; ``skinny info --help`` explains the keys."""
    linear = sum(isinstance(form, Linear) for form in program.forms)
    length, words, levels = len(program), program.words, program.depth
    input_reads, weight_reads = reads(program)
    most = max(input_reads, default=0)
    return {
        "title": program.title,
        "length": length,
        "words": words,
        "attends": words - length,
        "width": program.width,
        "contract": program.contract,
        "start": program.start,
        "levels": levels,
        "critical_path": critical_path(program),
        "speedup": {
            "levels": length / levels if levels else 1.0,
            "reads": length / most if most else None,
            "segments": {str(lanes): by_segments(words, program.width, lanes) for lanes in LANES},
        },
        "inputs": dict(zip(program.inputs, input_reads, strict=True)),
        "most_read": program.inputs[input_reads.index(most)] if most else None,
        "outputs": [output.name for output in program.outputs],
        "weights": len(program.weights),
        "weight_reads": weight_reads,
        "derived_weights": sum(program.derived),
        "forms": len(program.forms),
        "linear_forms": linear,
        "ring": ring.name,
        "state_bits": (program.width + bool(linear)) * ring.bits,
    }


def reads(program: Program) -> tuple[list[int], list[int]]:
    """The numbers of instructions that use each input, and those that use each weight."""
    uses = np.bincount(program.code.form, minlength=len(program.forms)).tolist()
    inputs, weights = [0] * len(program.inputs), [0] * len(program.weights)
    for form, count in zip(program.forms, uses, strict=True):
        match form:
            case Input(u):
                inputs[u] += count
            case Weight(k):
                weights[k] += count
            case Linear():
                for u in {u for _, u in form.steps() if u >= 0}:
                    inputs[u] += count
                for k in {k for k, _ in form.steps()}:
                    weights[k] += count
    return inputs, weights


def critical_path(program: Program) -> dict[str, int]:
    """A longest chain of instructions that do not commute, counted by what they multiply with."""
    counts = {"inputs": 0, "weights": 0, "linear_forms": 0}
    kinds = {Input: "inputs", Weight: "weights", Linear: "linear_forms"}
    code = program.code
    columns = (program.level_numbers(), code.dst, code.src, code.form)
    wanted, read, written = program.depth, None, None
    for level, dst, src, form in zip(*(column[::-1].tolist() for column in columns), strict=True):
        if level == wanted and (read is None or dst == read or src == written):
            counts[kinds[type(program.forms[form])]] += 1
            wanted, read, written = level - 1, src, dst
    return counts


def by_segments(words: int, width: int, lanes: int) -> float:
    """The speed-up of ``lanes`` lanes with a segment each, which are then combined."""
    return words / (-(-words // lanes) + (lanes - 1) * width**2) if words else 1.0


def expect_fixed_point(ring: Ring) -> FixedPoint:
    """Refuse a ring that has no bounds."""
    if not isinstance(ring, FixedPoint):
        raise InputError(f"bounds are for fixed point: expected fixed:BITS.FRAC, not {ring.name!r}")
    return ring


def bounds(program: Program, ring: Ring, box: Box, error: Fraction | None = None) -> dict[str, Any]:
    """Proven ranges and errors in fixed point; ``skinny bound --help`` explains the keys. Where the program is not
    safe, or an ``error`` is wanted, a format is suggested."""
    found = bound(program, expect_fixed_point(ring), box)
    answer: dict[str, Any] = {
        "ring": ring.name,
        "safe": found.safe,
        "errors": found.errors,
        "ranges": found.ranges.tolist(),
        "overflow": None,
    }
    if found.overflow is not None:
        at, register, low, high = found.overflow
        answer["overflow"] = {
            "instruction": at,
            "text": instruction_texts(program, scalar_texts(program), at, at + 1)[0],
            "register": register,
            "low": low,
            "high": high,
        }
    if error is not None or not found.safe:
        try:
            answer["suggestion"] = suggest(program, box, error).name
        except InputError as problem:
            answer["suggestion"] = None
            answer["suggestion_failed"] = str(problem)
    return answer


def explanation(program: Program, ring: Ring, a: Array, b: Array, method: str | None = None) -> dict[str, Any]:
    """Why the inputs ``a`` and ``b`` give different outputs; ``skinny explain --help`` explains the keys."""
    with np.errstate(all="ignore"):  # floats may overflow, which is then named
        parting = divergence(program, ring, a, b)
        found = shares(program, ring, a, b, method)
        sent = run(program, ring, np.stack([a, b])).outputs
    scalars = scalar_texts(program)

    def rational(value: Number) -> Number:
        """A rational as the ring writes its numbers, if it can."""
        if isinstance(ring, FixedPoint | Real) and Fraction(float(value)) == value:
            return float(value)
        return value

    def instruction(step: int) -> str:
        return instruction_texts(program, scalars, step - 1, step)[0]

    return {
        "ring": ring.name,
        "method": found.method,
        "inputs": {
            side: dict(zip(program.inputs, ring.decode_all(elements), strict=True))
            for side, elements in (("a", a), ("b", b))
        },
        "outputs": {
            output.name: {
                "a": ring.decode(sent[0, number]),
                "b": ring.decode(sent[1, number]),
                "difference": rational(found.difference[number]),
                "shares": dict(zip(program.inputs, map(rational, found.inputs[number]), strict=True)),
                "remainder": rational(found.remainder[number]),
            }
            for number, output in enumerate(program.outputs)
        },
        "parts": parting.first and {"step": parting.first, "instruction": instruction(parting.first)},
        "growth": [
            {
                "step": entry.step,
                "instruction": instruction(entry.step),
                "register": entry.register,
                "a": ring.decode(entry.a),
                "b": ring.decode(entry.b),
                "growth": entry.growth,
            }
            for entry in parting.steps
        ],
    }


def random_inputs(count: int, inputs: int, ring: Ring) -> Array:
    """``count`` inferences, the same every time."""
    # Loaded here, because only simulations and test benches need Amaranth.
    from skinny.sim.check.stimulus import random_elements

    if not count >= 1:
        raise InputError(f"the number of random inferences must be at least 1, not {count}")
    return random_elements(np.random.default_rng(1), ring, (count, inputs))


def simulation(
    image: MachineImage,
    elements: Array,
    simulator: str,
    vcd: str | None = None,
    watch: Callable[[list[Stimulus]], Iterable[Stimulus]] = iter,
) -> tuple[Array, dict[str, Any]]:
    """Run the inputs ``elements`` on the simulated core that holds ``image``: the outputs as elements, and the figures
    of the run. The first difference from the cycle model or from the golden run is a :exc:`CheckError`. ``watch`` is
    given the stimuli, hands them out one after the other, and so can tell how far the run is."""
    from skinny.sim.check.record import outputs
    from skinny.sim.check.stimulus import Stimulus
    from skinny.sim.simulators.choose import simulate

    program, config, ring = image.program, image.config, image.config.ring
    vectors = config.pack(elements) if program.inputs else np.zeros((len(elements), 1), dtype=np.uint64)
    chunk = max(1, CHUNK[simulator] // (len(image) * config.threads * len(image.lanes))) * image.batch
    stimuli = [Stimulus.steady(image, vectors[first : first + chunk]) for first in range(0, len(vectors), chunk)]
    words, records = [], []
    for stimulus, record in zip(stimuli, simulate(image, watch(stimuli), simulator, vcd), strict=True):
        words.append(outputs(stimulus, record)[:, : len(program.outputs)])
        records.append(record)
    found = config.unpack(np.concatenate(words), len(elements))
    _compare(program, ring, image.golden(elements), found)
    figures = _figures(records, len(found), len(image.lanes))
    if len(image.lanes) > 1 and isinstance(ring, FixedPoint):
        sequential = run(program, ring, elements).outputs
        figures["largest_difference"] = float(np.abs(found - sequential).max()) / (1 << ring.frac)
    return found, figures


def _compare(program: Program, ring: Ring, expected: Array, found: Array) -> None:
    wrong = np.argwhere(expected != found)
    if len(wrong):
        row, column = wrong[0]
        name = program.outputs[column].name
        values = f"{ring.decode(expected[row, column])}, got {ring.decode(found[row, column])}"
        raise CheckError(f"inference {row + 1}, output {name}: the golden run gives {values}")


def _figures(records: list[Record], inferences: int, lanes: int) -> dict[str, Any]:
    cycles = sum(record.cycles for record in records)
    spans = sum(int(r.trace["cycle"][-1] - r.trace["cycle"][0]) + 1 for r in records if r.trace is not None)
    return {
        "match": True,
        "cycles": cycles,
        "cycles_per_inference": cycles / inferences,
        "multiplier_utilisation": sum(record.worked for record in records) / (spans * lanes),
    }
