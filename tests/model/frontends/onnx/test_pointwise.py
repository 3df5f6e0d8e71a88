"""Operators that are not affine, against onnxruntime."""

import numpy as np
import pytest
from skinny.model.errors import InputError
from skinny.model.formula.formula import postorder
from skinny.model.frontends.onnx.graph import import_onnx


def count(imported, kind):
    return sum(node.kind == kind for node in postorder(*imported.outputs.values()))


@pytest.mark.parametrize(
    ("operator", "options"),
    [
        ("Relu", {}),
        ("LeakyRelu", {"alpha": 0.1}),
        ("LeakyRelu", {}),
        ("LeakyRelu", {"alpha": -2.0}),
        ("Abs", {}),
        ("Neg", {}),
        ("Sigmoid", {}),
        ("Tanh", {}),
    ],
)
def test_one_operand(network, agrees, operator, options):
    """Of an input, of a form, and of a number, with something affine behind it."""
    shift = {"c": np.array([0.5, -0.25, 0], np.float32)}
    behind = ("Sub", ["z", "c"], ["y"], {})
    agrees(network([(operator, ["x"], ["z"], options), behind], {"x": [1, 3]}, constants=shift))
    nodes = [("Mul", ["x", "c"], ["a"], {}), ("Add", ["a", "c"], ["b"], {}), (operator, ["b"], ["z"], options), behind]
    agrees(network(nodes, {"x": [1, 3]}, constants=shift))
    nodes = [(operator, ["c"], ["a"], options), ("Mul", ["x", "a"], ["y"], {})]
    agrees(network(nodes, {"x": [1, 3]}, constants=shift))


@pytest.mark.parametrize("opset", [7, 11, 13])
def test_clip_with_every_bound(network, agrees, opset):
    for low, high in [(-0.5, 0.5), (0, 6), (None, 0.5), (-0.25, None), (None, None), (1.0, -1.0)]:
        given, options, constants = ["x"], {}, {}
        for name, bound in (("min", low), ("max", high)):
            if opset == 7 and bound is not None:
                options[name] = float(bound)
            elif opset > 7:
                given.append(name if bound is not None else "")
                constants |= {} if bound is None else {name: np.float32(bound)}
        if opset == 7 and low == 1.0:
            continue  # not told before bounds could be inputs
        agrees(network([("Clip", given, ["y"], options)], {"x": [1, 4]}, constants=constants, opset=opset))


def test_clip_writes_its_argument_once(network, agrees):
    nodes = [("MatMul", ["x", "w"], ["a"], {}), ("Clip", ["a", "low", "high"], ["y"], {})]
    constants = {"w": np.ones((5, 1), np.float32), "low": np.float32(-1), "high": np.float32(1)}
    imported = agrees(network(nodes, {"x": [1, 5]}, constants=constants))
    assert (count(imported, "variable"), count(imported, "relu")) == (5, 2)
    assert sum(arg.kind == "variable" for node in postorder(imported.outputs["y"]) for arg in node.args) == 5


@pytest.mark.parametrize("operator", ["Max", "Min"])
def test_the_larger_of_several(network, agrees, operator):
    rng = np.random.default_rng(0)
    constants = {"c": rng.normal(size=(2, 3)).astype(np.float32), "d": np.float32(0.1)}
    shapes = {"a": [1, 2, 3], "b": [1, 1, 3]}
    for given in (["a", "b"], ["a", "c"], ["c", "a"], ["a", "b", "c", "d"], ["a"], ["a", "a"]):
        agrees(
            network(
                [(operator, given, ["y"], {})],
                {name: shapes[name] for name in {*given} & {*shapes}},
                constants=constants,
            )
        )
    nodes = [(operator, ["c", "d"], ["e"], {}), ("Add", ["a", "e"], ["y"], {})]
    agrees(network(nodes, {"a": [1, 2, 3]}, constants=constants))
    constants = {"w": rng.normal(size=(6, 2)).astype(np.float32), "s": np.float32(0.2)}
    nodes = [("MatMul", ["x", "w"], ["a"], {}), (operator, ["s", "a"], ["y"], {})]
    imported = agrees(network(nodes, {"x": [1, 6]}, constants=constants))
    assert len(imported.layers[0].values) == 2  # what is compared with a number is written once, and not held
    if operator == "Max":  # a leaky rectifier as some exporters write it; what is wide is computed once
        constants = {"w": rng.normal(size=(6, 2)).astype(np.float32), "s": np.float32(0.2)}
        nodes = [("MatMul", ["x", "w"], ["a"], {}), ("Mul", ["a", "s"], ["b"], {}), ("Max", ["a", "b"], ["y"], {})]
        imported = agrees(network(nodes, {"x": [1, 6]}, constants=constants))
        assert count(imported, "product") <= 2 * (6 + 4)


