"""The compiler: programs equal their formulas, keep their contracts, and have the lengths that were predicted."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from skinny.model.compiler import candidates, drafts, passes, pipeline
from skinny.model.compiler.goal import parse_keep
from skinny.model.compiler.pipeline import PASSES, Precision, compile_formula
from skinny.model.compiler.prove import prove
from skinny.model.errors import CheckError, InputError
from skinny.model.formula.formula import Formula, constant, evaluate, facts, operations, product, total, variables
from skinny.model.formula.parse import parse_formula
from skinny.model.limits import Limits
from skinny.model.program.program import Program
from skinny.model.program.text import dumps
from skinny.model.rings import Boolean, Exact, FixedPoint, Modular, PrimeField, Ring
from skinny.model.run.golden import run
from skinny.scripts.bench.networks import adder

NAMES = "a b c d"
LEAVES = variables(NAMES)
RINGS = [Exact(), Modular(16), PrimeField(8191), Boolean()]
QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])

leaves = st.one_of(st.sampled_from(LEAVES), st.integers(-3, 3).map(constant))
formulas = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=4).map(total),
        st.lists(inner, min_size=2, max_size=3).map(product),
        st.tuples(inner, st.integers(0, 3)).map(lambda pair: pair[0] ** pair[1]),
    ),
    max_leaves=12,
)


def batch_of(ring: Ring, columns: int, seed: int, count: int = 5) -> np.ndarray:
    """Random elements: all of a finite ring's, small whole numbers of the others'."""
    chance = np.random.default_rng(seed)
    if isinstance(ring, PrimeField):
        return chance.integers(0, ring.p, (count, columns))
    if ring.bits == 1:
        return chance.integers(0, 2, (count, columns)).astype(np.uint8)
    half = 1 << (ring.bits - 1) if ring.bits else 99
    whole = chance.integers(-half, half, (count, columns))
    return ring.encode_all(whole) if ring.name == "exact" else whole


def fits(ring: Ring, program: Program) -> bool:
    """Whether the constants of a program are elements of the ring."""
    try:
        program.quantise(ring)
    except InputError:
        return False
    return True


def ref_outputs(formula: Formula, ring: Ring, names: tuple[str, ...], inputs: np.ndarray) -> np.ndarray:
    """The formula as it is written, one ring operation a node."""
    lanes = {name: ring.pack(np.ascontiguousarray(inputs[:, n])) for n, name in enumerate(names)}
    value = evaluate(formula, lanes, ring)
    if not names:
        return np.repeat(ring.unpack(value, 1), len(inputs))
    return ring.unpack(value, len(inputs))


def assert_equal_everywhere(program: Program, formula: Formula) -> None:
    for ring in RINGS:
        if fits(ring, program):
            inputs = batch_of(ring, len(program.inputs), seed=1)
            got = run(program, ring, inputs).outputs[:, 0]
            assert got.tolist() == ref_outputs(formula, ring, program.inputs, inputs).tolist(), ring.name
        else:
            assert ring == Boolean(), "only GF(2) has no constants from -3 to 3"


@QUICK
@given(formulas, st.sampled_from(["clean", "in-place"]), st.integers(3, 6), st.booleans())
def test_program_is_its_formula_over_every_ring(formula, contract, width, attention):
    program = compile_formula(
        {"y": formula}, contract=contract, width=width, attention=attention, without={"search"}
    ).program
    assert_equal_everywhere(program, formula)


@pytest.mark.parametrize("text", ["x + y - 2*x*y", "a*b + b*c + c*a", "(a + 2)*b - a^3", "x^5", "a*(b*c - 1) + c"])
@pytest.mark.parametrize("start", [(0, 1, 0), (0, 1, 1)])
def test_search_keeps_the_output(text, start):
    (formula,) = parse_formula(text).values()
    assert_equal_everywhere(compile_formula({"y": formula}, start=start).program, formula)


@QUICK
@given(formulas, st.integers(3, 6), st.booleans(), st.integers(0, 1000))
def test_in_place_adds_to_one_register_and_restores_the_others(formula, width, attention, seed):
    program = compile_formula({"y": formula}, contract="in-place", width=width, attention=attention).program
    for ring in filter(lambda ring: fits(ring, program), RINGS):
        inputs = batch_of(ring, len(program.inputs), seed)
        start = batch_of(ring, width, seed + 1)
        value = ring.pack(np.ascontiguousarray(ref_outputs(formula, ring, program.inputs, inputs)))
        before = ring.pack(np.ascontiguousarray(start.T))
        expected = start.copy()
        expected[:, 0] = ring.unpack(ring.add(before[0], ring.mul(value, before[1])), len(inputs))
        assert run(program, ring, inputs, start).registers.tolist() == expected.tolist()


@QUICK
@given(formulas, st.sampled_from(["clean", "in-place"]), st.booleans(), st.integers(0, 1000))
def test_program_then_inverse_is_the_identity_in_fixed_point_too(formula, contract, attention, seed):
    program = compile_formula({"y": formula}, contract=contract, attention=attention, without={"search"}).program
    both = Program.concatenate([program, program.inverse()])
    rings = [*RINGS, FixedPoint(16, 8), FixedPoint(9, 0), FixedPoint(32, 24), Modular(64), PrimeField(2**31 - 1)]
    for ring in filter(lambda ring: fits(ring, program), rings):
        inputs, start = batch_of(ring, len(both.inputs), seed), batch_of(ring, 3, seed + 1)
        assert run(both, ring, inputs, start).registers.tolist() == start.tolist(), ring.name


@QUICK
@given(formulas, st.sampled_from(["clean", "in-place"]), st.integers(3, 5), st.booleans())
def test_predicted_length_is_the_emitted_length(formula, contract, width, attention):
    compiled = compile_formula(
        {"y": formula},
        contract=contract,
        width=width,
        attention=attention,
        without={"peephole", "prune", "schedule", "search"},
    )
    assert len(compiled.program) == compiled.predicted


@settings(QUICK, max_examples=25)
@given(formulas, st.sampled_from(PASSES), st.sampled_from(["clean", "in-place"]))
def test_every_pass_can_be_left_out(formula, name, contract):
    compiled = compile_formula({"y": formula}, contract=contract, without={name, "search"})
    assert_equal_everywhere(compiled.program, formula)
    assert name not in [step for step, _, _ in compiled.steps if step != "contracts"]


@pytest.mark.parametrize(
    ("name", "text", "contract", "attention"),
    [
        ("contracts", "a*b*c*d", "in-place", False),
        ("associate", "a*b*c*d*e*f*g*h*i*j*k", "in-place", False),
        ("telescope", "3*a + 5*b + 7*c", "in-place", False),
        ("factor", "a*b*c + a*b*d + a*b*e + a*b*f + a*c*d + a*c*e + a*c*f + b*c*d", "in-place", True),
        ("rebalance", "(((((((a*b + c)*d + e)*f + g)*h + i)*j + k)*l + m)*n + o)*p + q", "in-place", False),
        ("univariate", "1 + 2*x + 3*x^2 + 4*x^3 + 5*x^4 + 6*x^5 + 7*x^6 + 8*x^7 + 9*x^9", "clean", True),
        ("peephole", "1/2 - 1/2*" + "*".join(f"(1 - 2*x{n})" for n in range(8)), "in-place", False),
        ("prune", "*".join(f"x{n}" for n in range(16)), "clean", False),
        ("schedule", "(2*a + 3*b)*(4*a + 5*c)*(6*b + 7*c)*(8*a + 9*d)", "clean", True),
        ("search", "x + y - 2*x*y", "clean", True),
    ],
)
def test_every_pass_earns_its_place(name, text, contract, attention):
    outputs = parse_formula(text)
    # In small programs the scheduler does what the peephole does, and part of what telescoping does.
    off = {"schedule"} - {name}
    with_it = compile_formula(outputs, contract=contract, attention=attention, without=off).program.words
    without = compile_formula(outputs, contract=contract, attention=attention, without={name, *off}).program.words
    assert with_it < without


@pytest.mark.parametrize(
    "text",
    [
        "let p2 = 2*x*x - 1; let p3 = 2*x*p2 - x; let p4 = 2*x*p3 - p2; y = 2*x*p4 - p3",
        "x^2 + (x + y)*(x - 3*y) - 1.1*x",
        "(x + 2*y - 7)^2 + (2*x + y - 5)^2",
        "0.26*(x^2 + y^2) - 0.48*x*y",
        "p = x + 0.1*x*(1.1 - 0.4*y); q = y + 0.1*y*(0.1*x - 0.4)",
    ],
)
def test_no_program_is_longer_than_with_a_pass_left_out(text):
    outputs = parse_formula(text)
    words = compile_formula(outputs).program.words
    assert words <= compile_formula(outputs, attention=False).program.words
    for name in PASSES:
        assert words <= compile_formula(outputs, without={name}).program.words, name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("2*x*y*z + 3*z*z - y*x*y*z + 3*z*z - y", "schedule"),
        ("100*(y - x^2)^2 + (1 - x)^2", "contracts"),
        ("4*x^2 - 2.1*x^4 + 1/3*x^6 + x*y - 4*y^2 + 4*y^4", "associate"),
    ],
)
def test_larger_programs_are_not_longer_than_without_the_pass_that_was_better(text, name):
    outputs = parse_formula(text)
    assert compile_formula(outputs).program.words <= compile_formula(outputs, without={name}).program.words


@pytest.mark.parametrize("name", ["contracts", "telescope"])
def test_without_attention_two_decisions_may_be_left_out_together(name):
    """The program is as short as with one of them switched off, which then leaves out the other by itself: 11 words."""
    outputs = parse_formula("x2*x5 + x3*x6 - x2*x3 - x5*x6 + x1*(-x1 + x2 + x3 - x4 + x5 + x6)")
    words = compile_formula(outputs, attention=False).program.words
    assert words <= compile_formula(outputs, attention=False, without={name}).program.words


@pytest.mark.parametrize("attention", [True, False])
def test_association_and_order_may_be_left_out_together(attention):
    """The program is as short as without one pass, which then leaves out the other by itself: 13 words against 14."""
    outputs = parse_formula("x^4*y^2 + x^2*y^4 - 3*x^2*y^2 + 1")
    words = compile_formula(outputs, attention=attention).program.words
    assert words <= compile_formula(outputs, attention=attention, without={"associate"}).program.words


def test_the_draft_before_the_peephole_is_searched_too():
    """The search gets further from it: 7 words against 9."""
    outputs = parse_formula("0.26*(x^2 + y^2) - 0.48*x*y")
    compiled = compile_formula(outputs, attention=False)
    assert compiled.program.words <= compile_formula(outputs, attention=False, without={"peephole"}).program.words == 7
    assert "peephole" not in [step for step, _, _ in compiled.steps]


def test_the_ladder_earns_its_place_on_four_registers():
    text = "a*b*c + a*b*d + a*c*d + b*c*d + a*b*e + a*c*e + b*c*e + a*d*e + b*d*e + c*d*e"
    outputs = parse_formula(text)
    assert compile_formula(outputs, width=4).program.words == 3 * (5 - 3 + 1)
    assert compile_formula(outputs, width=4, without={"ladder", "search"}).program.words > 9


@pytest.mark.parametrize(("count", "contract"), [(5, "in-place"), (16, "in-place"), (5, "clean"), (16, "clean")])
def test_a_fourth_register_makes_products_shorter(count, contract):
    outputs = parse_formula("*".join(f"x{n}" for n in range(count)))
    three, four = (compile_formula(outputs, contract=contract, width=width).program.words for width in (3, 4))
    assert four < three


def ref_dense_length(degree: int) -> int:
    """The contracts' length of ``c_0 + … + c_d·x^d`` in place, every ``c`` a scalar of its own, cut as ``x^k·v + b`` at
    the best ``k`` each time."""
    power = {1: (1, 1)}
    for n in range(2, degree + 1):
        power[n] = (
            min(2 * power[k][1] + 2 * power[n - k][1] for k in range(1, n)),
            min(2 * power[k][1] + power[n - k][0] for k in range(1, n)),
        )
    dense = {0: (1, 1)}
    for d in range(1, degree + 1):
        cuts = [(power[k], dense[d - k], dense[k - 1]) for k in range(1, d + 1)]
        dense[d] = (
            min(2 * x[1] + 2 * v[1] + b[0] for x, v, b in cuts),
            min(min(2 * x[1] + v[0], 2 * v[1] + x[0]) + b[1] for x, v, b in cuts),
        )
    return dense[degree][0]


@pytest.mark.parametrize("degree", range(1, 11))
def test_dense_polynomials_in_place_are_cut_well(degree):
    """Also where the textbook's Horner form is the best to cut: its linear terms must not stay together."""
    outputs = parse_formula(" + ".join(f"{n + 2}*x^{n}" for n in range(degree + 1)))
    program = compile_formula(outputs, contract="in-place", attention=False).program
    assert program.words <= ref_dense_length(degree)


