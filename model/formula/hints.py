"""What to write in place of what formulas do not have: comparisons, branches, functions of other libraries."""

from __future__ import annotations

__all__ = ["SIGNS", "WORDS", "unknown_function"]

COMPARED = (
    "relu(a - b) with --keep none is a - b where a > b and 0 elsewhere, --argmax NAME sends which output is largest"
)
CHOSEN = "is no polynomial: compute both parts and let relu(…) with --keep none or --argmax NAME choose"
LOGIC = "is no polynomial: of numbers that are 0 or 1, a*b is 'and', a + b - a*b is 'or', 1 - a is 'not'"
REMAINDER = "is no polynomial: in the rings modular:BITS and prime:P all numbers are remainders"
#: Signs that follow a value, the longest first.
SIGNS = {
    "//": "'//' rounds, which no polynomial does: write / and round the result; a comment begins with #",
    "==": f"'==' is no polynomial: {COMPARED}",
    "!=": f"'!=' is no polynomial: {COMPARED}",
    ":=": "a name is defined with '=' alone",
    "&&": f"'&&' {LOGIC}",
    "||": f"'||' {LOGIC}",
    ">": f"'>' is no polynomial: {COMPARED}",
    "<": f"'<' is no polynomial: {COMPARED}",
    "%": f"'%' {REMAINDER}",
    "&": f"'&' {LOGIC}",
    "|": f"'|' {LOGIC}",
    "!": f"'!' {LOGIC}",
    "~": f"'~' {LOGIC}",
    "?": f"'?' {CHOSEN}",
    "×": "unexpected character '×': write *",
    "·": "unexpected character '·': write *",
    "−": "unexpected character '−': write -",
    "–": "unexpected character '–': write -",
    "÷": "unexpected character '÷': write /",
    "²": "unexpected character '²': write ^2",
    "³": "unexpected character '³': write ^3",
    "'": "unexpected character \"'\": for what was computed in the last sample write 'state s = 0; next s = …'",
}
#: Words that stand where an operator must.
WORDS = {
    **{word: f"{word!r} {CHOSEN}" for word in ("if", "else", "then", "where", "case")},
    **{word: f"{word!r} {LOGIC}" for word in ("and", "or", "not", "xor")},
    "mod": f"'mod' {REMAINDER}",
    "for": "formulas have no loops: write vectors, as in sum(x[0:16]) or dot(w, x)",
    "while": "formulas have no loops: write vectors, as in sum(x[0:16]) or dot(w, x)",
    "lambda": "a function is defined by 'def f(t) = t*t'",
    "return": "a function is one formula: 'def f(t) = t*t'",
}
#: Functions of other libraries.
INSTEAD = {
    "max": "max(a, b) is b + relu(a - b), with --keep none",
    "min": "min(a, b) is a - relu(a - b), with --keep none",
    "abs": "abs(a) is relu(a) + relu(-a), with --keep none",
    "clip": "clip(a, lo, hi) is lo + relu(a - lo) - relu(a - hi), with --keep none",
    "sign": "no polynomial comes near a step: relu(…) with --keep none or --argmax NAME decides",
    "round": "no polynomial comes near a step: the format rounds, 'skinny compile --ring fixed:BITS.FRAC'",
    "floor": "no polynomial comes near a step: the format rounds, 'skinny compile --ring fixed:BITS.FRAC'",
    "ceil": "no polynomial comes near a step: the format rounds, 'skinny compile --ring fixed:BITS.FRAC'",
    "int": "no polynomial comes near a step: the format rounds, 'skinny compile --ring fixed:BITS.FRAC'",
    "argmax": "--argmax NAME sends the number of the largest output",
    "softmax": "it keeps the order of its arguments, so --argmax NAME decides without it",
    "if": f"'if' {CHOSEN}",
    "where": f"'where' {CHOSEN}",
    "ln": "write log",
    "log2": "log2(a) is log(a)/0.69314718056",
    "log10": "log10(a) is log(a)/2.302585093",
    "pow": "write a^3",
    "square": "write a^2",
    "cube": "write a^3",
    "mean": "mean(v) of 16 elements is sum(v)/16",
    "norm": "its square is dot(v, v)",
    "matmul": "write dot(W, x)",
    "prod": "write a product of the elements, v[0]*v[1]*v[2]",
    "len": "vectors have a length that the text says, as in x[0:16]",
    "range": "formulas have no loops: write vectors, as in sum(x[0:16])",
    "sinh": "sinh(a) is (exp(a) - exp(-a))/2",
    "cosh": "cosh(a) is (exp(a) + exp(-a))/2",
    "silu": "silu(a) is a*sigmoid(a)",
    "swish": "swish(a) is a*sigmoid(a)",
    "softplus": "in Python skinny.Sampled makes a function of any that can be computed, or of a table",
}


def unknown_function(name: str, known: tuple[str, ...]) -> str:
    """What there is instead of the function ``name``."""
    if name in INSTEAD:
        return f"there is no function {name!r}: {INSTEAD[name]}"
    return f"there is no function {name!r}; 'def {name}(t) = t*t' defines one, and there are {', '.join(known)}"
