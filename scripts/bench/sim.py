"""``skinny bench sim``: cycles a second of the bulk simulator, of a plain C++ main program that drives the same
verilated core, of the cocotb test bench that checks every cycle, and of Amaranth's simulator."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from skinny.hdl.core.core import Core
from skinny.hdl.export.export import TOP, to_verilog
from skinny.model.errors import CheckError
from skinny.model.machine.assemble import assemble
from skinny.model.machine.isa import CoreConfig
from skinny.model.rings import FixedPoint
from skinny.scripts.progress import counted
from skinny.sim.build import build_program
from skinny.sim.check.divergence import first_divergence
from skinny.sim.check.generate import random_program
from skinny.sim.check.record import expect
from skinny.sim.check.steps import LoadImage, ResetCore, RunStimulus
from skinny.sim.check.stimulus import Stimulus, random_elements
from skinny.sim.simulators import amaranth as amaranth_simulator
from skinny.sim.simulators import cocotb_runner
from skinny.sim.simulators.bulk import BulkCore

__all__ = ["bench_sim"]

#: Loads the program, offers every word as soon as it can, takes every result, adds the results up. Nothing else.
MAIN = """
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <vector>

static std::vector<uint64_t> read_words(const char* path) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    std::vector<uint64_t> words(file.tellg() / 8);
    file.seekg(0).read(reinterpret_cast<char*>(words.data()), words.size() * 8);
    return words;
}

int main(int, char** arguments) {
    const auto loads = read_words(arguments[1]), words = read_words(arguments[2]);
    const uint64_t wanted = std::stoull(arguments[3]);
    VerilatedContext context;
    Vtop top{&context};
    const auto tick = [&] {
        top.clk = 1;
        top.eval();
        top.clk = 0;
        top.eval();
    };
    top.rst = 1;
    tick();
    top.rst = 0;
    top.load_valid = 1;
    for (std::size_t n = 0; n < loads.size();) {
        top.load_space = loads[n];
        top.load_address = loads[n + 1];
        top.load_data = loads[n + 2];
        if (top.load_ready) n += 3;
        tick();
    }
    top.load_valid = 0;
    top.o_ready = 1;
    uint64_t cycles = 0, sum = 0, taken = 0;
    std::size_t sent = 0;
    const auto before = std::chrono::steady_clock::now();
    for (; taken < wanted; ++cycles) {
        top.i_valid = sent < words.size();
        if (top.i_valid) top.i_data = words[sent];
        if (top.i_valid && top.i_ready) ++sent;
        if (top.o_valid) {
            sum += top.o_data;
            ++taken;
        }
        tick();
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - before;
    std::printf("{\\"cycles\\": %lu, \\"sum\\": %lu, \\"seconds\\": %.9f}", cycles, sum, seconds.count());
}
"""
INPUTS = 8


def bench_sim(instructions: int = 200, vectors: int = 8000, repeats: int = 3) -> dict[str, int | float]:
    """Cycles a second of each, the best of ``repeats`` taken in turn, on a random program of ``instructions``."""
    rng = np.random.default_rng(1)
    config = CoreConfig(FixedPoint(16, 8))
    image = assemble(random_program(rng, config, instructions, inputs=INPUTS), config)
    stimulus = Stimulus.steady(image, config.pack(random_elements(rng, config.ring, (vectors, INPUTS))))
    few = Stimulus.steady(image, stimulus.vectors[:100])
    expected = expect(stimulus)
    bulk = BulkCore(config)
    bulk.load(image)
    main = build_program({f"{TOP}.v": to_verilog(Core(config))}, TOP, main=MAIN)
    rates: dict[str, list[float]] = {name: [] for name in ("cpp_main", "bulk", "bulk_traced", "cocotb")}
    for _ in counted("runs of each simulator", range(repeats)):
        rates["cpp_main"].append(_run_main(main, stimulus, int(expected.results["data"].sum())))
        for name, trace in (("bulk", False), ("bulk_traced", True)):
            record = bulk.run(stimulus, trace)
            if (difference := first_divergence(stimulus, expected, record)) is not None:
                raise CheckError(difference)
            rates[name].append(record.cycles / record.seconds)
        (record,) = cocotb_runner.run_steps(Core(config), [ResetCore(), LoadImage(image), RunStimulus(few)])
        rates["cocotb"].append(record.cycles / record.seconds)
    (record,) = amaranth_simulator.run_steps(Core(config), [ResetCore(), LoadImage(image), RunStimulus(few)])
    best = {f"{name}_cycles_per_second": round(max(values)) for name, values in rates.items()}
    return {
        "instructions": instructions,
        "cycles": expected.cycles,
        **best,
        "amaranth_cycles_per_second": round(record.cycles / record.seconds),
        "bulk_to_cpp_main": max(rates["bulk"]) / max(rates["cpp_main"]),
        "bulk_traced_to_cpp_main": max(rates["bulk_traced"]) / max(rates["cpp_main"]),
        "bulk_traced_to_cocotb": max(rates["bulk_traced"]) / max(rates["cocotb"]),
    }


def _run_main(program: Path, stimulus: Stimulus, expected: int) -> float:
    image = stimulus.image
    with tempfile.TemporaryDirectory(prefix="skinny-") as folder:
        loads, words = Path(folder, "loads"), Path(folder, "words")
        loads.write_bytes(np.array([tuple(map(int, item)) for item in image.loads()], dtype=np.uint64).tobytes())
        words.write_bytes(stimulus.vectors.astype(np.uint64).tobytes())
        done = subprocess.run(
            [program, loads, words, str(stimulus.results)], capture_output=True, text=True, check=True
        )
    answer = json.loads(done.stdout)
    if answer["sum"] != expected:
        raise CheckError("the C++ main program gives other results")
    return float(answer["cycles"] / answer["seconds"])
