"""Whole networks, what they end in, and what is refused."""

from itertools import pairwise

import numpy as np
import pytest
import skinny
from onnx import TensorProto, helper
from skinny.model.errors import InputError
from skinny.model.frontends.onnx.graph import OPERATORS, import_onnx
from skinny.model.limits import Limits


def layer(rng, name, given, out, wide, tall):
    constants = {
        f"w{name}": rng.normal(size=(tall, wide)).astype(np.float32) / np.sqrt(np.float32(wide)),
        f"b{name}": rng.normal(size=tall).astype(np.float32),
    }
    return ("Gemm", [given, *constants], [out], {"transB": 1, "name": name}), constants


def mlp(sizes):
    rng = np.random.default_rng(0)
    nodes, constants, given = [], {}, "x"
    for number, (wide, tall) in enumerate(pairwise(sizes)):
        last = number == len(sizes) - 2
        node, more = layer(rng, f"fc{number}", given, "y" if last else f"h{number}", wide, tall)
        nodes += [node] if last else [node, ("Relu", [f"h{number}"], [f"r{number}"], {"name": f"relu{number}"})]
        constants |= more
        given = f"r{number}"
    return nodes, {"x": ["N", sizes[0]]}, constants


def test_a_network_of_dense_layers(network, agrees):
    nodes, inputs, constants = mlp([16, 64, 32, 32, 5])
    imported = agrees(network(nodes, inputs, constants=constants))
    assert imported.kind == "regressor"
    assert imported.title == "net"
    assert [(part.name, len(part.values)) for part in imported.layers] == [
        ("relu0", 64),
        ("relu1", 32),
        ("relu2", 32),
        ("output", 5),
    ]
    assert imported.layers[-1].values == tuple(imported.outputs.values())


@pytest.mark.parametrize("square", ["h*h", "h**2"])
def test_a_network_with_squares_for_its_activation(network, agrees, square):
    """As PyTorch exports both: the squares take a cycle each, and every weight one."""
    nodes, inputs, constants = mlp([64, 10, 10])
    if square == "h*h":
        nodes[1] = ("Mul", ["h0", "h0"], ["r0"], {"name": "square"})
    else:
        nodes[1] = ("Pow", ["h0", "two"], ["r0"], {"name": "square"})
        constants["two"] = np.float32(2)
    model = network(nodes, inputs, constants=constants)
    agrees(model)
    program = skinny.compile(model)
    assert program.cycles <= 800
    rows = np.random.default_rng(2).normal(size=(50, 64))
    fixed = skinny.compile(model, ring="fixed", calibration=rows)
    assert fixed.cycles <= 800
    wanted = program.predict(rows)
    assert (np.abs(fixed.predict(rows) - wanted) <= 0.01 * np.ptp(wanted, axis=0)).all()


def test_a_network_with_everything(network, agrees):
    """Branches, a skip, a concatenation, pools and several inputs and outputs."""
    rng = np.random.default_rng(1)
    nodes = [
        ("Conv", ["image", "k"], ["c"], {"pads": [1, 1, 1, 1]}),
        ("LeakyRelu", ["c"], ["a"], {"alpha": 0.1}),
        ("Conv", ["a", "k2"], ["d"], {"pads": [1, 1, 1, 1]}),
        ("Add", ["a", "d"], ["e"], {}),
        ("Clip", ["e", "", "six"], ["f"], {}),
        ("MaxPool", ["f"], ["g"], {"kernel_shape": [2, 2], "strides": [2, 2]}),
        ("GlobalAveragePool", ["g"], ["h"], {}),
        ("Flatten", ["h"], ["i"], {}),
        ("Tanh", ["more"], ["j"], {}),
        ("Mul", ["i", "j"], ["l"], {}),
        ("Concat", ["l", "more"], ["m"], {"axis": 1}),
        ("ReduceMean", ["m"], ["mean"], {"axes": [1]}),
        ("Sub", ["m", "mean"], ["y"], {}),
    ]
    constants = {
        "k": rng.normal(size=(2, 1, 3, 3)).astype(np.float32),
        "k2": rng.normal(size=(2, 2, 3, 3)).astype(np.float32),
        "six": np.float32(6),
    }
    model = network(nodes, {"image": [1, 1, 4, 4], "more": ["N", 2]}, outputs=["y", "mean"], constants=constants)
    imported = agrees(model)
    assert imported.inputs == (*(f"image{n}" for n in range(16)), "more0", "more1")
    assert list(imported.outputs) == ["y0", "y1", "y2", "y3", "mean"]


