"""The choice of a simulator, and one function for all of them."""

import pytest
from skinny.model.errors import InputError
from skinny.sim import SIMULATORS, build
from skinny.sim.check.generate import golden_words
from skinny.sim.check.record import outputs
from skinny.sim.check.stimulus import Stimulus
from skinny.sim.simulators.choose import choose, simulate


def test_all_simulators_run(main_config, make_image, make_vectors, rng):
    image = make_image(rng, main_config, 6, outputs=2)
    stimuli = [Stimulus.steady(image, make_vectors(rng, image, count)) for count in (3, 5)]
    golden = [golden_words(image, stimulus.vectors).tolist() for stimulus in stimuli]
    for simulator in SIMULATORS:
        records = simulate(image, stimuli, simulator)
        assert [outputs(*pair).tolist() for pair in zip(stimuli, records, strict=True)] == golden


def test_no_compiler_means_amaranth(monkeypatch):
    assert choose(None) == ("bulk", None)
    assert choose(None, waveform=True) == ("verilator", None)
    assert choose("verilator") == ("verilator", None)
    monkeypatch.setattr(build, "missing_tools", lambda: "no C++ compiler")
    for wanted in (None, "bulk", "verilator"):
        assert choose(wanted) == ("amaranth", "no C++ compiler: simulating with Amaranth, which is slow")
    assert choose("amaranth") == ("amaranth", None)
    with pytest.raises(InputError, match="the bulk simulator writes no waveform"):
        choose("bulk", waveform=True)
