"""Amaranth's simulator shows what the others show."""

from skinny.hdl.core.core import Core
from skinny.sim.check.divergence import first_divergence
from skinny.sim.check.record import expect
from skinny.sim.check.steps import RunStimulus
from skinny.sim.simulators import amaranth as amaranth_simulator
from skinny.sim.simulators import cocotb_runner
from skinny.sim.simulators.bulk import BulkCore


def test_all_simulators_see_the_same(steps, main_config, scenarios):
    listed = [*steps(main_config, 4), *scenarios]
    from_cocotb = cocotb_runner.run_steps(Core(main_config), listed)
    from_amaranth = amaranth_simulator.run_steps(Core(main_config), listed)
    from_bulk = list(BulkCore(main_config).do(listed))
    runs = [step for step in listed if isinstance(step, RunStimulus)]
    for run, *records in zip(runs, from_bulk, from_cocotb, from_amaranth, strict=True):
        expected = expect(run.stimulus, cycles=run.cycles)
        for record in records:
            assert first_divergence(run.stimulus, expected, record) is None
            assert (record.cycles, record.worked) == (expected.cycles, expected.worked)


def test_a_waveform_is_written(steps, main_config, tmp_path):
    (record,) = amaranth_simulator.run_steps(Core(main_config), steps(main_config, 1), str(tmp_path / "waves.vcd"))
    text = (tmp_path / "waves.vcd").read_text()
    assert " o_valid " in text
    # A clock of 10 ns: two changes in every cycle that was simulated.
    times = [int(line[1:]) for line in text.splitlines() if line.startswith("#")]
    assert max(times) > record.cycles * 10_000
