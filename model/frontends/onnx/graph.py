"""Graph: a network in ONNX to formulas, a node after the other."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto
from skinny.model.errors import InputError
from skinny.model.formula.formula import Formula, postorder
from skinny.model.limits import check, watched

from ..imported import Imported, Layer
from .affine import AFFINE
from .file import attributes, expect_sound, numbers, read_model
from .forms import Forms, Held, Numbers, claim
from .moves import MOVES
from .pointwise import POINTWISE
from .quantise import dequantised, quantised
from .step import End, Quantised, Step, Value

__all__ = ["OPERATORS", "import_onnx"]

#: The host computes these from the outputs, when nothing but a move comes after them; the chip needs the largest alone.
ENDS = {"Softmax": "softmax", "LogSoftmax": "log_softmax", "Sigmoid": "sigmoid", "ArgMax": "argmax"}
#: What makes probabilities of the outputs on the host, by what the network ends with.
HOST = {"softmax": "softmax", "log_softmax": "softmax", "sigmoid": "sigmoid"}
#: What may come after an end without a change of what it says.
AFTER = ("Cast", "DequantizeLinear", "Flatten", "Identity", "QuantizeLinear", "Reshape", "Squeeze", "Unsqueeze")
OPERATORS: dict[str, Callable[[Step], Value | list[Value]]] = {
    **MOVES,
    **AFFINE,
    **POINTWISE,
    "DequantizeLinear": dequantised,
    "QuantizeLinear": quantised,
}
#: A tensor that several nodes read is computed once where its elements are wider than this.
SHARED = 2
#: The types of the inputs.
KINDS = "FLOAT DOUBLE FLOAT16 BFLOAT16 INT8 UINT8 INT16 UINT16 INT32 UINT32 INT64 UINT64"
NUMBERS = {TensorProto.DataType.Value(kind) for kind in KINDS.split()}


def import_onnx(given: ModelProto | str | os.PathLike[str], keep_zeros: bool = False) -> Imported:
    """The network ``given``, or in the file of that name, as formulas. What cannot be one is refused by its node. With
    ``keep_zeros`` weights that are zero have terms too."""
    with watched("reading the network"):
        if isinstance(given, ModelProto):
            return _imported(given, given.graph.name or "network", keep_zeros)
        try:
            return _imported(read_model(given), Path(given).name, keep_zeros)
        except InputError as error:
            raise InputError(f"{given}: {str(error).removeprefix(f'{given}: ')}") from None


def _imported(model: ModelProto, title: str, keep_zeros: bool) -> Imported:
    version = expect_sound(model)
    graph = model.graph
    held = Held(keep_zeros)
    values: dict[str, Value] = {tensor.name: numbers(tensor) for tensor in graph.initializer}
    inputs: list[str] = []
    for info in graph.input:
        if info.name not in values:
            shape = _shape(info)
            names = _names(info.name, "x", int(np.prod(shape, dtype=object)), single=len(graph.input) == 1)
            inputs += names
            values[info.name] = held.added([Formula("variable", value=name) for name in names], shape)
    if len(set(inputs)) < len(inputs):
        raise InputError("two inputs of the network have the same name in a formula: rename one")
    readers = Counter(name for node in graph.node if node.op_type != "Shape" for name in node.input)
    readers.update(output.name for output in graph.output)
    notes: list[str] = []
    for number, node in enumerate(graph.node):
        check()
        step = _step(node, number, values, readers, version, held, notes)
        for name, value in zip(node.output, _run(step), strict=False):
            if isinstance(value, Forms) and value.constant:
                value = value.numbers
            if isinstance(value, Forms) and readers[name] > 1:
                value = held.settled(value, value.lengths > SHARED, step.name)
            if name:
                values[name] = value
    return _ended(model, values, tuple(inputs), held, notes, title)


def _shape(info: ValueInfoProto) -> tuple[int, ...]:
    """The shape of an input; a first size that is free is one, for one inference."""
    kind = info.type.tensor_type
    if not info.type.HasField("tensor_type") or not kind.HasField("shape") or kind.elem_type not in NUMBERS:
        raise InputError(
            f"the input {info.name!r} is not a tensor of numbers with a shape: export the network with one"
        )
    sizes = [dim.dim_value if dim.HasField("dim_value") else 0 for dim in kind.shape.dim]
    if sizes and sizes[0] < 1:
        sizes[0] = 1
    if min(sizes, default=1) < 1:
        text = ", ".join(str(size or "?") for size in sizes)
        raise InputError(f"the input {info.name!r} has the shape ({text}): export the network with fixed sizes")
    if len(sizes) > 1 and sizes[0] > 1:
        raise InputError(f"the input {info.name!r} has a batch of {sizes[0]}: export the network with a batch of 1")
    claim(int(np.prod(sizes, dtype=object)))
    return tuple(sizes)


def _names(given: str, other: str, count: int, single: bool) -> list[str]:
    """Names for the elements of the tensor ``given``, like those of formulas."""
    base = given if re.fullmatch("[A-Za-z][A-Za-z_0-9]{0,30}", given) else re.sub("[^A-Za-z_0-9]", "_", given)[:30]
    if not re.match("[A-Za-z]", base) or (single and base != given):
        base = other if single else f"{other}_{base}"
    if count == 1:
        return [base]
    base += "_" * base[-1].isdigit()
    return [f"{base}{index}" for index in range(count)]


def _step(
    node: NodeProto,
    number: int,
    values: dict[str, Value],
    readers: Counter[str],
    version: int,
    held: Held,
    notes: list[str],
) -> Step:
    """``node`` with what it is given. What stands at the end only is replaced or refused where more comes after it."""
    name = node.name or (node.output[0] if node.output else f"node {number}")
    read = max((place + 1 for place, output in enumerate(node.output) if readers[output]), default=0)
    given = [values[name] if name else None for name in node.input]
    step = Step(node.op_type, name, attributes(node), given, version, held, read)
    if node.op_type not in OPERATORS and node.op_type not in ENDS:
        known = "docs/models.md lists the operators that are known"
        step.refuse("this operator has no formula", f"export the network without it ({known})")
    for place, value in enumerate(given):
        if isinstance(value, Quantised) and node.op_type != "DequantizeLinear":
            step.refuse("it computes with quantised whole numbers", "export the network in the QDQ format")
        if isinstance(value, Quantised):
            notes.append(f"{step}: values are not rounded to its scale, as fixed point rounds them by itself")
        if isinstance(value, End) and not (place == 0 and (node.op_type in AFTER or node.op_type == "ArgMax")):
            given[place] = _inside(value)
    return step


def _inside(end: End) -> Forms:
    """An end after which more comes."""
    if end.function != "sigmoid":
        end.where.refuse(
            "it is known at the end of a network only, where the host computes it", "export the network up to it"
        )
    out = POINTWISE["Sigmoid"](end.where)
    assert isinstance(out, Forms)
    return out


def _run(step: Step) -> list[Value]:
    """The results of ``step``."""
    given = step.given[0] if step.given else None
    if step.operator in ENDS and step.depends(0):
        forms = given.forms if isinstance(given, End) else step.forms()
        return [End(ENDS[step.operator], forms, step)]
    if isinstance(given, End):
        return [given]
    if step.operator in ("Softmax", "LogSoftmax", "ArgMax"):
        step.refuse("it is of constants", "leave it out, as it does not depend on the inputs")
    try:
        found = OPERATORS[step.operator](step)
    except InputError as error:
        raise InputError(f"{step}: {str(error).removeprefix(f'{step}: ')}") from None
    except (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError) as error:
        why = (str(error) or type(error).__name__).splitlines()[0]
        step.malformed(why)
    return found if isinstance(found, list) else [found]


def _ended(
    model: ModelProto, values: dict[str, Value], inputs: tuple[str, ...], held: Held, notes: list[str], title: str
) -> Imported:
    """The outputs of the network, whatever its last nodes are."""
    ends = {output.name: values[output.name] for output in model.graph.output}
    function = ""
    if len(ends) == 1 and isinstance(end := next(iter(ends.values())), End):
        function = end.function
        if function != "sigmoid" and (classes := end.forms.size) < 2:
            end.where.refuse(f"it decides among {classes} values", "leave it out")
        if function != "sigmoid" and _axis(end.where) != end.forms.size:
            end.where.refuse(
                "it decides along an axis that is not the only one with several elements", "leave it to the host"
            )
        if function != "argmax":
            does = (
                "sends the values before it" if function == "sigmoid" and end.forms.size > 1 else "decides without it"
            )
            notes.append(f"{end.where}: left to the host, the chip {does}")
    outputs: dict[str, Formula] = {}
    count = 0
    for name, value in ends.items():
        if isinstance(value, Quantised):
            raise InputError(f"the output {name!r} is quantised: end the network with a DequantizeLinear")
        if isinstance(value, End):
            value = value.forms if function else _inside(value)
        forms = Forms.of_numbers(Numbers.plain(value)) if isinstance(value, np.ndarray) else value
        formulas = held.written(forms)
        outputs.update(zip(_names(name, "y", len(formulas), len(ends) == 1), formulas, strict=True))
        count += len(formulas)
    if len(outputs) < count or not outputs:
        raise InputError("two outputs of the network have the same name in a formula, or it has none: rename one")
    decides = bool(function) and (function != "sigmoid" or len(outputs) == 1)
    needed = {id(node) for node in postorder(*outputs.values())}
    layers = [Layer(name, tuple(one for one in values if id(one) in needed)) for name, values in held.layers]
    return Imported(
        outputs=outputs,
        inputs=inputs,
        kind="classifier" if decides else "regressor",
        title=title,
        layers=(*(layer for layer in layers if layer.values), Layer("output", tuple(outputs.values()))),
        argmax="class" if decides else "",
        classes=tuple(range(max(2, len(outputs)))) if decides else (),
        probabilities=HOST.get(function, ""),
        notes=tuple(dict.fromkeys(notes)),
    )


def _axis(step: Step) -> int:
    """The number of elements along the axis of a step that decides."""
    given = step.given[0]
    assert isinstance(given, Forms | End)
    shape = given.shape if isinstance(given, Forms) else given.forms.shape
    last = -1 if step.opset >= 13 and step.operator != "ArgMax" else 0 if step.operator == "ArgMax" else 1
    axis = step.axis(step.whole("axis", last), len(shape))
    # Before opset 13, Softmax was over all axes from this one on.
    return int(np.prod(shape[axis:])) if step.operator != "ArgMax" and step.opset < 13 else shape[axis]
