"""The result type of front ends."""

from skinny.model.formula.formula import variables
from skinny.model.frontends.imported import Imported, Layer


def test_inputs_that_no_formula_reads_are_idle():
    a, b, c = variables("a b c")
    outputs = {"y": a + c}
    imported = Imported(outputs, ("a", "b", "c"), "regressor", "sum", (Layer("sum", (outputs["y"],)),))
    assert imported.read == {"a", "c"}
    assert imported.idle == ("b",)
    assert Imported({"y": a + b + c}, ("a", "b", "c"), "regressor", "sum").idle == ()