@pytest.mark.parametrize(
    ("count", "others"), [(40, ["(d*e + f*g)"]), (60, ["(a + 1)", "(b + 1)", "(c + d)", "(d*e + f*g)"])]
)
@pytest.mark.parametrize("contract", ["clean", "in-place"])
def test_a_few_large_factors_do_not_spoil_a_long_product(count, others, contract):
    """At most a fifth more than with single variables in their place."""
    options = {"contract": contract, "attention": False, "without": {"search", "schedule"}}
    variables_only = "*".join(f"x{n}" for n in range(count))
    whole = len(compile_formula(parse_formula("*".join([variables_only, *others])), **options).program)
    single = len(compile_formula(parse_formula("*".join([variables_only, *"pqrs"[: len(others)]])), **options).program)
    assert whole < 1.2 * single


def test_several_outputs_are_sent_in_order_from_a_restart():
    outputs = parse_formula("s = a + b; p = a*b; z = 0; c = 7")
    program = compile_formula(outputs).program
    ring = Modular(16)
    got = run(program, ring, ring.encode_all([[3, 4], [-5, 6]])).outputs
    assert [output.name for output in program.outputs] == ["s", "p", "z", "c"]
    assert got.tolist() == [[7, 12, 0, 7], [1, -30, 0, 7]]


