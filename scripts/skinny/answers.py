"""Answers about a program, as dicts of plain numbers: the commands print them, Python gets them as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from skinny.model.bounds.bounds import bound
from skinny.model.bounds.box import Box
from skinny.model.bounds.suggest import suggest
from skinny.model.errors import CheckError, InputError
from skinny.model.limits import current, size_text
from skinny.model.machine.assemble import fit_image
from skinny.model.machine.isa import MOST_FLIPFLOPS, flat_words
from skinny.model.program.forms import Input, Linear, Weight
from skinny.model.program.program import Program
from skinny.model.program.promises import Break
from skinny.model.program.text import instruction_texts, scalar_texts
from skinny.model.program.units import Encoded, Units, scaled
from skinny.model.rings import Array, FixedPoint, Number, Real, Ring, exact_number
from skinny.model.run.explain import divergence, shares
from skinny.model.run.golden import run
from skinny.model.run.precision import Precision, lost_weights, outside_rows

from .values import printable

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
    "losses",
    "random_inputs",
    "reads",
    "simulation",
    "watched_run",
]

#: Runs of place and route, unless others are asked for.
SEEDS = 3
#: Words of the longest programs of which ``skinny info`` says how many words they have rolled.
MOST_ROLLED = 1 << 17
#: Numbers of lanes that the limit by segments is stated for.
LANES = (2, 4, 8)
#: Rows of random inputs that are drawn at once.
DRAWN = 1024
#: Bytes of memory for each word of random inputs and their results.
DRAWN_WORD = 64
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


def rolled_words(program: Program, ring: Ring) -> int | None:
    """The program words of an image in which what repeats is loops; None where nothing repeats, where no core runs the
    program, and for programs so long that it would take a while to say."""
    if program.words > MOST_ROLLED:
        return None
    try:
        image = fit_image(program, ring, roll=True)
    except InputError:
        return None
    return len(image) if image.rolled else None


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
        "memory_words": {
            "flat": flat_words(program, program.width > MOST_FLIPFLOPS),
            "rolled": rolled_words(program, ring),
        },
        "width": program.width,
        "contract": program.contract,
        "linear": program.linear,
        "reversible": program.reversible,
        "linear_break": _said(program.linear_break),
        "reversible_break": _said(program.reversible_break),
        "start": tuple(printable(program.start)),
        "states": dict(program.state),
        "window": program.window,
        "samples": list(program.samples) if program.streaming else None,
        "levels": levels,
        "critical_path": critical_path(program),
        "speedup": {
            "levels": length / levels if levels else 1.0,
            "reads": length / most if most else None,
            "segments": {str(lanes): by_segments(words, program.width, lanes) for lanes in LANES if program.linear},
        },
        "inputs": dict(zip(program.inputs, input_reads, strict=True)),
        "most_read": program.inputs[input_reads.index(most)] if most else None,
        "outputs": [output.name for output in program.outputs],
        "argmax": program.argmax or None,
        "compiled_for": program.ring or None,
        "input_scales": dict(zip(program.inputs, program.input_scales, strict=True)),
        "output_scales": {output.name: output.scale for output in program.outputs},
        "box": printable(program.box and dict(zip(program.inputs, program.box, strict=True))),
        "approximations": printable({output.name: output.approximation for output in program.outputs}),
        "sampled": [output.name for output in program.outputs if output.sampled],
        "named_weights": printable(
            {weight.name: {"value": weight.value, "low": weight.low, "high": weight.high} for weight in program.named}
        ),
        "weights": len(program.weights),
        "weight_reads": weight_reads,
        "derived_weights": sum(program.derived),
        "forms": len(program.forms),
        "linear_forms": linear,
        "ring": ring.name,
        "state_bits": (program.width + bool(linear)) * ring.bits,
    }


def _said(broken: Break | None) -> str | None:
    return None if broken is None else str(broken)


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
                for u in {u for _, u in form.terms} | {f.u for f, _ in form.sums if isinstance(f, Input)}:
                    inputs[u] += count
                bias = set() if form.bias is None else {form.bias}
                for k in {k for k, _ in form.terms} | {f.k for f, _ in form.sums if isinstance(f, Weight)} | bias:
                    weights[k] += count
    return inputs, weights


def critical_path(program: Program) -> dict[str, int]:
    """A longest chain of instructions that do not commute, counted by what they multiply with."""
    counts = {"inputs": 0, "weights": 0, "linear_forms": 0}
    kinds = {Input: "inputs", Weight: "weights", Linear: "linear_forms"}
    code = program.code
    columns = (program.level_numbers(), code.dst, code.src, code.form, code.mode)
    wanted = program.depth
    later: tuple[int, set[int], bool] | None = None
    for level, dst, src, form, mode in zip(*(column[::-1].tolist() for column in columns), strict=True):
        found = program.forms[form]
        reads = {src, *found.registers} if isinstance(found, Linear) else {src}
        # Two instructions do not commute when one reads, or assigns, the register that the other one writes.
        if level == wanted and (
            later is None or dst in later[1] or later[0] in reads or (dst == later[0] and (mode or later[2]))
        ):
            counts[kinds[type(found)]] += 1
            wanted, later = level - 1, (dst, reads, bool(mode))
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
    safe, or misses the ``error`` that is wanted, a format is suggested. The box and the errors are in the user's units,
    the ranges of registers are as the core holds them. An error counts what functions were approximated with."""
    ring = expect_fixed_point(ring)
    sides = zip(box, program.input_scales, strict=True)
    inside = [(scaled(exact_number(low), -e), scaled(exact_number(high), -e)) for (low, high), e in sides]
    try:
        found = bound(program, ring, inside)
    except InputError as problem:
        return _unfit(program, ring, inside, error, problem)
    units = {output.name: (2.0**output.scale, output.approximation) for output in program.outputs}

    def proven(value: float) -> float | None:
        return value if np.isfinite(value) else None

    def in_units(name: str, value: float) -> float:
        unit, approximation = units[name]
        return float(np.nextafter(value * unit + float(approximation), np.inf)) if approximation else value * unit

    errors = {name: proven(in_units(name, value)) if found.safe else None for name, value in found.errors.items()}
    answer: dict[str, Any] = {
        "ring": ring.name,
        "safe": found.safe,
        "errors": errors,
        "sampled": [output.name for output in program.outputs if output.sampled],
        "ranges": [[proven(low), proven(high)] for low, high in found.ranges.tolist()],
        "overflow": None,
    }
    if program.state:
        answer["reason"] = found.reason
    if found.overflow is not None:
        at, register, output, low, high = found.overflow
        answer["overflow"] = {
            "instruction": at,
            "text": None if at is None else instruction_texts(program, scalar_texts(program), at, at + 1)[0],
            "register": register,
            "output": output,
            "low": proven(low),
            "high": proven(high),
        }
    within = error is None or all(value is not None and value <= error for value in errors.values())
    if error is not None:
        answer["reached"] = within
    if not (found.safe and within):
        try:
            allowed = _in_ring(error, program)
            answer |= _suggestions(suggest(program, inside, allowed, ring.bits, seconds=found.seconds))
        except InputError as problem:
            answer["suggestion"] = None
            answer["suggestion_failed"] = str(problem)
    return answer


