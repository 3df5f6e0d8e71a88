"""Operators that put elements elsewhere, against onnxruntime."""

import numpy as np
import pytest
from onnx import TensorProto, helper
from skinny.model.errors import InputError
from skinny.model.frontends.onnx.graph import import_onnx

FAR = np.iinfo(np.int64).max


def whole(*values):
    return np.array(values, np.int64)


def tried(network, agrees, operator, given, options, shape, constants=None, opset=17):
    """The operator on an input, and on a constant of the same shape that is added to another input."""
    agrees(network([(operator, ["x", *given], ["y"], options)], {"x": shape}, constants=constants, opset=opset))
    values = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    nodes = [(operator, ["c", *given], ["m"], options), ("Add", ["m", "x"], ["y"], {})]
    agrees(network(nodes, {"x": [1]}, constants={"c": values, **(constants or {})}, opset=opset))


@pytest.mark.parametrize(
    ("operator", "given", "options", "shape", "constants", "opset"),
    [
        ("Flatten", [], {}, [1, 2, 3], None, 17),
        ("Flatten", [], {"axis": 0}, [1, 2, 3], None, 17),
        ("Flatten", [], {"axis": 3}, [1, 2, 3], None, 17),
        ("Flatten", [], {"axis": -1}, [1, 2, 3], None, 17),
        ("Reshape", ["s"], {}, [1, 2, 6], {"s": whole(3, -1)}, 17),
        ("Reshape", ["s"], {}, [1, 2, 6], {"s": whole(0, 0, 2, 3)}, 17),
        ("Transpose", [], {}, [1, 2, 3], None, 17),
        ("Transpose", [], {"perm": [0, 2, 1]}, [1, 2, 3], None, 17),
        ("Squeeze", [], {}, [1, 2, 1, 3], None, 17),
        ("Squeeze", [], {"axes": [0]}, [1, 2, 1, 3], None, 11),
        ("Squeeze", ["a"], {}, [1, 2, 1, 3], {"a": whole(-2)}, 17),
        ("Unsqueeze", [], {"axes": [0, 2]}, [1, 3], None, 11),
        ("Unsqueeze", ["a"], {}, [1, 3], {"a": whole(-1, 1)}, 17),
        ("Identity", [], {}, [1, 3], None, 17),
        ("Dropout", [], {"ratio": 0.4}, [1, 3], None, 11),
        ("Dropout", ["r"], {}, [1, 3], {"r": np.float32(0.4)}, 17),
        ("Cast", [], {"to": TensorProto.FLOAT}, [1, 3], None, 17),
        ("Gather", ["i"], {"axis": 1}, [1, 3, 2], {"i": whole(2, 0, -1)}, 17),
        ("Gather", ["i"], {}, [1, 3, 2], {"i": whole([[0]])}, 17),
        ("Slice", [], {"starts": [1, 0], "ends": [FAR, -1], "axes": [1, 2]}, [1, 3, 4], None, 9),
        ("Slice", ["s", "e"], {}, [1, 3, 4], {"s": whole(0, 1, -3), "e": whole(1, 9, -1)}, 17),
        (
            "Slice",
            ["s", "e", "a", "t"],
            {},
            [1, 5],
            {"s": whole(-1), "e": whole(-FAR), "a": whole(1), "t": whole(-2)},
            17,
        ),
        ("Slice", ["s", "e", "a", "t"], {}, [1, 5], {"s": whole(3), "e": whole(0), "a": whole(-1), "t": whole(-1)}, 17),
        ("Slice", ["s", "e", "a"], {}, [1, 5], {"s": whole(-FAR), "e": whole(3), "a": whole(1)}, 17),
        ("Pad", [], {"pads": [0, 1, 0, 2], "value": 0.5}, [1, 3], None, 9),
        ("Pad", ["p"], {}, [1, 3], {"p": whole(0, 1, 0, 2)}, 17),
        ("Pad", ["p", "v"], {}, [1, 3], {"p": whole(0, 1, 0, 2), "v": np.float32(2)}, 17),
        ("Pad", ["p", "v"], {}, [1, 5], {"p": whole(0, -1, 0, 2), "v": np.float32(2)}, 17),
        ("Pad", ["p", "", "a"], {}, [1, 5], {"p": whole(1, 2), "a": whole(-1)}, 18),
        ("Pad", ["p"], {"mode": "reflect"}, [1, 4], {"p": whole(0, 2, 0, 1)}, 17),
        ("Pad", ["p"], {"mode": "edge"}, [1, 4], {"p": whole(0, 2, 0, 1)}, 17),
        ("Pad", ["p"], {"mode": "wrap"}, [1, 4], {"p": whole(0, 2, 0, 1)}, 19),
    ],
)
def test_one_operand(network, agrees, operator, given, options, shape, constants, opset):
    tried(network, agrees, operator, given, options, shape, constants, opset)