@pytest.mark.parametrize("text", ["0", "a*b - b*a", "(a + b)*c - a*c - b*c", "(a - b)*(a + b) - a^2 + b^2"])
@pytest.mark.parametrize("contract", ["clean", "in-place"])
def test_what_cancels_needs_no_program(text, contract):
    assert len(compile_formula(parse_formula(text), contract=contract).program) == 0


def test_powers_share_their_parts():
    with pytest.raises(InputError, match="instructions, more than the limit 21,474,836"):
        compile_formula(parse_formula("x^100000"), contract="in-place", without={"factor"})
    assert compile_formula(parse_formula("(x + z)^30")).program.words < 100


def test_attention_counts_its_steps_as_cycles():
    program = compile_formula(parse_formula("3*a + 5*b - 7*c")).program
    assert (len(program), program.words) == (1, 4)


def test_a_formula_over_the_integers_stays_one():
    texts = ["x + y - 2*x*y", "(2*a + 4*b)^3*(1 - 2*c)", "1 + 3*x + 7*x^5", "6*a*b*c + 10*a*b*d + 15*a*c*d"]
    for text in texts:
        for contract in ("clean", "in-place"):
            program = compile_formula(parse_formula(text), contract=contract).program
            assert all(weight.denominator == 1 for weight in program.weights)


