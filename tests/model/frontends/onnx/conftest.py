"""Networks of a few nodes, and their comparison with onnxruntime."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper, shape_inference
from skinny.model.formula.formula import postorder
from skinny.model.frontends.onnx.graph import import_onnx

FUNCTIONS = {"tanh": np.tanh, "sigmoid": lambda x: 1 / (1 + np.exp(-x))}

#: Its optimisations would round quantised weights once more.
AS_WRITTEN = onnxruntime.SessionOptions()
AS_WRITTEN.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL


def computed(formulas, values):
    """The formulas in floating point, a node after the other as it is written."""
    known = {}
    for node in postorder(*formulas):
        args = [known[id(arg)] for arg in node.args]
        match node.kind:
            case "constant":
                out = float(node.value)
            case "variable":
                out = values[node.value]
            case "sum":
                out = sum(args)
            case "product":
                out = np.prod(args)
            case "power":
                out = args[0] ** node.value
            case "relu":
                out = max(args[0], 0)
            case "function":
                out = FUNCTIONS[node.value](args[0])
        known[id(node)] = out
    return np.array([known[id(formula)] for formula in formulas])


@pytest.fixture(scope="session")
def network():
    """A model of ``nodes``, each ``(operator, inputs, outputs, attributes)``."""

    def make(nodes, inputs, outputs=("y",), constants=None, opset=17, kind=TensorProto.FLOAT):
        graph = helper.make_graph(
            [helper.make_node(name, given, out, **attributes) for name, given, out, attributes in nodes],
            "net",
            [
                helper.make_tensor_value_info(name, kind, [n if isinstance(n, str) else int(n) for n in shape])
                for name, shape in inputs.items()
            ],
            [onnx.ValueInfoProto(name=name) for name in outputs],
            [numpy_helper.from_array(np.asarray(value), name) for name, value in (constants or {}).items()],
        )
        opsets = [helper.make_opsetid("", opset)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8 if opset < 19 else 10)
        model = shape_inference.infer_shapes(model)
        for output in model.graph.output:
            if not output.type.WhichOneof("value"):  # a shape that cannot be told, which a refusal is about
                output.CopyFrom(helper.make_tensor_value_info(output.name, kind, ["?"]))
        return model

    return make


@pytest.fixture(scope="session")
def agrees():
    """Checks that the formulas of a model give what onnxruntime gives, for random inputs. Returns the model as
    formulas."""

    def check(model, seed=0, rows=3, scale=1.0):
        rng = np.random.default_rng(seed)
        imported = import_onnx(model)
        session = onnxruntime.InferenceSession(model.SerializeToString(), AS_WRITTEN, ["CPUExecutionProvider"])
        for _ in range(rows):
            given = {
                info.name: scale * rng.normal(size=[size if isinstance(size, int) else 1 for size in info.shape])
                for info in session.get_inputs()
            }
            given = {name: value.astype(np.float32) for name, value in given.items()}
            wanted = np.concatenate([np.ravel(part) for part in session.run(None, given)])
            flat = np.concatenate([np.ravel(value) for value in given.values()]).astype(np.float64)
            found = computed(imported.outputs.values(), dict(zip(imported.inputs, flat, strict=True)))
            assert found == pytest.approx(wanted, abs=2e-5, rel=2e-5), f"seed {seed}"
        return imported

    return check
