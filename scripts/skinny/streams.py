"""Streams of samples: the golden run and the simulated core, as the commands and Python both ask for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from skinny.model.errors import CheckError
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

__all__ = ["first_sample", "random_samples", "samples_for", "stream_results", "stream_simulation", "watched_stream"]

#: Samples that are run between two steps of the progress bar.
CHUNK = 2_000


def first_sample(program: Program, padded: bool) -> int:
    """The number of the first sample that has results, from 1: the one that completes the window."""
    return 1 if padded else padding(program) + 1


def watched_stream(
    program: Program,
    ring: Ring,
    samples: Encoded,
    padded: bool = False,
    watch: Callable[[list[Array]], Iterable[Array]] = iter,
) -> tuple[Array, Precision]:
    """The outputs of a golden run of ``samples``, of shape ``(streams, samples, words)``, as elements of shape
    ``(streams, runs, results)``, and what fixed point took away. ``watch`` is given the pieces of the run, hands them
    out one after the other, and so can tell how far it is."""
    program.expect_stream("a stream needs")
    elements = samples.elements
    state = begin_streams(program, ring, len(elements), padded=padded)
    outputs, wrapped = [], 0
    with np.errstate(all="ignore"):  # floats may overflow; inf says so
        for piece in watch(np.array_split(elements, max(1, elements.shape[1] // CHUNK), axis=1)):
            found = run_stream(program, ring, piece, state, watched=True)
            outputs.append(found.outputs)
            wrapped += 0 if found.wrapped is None else int(found.wrapped.sum())
            state = found.state
    rows = elements.reshape(elements.shape[0] * elements.shape[1], elements.shape[2])
    precision = replace(
        lost_weights(program, ring),
        rows=len(rows),
        wrapped=wrapped,
        outside=outside_rows(program, ring, rows),
        rounded=int(samples.rounded.sum()),
    )
    return np.concatenate(outputs, axis=1), precision


def random_samples(count: int, image: MachineImage) -> Encoded:
    """``count`` samples of as many streams as ``image`` has room for, the same every time."""
    config = image.config
    streams = config.threads * config.inferences
    drawn = random_inputs(count * streams, image.program, config.ring)
    return Encoded(*(part.reshape(streams, count, -1) for part in drawn))


def samples_for(runs: int, image: MachineImage) -> int:
    """How many samples of each stream give about so many ``runs`` in all; those that fill a window come on top."""
    return -(-max(1, runs) // (image.config.threads * image.config.inferences)) + padding(image.program)


def stream_results(units: Units, outputs: Array) -> dict[str, list[list[Number]]]:
    """The numbers of each output, a list for each stream, in the user's units."""
    found = [units.decode_columns(stream) for stream in outputs]
    return {name: [columns[name] for columns in found] for name in units.outputs}


def stream_simulation(
    image: MachineImage,
    samples: Array,
    expected: Array,
    simulator: str,
    *,
    padded: bool = False,
    vcd: str | None = None,
    watch: Callable[[list[Stimulus]], Iterable[Stimulus]] = iter,
) -> tuple[Array, dict[str, Any]]:
    """Run the elements ``samples`` of shape ``(streams, samples, words)`` on the simulated core that holds ``image``, a
    thread for each stream: the outputs of shape ``(streams, runs, results)``, and the figures of the run. The first
    difference from the cycle model, or from the outputs ``expected``, is a :exc:`CheckError`."""
    from skinny.sim.check.record import outputs
    from skinny.sim.check.stimulus import Stimulus
    from skinny.sim.simulators.choose import simulate

    program, config = image.program, image.config
    streams, count, words = samples.shape
    expect_room(config, streams)
    zeros = padding(program) if padded else 0
    given = np.concatenate([np.zeros((streams, zeros, words), dtype=samples.dtype), samples], axis=1)
    stimulus = Stimulus(image, interleaved(config, given), [threads_used(config, streams)] * (zeros + count))
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
