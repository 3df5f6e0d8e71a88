"""Limits: what takes too much is refused before it is done, and what cannot be known beforehand is stopped."""

import json
import subprocess
import sys

import pytest
from skinny.model import limits
from skinny.model.compiler import candidates, drafts, pipeline
from skinny.model.compiler.normalise import normalise
from skinny.model.compiler.pipeline import compile_formula
from skinny.model.compiler.shapes import Shaper, least_cost
from skinny.model.errors import InputError
from skinny.model.formula.formula import CEILING, facts, operations, variables
from skinny.model.formula.parse import parse_formula
from skinny.model.limits import Limits, check, checked, current, parse_limits, tell, telling, watched

DIGITS = "a number of the formula gets more than 4,000 digits"


def lets(count, step, first="x + z"):
    """``count`` definitions, each made of the one before."""
    steps = [f"let a{k + 1} = " + step.replace("a", f"a{k}") for k in range(count)]
    return "; ".join([f"let a0 = {first}", *steps, f"y = a{count}"])


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self, monkeypatch):
        self.now = 1000.0
        monkeypatch.setattr(limits.time, "monotonic", lambda: self.now)


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


@pytest.mark.parametrize(
    ("text", "seconds", "memory"),
    [
        ("time=60", 60, 4 << 30),
        ("memory=1G", 600, 1 << 30),
        ("time=5,memory=64M", 5, 64 << 20),
        ("memory=3K,time=1", 1, 3 << 10),
        ("memory=7", 600, 7),
        ("memory=2T", 600, 2 << 40),
    ],
)
def test_limits_are_read(text, seconds, memory):
    assert parse_limits(text) == Limits(seconds, memory)


@pytest.mark.parametrize("text", ["", "7", "time", "time=", "time=1.5", "time=-1", "time=٣", "memory=1g", "memory=1_0"])
def test_other_limits_are_refused(text):
    with pytest.raises(InputError, match="must be like time=60,memory=1G"):
        parse_limits(text)


@pytest.mark.parametrize("text", ["time=0", "memory=0"])
def test_a_limit_is_at_least_one(text):
    with pytest.raises(InputError, match="a limit must be at least 1, not 0"):
        parse_limits(text)


def test_limits_hold_inside_and_not_after():
    with Limits(seconds=7).applied():
        with Limits(memory=9).applied():
            assert current() == Limits(600, 9)
        assert current() == Limits(7, 4 << 30)
    assert current() == Limits()


def test_time_is_counted_from_the_beginning_of_a_task(clock):
    with Limits(seconds=10).applied():
        clock.now += 100
        with watched("counting"):
            clock.now += 10
            check()
            clock.now += 1
            with pytest.raises(
                InputError, match=r"^counting takes more than 10 s, the limit: --limit time=S raises it$"
            ):
                check()
        check()


def test_memory_is_counted_from_the_beginning_of_a_task(clock):
    held = bytearray(b"x") * (64 << 20)
    with Limits(memory=64 << 20).applied(), watched("hoarding"):
        check()
        held += bytearray(b"x") * (80 << 20)
        clock.now += 1
        with pytest.raises(
            InputError, match=r"^hoarding takes more than 64M of memory, the limit: --limit memory=SIZE"
        ):
            check()
    assert len(held) == 144 << 20


@pytest.mark.parametrize("count", [0, 1, 4095, 4096, 4097, 10_000])
def test_checked_items_are_the_items(count):
    assert list(checked(range(count))) == list(range(count))


@pytest.mark.parametrize(
    ("name", "text", "options"),
    [
        ("normalise", "a*b", {}),
        ("expand", "(a + b)^9*c", {}),
        ("horner", "(a + b)^9*c", {}),
        ("rebalance", "1 + a*(1 + b*(1 + c*(1 + d)))", {}),
        ("recurrence", "x^9 + x", {}),
        ("ladder", "a*b + b*c", {}),
        ("chain", "1 + a*(1 + b*(1 + c*(1 + d)))", {"contract": "in-place"}),
        ("predict", "a*b", {}),
        ("peephole", "a*b", {}),
        ("prune", "a*b", {}),
        ("schedule", "a*b", {}),
        ("search", "a*b + c*d", {}),
        ("prove", "a*b", {}),
    ],
)
def test_every_pass_stops_when_the_time_is_over(clock, monkeypatch, name, text, options):
    (room,) = (module for module in (candidates, drafts, pipeline) if hasattr(module, name))
    passed = getattr(room, name)
    stopped = []

    def late(*args, **more):
        clock.now += 601
        try:
            return passed(*args, **more)
        except InputError as error:
            stopped.append(str(error))
            raise

    monkeypatch.setattr(room, name, late)
    if name == "chain":
        from skinny.model.compiler import chain_plan

        for plan in (chain_plan.plan_strict, chain_plan.plan_loose):
            plan.cache_clear()
    with pytest.raises(InputError, match=r"^compiling takes more than 600 s, the limit"):
        compile_formula(parse_formula(text), **options)
    assert len(stopped) == 1