def test_derived_weights_wrap_and_given_ones_must_fit():
    program = compile_formula(parse_formula("120*a - 120*b + 3*c"), attention=False).program
    assert {w for w, derived in zip(program.weights, program.derived, strict=True) if not derived} <= {
        Fraction(n) for n in (1, 3, 120)
    }
    ring = Modular(8)
    inputs = ring.encode_all([[5, -7, 11]])
    assert run(program, ring, inputs).outputs.tolist() == [[(120 * 12 + 33 + 128) % 256 - 128]]
    with pytest.raises(InputError, match=r"weight w\[0\]: 300 does not fit modular:8 \(-128 to 255\)"):
        compile_formula(parse_formula("300*a")).program.quantise(ring)


def test_another_start_vector_is_brought_back_first():
    program = compile_formula(parse_formula("a*b + 1"), start=(5, 1, 2)).program
    assert program.start == (5, 1, 2)
    assert run(program, Exact(), Exact().encode_all([[2, 3]])).outputs.tolist() == [[7]]
    with pytest.raises(InputError, match="register 1 must start as 1, not 2"):
        compile_formula(parse_formula("a"), start=(0, 2, 0))


def compile_with(length, outputs, **options):
    """Compiled with as much memory as ``length`` instructions are said to take."""
    with Limits(memory=200 * length).applied():
        return compile_formula(outputs, **options)


