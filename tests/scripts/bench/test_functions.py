"""``skinny bench functions``: a part of it holds on the simulated core, and what is missed is said."""

from types import SimpleNamespace

import pytest
from skinny.model.errors import CheckError, InputError
from skinny.scripts.bench import functions
from skinny.scripts.bench.functions import LARGE, MIDDLE, SMALL, bench_function, chosen_functions, missed
from skinny.scripts.bench.functions_usual import FUNCTIONS, least_degree

#: Words of each program; all of them are 10^6 and more.
FEW = 2000


@pytest.fixture(autouse=True)
def one_core(monkeypatch):
    """Only the middle format is tried, so that one core is built."""
    monkeypatch.setattr(functions, "ERRORS", dict.fromkeys(functions.ERRORS, (MIDDLE,)))


@pytest.mark.parametrize("error", ["1e-3", "1e-4"])
@pytest.mark.parametrize("name", ["cos(x)", "exp(-x)", "log(x)", "1/x"])
def test_a_part_holds_all_promises(name, error):
    (usual,) = chosen_functions(name)
    row = bench_function(usual, error, FEW)
    assert row["missed"] == []
    assert (row["function"], row["error"], row["words"], row["ring"]) == (name, error, FEW, "fixed:24.20")
    assert row["minimax"] == row["degree"]
    # Random words come near to the worst of an approximation that has its largest error at several points.
    assert 0.7 * row["proven"] < row["seen"] <= row["proven"] <= float(error)


def test_a_core_that_computes_something_else_is_noticed():
    (usual,) = chosen_functions("cos(x)")
    row = bench_function(usual._replace(reference=lambda x: usual.reference(x) + 0.002), "1e-3", 20)
    assert row["missed"] == ["exceeded"]
    assert 0.001 < row["seen"] < 0.003


def test_what_cannot_be_compiled_is_noticed(monkeypatch):
    def refuse(outputs, precision):
        raise CheckError("no")

    monkeypatch.setattr(functions, "compile_formula", refuse)
    row = bench_function(FUNCTIONS[0], "1e-4", 20)
    assert (row["missed"], row["degree"], row["seen"], row["words"]) == (["compiled"], None, None, 0)


HELD = {"error": "1e-3", "minimax": 5, "degree": 6, "proven": 0.001, "seen": 0.001}


@pytest.mark.parametrize(
    ("change", "promises"),
    [
        ({}, []),
        ({"degree": 7}, ["degree"]),
        ({"proven": 0.0011}, ["error"]),
        ({"seen": 0.0011}, ["exceeded"]),
    ],
)
def test_what_a_row_misses(change, promises):
    assert missed(HELD | change) == promises


@pytest.mark.parametrize(
    ("degrees", "seen", "tried", "promises"),
    [
        ({16: 5, 24: 5, 32: 5}, 0, [16], []),
        ({24: 7, 32: 5}, 0, [24, 32], []),  # refused in 16 bits, too high a degree in 24
        ({16: 7, 24: 7, 32: 7}, 0, [16, 24, 32], ["degree"]),
        ({16: 5, 24: 5, 32: 5}, 1, [16], ["exceeded"]),  # a larger word would only hide that
    ],
)
def test_larger_words_are_tried_as_needed(monkeypatch, degrees, seen, tried, promises):
    def made(outputs, precision):
        if precision.bits not in degrees:
            raise CheckError("no")
        return SimpleNamespace(
            facts=SimpleNamespace(degree=degrees[precision.bits]), program=SimpleNamespace(words=9), errors={"y": 1e-3}
        )

    run = []
    monkeypatch.setattr(functions, "ERRORS", {"1e-3": (SMALL, MIDDLE, LARGE)})
    monkeypatch.setattr(functions, "compile_formula", made)
    monkeypatch.setattr(functions, "_seen", lambda usual, program, ring, words: run.append(ring.bits) or seen)
    assert least_degree(FUNCTIONS[0], 1e-3) == 5
    assert bench_function(FUNCTIONS[0], "1e-3")["missed"] == promises
    assert run == tried


def test_the_command_fails_when_a_promise_is_missed(monkeypatch, capsys):
    from skinny.scripts.cli import main

    row = HELD | {"function": "cos(x)", "low": "-1", "high": "1", "ring": "fixed:24.20", "cycles": 7, "words": 20}
    for promises, code in (([], 0), (["degree", "exceeded"], 1)):
        monkeypatch.setattr(functions, "bench_function", lambda usual, error, held=promises: row | {"missed": held})
        assert main(["bench", "functions", "--only", "cos"]) == code
        out, err = capsys.readouterr()
        assert "40 results of the core" in out
        assert ("2 of 2 rows miss a promise: cos(x) to 1e-3: degree, exceeded" in err) == bool(code)


def test_functions_are_chosen_by_how_they_begin():
    assert [usual.text for usual in chosen_functions("log, 1/x")] == ["log(x)", "log(1 + x)", "1/x", "log(1 + exp(x))"]
    with pytest.raises(InputError, match=r"^there is no function that begins with 'cosh'; there are sin\(x\); cos"):
        chosen_functions("sin,cosh")
