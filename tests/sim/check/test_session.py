"""Broken cores are caught in the cycle of the first difference, in every simulator."""

import inspect
import re
import textwrap

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
from skinny.model.errors import CheckError
from skinny.sim import SIMULATORS
from skinny.sim.check.steps import RunStimulus
from skinny.sim.check.stimulus import Stimulus
from skinny.sim.simulators import amaranth as amaranth_simulator
from skinny.sim.simulators import cocotb_runner
from skinny.sim.simulators.bulk import BulkCore
from skinny.sim.simulators.choose import simulate


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


def no_rounding(self, product, neg, negate=Arithmetic._negate_binary, **acc):
    return {**negate(self, product, neg, **acc), "carry": neg}


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
BUSY = "self.busy.eq(behind if config.repeat else sequencer.tag.live | behind)"
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
    """Break all cores that are made from now on; returns the message that follows."""
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
    "verilator": lambda config, steps: cocotb_runner.run_steps(Core(config), steps),
    "amaranth": lambda config, steps: amaranth_simulator.run_steps(Core(config), steps),
}


@pytest.mark.parametrize(
    ("simulator", "bug"), [*(("amaranth", bug) for bug in BUGS), *(("bulk", bug) for bug in TEXTS)]
)
def test_a_broken_core_is_caught(monkeypatch, main_config, scenarios, simulator, bug):
    message = break_core(monkeypatch, bug)
    with pytest.raises(CheckError, match=rf"^cycle \d+.*{message}"):
        RUN[simulator](main_config, scenarios)


@pytest.mark.parametrize("simulator", RUN)
def test_the_unbroken_core_passes_the_same_steps(main_config, scenarios, simulator):
    assert len(RUN[simulator](main_config, scenarios)) == sum(isinstance(step, RunStimulus) for step in scenarios)


# Driver and checks of the cocotb test bench are those of Amaranth's simulator; only its way to the pins differs.
@pytest.mark.parametrize(
    "bug", ["wrong sign", "settings follow the load pins", "a reset keeps the count of batches that wait"]
)
def test_cocotb_catches_a_broken_core(monkeypatch, main_config, scenarios, bug):
    message = break_core(monkeypatch, bug)
    with pytest.raises(CheckError, match=rf"^does_the_steps: cycle \d+.*{message}"):
        RUN["verilator"](main_config, scenarios)


def test_every_simulator_names_the_same_divergence(monkeypatch, main_config, make_image, make_vectors, rng):
    break_core(monkeypatch, "wrong sign")
    image = make_image(rng, main_config, 14)
    vectors = make_vectors(rng, image, 14)
    messages = set()
    for simulator in SIMULATORS:
        with pytest.raises(CheckError) as caught:
            list(simulate(image, [Stimulus.steady(image, vectors)], simulator))
        messages.add(str(caught.value).removeprefix("does_the_steps: "))
    (message,) = messages
    pattern = r"cycle \d+, thread 0, word \d+ \(.*\) of instruction \d+: R\d [-+]= .*\*R\d: " + VALUE
    assert re.match(pattern, message)