def test_too_long_a_program_is_refused_before_it_is_made():
    outputs = parse_formula("*".join(f"x{n}" for n in range(64)))
    with pytest.raises(
        InputError, match="output y: the program would have 1,184 instructions, more than the limit 999"
    ):
        compile_with(999, outputs, contract="in-place")


@pytest.mark.parametrize("width", [2, 1025])
def test_widths_out_of_range_are_refused(width):
    with pytest.raises(InputError, match=f"the width must be 3 to 1024, not {width}"):
        compile_formula(parse_formula("a"), width=width)


def test_unknown_pass_is_refused():
    with pytest.raises(InputError, match="there is no pass 'magic'"):
        compile_formula(parse_formula("a"), without={"magic"})


def test_a_product_of_4096_variables_has_the_promised_length():
    outputs = {"y": product(variables(" ".join(f"x{n}" for n in range(4096))))}
    assert len(compile_formula(outputs, contract="in-place").program) <= 1_012_992


def test_depth_is_no_limit():
    first, *others = variables(" ".join(f"x{n}" for n in range(40_000)))
    for variable in others:
        first = first * variable + 1
    assert facts(first).depth > 40_000
    with pytest.raises(InputError, match="astronomically many instructions"):
        compile_formula({"y": first})


def test_equal_parts_are_compiled_once():
    deep = variables("x")[0]
    for _ in range(14):
        deep = deep * deep + 1
    with pytest.raises(InputError, match="more than the limit"):
        compile_with(10_000, {"y": deep})


def test_every_file_in_passes_is_a_pass_with_a_switch():
    files = {path.stem for path in Path(passes.__file__).parent.glob("*.py")} - {"__init__"}
    assert files == set(PASSES) - {"contracts", "telescope"}


#: Formulas that go through each pass over code.
BROKEN = [("peephole", "clean"), ("prune", "clean"), ("schedule", "in-place"), ("search", "clean")]


@pytest.mark.parametrize(("name", "contract"), BROKEN)
def test_an_internal_error_names_the_pass(monkeypatch, name, contract):
    outputs = parse_formula("y = a*b + c")
    good = getattr(drafts, name)

    def malformed(code):
        return code.with_rows([(1, 1, 1, 0)])

    def wrong(code):
        (dst, src, sign, number), *rest = good(code).rows()
        return code.with_rows([(dst, src, -sign, number), *rest])

    monkeypatch.setattr(drafts, name, malformed)
    with pytest.raises(CheckError, match=f"^internal error after the step {name}: instruction 0: source and target"):
        compile_formula(outputs, contract=contract)
    monkeypatch.setattr(drafts, name, wrong)
    with pytest.raises(CheckError, match=f"^internal error: output y .*, first after the step {name}$"):
        compile_formula(outputs, contract=contract)


