"""Quantised networks: exact on weights; on values that depend on the inputs only what cuts off is kept."""

from fractions import Fraction

import numpy as np
import pytest
from skinny.model.errors import InputError
from skinny.model.formula.formula import postorder
from skinny.model.frontends.onnx.graph import import_onnx

SCALE = np.float32(0.1)


def weights_of(imported):
    """The factors of the inputs, by output."""
    return [
        [node.args[0].value for node in formula.args if node.kind == "product"] for formula in imported.outputs.values()
    ]


def test_weights_are_exact(network, agrees):
    whole = np.array([[-128, 3], [7, 127]], np.int8)
    nodes = [("DequantizeLinear", ["q", "s", "z"], ["w"], {}), ("MatMul", ["x", "w"], ["y"], {})]
    imported = agrees(network(nodes, {"x": [1, 2]}, constants={"q": whole, "s": SCALE, "z": np.int8(2)}))
    expected = [[(int(q) - 2) * float(SCALE) for q in column] for column in whole.T]
    assert weights_of(imported) == [[Fraction(value) for value in row] for row in expected]


def test_scales_of_channels(network, agrees):
    rng = np.random.default_rng(0)
    whole = rng.integers(0, 256, (3, 4)).astype(np.uint8)
    for axis, count in ((0, 3), (1, 4), (-1, 4)):
        constants = {
            "q": whole,
            "s": rng.uniform(0.1, 1, count).astype(np.float32),
            "z": rng.integers(0, 256, count).astype(np.uint8),
        }
        nodes = [("DequantizeLinear", ["q", "s", "z"], ["w"], {"axis": axis}), ("MatMul", ["x", "w"], ["y"], {})]
        agrees(network(nodes, {"x": [1, 3]}, constants=constants), scale=0.01)


@pytest.mark.parametrize("zero", [np.int8(3), np.uint8(200), None])
def test_constants_are_rounded_to_even_and_cut_off(network, agrees, zero):
    values = np.array([0.05, 0.15, 0.25, -0.05, -0.15, 30, -30], np.float32)  # halves of the scale, and far away
    parameters = ["s"] if zero is None else ["s", "z"]
    nodes = [
        ("QuantizeLinear", ["c", *parameters], ["q"], {}),
        ("DequantizeLinear", ["q", *parameters], ["d"], {}),
        ("Add", ["x", "d"], ["y"], {}),
    ]
    constants = {"c": values, "s": np.float32(0.5) / 5} | ({} if zero is None else {"z": zero})
    constants["s"] = np.float32(0.125)
    constants["c"] = values * np.float32(1.25)
    agrees(network(nodes, {"x": [1, 7]}, constants=constants))


def quantised(kind, zero, behind="DequantizeLinear", scale="s"):
    """A network that quantises its hidden values."""
    nodes = [("MatMul", ["x", "w"], ["h"], {}), ("QuantizeLinear", ["h", "s", "z"], ["q"], {})]
    nodes += [(behind, ["q", scale, "z"], ["d"], {"axis": 0}), ("MatMul", ["d", "w"], ["y"], {})]
    constants = {"w": np.array([[1, 2], [-3, 4]], np.float32), "s": SCALE, "z": kind(zero), "t": np.float32(0.2)}
    return nodes, {"x": [1, 2]}, constants


def test_values_are_not_rounded_which_is_said(network):
    nodes, inputs, constants = quantised(np.int8, 5)
    imported = import_onnx(network(nodes, inputs, constants=constants))
    plain = import_onnx(network([nodes[0], ("MatMul", ["h", "w"], ["y"], {})], inputs, constants=constants))
    assert weights_of(imported) == weights_of(plain)
    assert imported.notes == (
        "DequantizeLinear 'd': values are not rounded to its scale, as fixed point rounds them by itself",
    )
    assert plain.notes == ()


def test_a_zero_point_at_the_low_end_is_a_rectifier(network, agrees):
    """Exporters leave out a Relu whose work the quantisation does."""
    for kind, zero in ((np.uint8, 0), (np.int8, -128)):
        nodes, inputs, constants = quantised(kind, zero)
        imported = import_onnx(network(nodes, inputs, constants=constants))
        assert sum(node.kind == "relu" for node in postorder(*imported.outputs.values())) == 2
        rectified = [nodes[0], ("Relu", ["h"], ["d"], {}), nodes[3]]
        assert weights_of(imported) == weights_of(agrees(network(rectified, inputs, constants=constants)))


def test_refusals(network):
    def refused(why, *args, **options):
        nodes, inputs, constants = quantised(np.int8, 5, *args, **options)
        with pytest.raises(InputError, match=why):
            import_onnx(network(nodes, inputs, constants=constants))

    refused("^DequantizeLinear 'd': it has another scale or zero point", scale="t")
    refused(
        "^Concat 'd': it computes with quantised whole numbers: export the network in the QDQ format", behind="Concat"
    )
    nodes = [("DequantizeLinear", ["x", "s"], ["y"], {})]
    with pytest.raises(InputError, match=r"^DequantizeLinear 'y': its input must be constant"):
        import_onnx(network(nodes, {"x": [1, 2]}, constants={"s": SCALE}, kind=3))