def _unfit(program: Program, ring: FixedPoint, box: Box, error: Fraction | None, problem: InputError) -> dict[str, Any]:
    """The answer when ``ring`` does not hold what is given, which is the ``problem``; it is raised when no format does,
    because then it is not the format that is wrong."""
    try:
        formats = suggest(program, box, _in_ring(error, program), ring.bits)
    except InputError:
        raise problem from None
    return {
        "ring": ring.name,
        "safe": False,
        "errors": {output.name: None for output in program.outputs},
        "sampled": [output.name for output in program.outputs if output.sampled],
        "ranges": [[None, None]] * program.width,
        "overflow": None,
        "unfit": str(problem),
        **_suggestions(formats),
    } | ({} if error is None else {"reached": False})


def _suggestions(formats: list[FixedPoint]) -> dict[str, str]:
    """The format to take, and the smallest."""
    return {"suggestion": formats[0].name, "smallest": formats[-1].name}


def _in_ring(error: Fraction | None, program: Program) -> Fraction | None:
    """The error that words may have, so that every output is within ``error`` in the user's units."""
    if error is None:
        return None
    left = min(scaled(error - output.approximation, -output.scale) for output in program.outputs)
    if left <= 0:
        raise InputError(f"functions were approximated with more than {float(error):g}: compile with a smaller --error")
    return left


