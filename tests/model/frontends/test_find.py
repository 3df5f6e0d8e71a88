"""Which front end a model is for."""

import json
import subprocess
import sys

import numpy as np
import sympy
from onnx import helper, numpy_helper
from skinny.model.frontends.find import import_formulas, import_model
from skinny.model.frontends.machines.machine import Machine
from sklearn.linear_model import LinearRegression


class Renamed(LinearRegression):
    """What users make of an estimator is still one."""


def test_estimators_are_found_also_subclasses():
    rows = np.arange(6.0).reshape(3, 2) ** 2
    for kind in (LinearRegression, Renamed):
        imported = import_model(kind().fit(rows, [1.0, 2, 4]))
        assert imported.inputs == ("x0", "x1")
        assert imported.kind == "regressor"


def test_zeros_are_kept_where_that_is_asked():
    model = LinearRegression().fit(np.eye(3), [1.0, 2, 4])
    model.coef_, model.intercept_ = np.array([0.5, 0, -2]), 0.0
    assert repr(import_model(model).outputs["y"]) == "1/2*x0 + (-2)*x2"
    assert repr(import_model(model, keep_zeros=True).outputs["y"]) == "1/2*x0 + 0*x1 + (-2)*x2 + 0"
    file = import_model(network_with_zeros(), keep_zeros=True)
    assert repr(file.outputs["y"]) == "0*x0 + 3*x1"
    assert repr(import_model(network_with_zeros()).outputs["y"]) == "3*x1"


def network_with_zeros():
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "net",
        [helper.make_tensor_value_info("x", 1, [1, 2])],
        [helper.make_tensor_value_info("y", 1, [1, 1])],
        [numpy_helper.from_array(np.array([[0], [3]], np.float32), "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_what_is_no_model_is_left_alone():
    for given in ("y = a*b", {"y": 1}, 3, None, np.zeros(3)):
        assert import_model(given) is None


def test_a_program_of_a_formula_loads_no_library_of_models():
    text = (
        "import sys, skinny; skinny.compile('y = a*b'); skinny.model.frontends.find.import_model(3); "
        "skinny.model.frontends.find.import_formulas([3]); "
        "print(sorted({m.split('.')[0] for m in sys.modules} & {'sklearn', 'onnx', 'scipy', 'sympy'}))"
    )
    assert subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_formulas_and_programs_of_front_ends():
    written = import_formulas(Machine(2, {(1, 0): 3}))
    assert written.title == "Machine of 2 nodes, 1 weights, depth 1"
    assert len(written.program) == 3
    for given in ("y = a*b", {"y": 1}, 3, None, np.zeros(3), [], {}):
        assert import_formulas(given) is None


def test_files_become_formulas(tmp_path):
    (tmp_path / "c.blif").write_text(".inputs a b\n.outputs y\n.names a b y\n11 1\n")
    network = {"variables": {"a": 2}, "root": "n", "nodes": {"n": {"bernoulli": 0.5, "of": "a"}}}
    (tmp_path / "n.json").write_text(json.dumps(network))
    assert list(import_formulas(str(tmp_path / "c.blif")).outputs) == ["y"]
    assert list(import_formulas(tmp_path / "n.json").outputs) == ["p"]


def test_what_sympy_makes_alone_in_a_list_or_by_name():
    x = sympy.Symbol("x")
    assert list(import_formulas(x).outputs) == ["y"]
    assert list(import_formulas([1, x]).outputs) == ["y0", "y1"]
    assert list(import_formulas({"u": x + 1}).outputs) == ["u"]
