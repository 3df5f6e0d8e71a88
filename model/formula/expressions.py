"""Expressions: sums, products, powers, calls and lists of operands, read without recursion."""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

from .formula import MINUS_ONE, Formula
from .function import FUNCTIONS, RELU, apply
from .hints import SIGNS, WORDS, unknown_function
from .operands import NewName, Operands
from .tokens import NAME_START, NUMBER_START
from .vectors import ShapeError, Value, Vector, combined, dot, mapped, shape, size, summed

__all__ = ["KNOWN", "Defined", "Expressions"]

SUM, DOT = "sum", "dot"
#: The functions that every text has.
KNOWN = (*FUNCTIONS, RELU, SUM, DOT)
OPERATORS = frozenset("-+*/^()=;,[]:\n")
#: Operations that a call counts as, beside those of its body.
CALL = 16
#: Exponents beyond this are refused: they are typing errors, not formulas.
LARGEST_EXPONENT = 100_000


class Defined(NamedTuple):
    """A function that the text defines: its body begins with the token ``body``."""

    name: str
    parameters: tuple[str, ...]
    body: int
    end: int


class _Open(NamedTuple):
    """What waits until a parenthesis, a list or the body of a function ends: the finished terms of the sum around it,
    the factors of the term under way, its sign, whether they are divided by what comes, and what is around that."""

    terms: list[Any]
    factors: list[Any]
    negative: bool
    divides: bool
    closes: str
    function: str
    args: list[Value | NewName]
    opened: int


class _Caller(NamedTuple):
    """What waits until the body of a function ends."""

    around: _Open
    back: int
    scope: dict[str, Value | NewName]


