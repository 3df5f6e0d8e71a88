"""Imports point one way, model <- hdl <- sim <- scripts, and the model needs nothing but numpy."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LAYERS = ("model", "hdl", "sim", "scripts")
#: The modules of the top package, on which the commands stand.
FRONT_DOOR = {path.stem for path in (ROOT / "scripts" / "skinny").glob("[a-z]*.py")}


def imported_names(path, layer):
    """Absolute names of everything ``path`` imports, wherever in the file; relative ones are resolved."""
    package = ["skinny", layer, *path.relative_to(ROOT / layer).parent.parts]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        match node:
            case ast.Import(names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module, names, level):
                base = package[: len(package) - level + 1] if level else []
                yield from (".".join([*base, *([module] if module else []), alias.name]) for alias in names)


def forbidden(name, layer):
    """Whether a file of ``layer`` may not import ``name``."""
    words = name.split(".")
    if words[0] in LAYERS or words[0] == "tests":
        return True
    if words[0] == "skinny" and layer == "scripts" and words[1:2] and words[1] in FRONT_DOOR:
        return False
    if words[0] == "skinny":
        return words[1:2] == [] or words[1] not in LAYERS[: LAYERS.index(layer) + 1]
    return layer == "model" and words[0] not in {*sys.stdlib_module_names, "numpy"}


@pytest.mark.parametrize("layer", LAYERS)
def test_imports_point_one_way(layer):
    # scripts/typing holds links to the layers for the type checker.
    files = [path for path in (ROOT / layer).rglob("*.py") if "typing" not in path.relative_to(ROOT).parts]
    wrong = [f"{path}: {name}" for path in files for name in imported_names(path, layer) if forbidden(name, layer)]
    assert wrong == []
    assert files or layer in ("hdl", "sim")


def test_the_front_door_stands_below_the_commands():
    for path in (ROOT / "scripts" / "skinny").glob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "skinny.scripts" not in text
        assert "argparse" not in text


@pytest.mark.parametrize(
    ("text", "layer", "wrong"),
    [
        ("import numpy.linalg, json", "model", False),
        ("from . import rings", "model", False),
        ("from ..hdl import core", "model", True),
        ("def f():\n    import amaranth", "model", True),
        ("import cocotb", "model", True),
        ("import amaranth", "hdl", False),
        ("from skinny.sim import bench", "hdl", True),
        ("from skinny import scripts", "sim", True),
        ("import skinny.model.rings", "scripts", False),
        ("import model", "scripts", True),
        ("import skinny", "sim", True),
        ("from skinny.answers import describe", "sim", True),
        ("from skinny.answers import describe", "scripts", False),
    ],
)
def test_the_rule_itself(tmp_path, monkeypatch, text, layer, wrong):
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    (tmp_path / layer).mkdir()
    path = tmp_path / layer / "case.py"
    path.write_text(text)
    assert any(forbidden(name, layer) for name in imported_names(path, layer)) is wrong
