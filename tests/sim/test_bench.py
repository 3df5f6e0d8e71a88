"""The cocotb bench passes on the core and fails on cores that are broken on purpose; so does Amaranth's simulator."""

import dataclasses
import re

import numpy as np
import pytest
from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from skinny.hdl import core as core_module
from skinny.hdl import datapath as datapath_module
from skinny.hdl.arithmetic import Arithmetic
from skinny.hdl.core import Core
from skinny.model.errors import CheckError, InputError
from skinny.sim import ENGINES, amaranth_engine, bench, build
from skinny.sim.bench import Load, Reset, Run, run_bench
from skinny.sim.bulk import BulkCore
from skinny.sim.check import Stimulus, expect, first_divergence, random_stimulus
from skinny.sim.engines import choose, simulate


@pytest.fixture
def job(make_image, make_vectors, main_config):
    """Programs with vectors, for the tests of the bench that make their own stimuli."""
    rng = np.random.default_rng(5)
    images = [make_image(rng, main_config, length, outputs=2) for length in (3, 14)]
    return [(image, make_vectors(rng, image, 14)) for image in images]


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
        run_bench(Core(config), job, ["matches_model", "load_waits_while_busy"])


def test_hundred_programs_in_one_simulation(steps, main_config):
    records = bench.run_steps(Core(main_config), steps(main_config, 100))
    assert len(records) == 100
    assert sum(record.fault >= 0 for record in records) == 20


def test_initial_contents(make_image, make_vectors, rng, main_config):
    image = make_image(rng, main_config, 10, outputs=2)
    stimulus = random_stimulus(rng, image, make_vectors(rng, image, 9), 0.3, 0.3, 0.3)
    (record,) = bench.run_steps(Core(main_config, image, rom=True), [Reset(), Run(stimulus)])
    assert len(record.results) == 18


def test_all_engines_see_the_same(steps, main_config):
    listed = steps(main_config, 4)
    from_cocotb = bench.run_steps(Core(main_config), listed)
    from_amaranth = amaranth_engine.run_steps(Core(main_config), listed)
    core = BulkCore(main_config)
    runs = 0
    for step in listed:
        match step:
            case Reset():
                core.reset()
            case Load(image):
                core.load(image)
            case Run(stimulus):
                record = core.run(stimulus)
                for other in (from_cocotb[runs], from_amaranth[runs], expect(stimulus)):
                    assert first_divergence(stimulus, record, other) is None
                    assert (record.cycles, record.busy) == (other.cycles, other.busy)
                runs += 1


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


VALUE = r"(R\d|S) expected .*, got "
BUGS = {
    "wrong sign": (datapath_module, "Arithmetic", {"neg": lambda m, value: ~value}, VALUE),
    "stale operand": (core_module, "Datapath", {"x": delayed}, VALUE),
    "thread off by one": (core_module, "InputBuffer", {"thread": lambda m, value: value + 1}, VALUE),
    "lost back-pressure at o": (core_module, "ResultFIFO", {"o_ready": lambda m, value: 1}, "result "),
    "lost back-pressure at i": (core_module, "InputBuffer", {"i_ready": lambda m, value: 1}, "input word "),
    "start vector lost": (core_module, "Datapath", {"start": lambda m, value: 0}, VALUE),
}


def break_core(monkeypatch, bug):
    if bug == "rounding":
        monkeypatch.setattr(Arithmetic, "_negate_binary", no_rounding)
        return VALUE
    module, name, changes, message = BUGS[bug]
    monkeypatch.setattr(module, name, altered(getattr(module, name), **changes))
    return message


@pytest.mark.parametrize("bug", [*BUGS, "rounding"])
def test_a_broken_core_is_caught(monkeypatch, main_config, job, bug):
    message = break_core(monkeypatch, bug)
    with pytest.raises(CheckError, match=rf"^matches_model/.*: .*cycle \d+.*{message}"):
        run_bench(Core(main_config), job, ["matches_model"])


def test_the_unbroken_core_passes_the_same_job(main_config, job):
    run_bench(Core(main_config), job, ["matches_model"])


def test_every_engine_names_the_same_divergence(monkeypatch, main_config, job):
    break_core(monkeypatch, "wrong sign")
    image, vectors = job[1]
    messages = set()
    for engine in ENGINES:
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
    with pytest.raises(InputError, match="the bulk engine writes no waveform"):
        choose("bulk", waveform=True)


def test_a_test_that_does_not_exist_is_no_success(main_config):
    with pytest.raises(RuntimeError, match=r"without results|were asked for"):
        run_bench(Core(main_config), [], ["no_such_test"])