#: A formula, and how it is refused.
ENORMOUS = [
    ("((x^100000)^100000)^100000", "a product of 10,000,000,000 factors is longer than the limit, 100,000 factors"),
    ("(" * 20 + "x" + "^100000)" * 20, "a product of 10,000,000,000 factors is longer than the limit"),
    ("x^50001*z^50000", "a product of 100,001 factors is longer than the limit, 100,000 factors"),
    ("((x + z)^1000*w)^1000", "a product of 1,001,000 factors is longer than the limit"),
    ("((x^100000)^100000)^0 + x", "a product of 10,000,000,000 factors is longer than the limit"),
    (lets(40, "a*a"), "a product of 131,072 factors is longer than the limit"),
    (lets(20_000, "a*a"), "a product of 131,072 factors is longer than the limit"),
    (lets(40, "a*a + 1"), "astronomically many instructions, more than the limit"),
    (lets(5000, "a*a + z"), "astronomically many instructions, more than the limit"),
    ("(((x + 1)^99999 + 1)^99999 + 1)^99999", "astronomically many instructions, more than the limit"),
    ("(x + z)^99999", "the program would have 104,009,728 instructions, more than the limit 21,474,836"),
    ("+".join(f"(x{k} + z)^99{k:03}" for k in range(100)), "astronomically many instructions, more than the limit"),
    ("+".join(f"{k + 2}*x^{k}" for k in range(5000)), "astronomically many instructions, more than the limit"),
    ("(2^100000)^100000*x", DIGITS),
    ("2^13289*x", DIGITS),
    (f"{'9' * 4000}^100000*x", DIGITS),
    ("((1/2)^100000)^100000*x", DIGITS),
    ("(0.1^3000)^3000 + x", DIGITS),
    ("((2^100000)^100000)^0*x", DIGITS),
    ("0*(2^100000)^100000*x + x", DIGITS),
    ("(2*x + 2*z)^100000", DIGITS),
    ("*".join(["2^13000"] * 300) + "*x", DIGITS),
    ("+".join(f"1/{2 * k + 1}" for k in range(20_000)) + "+ x", DIGITS),
    ("+".join(f"x/{2 * k + 1}" for k in range(20_000)), DIGITS),
    (lets(40, "a*a", "3"), DIGITS),
    (lets(20_000, "a*a", "3"), DIGITS),
    (lets(30_000, "a*10", "1"), DIGITS),
]
#: Compiles what it is given, in 1 GB and 60 s of the processor, and answers with what is said.
WORKER = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
from skinny.model.compiler.pipeline import compile_formula
from skinny.model.errors import InputError
from skinny.model.formula.parse import parse_formula
for text in json.load(sys.stdin):
    try:
        compile_formula(parse_formula(text))
        print("compiled", flush=True)
    except (InputError, MemoryError) as error:
        print(error or "no memory", flush=True)
