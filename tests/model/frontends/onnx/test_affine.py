"""Operators that add elements times constants, against onnxruntime."""

import numpy as np
import pytest
from skinny.model.errors import InputError
from skinny.model.frontends.onnx.graph import import_onnx

SEEDS = range(12)


def normal(rng, *shape):
    return rng.normal(size=shape).astype(np.float32)


def test_gemm(network, agrees):
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        wide, out, turned = *rng.integers(1, 6, 2), int(rng.integers(2))
        options = {"transB": turned, "alpha": float(rng.choice([1, 0.5])), "beta": float(rng.choice([1, -2]))}
        constants = {"w": normal(rng, out, wide) if turned else normal(rng, wide, out)}
        given = ["x", "w"]
        if rng.integers(4):
            given.append("b")
            constants["b"] = normal(rng, *[(out,), (1, out), (), (1,)][rng.integers(4)])
        agrees(network([("Gemm", given, ["y"], options)], {"x": ["N", wide]}, constants=constants), seed)


def test_gemm_with_the_constant_in_front(network, agrees):
    rng = np.random.default_rng(0)
    node = ("Gemm", ["w", "x"], ["y"], {"transA": 1, "transB": 1})
    agrees(network([node], {"x": [1, 4]}, constants={"w": normal(rng, 4, 3)}))


@pytest.mark.parametrize(
    ("signal", "weights", "first"),
    [
        ([1, 4], (4, 3), False),
        ([4], (4, 3), False),
        ([1, 4], (4,), False),
        ([4], (4,), False),
        ([4], (4,), True),
        ([4], (3, 4), True),
        ([1, 2, 4], (4, 3), False),
        ([1, 2, 4], (2, 4, 3), False),
        ([1, 3, 2, 4], (3, 4, 2), False),
        ([1, 4, 2], (3, 4), True),
        ([1, 4, 2], (5, 1, 3, 4), True),
    ],
)
def test_matmul_of_every_rank(network, agrees, signal, weights, first):
    constants = {"w": normal(np.random.default_rng(1), *weights)}
    given = ["w", "x"] if first else ["x", "w"]
    agrees(network([("MatMul", given, ["y"], {})], {"x": signal}, constants=constants))


@pytest.mark.parametrize("operator", ["Add", "Sub", "Mul", "Div"])
def test_arithmetic_with_a_constant_of_every_shape(network, agrees, operator):
    rng = np.random.default_rng(2)
    for shape in [(), (1,), (3,), (2, 1), (1, 2, 3), (4, 2, 3)]:
        for order in (["x", "c"], ["c", "x"]):
            if operator != "Div" or order[0] == "x":
                model = network([(operator, order, ["y"], {})], {"x": [1, 2, 3]}, constants={"c": normal(rng, *shape)})
                agrees(model)


@pytest.mark.parametrize("operator", ["Add", "Sub", "Mul"])
def test_arithmetic_of_two_inputs(network, agrees, operator):
    agrees(network([(operator, ["a", "b"], ["y"], {})], {"a": [1, 3], "b": [1, 1]}))
    agrees(network([(operator, ["a", "a"], ["y"], {}), ("Neg", ["y"], ["z"], {})], {"a": [1, 3]}, outputs=["z"]))


def conv(rng, rank):
    """A convolution with random attributes, as its node, the shape of its input and its constants."""
    groups, each, channels = (int(n) for n in rng.integers(1, 3, 3))
    kernel = rng.integers(1, 4, rank)
    options = {
        "kernel_shape": kernel.tolist(),
        "strides": rng.integers(1, 4, rank).tolist(),
        "dilations": rng.integers(1, 3, rank).tolist(),
        "group": groups,
    }
    automatic = rng.choice(["NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"])
    if automatic == "NOTSET":
        options["pads"] = rng.integers(0, 3, 2 * rank).tolist()
    else:
        options["auto_pad"] = str(automatic)
    if automatic.startswith("SAME"):
        options["dilations"] = [1] * rank  # onnxruntime knows no other
    size = rng.integers(5, 9, rank).tolist()
    constants = {"w": normal(rng, groups * each, channels, *kernel), "b": normal(rng, groups * each)}
    given = ["x", "w", "b"][: 2 + rng.integers(2)]
    return ("Conv", given, ["y"], options), [1, groups * channels, *size], constants


@pytest.mark.parametrize("rank", [1, 2])
def test_convolutions(network, agrees, rank):
    for seed in range(25):
        node, shape, constants = conv(np.random.default_rng(seed), rank)
        agrees(network([node], {"x": shape}, constants=constants), seed, rows=1)


def test_batch_normalisation_is_folded_into_the_layer_before(network, agrees):
    rng = np.random.default_rng(3)
    constants = {"w": normal(rng, 3, 2, 3), "s": normal(rng, 3), "b": normal(rng, 3), "m": normal(rng, 3)}
    constants["v"] = np.abs(normal(rng, 3)) + 0.1
    nodes = [
        ("Conv", ["x", "w"], ["c"], {}),
        ("BatchNormalization", ["c", "s", "b", "m", "v"], ["y"], {"epsilon": 1e-3}),
    ]
    imported = agrees(network(nodes, {"x": [1, 2, 6]}, constants=constants))
    for formula in imported.outputs.values():  # six products and the offset
        assert formula.kind == "sum"
        assert [arg.kind for arg in formula.args] == ["product"] * 6 + ["constant"]


