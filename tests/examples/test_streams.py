"""The examples of streams and loops: their pages show what the commands print, and the simulated core agrees with
libraries that know nothing of Skinny."""

import binascii
import csv
import re
import runpy
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import skinny
from numpy.lib.stride_tricks import sliding_window_view
from onnx import TensorProto, helper, numpy_helper
from scipy import signal
from scipy.linalg import solve_discrete_are
from skinny.model.rings import parse_ring
from skinny.model.run.stream import run_stream

from .conftest import called

EXAMPLES = Path(__file__).parents[2] / "examples"


def columns(path):
    rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    return {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}


def ref_fir(x):
    """scipy's filter; its first 63 results are those of a window that is not full."""
    return {"y": signal.lfilter(signal.firwin(64, 0.15), 1, x)[63:]}


def ref_cascade(x):
    return {"y": signal.sosfilt(signal.butter(6, 0.2, output="sos"), x)}


def ref_oscillator():
    """Powers of the matrix of both shears."""
    k = 0.125
    turn = np.array([[1, -k], [k, 1 - k * k]])
    return {"y": np.array([(np.linalg.matrix_power(turn, n) @ [0.5, 0])[1] for n in range(400)])}


def ref_antiwindup(r, v):
    integral = old = 0.0
    commands = []
    for error in r - v:
        wanted = 0.8 * error + integral + 0.25 * (error - old)
        commands.append(np.clip(wanted, -1, 1))
        integral, old = integral + 0.1 * error - 0.5 * (wanted - commands[-1]), error
    return {"command": np.array(commands)}


def ref_variance(x):
    """Before the first sample there were zeros."""
    windows = sliding_window_view(np.concatenate([np.zeros(15), x]), 16)
    return {"mean": windows.mean(axis=1), "variance": windows.var(axis=1)}


def numbers_of(line):
    """The coefficients of the sums of a formula's line, in order."""
    return [float(n) for n in re.findall(r"(?<![\w.-])-?\d+(?:\.\d+)?(?![\w.\]])", line.replace("- ", "-"))]


def ref_convolution(x):
    """numpy's convolution; the window of sixteen words is full with sample 16, when nine samples are there since 7."""
    lines = (EXAMPLES / "convolution" / "formula.txt").read_text(encoding="utf-8").splitlines()[1:]
    sums = [numbers_of(line.partition("=")[2]) for line in lines]
    return {f"y{n}": np.maximum(np.convolve(x, row[:-1], "valid") + row[-1], 0)[7:] for n, row in enumerate(sums)}


