"""Powers: the steps lead to the exponent, and no other order of the same kind is shorter."""

import pytest
from skinny.model.compiler.graph.power import power_steps


def reached(steps):
    exponent = 1
    for step in steps:
        exponent = 2 * exponent if step == "square" else exponent + 1
    return exponent


@pytest.mark.parametrize("exponent", [*range(2, 70), 100_000])
def test_the_steps_lead_to_the_exponent(exponent):
    steps = power_steps(exponent)
    assert reached(steps) == exponent
    assert "run" not in steps[steps.index("square") :] if "square" in steps else True


def test_sixteen_takes_seven_cycles():
    """The square from the accumulator, which still holds the form, and three squares of registers."""
    assert sum(1 if step == "run" else 2 for step in power_steps(16)) == 7
    assert power_steps(3) == ["run", "run"]
