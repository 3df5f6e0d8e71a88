"""Files of networks are untrusted: what is wrong with one is said in a line."""

import os

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save
from skinny.model.errors import InputError
from skinny.model.frontends.onnx.file import attributes, expect_sound, numbers, read_model
from skinny.model.frontends.onnx.graph import import_onnx
from skinny.model.limits import Limits


@pytest.fixture
def model(network):
    constants = {"w": np.arange(6, dtype=np.float32).reshape(2, 3)}
    return network([("MatMul", ["x", "w"], ["y"], {})], {"x": [1, 2]}, constants=constants)


def refused(given, why):
    with pytest.raises(InputError, match=why) as caught:
        import_onnx(given)
    assert "\n" not in str(caught.value)


def test_a_file_is_read(model, tmp_path):
    save(model, tmp_path / "a.onnx")
    assert import_onnx(tmp_path / "a.onnx").title == "a.onnx"
    assert import_onnx(str(tmp_path / "a.onnx")).inputs == ("x0", "x1")
    assert read_model(tmp_path / "a.onnx") == model


def test_files_that_are_none(tmp_path):
    refused(tmp_path / "a.onnx", r"a\.onnx: cannot be read \(No such file")
    refused(tmp_path, "cannot be read")
    for content in (b"\xff\xff\xff", b"skinny 1\nwidth 3\n", b"\x0a" * 1000):
        (tmp_path / "a.onnx").write_bytes(content)
        refused(tmp_path / "a.onnx", r"a\.onnx: not an ONNX file")
    (tmp_path / "a.onnx").write_bytes(b"")
    refused(tmp_path / "a.onnx", r"a\.onnx: the model has no nodes")


def test_damaged_files_do_not_crash(model, tmp_path):
    content = model.SerializeToString()
    rng = np.random.default_rng(0)
    for _ in range(300):
        damaged = bytearray(content)
        for place in rng.integers(0, len(content), rng.integers(1, 4)):
            damaged[place] = rng.integers(256)
        (tmp_path / "a.onnx").write_bytes(damaged[: rng.integers(1, len(content) + 1)] if rng.integers(2) else damaged)
        try:
            import_onnx(tmp_path / "a.onnx")
        except InputError as error:
            assert "\n" not in str(error)  # noqa: PT017 (some damage does no harm)


def test_a_large_file_is_refused(model, tmp_path):
    save(model, tmp_path / "a.onnx")
    with Limits(memory=1000).applied():
        refused(tmp_path / "a.onnx", "need more memory than 1000: --limit memory=SIZE")


def test_data_in_another_file(model, tmp_path):
    folder = tmp_path / "net"
    folder.mkdir()
    wanted = import_onnx(model).outputs["y1"].args[1].args[0].value
    save(model, folder / "a.onnx", save_as_external_data=True, location="a.data", size_threshold=0)
    assert (folder / "a.data").stat().st_size == 24
    imported = import_onnx(folder / "a.onnx")
    assert imported.outputs["y1"].args[1].args[0].value == wanted

    (tmp_path / "a.data").write_bytes(bytes(24))
    for location in ("../a.data", str(tmp_path / "a.data"), "", "none", ".", "a\0b"):
        other = read_external(folder / "a.onnx")
        other.graph.initializer[0].external_data[0].value = location
        (folder / "b.onnx").write_bytes(other.SerializeToString())
        refused(folder / "b.onnx", r"b\.onnx: the data of 'w' is not in a file of its folder")
    os.symlink(tmp_path / "a.data", folder / "link")
    other.graph.initializer[0].external_data[0].value = "link"
    (folder / "b.onnx").write_bytes(other.SerializeToString())
    refused(folder / "b.onnx", "is not in a file of its folder")

    (folder / "a.data").write_bytes(bytes(20))
    refused(folder / "a.onnx", r"the data of 'w' is not in a\.data: save the model in one file")
    refused(
        read_external(folder / "a.onnx"), "the tensor 'w' is not in the model: load the model with its external data"
    )


def read_external(path):
    from onnx import load

    return load(path, load_external_data=False)


def test_parts_that_are_not_known(model):
    def changed(change):
        out = type(model)()
        out.CopyFrom(model)
        change(out)
        return out

    def opset(version):
        return lambda out: setattr(out.opset_import[0], "version", version)

    refused(changed(opset(6)), "the model is of opset 6, but 7 to 28 are known: export it with opset_version=17")
    refused(changed(opset(99)), "the model is of opset 99, but")
    refused(changed(lambda out: out.ClearField("opset_import")), "the model is of opset 0, but")
    refused(changed(lambda out: out.functions.add()), "inline its functions with onnx.inliner")
    refused(changed(lambda out: out.graph.sparse_initializer.add()), "export it with dense tensors")
    foreign = changed(lambda out: setattr(out.graph.node[0], "domain", "com.microsoft"))
    refused(foreign, "^MatMul '': an operator of com.microsoft, not of ONNX itself: export the network without it")
    forest = changed(lambda out: setattr(out.graph.node[0], "domain", "ai.onnx.ml"))
    refused(forest, "compile the estimator itself")
    refused(
        changed(lambda out: setattr(out.graph.node[0], "op_type", "Nothing")),
        "^not a valid ONNX model: No Op registered for Nothing",
    )
    assert expect_sound(model) == 17


def test_numbers_of_every_type():
    for kind in (np.float64, np.float16, np.int8, np.uint64, np.bool_):
        value = np.array([1, 0, 3], kind)
        assert np.array_equal(numbers(numpy_helper.from_array(value)), value)
        assert numbers(numpy_helper.from_array(value)).dtype == kind
    brief = helper.make_tensor("t", TensorProto.BFLOAT16, [2], [1.5, -2.0])
    assert numbers(brief).tolist() == [1.5, -2.0]
    tiny = helper.make_tensor("t", TensorProto.INT4, [3], [-8, 7, 1])
    assert numbers(tiny).tolist() == [-8, 7, 1]
    with pytest.raises(InputError, match=r"'t' has elements of the type object: export it with numbers$"):
        numbers(helper.make_tensor("t", TensorProto.STRING, [1], [b"a"]))
    huge = TensorProto(name="t", data_type=TensorProto.FLOAT, dims=[1 << 40], raw_data=b"abcd")
    with pytest.raises(InputError, match="entries are more than the limit"):
        numbers(huge)
    short = TensorProto(name="t", data_type=TensorProto.FLOAT, dims=[3], raw_data=b"abcd")
    with pytest.raises(InputError, match="'t' is malformed"):
        numbers(short)


def test_attributes_of_every_type():
    given = {"i": 3, "f": 0.5, "s": "text", "is": [1, 2], "fs": [0.5, 1.5]}
    node = helper.make_node("Any", [], [], t=numpy_helper.from_array(np.array([1.0])), **given)
    found = attributes(node)
    assert found.pop("t").tolist() == [1.0]
    assert found == given
