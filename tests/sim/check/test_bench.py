"""The cocotb bench passes on the core and fails on cores that are broken on purpose; so does Amaranth's simulator."""

import dataclasses
import inspect
import re
import textwrap

import numpy as np
import pytest
from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from skinny.hdl.core import core as core_module
from skinny.hdl.core import datapath as datapath_module
from skinny.hdl.core.core import Core
from skinny.hdl.core.results import ResultFIFO
from skinny.hdl.core.store import Store
from skinny.hdl.parts.arithmetic import Arithmetic
from skinny.model.errors import CheckError, InputError
from skinny.sim import SIMULATORS, build
from skinny.sim.check import bench
from skinny.sim.check.bench import Load, Reset, Run, run_bench
from skinny.sim.check.check import Stimulus, expect, first_divergence, random_stimulus
from skinny.sim.check.scenarios import load_steps, reset_steps
from skinny.sim.simulators import amaranth as amaranth_engine
from skinny.sim.simulators.bulk import BulkCore
from skinny.sim.simulators.choose import choose, simulate


@pytest.fixture
def scenarios(make_image, make_vectors, main_config):
    """Two programs with a source and a sink that wait, with resets and with loads in mid-run."""
    rng = np.random.default_rng(5)
    images = [make_image(rng, main_config, length, outputs=2) for length in (3, 14)]
    short, long = (make_vectors(rng, image, 14) for image in images)
    runs = [Load(images[1]), Run(random_stimulus(rng, images[1], long, 0.5, 0.5, 0.5))]
    return [Reset(), *runs, *reset_steps(rng, images[0], short), *load_steps(rng, *images, short, long)]


@pytest.fixture
def steps(make_image, make_vectors):
    """Programs loaded one after the other, run with and without waiting, some after a reset, one with a fault."""

    def make(config, programs):
        rng = np.random.default_rng(7)
        out = [Reset()]
        for number in range(programs):
            image = make_image(rng, config, int(rng.integers(2, 8)), outputs=1 + number % 2)
            if number % 5 == 3:
                image = dataclasses.replace(image, words=np.concatenate([[np.uint64(0)], image.words]))
                out.append(Reset())
            wait = 0.5 * (number % 2)
            vectors = make_vectors(rng, image, 6)
            out += [Load(image), Run(random_stimulus(rng, image, vectors, wait, wait, 0.5))]
        return out

    return make


def test_whatever_source_and_sink_do(configs, make_image, make_vectors, rng):
    for config in (configs[0], configs[7], configs[10]):
        images = [make_image(rng, config, 10, outputs=2) for _ in range(2)]
        job = [(image, make_vectors(rng, image, 12)) for image in images]
        run_bench(Core(config), job, ["matches_model", "load_waits_while_busy", "reset_drops_what_runs"])


def test_hundred_programs_in_one_simulation(steps, main_config):
    records = bench.run_steps(Core(main_config), steps(main_config, 100))
    assert len(records) == 100
    assert sum(record.fault >= 0 for record in records) == 20


def test_initial_contents(make_image, make_vectors, rng, main_config):
    image = make_image(rng, main_config, 10, outputs=2)
    stimulus = random_stimulus(rng, image, make_vectors(rng, image, 9), 0.3, 0.3, 0.3)
    (record,) = bench.run_steps(Core(main_config, image, rom=True), [Reset(), Run(stimulus)])
    assert len(record.results) == 18


def test_all_engines_see_the_same(steps, main_config, scenarios):
    listed = [*steps(main_config, 4), *scenarios]
    from_cocotb = bench.run_steps(Core(main_config), listed)
    from_amaranth = amaranth_engine.run_steps(Core(main_config), listed)
    from_bulk = list(BulkCore(main_config).do(listed))
    runs = [step for step in listed if isinstance(step, Run)]
    for run, *records in zip(runs, from_bulk, from_cocotb, from_amaranth, strict=True):
        expected = expect(run.stimulus, cycles=run.cycles)
        for record in records:
            assert first_divergence(run.stimulus, expected, record) is None
            assert (record.cycles, record.worked) == (expected.cycles, expected.worked)