def test_max_pools(network, agrees):
    for seed in range(25):
        rng = np.random.default_rng(seed)
        rank = int(rng.integers(1, 3))
        kernel = rng.integers(1, 4, rank)
        options = {
            "kernel_shape": kernel.tolist(),
            "strides": rng.integers(1, 4, rank).tolist(),
            "dilations": rng.integers(1, 3, rank).tolist(),
            "pads": [int(n) for _ in range(2) for n in rng.integers(0, kernel)],
            "ceil_mode": int(rng.integers(2)),
        }
        shape = [1, 2, *rng.integers(5, 8, rank).tolist()]
        agrees(network([("MaxPool", ["x"], ["y"], options)], {"x": shape}, opset=12), seed, rows=2)


def test_a_max_pool_takes_a_rectifier_for_each_further_element(network):
    nodes = [("MaxPool", ["x"], ["y"], {"kernel_shape": [2, 2], "strides": [2, 2]})]
    imported = import_onnx(network(nodes, {"x": [1, 1, 4, 4]}))
    assert count(imported, "relu") == 4 * 3
    assert [(layer.name, len(layer.values)) for layer in imported.layers] == [("y", 12), ("output", 4)]


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 7])
def test_powers(network, agrees, exponent):
    for value in (np.float32(exponent), np.array([exponent], np.int64), np.full((2, 3), exponent, np.float32)):
        agrees(network([("Pow", ["x", "e"], ["y"], {})], {"x": [1, 3]}, constants={"e": value}))
    nodes = [("Pow", ["c", "e"], ["p"], {}), ("Add", ["x", "p"], ["y"], {})]
    agrees(network(nodes, {"x": [1, 3]}, constants={"c": np.float32(-1.5), "e": np.float32(exponent)}))


def test_what_cannot_be_negative_needs_no_rectifier(network, agrees):
    nodes = [
        ("Relu", ["x"], ["a"], {}),
        ("Pow", ["x", "two"], ["b"], {}),
        ("Add", ["a", "b"], ["c"], {}),
        ("Relu", ["c"], ["d"], {}),
        ("Clip", ["d", "zero", "six"], ["y"], {}),
    ]
    constants = {"two": np.float32(2), "zero": np.float32(0), "six": np.float32(6)}
    imported = agrees(network(nodes, {"x": [1, 3]}, constants=constants), scale=3.0)
    assert count(imported, "relu") == 3 + 3  # the first, and the upper bound of the last
    cube = [("Pow", ["x", "three"], ["a"], {}), ("Relu", ["a"], ["y"], {})]
    agrees(network(cube, {"x": [1, 3]}, constants={"three": np.float32(3)}))
    minus = [("Relu", ["x"], ["a"], {}), ("Neg", ["a"], ["b"], {}), ("Relu", ["b"], ["y"], {})]
    assert count(agrees(network(minus, {"x": [1, 3]})), "relu") == 6


@pytest.mark.parametrize("exponent", [0.5, -1, [1, 2]])
def test_other_powers_are_refused(network, exponent):
    model = network([("Pow", ["x", "e"], ["y"], {})], {"x": [1, 2]}, constants={"e": np.array(exponent, np.float32)})
    with pytest.raises(InputError, match=r"^Pow 'y': its exponent is not one whole number from 0 on: take"):
        import_onnx(model)


def test_places_of_maxima_are_refused(network):
    model = network([("MaxPool", ["x"], ["y", "i"], {"kernel_shape": [2]})], {"x": [1, 1, 4]}, outputs=["i"])
    with pytest.raises(InputError, match=r"^MaxPool 'y': the places of its maxima are read"):
        import_onnx(model)