def test_values_that_nobody_reads_are_in_no_layer(network, agrees):
    """A stride that leaves out places, and an output of a Split that goes nowhere."""
    nodes = [
        ("Relu", ["x"], ["h"], {}),
        ("MaxPool", ["h"], ["p"], {"kernel_shape": [1], "strides": [2]}),
        ("Split", ["p"], ["y", "rest"], {"axis": 2, "num_outputs": 2}),
        ("Tanh", ["rest"], ["nowhere"], {}),
    ]
    imported = agrees(network(nodes, {"x": [1, 1, 8]}, opset=18))
    assert [(layer.name, len(layer.values)) for layer in imported.layers] == [("h", 2), ("output", 2)]
    assert imported.idle == ("x1", "x3", "x4", "x5", "x6", "x7")


@pytest.mark.parametrize(
    ("ends", "function"),
    [
        ([("Softmax", ["h"], ["y"], {})], "softmax"),
        ([("Softmax", ["h"], ["y"], {"axis": 1})], "softmax"),
        ([("LogSoftmax", ["h"], ["y"], {"axis": -1})], "softmax"),
        ([("ArgMax", ["h"], ["y"], {"axis": 1, "keepdims": 0})], ""),
        ([("Softmax", ["h"], ["p"], {}), ("ArgMax", ["p"], ["y"], {"axis": -1})], ""),
        (
            [("Softmax", ["h"], ["p"], {}), ("Reshape", ["p", "s"], ["i"], {}), ("Identity", ["i"], ["y"], {})],
            "softmax",
        ),
    ],
)
@pytest.mark.parametrize("opset", [11, 17])
def test_a_decision_at_the_end(network, ends, function, opset):
    nodes = [("MatMul", ["x", "w"], ["h"], {}), *ends]
    constants = {"w": np.eye(4, 3, dtype=np.float32), "s": np.array([3], np.int64)}
    imported = import_onnx(network(nodes, {"x": [1, 4]}, constants=constants, opset=opset))
    assert (imported.kind, imported.argmax, imported.classes) == ("classifier", "class", (0, 1, 2))
    assert imported.probabilities == function
    assert [formula.value for formula in imported.outputs.values()] == ["x0", "x1", "x2"]
    left = ends[0][0] != "ArgMax" and ends[-1][0] != "ArgMax"
    assert [note.partition(": ")[2] for note in imported.notes] == [
        "left to the host, the chip decides without it"
    ] * left


def test_a_sigmoid_at_the_end(network):
    nodes = [("MatMul", ["x", "w"], ["h"], {}), ("Sigmoid", ["h"], ["y"], {})]
    one = import_onnx(network(nodes, {"x": [1, 4]}, constants={"w": np.ones((4, 1), np.float32)}))
    assert (one.kind, one.argmax, one.classes, one.probabilities) == ("classifier", "class", (0, 1), "sigmoid")
    assert list(one.outputs) == ["y"]
    several = import_onnx(network(nodes, {"x": [1, 4]}, constants={"w": np.eye(4, dtype=np.float32)}))
    assert one.notes == ("Sigmoid 'y': left to the host, the chip decides without it",)
    assert several.notes == ("Sigmoid 'y': left to the host, the chip sends the values before it",)
    assert (several.kind, several.argmax, several.classes, several.probabilities) == ("regressor", "", (), "sigmoid")
    assert [formula.value for formula in several.outputs.values()] == ["x0", "x1", "x2", "x3"]


def test_a_sigmoid_inside_is_a_function(network, agrees):
    nodes = [("Sigmoid", ["x"], ["h"], {}), ("Reshape", ["h", "s"], ["r"], {}), ("Neg", ["r"], ["y"], {})]
    imported = agrees(network(nodes, {"x": [1, 2]}, constants={"s": np.array([2], np.int64)}))
    assert imported.probabilities == ""