def explanation(program: Program, ring: Ring, a: Array, b: Array, method: str | None = None) -> dict[str, Any]:
    """Why the inputs ``a`` and ``b`` give different outputs; ``skinny explain --help`` explains the keys. Inputs and
    outputs are in the user's units, registers as the program holds them. What argmax decides on is explained, not its
    decision."""
    program = replace(program, argmax="")
    with np.errstate(all="ignore"):  # floats may overflow, which is then named
        parting = divergence(program, ring, a, b)
        found = shares(program, ring, a, b, method)
        sent = run(program, ring, np.stack([a, b])).outputs
    scalars = scalar_texts(program)
    units = Units(program, ring)

    def rational(number: int, value: Number) -> Number:
        """A part of an output in the user's units: a rational as the ring writes its numbers, if it can."""
        value = units.in_output(number, value)
        if isinstance(ring, FixedPoint | Real) and Fraction(float(value)) == value:
            return float(value)
        return value

    def instruction(step: int) -> str:
        return instruction_texts(program, scalars, step - 1, step)[0]

    return {
        "ring": ring.name,
        "method": found.method,
        "inputs": {
            side: {name: units.decode_input(u, elements[u]) for u, name in enumerate(program.inputs)}
            for side, elements in (("a", a), ("b", b))
        },
        "outputs": {
            output.name: {
                "a": units.decode(number, sent[0, number]),
                "b": units.decode(number, sent[1, number]),
                "difference": rational(number, found.difference[number]),
                "shares": {
                    name: rational(number, share)
                    for name, share in zip(program.inputs, found.inputs[number], strict=True)
                },
                "remainder": rational(number, found.remainder[number]),
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


def watched_run(program: Program, ring: Ring, inputs: Encoded, start: Array | None = None) -> tuple[Array, Precision]:
    """The outputs of a golden run as elements, and what fixed point took away."""
    with np.errstate(all="ignore"):  # floats may overflow; inf says so
        found = run(program, ring, inputs.elements, start, watched=True)
    wrapped = 0 if found.wrapped is None else int(found.wrapped.sum())
    outside, beyond = outside_rows(program, ring, inputs.elements)
    precision = replace(
        lost_weights(program, ring),
        rows=len(inputs.elements),
        wrapped=wrapped,
        outside=outside,
        beyond=beyond,
        rounded=int(inputs.rounded.sum()),
    )
    return found.outputs, precision


def losses(program: Program, ring: Ring, inputs: Encoded, *, drawn: bool) -> Precision:
    """What fixed point takes away from a run. Of inputs that are ``drawn`` from all words nearly all rows wrap, which
    says nothing, so that only the weights count there."""
    if drawn and program.box is None:
        return lost_weights(program, ring)
    return watched_run(program, ring, inputs)[1]


def random_inputs(count: int, program: Program, ring: Ring) -> Encoded:
    """``count`` inferences or samples, the same every time: from the box of the program, one number in eight at its
    edge, or, if it has none, from all words."""
    if not count >= 1:
        raise InputError(f"the number of random inferences must be at least 1, not {count}")
    most = current().memory // DRAWN_WORD // (1 + len(program.samples) + len(program.outputs))
    if count > most:
        limit = size_text(current().memory)
        raise InputError(f"more than {most:,} random inferences need more memory than {limit}: --limit memory=SIZE")
    draw: Callable[[np.random.Generator, tuple[int, ...]], Array]
    if program.box is None or not isinstance(ring, FixedPoint):
        draw = partial(_drawn_from_all, ring)
    else:
        units = Units(program, ring)
        sides = [program.box[u] for u in program.sample_inputs]
        edges = np.array([[units.encode(u, value) for value in side] for u, side in enumerate(sides)], dtype=np.int64)
        draw = partial(_drawn_from_box, edges)
    # Whole blocks are drawn, each from a beginning of its own, so that a row does not depend on how many there are.
    blocks = [
        draw(np.random.default_rng([1, number]), (DRAWN, len(program.samples))) for number in range(-(-count // DRAWN))
    ]
    return Encoded.exactly(np.concatenate(blocks)[:count])


def _drawn_from_all(ring: Ring, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    # Loaded here, because only simulations and test benches need Amaranth.
    from skinny.sim.check.stimulus import random_elements

    return random_elements(rng, ring, shape)


def _drawn_from_box(edges: Array, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    inside = rng.integers(edges[:, 0], edges[:, 1], shape, endpoint=True)
    edge = np.where(rng.random(shape) < 1 / 2, edges[:, 0], edges[:, 1])
    return np.where(rng.random(shape) < 1 / 8, edge, inside)


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
    chunk = max(1, CHUNK[simulator] // (image.steps * config.threads * len(image.lanes))) * image.batch
    stimuli = [Stimulus.steady(image, vectors[first : first + chunk]) for first in range(0, len(vectors), chunk)]
    words, records = [], []
    for stimulus, record in zip(stimuli, simulate(image, watch(stimuli), simulator, vcd), strict=True):
        words.append(outputs(stimulus, record)[:, : len(program.results)])
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
        name = program.results[column]
        units = Units(program, ring)
        values = f"{units.decode(column, expected[row, column])}, got {units.decode(column, found[row, column])}"
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