def altered(original, **changes):
    """A component like ``original``, but ports named in ``changes`` pass through a function of module and value."""

    class Altered(wiring.Component):
        def __init__(self, *arguments):
            self.inner = original(*arguments)
            super().__init__(self.inner.signature)

        def elaborate(self, platform):
            m = Module()
            m.submodules.inner = self.inner
            missing = set(changes)
            for (path, member, outer), (_, _, inner) in zip(
                self.signature.flatten(self), self.inner.signature.flatten(self.inner), strict=True
            ):
                name = "_".join(path)
                source, target = (outer, inner) if member.flow is In else (inner, outer)
                missing.discard(name)
                m.d.comb += target.eq(changes.get(name, lambda m, value: value)(m, source))
            assert not missing
            return m

    return Altered


def delayed(m, value):
    late = Signal.like(value)
    m.d.sync += late.eq(value)
    return late


def no_rounding(self, product, acc, neg, negate=Arithmetic._negate_binary):
    return {**negate(self, product, acc, neg), "carry": neg}


def rewritten(original, *changes):
    """The method ``elaborate`` of a component with parts of its text replaced."""
    text = textwrap.dedent(inspect.getsource(original.elaborate))
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    names = dict(vars(inspect.getmodule(original)))
    exec(text, names)
    return names["elaborate"]


VALUE = r"(R\d|S) expected .*, got "
#: Ports of a part that pass through something: the module that uses the part, its name, the ports, what is noticed.
PORTS = {
    "wrong sign": (datapath_module, "Arithmetic", {"neg": lambda m, value: ~value}, VALUE),
    "stale operand": (core_module, "Datapath", {"x": delayed}, VALUE),
    "thread off by one": (core_module, "InputBuffer", {"thread": lambda m, value: value + 1}, VALUE),
    "lost back-pressure at o": (core_module, "ResultFIFO", {"o_ready": lambda m, value: 1}, "result "),
    "lost back-pressure at i": (core_module, "InputBuffer", {"i_ready": lambda m, value: 1}, "input word "),
    "start vector lost": (core_module, "Datapath", {"start": lambda m, value: 0}, VALUE),
}
BUSY = "self.busy.eq(sequencer.tag.live | behind)"
BEFORE = "sequencer.tag.live | f1_tag.live | f2_tag.live | datapath.live"
#: Text of a part that is another: the part, old and new text, what is noticed.
TEXTS = {
    "settings follow the load pins": (
        Store,
        [("self.write & (self.item.space == space) & (", "(self.item.space == space) & (")],
        "busy expected 1, got 0",
    ),
    "a reset keeps the count of batches that wait": (
        Core,
        [("waiting = Signal.like(store.batches)", "waiting = Signal.like(store.batches, reset_less=True)")],
        "busy expected 1, got 0",
    ),
    "busy a cycle late": (Core, [(BUSY, "self.busy.eq(behind)")], "busy expected 1, got 0"),
    "busy low while the last instruction retires": (
        Core,
        [(BUSY, f"self.busy.eq((sequencer.tag.live | behind) & ({BEFORE}))")],
        "busy expected 1, got 0",
    ),
    "busy high while results wait": (
        Core,
        [(BUSY, "self.busy.eq(sequencer.tag.live | behind | waiting.any())")],
        "busy expected 0, got 1",
    ),
    "load ready while the pipeline empties": (
        Core,
        [("self.load.ready.eq(~self.busy)", "self.load.ready.eq(~sequencer.tag.live)")],
        "load_ready expected 0, got 1",
    ),
    "loaded while busy": (
        Core,
        [("store.write.eq(self.load.valid & self.load.ready)", "store.write.eq(self.load.valid)")],
        " expected ",
    ),
    "a batch starts while something is loaded": (
        Core,
        [("sequencer.hold.eq(self.load.valid)", "sequencer.hold.eq(0)")],
        "expected to retire in cycle",
    ),
    "data changes while it waits": (
        ResultFIFO,
        [
            (
                "some = Signal()",
                "some, late = Signal(), Signal()\n    m.d.sync += late.eq(self.o.valid & ~self.o.ready)",
            ),
            ("self.o.p.eq(stored)", "self.o.p.eq(stored.as_value() ^ late)"),
        ],
        r"data of result \d+ changed while it waited",
    ),
    "valid falls while a result waits": (
        ResultFIFO,
        [("with m.If(memory.take):\n", "with m.If(1):\n")],
        r"valid of result \d+ changed while it waited",
    ),
}