def test_names_of_inputs_and_outputs(network):
    def named(given, size, out="y"):
        imported = import_onnx(network([("Relu", [given], [out], {})], {given: size}, outputs=[out]))
        return list(imported.inputs), list(imported.outputs)

    assert named("x", [1, 2]) == (["x0", "x1"], ["y0", "y1"])
    assert named("x", [1, 1], "out_1") == (["x"], ["out_1"])
    assert named("layer1", [2]) == (["layer1_0", "layer1_1"], ["y0", "y1"])
    assert named("serving/x:0", [2], "7") == (["x0", "x1"], ["y0", "y1"])


def refused(model, why):
    with pytest.raises(InputError, match=why) as caught:
        import_onnx(model)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("nodes", "why"),
    [
        (
            [("Erf", ["x"], ["y"], {"name": "gelu"})],
            "^Erf 'gelu': this operator has no formula: export the network without it",
        ),
        (
            [("Softmax", ["x"], ["h"], {"name": "p"}), ("Neg", ["h"], ["y"], {})],
            "^Softmax 'p': it is known at the end of .* host computes it: export the network up to it$",
        ),
        ([("ArgMax", ["x"], ["h"], {}), ("Shape", ["h"], ["y"], {})], "^ArgMax 'h': it is known at the end of"),
        ([("Softmax", ["x"], ["y"], {"axis": 0})], "^Softmax 'y': it decides along an axis that is not the only one"),
        ([("ReduceSum", ["x"], ["h"], {}), ("Softmax", ["h"], ["y"], {})], "^Softmax 'y': it decides among 1 values"),
    ],
)
def test_refusals_name_the_node(network, nodes, why):
    refused(network(nodes, {"x": [1, 4]}), why)


def test_inputs_without_fixed_sizes_are_refused(network):
    refused(
        network([("Relu", ["x"], ["y"], {})], {"x": ["N", "M"]}), r"'x' has the shape \(1, \?\): export .* fixed sizes$"
    )
    refused(
        network([("Relu", ["x"], ["y"], {})], {"x": [8, 2]}),
        "'x' has a batch of 8: export the network with a batch of 1$",
    )
    model = network([("Relu", ["x"], ["y"], {})], {"x": [1, 2]})
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.STRING
    refused(model, "'x' is not a tensor of numbers")


def test_weights_that_are_no_numbers_are_refused(network):
    constants = {"c": np.array([1, np.nan], np.float32)}
    refused(
        network([("Mul", ["x", "c"], ["y"], {})], {"x": [1, 2]}, constants=constants), "number of the network is nan"
    )


def test_limits_hold(network):
    rng = np.random.default_rng(2)
    node, constants = layer(rng, "fc", "x", "y", 64, 64)
    model = network([node], {"x": [1, 64]}, constants=constants)
    with Limits(memory=100_000).applied():
        refused(model, "entries are more than the limit, .*: --limit memory=SIZE raises it")


def test_every_known_operator_is_one_of_onnx():
    from onnx import defs

    names = {schema.name for schema in defs.get_all_schemas()}
    assert set(OPERATORS) < names


def test_attributes_of_wrong_types_do_not_crash(network):
    """Fields of a protobuf can hold anything: each attribute of a sound model gets every other type."""
    sound = network(
        [("Conv", ["x", "k"], ["y"], {"strides": [1], "pads": [0, 0], "group": 1, "auto_pad": "VALID"})],
        {"x": [1, 1, 4]},
        constants={"k": np.ones((1, 1, 2), np.float32)},
    )
    import_onnx(sound)
    for place in range(4):
        name = sound.graph.node[0].attribute[place].name
        for value in (1, 0.5, "text", [1], [0.5, 1.0], ["a"], [-1], [0], 0, -7, 2**62, [2**62, 2**62]):
            model = type(sound)()
            model.CopyFrom(sound)
            model.graph.node[0].attribute[place].CopyFrom(helper.make_attribute(name, value))
            try:
                import_onnx(model)
            except InputError as error:
                assert "\n" not in str(error)  # noqa: PT017 (some of the values are fine)
