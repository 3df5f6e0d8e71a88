"""Runs cocotb test benches on verilated designs.

A test bench runs in the simulator's own process. Its job travels there in a file, and its answer comes back in one.
"""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from cocotb_tools.runner import get_runner
from skinny.hdl.core.core import Core
from skinny.hdl.export.export import TOP, to_verilog
from skinny.hdl.parallel.engine import ParallelEngine
from skinny.model.errors import CheckError
from skinny.model.files import copy_file
from skinny.sim.build import build_testbench
from skinny.sim.check.record import Record
from skinny.sim.check.steps import CoreStep

__all__ = ["JOB", "read_job", "run_steps", "run_testbench", "write_answer"]

#: The environment variable that tells a test bench the folder of its job.
JOB = "SKINNY_JOB"


def read_job() -> Any:
    """The job of the test bench that calls this."""
    return pickle.loads(Path(os.environ[JOB], "job").read_bytes())


def write_answer(answer: Any) -> None:
    """Hand over the answer of the test bench that calls this."""
    Path(os.environ[JOB], "answer").write_bytes(pickle.dumps(answer))


def run_testbench(
    core: Core | ParallelEngine | Path,
    job: Any,
    tests: Sequence[str],
    module: str = "skinny.sim.simulators.cocotb_core",
    vcd: str | None = None,
) -> Any:
    """Run the cocotb ``tests`` of ``module`` on ``core``, or on the simulator in a folder that :func:`build_testbench`
    made of a design with the same pins; returns their answer. A failed test is a :exc:`CheckError` with its message."""
    if isinstance(core, Path):
        build = core
    else:
        build = build_testbench(to_verilog(core) + core.target.models(), TOP, trace=vcd is not None)
    with tempfile.TemporaryDirectory(prefix="skinny-") as name:
        folder = Path(name)
        (folder / "job").write_bytes(pickle.dumps(job))
        log, wave = folder / "log", folder / "wave.vcd"
        # Under pytest the runner ends the process when a test failed, elsewhere it says nothing: the results count.
        with suppress(SystemExit, RuntimeError):
            get_runner("verilator").test(
                test_module=module,
                hdl_toplevel=TOP,
                hdl_toplevel_lang="verilog",
                test_filter=rf"\.({'|'.join(tests)})(/|$)",
                seed=1,
                build_dir=build,
                test_dir=folder,
                results_xml=str(folder / "results.xml"),
                extra_env={JOB: name, "COCOTB_LOG_LEVEL": "WARNING", "COCOTB_ANSI_OUTPUT": "0"},
                test_args=[] if vcd is None else ["--trace", "--trace-file", str(wave)],
                log_file=log,
            )
        # A waveform is wanted most when the test failed.
        if vcd is not None and wave.exists():
            copy_file(wave, vcd)
        _read_results(folder / "results.xml", log, tests)
        answer = folder / "answer"
        return pickle.loads(answer.read_bytes()) if answer.exists() else None


def _read_results(path: Path, log: Path, tests: Sequence[str]) -> None:
    if not path.exists():
        said = log.read_text(errors="replace") if log.exists() else ""
        raise RuntimeError(f"the simulator ended without results:\n{said[-4000:]}")
    cases = ElementTree.parse(path).getroot().findall(".//testcase")
    run = {(case.get("name") or "").partition("/")[0] for case in cases}
    if run != set(tests):
        raise RuntimeError(f"the tests {sorted(tests)} were asked for, {sorted(run)} were run")
    for case in cases:
        for failure in (*case.findall("failure"), *case.findall("error")):
            message = failure.get("error_msg") or failure.get("message") or failure.text or ""
            raise CheckError(f"{case.get('name')}: {message.strip()}")


def run_steps(core: Core | ParallelEngine | Path, steps: Sequence[CoreStep], vcd: str | None = None) -> list[Record]:
    """Do ``steps`` one after the other on ``core`` (see :func:`run_testbench`); returns the record of each run."""
    answer: list[Record] = run_testbench(core, list(steps), ["does_the_steps"], vcd=vcd)
    return answer
