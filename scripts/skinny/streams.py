"""Streams of samples: the golden run and the simulated core, as the commands and Python both ask for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from skinny.model.errors import CheckError, InputError
from skinny.model.machine.image import Waits, Write
from skinny.model.machine.streams import expect_room, interleaved, padding, separated, threads_used
from skinny.model.program.program import Program
from skinny.model.program.units import Encoded, Units
from skinny.model.rings import Array, Number, Ring
from skinny.model.run.precision import Precision, lost_weights, outside_rows
from skinny.model.run.stream import begin_streams, run_stream

from .answers import random_inputs

if TYPE_CHECKING:
    from skinny.model.machine.image import MachineImage
    from skinny.sim.check.stimulus import Stimulus

__all__ = [
    "Piece",
    "expect_full_window",
    "first_sample",
    "random_samples",
    "samples_for",
    "stream_results",
    "stream_simulation",
    "tuned",
    "watched_stream",
]

#: Samples that are run between two steps of the progress bar.
CHUNK = 2_000


class Piece(NamedTuple):
    """From the sample ``first`` on, counted from 0, weights are those of ``program``."""

    first: int
    program: Program


def first_sample(program: Program, padded: bool) -> int:
    """The number of the first sample that has results, from 1: the one that completes the window."""
    return 1 if padded else padding(program) + 1


def expect_full_window(program: Program, count: int, padded: bool) -> None:
    """Raise :exc:`InputError` when so many samples leave a window without a first result."""
    first = first_sample(program, padded)
    if count < first:
        raise InputError(f"the window is full with sample {first}, but there are {count}: pad fills it with zeros")


def tuned(program: Program, retunes: Mapping[int, Mapping[str, Number]], count: int) -> list[Piece]:
    """The pieces of a run of ``count`` samples, when named weights get other values before the samples with the numbers
    of ``retunes``, from 1."""
    pieces = [Piece(0, program)]
    for number in sorted(retunes):
        if not 1 <= number <= count:
            raise InputError(f"weights are set before a sample, 1 to {count}, not {number}")
        program = program.with_weights(**retunes[number])
        pieces.append(Piece(number - 1, program))
    return pieces


def watched_stream(
    pieces: Sequence[Piece],
    ring: Ring,
    samples: Encoded,
    padded: bool = False,
    watch: Callable[[list[tuple[Program, Array]]], Iterable[tuple[Program, Array]]] = iter,
) -> tuple[Array, Precision]:
    """The outputs of a golden run of ``samples``, of shape ``(streams, samples, words)``, as elements of shape
    ``(streams, runs, results)``, and what fixed point took away. ``watch`` is given the parts of the run, hands them
    out one after the other, and so can tell how far it is."""
    program = pieces[0].program
    program.expect_stream("a stream needs")
    elements = samples.elements
    expect_full_window(program, elements.shape[1], padded)
    state = begin_streams(program, ring, len(elements), padded=padded)
    outputs, wrapped = [], 0
    with np.errstate(all="ignore"):  # floats may overflow; inf says so
        for tuned, part in watch(list(_parts(pieces, elements))):
            found = run_stream(tuned, ring, part, state, watched=True)
            outputs.append(found.outputs)
            wrapped += 0 if found.wrapped is None else int(found.wrapped.sum())
            state = found.state
    rows = elements.reshape(elements.shape[0] * elements.shape[1], elements.shape[2])
    outside, beyond = outside_rows(program, ring, rows)
    precision = replace(
        lost_weights(program, ring),
        rows=len(rows),
        wrapped=wrapped,
        outside=outside,
        beyond=beyond,
        rounded=int(samples.rounded.sum()),
    )
    return np.concatenate(outputs, axis=1), precision


def _parts(pieces: Sequence[Piece], samples: Array) -> Iterator[tuple[Program, Array]]:
    """Samples in parts of one program each that are not too long."""
    cuts = np.split(samples, [piece.first for piece in pieces[1:]], axis=1)
    for piece, part in zip(pieces, cuts, strict=True):
        for chunk in np.array_split(part, max(1, part.shape[1] // CHUNK), axis=1):
            yield piece.program, chunk


def random_samples(count: int, image: MachineImage) -> Encoded:
    """``count`` samples of as many streams as ``image`` has room for, the same every time."""
    config = image.config
    streams = config.threads * config.inferences
    drawn = random_inputs(count * streams, image.program, config.ring)
    return Encoded(*(part.reshape(count, streams, -1).swapaxes(0, 1) for part in drawn))


def samples_for(runs: int, image: MachineImage) -> int:
    """How many samples of each stream give about so many ``runs`` in all; those that fill a window come on top."""
    return -(-max(1, runs) // (image.config.threads * image.config.inferences)) + padding(image.program)


def stream_results(units: Units, outputs: Array) -> dict[str, list[list[Number]]]:
    """The numbers of each output, a list for each stream, in the user's units."""
    found = [units.decode_columns(stream) for stream in outputs]
    return {name: [columns[name] for columns in found] for name in units.outputs}