def test_concat_and_split(network, agrees):
    for axis in (1, -1):
        nodes = [("Concat", ["a", "c", "b"], ["y"], {"axis": axis})]
        shapes = {"a": [1, 2, 2], "b": [1, 2, 3]} if axis == -1 else {"a": [1, 1, 2], "b": [1, 3, 2]}
        agrees(network(nodes, shapes, constants={"c": np.ones((1, 2, 2), np.float32)}))
    for sizes, options, opset in [
        ([], {"axis": 1}, 13),
        ([], {"axis": 1, "split": [1, 3]}, 11),
        (["s"], {"axis": -1}, 17),
        ([], {"axis": 1, "num_outputs": 2}, 18),
    ]:
        nodes = [("Split", ["x", *sizes], ["a", "b"], options), ("Relu", ["b"], ["c"], {})]
        constants = {"s": whole(3, 1)} if sizes else {}
        agrees(network(nodes, {"x": [1, 4]}, outputs=["a", "c"], constants=constants, opset=opset))
    three = [("Split", ["x"], ["a", "b", "c"], {"axis": 1, "num_outputs": 3})]
    agrees(network(three, {"x": [1, 7]}, outputs=["a", "b", "c"], opset=18))


def test_constants_of_every_kind(network, agrees):
    tensor = helper.make_tensor("t", TensorProto.FLOAT, [2], [1.5, -2.0])
    for value in ({"value": tensor}, {"value_float": 0.5}, {"value_floats": [0.5, 1.5]}):
        nodes = [("Constant", [], ["c"], value), ("Add", ["x", "c"], ["y"], {})]
        agrees(network(nodes, {"x": [1, 2]}))
    nodes = [("Constant", [], ["s"], {"value_ints": [2, 1]}), ("Reshape", ["x", "s"], ["y"], {})]
    agrees(network(nodes, {"x": [1, 2]}))
    text = network([("Constant", [], ["c"], {"value_string": "a"}), ("Relu", ["x"], ["y"], {})], {"x": [1, 2]})
    with pytest.raises(InputError, match=r"^Constant 'c': its value_string is not supported: take a value of numbers$"):
        import_onnx(text)


def test_shapes_that_are_computed(network, agrees):
    """A flattening as tf2onnx writes it."""
    nodes = [
        ("Shape", ["x"], ["s"], {}),
        ("Slice", ["s", "zero", "one"], ["n"], {}),
        ("Concat", ["n", "rest"], ["t"], {"axis": 0}),
        ("Reshape", ["x", "t"], ["y"], {}),
    ]
    constants = {"zero": whole(0), "one": whole(1), "rest": whole(-1)}
    agrees(network(nodes, {"x": ["N", 2, 3]}, constants=constants))
    nodes = [("Shape", ["x"], ["s"], {"start": 1, "end": -1}), ("Reshape", ["x", "s"], ["y"], {})]
    agrees(network(nodes, {"x": [1, 2, 1]}))


@pytest.mark.parametrize(
    ("node", "constants", "why"),
    [
        (("Cast", ["x"], ["y"], {"to": TensorProto.INT32}), {}, "it rounds values that depend on the inputs, to INT32"),
        (("Reshape", ["x", "s"], ["y"], {}), {"s": whole(5)}, "cannot reshape .*: the file is not a valid model$"),
        (("Reshape", ["x", "x"], ["y"], {}), {}, "its shape must be constant, not computed"),
        (("Gather", ["x", "i"], ["y"], {}), {"i": whole(7)}, "index 7 is out of .*: the file is not a valid model$"),
        (("Split", ["x", "s"], ["y"], {"axis": 1}), {"s": whole(9)}, "parts .9. do not make up the 3 of axis 1"),
        (("Transpose", ["x"], ["y"], {"perm": [1]}), {}, "its perm must have 2 values, not 1"),
        (("Dropout", ["x", "r", "t"], ["y"], {}), {"r": np.float32(0.5), "t": np.array(True)}, "training mode"),
        (("Pad", ["x", "p"], ["y"], {}), {"p": whole(10**6, 10**6, 10**6, 10**6)}, "entries are more than the limit"),
    ],
)
def test_refusals_name_the_node(network, node, constants, why):
    model = network([("Relu", ["x"], ["y"], {})], {"x": [1, 3]}, constants=constants)
    model.graph.node[0].CopyFrom(helper.make_node(node[0], node[1], node[2], **node[3]))
    with pytest.raises(InputError, match=f"^{node[0]} 'y': .*{why}"):
        import_onnx(model)