def ref_elman(a, b):
    """onnxruntime's recurrent layer."""
    lines = (EXAMPLES / "cells" / "elman.txt").read_text(encoding="utf-8").splitlines()
    cells = np.array([numbers_of(line.partition("=")[2]) for line in lines if line.startswith("next")])
    *out, bias = numbers_of(lines[-1].partition("=")[2])
    w, r, hidden = cells[:, :2], cells[:, 2:6], cells[:, 6]
    arrays = {"w": w[None], "r": r[None], "b": np.concatenate([hidden, np.zeros(4)])[None]}
    graph = helper.make_graph(
        [helper.make_node("RNN", ["x", "w", "r", "b"], ["h"], hidden_size=4, activations=["Relu"])],
        "cell",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [len(a), 1, 2])],
        [helper.make_tensor_value_info("h", TensorProto.FLOAT, [len(a), 1, 1, 4])],
        [numpy_helper.from_array(array.astype(np.float32), name) for name, array in arrays.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (states,) = session.run(["h"], {"x": np.stack([a, b], axis=1)[:, None].astype(np.float32)})
    # The output reads the states of the sample before.
    before = np.vstack([np.zeros(4), states[:-1, 0, 0]])
    return {"y": before @ out + bias}


def ref_gated(a, b):
    lines = (EXAMPLES / "cells" / "gated.txt").read_text(encoding="utf-8").splitlines()
    gates = [numbers_of(line.partition("=")[2]) for line in lines if line.startswith("let")]
    opened, target = np.array(gates[0::2]), np.array([[*gate, 0] for gate in gates[1::2]])
    h, found = np.zeros(2), []
    for sample in zip(a, b, strict=True):
        found.append(h[0] - h[1])
        given = np.array([*sample, *h, 1])
        h = h + (opened @ given) * (target @ given - h)
    return {"y": np.array(found)}


def ref_kalman(z):
    """scipy's simulation of the filter as a linear system."""
    a, h = np.array([[1, 0.125], [0, 1]]), np.array([[1.0, 0]])
    p = solve_discrete_are(a.T, h.T, np.diag([1e-4, 4e-3]), np.array([[0.04]]))
    gain = p @ h.T @ np.linalg.inv(h @ p @ h.T + 0.04)
    closed = (np.eye(2) - gain @ h) @ a
    # Its state is what was predicted for the sample before; the output is corrected by the sample.
    _, out, _ = signal.dlsim((closed, gain, closed, gain, 1), z)
    return {"position": out[:, 0], "velocity": out[:, 1]}


def ref_equilibrium(rows):
    """The solution itself, by many more rounds."""
    lines = (EXAMPLES / "equilibrium" / "formula.txt").read_text(encoding="utf-8").splitlines()
    given = np.array([numbers_of(line.partition("=")[2]) for line in lines if line.startswith("let c")])
    w = np.array([numbers_of(line.partition("=")[2]) for line in lines if line.startswith("let z1_")])
    z = np.zeros((len(rows), len(given)))
    for _ in range(200):
        z = np.maximum(z @ w.T + rows @ given[:, :-1].T + given[:, -1], 0)
    return {f"z{n}": column for n, column in enumerate(z.T)}


#: For each program: its folder, its format (none: it was compiled for one), what a library says of the samples, and how
#: far the core may be from that: its rounding, and that of the coefficients.
STREAMS = {
    "fir": ("fir", None, ref_fir, 0.003),
    "cascade": ("cascade", None, ref_cascade, 0.002),
    "oscillator": ("oscillator", "fixed:16.14", ref_oscillator, 0.002),
    "antiwindup": ("antiwindup", "fixed:16.12", ref_antiwindup, 0.004),
    "variance": ("variance", "fixed:24.16", ref_variance, 0.0005),
    "convolution": ("convolution", "fixed:16.10", ref_convolution, 0.01),
    "elman": ("cells", "fixed:16.10", ref_elman, 0.01),
    "gated": ("cells", "fixed:16.10", ref_gated, 0.01),
    "kalman": ("kalman", None, ref_kalman, 0.002),
}


def simulated(answered, name, ring, given):
    found = answered("sim", f"{name}.skn", *(() if ring is None else ("--ring", ring)), *given)
    assert found["match"] is True
    assert found["precision"]["wrapped_rows"] == 0
    return {output: np.array(values, dtype=float).squeeze(0) for output, values in found["results"].items()}


@pytest.mark.parametrize(("folder", "name"), [(row[0], name) for name, row in STREAMS.items()], indirect=["folder"])
def test_streams_agree_with_libraries(folder, name, check_page, answered):
    _, ring, reference, most = STREAMS[name]
    check_page(folder)
    path = folder / "samples.csv"
    padded = ["--pad"] if name == "variance" else []
    found = simulated(answered, name, ring, ["--stream", str(path) if path.exists() else "400", *padded])
    wanted = reference(*columns(path).values()) if path.exists() else reference()
    assert list(found) == list(wanted)
    for output, values in wanted.items():
        assert len(found[output]) == len(values) > 100
        assert np.abs(values).max() > 10 * most
        assert np.abs(found[output] - values).max() < most, output


@pytest.mark.parametrize("folder", ["fir", "cascade"], indirect=True)
def test_in_floats_filters_are_those_of_scipy(folder, answered):
    """With the coefficients that stand in the formula; the window of the first begins with zeros."""
    lines = (folder / "formula.txt").read_text(encoding="utf-8").splitlines()
    sums = [numbers_of(line.partition("=")[2]) for line in lines if re.match("let|next|y", line)]
    (x,) = columns(folder / "samples.csv").values()
    if len(sums) == 1:
        wanted = signal.lfilter(sums[0], 1, x)
    else:
        sections = [[b0, b1, b2, 1, -a1, -a2] for (b0,), (b1, a1), (b2, a2) in zip(*[iter(sums)] * 3, strict=True)]
        wanted = signal.sosfilt(sections, x)
    assert called("skinny compile @formula.txt -o filter.skn")[0] == 0
    padded = ["--pad"] if len(sums) == 1 else []
    found = answered("run", "filter.skn", "--ring", "real", "--stream", "samples.csv", *padded)["outputs"]["y"]
    assert len(sums) in (1, 9)
    assert np.abs(np.array(found)[0] - wanted).max() < 1e-14


@pytest.mark.parametrize("folder", ["equilibrium"], indirect=True)
def test_twelve_rounds_are_near_the_equilibrium(folder, check_page, answered):
    check_page(folder)
    found = answered("sim", "equilibrium.skn", "--ring", "fixed:16.12", "--inputs", "inputs.csv")["results"]
    rows = np.stack(list(columns(folder / "inputs.csv").values()), axis=1)
    wanted = ref_equilibrium(rows)
    assert list(found) == list(wanted)
    for output, values in wanted.items():
        assert 0 < np.abs(np.array(found[output], dtype=float) - values).max() < 0.004


@pytest.mark.parametrize("folder", ["checksum"], indirect=True)
def test_checksums_are_those_of_the_standard_library(folder, check_page, answered):
    runpy.run_path(str(folder / "make.py"))
    check_page(folder)
    found = answered("sim", "checksum.skn", "--ring", "boolean", "--roll", "--inputs", "inputs.csv")["results"]
    bits = np.stack([column.astype(np.uint8) for column in columns(folder / "inputs.csv").values()], axis=1)
    wanted = [binascii.crc_hqx(np.packbits(row).tobytes(), 0xFFFF) for row in bits]
    sums = [sum(int(values[row]) << int(name[1:]) for name, values in found.items()) for row in range(len(bits))]
    assert sums == wanted
    assert len(set(wanted)) == 8


@pytest.mark.parametrize("folder", ["parity"], indirect=True)
def test_parities_are_those_of_numpy(folder, check_page, answered):
    runpy.run_path(str(folder / "make.py"))
    check_page(folder)
    found = answered("sim", "parity.skn", "--ring", "boolean", "--roll", "--inputs", "inputs.csv")["results"]["y"]
    bits = np.stack(list(columns(folder / "inputs.csv").values()), axis=1).astype(int)
    assert bits.shape == (8, 1000)
    assert found == (bits.sum(axis=1) % 2).tolist()
    page = (folder / "README.md").read_text(encoding="utf-8")
    words = (folder / "parity" / "listing.txt").read_text(encoding="utf-8").splitlines()[:5]
    assert "\n".join(words) in page


@pytest.mark.parametrize("folder", ["antiwindup"], indirect=True)
def test_a_controller_is_retuned_while_it_runs(folder, check_page):
    """Between two samples a gain changes and the states stay, as for a controller that was begun anew with them."""
    check_page(folder, 1)
    program = skinny.load("antiwindup.skn")
    r, v = columns(folder / "samples.csv").values()
    ring = parse_ring("fixed:16.12")
    samples = np.round(np.stack([r, v], axis=1) * 4096).astype(np.int64)[None]
    before = run_stream(program.model, ring, samples[:, :90])
    tuned = program.model.with_weights(kp=1.5)
    after = run_stream(tuned, ring, samples[:, 90:], before.state)
    integral = old = 0.0
    commands = []
    for number, error in enumerate(r - v):
        wanted = (0.8 if number < 90 else 1.5) * error + integral + 0.25 * (error - old)
        commands.append(np.clip(wanted, -1, 1))
        integral, old = integral + 0.1 * error - 0.5 * (wanted - commands[-1]), error
    found = np.concatenate([before.outputs, after.outputs], axis=1)[0, :, 0] / 4096
    assert 0 < np.abs(found - commands).max() < 0.004


@pytest.mark.parametrize("folder", ["loops"], indirect=True)
def test_layers_are_loops(folder, check_page, answered):
    """The network is trained here, so that the page is true of any; rolled, it decides as scikit-learn does."""
    runpy.run_path(str(folder / "make.py"))
    check_page(folder)
    found = answered("sim", "loops.skn", "--ring", "fixed:16.10", "--roll", "--inputs", "inputs.csv")
    assert found["match"] is True
    labels = columns(folder / "labels.csv")["label"]
    assert np.mean(np.array(found["results"]["class"]) == labels) >= 0.98
