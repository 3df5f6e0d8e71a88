"""The cocotb test bench passes on cores of several rings, whatever source and sink do."""

from skinny.hdl.core.core import Core
from skinny.sim.simulators.cocotb_runner import run_testbench


def test_whatever_source_and_sink_do(configs, make_image, make_vectors, rng):
    for config in (configs[0], configs[7], configs[10], configs[12]):
        images = [make_image(rng, config, 10, outputs=2) for _ in range(2)]
        job = [(image, make_vectors(rng, image, 12)) for image in images]
        run_testbench(Core(config), job, ["matches_model", "load_waits_while_busy", "reset_drops_what_runs"])
