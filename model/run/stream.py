"""The golden run of streams: every sample of many streams, bit for bit, with what a stream keeps in between.

Streams are independent and may be cut anywhere: the state after some samples is all that the next ones need. A window
that is not full yet waits, so the first samples of a stream may give no results; a state that was begun ``padded``
finds zeros where no words have arrived.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from skinny.model.errors import InputError
from skinny.model.program.program import Program
from skinny.model.rings import Array, Ring

from .golden import expect_elements, packed_start, run_packed

__all__ = ["StreamRun", "StreamState", "begin_streams", "run_stream", "runs_of"]


class StreamState(NamedTuple):
    """What streams keep between samples, as elements: ``registers``, those of the state, of shape ``(streams,
    states)``, and ``words``, the last ones that arrived, the newest first, of shape ``(streams, words)``: never more
    than the window holds."""

    registers: Array
    words: Array


class StreamRun(NamedTuple):
    """The elements after samples of streams: ``outputs`` of shape ``(streams, runs, results)``, a run for each sample
    that found its window full, and the ``state`` for the samples that follow. ``wrapped`` marks the runs in which a
    value that was read had wrapped, of shape ``(streams, runs)``; it is None unless the run was watched."""

    outputs: Array
    state: StreamState
    wrapped: Array | None = None


def begin_streams(program: Program, ring: Ring, streams: int, *, padded: bool = False) -> StreamState:
    """The state of ``streams`` streams before their first sample: the start vector and, if ``padded``, a window of
    zeros that the first sample completes."""
    start = ring.unpack(packed_start(program, ring, streams), streams).T
    missing = program.window - program.hop if padded else 0
    zeros = np.full((streams, missing), ring.embed(0), dtype=ring.element_dtype)
    return StreamState(start[:, [register for _, register in program.state]], zeros)


def run_stream(
    program: Program, ring: Ring, samples: Array, state: StreamState | None = None, *, watched: bool = False
) -> StreamRun:
    """Run ``program`` on elements ``samples`` of shape ``(streams, samples, words)``, the words of a sample in the
    order of ``program.samples``. ``state`` is what the samples before left behind, or that of :func:`begin_streams`;
    without it the streams begin, and a window waits until it is full."""
    program.expect_stream("a stream needs")
    expected = len(program.samples)
    if samples.ndim != 3 or samples.shape[2] != expected:
        raise InputError(f"the samples must have the shape (streams, samples, {expected}), not {samples.shape}")
    expect_elements("samples", samples, ring)
    streams = len(samples)
    if state is None:
        state = begin_streams(program, ring, streams)
    _expect_state(program, ring, state, streams)
    kept = [register for _, register in program.state]
    begin = packed_start(program, ring, streams)
    begin[kept] = ring.pack(state.registers.T)
    weights = program.quantise(ring)
    words = state.words
    outputs, wrapped = [], []
    for sample in samples.swapaxes(0, 1):
        inputs = sample
        if program.window:
            words = np.concatenate([sample[:, ::-1], words], axis=1)[:, : program.window]
            if words.shape[1] < program.window:
                continue
            inputs = words[:, : len(program.inputs)]
        found = run_packed(program, ring, ring.pack(inputs.T), begin, streams, weights, watched=watched)
        wrapped.append(found.wrapped)
        begin[kept] = ring.pack(found.registers.T[kept])
        outputs.append(found.outputs)
    none = np.empty((streams, 0, len(program.results)), dtype=ring.element_dtype)
    registers = ring.unpack(begin, streams).T[:, kept]
    marks = np.array(wrapped, dtype=np.bool_).reshape(-1, streams).T if watched else None
    return StreamRun(np.stack(outputs, axis=1) if outputs else none, StreamState(registers, words), marks)


def runs_of(program: Program, ring: Ring, samples: Array, state: StreamState) -> tuple[Array, Array]:
    """What the runs of one stream find, whose ``samples`` have the shape ``(samples, words)``: the inputs of the
    program, of shape ``(runs, inputs)``, and the registers before the first instruction, ``(runs, width)``."""
    start = ring.unpack(packed_start(program, ring, 1), 1).T[0]
    inputs, begins = [], []
    for sample in samples:
        begin = start.copy()
        begin[[register for _, register in program.state]] = state.registers[0]
        state = run_stream(program, ring, sample[None, None], state).state
        if len(state.words[0]) == program.window:
            inputs.append(state.words[0, : len(program.inputs)] if program.window else sample)
            begins.append(begin)
    shapes = ((len(inputs), len(program.inputs)), (len(inputs), program.width))
    found = (np.array(part, dtype=ring.element_dtype) for part in (inputs, begins))
    return tuple(part.reshape(shape) for part, shape in zip(found, shapes, strict=True))  # type: ignore[return-value]


def _expect_state(program: Program, ring: Ring, state: StreamState, streams: int) -> None:
    if state.registers.shape != (streams, len(program.state)):
        wanted = (streams, len(program.state))
        raise InputError(f"the registers of the state must have the shape {wanted}, not {state.registers.shape}")
    if state.words.ndim != 2 or len(state.words) != streams or state.words.shape[1] > program.window:
        raise InputError(
            f"the words of the state must be those of {streams} windows of {program.window}, not {state.words.shape}"
        )
    expect_elements("registers of the state", state.registers, ring)
    expect_elements("words of the state", state.words, ring)
