"""File: an untrusted ``.onnx`` file to a model that has been looked at, and its tensors to arrays."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, checker, numpy_helper
from skinny.model.errors import InputError
from skinny.model.files import read_bytes
from skinny.model.limits import check

from .forms import claim

__all__ = ["attributes", "expect_sound", "numbers", "read_model"]

#: Bytes of memory for each byte of a file.
FILE_BYTE = 16
#: The versions of the operators that are known.
OPSETS = range(7, 29)
#: The domain of the operators of ONNX itself, under both of its names.
OWN = ("", "ai.onnx")


def read_model(path: str | os.PathLike[str]) -> ModelProto:
    """The model in the file ``path``, with those of its tensors that are in other files of the same folder."""
    model = ModelProto()
    try:
        model.ParseFromString(read_bytes(Path(path), FILE_BYTE))
    except (DecodeError, RuntimeError):
        raise InputError(f"{path}: not an ONNX file: write it anew, for example with torch.onnx.export") from None
    for tensor in _tensors(model):
        check()
        if tensor.data_location == TensorProto.EXTERNAL:
            _fetch(tensor, Path(path))
    return model


def _tensors(model: ModelProto) -> Iterator[TensorProto]:
    """All tensors that the operators of the model can read."""
    yield from model.graph.initializer
    for node in model.graph.node:
        yield from (attribute.t for attribute in node.attribute if attribute.HasField("t"))


def _fetch(tensor: TensorProto, path: Path) -> None:
    """Read the content of ``tensor`` from the other file that it names, which must stand beside the model."""
    where = {entry.key: entry.value for entry in tensor.external_data}
    folder = path.resolve().parent
    other = (folder / where.get("location", "").replace("\0", "")).resolve()
    if not other.is_relative_to(folder) or not other.is_file():
        raise InputError(
            f"{path}: the data of {tensor.name!r} is not in a file of its folder: save the model in one file"
        )
    content = read_bytes(other, FILE_BYTE)
    begin, length = (where.get(key, "0") for key in ("offset", "length"))
    if not (begin.isdecimal() and length.isdecimal() and int(begin) + int(length) <= len(content)):
        raise InputError(f"{path}: the data of {tensor.name!r} is not in {other.name}: save the model in one file")
    tensor.raw_data = content[int(begin) : int(begin) + int(length) if "length" in where else None]
    tensor.data_location = TensorProto.DEFAULT
    del tensor.external_data[:]


def expect_sound(model: ModelProto) -> int:
    """The version of the operators of ``model``. A model that is malformed, or that has a kind of part that is not
    known, is refused."""
    for node in model.graph.node:
        if node.domain not in OWN:
            instead = "compile the estimator itself" if node.domain == "ai.onnx.ml" else "export the network without it"
            raise InputError(
                f"{node.op_type} {node.name!r}: an operator of {node.domain}, not of ONNX itself: {instead}"
            )
    if not model.graph.node:
        raise InputError("the model has no nodes: export the whole network")
    versions = {entry.domain: entry.version for entry in model.opset_import}
    version = next((versions[domain] for domain in OWN if domain in versions), 0)
    if version not in OPSETS:
        known = f"{OPSETS[0]} to {OPSETS[-1]}"
        raise InputError(f"the model is of opset {version}, but {known} are known: export it with opset_version=17")
    for part, instead in (
        (model.functions, "inline its functions with onnx.inliner.inline_local_functions"),
        (model.graph.sparse_initializer, "export it with dense tensors"),
    ):
        if part:
            raise InputError(f"the model has parts that are not known: {instead}")
    for tensor in _tensors(model):
        if tensor.data_location == TensorProto.EXTERNAL:
            raise InputError(f"the tensor {tensor.name!r} is not in the model: load the model with its external data")
    try:
        checker.check_model(model)
    except (checker.ValidationError, RuntimeError, ValueError) as error:
        raise InputError(f"not a valid ONNX model: {(str(error).splitlines() or ['?'])[0]}") from None
    return version


def numbers(tensor: TensorProto) -> NDArray[Any]:
    """The content of ``tensor``; small types that numpy does not have become larger ones of the same kind."""
    size = int(np.prod(tensor.dims, dtype=object))
    claim(abs(size))
    try:
        found = numpy_helper.to_array(tensor)
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(f"the tensor {tensor.name!r} is malformed: {str(error).splitlines()[0]}") from None
    if found.dtype.kind in "biuf":
        return found
    name = str(found.dtype)
    if "int" in name:
        return found.astype(np.int8)
    if "float" in name:
        return found.astype(np.float32)
    raise InputError(f"the tensor {tensor.name!r} has elements of the type {name}: export it with numbers")


def attributes(node: NodeProto) -> dict[str, Any]:
    """The attributes of ``node`` in Python's types; graphs, which no known operator has, are left out."""
    out: dict[str, Any] = {}
    for attribute in node.attribute:
        match attribute.type:
            case AttributeProto.INT:
                out[attribute.name] = attribute.i
            case AttributeProto.FLOAT:
                out[attribute.name] = attribute.f
            case AttributeProto.STRING:
                out[attribute.name] = attribute.s.decode("utf-8", "replace")
            case AttributeProto.TENSOR:
                out[attribute.name] = numbers(attribute.t)
            case AttributeProto.INTS:
                out[attribute.name] = list(attribute.ints)
            case AttributeProto.FLOATS:
                out[attribute.name] = list(attribute.floats)
    return out