def test_wrong_code_is_laid_to_the_pass_that_wrote_it(monkeypatch):
    good = candidates.recurrence
    monkeypatch.setattr(candidates, "recurrence", lambda *given: good(*given).part(slice(0, 1)))
    with pytest.raises(CheckError, match=r"first after the step univariate$"):
        compile_formula(parse_formula("x^5 + 2*x^3 + 7"))


def test_a_controller_with_named_gains_is_one_form():
    text = "weight kp = 0.8 in 0:2; weight ki = 0.1 in 0:1; weight kd = 0.8 in 0:1; u = kp*e + ki*i + kd*d"
    program = compile_formula(parse_formula(text)).program
    assert (len(program), program.words) == (1, 4)  # three attention steps and one instruction
    assert program.weight_names() == ["kp", "ki", "kd"]


@pytest.mark.parametrize("attention", [True, False])
@pytest.mark.parametrize("contract", ["clean", "in-place"])
@pytest.mark.parametrize(
    "text",
    [
        "y = (a*x + b)^2 + a*b*x*z + 3",
        "y = a",
        "y = a + x + 1/2",
        "y = (a + 1/2)*x - b",
        "y = a^3*x^2*z - 2*a*x",
        "y = (a*x + b*z)*(b*x + a*z + 1); q = (x + a)^3 + 2*b",
        "y = 0*a + x",
    ],
)
def test_named_weights_can_be_set_after_compiling(text, contract, attention):
    """The program with other values is the formula with these values, which the compiler never saw."""
    weights = "weight a = 1/2 in -9:9; weight b = -3 in -9:9; "
    program = compile_formula(parse_formula(weights + text), contract=contract, attention=attention).program
    assert attention or not program.attends()
    known = [weight.name for weight in program.named]
    for a, b in ((Fraction(1, 2), Fraction(-3)), (Fraction(7), Fraction(-2, 3)), (Fraction(0), Fraction(0))):
        set_so = program.with_weights(**{name: v for name, v in (("a", a), ("b", b)) if name in known})
        values = dict(zip(program.inputs, (Fraction(5, 3), Fraction(-2)), strict=False))
        row = Exact().encode_all([[values[name] for name in program.inputs]])
        found = run(set_so, Exact(), row).outputs[0]
        expected = parse_formula(
            f"let a = {a.numerator}/{a.denominator}; let b = {b.numerator}/{b.denominator}; {text}"
        )
        for output, value in zip(program.outputs, found, strict=True):
            inputs = {name: np.array([number], dtype=object) for name, number in values.items()}
            assert value == evaluate(expected[output.name], inputs, Exact())[0]


SUMS = "let s = a*b + c; y = s*s; z = s + d; w = 3*s"


@pytest.mark.parametrize("keep", ["none", "linear", "reversible", "linear,reversible"])
def test_a_program_keeps_its_promises(keep):
    program = compile_formula(parse_formula(SUMS), width=8, keep=parse_keep(keep)).program
    assert program.linear or "linear" not in keep
    assert program.reversible or "reversible" not in keep
    assert not program.has_restart


def test_more_registers_hold_shared_parts_without_a_restart():
    narrow, wide = (compile_formula(parse_formula(SUMS), width=width).program for width in (3, 8))
    assert narrow.has_restart
    assert not wide.has_restart
    assert wide.pure
    assert wide.words < narrow.words


def test_blocks_win_where_they_are_shorter():
    """Exclusive or takes 3 instructions; as values it takes more."""
    compiled = compile_formula(parse_formula("x + y - 2*x*y"), keep=frozenset())
    assert compiled.program.words == 3
    assert compiled.program.pure
    assert "graph" not in [step for step, _, _ in compiled.steps]


