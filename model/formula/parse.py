"""Formulas from text like ``y = (a + 2*b)^3 - 3/4*c``.

Statements are separated by ``;`` or new lines. ``name = …`` is an output, ``let name = …`` a shared subexpression, and
an expression alone is the output ``y``. ``sin(…)`` is a function, and so is the inverse of a divisor that is no number.
``weight name = 0.8 in 0:2`` is a named weight: a constant that can be set within its range after compiling.
``state s = 0`` keeps a value from one sample of a stream to the next, ``next s = …`` says which, and ``x[t-3]`` is the
input ``x`` three samples back. ``#`` starts a comment. Text is read without recursion and without ``eval``.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import NoReturn

from skinny.model.errors import InputError
from skinny.model.limits import FORMULA_BYTE, MOST_BITS, MOST_DIGITS, DigitsError, check, check_digits, current, watched

from .definitions import LARGEST_LAG, Definitions, StateFormula, lagged
from .formula import MINUS_ONE, Formula, constant, postorder, weight
from .function import FUNCTIONS, RELU, apply, unknown_function

__all__ = ["parse_definitions", "parse_formula"]

#: A name, a number, or any other character that is not blank; comments are matched so that they can be dropped.
TOKEN = re.compile(r"[A-Za-z_][A-Za-z_0-9]*|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|\#[^\n]*|\n|[^ \t\r]")
NAME_START = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_")
NUMBER_START = frozenset("0123456789.")
OPERATORS = frozenset("-+*/^()=;\n")

#: Exponents and powers of ten beyond this are refused: they are typing errors, not formulas.
LARGEST_EXPONENT = 100_000


class _Parser:
    """A shunting yard whose operands are whole argument lists, so that long sums and products stay flat.

    Tokens are plain strings. The place of a token in the text is looked for only when a message names it.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.variables: dict[str, Formula] = {}
        self.constants: dict[str, Formula] = {}
        self.defined: dict[str, Formula] = {}
        self.outputs: dict[str, Formula] = {}
        self.starts: dict[str, Fraction] = {}
        self.followers: dict[str, Formula] = {}
        self.samples: dict[str, None] = {}
        self.lag = 0
        self.tokens: list[str] = TOKEN.findall(text)
        self.tokens.append(";")
        self.next = 0

    def fail(self, message: str, token: int) -> NoReturn:
        position = len(self.text)
        for index, match in enumerate(TOKEN.finditer(self.text)):
            if index == token:
                position = match.start()
                break
        before = self.text[:position]
        row = before.count("\n") + 1
        column = position - before.rfind("\n")
        line = (self.text.split("\n"))[row - 1]
        first = max(0, column - 60)
        shown = line[first : column + 20]
        raise InputError(f"{message} at line {row}, column {column}\n  {shown}\n  {' ' * (column - 1 - first)}^")

    def statements(self) -> Definitions:
        tokens = self.tokens
        while self.next < len(tokens):
            check()
            word = tokens[self.next]
            if word in ";\n" or word[0] == "#":
                self.next += 1
                continue
            if word == "weight" and tokens[self.next + 1][0] in NAME_START:
                self.weight()
                continue
            if word == "state" and tokens[self.next + 1][0] in NAME_START:
                self.state()
                continue
            if word == "next" and tokens[self.next + 1][0] in NAME_START:
                self.follower()
                continue
            private = word == "let" and tokens[self.next + 1][0] in NAME_START
            self.next += private
            start = self.next
            name = "y"
            if tokens[start][0] in NAME_START and tokens[min(start + 1, len(tokens) - 1)] == "=":
                name = tokens[start]
                self.next += 2
            elif private:
                self.fail(f"'let {tokens[start]}' needs '='", start)
            self.expect_new(name, start)
            value = self.expression()
            self.defined[name] = value
            if not private:
                self.outputs[name] = value
        if not self.outputs:
            raise InputError("the formula has no output, only definitions" if self.defined else "the formula is empty")
        for name in self.starts:
            if name not in self.followers:
                raise InputError(f"the state {name!r} has no 'next {name} = …', which says what it becomes")
        states = (StateFormula(name, start, self.followers[name]) for name, start in self.starts.items())
        return Definitions(self.outputs, tuple(states), tuple(self.samples), self.lag)

    def state(self) -> None:
        """A statement ``state name = value``."""
        self.next += 1
        start, name = self.next, self.tokens[self.next]
        self.expect_new(name, start)
        if self.tokens[start + 1] != "=":
            self.fail(f"'state {name}' needs '=' and the value before the first sample", start)
        self.next += 2
        self.starts[name] = self.signed_number()
        self.expect_end("the first value of a state")
        self.defined[name] = Formula("variable", value=name)

    def follower(self) -> None:
        """A statement ``next name = …``."""
        self.next += 1
        start, name = self.next, self.tokens[self.next]
        if name not in self.starts:
            self.fail(f"'next {name}' needs 'state {name} = …' before it", start)
        if name in self.followers:
            self.fail(f"'next {name}' is there twice", start)
        if self.tokens[start + 1] != "=":
            self.fail(f"'next {name}' needs '='", start)
        self.next += 2
        self.followers[name] = self.expression()

    def expect_end(self, what: str) -> None:
        if self.tokens[self.next] not in ";\n" and self.tokens[self.next][0] != "#":
            self.fail(f"nothing may follow {what}", self.next)

    def expect_new(self, name: str, token: int) -> None:
        if name in self.starts:
            self.fail(f"{name!r} is a state: 'next {name} = …' says what it becomes", token)
        if name in self.defined:
            self.fail(f"{name!r} is defined twice", token)
        if name in self.variables:
            self.fail(f"{name!r} is defined after it was used as an input", token)

    def weight(self) -> None:
        """A statement ``weight name = value in low:high``."""
        self.next += 1
        start, name = self.next, self.tokens[self.next]
        self.expect_new(name, start)
        numbers = []
        for mark in ("=", "in", ":"):
            self.next += mark == "="
            if self.tokens[self.next] != mark:
                self.fail(f"a weight is written like 'weight {name} = 0.8 in 0:2'; expected {mark!r}", self.next)
            self.next += 1
            numbers.append(self.signed_number())
        try:
            self.defined[name] = weight(name, *numbers)
        except InputError as error:
            self.fail(str(error), start)
        self.expect_end("the range of a weight")

    def signed_number(self) -> Fraction:
        """A number like ``-1/2``."""
        sign = -1 if self.tokens[self.next] == "-" else 1
        self.next += self.tokens[self.next] in "+-"
        word = self.tokens[self.next]
        if word[0] not in NUMBER_START or word == ".":
            self.fail("expected a number", self.next)
        factors = [self.number(word)]
        self.next += 1
        if self.tokens[self.next] == "/" and self.tokens[self.next + 1][0] in NUMBER_START:
            divisor = self.number(self.tokens[self.next + 1])
            self.next += 2
            self.place(factors, divisor, divides=True)
        value: Fraction = sign * factors[0].value
        return value

    def expression(self) -> Formula:
        """One expression up to ``;`` or the end of a line outside parentheses. Each open parenthesis holds its
        finished terms, the factors of the term under way and that term's sign, and what is to be done with its value:
        the name of a function, and whether it divides."""
        tokens = self.tokens
        stack: list[tuple[list[Formula], list[Formula], bool, int, str, bool]] = []
        terms: list[Formula] = []
        factors: list[Formula] = []
        negative = False
        opened = -1
        function, divides = "", False
        want_value = True
        while True:
            word = tokens[self.next]
            if word[0] == "#" or (word == "\n" and stack):
                self.next += 1
            elif want_value:
                start = word[0]
                if start in NAME_START and tokens[self.next + 1] == "(":
                    if word not in (*FUNCTIONS, RELU):
                        self.fail(unknown_function(word), self.next)
                    function = word
                    self.next += 1
                elif start in NAME_START:
                    self.next += 1
                    value = self.earlier(word) if tokens[self.next] == "[" else self.named(word)
                    if divides or tokens[self.next] == "^":
                        self.place(factors, value, divides)
                    else:
                        factors.append(value)
                    want_value = divides = False
                elif start in NUMBER_START and word != ".":
                    value = self.number(word)
                    self.next += 1
                    factors.append(self.powered(value) if tokens[self.next] == "^" else value)
                    want_value = False
                elif word == "(":
                    stack.append((terms, factors, negative, opened, function, divides))
                    terms, factors, negative, opened = [], [], False, self.next
                    function, divides = "", False
                    self.next += 1
                elif word in "+-":
                    negative ^= word == "-"
                    self.next += 1
                elif self.next == len(tokens) - 1:
                    self.fail("the formula ends where a value was expected", self.next)
                elif word in OPERATORS:
                    self.fail(f"expected a value, found {word!r}", self.next)
                else:
                    self.fail(f"unexpected character {word!r}", self.next)
            elif word == "*":
                self.next += 1
                want_value = True
            elif word == "/":
                self.next += 1
                if tokens[self.next][0] in NUMBER_START and tokens[self.next] != ".":
                    value = self.number(tokens[self.next])
                    self.next += 1
                    self.place(factors, value, divides=True)
                elif tokens[self.next][0] in NAME_START or tokens[self.next] == "(":
                    want_value = divides = True
                else:
                    self.fail("a number, a name or a parenthesis must follow '/'", self.next)
            elif word in "+-);\n":
                if negative:
                    factors.insert(0, MINUS_ONE)
                terms.append(factors[0] if len(factors) == 1 else Formula("product", tuple(factors)))
                factors, negative = [], False
                if word in "+-":
                    self.next += 1
                    negative = word == "-"
                    want_value = True
                    continue
                value = terms[0] if len(terms) == 1 else Formula("sum", tuple(terms))
                if word != ")":
                    if stack:
                        self.fail("this parenthesis is never closed", opened)
                    return value
                if not stack:
                    self.fail("this parenthesis was never opened", self.next)
                self.next += 1
                terms, factors, negative, opened, function, divides = stack.pop()
                self.place(factors, apply(function, value) if function else value, divides)
                function, divides = "", False
            elif word in OPERATORS or word[0] in NAME_START or word[0] in NUMBER_START:
                self.fail(f"expected an operator, found {word!r}", self.next)
            else:
                self.fail(f"unexpected character {word!r}", self.next)

    def place(self, factors: list[Formula], value: Formula, divides: bool) -> None:
        """Puts ``value``, whose last token was read, among the factors, with its power or as a divisor."""
        if not divides:
            factors.append(self.powered(value))
            return
        if self.tokens[self.next] == "^":
            self.fail("write the power of a divisor with parentheses", self.next)
        divisor = self.folded(value)
        if divisor is None:
            factors.append(apply("inverse", value))
        elif divisor == 0:
            self.fail("division by zero", self.next - 1)
        elif factors[-1].kind == "constant":
            factors[-1] = self.bounded(factors[-1].value / divisor)
        else:
            factors.append(constant(1 / divisor))

    def folded(self, value: Formula) -> Fraction | None:
        """The number that ``value`` is, if nothing in it depends on an input."""
        known: dict[int, Fraction] = {}
        for node in postorder(value):
            args = [known[id(arg)] for arg in node.args]
            match node.kind:
                case "constant":
                    found = node.value
                case "sum":
                    found = sum(args, Fraction(0))
                case "product":
                    found = math.prod(args, start=Fraction(1))
                case "power":
                    bits = max(args[0].numerator.bit_length(), args[0].denominator.bit_length())
                    if bits * node.value > MOST_BITS:
                        self.fail("this number is too long", self.next - 1)
                    found = args[0] ** node.value
                case _:
                    return None
            known[id(node)] = self.bounded(found).value
        return known[id(value)]

    def powered(self, base: Formula) -> Formula:
        while self.tokens[self.next] == "^":
            word = self.tokens[self.next + 1]
            if not (word.isascii() and word.isdecimal()):
                self.fail("an exponent must be a whole number", self.next + 1)
            if len(word) > 6 or int(word) > LARGEST_EXPONENT:
                self.fail(f"an exponent must be at most {LARGEST_EXPONENT}", self.next + 1)
            self.next += 2
            if self.tokens[self.next] == "^":
                self.fail("write a tower of powers with parentheses", self.next)
            base = Formula("power", (base,), int(word))
        return base

    def number(self, word: str) -> Formula:
        found = self.constants.get(word)
        if found is None:
            exponent = re.search("[eE]([+-]?[0-9]+)$", word)
            if len(word) > MOST_DIGITS or (exponent and abs(int(exponent[1])) > MOST_DIGITS):
                self.fail("this number is too long", self.next)
            found = self.constants[word] = self.bounded(Fraction(word))
        return found

    def bounded(self, value: Fraction) -> Formula:
        try:
            check_digits(value)
        except DigitsError:
            self.fail("this number is too long", min(self.next, len(self.tokens) - 2))
        return constant(value)

    def named(self, word: str) -> Formula:
        found = self.defined.get(word) or self.variables.get(word)
        if found is None:
            found = self.variables[word] = Formula("variable", value=word)
            self.samples[word] = None
        return found

    def earlier(self, word: str) -> Formula:
        """An input of an earlier sample, ``x[t-3]``, whose bracket comes next."""
        if word in self.defined:
            self.fail(f"only inputs can be read at an earlier time, and {word!r} is none", self.next - 1)
        now = self.named(word)
        opened = self.next
        self.next += 1
        if self.tokens[self.next] != "t":
            self.fail(f"an earlier sample is written like {word}[t-3]; expected 't'", self.next)
        self.next += 1
        lag = 0
        if self.tokens[self.next] == "+":
            self.fail(f"a sample that is still to come cannot be read: write {word}[t-1], {word}[t-2], …", self.next)
        if self.tokens[self.next] == "-":
            number = self.tokens[self.next + 1]
            if not (number.isascii() and number.isdecimal()) or not int(number[:9]):
                self.fail("a number of samples must be a whole number from 1 on", self.next + 1)
            if int(number[:9]) > LARGEST_LAG:
                self.fail(f"a sample can be at most {LARGEST_LAG:,} back", self.next + 1)
            lag = int(number)
            self.next += 2
        if self.tokens[self.next] != "]":
            self.fail("this bracket is never closed", opened)
        self.next += 1
        if not lag:
            return now
        self.lag = max(self.lag, lag)
        name = lagged(word, lag)
        return self.variables.setdefault(name, Formula("variable", value=name))


def parse_definitions(text: str) -> Definitions:
    """What ``text`` says. Raises :exc:`InputError` with line, column and a caret."""
    most = current().memory // FORMULA_BYTE
    if len(text) > most:
        raise InputError(f"the formula has more than {most:,} characters: --limit memory=SIZE raises that")
    with watched("reading the formula"):
        return _Parser(text).statements()


def parse_formula(text: str) -> dict[str, Formula]:
    """The outputs of ``text`` by name, in order; a stream formula is refused."""
    found = parse_definitions(text)
    found.expect_single_run("here are only")
    return found.outputs
