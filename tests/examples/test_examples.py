"""The examples: their pages show what the commands print, and the simulated core keeps the proven errors.

What is right is computed from the text of the formula by Python's own arithmetic on fractions, at the words that the
inputs and the named weights are rounded to.
"""

import csv
import re
import runpy
from fractions import Fraction
from math import floor, prod
from pathlib import Path

import numpy as np
import pytest
from skinny.model.link.host import Host
from skinny.model.link.wire import BoardInfo
from skinny.model.machine.assemble import assemble
from skinny.model.parallel.image import ImageOptions, build_image
from skinny.model.program.storage import load
from skinny.model.program.units import Units
from skinny.model.rings import parse_ring
from skinny.scripts.common import rounded_outwards
from skinny.sim.link.board import SimulatedBoard

EXAMPLES = Path(__file__).parents[2] / "examples"
INDEX = (EXAMPLES / "README.md").read_text(encoding="utf-8")
#: The examples of the first table are compiled for a format, with a proven error.
NAMES = re.findall(r"^\| \[(\w+)\]", INDEX.partition("\n\n| example | what it shows | ring | words | cycles")[0], re.M)


def test_every_example_is_in_the_index():
    assert {path.parent.name for path in EXAMPLES.glob("*/README.md")} == set(
        re.findall(r"\]\((\w+)/README\.md\)", INDEX)
    )


def python_text(formula):
    """The formula as Python: numbers are fractions, ``^`` is ``**``; named weights and relu are set elsewhere."""
    lines = [re.sub("#.*|^let |^weight .*", "", line) for line in formula.splitlines()]
    return re.sub(r"\b\d+(\.\d+)?\b", r"Fraction('\g<0>')", "\n".join(lines)).replace("^", "**")


def nearest(value, step):
    return floor(value / step + Fraction(1, 2)) * step


def expected(formula, program, rows):
    """The outputs of each row at the words of the program, exactly."""
    frac = int(program.ring.partition(".")[2])
    gains = {}
    for weight in program.named:
        ((_, factor),) = weight.words
        gains[weight.name] = nearest(weight.value * factor, Fraction(1, 2**frac)) / factor
    steps = {name: Fraction(2) ** (e - frac) for name, e in zip(program.inputs, program.input_scales, strict=True)}
    text = compile(python_text(formula), "formula", "exec")
    for row in rows:
        names = gains | {name: nearest(Fraction(value), steps[name]) for name, value in row.items()}
        exec(text, {"Fraction": Fraction}, names)
        yield {output.name: names[output.name] for output in program.outputs}


def every_iris_has_the_class_that_scikit_learn_predicts(folder, results, answered):
    from sklearn.datasets import load_iris
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

    iris = load_iris()
    fitted = QuadraticDiscriminantAnalysis().fit(iris.data, iris.target)
    assert list(results) == list(iris.target_names)
    scores = np.array(list(results.values())).T
    assert np.abs(scores - fitted.decision_function(iris.data)).max() < 0.1
    assert (scores.argmax(axis=1) == fitted.predict(iris.data)).all()
    assert len(scores) == 150
    # The files are what make.py makes, as far as numbers are the same on every machine.
    before = (folder / "formula.txt").read_text(), (folder / "inputs.csv").read_text()
    runpy.run_path(str(folder / "make.py"))
    assert ((folder / "formula.txt").read_text(), (folder / "inputs.csv").read_text()) == before


def the_network_knows_147_irises(folder, results, answered):
    from sklearn.datasets import load_iris

    scores = np.array([np.full(150, 0.5), results["versicolor"], results["virginica"]])
    assert (scores.argmax(axis=0) == load_iris().target).sum() == 147


def a_gain_is_set_over_the_load_port_alone(folder, results, answered):
    """A board keeps the program; the words of the gains are written, and the next result is that of the new gain."""
    program = load("pid.skn")
    ring = parse_ring(program.ring)
    units = Units(program, ring)
    config = build_image(program, ring, ImageOptions()).config
    host = Host(SimulatedBoard(BoardInfo(config, "simulated", 24_000_000)))
    (error,) = answered("bound", "pid.skn")["errors"].values()
    inputs = {"e": 3, "s": 40, "d": Fraction("7.5")}
    vectors = config.pack(np.array([[units.encode(u, value) for u, value in enumerate(inputs.values())]]))
    host.open()
    for kp in (Fraction("0.8"), Fraction("1.5"), Fraction(0), Fraction(2)):
        tuned = program.with_weights(kp=kp)
        (row,) = config.unpack(host.run(assemble(tuned, config), vectors).words, 1)
        (right,) = expected((folder / "formula.txt").read_text(encoding="utf-8"), tuned, [inputs])
        assert abs(Fraction(units.decode(0, row[0])) - right["u"]) <= error
    assert (host.loads, host.retunes) == (1, 3)


#: What else is claimed of an example, from what its core gave in the simulation.
CLAIMS = {
    "iris": every_iris_has_the_class_that_scikit_learn_predicts,
    "mlp": the_network_knows_147_irises,
    "pid": a_gain_is_set_over_the_load_port_alone,
}


