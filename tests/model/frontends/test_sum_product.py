"""Sum-product networks against all their rows, which are summed one by one."""

import json
import random
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from skinny.model.compiler.pipeline import compile_formula
from skinny.model.errors import InputError
from skinny.model.frontends.sum_product import SumProductNetwork
from skinny.model.rings import Exact
from skinny.model.run.golden import run

WEATHER = {
    "variables": {"rain": 2, "wind": 3},
    "root": "day",
    "nodes": {
        "day": {"sum": {"wet": 0.25, "dry": 0.75}},
        "wet": {"product": ["rainy", "windy"]},
        "dry": {"product": ["sunny", "calm"]},
        "rainy": {"bernoulli": 0.875, "of": "rain"},
        "sunny": {"indicator": 0, "of": "rain"},
        "windy": {"categorical": [0.125, 0.25, 0.625], "of": "wind"},
        "calm": {"categorical": [0.5, 0.375, 0.125], "of": "wind"},
    },
}


def network(count, seed=0):
    """A network over a binary tree of variables: two leaves of each, and above two sums of the four products of the
    parts, one at the root; each sum with weights that add up to one."""
    chance = random.Random(seed)
    nodes, regions = {}, []
    for n in range(count):
        for k in "ab":
            nodes[f"l{n}{k}"] = {"bernoulli": chance.randrange(1, 100) / 128, "of": f"x{n}"}
        regions.append((f"l{n}a", f"l{n}b"))
    while len(regions) > 1:
        above = []
        for left, right in zip(regions[::2], regions[1::2], strict=True):
            names = []
            for k in "ab"[: 2 if len(regions) > 2 else 1]:
                weights = [chance.randrange(1, 100) for _ in range(4)]
                parts = {}
                for pair, weight in zip(product(left, right), weights, strict=True):
                    nodes[f"p{len(nodes)}"] = {"product": list(pair)}
                    parts[f"p{len(nodes) - 1}"] = Fraction(weight, sum(weights))
                nodes[f"s{len(nodes)}{k}"] = {"sum": parts}
                names.append(f"s{len(nodes) - 1}{k}")
            above.append((names[0], names[-1]))
        regions = above
    return {"variables": {f"x{n}": 2 for n in range(count)}, "root": regions[0][0], "nodes": nodes}


def joint(given, row):
    """The probability of a row, from the JSON form alone, top down."""

    def value(name):
        node = given["nodes"][name]
        if "sum" in node:
            return sum(Fraction(weight) * value(part) for part, weight in node["sum"].items())
        if "product" in node:
            out = Fraction(1)
            for part in node["product"]:
                out *= value(part)
            return out
        found = row[node["of"]]
        if "bernoulli" in node:
            return Fraction(node["bernoulli"]) if found else 1 - Fraction(node["bernoulli"])
        return Fraction(node["categorical"][found]) if "categorical" in node else Fraction(node["indicator"] == found)

    return value(given["root"])


def marginal(given, values):
    """The sum over all rows that agree with ``values``."""
    names = list(given["variables"])
    free = [range(given["variables"][name]) if name not in values else (values[name],) for name in names]
    return sum(joint(given, dict(zip(names, row, strict=True))) for row in product(*free))


def compiled(spn):
    written = spn.written()
    return compile_formula(written.outputs, width=64, keep=frozenset(), inputs=written.inputs).program


def answers(spn, questions, program=None):
    """What the program gives for the values of some variables, by output."""
    program = program or compiled(spn)
    rows = [[Fraction(spn.indicators(values)[name]) for name in program.inputs] for values in questions]
    found = run(program, Exact(), np.array(rows, dtype=object)).outputs
    return [dict(zip((out.name for out in program.outputs), row, strict=True)) for row in found]


def test_joint_and_marginals_are_those_of_all_rows():
    spn = SumProductNetwork(WEATHER)
    assert spn.inputs == ("rain_0", "rain_1", "wind_0", "wind_1", "wind_2")
    questions = [
        {name: value for name, value in (("rain", rain), ("wind", wind)) if value is not None}
        for rain in (None, 0, 1)
        for wind in (None, 0, 1, 2)
    ]
    wanted = [marginal(WEATHER, values) for values in questions]
    assert [found["p"] for found in answers(spn, questions)] == wanted
    assert [spn.probability(values) for values in questions] == wanted
    assert wanted[0] == 1


def test_conditional_probabilities_are_a_ratio_of_two_outputs():
    spn = SumProductNetwork(WEATHER, query="rain")
    (found,) = answers(spn, [{"rain": 1, "wind": 2}])
    assert found["evidence"] == marginal(WEATHER, {"wind": 2})
    wanted = marginal(WEATHER, {"rain": 1, "wind": 2}) / marginal(WEATHER, {"wind": 2})
    assert found["joint"] / found["evidence"] == spn.probability({"rain": 1}, {"wind": 2}) == wanted


@pytest.mark.parametrize(("count", "most"), [(8, 133), (16, 285)])
def test_length_and_marginals_of_larger_networks(count, most):
    given = network(count)
    spn = SumProductNetwork(given)
    program = compiled(spn)
    assert program.words + program.emits <= most
    chance = random.Random(count)
    names = chance.sample(sorted(given["variables"]), count - 5)
    questions = [{name: chance.randrange(2) for name in names[: len(names) - n % 2]} for n in range(4)] + [{}]
    found = [answer["p"] for answer in answers(spn, questions, program)]
    assert found[:-1] == [marginal(given, values) for values in questions[:-1]]
    assert found[-1] == 1


