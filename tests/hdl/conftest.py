"""A bench around the core in Amaranth's simulator, and images of random words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from amaranth.sim import Simulator
from skinny.hdl.core.core import Core
from skinny.model.machine.assemble import Image
from skinny.model.machine.isa import ONE, CoreConfig, Op
from skinny.model.program.program import Columns, Output, Program

RETIRE = ("thread", "pc", "op", "dst", "value", "fault")


@dataclass
class Job:
    """Writes at the load port, then input words ``(data, last)`` while ``results`` words are taken."""

    words: Sequence[tuple[int, bool]]
    results: int
    gaps: Sequence[int] | None = None
    stalls: Sequence[int] | None = None
    loads: Sequence[tuple[int, int, int]] = ()


@dataclass
class Record:
    """Cycles are counted from the first one in which the source may offer a word."""

    accepted: list[int] = field(default_factory=list)
    retired: list[tuple[int, ...]] = field(default_factory=list)
    valid: list[int] = field(default_factory=list)
    taken: list[int] = field(default_factory=list)
    results: list[tuple[int, int, int]] = field(default_factory=list)
    fault: bool = False


async def send_loads(ctx, core: Core, loads) -> None:
    for space, address, data in loads:
        ctx.set(core.load.payload, {"space": space, "address": address, "data": data})
        ctx.set(core.load.valid, 1)
        while not ctx.get(core.load.ready):
            await ctx.tick()
        await ctx.tick()
    if loads:
        ctx.set(core.load.valid, 0)


async def run_job(ctx, core: Core, job: Job, limit: int = 20_000) -> Record:
    """Ends when every word was accepted, every result taken and the core is idle."""
    record = Record()
    await send_loads(ctx, core, job.loads)
    waited = held = 0
    for cycle in range(limit):
        sent, got = len(record.accepted), len(record.taken)
        if sent == len(job.words) and got == job.results and not ctx.get(core.busy):
            break
        offer = sent < len(job.words) and waited >= (job.gaps[sent] if job.gaps else 0)
        ctx.set(core.i.valid, offer)
        if offer:
            data, last = job.words[sent]
            ctx.set(core.i.payload, {"data": data, "last": last})
        valid = ctx.get(core.o.valid)
        if valid and len(record.valid) == got:
            record.valid.append(cycle)
            held = 0
        ready = valid and held >= (job.stalls[got] if job.stalls else 0)
        held += 1
        ctx.set(core.o.ready, ready)
        if ready:
            word = core.o.payload
            record.results.append((ctx.get(word.data), ctx.get(word.last), ctx.get(word.fault)))
            record.taken.append(cycle)
        if ctx.get(core.retire.valid):
            record.retired.append((cycle, *(ctx.get(getattr(core.retire, name)) for name in RETIRE)))
        if offer and ctx.get(core.i.ready):
            record.accepted.append(cycle)
            waited = 0
        else:
            waited += 1
        await ctx.tick()
    else:
        raise AssertionError(f"{len(record.taken)} of {job.results} results after {limit} cycles")
    ctx.set(core.o.ready, 0)
    record.fault = bool(ctx.get(core.fault))
    return record


def simulate(core, bench) -> None:
    simulator = Simulator(core)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


def run_jobs(core: Core, *jobs: Job) -> list[Record]:
    """Jobs one after the other on one core."""
    records: list[Record] = []

    async def bench(ctx):
        for job in jobs:
            records.append(await run_job(ctx, core, job))

    simulate(core, bench)
    return records


def image_of(
    config: CoreConfig, words: Sequence[int], weights: Sequence[int], start: Sequence[int], vector: int
) -> Image:
    """An image of given hardware words."""
    fields = config.decode(np.array(words, dtype=np.uint64))
    sends = (fields["op"] == Op.EMIT) & (np.isin(fields["src"] & 3, (0, 3)) | (not config.argmax))
    outputs = tuple(f"y{n}" for n in range(int(sends.sum())))
    program = Program(
        width=config.width,
        inputs=tuple(f"x{u}" for u in range(vector)),
        weights=(Fraction(0),) * len(weights),
        forms=(),
        code=Columns.empty(),
        outputs=tuple(Output(name, 0, 0) for name in outputs) or (Output("none", 0, 0),),
    )
    return Image(
        config=config,
        words=np.array(words, dtype=np.uint64),
        weights=np.array(weights, dtype=np.uint64),
        start=np.array(start, dtype=np.uint64),
        vector=vector,
        outputs=outputs,
        instructions=np.full(len(words), -1, dtype=np.int64),
        program=program,
    )


def random_words(rng: np.random.Generator, config: CoreConfig, shape: tuple[int, ...]):
    """Hardware words that are elements, the extremes among them."""
    top = config.ring.p if hasattr(config.ring, "p") else 1 << config.bits
    plain = rng.integers(0, top, shape, dtype=np.uint64)
    edges = rng.choice(np.array([0, 1, top // 2, top - 1], dtype=np.uint64), shape)
    return np.where(rng.random(shape) < 0.3, edges, plain)


def random_image(rng: np.random.Generator, config: CoreConfig, length: int, malformed: bool = False) -> Image:
    """Random words and an emit of the last output at the end. Without ``malformed`` all of them mean something. For
    registers in memory words that assign all of them come first."""
    words: list[int] = []
    emits = 1
    if config.deep:
        assigned = [register for register in range(config.width) if config.attention or register != ONE]
        words = [config.encode(Op.APPLY_W, dst=r, src=ONE, k=r % config.weights, flag=1) for r in assigned]
        length += len(words)
    while len(words) < length:
        word = int(rng.integers(0, 1 << config.word_bits, dtype=np.uint64))
        if word & 7 == Op.EMIT:
            word &= ~config.encode(Op.NONE, neg=1)
            emits += 1
        if (malformed or not config.malformed([word])[0]) and emits * config.threads <= config.fifo:
            words.append(word)
        elif word & 7 == Op.EMIT:
            emits -= 1
    words.append(config.encode(Op.EMIT, dst=0 if config.deep else int(rng.integers(config.width)), neg=1))
    weights = random_words(rng, config, (config.weights,)).tolist()
    start = random_words(rng, config, (config.starts,)).tolist()
    return image_of(config, words, weights, start, config.inputs)


def stream_of(vectors, sizes: Sequence[int]) -> list[tuple[int, bool]]:
    """Vectors as input words; ``last`` ends every batch that is not full, and is harmless on others."""
    ends = set((np.cumsum(sizes) - 1).tolist())
    count = vectors.shape[1]
    return [
        (int(data), v in ends and at == count - 1)
        for v, vector in enumerate(vectors.tolist())
        for at, data in enumerate(vector)
    ]


@pytest.fixture(scope="session")
def bench() -> SimpleNamespace:
    """The helpers of this file: tests are no package that could import them."""
    return SimpleNamespace(
        Job=Job,
        image_of=image_of,
        random_image=random_image,
        random_words=random_words,
        run_job=run_job,
        run_jobs=run_jobs,
        send_loads=send_loads,
        simulate=simulate,
        stream_of=stream_of,
    )