def stream_simulation(
    image: MachineImage,
    pieces: Sequence[Piece],
    samples: Array,
    expected: Array,
    simulator: str,
    *,
    padded: bool = False,
    vcd: str | None = None,
    watch: Callable[[list[Stimulus]], Iterable[Stimulus]] = iter,
) -> tuple[Array, dict[str, Any]]:
    """Run the elements ``samples`` of shape ``(streams, samples, words)`` on the simulated core that holds ``image``, a
    thread for each stream, while the named weights of the ``pieces`` are written: the outputs of shape ``(streams,
    runs, results)``, and the figures of the run. The first difference from the cycle model, or from the outputs
    ``expected``, is a :exc:`CheckError`."""
    from skinny.sim.check.record import outputs
    from skinny.sim.check.stimulus import Stimulus
    from skinny.sim.simulators.choose import simulate

    program, config = image.program, image.config
    streams, count, words = samples.shape
    expect_room(config, streams)
    zeros = padding(program) if padded else 0
    given = np.concatenate([np.zeros((streams, zeros, words), dtype=samples.dtype), samples], axis=1)
    sizes = [threads_used(config, streams)] * (zeros + count)
    silent = 0 if padded else padding(program)
    for first, tuned in pieces:
        if first <= silent:
            image = image.reassemble(tuned)
    loads: list[Write] = []
    pauses: list[int] = []
    for first, tuned in pieces:
        if first <= silent:
            continue
        # They are offered while the sample before runs, and taken before the next one.
        plan = image.timetable(sizes[: zeros + first], Waits(pauses=pauses, renews=[False] * len(pauses)))
        writes = list(image.reassemble(tuned).lanes[0].settable_weights())
        ready = int(plan.loaded[-1]) + 1 if len(plan.loaded) else 0
        pauses += [int(plan.starts[-1]) + 1 - ready, *[0] * (len(writes) - 1)][: len(writes)]
        loads += writes
    stimulus = Stimulus(image, interleaved(config, given), sizes, loads=loads, pauses=np.array(pauses, dtype=np.int64))
    (record,) = simulate(image, watch([stimulus]), simulator, vcd)
    sent = outputs(stimulus, record)[:, : len(program.results)]
    found = separated(config, sent, streams)
    _compare(program, config.ring, expected, found, first_sample(program, padded))
    spans = int(record.trace["cycle"][-1] - record.trace["cycle"][0]) + 1 if record.trace is not None else 0
    return found, {
        "match": True,
        "streams": streams,
        "samples": count,
        "room": config.threads * config.inferences,
        "cycles": record.cycles,
        "cycles_per_sample": record.cycles / count,
        "multiplier_utilisation": record.worked / spans if spans else 0.0,
    }


def _compare(program: Program, ring: Ring, expected: Array, found: Array, first: int) -> None:
    wrong = np.argwhere(expected != found)
    if len(wrong):
        stream, run, result = wrong[0]
        units = Units(program, ring)
        right, got = (units.decode(result, outputs[stream, run, result]) for outputs in (expected, found))
        raise CheckError(
            f"stream {stream + 1}, sample {first + run}, output {program.results[result]}: the golden run gives "
            f"{right}, got {got}"
        )