def test_average_pools(network, agrees):
    for seed in range(25):
        rng = np.random.default_rng(seed)
        rank = int(rng.integers(1, 3))
        kernel = rng.integers(1, 4, rank)
        options = {
            "kernel_shape": kernel.tolist(),
            "strides": rng.integers(1, 4, rank).tolist(),
            "pads": [int(n) for _ in range(2) for n in rng.integers(0, kernel)],
            "count_include_pad": int(rng.integers(2)),
            "ceil_mode": int(rng.integers(2)),
        }
        for name in ("count_include_pad", "ceil_mode"):
            if rng.integers(3) == 0:
                del options[name]
        agrees(
            network(
                [("AveragePool", ["x"], ["y"], options)], {"x": [1, 2, *rng.integers(4, 8, rank).tolist()]}, opset=19
            ),
            seed,
            rows=1,
        )


def test_global_average_pool(network, agrees):
    agrees(network([("GlobalAveragePool", ["x"], ["y"], {})], {"x": [1, 2, 3, 4]}))


@pytest.mark.parametrize("operator", ["ReduceMean", "ReduceSum"])
@pytest.mark.parametrize("opset", [11, 18])
def test_reductions(network, agrees, operator, opset):
    for axes, keep in [((1,), 1), ((-1, 1), 0), ((0, 1, 2), 1), ((), 1), ((2,), 0)]:
        given, options, constants = ["x"], {"keepdims": keep}, {}
        if opset == 18 and axes:
            given, constants = ["x", "a"], {"a": np.array(axes, np.int64)}
        elif axes:
            options["axes"] = list(axes)
        agrees(network([(operator, given, ["y"], options)], {"x": [1, 3, 4]}, constants=constants, opset=opset))
    nodes = [(operator, ["x"], ["s"], {} if opset == 18 else {"axes": [-1]}), ("Sub", ["x", "s"], ["y"], {})]
    agrees(network(nodes, {"x": [1, 3, 4]}, opset=opset))  # axes of one stay, unless they are not wanted
    if opset == 18:
        options = {"noop_with_empty_axes": 1}
        agrees(network([(operator, ["x"], ["y"], options)], {"x": [1, 3, 4]}, opset=opset))


def test_constants_are_computed_with_in_their_own_type(network, agrees):
    nodes = [
        ("Shape", ["x"], ["s"], {}),
        ("Div", ["s", "two"], ["h"], {}),  # (0, -1): 1 / 2 and 3 / -2, towards zero
        ("Add", ["h", "two"], ["a"], {}),
        ("Cast", ["a"], ["f"], {"to": 1}),
        ("MatMul", ["x", "m"], ["y"], {}),
        ("Mul", ["y", "f"], ["z"], {}),
    ]
    constants = {"two": np.array([2, -2], np.int64), "m": np.eye(3, 2, dtype=np.float32)}
    agrees(network(nodes, {"x": [1, 3]}, outputs=["z"], constants=constants))


def test_a_narrow_layer_is_kept_and_a_scale_is_folded(network):
    rng = np.random.default_rng(4)
    narrow = [("MatMul", ["x", "a"], ["h"], {}), ("MatMul", ["h", "b"], ["y"], {})]
    constants = {"a": normal(rng, 8, 2), "b": normal(rng, 2, 8)}
    imported = import_onnx(network(narrow, {"x": [1, 8]}, constants=constants))
    assert [(layer.name, len(layer.values)) for layer in imported.layers] == [("input of y", 2), ("output", 8)]
    scale = [("Mul", ["x", "a"], ["h"], {}), ("MatMul", ["h", "b"], ["y"], {})]
    constants = {"a": normal(rng, 8), "b": normal(rng, 8, 3)}
    assert len(import_onnx(network(scale, {"x": [1, 8]}, constants=constants)).layers) == 1


@pytest.mark.parametrize(
    ("node", "constants", "why"),
    [
        (("MatMul", ["x", "x"], ["y"], {}), {}, "both of its factors .* a Mul and a ReduceSum$"),
        (
            ("Div", ["c", "x"], ["y"], {}),
            {"c": np.ones(1, np.float32)},
            "its divisor must be constant.*: export it with",
        ),
        (("Div", ["x", "c"], ["y"], {}), {"c": np.zeros(1, np.float32)}, "by zero: export the network with another"),
        (("Conv", ["x", "x"], ["y"], {}), {}, "its weights must be constant, not computed"),
        (
            ("Gemm", ["x", "c"], ["y"], {}),
            {"c": np.ones((3, 2), np.float32)},
            "must be a matrix, not of the shape .1, 2, 2.",
        ),
    ],
)
def test_refusals_name_the_node(network, node, constants, why):
    with pytest.raises(InputError, match=f"^{node[0]} 'y': .*{why}"):
        import_onnx(network([node], {"x": [1, 2, 2]}, constants=constants))