@pytest.mark.parametrize("folder", NAMES, indirect=True)
def test_the_page_is_true_and_the_core_keeps_the_proven_error(folder, request, answered, check_page):
    check_page(folder)
    name = request.node.callspec.params["folder"]
    file = f"{name}.skn"
    program = load(file)
    rows = list(csv.DictReader((folder / "inputs.csv").read_text(encoding="utf-8").splitlines()))
    found = answered("sim", file, "--inputs", "inputs.csv")
    assert found["match"] is True
    assert found["precision"]["wrapped_rows"] == found["precision"]["outside_rows"] == 0
    proven = answered("bound", file)
    assert proven["safe"] is True
    wanted = list(expected((folder / "formula.txt").read_text(encoding="utf-8"), program, rows))
    worst = {
        output: max(abs(Fraction(value) - right[output]) for value, right in zip(values, wanted, strict=True))
        for output, values in found["results"].items()
    }
    assert len(wanted) == len(rows) > 10
    for output, error in worst.items():
        assert 0 < error <= proven["errors"][output]
    # The table of all examples says the same.
    (line,) = re.findall(rf"^\| \[{name}\].*", (EXAMPLES / "README.md").read_text(encoding="utf-8"), re.M)
    largest = rounded_outwards(max(proven["errors"].values()), up=True)
    assert line.endswith(f"| `{program.ring}` | {program.words} | {largest} |")
    if name in CLAIMS:
        CLAIMS[name](folder, found["results"], answered)


def rows_of(place):
    """The rows of ``inputs.csv``, as fractions."""
    text = (place / "inputs.csv").read_text(encoding="utf-8")
    return [{name: Fraction(value) for name, value in row.items()} for row in csv.DictReader(text.splitlines())]


def exact_values(place, file, rows):
    """All values that a formula names, for each row, in fractions."""
    text = compile(python_text((place / file).read_text(encoding="utf-8")), file, "exec")
    for row in rows:
        names = dict(row)
        exec(text, {"Fraction": Fraction, "relu": lambda value: max(value, Fraction(0))}, names)
        yield names


def labels_of(place):
    return [int(line) for line in (place / "labels.csv").read_text(encoding="utf-8").split()[1:]]


def table_line(name):
    (line,) = re.findall(rf"^\| \[{name}\].*", (EXAMPLES / "README.md").read_text(encoding="utf-8"), re.M)
    return line


def check_table(name, ring):
    """The table of the examples has the words of the program, and the cycles that words and emits take."""
    program = load(f"{name}.skn")
    image = build_image(program, parse_ring(ring), ImageOptions())
    assert table_line(name).endswith(f"| `{ring}` | {program.words} | {len(image)} |")


@pytest.mark.parametrize("folder", ["product"], indirect=True)
def test_a_product_of_256(folder, answered, check_page):
    check_page(folder)
    found = answered("sim", "product.skn", "--ring", "prime:8191", "--inputs", "inputs.csv")
    wanted = [prod(int(value) for value in row.values()) % 8191 for row in rows_of(folder)]
    assert found["results"]["y"] == wanted
    assert load("product.skn").linear
    assert not load("product.skn").reversible
    check_table("product", "prime:8191")


@pytest.mark.parametrize("folder", ["adder"], indirect=True)
def test_numbers_of_8_bits_are_added(folder, answered, check_page):
    check_page(folder)
    found = answered("sim", "adder.skn", "--ring", "boolean", "--inputs", "inputs.csv")["results"]
    sums = [sum(bit << n for n, bit in enumerate(bits)) for bits in zip(*found.values(), strict=True)]
    numbers = [[sum(int(row[f"{name}{n}"]) << n for n in range(8)) for name in "ab"] for row in rows_of(folder)]
    assert sums == [a + b for a, b in numbers]
    check_table("adder", "boolean")


@pytest.mark.parametrize("folder", ["network"], indirect=True)
def test_networks_with_squares_and_relu(folder, answered, check_page):
    check_page(folder)
    rows = rows_of(folder)
    assert len(rows) == 44
    answer = answered("sim", "squares.skn", "--ring", "fixed:16.7", "--inputs", "inputs.csv")
    errors = answered("bound", "squares.skn", "--ring", "fixed:16.7", "--box=-1:1")["errors"]
    wanted = list(exact_values(folder, "squares.txt", rows))
    assert answer["precision"]["wrapped_rows"] == 0
    for name, values in answer["results"].items():
        # Inputs are multiples of 2^-8 here; half a step of 2^-7 counts beside the proven error.
        off = max(abs(Fraction(value) - right[name]) for value, right in zip(values, wanted, strict=True))
        assert 0 < off < errors[name]
    core = ("network.skn", "--ring", "fixed:16.8", "--inputs", "inputs.csv")
    found = answered("sim", *core)["results"]["network"]
    assert found == answered("sim", *core, "--registers", "flipflops")["results"]["network"]
    scores = [[names[f"y{n}"] for n in range(3)] for names in exact_values(folder, "relu.txt", rows)]
    proven = answered("bound", "network.skn", "--ring", "fixed:16.8", "--box=-1:1")
    assert proven["safe"] is True
    most = 2 * max(proven["errors"].values())
    for chosen, row in zip(found, scores, strict=True):
        first, second = sorted(row, reverse=True)[:2]
        assert chosen == row.index(first) or first - second <= most
    assert sum(a == b for a, b in zip(found, labels_of(folder), strict=True)) == 43
    check_table("network", "fixed:16.8")


@pytest.mark.parametrize("folder", ["digits"], indirect=True)
def test_digits_in_a_class_out(folder, answered, check_page):
    check_page(folder)
    answer = answered("sim", "digits.skn", "--ring", "fixed:16.8", "--inputs", "inputs.csv")
    assert answer["precision"] | {"outside_rows": 0} == dict.fromkeys(answer["precision"], 0)
    found = answer["results"]["digit"]
    rows = rows_of(folder)
    exact = [[names[f"digit{n}"] for n in range(10)] for names in exact_values(folder, "formula.txt", rows)]
    same = sum(chosen == row.index(max(row)) for chosen, row in zip(found, exact, strict=True))
    assert same >= 358
    assert sum(a == b for a, b in zip(found, labels_of(folder), strict=True)) == 353
    check_table("digits", "fixed:16.8")
