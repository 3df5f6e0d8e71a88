"""Programs that the tests of text and of files share."""

import contextlib
import resource
from fractions import Fraction

import pytest
from hypothesis import strategies as st
from skinny.model.named_weight import NamedWeight
from skinny.model.program.forms import Input, Linear, Weight
from skinny.model.program.program import Columns, Mode, Output, Program


@st.composite
def named_weights(draw, numbers):
    """Named weights that some of the weights with these ``numbers`` come from."""
    left = draw(st.permutations(list(numbers)))
    out = []
    for name in draw(st.lists(st.sampled_from(["kp", "derived", "in", "named"]), unique=True)):
        low, value, high = sorted(draw(st.lists(st.fractions(max_denominator=99), min_size=3, max_size=3)))
        words, left = left[: draw(st.integers(0, 2))], left[2:]
        factors = tuple((k, draw(st.sampled_from([1, -1, 2, Fraction(-1, 3), 0]))) for k in sorted(words))
        out.append(NamedWeight(name, value, low, high, tuple((k, Fraction(factor)) for k, factor in factors)))
    return tuple(out)


@st.composite
def drawn_programs(draw):
    width = draw(st.integers(2, 6))
    inputs = draw(st.lists(st.sampled_from(["a", "R1", "w", "f", "emit", "end", "x_1", "restart"]), unique=True))
    weights = draw(st.lists(st.fractions(max_denominator=1000), max_size=5))
    plain = [Input(u) for u in range(len(inputs))] + [Weight(k) for k in range(len(weights))]
    forms = draw(st.lists(st.sampled_from(plain), unique=True)) if plain else []
    if weights:
        index = st.integers(0, len(weights) - 1)
        terms = st.lists(st.tuples(index, st.integers(0, max(0, len(inputs) - 1))), max_size=3 if inputs else 0)
        # An input that is called like a register must not be in a program whose forms read registers.
        summing = "R1" not in inputs and draw(st.booleans())
        factors = st.builds(Weight, index)
        if inputs:
            factors |= st.builds(Input, st.integers(0, len(inputs) - 1))
        sums = st.lists(st.tuples(factors, st.integers(0, width - 1)), max_size=2 if summing else 0)
        linear = st.builds(lambda t, b, s: Linear(tuple(t), b, tuple(s)), terms, st.none() | index, sums)
        forms = draw(st.permutations(forms + draw(st.lists(linear, max_size=3))))
    length = draw(st.integers(0, 12)) if forms else 0
    named = draw(named_weights(range(len(weights))))
    for weight in named:
        for k, factor in weight.words:
            weights[k] = factor * weight.value
    dst = draw(st.lists(st.integers(0, width - 1), min_size=length, max_size=length))
    src = [(j + draw(st.integers(1, width - 1))) % width for j in dst]
    sign = draw(st.lists(st.sampled_from([1, -1]), min_size=length, max_size=length))
    form = draw(st.lists(st.integers(0, max(0, len(forms) - 1)), min_size=length, max_size=length))
    mode = draw(st.lists(st.sampled_from(Mode), min_size=length, max_size=length))
    for at, (j, number) in enumerate(zip(dst, form, strict=True)):
        if isinstance(forms[number], Linear) and j in forms[number].registers:
            mode[at] = mode[at] or Mode.ASSIGN
        if mode[at] and draw(st.booleans()):
            src[at] = j
    argmax = draw(st.sampled_from(["", "", "best"]))
    probabilities = "" if argmax else draw(st.sampled_from(["", "sigmoid"]))
    scales = st.integers(-256, 256) if not argmax else st.just(draw(st.integers(-256, 256)))
    sizes = st.fractions(0, max_denominator=1000)
    sides = st.tuples(st.fractions(max_denominator=1000), sizes).map(lambda side: (side[0], side[0] + side[1]))
    box = st.lists(sides, min_size=len(inputs), max_size=len(inputs)).map(tuple)
    places = sorted(draw(st.lists(st.integers(0, length), min_size=1, max_size=3)))
    outputs = tuple(
        Output(
            f"y{n}",
            draw(st.integers(0, width - 1)),
            at,
            draw(st.booleans()),
            draw(scales),
            draw(sizes),
            draw(st.booleans()),
        )
        for n, at in enumerate(places)
    )
    return Program(
        width=width,
        inputs=tuple(inputs),
        weights=tuple(weights),
        derived=tuple(draw(st.booleans()) for _ in weights),
        forms=tuple(forms),
        code=Columns.of(dst, src, sign, form, mode),
        outputs=outputs,
        argmax=argmax,
        probabilities=probabilities,
        settable=draw(st.booleans()),
        contract=draw(st.sampled_from(["clean", "in-place"])),
        start=tuple(draw(st.lists(st.integers(-9, 2**70), min_size=width, max_size=width))),
        self_check=draw(st.booleans()),
        named=named,
        input_scales=tuple(draw(st.integers(-256, 256)) for _ in inputs),
        box=draw(st.none() | box),
        ring=draw(st.sampled_from(["", "fixed:16.11", "modular:8", "real"])),
        title=draw(st.sampled_from(["", "y = a", "y = a # twice\n\n  z = b", "ä·b"])),
    )


@pytest.fixture(scope="session")
def programs():
    """A strategy for programs of every kind."""
    return drawn_programs()


@pytest.fixture(scope="session")
def memory_for():
    return bounded_memory


@contextlib.contextmanager
def bounded_memory(size):
    """Inside the ``with`` block the process cannot grow by more than ``size`` bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