class Expressions(Operands):
    """A shunting yard whose operands are whole argument lists, so that long sums and products stay flat. The body of a
    function is read again for each call, with its arguments as ``scope``."""

    def __init__(self, text: str, folder: str = "") -> None:
        super().__init__(text, folder)
        self.functions: dict[str, Defined] = {}

    def expression(self) -> Value:
        """One expression up to ``;`` or the end of a line, which must not end with an operator, outside brackets."""
        tokens = self.tokens
        stack: list[_Open | _Caller] = []
        terms: list[Any] = []  # values, and new names where they are arguments
        factors: list[Any] = []
        negative = divides = False
        #: What closes the innermost bracket, what is called or ``[`` for a list, and its arguments so far.
        closes, function, opened = "", "", -1
        args: list[Value | NewName] = []
        want_value = True
        while True:
            word = tokens[self.next]
            if word[0] == "#" or (word == "\n" and (closes or want_value)):
                self.next += 1
            elif want_value:
                start = word[0]
                if start in NAME_START and tokens[self.next + 1] != "(":
                    if function and (function == DOT or function in self.functions) and self.is_new(word):
                        factors.append(self.new_name(word))
                        self.next += 1
                    else:
                        self.next += 1
                        mark = tokens[self.next]
                        value = self.bracketed(word) if mark == "[" else self.named(word)
                        if divides or tokens[self.next] == "^":
                            self.place_factor(factors, value, divides)
                        else:
                            factors.append(value)
                    want_value = divides = False
                elif start in NUMBER_START and word != ".":
                    number = self.number(word)
                    self.next += 1
                    if divides or tokens[self.next] == "^":
                        self.place_factor(factors, number, divides)
                    else:
                        factors.append(number)
                    want_value = divides = False
                elif word in "([" or start in NAME_START:
                    stack.append(_Open(terms, factors, negative, divides, closes, function, args, opened))
                    terms, factors, negative, divides, args = [], [], False, False, []
                    function = "" if word == "(" else word
                    if start in NAME_START:
                        if word not in KNOWN and word not in self.functions:
                            self.fail(unknown_function(word, KNOWN), self.next)
                        self.next += 1
                    closes, opened = "]" if word == "[" else ")", self.next
                    self.next += 1
                elif word in "+-":
                    negative ^= word == "-"
                    self.next += 1
                elif start == "@":
                    value = self.file(word)
                    self.next += 1
                    self.place_factor(factors, value, divides)
                    want_value = divides = False
                else:
                    self.no_value(word)
            elif word == "*":
                self.next += 1
                want_value = True
            elif word == "/":
                self.next += 1
                mark = tokens[self.next]
                if mark[0] in NUMBER_START and mark != ".":
                    number = self.number(mark)
                    self.next += 1
                    self.place_factor(factors, number, divides=True)
                elif mark[0] in NAME_START or mark in "([\n" or mark[0] in "@#":
                    want_value = divides = True
                elif mark == "/":
                    self.fail(SIGNS["//"], self.next - 1)
                else:
                    self.fail("a number, a name or a parenthesis must follow '/'", self.next)
            elif word in "+-),];\n":
                if negative:
                    factors.insert(0, MINUS_ONE)
                terms.append(factors[0] if len(factors) == 1 else self.joined("product", factors))
                factors, negative = [], False
                if word in "+-":
                    self.next += 1
                    negative = word == "-"
                    want_value = True
                    continue
                value = terms[0] if len(terms) == 1 else self.joined("sum", terms)
                if word in ";\n":
                    if closes:
                        self.fail(f"this {'bracket' if closes == ']' else 'parenthesis'} is never closed", opened)
                    if not stack:
                        return value
                    caller = stack.pop()
                    assert isinstance(caller, _Caller)
                    self.next, self.scope = caller.back, caller.scope
                    self.calls.pop()
                    terms, factors, negative, divides, closes, function, args, opened = caller.around
                elif word == ",":
                    if not function:
                        self.fail(
                            "a comma stands between arguments or in a list like [1, 2]; a fraction begins with a point",
                            self.next,
                        )
                    args.append(value)
                    terms, want_value = [], True
                    self.next += 1
                    continue
                else:
                    if closes != word:
                        what = "parenthesis" if word == ")" else "bracket"
                        if closes:
                            self.fail(f"expected {closes!r}, found {word!r}", self.next)
                        self.fail(f"this {what} was never opened", self.next)
                    self.next += 1
                    args.append(value)
                    called, given, at = function, args, opened
                    before = stack.pop()
                    assert isinstance(before, _Open)
                    if called in self.functions:
                        stack.append(_Caller(before, self.next, self.scope))
                        self.enter(self.functions[called], given, at - 1)
                        terms, factors, negative, divides, args = [], [], False, False, []
                        closes, function, want_value = "", "", True
                        continue
                    terms, factors, negative, divides, closes, function, args, opened = before
                    value = self.called(called, given, at) if called else self.resolved(given[0])
                self.place_factor(factors, value, divides)
                divides = False
            else:
                self.no_operator(word)

    def joined(self, kind: str, values: list[Any]) -> Value:
        """The sum or the product of ``values``."""
        if not self.shaped:
            return Formula(kind, tuple(values))
        self.write(sum(map(size, values)))
        try:
            return combined(lambda items: Formula(kind, tuple(items)), values)
        except ShapeError as error:
            self.fail(str(error), self.next - 1)

    def place_factor(self, factors: list[Any], value: Value, divides: bool) -> None:
        """Puts ``value``, whose last token was read, among the factors, with its elements, its power or as a
        divisor."""
        if self.tokens[self.next] == "[":
            value = self.postfixed(value)
        if not divides:
            factors.append(self.powered(value))
            return
        if self.tokens[self.next] == "^":
            self.fail("write the power of a divisor with parentheses", self.next)
        if isinstance(value, Vector):
            factors.append(mapped(self.divisor, value))
            return
        divisor = self.divisor(value)
        last = factors[-1]
        if divisor.kind == "constant" and isinstance(last, Formula) and last.kind == "constant":
            factors[-1] = self.bounded(last.value * divisor.value)
        else:
            factors.append(divisor)

    def powered(self, base: Value) -> Value:
        while self.tokens[self.next] == "^":
            word = self.tokens[self.next + 1]
            if not (word.isascii() and word.isdecimal()):
                hint = ": a divisor is written 1/a" if word == "-" else ""
                self.fail(f"an exponent must be a whole number{hint}", self.next + 1)
            if len(word) > 6 or int(word) > LARGEST_EXPONENT:
                self.fail(f"an exponent must be at most {LARGEST_EXPONENT}", self.next + 1)
            self.next += 2
            if self.tokens[self.next] == "^":
                self.fail("write a tower of powers with parentheses", self.next)
            base = _raised(base, int(word))
        return base

    def resolved(self, value: Value | NewName) -> Value:
        return self.vector(self.named_outside(value.name)) if isinstance(value, NewName) else value

    def settled(self, value: Value | NewName) -> Value | NewName:
        """``value``, a new name only if it is still new."""
        return self.resolved(value) if not isinstance(value, NewName) or self.is_known(value) else value

    def called(self, function: str, args: list[Value | NewName], opened: int) -> Value:
        """The list, or the value of a function that every text has."""
        wanted = 2 if function == DOT else 1
        if function != "[" and len(args) != wanted:
            hint = f": write {SUM}([a, b]) for a sum of numbers" if function == SUM else ""
            few = "one argument" if wanted == 1 else f"{wanted} arguments"
            self.fail(f"{function!r} takes {few}, not {len(args)}{hint}", opened - 1)
        try:
            if function == DOT:
                left, right = args
                return self.dotted(left, right, opened - 1)
            values = [self.resolved(arg) for arg in args]
            self.write(sum(map(size, values)))
            if function == "[":
                return self.vector(Vector(values))
            if function == SUM:
                return summed(values[0])
            return mapped(lambda node: apply(function, node), values[0])
        except ShapeError as error:
            self.fail(str(error), opened if function == "[" else opened - 1)

    def dotted(self, left: Value | NewName, right: Value | NewName, token: int) -> Value:
        """The product ``dot(left, right)``; a new name among them is a vector of inputs, as long as the other says."""
        left, right = map(self.settled, (left, right))
        for one, other in ((left, right), (right, left)):
            if isinstance(one, NewName) and not isinstance(other, Vector):
                self.fail(f"how long is {one.name!r}? Write {one.name}[0:16]", token)
        if isinstance(left, NewName):
            assert isinstance(right, Vector)
            left = self.vector(self.input_elements(left.name, (0, shape(right)[0])))
        if isinstance(right, NewName):
            right = self.vector(self.input_elements(right.name, (0, shape(left)[-1])))
        self.write(size(left) * (shape(right) or (1,))[-1] if len(shape(right)) > 1 else size(left))
        return self.vector(dot(left, right))

    def enter(self, function: Defined, args: list[Value | NewName], token: int) -> None:
        """Begin to read the body of ``function``."""
        wanted = len(function.parameters)
        if len(args) != wanted:
            few = "one argument" if wanted == 1 else f"{wanted} arguments"
            self.fail(f"{function.name!r} takes {few}, not {len(args)}", token)
        self.write(function.end - function.body + CALL)
        self.scope = dict(zip(function.parameters, args, strict=True))
        self.calls.append((function.name, token))
        self.next = function.body

    def no_value(self, word: str) -> NoReturn:
        """Says what is wrong with ``word``, where a value was expected."""
        if self.next == len(self.tokens) - 1:
            self.fail("the formula ends where a value was expected", self.next)
        if word in OPERATORS:
            self.fail(f"expected a value, found {word!r}", self.next)
        self.fail(_strange(word), self.next)

    def no_operator(self, word: str) -> NoReturn:
        """Says what is wrong with ``word``, where an operator was expected."""
        before = self.tokens[self.next - 1]
        for found, token in ((before, self.next - 1), (word, self.next)):
            if found in WORDS:
                self.fail(WORDS[found], token)
        pair = word + self.tokens[self.next + 1]
        if pair in SIGNS:
            self.fail(SIGNS[pair], self.next)
        message = f"expected an operator, found {word!r}"
        if word == "=" and self.tokens[self.next - 2] == "\n":
            message += ": this line goes on with the one before, which ends with an operator"
        elif word[0] in NAME_START or word[0] in NUMBER_START or word == "(":
            message += ": a product is written a*b"
        elif word not in OPERATORS:
            message = _strange(word)
        self.fail(message, self.next)


def _raised(base: Value, exponent: int) -> Value:
    return mapped(lambda node: Formula("power", (node,), exponent), base)


def _strange(word: str) -> str:
    if word[0] == "@":
        return 'a file of numbers is written like @W.npy, @W.csv or @"my weights.npy"'
    return SIGNS.get(word, f"unexpected character {word!r}")
