"""A core with a broken unit is caught in the cycle in which it goes wrong."""

from dataclasses import replace

import numpy as np
import pytest
from amaranth import Module
from skinny.hdl.core import argmax as argmax_module
from skinny.hdl.core import core as core_module
from skinny.hdl.core.decoder import Decoder
from skinny.model.errors import CheckError
from skinny.model.machine.isa import APPLIES, SUMS, CoreConfig, Op
from skinny.model.rings import Modular
from skinny.sim.check.steps import LoadImage, ResetCore, RunStimulus
from skinny.sim.check.stimulus import Stimulus
from skinny.sim.simulators.amaranth import run_steps

CONFIG = CoreConfig(Modular(4), depth=256, inputs=5, weights=6, assign=True, sums=True, relu=True, argmax=8)


def steps_for(make_image, make_vectors):
    rng = np.random.default_rng(3)
    image = make_image(rng, CONFIG, 30, outputs=4)
    # Programs seldom take a term with a register away.
    fields = CONFIG.decode(image.words)
    sums = np.isin(fields["op"], SUMS) & (fields["dst"] == CONFIG.width)
    minus = np.where(sums, CONFIG.encode(Op.NONE, neg=1), 0).astype(np.uint64)
    image = replace(image, words=image.words ^ minus)
    return [ResetCore(), LoadImage(image), RunStimulus(Stimulus.steady(image, make_vectors(rng, image, 40)))]


def broken_decoder(monkeypatch, change):
    """Decoders get other control signals: ``change`` is given word and control, and says which."""

    class Wrong(Decoder):
        def elaborate(self, platform):
            m = Module()
            m.submodules.right = right = Decoder(self.config)
            m.d.comb += [right.word.eq(self.word), self.control.eq(right.control)]
            when, signal, value = change(self.word, right.control, self.control)
            with m.If(when & ~right.control.bad):
                m.d.comb += signal.eq(value)
            return m

    monkeypatch.setattr(core_module, "Decoder", Wrong)


def applies(word, kinds):
    return word.op.matches(*map(int, kinds))


BROKEN = {
    "assign that keeps the old value": (
        lambda word, right, control: (
            applies(word, APPLIES) & word.flag & (word.dst != CONFIG.width),
            control.onto,
            1 << right.target,
        )
    ),
    "assign to itself that is malformed": (
        lambda word, right, control: (applies(word, APPLIES) & (word.dst == word.src), control.bad, 1)
    ),
    "sum that forgets the sign": (
        lambda word, right, control: (applies(word, SUMS) & (word.dst == CONFIG.width), control.neg, 0)
    ),
    "sum that never starts afresh": (
        lambda word, right, control: (
            applies(word, SUMS) & (word.dst == CONFIG.width),
            control.onto,
            1 << CONFIG.width,
        )
    ),
    "relu of the wrong sign": lambda word, right, control: (right.relu, control.neg, ~right.neg),
    "relu that is forgotten": lambda word, right, control: (right.relu, control.relu, 0),
    "number that is not sent": lambda word, right, control: (right.emit & (word.src == 3), control.route, 1),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_decoder_is_caught(monkeypatch, make_image, make_vectors, fault):
    steps = steps_for(make_image, make_vectors)
    broken_decoder(monkeypatch, BROKEN[fault])
    with pytest.raises(CheckError, match=r"cycle \d+"):
        run_steps(core_module.Core(CONFIG), steps)


def test_an_argmax_that_takes_the_last_of_equals_is_caught(monkeypatch, make_image, make_vectors):
    steps = steps_for(make_image, make_vectors)
    monkeypatch.setattr(argmax_module, "is_larger", lambda word, best: word >= best)
    with pytest.raises(CheckError, match=r"cycle \d+: result \d+: data expected"):
        run_steps(core_module.Core(CONFIG), steps)


def test_nothing_is_caught_when_nothing_is_broken(make_image, make_vectors):
    run_steps(core_module.Core(CONFIG), steps_for(make_image, make_vectors))