def break_core(monkeypatch, bug):
    """What is noticed of a core from now on."""
    if bug == "rounding":
        monkeypatch.setattr(Arithmetic, "_negate_binary", no_rounding)
        return VALUE
    if bug in TEXTS:
        part, changes, message = TEXTS[bug]
        monkeypatch.setattr(part, "elaborate", rewritten(part, *changes))
        return message
    module, name, changes, message = PORTS[bug]
    monkeypatch.setattr(module, name, altered(getattr(module, name), **changes))
    return message


BUGS = ["rounding", *PORTS, *TEXTS]
RUN = {
    "bulk": lambda config, steps: list(BulkCore(config).do(steps)),
    "verilator": lambda config, steps: bench.run_steps(Core(config), steps),
    "amaranth": lambda config, steps: amaranth_engine.run_steps(Core(config), steps),
}


@pytest.mark.parametrize(("engine", "bug"), [*(("amaranth", bug) for bug in BUGS), *(("bulk", bug) for bug in TEXTS)])
def test_a_broken_core_is_caught(monkeypatch, main_config, scenarios, engine, bug):
    message = break_core(monkeypatch, bug)
    with pytest.raises(CheckError, match=rf"^cycle \d+.*{message}"):
        RUN[engine](main_config, scenarios)


# The cocotb bench is the one of Amaranth's simulator but for how it reads and drives pins.
@pytest.mark.parametrize(
    "bug", ["wrong sign", "settings follow the load pins", "a reset keeps the count of batches that wait"]
)
def test_cocotb_catches_a_broken_core(monkeypatch, main_config, scenarios, bug):
    message = break_core(monkeypatch, bug)
    with pytest.raises(CheckError, match=rf"^does_the_steps: cycle \d+.*{message}"):
        RUN["verilator"](main_config, scenarios)


@pytest.mark.parametrize("engine", RUN)
def test_the_unbroken_core_passes_the_same_steps(main_config, scenarios, engine):
    assert len(RUN[engine](main_config, scenarios)) == sum(isinstance(step, Run) for step in scenarios)


def test_every_engine_names_the_same_divergence(monkeypatch, main_config, make_image, make_vectors, rng):
    break_core(monkeypatch, "wrong sign")
    image = make_image(rng, main_config, 14)
    vectors = make_vectors(rng, image, 14)
    messages = set()
    for engine in SIMULATORS:
        with pytest.raises(CheckError) as caught:
            list(simulate(image, [Stimulus.steady(image, vectors)], engine))
        messages.add(str(caught.value).removeprefix("does_the_steps: "))
    (message,) = messages
    pattern = r"cycle \d+, thread 0, word \d+ \(.*\) of instruction \d+: R\d [-+]= .*\*R\d: " + VALUE
    assert re.match(pattern, message)


def test_no_compiler_means_amaranth(monkeypatch, tmp_path):
    assert choose(None) == ("bulk", None)
    assert choose(None, waveform=True) == ("verilator", None)
    assert choose("verilator") == ("verilator", None)
    monkeypatch.setattr(build, "missing_tools", lambda: "no C++ compiler")
    for wanted in (None, "bulk", "verilator"):
        assert choose(wanted) == ("amaranth", "no C++ compiler: simulating with Amaranth, which is slow")
    assert choose("amaranth") == ("amaranth", None)
    with pytest.raises(InputError, match="the bulk simulator writes no waveform"):
        choose("bulk", waveform=True)


def test_a_test_that_does_not_exist_is_no_success(main_config):
    with pytest.raises(RuntimeError, match=r"without results|were asked for"):
        run_bench(Core(main_config), [], ["no_such_test"])