"""


@pytest.fixture(scope="module")
def said():
    """The message for each formula, from a process of its own, because it could take all the memory there is."""
    texts = [text for text, _ in ENORMOUS]
    done = subprocess.run([sys.executable, "-c", WORKER], input=json.dumps(texts), stdout=subprocess.PIPE, text=True)
    return dict(zip(texts, done.stdout.splitlines(), strict=False))


@pytest.mark.parametrize(("text", "message"), ENORMOUS, ids=[text[:40] for text, _ in ENORMOUS])
def test_what_would_take_too_much_is_refused_before_it_is_done(said, text, message):
    assert message in said.get(text, "the process was ended")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1e99999*x", "this number is too long at line 1, column 1"),
        ("1e-99999*x", "this number is too long at line 1, column 1"),
        ("9.5e4000*x", "this number is too long at line 1, column 1"),
        ("x*" + "9" * 4001, "this number is too long at line 1, column 3"),
        ("1" + "/" + "/".join(["7" * 2000] * 3) + "*x", "this number is too long at line 1, column"),
        ("x^٣", "an exponent must be a whole number at line 1, column 3"),
        ("x^3_0", "expected an operator, found '_0' at line 1, column 4"),
        ("x^100001", "an exponent must be at most 100000 at line 1, column 3"),
    ],
)
def test_numbers_too_long_are_refused_where_they_stand(text, message):
    with pytest.raises(InputError) as caught:
        parse_formula(text)
    assert str(caught.value).startswith(message)


def test_numbers_of_4000_digits_are_read_and_kept():
    number = "9" * 4000
    program = compile_formula(parse_formula(f"{number}*x")).program
    assert [str(weight) for weight in program.weights] == [number]


def test_long_numbers_only_keep_a_formula_from_being_multiplied_out():
    """Multiplied out, the numbers have 30,000 digits; as it is written, they are short enough."""
    long = "7" * 3000
    program = compile_formula(parse_formula(f"({long}*x + {long}1*z + 1)^10")).program
    assert max(len(str(weight)) for weight in program.weights) == 3001


def test_a_formula_too_large_for_the_memory_is_refused():
    text = " + ".join(["x*z"] * 2000)
    with Limits(memory=256 * len(text)).applied():
        outputs = parse_formula(text)
    with Limits(memory=256 * len(text) - 1).applied(), pytest.raises(InputError, match="more than 11,996 characters"):
        parse_formula(text)
    with Limits(memory=256 * 2000).applied(), pytest.raises(InputError, match=r"^the formula has 6,000 operands, more"):
        compile_formula(outputs)


def test_outputs_share_one_limit():
    factors = "*".join(f"x{n}" for n in range(16))
    length = len(compile_formula(parse_formula(factors), contract="in-place").program)
    outputs = parse_formula("; ".join(f"y{n} = {factors}" for n in range(3)))
    with Limits(memory=200 * 3 * length).applied():
        assert len(compile_formula(outputs, contract="in-place").program) == 3 * length
    message = f"output y2: the program would have {3 * length} instructions, more than the limit {3 * length - 1}"
    with Limits(memory=200 * 3 * length - 1).applied(), pytest.raises(InputError, match=message):
        compile_formula(outputs, contract="in-place")


def test_facts_of_huge_formulas_are_small_numbers():
    node = variables("x")[0]
    for _ in range(3000):
        node = node * node
    found = facts(node)
    assert (found.degree, found.leaves, found.textbook) == (CEILING, CEILING, CEILING)
    assert facts(variables("x")[0] ** (1 << 100) ** 3).degree == CEILING


def test_what_grows_without_warning_is_stopped():
    """Sums that are used twice are kept, each a little longer than the one before: 8·10^6 terms."""
    count = 4000
    sums = [f"let a{k + 1} = a{k} + x{k}" for k in range(count)]
    text = "; ".join(["let a0 = z", *sums, "y = " + "*".join(f"a{k}" for k in range(count))])
    with (
        Limits(memory=100 << 20).applied(),
        pytest.raises(InputError, match=r"^compiling takes more than 100M of memory, the limit"),
    ):
        compile_formula(parse_formula(text))


def test_denominators_that_the_check_cannot_have_are_refused():
    with pytest.raises(InputError, match="no number may be divided by a multiple of"):
        compile_formula(parse_formula("x + z/2305843009213693951"))


@pytest.mark.parametrize("prime", [8388593, 2147483647])
def test_denominators_that_the_search_cannot_have_are_kept_from_it(prime):
    program = compile_formula(parse_formula(f"x*z/{prime} + x")).program
    assert any(weight.denominator == prime for weight in program.weights)


@pytest.mark.parametrize(
    "text",
    [
        "x^9",
        "(x + z)^30",
        "a*b*c + d*e*f*g",
        "(a + b*c*d*e)^5*x",
        "x^3000*z",
        "(x + 1)^2100 + x^7",
        "(a*b + c)*(d*e*f + g)",
    ],
)
@pytest.mark.parametrize("attention", [True, False])
def test_the_bound_of_a_cost_is_never_above_it(text, attention):
    outputs = parse_formula(text)
    table, polynomials = normalise(outputs, operations(*outputs.values()))
    cost = Shaper(table, attention, True, True, True).shape(polynomials["y"]).loose_cost
    assert 1 <= least_cost(table, polynomials["y"]) <= cost


def test_somebody_hears_what_is_done(monkeypatch):
    monkeypatch.setattr(limits, "LOOK", 0.0)
    told = []
    with telling(told.append):
        with watched("reading"):
            check()
        tell("trying formats of 8 bits")
    tell("nobody listens any more")
    assert told == ["reading", "", "trying formats of 8 bits"]