def test_relu_is_proven_as_a_function_of_what_it_is_taken_of():
    outputs = parse_formula("let h = relu(a - 2*b); y = relu(h*a + 1) - h")
    compiled = compile_formula(outputs, width=4, keep=frozenset())
    assert "relu(" in dumps(compiled.program)
    wrong = parse_formula("let h = relu(a - 2*b); y = relu(h*a + 2) - h")
    with pytest.raises(CheckError, match="output y of the compiled program is wrong"):
        prove(compiled.program, wrong, operations(*wrong.values()))


CONTRADICTIONS = [
    ({"contract": "in-place"}, "a program in place is linear and reversible"),
    ({"attention": False}, "it goes without --no-attention"),
    ({"start": (0, 1, 1)}, "it goes without --start"),
]


@pytest.mark.parametrize(("options", "message"), CONTRADICTIONS)
def test_contradicting_wishes_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        compile_formula(parse_formula("a*a"), keep=frozenset(), **options)


@pytest.mark.parametrize("keep", ["linear", "reversible", "linear,reversible"])
def test_relu_keeps_no_promise(keep):
    with pytest.raises(InputError, match=r"relu\(a - b\) is neither linear nor reversible: relu needs --keep none"):
        compile_formula(parse_formula("y = relu(a - b)"), keep=parse_keep(keep))


def test_a_formula_with_relu_that_does_not_fit_is_refused():
    lines = [f"let h{n} = relu(a - {n}); let g{n} = relu(h{n}*b + {n})" for n in range(9)]
    text = "\n".join([*lines, "y = " + "*".join(f"(h{n} + g{n}*g{8 - n})" for n in range(9))])
    with pytest.raises(InputError, match="the formula does not fit 3 registers: --width allows more"):
        compile_formula(parse_formula(text), keep=frozenset())
    assert compile_formula(parse_formula(text), width=20, keep=frozenset()).program.width <= 20


@pytest.mark.parametrize("options", [{}, {"width": 6}, {"keep": frozenset()}, {"contract": "in-place"}])
def test_inputs_come_in_the_order_that_is_asked_for(options):
    outputs = parse_formula("y = 3*c*a + b - a; z = 0*d + a*b + 2*f")
    assert compile_formula(outputs, **options).program.inputs == ("c", "a", "b", "d", "f")
    program = compile_formula(outputs, inputs=["a", "b", "c", "d", "e", "f"], **options).program
    assert program.inputs == ("a", "b", "c", "f")
    ring = Modular(32)
    found = run(program, ring, ring.encode_all([5, 7, 11, 13])[None]).outputs
    assert found[0].tolist() == [3 * 11 * 5 + 7 - 5, 5 * 7 + 2 * 13]


def test_inputs_keep_their_boxes_and_scales():
    outputs = parse_formula("y = b*a + 0*c + a")
    box = {"a": (Fraction(0), Fraction(4)), "b": (Fraction(-1), Fraction(1)), "c": (Fraction(0), Fraction(99))}
    precision = Precision(16, None, box, None, True)
    program = compile_formula(outputs, inputs=["c", "b", "a"], precision=precision).program
    assert program.inputs == ("b", "a")
    assert program.box == (box["b"], box["a"])
    other = compile_formula(outputs, precision=precision).program
    scales = dict(zip(other.inputs, other.input_scales, strict=True))
    assert program.input_scales == (scales["b"], scales["a"])
    assert scales["b"] != scales["a"]


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (["a"], "the formula reads 'b', which inputs does not name"),
        (["a", "b", "a"], "the input 'a' is named twice in"),
    ],
)
def test_all_inputs_must_be_named_once(inputs, message):
    with pytest.raises(InputError, match=message):
        compile_formula(parse_formula("a*b"), inputs=inputs)


@pytest.mark.parametrize("text", [adder(4), "y = " + " + ".join(f"{n}*x{n}" for n in range(2, 30))])
def test_blocks_that_cannot_win_are_left_out(text, monkeypatch):
    """Neither a formula whose parts are used again and again nor a linear form is given to the compiler of blocks."""

    def compiled(*_):
        raise AssertionError("blocks are compiled")

    monkeypatch.setattr(pipeline, "_compile", compiled)
    compile_formula(parse_formula(text), width=16)