def test_a_file(tmp_path):
    path = tmp_path / "weather.json"
    path.write_text(json.dumps(WEATHER | {"query": ["wind"]}))
    spn = SumProductNetwork(path)
    assert spn.query == ("wind",)
    assert spn.written().title == str(path)
    assert spn.probability({"rain": 0}) == SumProductNetwork(WEATHER).probability({"rain": 0})
    path.write_text(json.dumps(WEATHER).replace("0.125", "0.1"))
    assert SumProductNetwork(path)._nodes["windy"][1][1][0] == Fraction(1, 10), "decimals are exact"


def changed(**nodes):
    return WEATHER | {"nodes": {k: v for k, v in (WEATHER["nodes"] | nodes).items() if v is not None}}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "has variables, a root and nodes"),
        (WEATHER | {"edges": 1}, "has variables, root, nodes, query, not 'edges'"),
        (WEATHER | {"root": "night"}, "there is no node 'night', which is the root"),
        (WEATHER | {"variables": {"rain": 1}}, "the variable 'rain' must have 2 to 65,536 values, not 1"),
        (WEATHER | {"variables": {"a b": 2}}, "the name of a variable must be letters, digits and _, not 'a b'"),
        (WEATHER | {"variables": {**WEATHER["variables"], "sun": 2}}, "says nothing of the variable 'sun'"),
        (WEATHER | {"query": ["sun"]}, "query: there is no variable 'sun'"),
        (WEATHER | {"query": 5}, "query must be a list of names of variables"),
        (WEATHER | {"query": {"rain": 1}}, "query must be a list of names of variables"),
        (WEATHER | {"query": ["rain", "wind"]}, "one variable at least must be left for the evidence"),
        (
            changed(dry={"product": ["sunny"]}),
            "node 'day' is not complete: .*'wet' and 'dry' .*'wind'",
        ),
        (changed(dry={"product": ["sunny", "calm", "rainy"]}), "node 'dry' is not decomposable: 'rainy' .*'rain'"),
        (changed(dry={"product": ["sunny", "sunny"]}), "node 'dry': a product names a part twice"),
        (changed(dry={"product": ["sunny", "cold"]}), "node 'dry': there is no node 'cold'"),
        (changed(dry={"product": []}), "node 'dry': a product is a list"),
        (changed(dry={"product": ["sunny", "day"]}), "nodes must not read each other in a circle, but 'd"),
        (changed(day={"sum": {}}), "node 'day': a sum is a dict of weights"),
        (
            changed(day={"sum": {"wet": -1, "dry": 1}}),
            "node 'day': weights and .* not below zero, as -1",
        ),
        (changed(day={"sum": {"wet": "x", "dry": 1}}), "node 'day': a number must be"),
        (changed(day={"max": {}}), "node 'day': one of sum, product, bernoulli, categorical, indicator must say"),
        (changed(rainy={"bernoulli": 1.5, "of": "rain"}), "node 'rainy': bernoulli is the probability of the value 1"),
        (changed(windy={"bernoulli": 0.5, "of": "wind"}), "node 'windy': bernoulli is"),
        (changed(calm={"categorical": [1], "of": "wind"}), "node 'calm': categorical is a list of 3 probabilities"),
        (changed(sunny={"indicator": 2, "of": "rain"}), "node 'sunny': its variable has the values 0 to 1, not 2"),
        (changed(sunny={"indicator": 1}), "node 'sunny': 'of' must name its variable, not None"),
        (changed(sunny={"indicator": 1, "of": "rain", "p": 1}), "node 'sunny': 'p' means nothing here"),
        (changed(cold={"indicator": 1, "of": "rain"}), "node 'cold': the root 'day' does not need it"),
    ],
)
def test_what_is_no_valid_network_is_refused(given, message):
    with pytest.raises(InputError, match=message):
        SumProductNetwork(given)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "bad.json:1: not JSON"),
        ("[" * 100_000, r"bad.json: not JSON of a sum-product network \(nested too deep\)"),
        ('{"nodes": {"a": 1, "a": 2}}', "bad.json: 'a' is there twice"),
        ('{"nodes": NaN}', "bad.json: NaN is no number"),
        ('{"variables": {"u": 2.5}, "root": "r", "nodes": {"r": {}}}', "bad.json: the variable 'u' .* values, not 5/2"),
        ("[]", "bad.json: a sum-product network has variables"),
    ],
)
def test_files_that_hold_none_are_refused(tmp_path, monkeypatch, text, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.json").write_text(text)
    with pytest.raises(InputError, match=message):
        SumProductNetwork("bad.json")


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda spn: spn.indicators({"sun": 1}), "there is no variable 'sun'"),
        (lambda spn: spn.indicators({"rain": 2}), "the variable 'rain' has the values 0 to 1, not 2"),
        (lambda spn: spn.probability({"rain": 1}, {"rain": 1}), "the variable 'rain' is asked for and given"),
    ],
)
def test_questions_that_have_no_answer(ask, message):
    with pytest.raises(InputError, match=message):
        ask(SumProductNetwork(WEATHER))


def test_evidence_that_cannot_be():
    given = changed(day={"sum": {"wet": 0, "dry": 1}})
    with pytest.raises(InputError, match="what is given has the probability zero"):
        SumProductNetwork(given).probability({"wind": 0}, {"rain": 1})
